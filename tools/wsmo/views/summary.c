// SPDX-License-Identifier: GPL-2.0
/*
 * summary.c - "wsmo report summary": the group's total, the working sets and the memory of
 * each target, then the recording and the cost of monitoring
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect.h"
#include "core/cli.h"
#include "core/units.h"
#include "libwsmon/budget.h"
#include "libwsmon/filter.h"
#include "libwsmon/hot.h"
#include "libwsmon/names.h"
#include "libwsmon/reader.h"
#include "libwsmon/sorted.h"
#include "libwsmon/wsmon_records.h"
#include "report.h"

/*
 * Sums over a recording
 *
 * Means and variances are updated record by record (Welford, "Note on a method
 * for calculating corrected sums of squares and products", 1962).
 */

/* Max. number of targets, and of targets with their classes */
#define SUMMARY_ROWS	16384

/** struct running - mean, variance and maximum of the values so far */
struct running {
	__u64 n;
	double mean;
	double m2;
	__u64 max;
	double max_t;
};

/** struct wss_sums - working sets of a target or the group, of one class and window */
struct wss_sums {
	bool group;
	__u32 pid;
	__u32 class;
	__u64 window_us;
	struct running wss, low, high, mapped;
};

/** struct target_sums - a target, and its memory by /proc */
struct target_sums {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	bool gone;
	double exit_t;
	struct running rss, pss, swap, vsize;
};

/**
 * struct together - the sum of all targets' working sets, at moments with a total of the group
 * @bytes:	the sum at the present moment, so far
 * @time_ns:	the present moment
 * @total:	the group has a total at the present moment
 * @sums:	the sums of all earlier moments
 */
struct together {
	__u64 bytes;
	__u64 time_ns;
	bool total;
	struct running sums;
};

/**
 * struct summary - sums over a recording
 * @hot:	accesses by address, for the memory that was touched at any time
 * @wss:	struct wss_sums
 * @targets:	struct target_sums
 * @group:	the group
 * @together:	the sum of the targets' working sets
 * @too_many:	there were more than SUMMARY_ROWS rows
 * @window_us:	the window of @wss
 * @first_ns:	time of the first record
 * @last_ns:	time of the last record
 * @records:	number of records
 * @intervals:	number of intervals of the target with most intervals
 * @lost:	sums of the LOST records
 * @attrs:	attributes of the monitor
 * @have_stats:	@first_stats and @stats are valid
 * @late_reader: monitoring began before the recording
 * @first_stats: the first STATS record
 * @stats:	the last STATS record
 * @budget:	finds out whether sampling was reduced
 * @ended:	there was an END record
 * @reason:	reason in the END record
 */
struct summary {
	struct hot hot;
	struct sorted wss;
	struct sorted targets;
	struct group group;
	struct together together;
	bool too_many;
	__u64 window_us;
	__u64 first_ns, last_ns;
	__u64 records;
	__u64 intervals;
	struct wsmon_rec_lost lost;
	struct wsmon_attrs attrs;
	bool have_stats, late_reader;
	struct wsmon_rec_stats first_stats, stats;
	struct budget budget;
	bool ended;
	__u32 reason;
};

static void running_add(struct running *r, __u64 value, double t)
{
	double delta = value - r->mean;

	r->n++;
	r->mean += delta / r->n;
	r->m2 += delta * (value - r->mean);
	if (r->n == 1 || value > r->max) {
		r->max = value;
		r->max_t = t;
	}
}

/** running_sd() - get the standard deviation */
static double running_sd(const struct running *r)
{
	return r->n > 1 ? sqrt(r->m2 / (r->n - 1)) : 0;
}

static int compare_sums(const void *x, const void *y)
{
	const struct wss_sums *a = x, *b = y;

	return COMPARE(b->group, a->group) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->window_us, b->window_us) ?: COMPARE(a->class, b->class);
}

