/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - what the parts of "wsmo record" share
 */
#ifndef WSMO_RECORD_H
#define WSMO_RECORD_H

#include "args.h"
#include "procfs.h"
#include "record_child.h"
#include "record_output.h"
#include "session.h"
#include "sorted.h"

/**
 * struct record - one run of "wsmo record"
 * @pids:	processes to attach to
 * @duration_ns: how long, 0 is until it is ended
 * @file:	the record file
 * @cmd:	a command to run, NULL if there is none
 * @quiet:	no progress line, no closing words but what was lost
 * @session:	the module's side
 * @output:	the file's side
 * @child:	@cmd's process
 * @signal_fd:	signals come here; -1 before they do
 * @targets:	struct live_target of those that are not gone
 * @maps:	for the areas' names
 * @start_ns:	when recording began (CLOCK_MONOTONIC)
 * @end_ns:	when it ended
 * @records:	written
 * @lost:	what LOST records told
 * @stats:	the last STATS, none if its size is 0
 * @first_pid:	the target of the progress line
 * @wss:	its last WSS
 * @ended:	END came
 * @failed:	recording ended early, after a message
 */
struct record {
	struct pids pids;
	__u64 duration_ns;
	const char *file;
	char **cmd;
	bool quiet;

	struct session session;
	struct output output;
	struct child child;
	int signal_fd;
	struct sorted targets;
	struct maps maps;
	__u64 start_ns;
	__u64 end_ns;
	__u64 records;
	struct wsmon_rec_lost lost;
	struct wsmon_rec_stats stats;
	__u32 first_pid;
	struct wsmon_rec_wss wss;
	bool ended;
	bool failed;
};

/** record_now() - CLOCK_MONOTONIC in nanoseconds, the clock of records */
__u64 record_now(void);

/** record_lost() - how many records were lost, as far as is known */
__u64 record_lost(const struct record *r);

/**
 * record_loop() - copy the stream to the file until the session ends
 *
 * Ends it when the time is over, a signal says so, CMD is gone or the file
 * cannot be written. Context: the session runs, the output is open.
 */
void record_loop(struct record *r);

/**
 * record_take() - a record of the stream: complete it, note it, write it
 */
void record_take(struct record *r, const struct wsmon_record *rec);

/** record_memory() - add a PROC record for each target whose turn it is */
void record_memory(struct record *r);

/** record_wait_child() - wait for CMD, forwarding signals */
void record_wait_child(struct record *r);

#endif /* WSMO_RECORD_H */
