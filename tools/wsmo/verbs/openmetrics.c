// SPDX-License-Identifier: GPL-2.0
/*
 * openmetrics.c - "wsmo export openmetrics": of a recording, of a session, and of many cgroups
 *
 * node_exporter reads Prometheus' text format. It declares counters by another name and has no
 * units; "# EOF" is a comment in it.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/outfile.h"
#include "core/secondary.h"
#include "core/text.h"
#include "core/units.h"
#include "export.h"
#include "libwsmon/events.h"
#include "libwsmon/filter.h"
#include "libwsmon/names.h"
#include "libwsmon/series.h"
#include "live/cgroup.h"
#include "live/cgroups.h"
#include "live/live.h"
#include "live/session.h"
#include "live/stuck.h"
#include "views/collect.h"

/**
 * struct metrics_group - the group of a recording or session, which has a total
 * @name:	name of the group
 * @cgroup:	the group is a cgroup, and @name its path
 */
struct metrics_group {
	const char *name;
	bool cgroup;
};

/* The first families also have samples of cgroups */
#define FLEET_FAMILIES	3

/* Families with a sample for each row; @classes: samples have a class and a window */
static const struct family {
	const char *name;
	const char *help;
	size_t offset;
	bool classes;
} wss_families[] = {
	{ "wsmon_working_set_bytes", "Memory accessed within the window (seconds), estimate.",
	  offsetof(struct wsmon_wss_row, bytes), true },
	{ "wsmon_working_set_low_bytes", "Lower end of the 95 % interval of the working set.",
	  offsetof(struct wsmon_wss_row, low), true },
	{ "wsmon_working_set_high_bytes", "Upper end of the 95 % interval of the working set.",
	  offsetof(struct wsmon_wss_row, high), true },
	{ "wsmon_mapped_bytes", "Memory mapped.",
	  offsetof(struct wsmon_wss_row, mapped), true },
}, rss_family = {
	"wsmon_resident_bytes", "Memory resident.",
	offsetof(struct wsmon_wss_row, bytes), false,
};

static bool prometheus;

/* Write Prometheus' text format from here on, not OpenMetrics */
static void metrics_prometheus(void)
{
	prometheus = true;
}

/* In Prometheus' format a counter is declared by the name of its samples, and has no unit */
static void head(const char *name, bool counter, const char *unit, const char *help)
{
	const char *suffix = prometheus && counter ? "_total" : "";

	printf("# TYPE %s%s %s\n", name, suffix, counter ? "counter" : "gauge");
	if (unit && !prometheus)
		printf("# UNIT %s %s\n", name, unit);
	printf("# HELP %s%s %s\n", name, suffix, help);
}

/* Escapes quotes and backslashes */
static void put_label(const char *text)
{
	char clean[4 * GROUP_PATH];
	const char *s = text_clean(clean, sizeof(clean), text);

	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

/* Prints the labels that all samples have; others may follow */
static void put_target(const char *name, __u32 pid, const char *comm)
{
	printf("%s{pid=\"%u\",comm=\"", name, pid);
	put_label(comm);
	putchar('"');
}

static void sample(const struct family *f, const struct wsmon_wss_row *row,
		   const struct sorted *names, const struct metrics_group *group,
		   __u64 mono_ns, __u64 real_ns)
{
	const struct wss_name key = { .pid = row->pid };
	const struct wss_name *name = row->group ? NULL : sorted_find(names, &key);

	if (row->group) {
		printf("%s{%s=\"", f->name, group->cgroup ? "cgroup" : "group");
		put_label(group->name);
		putchar('"');
	} else {
		put_target(f->name, row->pid, name ? name->comm : "");
	}
	if (f->classes)
		printf(",class=\"%s\",window=\"%.15g\"",
		       class_name(row->class), row->window_us / 1e6);
	printf("} %llu", *(const __u64 *)((const char *)row + f->offset));
	if (mono_ns)
		printf(" %.3f", (real_ns + (row->time_ns - mono_ns)) / 1e9);
	putchar('\n');
}

static void family(const struct family *f, const struct wsmon_wss_rows *rows,
		   const struct sorted *names, const struct metrics_group *group,
		   __u64 mono_ns, __u64 real_ns)
{
	size_t i;

	head(f->name, false, "bytes", f->help);
	for (i = 0; i < rows->nr; i++)
		sample(f, &rows->row[i], names, group, mono_ns, real_ns);
}

/*
 * The families about working set sizes
 * @rows: rows by series, then by time
 * @names: struct wss_name
 * @group: the group, if it has rows
 * @mono_ns: start of the recording; 0: @rows are present figures, printed without a time
 * @real_ns: start of the recording, since 1970
 */
static void metrics_wss(const struct wsmon_wss_rows *rows, const struct sorted *names,
			const struct metrics_group *group, __u64 mono_ns, __u64 real_ns)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wss_families); i++)
		family(&wss_families[i], rows, names, group, mono_ns, real_ns);
}