/* Return: the element equal to @key, which may be new; NULL if there is no room */
static void *find_or_add(struct summary *s, struct sorted *in, const void *key)
{
	void *p = sorted_get(in, key);

	if (!p)
		s->too_many = true;
	return p;
}

static struct target_sums *find_target(struct summary *s, __u32 pid)
{
	const struct target_sums key = { .pid = pid };

	return find_or_add(s, &s->targets, &key);
}

static void end_moment(struct together *all, __u64 time_ns)
{
	if (all->total && all->bytes)
		running_add(&all->sums, all->bytes, 0);
	all->bytes = 0;
	all->total = false;
	all->time_ns = time_ns;
}

/* Adds a working set to the sum of its moment: records of one moment have the same time */
static void add_together(struct together *all, const struct wsmon_wss_row *w)
{
	if (w->time_ns != all->time_ns)
		end_moment(all, w->time_ns);
	if (w->group)
		all->total = true;
	else if (__builtin_add_overflow(all->bytes, w->bytes, &all->bytes))
		all->bytes = ~0ULL;
}

/** summary_targets() - get the sums of the targets' working sets, after the last record */
static const struct running *summary_targets(struct summary *s)
{
	end_moment(&s->together, 0);
	return &s->together.sums;
}

static void add_wss(struct summary *s, const struct wsmon_wss_row *w, double t)
{
	const struct wss_sums key = {
		.group = w->group, .pid = w->pid, .class = w->class, .window_us = w->window_us,
	};
	struct wss_sums *row = find_or_add(s, &s->wss, &key);

	if (!row)
		return;
	running_add(&row->wss, w->bytes, t);
	running_add(&row->low, w->low, t);
	running_add(&row->high, w->high, t);
	running_add(&row->mapped, w->mapped, t);
	if (!w->group && w->class == WSMON_CLASS_ALL && row->wss.n > s->intervals)
		s->intervals = row->wss.n;
}

static void add_proc(struct summary *s, const struct wsmon_record *rec, double t)
{
	struct wsmon_rec_proc p;
	struct target_sums *target;

	wsmon_record_copy(rec, &p, sizeof(p));
	target = find_target(s, p.pid);
	if (!target)
		return;
	running_add(&target->rss, p.rss, t);
	if (p.pss)
		running_add(&target->pss, p.pss, t);
	running_add(&target->swap, p.swap, t);
	running_add(&target->vsize, p.vsize, t);
}

static void add_target(struct summary *s, const struct wsmon_rec_target *rec)
{
	const struct target_sums key = { .pid = rec->pid };
	bool known = sorted_find(&s->targets, &key);
	struct target_sums *target = find_target(s, rec->pid);

	if (target)
		memcpy(target->comm, rec->comm, sizeof(target->comm));
	if (!known && (rec->flags & WSMON_TARGET_REASON) == WSMON_TARGET_AGAIN)
		s->late_reader = true;
}

static void add_exit(struct summary *s, const struct wsmon_rec_exit *rec,
		     double t)
{
	struct target_sums *target = find_target(s, rec->pid);

	if (target) {
		target->gone = true;
		target->exit_t = t;
	}
}

/* Adds a record to the figures of the recording, even if the filter does not want it */
static void add_to_recording(struct summary *s, const struct wsmon_record *rec)
{
	const struct wsmon_rec_lost *lost = (const void *)rec;
	struct wsmon_rec_attrs attrs;

	if (!s->records++)
		s->first_ns = rec->time_ns;
	if (rec->time_ns > s->last_ns)
		s->last_ns = rec->time_ns;
	budget_take(&s->budget, rec);
	switch (rec->type) {
	case WSMON_REC_ATTRS:
		wsmon_record_copy(rec, &attrs, sizeof(attrs));
		s->attrs = attrs.attrs;
		break;
	case WSMON_REC_LOST:
		s->lost.records += lost->records;
		s->lost.bytes += lost->bytes;
		break;
	case WSMON_REC_STATS:
		wsmon_record_copy(rec, &s->stats, sizeof(s->stats));
		if (!s->have_stats)
			s->first_stats = s->stats;
		/* STATS at the start: the file continues another file */
		if (rec->time_ns <= s->first_ns)
			s->late_reader = true;
		s->have_stats = true;
		break;
	case WSMON_REC_END:
		s->ended = true;
		s->reason = ((const struct wsmon_rec_end *)rec)->reason;
		break;
	}
}

