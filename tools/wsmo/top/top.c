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
#include "cli/units.h"
#include "top.h"

enum {
	OPT_REPEAT = 300, OPT_INTERVAL, OPT_SORT, OPT_REVERSE, OPT_FILTER,
	OPT_TAU, OPT_NO_CLASSES, OPT_JSON, OPT_CSV, OPT_RAW,
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "The command's output; else it is not seen while the screen is drawn", 0 },
	{ NULL, 0, NULL, 0, "What is shown (keys change most of it):", 3 },
	{ "interval", OPT_INTERVAL, "TIME", 0, "Time between two looks (1s)", 3 },
	{ "sort", OPT_SORT, "wss|share|hot|rss|pid|name", 0, "Order of processes, and of the classes of each (wss)", 3 },
	{ "reverse", OPT_REVERSE, NULL, 0, "The other way round", 3 },
	{ "filter", OPT_FILTER, "TEXT", 0, "Only what has this in its name, process id or class", 3 },
	{ "tau", OPT_TAU, "TIME", 0, "The window, of several (the shortest)", 3 },
	{ "no-classes", OPT_NO_CLASSES, NULL, 0, "Only whole processes", 3 },
	{ NULL, 0, NULL, 0, "Without a screen, as when standard output is no terminal:", 4 },
	{ "repeat", OPT_REPEAT, "N", OPTION_ARG_OPTIONAL, "Print N tables; without N until monitoring ends", 4 },
	{ "json", OPT_JSON, NULL, 0, "One JSON object a line", 4 },
	{ "csv", OPT_CSV, NULL, 0, "Comma separated values", 4 },
	{ "raw", OPT_RAW, NULL, 0, "Exact numbers", 4 },
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
		return 0;
	case 'o':
		top->record.child.output = arg;
		return 0;
	case OPT_INTERVAL:
		top->interval_ns = record_time(state, arg);
		if (top->interval_ns < NSEC_PER_MSEC)
			usage_error(state, "--interval is a millisecond at least");
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
	case OPT_TAU:
		top->tau_us = record_time(state, arg) / NSEC_PER_USEC;
		return 0;
	case OPT_NO_CLASSES:
		top->no_classes = true;
		return 0;
	case OPT_REPEAT:
		parse_repeat(state, arg, top);
		return 0;
	case OPT_JSON:
		set_format(state, &top->format, TABLE_JSON);
		return 0;
	case OPT_CSV:
		set_format(state, &top->format, TABLE_CSV);
		return 0;
	case OPT_RAW:
		set_format(state, &top->format, TABLE_RAW);
		return 0;
	case ARGP_KEY_END:
		if (top->record.child.output && !top->record.cmd)
			usage_error(state, "--output is for a command's");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &record_argp },
	{ .argp = &verb_common_argp },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = children,
	.args_doc = "\n-p PID,...\n[--] COMMAND [ARG...]",
	.doc = "Show the working sets of processes as they are now, on a screen that is "
	       "kept up to date: of these processes, of a command, or of those that are "
	       "monitored already."
	       "\vKeys: h for help, q to quit. Monitoring that this has started ends with "
	       "it; other monitoring is left alone. Returns the command's exit status. "
	       "Run by sudo, the command runs as the user who called sudo.",
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

/* The stream's end is what tells of a session of our own */
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
	__u64 next_ns = record_now(), now, wake_ns;
	__u64 end_ns = top->record.duration_ns ?
		       next_ns + top->record.duration_ns : ~0ULL;
	struct pollfd fds[] = {
		{ .fd = top->record.signal_fd, .events = POLLIN },
		{ .fd = top->record.session.fd, .events = POLLIN },
		{ .fd = top->screen ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = top->record.marks.fd, .events = POLLIN },
	};
	int go_on = 1;

	while (go_on > 0) {
		now = record_now();
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
		/* nothing comes behind the end of a session */
		if (!top->record.session.started)
			fds[1].fd = -1;
		/* a resize interrupts it; it is told as a key */
		wake_ns = next_ns < end_ns ? next_ns : end_ns;
		if (poll(fds, ARRAY_SIZE(fds),
			 (wake_ns - now) / NSEC_PER_MSEC + 1) < 0)
			fds[0].revents = fds[1].revents = fds[2].revents =
				fds[3].revents = 0;
		if (fds[0].revents && !take_signals(top))
			return WSMO_OK;
		if (fds[1].revents &&
		    session_take(&top->record.session, take_record, top) < 0)
			return WSMO_FAILURE;
		if (fds[3].revents)
			mark_serve(top->record.marks.fd, top_mark, top);
		if (top->screen && !top_screen_key(top))
			return WSMO_OK;
		/* the terminal is gone, and nohup had its signal ignored */
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
			msg("nothing is monitored; name processes with -p, or a command");
			return WSMO_FAILURE;
		}
	}
	if (top->screen && top_screen_open())
		return WSMO_FAILURE;
	if (top_own(top)) {
		marks_open(&top->record);
		return record_start(&top->record);
	}
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
	top.screen = !top.repeat && top.format == TABLE_HUMAN &&
		     isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	/* keys are for the screen, and what it writes would spoil that */
	if (top.screen && !top.record.child.output)
		top.record.child.output = "/dev/null";
	top_init(&top);
	status = begin(&top);
	if (!status)
		status = loop(&top);
	top_screen_close();
	top_text_end();
	session_close(&top.record.session);
	marks_close(&top.record);
	if (top.record.cmd && !status && !child_reap(&top.record.child))
		msg("waiting for %s, which still runs as process %d",
		    top.record.cmd[0], top.record.child.pid);
	status = record_finish(&top.record, status);
	top_free(&top);
	return status;
}