/* The family about resident sizes; arguments as of metrics_wss() */
static void metrics_rss(const struct wsmon_wss_rows *rows, const struct sorted *names,
			__u64 mono_ns, __u64 real_ns)
{
	family(&rss_family, rows, names, NULL, mono_ns, real_ns);
}

/**
 * struct value - a sample of a series, to be printed
 * @name:	the target
 * @group:	the working set that peaks; WSMON_PEAK_GROUPS: all of them
 * @ms:		time since 1970; 0: now, printed without a time
 * @value:	the latest value at this time
 * @there:	@value is set
 */
struct value {
	const struct wss_name *name;
	__u32 group;
	__u64 ms;
	int value;
	bool there;
};

static void put_value(const struct value *v)
{
	bool count = v->group == WSMON_PEAK_GROUPS;

	if (!v->there)
		return;
	put_target(count ? "wsmon_peaks_total" : "wsmon_peak", v->name->pid,
		   v->name->comm);
	if (!count)
		printf(",group=\"%s\"", peak_group_name(v->group));
	printf("} %d", v->value);
	if (v->ms)
		printf(" %llu.%03llu", v->ms / 1000, v->ms % 1000);
	putchar('\n');
}

/* Notes a value; of several values with the same time the last is printed */
static void next_value(struct value *v, __u64 ms, int value)
{
	if (v->ms != ms)
		put_value(v);
	v->ms = ms;
	v->value = value;
	v->there = true;
}

/* @offset_ns: time since 1970 minus time by the records' clock; 0: present figures */
static void put_peaks(const struct events *ev, const struct wss_name *name,
		      __u32 group, __s64 offset_ns)
{
	struct value v = { .name = name, .group = group };
	const struct peak *p;
	size_t i;

	if (!offset_ns)
		next_value(&v, 0, 0);
	for (i = events_first(ev, name->pid, 0); (p = events_peak_at(ev, i)) && p->pid == name->pid; i++) {
		__u64 start = offset_ns ? (p->start_ns + offset_ns) / NSEC_PER_MSEC : 0;
		__u64 end = offset_ns ? (p->end_ns + offset_ns) / NSEC_PER_MSEC : 0;

		/* peaks of all groups of a target are numbered together */
		if (group == WSMON_PEAK_GROUPS)
			next_value(&v, start, p->number);
		if (p->group != group)
			continue;
		next_value(&v, start, p->sign);
		if (p->end_ns)
			next_value(&v, end, 0);
	}
	put_value(&v);
}

/*
 * The number of peaks of the working set, and whether a peak lasts
 * @names:	the targets
 * @mono_ns:	as in metrics_wss()
 */
static void metrics_peaks(const struct events *ev, const struct sorted *names,
			  __u64 mono_ns, __u64 real_ns)
{
	const struct wss_name *name = names->base;
	__s64 offset_ns = mono_ns ? real_ns - mono_ns : 0;
	__u32 group;
	size_t i;

	head("wsmon_peaks", true, NULL, "Peaks of the working set so far.");
	for (i = 0; i < names->nr; i++)
		put_peaks(ev, &name[i], WSMON_PEAK_GROUPS, offset_ns);
	head("wsmon_peak", false, NULL,
	     "1 in a peak, -1 in a dip, else 0.");
	for (i = 0; i < names->nr; i++)
		for (group = 0; group < WSMON_PEAK_GROUPS; group++)
			put_peaks(ev, &name[i], group, offset_ns);
}

/*
 * A family that has one sample
 * @name: name with the unit, without "_total"
 * @unit: "seconds", or NULL
 * @counter: true: a counter, which only grows; false: a gauge
 * @root: value of the label "root"; NULL: none
 */
