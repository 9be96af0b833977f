/* SPDX-License-Identifier: GPL-2.0 */
/* record.h - shared by the parts of "wsmo record" */
#ifndef WSMO_RECORD_H
#define WSMO_RECORD_H

#include "child.h"
#include "core/options.h"
#include "alloc_feed.h"
#include "libwsmon/budget.h"
#include "libwsmon/filter.h"
#include "libwsmon/reader.h"
#include "mapper.h"
#include "output.h"
#include "procfs.h"
#include "refault.h"
#include "rotate.h"
#include "session.h"
#include "stacks.h"
#include "targets.h"

struct record;

#define MARKS_AT	64

/**
 * struct marks - the times of --mark-at
 * @at_ns:	@nr times since @start_ns, ascending
 * @next:	index of the next time
 * @start_ns:	when the recording began
 */
struct marks {
	__u64 at_ns[MARKS_AT];
	size_t nr;
	size_t next;
	__u64 start_ns;
};

/**
 * struct record_hooks - actions of a verb while it monitors; NULL: none
 * @begin:	called before monitoring starts. Return: 0, or nonzero after a message, which ends
 *		the run
 * @gone:	called when a process of @pids ended before monitoring started; removes it from
 *		@pids. Return: 0 to try again, or -1. Without this hook the run fails
 * @take:	called for each record of the stream, before it is written
 * @tick:	called about once a second
 * @end:	called after the last record; may write more records
 * @report:	prints the closing summary; not NULL
 */
struct record_hooks {
	int (*begin)(struct record *r);
	int (*gone)(struct record *r);
	void (*take)(struct record *r, const struct wsmon_record *rec);
	void (*tick)(struct record *r);
	void (*end)(struct record *r);
	void (*report)(const struct record *r);
};

/**
 * struct record - one run of "wsmo record" or a verb built on it
 * @verb:	name of the verb, for messages
 * @hooks:	actions of the verb
 * @who:	record who touches memory
 * @optional:	the verb works without a process or command
 * @pids:	processes to attach to
 * @duration_ns: how long to monitor; 0: until a signal or the last target's end
 * @file:	the recording; NULL: none
 * @cmd:	command to run; NULL: none
 * @quiet:	no progress line; only losses in the closing summary
 * @sizing:	--sizing was given
 * @refaults:	cost of refaults, measured before monitoring for --sizing
 * @refaults_in: number of files that have these REFAULT records
 * @no_pack:	do not pack snapshots
 * @window_us:	first window of --window; 0 without
 * @session:	the session of the module
 * @output:	the recording and its buffer
 * @rotation:	state of --rotate
 * @child:	process of @cmd
 * @signal_fd:	signalfd; -1 before signals are blocked
 * @targets:	targets; for a cgroup, its largest @members
 * @members:	processes of a cgroup
 * @maps:	walk that names areas
 * @mapper:	makes MAPPING records
 * @packer:	compresses snapshots
 * @stacks:	takes call stacks
 * @feed:	allocations of --alloc
 * @marks:	times of --mark-at
 * @start_ns:	when recording began (CLOCK_MONOTONIC)
 * @end_ns:	when recording ended
 * @lost:	sum of the LOST records
 * @stats:	the last STATS record; none if its size is 0
 * @budget:	how much sampling was reduced
 * @wss:	last WSS record of the first target
 * @group:	last GROUP record
 * @total:	last TOTAL record of all classes
 * @ended:	an END record came; its reason is @reason
 * @failed:	recording ended early, after a message
 */
struct record {
	const char *verb;
	struct record_hooks hooks;
	bool who;
	bool optional;
	struct pids pids;
	__u64 duration_ns;
	const char *file;
	char **cmd;
	bool quiet;
	bool sizing;
	struct refaults refaults;
	__u64 refaults_in;
	bool no_pack;
	__u64 window_us;

