/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - what the parts of "wsmo record" share
 */
#ifndef WSMO_RECORD_H
#define WSMO_RECORD_H

#include "child.h"
#include "core/options.h"
#include "feed.h"
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
 * @at_ns:	times since @start_ns, @nr of them, ascending
 * @next:	the next of them
 * @start_ns:	when the recording began
 */
struct marks {
	__u64 at_ns[MARKS_AT];
	size_t nr;
	size_t next;
	__u64 start_ns;
};

/**
 * struct record_hooks - what a verb does while it monitors; NULL is nothing
 * @begin:	before monitoring starts; a failure, after a message, ends it
 * @gone:	a process of @pids ended before monitoring started: leave it out; Return: 0, or -1
 *		if that does not help. NULL is a failure
 * @take:	for each record of the stream, before it is written
 * @tick:	about once a second
 * @end:	after the last record; can still write some
 * @report:	prints the closing words; not NULL
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
 * struct record - one run of "wsmo record", or of a verb built on it
 * @verb:	its name, for messages
 * @hooks:	what it does
 * @who:	record who touches memory
 * @optional:	neither processes nor a command need be named
 * @pids:	processes to attach to
 * @duration_ns: how long, 0 is until it is ended
 * @file:	the record file, NULL if none is wanted
 * @cmd:	a command to run, NULL if there is none
 * @quiet:	no progress line; the closing words are losses only
 * @sizing:	--sizing
 * @refaults:	measured first, for --sizing
 * @refaults_in: number of files that have that
 * @no_pack:	do not pack snapshots
 * @window_us:	the first window of --window, 0 without it
 * @session:	the module's side
 * @output:	the file's side
 * @rotation:	of --rotate
 * @child:	@cmd's process
 * @signal_fd:	signals come here; -1 before they do
 * @targets:	targets; of a cgroup the largest @members
 * @members:	of a cgroup
 * @maps:	for the areas' names
 * @mapper:	for MAPPING records
 * @packer:	makes snapshots small
 * @stacks:	call stacks
 * @feed:	allocations, of --alloc
 * @marks:	times of --mark-at
 * @start_ns:	when recording began (CLOCK_MONOTONIC)
 * @end_ns:	when it ended
 * @lost:	sum of the LOST records
 * @stats:	the last STATS, none if its size is 0
 * @budget:	whether sampling was reduced
 * @wss:	the first target's last WSS
 * @group:	the last GROUP
 * @total:	the last TOTAL of all classes
 * @ended:	END came, for @reason
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

/* Options of verbs that monitor, for struct record: whom and how long; how */
extern const struct option_desc record_target_options[];
extern const struct option_desc record_cgroup_options[];
extern const struct option_desc record_attr_options[];

/* The option --who, of a structure that begins with a struct record */
#define WHO_OPTION(help) \
	{ "who", 0, "RATE", help, OPT_COUNT, .min = 1, .max = WSMON_WHO_RATE_MAX, \
	  .set = record_set_who, .data = "who_rate", .optional = true, .otherwise = 100 }
void record_set_who(void *to, const struct option_desc *o, __u64 rate);

/* The command, and the check of those options, for struct command_line */
void record_command(char **argv, void *to);
void record_check(struct argp_state *state, void *to);

/**
 * record_setting() - find or add an attribute to be set for this session
 * @key:	its name
 * @option:	the option that asks for it, or NULL
 * Return: its value, SETTING_TEXT bytes; empty if it was added
 */
char *record_setting(struct record *r, const char *key, const char *option);

/** record_follow() - set whether children become members, as far as the module can */
void record_follow(struct record *r, bool follow, const char *option);

/**
 * record_run() - monitor, from the checks to the closing words
 * Return: exit status
 */
int record_run(struct record *r);

/**
 * record_prepare() - check that monitoring can start; changes nothing
 * Return: 0, or -1 after a message
 */
int record_prepare(struct record *r);

/**
 * record_catch_signals() - block signals, and read them from @signal_fd
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
 * record_restart() - go on with other processes, @pids, in a session of their own
 *
 * Records still in the stream are lost. The counters of STATS begin anew.
 * Return: 0, or -1 after a message
 */
int record_restart(struct record *r);

/**
 * record_signal() - take a signal, if there is one; SIGTERM and SIGHUP are
 * forwarded to the command, SIGCHLD is noted in @child
 * Return: its number or 0
 */
int record_signal(struct record *r);

/**
 * record_finish() - wait for the command, or end it if it has not begun; free
 * @status: exit status so far
 *
 * Context: the session is closed.
 *
 * Return: exit status: the command's if @status is 0
 */
int record_finish(struct record *r, int status);

/** marks_parse() - parse the argument of --mark-at, for struct marks */
void marks_parse(struct argp_state *state, char *list, const struct option_desc *o, void *at);

/** marks_report() - warn of times that were not reached */
void marks_report(const struct marks *m);

/** record_lost() - how many records were lost, as far as is known */
__u64 record_lost(const struct record *r);

/**
 * record_loop() - copy the stream to the file until the session ends
 *
 * Ends it when the time is over, a signal says so, CMD is gone or the file
 * cannot be written. Context: the session runs, the output is open.
 */
void record_loop(struct record *r);

#endif /* WSMO_RECORD_H */