static void metric_plain(const char *name, const char *unit, bool counter,
			 const char *help, const char *root, double value)
{
	head(name, counter, unit, help);
	printf("%s%s", name, counter ? "_total" : "");
	if (root) {
		fputs("{root=\"", stdout);
		put_label(root);
		fputs("\"}", stdout);
	}
	printf(" %.15g\n", value);
}

/* Prints whether monitoring runs, and its cost; @root as in metric_plain() */
static void metrics_running(const char *root, bool running, __u64 cpu_ns, __u64 lost)
{
	metric_plain("wsmon_monitoring", NULL, false, "Whether monitoring runs.", root, running);
	metric_plain("wsmon_cpu_seconds", "seconds", true,
		     "CPU time of the kernel threads since monitoring started.", root, cpu_ns / 1e9);
	metric_plain("wsmon_lost_records", NULL, true,
		     "Records that found no room in the buffer since monitoring started.", root, lost);
}

static void metrics_end(void)
{
	puts("# EOF");
}

/*
 * A recording. In OpenMetrics all samples of a metric stand together, so keep rows until the end.
 */

struct metrics {
	struct collected kept;
	struct events events;
};

static void metrics_begin(struct report *rp)
{
	struct metrics *m = need(calloc(1, sizeof(*m)));

	collect_init(&m->kept);
	rp->data = m;
}

static void metrics_record(struct report *rp, const struct wsmon_record *rec)
{
	struct metrics *m = rp->data;

	/* the labels of a series must not change, so it has the last name of the process */
	collect_record(&m->kept, &rp->filter, rec);
	if (rec->type == WSMON_REC_PEAK && filter_wants(&rp->filter, rec))
		events_add(&m->events, rec);
}

static void metrics_done(struct report *rp)
{
	const struct wsmon_file_header *h = &rp->reader.header;
	struct metrics *m = rp->data;
	struct collected *kept = &m->kept;
	struct metrics_group group = { .name = kept->group.path, .cgroup = *kept->group.path };
	char name[GROUP_NAME];

	if (!group.cgroup)
		group.name = group_name(&kept->group, kept->names.nr, name);
	wsmon_wss_sort(&kept->rows, false);
	wsmon_wss_sort(&kept->rss, false);
	sorted_order(&kept->names);
	metrics_wss(&kept->rows, &kept->names, &group, h->mono_ns, h->real_ns);
	metrics_rss(&kept->rss, &kept->names, h->mono_ns, h->real_ns);
	metrics_peaks(&m->events, &kept->names, h->mono_ns, h->real_ns);
	metrics_end();
	collect_free(kept);
	events_free(&m->events);
	free(m);
}

const struct report_view export_openmetrics = {
	.name = "openmetrics",
	.begin = metrics_begin,
	.record = metrics_record,
	.end = metrics_done,
};

/* Present figures of a session: --live */

/**
 * struct exporter - the session that began last, and its figures
 * @session:	the session; its fd is -1 while no session runs
 * @live:	the figures
 * @written:	figures of this session were written
 */
struct exporter {
	struct session session;
	struct live live;
	bool written;
};

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct exporter *e = arg;

	if (!rec)
		return true;
	secondary_take(rec, "");
	live_take(&e->live, rec);
	e->session.started = rec->type != WSMON_REC_END;
	return e->session.started;
}

static void leave(struct exporter *e)
{
	session_close(&e->session);
	live_free(&e->live);
	*e = (struct exporter) { .session.fd = -1 };
	live_init(&e->live);
	secondary_forget();
}

/* Return: 0, or -1 after a message */
static int join(struct exporter *e)
{
	int res = session_join(&e->session);

	if (res)
		leave(e);
	return res < 0 ? -1 : 0;
}

static void print_now(const void *arg)
{
	const struct exporter *e = arg;
	const struct live *now = &e->live;

	metrics_running(NULL, e->session.started, now->cpu_ns, now->lost);
	metrics_wss(&now->now.rows, &now->names, NULL, 0, 0);
	metrics_rss(&now->rss, &now->names, 0, 0);
	metrics_peaks(&now->events, &now->names, 0, 0);
}

/*
 * Write metrics to a file in one step: @file has all of them, or stays as it was
 * @file: NULL for standard output
 * Return: 0, or -1 after a message
 */
