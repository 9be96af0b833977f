// SPDX-License-Identifier: GPL-2.0
/*
 * top.c - "wsmo top": options, and the loop
 */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "top.h"

static void set_filter(struct argp_state *state, char *arg,
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct top *top = to;

	if (strlen(arg) >= sizeof(top->filter))
		usage_error(state, "'%s' is too long; at most %zu bytes", arg,
			    sizeof(top->filter) - 1);
	strcpy(top->filter, arg);
}

static void set_repeat(struct argp_state *state, char *arg,
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct top *top = to;

	top->repeat = true;
	top->count = arg ? option_count(state, arg, 1, LLONG_MAX) : 0;
}

static const struct option_desc options[] = {
	{ "interval", 0, "TIME", "Update this often (1s)", OPT_TIME, OPT_AT(struct top, interval_ns), NSEC_PER_MSEC },
	{ "sort", 0, "wss|share|hot|rss|idle|pid|name", "Order (wss; of cgroups idle)", OPT_CHOICE,
	  OPT_AT(struct top, sort) },
	{ "reverse", 0, NULL, "Reverse the order", OPT_FLAG, OPT_AT(struct top, reverse) },
	{ "filter", 0, "TEXT", "Show what has TEXT in its name, pid or class", OPT_CALL, .call = set_filter },
	{ "no-classes", 0, NULL, "Show whole processes only", OPT_FLAG, OPT_AT(struct top, no_classes) },
	{ "who", 0, "RATE", "Show who touches most memory; up to RATE pages a second (100)", OPT_CALL,
	  .min = 1, .max = WSMON_WHO_RATE_MAX, .call = record_set_who, .optional = true },
	{ "command-output", 0, "FILE", "Write the command's output to FILE", OPT_TEXT,
	  OPT_AT(struct top, record.child.output) },
	{ "repeat", 0, "N", "Print N tables, or without end, and no screen", OPT_CALL, .call = set_repeat,
	  .optional = true },
	{ 0 }
};

static void check(struct argp_state *state, void *to)
{
	const struct top *top = to;

	record_check(state, to);
	if (top->record.who && !top_own(top))
		usage_error(state, "--who needs a command, or processes with -p");
	if (top->record.child.output && !top->record.cmd)
		usage_error(state, "--command-output needs a command");
}

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct top *top = arg;

	if (rec) {
		/* it uses names that the record may end */
		top_record(top, rec);
		live_take(&top->live, rec);
		top_who_take(top, rec);
	}
	return top->record.session.started;
}

/* Return: false if a signal says to end */
static bool take_signals(struct top *top)
{
	bool go_on = true;
	int sig;

	while ((sig = record_signal(&top->record)))
		go_on &= sig == SIGCHLD;
	return go_on;
}

/* After the end of a session that others started: takes part in the next one, if it runs */
static int join_next(struct top *top)
{
	struct session *s = &top->record.session;
	int res;

	session_close(s);
	*s = (struct session) { .fd = -1 };
	res = session_join(s);
	if (res)
		return res < 0 ? -1 : 1;
	live_free(&top->live);
	live_init(&top->live);
	top->read_ns = 0;
	strcpy(top->status, "running");
	top_event(top, "monitoring started");
	return 1;
}

/* When there are first figures of all cgroups, the time of the last ones; 0 before */
static __u64 time_of_cgroups(const struct cgroups *c)
{
	size_t i;

	for (i = 0; i < c->nr; i++)
		if (!c->list[i]->live.time_ns && c->list[i]->session.started)
			return 0;
	return c->list[0]->live.time_ns;
}

/* Return: 0, or -1 after a message */
static int take_cgroups(struct top *top)
{
	top->cgroups.held = top->paused;
	if (cgroups_take(&top->cgroups))
		return -1;
	if (!top->live.time_ns)
		top->live.time_ns = time_of_cgroups(&top->cgroups);
	if (top->cgroups.ended)
		top_ended(top, WSMON_END_TARGETS_GONE);
	return 0;
}

/* Takes what the streams have now; Return: 0, or -1 after a message */
static int take(struct top *top)
{
	if (top_grouped(top))
		return take_cgroups(top);
	top->live.held = top->paused;
	return session_take(&top->record.session, take_record, top) < 0 ? -1 : 0;
}

/* Return: 0, or -1 after a message */
static int update(struct top *top)
{
	if (top_grouped(top)) {
		if (cgroups_refresh(&top->cgroups))
			return -1;
		top_left_out(top);
		top_guests(top);
	}
	return top_update(top);
}

/* Looks, and prints if there is no screen; Return: 1 to go on, 0 to end, or -1 */
static int look(struct top *top)
{
	/* after the end the last table stays on the screen */
	if (!top_running(top) && !top->screen)
		return 0;
	if (!top_running(top) && top->read_ns > top->live.time_ns)
		return top_own(top) ? 1 : join_next(top);
	if (!top->live.time_ns)
		return 1;
	if (update(top))
		return -1;
	if (top->screen || !top->nr_rows)
		return 1;
	if (top_text_print(top))
		return -1;
	return !top->count || --top->count;
}