	struct session session;
	struct output output;
	struct rotation rotation;
	struct child child;
	int signal_fd;
	struct targets targets;
	struct members members;
	struct maps maps;
	struct mapper mapper;
	struct packer packer;
	struct stacks stacks;
	struct feed feed;
	struct marks marks;
	__u64 start_ns;
	__u64 end_ns;
	struct wsmon_rec_lost lost;
	struct wsmon_rec_stats stats;
	struct budget budget;
	struct wsmon_rec_wss wss;
	struct wsmon_rec_group group;
	struct wsmon_rec_total total;
	bool ended;
	__u32 reason;
	bool failed;
};

#define RECORD_INIT(name) {		\
	.verb = name,			\
	.session.fd = -1,		\
	.output.file.fd = -1,		\
	.signal_fd = -1,		\
	.stacks.fd = -1,		\
}

/* Options of verbs that monitor, which set a struct record: targets and duration; attributes */
extern const struct option_desc record_target_options[];
extern const struct option_desc record_cgroup_options[];
extern const struct option_desc record_attr_options[];

/* The option --who, for a structure that begins with struct record */
#define WHO_OPTION(help) \
	{ "who", 0, "RATE", help, OPT_COUNT, .min = 1, .max = WSMON_WHO_RATE_MAX, \
	  .set = record_set_who, .data = "who_rate", .optional = true, .otherwise = 100 }
void record_set_who(void *to, const struct option_desc *o, __u64 rate);

/* @command and @check of struct command_line, for these options */
void record_command(char **argv, void *to);
void record_check(struct argp_state *state, void *to);

/**
 * record_setting() - find or add an attribute to set for the session
 * @key:	name of the attribute
 * @option:	the option that requested it, or NULL
 * Return: the value, SETTING_TEXT bytes; empty if the attribute was added
 */
char *record_setting(struct record *r, const char *key, const char *option);

/** record_follow() - choose whether children become members, if the module supports it */
void record_follow(struct record *r, bool follow, const char *option);

/**
 * record_run() - monitor, from the first check to the closing summary
 * Return: exit status
 */
int record_run(struct record *r);

/**
 * record_prepare() - check that monitoring can start; changes nothing
 * Return: 0, or -1 after a message
 */
int record_prepare(struct record *r);

/**
 * record_catch_signals() - block signals and open @signal_fd to read them
 * @mask: gets the earlier signal mask
 * Return: 0, or -1 after a message
 */
int record_catch_signals(struct record *r, sigset_t *mask);

/**
 * record_start() - catch signals, start monitoring, and release the command
 * Return: 0, or the exit status after a message
 */
int record_start(struct record *r);

/**
 * record_restart() - replace the session by a new one with the processes in @pids
 *
 * Records still in the stream are lost. The counters of STATS restart at 0.
 * Return: 0, or -1 after a message
 */
int record_restart(struct record *r);

/**
 * record_signal() - take a pending signal: forward SIGTERM and SIGHUP to the command, note SIGCHLD
 * in @child
 * Return: the signal, 0 if none is pending
 */
int record_signal(struct record *r);

/**
 * record_finish() - wait for the command, or end it if it was not released; free all memory
 * @status: exit status so far
 *
 * Context: after the session was closed.
 *
 * Return: exit status: @status, or the command's if @status is 0
 */
int record_finish(struct record *r, int status);

/** marks_parse() - parse the argument of --mark-at into struct marks */
void marks_parse(struct argp_state *state, char *list, const struct option_desc *o, void *at);

/** marks_report() - warn about times of --mark-at that were not reached */
void marks_report(const struct marks *m);

/** record_lost() - get the number of records known to be lost */
__u64 record_lost(const struct record *r);

/**
 * record_loop() - copy the stream to the file until the session ends
 *
 * Ends the session after @duration_ns, on a signal, when CMD has ended, or when the file cannot be
 * written. Context: the session runs, the output is open.
 */
void record_loop(struct record *r);

#endif /* WSMO_RECORD_H */