/* The summary adds up accesses by class, so all mappings are one place */
static __u32 no_place(void *data, __u32 pid, const struct wsmon_region_entry *e)
{
	(void)data;
	(void)pid;
	(void)e;
	return 0;
}

static void summary_begin(struct report *rp)
{
	const struct wsmon_attrs *attrs = &rp->reader.header.attrs;
	const struct filter *filter = &rp->filter;
	struct summary *s = need(calloc(1, sizeof(*s)));

	s->wss = SORTED(struct wss_sums, SUMMARY_ROWS, compare_sums);
	s->targets = SORTED(struct target_sums, SUMMARY_ROWS, order_u32);
	s->hot.place = no_place;
	s->attrs = *attrs;
	s->budget.attrs = *attrs;
	s->window_us = filter->nr_windows ? filter->windows[0] : attrs->windows_us[0];
	rp->data = s;
}

static void summary_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct filter *filter = &rp->filter;
	struct summary *s = rp->data;
	double t = filter_time(filter, rec->time_ns);
	struct wsmon_wss_row row;

	add_to_recording(s, rec);
	group_take(&s->group, filter, rec);
	if (rec->type == WSMON_REC_TARGET) {
		const struct wsmon_rec_target *target = (const void *)rec;

		/* names are needed even for times that the filter leaves out */
		add_target(s, target);
		if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
			hot_exec(&s->hot, target->pid);
		return;
	}
	if (!filter_wants(filter, rec))
		return;
	if (wss_row_get(rec, &row) &&
	    (filter->nr_windows ? filter_wants_window(filter, row.window_us) :
				  row.window_us == s->window_us)) {
		if (row.class == WSMON_CLASS_ALL && row.window_us == s->window_us)
			add_together(&s->together, &row);
		if (filter_wants_class(filter, row.class))
			add_wss(s, &row, t);
	}
	switch (rec->type) {
	case WSMON_REC_SNAPSHOT:
		if (hot_snapshot(&s->hot, (const void *)rec))
			need(NULL);
		break;
	case WSMON_REC_PROC:
		add_proc(s, rec, t);
		break;
	case WSMON_REC_EXIT:
		add_exit(s, (const void *)rec, t);
		break;
	}
}

/** summary_comm() - get the name of a target, "" if unknown */
static const char *summary_comm(const struct summary *s, __u32 pid)
{
	const struct target_sums key = { .pid = pid };
	const struct target_sums *t = sorted_find(&s->targets, &key);

	return t ? t->comm : "";
}

/* Finds the working sets of a target or, if @pid is 0, of the group. Return: NULL if none */
static const struct wss_sums *find_wss(const struct summary *s, __u32 pid, __u32 class)
{
	const struct wss_sums key = {
		.group = !pid, .pid = pid, .class = class, .window_us = s->window_us,
	};

	return sorted_find(&s->wss, &key);
}

/*
 * The view
 */

struct recording_row {
	const char *date;
	__u64 duration_ns, intervals, sample_us, aggr_us, window_us, page_size;
	const char *ended;
	__u64 records, lost_records, lost_bytes;
	double cpu;
	__u64 rounds, late_rounds, late_p99_ns, sample_ns, budget, missed, checks, flushes;
	__u64 flush_ns, max_hold_ns;
};

#define ROW struct recording_row