static int export_write(const char *file, void (*print)(const void *arg), const void *arg)
{
	if (file && outfile_begin(file))
		return -1;
	print(arg);
	metrics_end();
	if (file)
		/* do not sync: the file is removed when the export ends */
		return outfile_commit(false);
	return fflush(stdout) || output_error() ? -1 : 0;
}

/* Return: the first time after @now that is a multiple of @interval_ns after @next_ns */
static __u64 export_next(__u64 next_ns, __u64 now, __u64 interval_ns)
{
	return next_ns + (now - next_ns) / interval_ns * interval_ns + interval_ns;
}

/* Return: a file to poll for the signals that end the export; -1 after a message */
static int export_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		msg("signals cannot be caught: %m");
	else
		stuck_watch(fd, NULL, NULL);
	return fd;
}

static int write_now(struct exporter *e, const char *file)
{
	e->written = e->live.time_ns;
	return export_write(file, print_now, e);
}

int export_live(const char *file, __u64 interval_ns)
{
	static struct exporter e = { .session.fd = -1 };
	struct pollfd fds[] = {
		{ .fd = export_signals(), .events = POLLIN }, { .events = POLLIN },
	};
	__u64 next_ns = clock_now(), now, wait_ms;
	int err = fds[0].fd < 0 ? -1 : 0;

	metrics_prometheus();
	live_init(&e.live);
	while (!err && !fds[0].revents) {
		now = clock_now();
		if (now >= next_ns && e.session.fd < 0)
			err = join(&e);
		/* write the first figures as soon as there are some */
		if (!err && (now >= next_ns ? e.live.time_ns || !e.session.started :
					      e.live.time_ns && !e.written))
			err = write_now(&e, file);
		if (now >= next_ns)
			next_ns = export_next(next_ns, now, interval_ns);
		fds[1].fd = e.session.fd;
		wait_ms = (next_ns - now) / NSEC_PER_MSEC + 1;
		if (err || poll(fds, ARRAY_SIZE(fds), wait_ms < INT_MAX ? wait_ms : INT_MAX) <= 0)
			continue;
		if (fds[1].revents)
			err = session_take(&e.session, take_record, &e) < 0 ? -1 : 0;
		if (!e.session.started)
			leave(&e);
	}
	leave(&e);
	/* old figures must not be taken for current ones */
	outfile_remove();
	return err ? WSMO_FAILURE : WSMO_OK;
}

/*
 * Many cgroups, watched in turns: --live --cgroups
 *
 * A session costs kernel memory, and all sessions share one CPU budget. So only some cgroups are
 * watched at once. If there are more cgroups, they take turns, and between its turns a cgroup keeps
 * its last figures.
 */

/**
 * struct watched - a cgroup and its figures
 * @of:		the session of the present turn; @of.resident is 0 if unknown
 * @rows:	last working set sizes that cover the longest window
 * @processes:	number of processes at the time of @rows
 * @time_ms:	time of @rows, since 1970; 0: there are no figures yet
 * @began_ns:	start of the present or last turn
 * @ended_ns:	end of the last turn; 0: none has ended
 * @refused:	the last attempt to watch the cgroup failed
 * @again:	a scan found the cgroup after the failed attempt: try again
 */
struct watched {
	struct cgroup_session of;
	struct wsmon_wss_rows rows;
	__u32 processes;
	__u64 time_ms;
	__u64 began_ns;
	__u64 ended_ns;
	bool refused;
	bool again;
};

/**
 * struct fleet - the cgroups
 * @o:		options: which cgroups are watched, and how
 * @filter:	classes to print
 * @list:	struct watched *, by path
 * @found:	number of cgroups with processes, @list.nr or more
 * @refused:	number of cgroups in @list that could not be watched
 * @open:	number of cgroups that are watched now
 * @fd:		readable when a session has records
 * @cpu_ns:	CPU time of turns that have ended
 * @ended:	number of turns that have ended
 * @lost:	number of records lost in turns that have ended
 * @allowed_ns:	CPU time that all turns together may take until @allowed_at_ns
 * @look_ns:	time of the next scan for cgroups
 */
struct fleet {
	struct export_fleet o;
	const struct filter *filter;
	struct sorted list;
	size_t found;
	size_t refused;
	size_t open;
	int fd;
	__u64 cpu_ns;
	__u64 ended;
	__u64 lost;
	__u64 allowed_ns;
	__u64 allowed_at_ns;
	__u64 look_ns;
};

