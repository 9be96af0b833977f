// SPDX-License-Identifier: GPL-2.0
/* top.c - "wsmo top": options, the loop, events, and the table without a screen */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/secondary.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/names.h"
#include "live/cgroup.h"
#include "top.h"

static struct top_event *last_event(struct top *top)
{
	return &top->events[(top->nr_events - 1) % TOP_EVENTS];
}

/* Note an event for the screen; without a screen, print it */
static void top_event(struct top *top, const char *fmt, ...)
{
	struct top_event *e;
	va_list ap;

	top->nr_events++;
	e = last_event(top);
	e->time = time(NULL);
	e->lost = 0;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (!top->screen)
		msg("%s", e->text);
}

/* Note lost records, in the same event as the loss before */
static void top_lost(struct top *top, __u64 records)
{
	if (top->nr_events && last_event(top)->lost) {
		records += last_event(top)->lost;
		top->nr_events--;
	}
	top_event(top, "LOST %llu records that found no room in the module's buffer",
		  records);
	last_event(top)->lost = records;
}

/* Return: a text with a target's process id and its last known name */
static const char *who(const struct top *top, __u32 pid, char *buf, size_t size)
{
	char clean[64];

	text_clean(clean, sizeof(clean), live_comm(&top->live, pid));
	snprintf(buf, size, "%u%s%s", pid, *clean ? " " : "", clean);
	return buf;
}

static void peak_event(struct top *top, const struct wsmon_rec_peak *p)
{
	char name[80], size[UNITS_LEN], usual[UNITS_LEN];

	top_event(top, "%s: %s %u of %s, %s; usual is %s",
		  who(top, p->pid, name, sizeof(name)), p->sign < 0 ? "dip" : "peak", p->number,
		  peak_group_name(p->group), units_size(size, p->bytes),
		  units_size(usual, p->baseline));
}

static void target_event(struct top *top, const struct wsmon_rec_target *target)
{
	char name[WSMON_COMM_LEN + 1], clean[64], text[SECONDARY_TEXT];

	if (target->flags & WSMON_TARGET_SECONDARY_MMU && secondary_add(target->pid))
		top_event(top, "%s", secondary_text(text, target->pid, target->comm));
	if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_EXEC)
		return;
	snprintf(name, sizeof(name), "%.*s", WSMON_COMM_LEN, target->comm);
	top_event(top, "%u executed %s", target->pid, text_clean(clean, sizeof(clean), name));
}

/* Note that monitoring ended, for an enum of WSMON_END_REASONS */
static void top_ended(struct top *top, __u32 reason)
{
	snprintf(top->status, sizeof(top->status), "ended");
	top_event(top, "monitoring ended: %s", end_name(reason));
}

/* Note the event of a record, if it is one */
static void top_record(struct top *top, const struct wsmon_record *rec)
{
	const struct wsmon_rec_lost *lost = (const void *)rec;
	const struct wsmon_rec_peak *peak = (const void *)rec;
	const struct wsmon_rec_exit *gone = (const void *)rec;
	const struct wsmon_rec_mark *mark = (const void *)rec;
	const struct wsmon_rec_end *end = (const void *)rec;
	char name[80], clean[4 * WSMON_MARK_TEXT];

	switch (rec->type) {
	case WSMON_REC_TARGET:
		target_event(top, (const void *)rec);
		break;
	case WSMON_REC_PEAK:
		if (peak->edge == WSMON_PEAK_START)
			peak_event(top, peak);
		break;
	case WSMON_REC_EXIT:
		top_event(top, "%s ended",
			  who(top, gone->pid, name, sizeof(name)));
		break;
	case WSMON_REC_MARK:
		top_event(top, "mark %u: %s", mark->number,
			  text_clean(clean, sizeof(clean), mark->text));
		break;
	case WSMON_REC_LOST:
		top_lost(top, lost->records);
		break;
	case WSMON_REC_END:
		top->record.session.started = false;
		top_ended(top, end->reason);
		break;
	}
}

/* Note how many cgroups are left out, if that changed */
static void top_left_out(struct top *top)
{
	const struct cgroups *c = &top->cgroups;

	if (c->left_out != top->left_out)
		top_event(top, "%zu smaller cgroup%s no row: there is room for %zu", c->left_out,
			  c->left_out == 1 ? " has" : "s have", c->nr - 1);
	top->left_out = c->left_out;
	if (c->refused != top->refused)
		top_event(top, "%zu cgroup%s not be watched: it is gone, or its path is too long",
			  c->refused, c->refused == 1 ? " could" : "s could");
	top->refused = c->refused;
}

/* Note that there are virtual machines, once */
static void top_guests(struct top *top)
{
	char text[128];

	if (top->guests || !guests_text(text, sizeof(text), top->record.session.cgroup))
		return;
	top->guests = true;
	top_event(top, "%s", text);
}