TABLE_LIST(recording_table, "recording",
	COL(date, TEXT, 0, "Recorded", 0, "when recording began, local time as ISO 8601"),
	COL(duration_ns, NS, 0, "Duration", 0, "from the first record to the last"),
	COL(intervals, COUNT, 0, "Intervals", 0,
	    "aggregation intervals of the process that has most of them"),
	COL(sample_us, US, 0, "Sampling", 0, "sampling interval"),
	COL(aggr_us, US, 0, "Aggregation", 0, "aggregation interval"),
	COL(window_us, US, 0, "Window", 0, "window of the working sets in the summary"),
	COL(page_size, SIZE, 0, "Page size", 0, "size of a page"),
	COL(ended, TEXT, 0, "Ended", 0,
	    "why the recording ended: ``stopped``, ``targets gone``, ``rotated``, ``cut off``"),
	COL(records, COUNT, 0, "Records", 0, "records in the file"),
	COL(lost_records, COUNT, 0, "Lost", 0, "records lost"),
	COL(lost_bytes, SIZE, 0, "Lost bytes", 0, "size of the lost records"),
	COL(cpu, RATIO, 0, "Cost", OR_NULL,
	    "share of one CPU that the monitor used; above 1 with several CPUs"),
	COL(rounds, COUNT, 0, "Rounds", OR_NULL, "sampling rounds"),
	COL(late_rounds, COUNT, 0, "Late rounds", OR_NULL,
	    "rounds skipped because the round before ended late"),
	COL(late_p99_ns, NS, 0, "Late by", OR_NULL, "99 % of the rounds began at most this late"),
	COL(sample_ns, NS, 0, "Sampling at last", OR_NULL,
	    "sampling interval at the end, longer if the CPU budget required it"),
	COL(budget, COUNT, 0, "Most regions", OR_NULL,
	    "regions allowed at the end, fewer if the CPU budget required it"),
	COL(missed, COUNT, 0, "Missed visits", OR_NULL,
	    "passes over samples given up because a lock was busy"),
	COL(checks, COUNT, 0, "Page checks", OR_NULL, "samples taken"),
	COL(flushes, COUNT, 0, "TLB flushes", OR_NULL, "TLB flushes"),
	COL(flush_ns, NS, 0, "Time flushing", OR_NULL, "time spent on TLB flushes"),
	COL(max_hold_ns, NS, 0, "Longest hold", OR_NULL,
	    "longest time that the mmap lock of a target was held"));

struct group_row {
	const char *name;
	__u64 mean, low, high, targets, window_us, intervals, members_max, came, went, missed;
	__u64 unfollowed;
};

#undef ROW
#define ROW struct group_row

TABLE_LIST(group_table, "group",
	COL(name, TEXT, 0, "Group", 0,
	    "the group: the name of its first target, and the number of other targets"),
	COL(mean, SIZE, 0, "Total", OR_NULL,
	    "working set of all members, mean over the intervals with several members"),
	COL(low, SIZE, 0, "Low", OR_NULL, "mean of the lower ends of the 95 % intervals"),
	COL(high, SIZE, 0, "High", OR_NULL, "mean of the upper ends"),
	COL(targets, SIZE, 0, "Sum of targets", OR_NULL,
	    "sum of the targets' working sets, mean; null if not known, or if it is the total"),
	COL(window_us, US, 0, "Window", 0, "the window"),
	COL(intervals, COUNT, 0, "Intervals", 0, "aggregation intervals with several members"),
	COL(members_max, COUNT, 0, "Max. processes", 0,
	    "maximum number of members at the end of an interval"),
	COL(came, COUNT, 0, "Came", 0, "processes that became members"),
	COL(went, COUNT, 0, "Went", 0, "members that ended"),
	COL(missed, COUNT, 0, "Missed", 0,
	    "members that ended and whose last accesses are not in the total"),
	COL(unfollowed, COUNT, 0, "No room for", 0,
	    "children that did not become members because there was no room"));

struct wss_summary_row {
	const char *scope;
	__u64 pid;
	const char *comm, *name, *class;
	__u64 window_us, mean, sd, peak;
	double peak_t;
	__u64 low, high, mapped, intervals;
};