/* Scan for cgroups this often, or at most 1 % of the time */
#define LOOK_INTERVAL	(5 * NSEC_PER_SEC)
#define LOOK_PACE	100

/* A turn lasts the longest window and this many aggregation intervals, which improve the figures */
#define TURN_INTERVALS	4

/* A turn that has no figures yet may last this many times as long */
#define TURNS_PATIENCE	6

/* CPU time that is not used within this time is lost */
#define CREDIT		(10 * NSEC_PER_SEC)

static struct watched *at(const struct fleet *f, size_t i)
{
	return ((struct watched **)f->list.base)[i];
}

static int compare_paths(const void *a, const void *b)
{
	const struct watched * const *x = a, * const *y = b;

	return strcmp((*x)->of.session.cgroup, (*y)->of.session.cgroup);
}

static void end_turn(struct fleet *f, struct watched *w, __u64 now)
{
	if (w->of.session.fd < 0)
		return;
	f->cpu_ns += w->of.live.cpu_ns;
	f->ended++;
	f->lost += w->of.live.lost;
	f->open--;
	cgroup_session_end(&w->of);
	w->ended_ns = now;
}

static void drop_cgroup(struct fleet *f, size_t i)
{
	struct watched *w = at(f, i);

	end_turn(f, w, 0);
	f->refused -= w->refused;
	sorted_remove(&f->list, &((struct watched **)f->list.base)[i]);
	wsmon_wss_free(&w->rows);
	cgroup_session_free(&w->of);
}

/* Return: the cgroup with a path; NULL if the list does not have it */
static struct watched *find_cgroup(const struct fleet *f, char *path)
{
	struct watched key = { .of.session.cgroup = path }, *k = &key, **w;

	w = sorted_find(&f->list, &k);
	return w ? *w : NULL;
}

static void add_cgroup(struct fleet *f, const struct cgroup_below *c)
{
	struct watched *w = find_cgroup(f, c->path);

	if (!w) {
		w = need(calloc(1, sizeof(*w)));
		cgroup_session_init(&w->of, &f->o.how, c->path);
		need(sorted_get(&f->list, &w));
	}
	w->of.resident = c->bytes;
	w->of.guests = guests_of(c->path);
	w->of.keep = true;
	w->again = w->refused;
}

/* Orders by size, largest first. A watched cgroup counts a quarter more, to keep it if possible */
static int by_size(const void *x, const void *y, void *arg)
{
	const struct cgroup_below *a = x, *b = y;
	__u64 p = a->bytes, q = b->bytes;

	p += find_cgroup(arg, a->path) ? p / 4 + 1 : 0;
	q += find_cgroup(arg, b->path) ? q / 4 + 1 : 0;
	return COMPARE(q, p) ?: strcmp(a->path, b->path);
}

/* Return: 0, or -1 if there is no such cgroup */
static int list_root(const struct fleet *f, struct cgroup_below **list, size_t *nr)
{
	__u32 pid;

	*list = NULL;
	*nr = 0;
	if (!f->o.alone)
		return cgroup_list(f->o.root, list, nr);
	if (cgroup_pids(f->o.root, &pid, 1) < 0)
		return -1;
	*list = need(calloc(1, sizeof(**list)));
	(*list)->path = need(strdup(f->o.root));
	cgroup_memory(f->o.root, &(*list)->bytes);
	*nr = 1;
	return 0;
}

/* Scans for cgroups. Return: 0; -1 if the root is no cgroup: then nothing is watched */
static int look_for_cgroups(struct fleet *f)
{
	struct cgroup_below *list;
	size_t nr, i;
	__u64 began = clock_now(), took;
	int err = list_root(f, &list, &nr);

	took = clock_now() - began;
	f->look_ns = began + (took * LOOK_PACE > LOOK_INTERVAL ? took * LOOK_PACE : LOOK_INTERVAL);
	f->found = nr;
	guests_read();
	if (nr > f->o.max)
		qsort_r(list, nr, sizeof(*list), by_size, f);
	for (i = 0; i < f->list.nr; i++)
		at(f, i)->of.keep = false;
	for (i = 0; i < nr; i++) {
		if (i < f->o.max)
			add_cgroup(f, &list[i]);
		free(list[i].path);
	}
	free(list);
	for (i = f->list.nr; i-- > 0;)
		if (!at(f, i)->of.keep)
			drop_cgroup(f, i);
	return err;
}