/* Return: exit status */
static int loop(struct top *top)
{
	__u64 next_ns = clock_now(), now, wake_ns;
	__u64 end_ns = top->record.duration_ns ?
		       next_ns + top->record.duration_ns : ~0ULL;
	struct pollfd fds[] = {
		{ .fd = top->record.signal_fd, .events = POLLIN },
		{ .events = POLLIN },
		{ .fd = top->screen ? STDIN_FILENO : -1, .events = POLLIN },
	};
	struct timespec wait;
	sigset_t resize, outside;
	int go_on = 1;

	/* one that comes between drawing and waiting must not wait for the next figures */
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, &outside);
	if (top->screen && !top_screen_key(top))
		return WSMO_OK;
	while (go_on > 0) {
		now = clock_now();
		if (now >= end_ns)
			return WSMO_OK;
		/* the first figures do not wait, nor does the end of tables */
		if (top->live.time_ns && !top->read_ns && !top->paused)
			next_ns = now;
		if (!top->screen && !top_running(top))
			next_ns = now;
		if (now >= next_ns) {
			next_ns += (now - next_ns) / top->interval_ns *
				   top->interval_ns + top->interval_ns;
			if (!top->paused)
				go_on = look(top);
			continue;
		}
		if (top->screen)
			top_screen_draw(top);
		/* nothing follows the end of a session */
		fds[1].fd = !top_running(top) ? -1 :
			    top_grouped(top) ? top->cgroups.fd : top->record.session.fd;
		/* a resize interrupts this and comes as a key */
		wake_ns = next_ns < end_ns ? next_ns : end_ns;
		wait.tv_sec = (wake_ns - now) / NSEC_PER_SEC;
		wait.tv_nsec = (wake_ns - now) % NSEC_PER_SEC;
		if (ppoll(fds, ARRAY_SIZE(fds), &wait, &outside) < 0)
			fds[0].revents = fds[1].revents = fds[2].revents = 0;
		if (fds[0].revents && !take_signals(top))
			return WSMO_OK;
		if (fds[1].revents && take(top))
			return WSMO_FAILURE;
		if (top->screen && !top_screen_key(top))
			return WSMO_OK;
		if (top->changed && top_arrange(top))
			return WSMO_FAILURE;
		/* the terminal is gone; nohup ignores its signal */
		if (fds[2].revents & ~POLLIN)
			return WSMO_OK;
	}
	return go_on < 0 ? WSMO_FAILURE : WSMO_OK;
}

/* Return: 0, or the exit status after a message */
static int begin(struct top *top)
{
	sigset_t mask;
	int res;

	if (top_grouped(top)) {
		if (cgroups_begin(&top->cgroups, &top->record.session))
			return WSMO_FAILURE;
	} else if (top_own(top)) {
		if (record_prepare(&top->record))
			return WSMO_FAILURE;
	} else {
		res = session_join(&top->record.session);
		if (res > 0)
			msg("nothing is being monitored; name processes with -p or --cgroup, or a command");
		if (res)
			return WSMO_FAILURE;
	}
	if (top->screen && top_screen_open())
		return WSMO_FAILURE;
	if (top_own(top) && !top_grouped(top))
		return record_start(&top->record);
	return record_catch_signals(&top->record, &mask) ? WSMO_FAILURE : 0;
}

int cmd_top(int argc, char **argv)
{
	static struct top top = {
		.record = RECORD_INIT("top"),
		.interval_ns = NSEC_PER_SEC,
		.status = "running",
		.sort = TOP_NR_SORTS,
	};
	int status;

	top.record.optional = true;
	options_parse(&(struct command_line) {
		.name = "wsmo top",
		.args = "[-p PID,... | --cgroup CGROUP | --all]\n[--] COMMAND [ARG...]",
		.doc = "Show current working sets: of these processes, of a command, of services and "
		       "containers, or of what is already monitored."
		       "\vKeys: h for help, q to quit. Options that say how to monitor are those of "
		       "wsmo-record(1); with several windows (--window), w shows the next.",
		.groups = {
			OPT_GROUP(options, &top), OPT_GROUP(record_cgroup_options, &top.record),
			OPT_GROUP(record_target_options, &top.record),
			OPT_GROUP(record_attr_options, &top.record, .hidden = true),
			OPT_GROUP(format_options, &top.format), OPT_GROUP(debugfs_options, NULL),
		},
		.to = &top, .command = record_command, .check = check,
	}, argc, argv);
	record_follow(&top.record, false, NULL);
	top.window_us = top.record.window_us;
	/* the classes of many cgroups hide these */
	top.no_classes |= top_grouped(&top);
	if (top.sort == TOP_NR_SORTS)
		top.sort = top_grouped(&top) ? TOP_BY_IDLE : TOP_BY_WSS;
	top.screen = !top.repeat && top.format == TABLE_HUMAN &&
		     isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	/* the command must not read the keys or write over the screen */
	if (top.screen && !top.record.child.output)
		top.record.child.output = "/dev/null";
	top_init(&top);
	status = begin(&top);
	if (!status)
		status = loop(&top);
	top_screen_close();
	top_text_end();
	if (top_grouped(&top))
		cgroups_end(&top.cgroups);
	session_close(&top.record.session);
	if (top.record.cmd && !status && !child_reap(&top.record.child))
		msg("waiting for %s, which still runs as process %d",
		    top.record.cmd[0], top.record.child.pid);
	status = record_finish(&top.record, status);
	top_free(&top);
	return status;
}