#undef ROW
#define ROW struct wss_summary_row

TABLE(wss_table, "wss_summary",
	COL(scope, TEXT, 7, "SCOPE", NOT_HUMAN, "``process`` or ``group``"),
	COL(pid, COUNT, 7, "PID", OR_NULL, "the process; null for the group"),
	COL(comm, TEXT, 4, "NAME", OR_NULL, "its name; null for the group"),
	COL(name, TEXT, 4, "NAME", NOT_HUMAN | OR_NULL, "the group; null for a process"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory; ``all`` is the whole process"),
	COL(window_us, US, 6, "WINDOW", 0, "the window"),
	COL(mean, SIZE, 10, "WSS", 0, "mean over the intervals"),
	COL(sd, SIZE, 10, "SD", 0, "standard deviation"),
	COL(peak, SIZE, 10, "PEAK", 0, "maximum"),
	COL(peak_t, T, 8, "AT", 0, "time of the maximum"),
	COL(low, SIZE, 10, "LOW", 0, "mean of the lower ends of the 95 % intervals"),
	COL(high, SIZE, 10, "HIGH", 0, "mean of the upper ends"),
	COL(mapped, SIZE, 10, "MAPPED", 0, "mean of the memory mapped"),
	COL(intervals, COUNT, 4, "N", 0, "aggregation intervals in the mean"));

struct memory_row {
	__u64 pid;
	const char *comm;
	__u64 rss_mean, rss_max, pss_mean, pss_max, swap_max, vsize_mean, vsize_max;
	double exit_t;
};

#undef ROW
#define ROW struct memory_row

TABLE(memory_table, "memory",
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(comm, TEXT, 4, "NAME", 0, "its name"),
	COL(rss_mean, SIZE, 10, "RSS", OR_NULL, "resident memory, mean"),
	COL(rss_max, SIZE, 10, "MAX RSS", OR_NULL, "resident memory, maximum"),
	COL(pss_mean, SIZE, 10, "PSS", OR_NULL,
	    "proportional share of resident memory, mean; read every 10 s or less often"),
	COL(pss_max, SIZE, 10, "MAX PSS", OR_NULL,
	    "proportional share of resident memory, maximum"),
	COL(swap_max, SIZE, 10, "MAX SWAP", OR_NULL, "memory in swap, maximum"),
	COL(vsize_mean, SIZE, 10, "VSZ", OR_NULL, "mapped memory, mean"),
	COL(vsize_max, SIZE, 10, "MAX VSZ", OR_NULL, "mapped memory, maximum"),
	COL(exit_t, T, 8, "GONE AT", OR_NULL, "when the process exited"));

struct touched_row {
	__u64 pid;
	const char *comm, *class;
	__u64 touched_low, touched_high, seen;
	double accesses;
};

#undef ROW
#define ROW struct touched_row

TABLE(touched_table, "touched",
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(comm, TEXT, 4, "NAME", 0, "its name"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory; ``all`` is the whole process"),
	COL(touched_low, SIZE, 10, "TOUCHED", 0,
	    "lower bound: if each interval found the same pages of a region"),
	COL(touched_high, SIZE, 10, "AT MOST", 0,
	    "upper bound: if each interval found different pages"),
	COL(accesses, RATIO, 8, "ACCESSES", 0,
	    "share of the process's accesses that went to this class"),
	COL(seen, SIZE, 10, "SEEN", 0, "addresses that were mapped and sampled at any time"));

/* Rounds a size; in a broken file it may exceed 64 bits */
static __u64 rounded(double v)
{
	return v < 0x1p64 ? (__u64)(v + 0.5) : ~0ULL;
}

/* CPU time during the recording, as a part of one CPU, including TLB flushes on other CPUs */
static double cpu_share(const struct summary *s)
{
	__u64 cpu = s->stats.cpu_ns + s->stats.remote_ns, from = s->first_ns;

	if (!s->have_stats)
		return NAN;
	if (s->late_reader) {
		/* monitoring began before the recording */
		cpu -= s->first_stats.cpu_ns + s->first_stats.remote_ns;
		from = s->first_stats.rec.time_ns;
	}
	if (s->stats.rec.time_ns <= from)
		return NAN;
	return (double)cpu / (s->stats.rec.time_ns - from);
}

static __u64 of_stats(const struct summary *s, __u64 value)
{
	return s->have_stats ? value : UNKNOWN_U64;
}

/* Old modules, which had no CPU budget and no @sample_ns, do not report this value */
static __u64 of_newer(const struct summary *s, __u64 value)
{
	return s->stats.sample_ns ? value : UNKNOWN_U64;
}

static void print_recording(const struct report *rp)
{
	struct table *table = report_table(rp, &recording_table);
	const struct summary *s = rp->data;
	const struct wsmon_rec_stats *st = &s->stats;
	time_t start = rp->reader.header.real_ns / NSEC_PER_SEC;
	struct tm tm;
	double cpu = cpu_share(s);
	char when[40] = "";

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &tm);
	table_show(table, offsetof(struct recording_row, cpu), NOT_HUMAN, !isnan(cpu));
	table_row(table, &(struct recording_row) {
		.date = when,
		.duration_ns = s->last_ns - s->first_ns,
		.intervals = s->intervals ? s->intervals : s->group.intervals,
		.sample_us = s->attrs.sample_us, .aggr_us = s->attrs.aggr_us,
		.window_us = s->window_us, .page_size = rp->reader.header.page_size,
		.ended = s->ended ? end_name(s->reason) : "cut off",
		.records = s->records,
		/* a loss at the very end has no LOST record after it */
		.lost_records = s->lost.records > st->lost_records ?
				s->lost.records : st->lost_records,
		.lost_bytes = s->lost.bytes > st->lost_bytes ?
			      s->lost.bytes : st->lost_bytes,
		.cpu = cpu,
		.rounds = of_stats(s, st->rounds),
		.late_rounds = of_stats(s, st->late_rounds),
		.late_p99_ns = of_newer(s, st->late_p99_ns),
		.sample_ns = of_newer(s, st->sample_ns),
		.budget = st->budget ? of_newer(s, st->budget) : UNKNOWN_U64,
		.missed = of_stats(s, st->missed),
		.checks = of_stats(s, st->checks), .flushes = of_stats(s, st->flushes),
		.flush_ns = of_stats(s, st->flush_ns),
		.max_hold_ns = of_stats(s, st->max_hold_ns),
	});
	table_end(table);
}

static void print_group(const struct report *rp)
{
	const struct summary *s = rp->data;
	const struct wss_sums *all = find_wss(s, 0, WSMON_CLASS_ALL);
	const struct running *targets = summary_targets(rp->data);
	bool differ = targets->n && (!all || targets->mean != all->wss.mean);
	char name[GROUP_NAME];
	struct table *table = report_table(rp, &group_table);

	table_row(table, &(struct group_row) {
		.name = group_name(&s->group, s->targets.nr, name),
		.mean = all ? rounded(all->wss.mean) : UNKNOWN_U64,
		.low = all ? rounded(all->low.mean) : UNKNOWN_U64,
		.high = all ? rounded(all->high.mean) : UNKNOWN_U64,
		.targets = differ ? rounded(targets->mean) : UNKNOWN_U64,
		.window_us = s->window_us,
		.intervals = s->group.intervals,
		.members_max = s->group.max,
		.came = s->group.came, .went = s->group.went, .missed = s->group.missed,
		.unfollowed = s->group.unfollowed,
	});
	table_end(table);
	if (rp->out.format != TABLE_HUMAN)
		return;
	fputs("The total counts each page once.", rp->out.f);
	if (differ)
		fputs(" The sum of targets adds the working sets of the processes below:\n"
		      "shared pages count several times, and children of these processes do not count.",
		      rp->out.f);
	fputc('\n', rp->out.f);
	group_explain(&s->group, rp->out.f);
}

/* The name of the group in the column of process names */
static const char *total_name(const struct report *rp)
{
	return rp->out.format == TABLE_HUMAN ? "total" : NULL;
}

static void print_wss(const struct report *rp)
{
	struct table *table = report_table(rp, &wss_table);
	const struct summary *s = rp->data;
	size_t i;

	for (i = 0; i < s->wss.nr; i++) {
		const struct wss_sums *r = (const struct wss_sums *)s->wss.base + i;
		char name[GROUP_NAME];

		table_row(table, &(struct wss_summary_row) {
			.scope = r->group ? "group" : "process",
			.pid = r->group ? UNKNOWN_U64 : r->pid,
			.comm = r->group ? total_name(rp) : summary_comm(s, r->pid),
			.name = r->group ? group_name(&s->group, s->targets.nr, name) : NULL,
			.class = class_name(r->class),
			.window_us = r->window_us,
			.mean = rounded(r->wss.mean), .sd = rounded(running_sd(&r->wss)),
			.peak = r->wss.max, .peak_t = r->wss.max_t,
			.low = rounded(r->low.mean), .high = rounded(r->high.mean),
			.mapped = rounded(r->mapped.mean),
			.intervals = r->wss.n,
		});
	}
	table_end(table);
}

/*
 * Distinct memory accessed at any time. Samples show which share of a region was accessed in an
 * interval, but not which pages. If the same pages were accessed in each interval, the largest
 * share was accessed in all: @min. If different pages were accessed in each interval, the sum of
 * the shares was accessed, but not more than the region: @max. Different memory at the same
 * address at different times counts once.
 */
struct touched {
	double min, max, range, accesses;
};

static void add_cells(const struct hot_target *t, double aggr, struct touched *sums)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		const struct hot_cell *c = &t->cell[i];
		double size = c->end - c->start;
		__u32 class = c->class;
		struct touched add = {
			.min = size * c->max_share,
			.max = size * fmin(1, fmax(c->max_share, c->share / aggr)),
			.range = size,
			.accesses = size * c->freq,
		};

		for (;; class = WSMON_CLASS_ALL) {
			struct touched *s = &sums[class < WSMON_NR_CLASSES ? class : 0];

			s->min += add.min;
			s->max += add.max;
			s->range += add.range;
			s->accesses += add.accesses;
			if (!class || class >= WSMON_NR_CLASSES)
				break;
		}
	}
}