static __u64 longest_window_ns(const struct watched *w)
{
	const struct wsmon_attrs *a = &w->of.session.reader.header.attrs;

	return a->nr_windows ? a->windows_us[a->nr_windows - 1] * NSEC_PER_USEC : 0;
}

/* Does this turn have figures that cover the longest window? */
static bool has_figures(const struct watched *w)
{
	return w->of.live.time_ns >= w->began_ns + longest_window_ns(w);
}

/*
 * Is the turn of a cgroup over? A turn without figures lasts longer, because the first figures are
 * late on a busy machine. It ends nevertheless, because a cgroup without processes has no figures.
 */
static bool is_over(const struct watched *w, __u64 now)
{
	const struct wsmon_attrs *a = &w->of.session.reader.header.attrs;
	__u64 aggr_ns = a->aggr_us ? a->aggr_us * NSEC_PER_USEC : NSEC_PER_SEC;
	__u64 turn_ns = longest_window_ns(w) + TURN_INTERVALS * aggr_ns;

	return now - w->began_ns > (has_figures(w) ? turn_ns : TURNS_PATIENCE * turn_ns);
}

/* Return: the next cgroup: the largest that never had a turn, else the one that waited longest */
static struct watched *next(const struct fleet *f)
{
	struct watched *best = NULL;
	size_t i;

	for (i = 0; i < f->list.nr; i++) {
		struct watched *w = at(f, i);

		if (w->of.session.fd < 0 && w->refused <= w->again && (!best || w->ended_ns < best->ended_ns ||
					  (w->ended_ns == best->ended_ns &&
					   w->of.resident > best->of.resident)))
			best = w;
	}
	return best;
}

/* CPU time of all turns; a running turn counts at least the mean of turns that have ended */
static __u64 cpu_taken(const struct fleet *f)
{
	__u64 usual = f->ended ? f->cpu_ns / f->ended : 0, sum = f->cpu_ns;
	size_t i;

	for (i = 0; i < f->list.nr; i++)
		if (at(f, i)->of.session.fd >= 0)
			sum += at(f, i)->of.live.cpu_ns > usual ? at(f, i)->of.live.cpu_ns : usual;
	return sum;
}

/*
 * May a turn begin? The module limits the CPU time of running sessions, but a session takes much
 * of its CPU time at once when it begins. So turns wait until CPU time is left, unless all cgroups
 * can be watched at once.
 */
static bool can_afford(const struct fleet *f, const struct watched *w)
{
	return (!w->ended_ns && f->list.nr <= f->o.at_once) || f->o.cpu_permille >= 1000 ||
	       cpu_taken(f) <= f->allowed_ns;
}

static void allow(struct fleet *f, __u64 now)
{
	__u64 most = cpu_taken(f) + CREDIT / 1000 * f->o.cpu_permille;

	f->allowed_ns += (now - f->allowed_at_ns) / 1000 * f->o.cpu_permille;
	f->allowed_at_ns = now;
	if (f->allowed_ns > most)
		f->allowed_ns = most;
}

/* Return: the cgroup whose turn began first; NULL if this turn is not over */
static struct watched *last(const struct fleet *f, __u64 now)
{
	struct watched *best = NULL;
	size_t i;

	for (i = 0; i < f->list.nr; i++)
		if (at(f, i)->of.session.fd >= 0 && (!best || at(f, i)->began_ns < best->began_ns))
			best = at(f, i);
	return best && is_over(best, now) ? best : NULL;
}

static void end_turns(struct fleet *f, __u64 now)
{
	size_t waiting = f->list.nr - f->refused - f->open, some = f->o.at_once / TURN_INTERVALS + 1;
	struct watched *w;

	if (waiting > some)
		waiting = some;
	while (waiting-- && (w = last(f, now)))
		end_turn(f, w, now);
}

/* Return: 0; 1 if no session can begin now; -1 after a message */
static int begin_turn(struct fleet *f, struct watched *w, __u64 now)
{
	int err = cgroup_session_begin(&w->of, f->fd);

	switch (err) {
	case 0:
		w->began_ns = now;
		f->open++;
		f->refused -= w->refused;
		w->refused = false;
		return 0;
	case -ENOENT:		/* the cgroup was just removed, */
	case -EINVAL:		/* or its path is too long: go on with others */
		f->refused += !w->refused;
		w->refused = true;
		w->again = false;
		return 0;
	case -EMFILE:
	case -ENOMEM:
		return 1;
	case 1:
		return -1;
	}
	device_explain("buffer", err);
	return -1;
}

