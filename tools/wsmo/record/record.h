/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - what the parts of "wsmo record" share
 */
#ifndef WSMO_RECORD_H
#define WSMO_RECORD_H

#include "child.h"
#include "cli/args.h"
#include "libwsmon/pack.h"
#include "libwsmon/sorted.h"
#include "mapper.h"
#include "marks.h"
#include "output.h"
#include "session/procfs.h"
#include "session/session.h"
#include "stacks.h"

struct record;

/**
 * struct record_hooks - what a verb does while it monitors; NULL is nothing
 * @begin:	before monitoring starts; a failure, after a message, ends it
 * @take:	for each record of the stream, before it is written
 * @tick:	about once a second
 * @end:	behind the last record; can still write some
 * @tell:	the closing words; not NULL
 */
struct record_hooks {
	int (*begin)(struct record *r);
	void (*take)(struct record *r, const struct wsmon_record *rec);
	void (*tick)(struct record *r);
	void (*end)(struct record *r);
	void (*tell)(const struct record *r);
};

/**
 * struct record - one run of "wsmo record", or of a verb built on it
 * @verb:	its name, for messages
 * @hooks:	what it does
 * @optional:	there need not be anything to monitor
 * @pids:	processes to attach to
 * @duration_ns: how long, 0 is until it is ended
 * @file:	the record file, NULL if none is wanted
 * @cmd:	a command to run, NULL if there is none
 * @quiet:	no progress line, no closing words but what was lost
 * @sizing:	it is for "report sizing"
 * @no_pack:	write snapshots as they are
 * @session:	the module's side
 * @output:	the file's side
 * @child:	@cmd's process
 * @signal_fd:	signals come here; -1 before they do
 * @targets:	struct live_target of those that are not gone
 * @maps:	for the areas' names
 * @mapper:	for MAPPING records
 * @packer:	makes snapshots small
 * @stacks:	call stacks
 * @marks:	marks
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
	const char *verb;
	struct record_hooks hooks;
	bool optional;
	struct pids pids;
	__u64 duration_ns;
	const char *file;
	char **cmd;
	bool quiet;
	bool sizing;
	bool no_pack;

	struct session session;
	struct output output;
	struct child child;
	int signal_fd;
	struct sorted targets;
	struct maps maps;
	struct mapper mapper;
	struct packer packer;
	struct stacks stacks;
	struct marks marks;
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

#define RECORD_INIT(name) {		\
	.verb = name,			\
	.session.fd = -1,		\
	.output.fd = -1,		\
	.signal_fd = -1,		\
	.stacks.fd = -1,		\
	.marks.fd = -1,			\
}

/* Options of verbs that monitor; its input is the struct record */
extern const struct argp record_argp;

/**
 * record_setting() - the place of an attribute's value for this session
 * @key:	its name in debugfs; it is added if it is not set yet
 * Return: SETTING_TEXT bytes, empty for one that is new
 */
char *record_setting(struct record *r, const char *key);

/**
 * record_run() - monitor, from the checks to the closing words
 * Return: exit status
 */
int record_run(struct record *r);

/**
 * record_prepare() - see that monitoring can start; changes nothing
 * Return: 0, or -1 after a message
 */
int record_prepare(struct record *r);

/**
 * record_catch_signals() - from here on signals wait in @signal_fd
 * @mask: what was blocked before
 * Return: 0, or -1 after a message
 */
int record_catch_signals(struct record *r, sigset_t *mask);

/**
 * record_start() - start monitoring, let the command go; catches signals
 * Return: 0, or the exit status after a message
 */
int record_start(struct record *r);

/**
 * record_signal() - take a signal, if there is one; SIGTERM and SIGHUP are
 * forwarded to the command, SIGCHLD is noted in @child
 * Return: its number or 0
 */
int record_signal(struct record *r);

/**
 * record_finish() - wait for the command, or end it if it was not to begin; free
 * @status: exit status so far
 *
 * Context: the session is closed.
 *
 * Return: exit status: the command's if @status is 0
 */
int record_finish(struct record *r, int status);

/** record_time() - an option's argument that is a time, a microsecond at least */
__u64 record_time(struct argp_state *state, const char *arg);

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

/** record_write() - append a record to the file */
void record_write(struct record *r, const void *rec, size_t size);

/**
 * record_next_target() - walk through the targets that are not gone
 * @i: 0 at first
 * Return: a pid, 0 behind the last one
 */
__u32 record_next_target(const struct record *r, size_t *i);

/** record_memory() - add a PROC record for each target whose turn it is */
void record_memory(struct record *r);

/** record_mappings() - add MAPPING records that wait for their turn */
void record_mappings(struct record *r);

/** record_wait_child() - wait for CMD, forwarding signals */
void record_wait_child(struct record *r);

#endif /* WSMO_RECORD_H */