/* The table without a screen */

struct process_row {
	double t;
	__u64 pid;
	const char *comm, *class;
	__u64 window_us, bytes, low, high, rss, idle;
	double share;
	__u64 hot, regions;
	const char *who;
	double who_share;
};

#define ROW struct process_row

TABLE(process_table, "top",
	COL(t, T, 8, "TIME", 0, "when the figures were read"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(comm, TEXT, 15, "NAME", 0, "its name"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory; ``all`` is the whole process"),
	COL(window_us, US, 6, "WINDOW", 0, "the window"),
	COL(bytes, SIZE, 10, "WSS", 0, "the working set size"),
	COL(low, SIZE, 10, "LOW", 0, "lower end of its 95 % interval"),
	COL(high, SIZE, 10, "HIGH", 0, "upper end"),
	COL(rss, SIZE, 10, "RSS", OR_NULL, "resident memory of the whole process"),
	COL(idle, SIZE, 10, "IDLE", OR_NULL,
	    "``rss`` minus the working set, or minus ``high`` with a secondary MMU; at least 0"),
	COL(share, RATIO, 7, "SHARE", OR_NULL, "working set as a share of the mapped memory"),
	COL(hot, SIZE, 10, "HOT", 0,
	    "size of the regions that have a share of half or more accessed"),
	COL(regions, COUNT, 7, "REGIONS", 0, "regions"),
	COL(who, TEXT, 24, "WHO", NOT_HUMAN | OR_NULL,
	    "with ``--who``: the function that touches most of the memory, or the file of the "
	    "function"),
	COL(who_share, RATIO, 7, "OF IT", NOT_HUMAN | OR_NULL,
	    "share of the memory that this function touches"));

struct cgroup_row {
	double t;
	const char *name, *scope;
	__u64 processes;
	const char *class;
	__u64 window_us, bytes, low, high, rss, idle, regions, guests;
};

#undef ROW
#define ROW struct cgroup_row

TABLE(cgroup_table, "cgroup",
	COL(t, T, 8, "TIME", 0, "when the figures were read"),
	COL(name, TEXT, 32, "NAME", 0, "path of the cgroup"),
	COL(scope, TEXT, 6, "SCOPE", NOT_HUMAN,
	    "``total``: the named cgroup; ``cgroup``: a cgroup below it"),
	COL(processes, COUNT, 5, "PROCS", 0,
	    "processes in it and below it; 0 if ``class`` is not ``all``"),
	COL(class, TEXT, 7, "CLASS", NOT_HUMAN, "class of memory; ``all`` is the whole cgroup"),
	COL(window_us, US, 6, "WINDOW", 0, "the window"),
	COL(bytes, SIZE, 10, "WSS", 0, "the working set size"),
	COL(low, SIZE, 10, "LOW", 0, "lower end of its 95 % interval"),
	COL(high, SIZE, 10, "HIGH", 0, "upper end"),
	COL(rss, SIZE, 10, "RSS", OR_NULL,
	    "memory of the whole cgroup in RAM: anonymous, mapped pages of files, hugetlbfs"),
	COL(idle, SIZE, 10, "IDLE", OR_NULL,
	    "``rss`` minus the working set, or minus ``high`` with ``guests``; at least 0"),
	COL(regions, COUNT, 7, "REGIONS", 0, "regions; 0 if ``class`` is not ``all``"),
	COL(guests, COUNT, 6, "GUESTS", NOT_HUMAN,
	    "virtual machines (KVM): memory that only their guests access reads as idle"));

static struct table *table;

static double time_of(const struct top *top)
{
	return (double)(top->read_ns - top->start_ns) / NSEC_PER_SEC;
}

static void print_row(const struct top *top, const struct top_row *row)
{
	const struct wsmon_wss_row *w = &row->wss;

	table_row(table, &(struct process_row) {
		.t = time_of(top),
		.pid = w->pid, .comm = w->group ? top_name(top, row) : row->comm,
		.class = class_name(w->class),
		.window_us = w->window_us,
		.bytes = w->bytes, .low = w->low, .high = w->high,
		.rss = row->have_rss ? row->rss : UNKNOWN_U64,
		.idle = row->have_rss ? row->idle : UNKNOWN_U64,
		.share = w->mapped ? row->share : NAN,
		.hot = row->hot, .regions = row->regions,
		.who = row->who, .who_share = row->who ? row->who_share : NAN,
	});
}

static void print_group(const struct top *top, const struct top_row *row)
{
	const struct wsmon_wss_row *w = &row->wss;
	char name[4096];

	snprintf(name, sizeof(name), "%s%s", top_name(top, row), row->guests ? "*" : "");
	table_row(table, &(struct cgroup_row) {
		.t = time_of(top),
		.name = top->format == TABLE_HUMAN ? name : row->path,
		.scope = w->group ? "total" : "cgroup",
		.processes = row->processes,
		.class = class_name(w->class),
		.window_us = w->window_us,
		.bytes = w->bytes, .low = w->low, .high = w->high,
		.rss = row->have_rss ? row->rss : UNKNOWN_U64,
		.idle = row->have_rss ? row->idle : UNKNOWN_U64,
		.regions = row->regions, .guests = row->guests,
	});
}

/* Print the table; Return: 0, or -1 if it cannot be written */
static int top_text_print(const struct top *top)
{
	size_t i;

	if (!table) {
		table = table_new(top_grouped(top) ? &cgroup_table : &process_table, top->format);
		if (!top_grouped(top) && top_who_shown(top)) {
			table_show(table, offsetof(struct process_row, who), NOT_HUMAN, true);
			table_show(table, offsetof(struct process_row, who_share), NOT_HUMAN, true);
		}
	}
	for (i = 0; i < top->nr_rows; i++)
		(top_grouped(top) ? print_group : print_row)(top, &top->rows[i]);
	table_flush(table);
	return output_error() ? -1 : 0;
}

/* End the tables */
static void top_text_end(void)
{
	table_end(table);
	table = NULL;
}

static void set_filter(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	struct top *top = to;

	if (strlen(arg) >= sizeof(top->filter))
		usage_error(state, "'%s' is too long; at most %zu bytes", arg,
			    sizeof(top->filter) - 1);
	strcpy(top->filter, arg);
}

static void set_repeat(void *to, const struct option_desc *o, __u64 count)
{
	struct top *top = to;

	top->repeat = true;
	top->count = count;
}

static const struct option_desc options[] = {
	{ "interval", 0, "TIME", "Update this often (1s)", OPT_TIME, OPT_AT(struct top, interval_ns), NSEC_PER_MSEC },
	{ "sort", 0, "wss|share|hot|rss|idle|pid|name", "Order (wss; for cgroups idle)", OPT_CHOICE,
	  OPT_AT(struct top, sort) },
	{ "reverse", 0, NULL, "Reverse the order", OPT_FLAG, OPT_AT(struct top, reverse) },
	{ "filter", 0, "TEXT", "Show rows with TEXT in name, pid or class", OPT_CALL, .call = set_filter },
	{ "no-classes", 0, NULL, "Show whole processes only", OPT_FLAG, OPT_AT(struct top, no_classes) },
	WHO_OPTION("Show who touches most memory; up to RATE pages a second (100)"),
	{ "command-output", 0, "FILE", "Write the command's output to FILE", OPT_TEXT,
	  OPT_AT(struct top, record.child.output) },
	{ "repeat", 0, "N", "Print N tables (without N: no end), no screen", OPT_COUNT,
	  .min = 1, .max = LLONG_MAX, .set = set_repeat, .optional = true },
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
		/* before live_take(), which may forget the name of the process */
		top_record(top, rec);
		live_take(&top->live, rec);
		top_who_take(top, rec);
	}
	return top->record.session.started;
}

/* Return: false if a signal ends the program */
static bool take_signals(struct top *top)
{
	bool go_on = true;
	int sig;

	while ((sig = record_signal(&top->record)))
		go_on &= sig == SIGCHLD;
	return go_on;
}

/* After the end of another program's session, joins its next session, if there is one */
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

/* Return: the time of the last figures, 0 until all cgroups have figures */
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

/* Takes all records that the streams have. Return: 0, or -1 after a message */
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

/* Updates the figures, and prints them without a screen. Return: 1 to continue, 0 to end, or -1 */
static int look(struct top *top)
{
	/* after the end of monitoring the screen keeps the last table */
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

	/* block SIGWINCH outside of ppoll(): after a resize while drawing, ppoll() must not wait */
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, &outside);
	if (top->screen && !top_screen_key(top))
		return WSMO_OK;
	while (go_on > 0) {
		now = clock_now();
		if (now >= end_ns)
			return WSMO_OK;
		/* print the first figures at once, and end the tables at once */
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
		/* a session that has ended has no more records */
		fds[1].fd = !top_running(top) ? -1 :
			    top_grouped(top) ? top->cgroups.fd : top->record.session.fd;
		/* a resize interrupts ppoll() and comes as a key */
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
		/* the terminal is gone; under nohup there is no signal for it */
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
		       "containers, or of processes already monitored."
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
	/* with classes, the rows of many cgroups would be hard to find */
	top.no_classes |= top_grouped(&top);
	if (top.sort == TOP_NR_SORTS)
		top.sort = top_grouped(&top) ? TOP_BY_IDLE : TOP_BY_WSS;
	top.screen = !top.repeat && top.format == TABLE_HUMAN &&
		     isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	/* the command must neither read the keys nor write on the screen */
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