/*
 * Scan for cgroups, end and begin turns; to be called about once a second
 * Return: 0, or -1 after a message
 */
static int fleet_turn(struct fleet *f)
{
	__u64 now = clock_now();
	struct watched *w;
	int err = 0;

	if (now >= f->look_ns)
		look_for_cgroups(f);
	allow(f, now);
	end_turns(f, now);
	/* don't restart a session that just ended or failed to start */
	while (!err && f->open < f->o.at_once && (w = next(f)) && w->ended_ns != now &&
	       can_afford(f, w))
		err = begin_turn(f, w, now);
	return err < 0 ? -1 : 0;
}

/* Begin to watch; Return: 0, or -1 after a message */
static int fleet_begin(struct fleet *f)
{
	size_t room = cgroup_sessions_max();
	int fd;

	f->list = SORTED(struct watched *, f->o.max, compare_paths);
	if (f->o.at_once > room)
		f->o.at_once = room;
	f->allowed_at_ns = clock_now();
	f->fd = epoll_create1(EPOLL_CLOEXEC);
	debugfs_load_module();
	fd = device_open();
	if (fd >= 0) {
		close(fd);
	} else if (fd != -EMFILE) {
		device_explain("buffer", fd);
		return -1;
	}
	if (!look_for_cgroups(f))
		return fleet_turn(f);
	msg("no such cgroup (of version 2): %s", f->o.root);
	return -1;
}

/* Keeps the figures of an interval, if they cover the longest window */
static void keep(struct watched *w)
{
	struct timespec ts;

	if (!has_figures(w))
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	wsmon_wss_free(&w->rows);
	w->rows = w->of.live.now.rows;
	w->of.live.now.rows = (struct wsmon_wss_rows) { 0 };
	w->processes = w->of.live.now.group.members;
	w->time_ms = ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC -
		     (clock_now() - w->of.live.time_ns) / NSEC_PER_MSEC;
}

/* Takes all records that the streams have. Return: 0, or -1 after a message */
static int fleet_take(struct fleet *f)
{
	struct cgroup_session *ready[CGROUPS_MAX + 1];
	size_t nr = cgroup_sessions_ready(f->fd, ready), i;

	for (i = 0; i < nr; i++) {
		struct watched *w = (struct watched *)(void *)ready[i];
		__u64 before = w->of.live.time_ns;

		if (cgroup_session_take(&w->of))
			return -1;
		if (w->of.live.time_ns != before)
			keep(w);
		/* the cgroup was removed */
		if (!w->of.session.started)
			end_turn(f, w, clock_now());
	}
	return 0;
}

/* Gets the CPU time of all turns so far, and the number of records lost in them */
static void fleet_sum(const struct fleet *f, __u64 *cpu_ns, __u64 *lost)
{
	size_t i;

	*cpu_ns = f->cpu_ns;
	*lost = f->lost;
	for (i = 0; i < f->list.nr; i++) {
		if (at(f, i)->of.session.fd < 0)
			continue;
		*cpu_ns += at(f, i)->of.live.cpu_ns;
		*lost += at(f, i)->of.live.lost;
	}
}

/* End all sessions */
static void fleet_end(struct fleet *f)
{
	while (f->list.nr)
		drop_cgroup(f, f->list.nr - 1);
	free(f->list.base);
	if (f->fd >= 0)
		close(f->fd);
}

enum cgroup_value { CGROUP_RESIDENT, CGROUP_PROCESSES, CGROUP_GUESTS, CGROUP_TIME };

/*
 * A family with a sample of each cgroup that has figures. Leaves out 0, which is unknown, except as
 * the number of processes.
 */
static void cgroup_family(const struct fleet *f, const char *name, const char *unit,
			  const char *help, enum cgroup_value which)
{
	size_t i;

	head(name, false, unit, help);
	for (i = 0; i < f->list.nr; i++) {
		const struct watched *w = at(f, i);
		const __u64 value[] = { w->of.resident, w->processes, w->of.guests, w->time_ms / 1000 };

		if (!w->time_ms || (!value[which] && which != CGROUP_PROCESSES))
			continue;
		printf("%s{cgroup=\"", name);
		put_label(w->of.session.cgroup);
		printf("\"} %llu", value[which]);
		if (which == CGROUP_TIME)
			printf(".%03llu", w->time_ms % 1000);
		putchar('\n');
	}
}