static void print_target(const struct report *rp, struct table *table, __u32 pid,
			 const struct touched *sums)
{
	const struct summary *s = rp->data;
	__u32 class;

	for (class = 0; class < WSMON_NR_CLASSES; class++) {
		const struct touched *sum = &sums[class];
		const struct wss_sums *w = find_wss(s, pid, class);
		/* at least the working set was touched */
		double min = w ? fmax(sum->min, fmin(w->low.max, sum->range)) :
				   sum->min;

		if (!sum->range || !filter_wants_class(&rp->filter, class))
			continue;
		table_row(table, &(struct touched_row) {
			.pid = pid, .comm = summary_comm(s, pid),
			.class = class_name(class),
			.touched_low = rounded(min),
			.touched_high = rounded(fmax(sum->max, min)),
			.seen = rounded(sum->range),
			.accesses = sum->accesses / sums[0].accesses,
		});
	}
}

static void print_touched(const struct report *rp)
{
	struct table *table = report_table(rp, &touched_table);
	const struct summary *s = rp->data;
	const struct hot_target *t = s->hot.targets.base;
	struct touched sums[WSMON_NR_CLASSES] = { 0 };
	double aggr = (double)s->attrs.aggr_us / 1000000;
	size_t i;

	for (i = 0; i < s->hot.targets.nr; i++) {
		/* add up all address spaces of the target, which are neighbours, before printing */
		add_cells(&t[i], aggr, sums);
		if (i + 1 < s->hot.targets.nr && t[i + 1].pid == t[i].pid)
			continue;
		print_target(rp, table, t[i].pid, sums);
		memset(sums, 0, sizeof(sums));
	}
	table_end(table);
}

