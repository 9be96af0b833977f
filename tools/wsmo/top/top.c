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
#include "cli/options.h"
#include "top.h"

enum {
	OPT_REPEAT = 300, OPT_INTERVAL, OPT_SORT, OPT_REVERSE, OPT_FILTER,
	OPT_NO_CLASSES, OPT_COMMAND_OUTPUT,
};

static const struct argp_option options[] = {
	{ "interval", OPT_INTERVAL, "TIME", 0, "Update this often (1s)", 0 },
	{ "sort", OPT_SORT, "wss|share|hot|rss|pid|name", 0, "Order of processes and their classes (wss)", 0 },
	{ "reverse", OPT_REVERSE, NULL, 0, "Reverse the order", 0 },
	{ "filter", OPT_FILTER, "TEXT", 0, "Show what has TEXT in its name, pid or class", 0 },
	{ "no-classes", OPT_NO_CLASSES, NULL, 0, "Show whole processes only", 0 },
	{ "command-output", OPT_COMMAND_OUTPUT, "FILE", 0, "Write the command's output to FILE", 0 },
	{ "repeat", OPT_REPEAT, "N", OPTION_ARG_OPTIONAL, "Print N tables, or all, instead of a screen", 0 },
	{ 0 }
};

static void parse_sort(struct argp_state *state, const char *arg,
		       struct top *top)
{
	for (top->sort = 0; top->sort < TOP_NR_SORTS; top->sort++)
		if (!strcmp(arg, top_sort_names[top->sort]))
			return;
	usage_error(state, "'%s' is no order; see --sort in --help", arg);
}

static void parse_filter(struct argp_state *state, const char *arg,
			 struct top *top)
{
	if (strlen(arg) >= sizeof(top->filter))
		usage_error(state, "a filter has at most %zu bytes",
			    sizeof(top->filter) - 1);
	strcpy(top->filter, arg);
}

static void parse_repeat(struct argp_state *state, const char *arg,
			 struct top *top)
{
	top->repeat = true;
	if (arg && (units_parse_count(arg, LLONG_MAX, &top->count) ||
		    !top->count))
		usage_error(state, "'%s' is not a number of tables", arg);
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &top->record;
		state->child_inputs[1] = &top->format;
		return 0;
	case OPT_COMMAND_OUTPUT:
		top->record.child.output = arg;
		return 0;
	case OPT_INTERVAL:
		top->interval_ns = option_time(state, arg);
		if (top->interval_ns < NSEC_PER_MSEC)
			usage_error(state, "--interval must be at least 1ms");
		return 0;
	case OPT_SORT:
		parse_sort(state, arg, top);
		return 0;
	case OPT_REVERSE:
		top->reverse = true;
		return 0;
	case OPT_FILTER:
		parse_filter(state, arg, top);
		return 0;
	case OPT_NO_CLASSES:
		top->no_classes = true;
		return 0;
	case OPT_REPEAT:
		parse_repeat(state, arg, top);
		return 0;
	case ARGP_KEY_END:
		if (top->record.child.output && !top->record.cmd)
			usage_error(state, "--command-output needs a command");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &record_argp },
	{ .argp = &format_argp },
	{ .argp = &verb_common_argp },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = children,
	.args_doc = "\n-p PID,...\n[--] COMMAND [ARG...]",
	.doc = "Show current working sets: of these processes, of a command, or of what is "
	       "already monitored."
	       "\vKeys: h for help, q to quit. --window's first is shown at first; how to "
	       "monitor is as in wsmo-record(1).",
};

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct top *top = arg;

	if (rec)
		top_record(top, rec);
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

/* A session of our own is over at the stream's end */
static bool is_over(const struct top *top)
{
	return top_own(top) ? !top->record.session.started :
					   !top->running;
}

/* Looks, and prints if there is no screen; Return: 1 to go on, 0 to end, or -1 */
static int look(struct top *top)
{
	if (top_update(top))
		return -1;
	if (top->screen)
		return 1;
	if (is_over(top))
		return 0;
	if (!top->nr_rows)
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
		{ .fd = top->record.session.fd, .events = POLLIN },
		{ .fd = top->screen ? STDIN_FILENO : -1, .events = POLLIN },
	};
	int go_on = 1;

	while (go_on > 0) {
		now = clock_now();
		if (now >= end_ns)
			return WSMO_OK;
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
		if (!top->record.session.started)
			fds[1].fd = -1;
		/* a resize interrupts poll() and comes as a key */
		wake_ns = next_ns < end_ns ? next_ns : end_ns;
		if (poll(fds, ARRAY_SIZE(fds),
			 (wake_ns - now) / NSEC_PER_MSEC + 1) < 0)
			fds[0].revents = fds[1].revents = fds[2].revents = 0;
		if (fds[0].revents && !take_signals(top))
			return WSMO_OK;
		if (fds[1].revents &&
		    session_take(&top->record.session, take_record, top) < 0)
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

	if (top_own(top)) {
		if (record_prepare(&top->record))
			return WSMO_FAILURE;
	} else {
		if (live_status(top->status, sizeof(top->status), &top->running))
			return WSMO_FAILURE;
		if (!top->running) {
			msg("nothing is being monitored; name processes with -p, or a command");
			return WSMO_FAILURE;
		}
	}
	if (top->screen && top_screen_open())
		return WSMO_FAILURE;
	if (top_own(top))
		return record_start(&top->record);
	return record_catch_signals(&top->record, &mask) ? WSMO_FAILURE : 0;
}

int cmd_top(int argc, char **argv)
{
	static struct top top = {
		.record = RECORD_INIT("top"),
		.interval_ns = NSEC_PER_SEC,
	};
	int status;

	top.record.optional = true;
	verb_parse(&argp, "wsmo top", argc, argv, &top);
	top.window_us = top.record.window_us;
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
	session_close(&top.record.session);
	if (top.record.cmd && !status && !child_reap(&top.record.child))
		msg("waiting for %s, which still runs as process %d",
		    top.record.cmd[0], top.record.child.pid);
	status = record_finish(&top.record, status);
	top_free(&top);
	return status;
}