/* A family with the working sets of each cgroup that has figures */
static void fleet_family(const struct family *f, const struct fleet *fleet)
{
	struct watched * const *w = fleet->list.base;
	size_t i, j;

	head(f->name, false, "bytes", f->help);
	for (i = 0; i < fleet->list.nr; i++) {
		const struct metrics_group group = { w[i]->of.session.cgroup, .cgroup = true };

		for (j = 0; j < w[i]->rows.nr; j++)
			if (filter_wants_class(fleet->filter, w[i]->rows.row[j].class))
				sample(f, &w[i]->rows.row[j], NULL, &group, 0, 0);
	}
}

/* The families with samples of cgroups that have figures */
static void metrics_fleet(const struct fleet *fleet)
{
	size_t i;

	for (i = 0; i < FLEET_FAMILIES; i++)
		fleet_family(&wss_families[i], fleet);
	cgroup_family(fleet, rss_family.name, "bytes", rss_family.help, CGROUP_RESIDENT);
	cgroup_family(fleet, "wsmon_processes", NULL,
		      "Processes of the cgroup when its working set was estimated.", CGROUP_PROCESSES);
	cgroup_family(fleet, "wsmon_guests", NULL,
		      "Virtual machines: memory that only their guests access reads as idle. No sample if there are none.",
		      CGROUP_GUESTS);
	cgroup_family(fleet, "wsmon_estimate_timestamp_seconds", "seconds",
		      "When the working set of the cgroup was estimated, since 1970.", CGROUP_TIME);
}

/* How often to check whether turns are over */
#define TURN_CHECK	NSEC_PER_SEC

static void print_fleet(const void *arg)
{
	const struct fleet *f = arg;
	const char *root = f->o.root;
	__u64 cpu_ns, lost;

	fleet_sum(f, &cpu_ns, &lost);
	metrics_running(root, f->open, cpu_ns, lost);
	metric_plain("wsmon_cgroups", NULL, false, "Cgroups with processes.", root, f->found);
	metric_plain("wsmon_cgroups_watched", NULL, false,
		     "Cgroups watched now; the other cgroups have their last figures.", root, f->open);
	metric_plain("wsmon_cgroups_left_out", NULL, false,
		     "Cgroups without figures: the smallest, beyond the maximum; or with too long a path.",
		     root, f->found - f->list.nr + f->refused);
	metrics_fleet(f);
}

/* Return: 0, or -1 after a message */
static int fleet_loop(struct fleet *f, const char *file, __u64 interval_ns)
{
	struct pollfd fds[] = {
		{ .fd = export_signals(), .events = POLLIN },
		{ .fd = f->fd, .events = POLLIN },
	};
	__u64 next_ns = clock_now(), turn_ns = next_ns, now, wake_ns;
	int err = fds[0].fd < 0 ? -1 : 0;

	while (!err && !fds[0].revents) {
		now = clock_now();
		if (now >= turn_ns) {
			err = fleet_turn(f);
			turn_ns = export_next(turn_ns, now, TURN_CHECK);
		}
		if (!err && now >= next_ns) {
			err = export_write(file, print_fleet, f);
			next_ns = export_next(next_ns, now, interval_ns);
		}
		wake_ns = next_ns < turn_ns ? next_ns : turn_ns;
		if (!err && poll(fds, ARRAY_SIZE(fds), (wake_ns - now) / NSEC_PER_MSEC + 1) > 0)
			err = fleet_take(f);
	}
	return err;
}

int export_cgroups(const struct export_fleet *how, const struct filter *filter,
		   const char *file, __u64 interval_ns)
{
	struct fleet fleet = { .o = *how, .filter = filter };
	int err = fleet_begin(&fleet);

	metrics_prometheus();
	if (!err)
		err = fleet_loop(&fleet, file, interval_ns);
	fleet_end(&fleet);
	/* old figures must not be taken for current ones */
	outfile_remove();
	return err ? WSMO_FAILURE : WSMO_OK;
}