/* UNKNOWN_U64 in a damaged file must not be printed as unknown */
static __u64 known(__u64 value)
{
	return value == UNKNOWN_U64 ? value - 1 : value;
}

static __u64 mean_of(const struct running *s)
{
	return s->n ? known(rounded(s->mean)) : UNKNOWN_U64;
}

static __u64 max_of(const struct running *s)
{
	return s->n ? known(s->max) : UNKNOWN_U64;
}

static int by_rss(const void *x, const void *y)
{
	const struct target_sums *a = x, *b = y;

	return COMPARE(b->rss.max, a->rss.max) ?: COMPARE(a->pid, b->pid);
}

static void print_memory(const struct report *rp)
{
	const struct summary *s = rp->data;
	struct table *table;
	size_t i;

	if (rp->of_cgroup) {
		/* from here on, no target is looked up by pid, so the order may change */
		qsort(s->targets.base, s->targets.nr, sizeof(struct target_sums), by_rss);
		if (rp->out.format == TABLE_HUMAN)
			fputs("Processes with at least 5 % of the memory of all (RSS):\n", rp->out.f);
	}
	table = report_table(rp, &memory_table);
	for (i = 0; i < s->targets.nr; i++) {
		const struct target_sums *t =
			(const struct target_sums *)s->targets.base + i;

		if (!filter_wants_pid(&rp->filter, t->pid))
			continue;
		table_row(table, &(struct memory_row) {
			.pid = t->pid, .comm = t->comm,
			.rss_mean = mean_of(&t->rss), .rss_max = max_of(&t->rss),
			.pss_mean = mean_of(&t->pss), .pss_max = max_of(&t->pss),
			.swap_max = max_of(&t->swap),
			.vsize_mean = mean_of(&t->vsize), .vsize_max = max_of(&t->vsize),
			.exit_t = t->gone ? t->exit_t : NAN,
		});
	}
	table_end(table);
}

static void summary_end(struct report *rp)
{
	static void (* const print[])(const struct report *rp) = {
		print_group, print_wss, print_touched, print_memory, print_recording,
	};
	char text[BUDGET_TEXT], window[UNITS_LEN], time[UNITS_LEN];
	struct summary *s = rp->data;
	/* leave out the group if it has no interval that the filter wants */
	size_t first = !s->group.intervals, i;

	for (i = first; i < ARRAY_SIZE(print); i++) {
		if ((rp->of_cgroup && print[i] == print_touched) ||
		    (print[i] == print_memory && !s->targets.nr))
			continue;
		if (i > first && rp->out.format != TABLE_JSON)
			fputc('\n', rp->out.f);
		print[i](rp);
	}
	if (s->too_many)
		msg("more than %d targets, or targets with their classes: the summary has the first ones",
		    SUMMARY_ROWS);
	if (s->window_us * NSEC_PER_USEC > s->last_ns - s->first_ns && s->last_ns > s->first_ns &&
	    s->wss.nr)
		msg("the window of %s is longer than the recording, %s: the figures lack memory used before the recording",
		    units_time(window, s->window_us * NSEC_PER_USEC),
		    units_time(time, s->last_ns - s->first_ns));
	if (budget_text(text, &s->budget))
		msg("%s", text);
	hot_free(&s->hot);
	free(s->wss.base);
	free(s->targets.base);
	free(s);
}

REPORT_VIEW(summary_view) = {
	.order = 0,
	.name = "summary",
	.help = "Totals: the group, each process and class, and what monitoring cost",
	.takes = TAKES_CLASS | TAKES_WINDOW | TAKES_FORMAT,
	.shows_memory = true,
	.begin = summary_begin,
	.record = summary_record,
	.end = summary_end,
};
