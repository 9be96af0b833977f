// SPDX-License-Identifier: GPL-2.0
/*
 * summary.c - "wsmo report summary": the group's total, the working sets and the memory of
 * each target, then the recording, and what monitoring cost
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
 * struct together - the sum of all targets' working sets, at moments that have a total
 * @bytes:	the sum so far
 * @time_ns:	the moment
 * @total:	the moment has a total
 * @sums:	the sums of the moments before
 */
struct together {
	__u64 bytes;
	__u64 time_ns;
	bool total;
	struct running sums;
};

/**
 * struct summary - sums over a recording
 * @hot:	accesses by address
 * @wss:	struct wss_sums
 * @targets:	struct target_sums
 * @group:	the group
 * @together:	the sum of its targets' working sets
 * @too_many:	some targets found no room
 * @window_us:	the window of @wss
 * @first_ns:	time of the first record
 * @last_ns:	time of the last record
 * @records:	number of records
 * @intervals:	most intervals of a target
 * @lost:	records lost
 * @attrs:	attributes of the monitor
 * @have_stats:	@first_stats and @stats are valid
 * @late_reader: monitoring began before the recording
 * @first_stats: the first STATS record
 * @stats:	the last one
 * @budget:	whether sampling was reduced
 * @ended:	there was an END record
 * @reason:	the reason in it
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

/* Records of a moment have the same time */
static void add_together(struct together *all, const struct wsmon_wss_row *w)
{
	if (w->time_ns != all->time_ns)
		end_moment(all, w->time_ns);
	if (w->group)
		all->total = true;
	else if (__builtin_add_overflow(all->bytes, w->bytes, &all->bytes))
		all->bytes = ~0ULL;
}

/** summary_targets() - get the sum of the targets' working sets at moments with a total */
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

/* Take a record for the figures of the recording, even if the filter does not want it */
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
		/* the file continues another one */
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

/* Only the class counts here, not the mapping */
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

/* The working sets of a target or, if @pid is 0, of the group. Return: NULL if there are none */
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

enum {
	R_START, R_DURATION, R_INTERVALS, R_SAMPLE, R_AGGR, R_WINDOW, R_PAGE,
	R_END, R_RECORDS, R_LOST, R_LOST_BYTES, R_CPU, R_ROUNDS, R_LATE,
	R_LATE_P99, R_STEP, R_BUDGET, R_MISSED, R_CHECKS, R_FLUSHES, R_FLUSH_NS, R_HOLD,
};

static const struct column recording_columns[] = {
	[R_START]	= { "date", "Recorded", COL_TEXT, 0, 0 },
	[R_DURATION]	= { "duration_ns", "Duration", COL_NS, 0, 0 },
	[R_INTERVALS]	= { "intervals", "Intervals", COL_COUNT, 0, 0 },
	[R_SAMPLE]	= { "sample_us", "Sampling", COL_US, 0, 0 },
	[R_AGGR]	= { "aggr_us", "Aggregation", COL_US, 0, 0 },
	[R_WINDOW]	= { "window_us", "Window", COL_US, 0, 0 },
	[R_PAGE]	= { "page_size", "Page size", COL_SIZE, 0, 0 },
	[R_END]		= { "ended", "Ended", COL_TEXT, 0, 0 },
	[R_RECORDS]	= { "records", "Records", COL_COUNT, 0, 0 },
	[R_LOST]	= { "lost_records", "Lost", COL_COUNT, 0, 0 },
	[R_LOST_BYTES]	= { "lost_bytes", "Lost bytes", COL_SIZE, 0, 0 },
	[R_CPU]		= { "cpu", "Cost", COL_RATIO, 0, 0 },
	[R_ROUNDS]	= { "rounds", "Rounds", COL_COUNT, 0, 0 },
	[R_LATE]	= { "late_rounds", "Late rounds", COL_COUNT, 0, 0 },
	[R_LATE_P99]	= { "late_p99_ns", "Late by", COL_NS, 0, 0 },
	[R_STEP]	= { "sample_ns", "Sampling at last", COL_NS, 0, 0 },
	[R_BUDGET]	= { "budget", "Most regions", COL_COUNT, 0, 0 },
	[R_MISSED]	= { "missed", "Missed visits", COL_COUNT, 0, 0 },
	[R_CHECKS]	= { "checks", "Page checks", COL_COUNT, 0, 0 },
	[R_FLUSHES]	= { "flushes", "TLB flushes", COL_COUNT, 0, 0 },
	[R_FLUSH_NS]	= { "flush_ns", "Time flushing", COL_NS, 0, 0 },
	[R_HOLD]	= { "max_hold_ns", "Longest hold", COL_NS, 0, 0 },
};

static const struct table_desc recording_desc = {
	.type = "recording", .list = true,
	.columns = recording_columns, .nr = ARRAY_SIZE(recording_columns),
};

enum {
	G_NAME, G_MEAN, G_LOW, G_HIGH, G_TARGETS, G_WINDOW, G_INTERVALS, G_MEMBERS, G_CAME,
	G_WENT, G_MISSED, G_UNFOLLOWED,
};

static const struct column group_columns[] = {
	[G_NAME]	= { "name", "Group", COL_TEXT, 0, 0 },
	[G_MEAN]	= { "mean", "Total", COL_SIZE, 0, 0 },
	[G_LOW]		= { "low", "Low", COL_SIZE, 0, 0 },
	[G_HIGH]	= { "high", "High", COL_SIZE, 0, 0 },
	[G_TARGETS]	= { "targets", "Sum of targets", COL_SIZE, 0, 0 },
	[G_WINDOW]	= { "window_us", "Window", COL_US, 0, 0 },
	[G_INTERVALS]	= { "intervals", "Intervals", COL_COUNT, 0, 0 },
	[G_MEMBERS]	= { "members_max", "Max. processes", COL_COUNT, 0, 0 },
	[G_CAME]	= { "came", "Came", COL_COUNT, 0, 0 },
	[G_WENT]	= { "went", "Went", COL_COUNT, 0, 0 },
	[G_MISSED]	= { "missed", "Missed", COL_COUNT, 0, 0 },
	[G_UNFOLLOWED]	= { "unfollowed", "No room for", COL_COUNT, 0, 0 },
};

static const struct table_desc group_desc = {
	.type = "group", .list = true,
	.columns = group_columns, .nr = ARRAY_SIZE(group_columns),
};

enum {
	W_SCOPE, W_PID, W_COMM, W_NAME, W_CLASS, W_WINDOW, W_MEAN, W_SD, W_PEAK, W_PEAK_T, W_LOW,
	W_HIGH, W_MAPPED, W_N,
};

static const struct column wss_columns[] = {
	[W_SCOPE]	= { "scope", "SCOPE", COL_TEXT, 7, NOT_HUMAN },
	[W_PID]		= { "pid", "PID", COL_COUNT, 7, 0 },
	[W_COMM]	= { "comm", "NAME", COL_TEXT, 4, 0 },
	[W_NAME]	= { "name", "NAME", COL_TEXT, 4, NOT_HUMAN },
	[W_CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[W_WINDOW]	= { "window_us", "WINDOW", COL_US, 6, 0 },
	[W_MEAN]	= { "mean", "WSS", COL_SIZE, 10, 0 },
	[W_SD]		= { "sd", "SD", COL_SIZE, 10, 0 },
	[W_PEAK]	= { "peak", "PEAK", COL_SIZE, 10, 0 },
	[W_PEAK_T]	= { "peak_t", "AT", COL_T, 8, 0 },
	[W_LOW]		= { "low", "LOW", COL_SIZE, 10, 0 },
	[W_HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0 },
	[W_MAPPED]	= { "mapped", "MAPPED", COL_SIZE, 10, 0 },
	[W_N]		= { "intervals", "N", COL_COUNT, 4, 0 },
};

enum {
	M_PID, M_COMM, M_RSS, M_RSS_MAX, M_PSS, M_PSS_MAX, M_SWAP_MAX, M_VSIZE,
	M_VSIZE_MAX, M_EXIT,
};

static const struct column memory_columns[] = {
	[M_PID]		= { "pid", "PID", COL_COUNT, 7, 0 },
	[M_COMM]	= { "comm", "NAME", COL_TEXT, 4, 0 },
	[M_RSS]		= { "rss_mean", "RSS", COL_SIZE, 10, 0 },
	[M_RSS_MAX]	= { "rss_max", "MAX RSS", COL_SIZE, 10, 0 },
	[M_PSS]		= { "pss_mean", "PSS", COL_SIZE, 10, 0 },
	[M_PSS_MAX]	= { "pss_max", "MAX PSS", COL_SIZE, 10, 0 },
	[M_SWAP_MAX]	= { "swap_max", "MAX SWAP", COL_SIZE, 10, 0 },
	[M_VSIZE]	= { "vsize_mean", "VSZ", COL_SIZE, 10, 0 },
	[M_VSIZE_MAX]	= { "vsize_max", "MAX VSZ", COL_SIZE, 10, 0 },
	[M_EXIT]	= { "exit_t", "GONE AT", COL_T, 8, 0 },
};

static const struct table_desc wss_desc = TABLE_DESC("wss_summary", wss_columns);

static const struct table_desc memory_desc = TABLE_DESC("memory", memory_columns);

enum { T_PID, T_COMM, T_CLASS, T_LOW, T_HIGH, T_ACCESSES, T_SEEN };

static const struct column touched_columns[] = {
	[T_PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[T_COMM]	= { "comm", "NAME", COL_TEXT, 4, 0 },
	[T_CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[T_LOW]	= { "touched_low", "TOUCHED", COL_SIZE, 10, 0 },
	[T_HIGH]	= { "touched_high", "AT MOST", COL_SIZE, 10, 0 },
	[T_SEEN]	= { "seen", "SEEN", COL_SIZE, 10, 0 },
	[T_ACCESSES] = { "accesses", "ACCESSES", COL_RATIO, 8, 0 },
};

static const struct table_desc touched_desc = TABLE_DESC("touched", touched_columns);

/* A cell of a size, which in a broken file may exceed 64 bits */
static struct cell rounded(double v)
{
	return cell_u(v < 0x1p64 ? (__u64)(v + 0.5) : ~0ULL);
}

/* Share of one CPU used during the recording, including TLB flushes on other CPUs */
static struct cell cpu_share(const struct summary *s)
{
	__u64 cpu = s->stats.cpu_ns + s->stats.remote_ns, from = s->first_ns;

	if (!s->have_stats)
		return (struct cell){ 0 };
	if (s->late_reader) {
		/* monitoring began before the recording */
		cpu -= s->first_stats.cpu_ns + s->first_stats.remote_ns;
		from = s->first_stats.rec.time_ns;
	}
	if (s->stats.rec.time_ns <= from)
		return (struct cell){ 0 };
	return cell_d((double)cpu / (s->stats.rec.time_ns - from));
}

static struct cell stat_cell(const struct summary *s, __u64 value)
{
	return s->have_stats ? cell_u(value) : (struct cell){ 0 };
}

/* Old modules without a CPU budget do not report these */
static struct cell newer_cell(const struct summary *s, __u64 value)
{
	return s->stats.sample_ns ? cell_u(value) : (struct cell){ 0 };
}

static void print_recording(const struct report *rp)
{
	struct table *table = report_table(rp, &recording_desc);
	const struct summary *s = rp->data;
	const struct wsmon_rec_stats *st = &s->stats;
	time_t start = rp->reader.header.real_ns / NSEC_PER_SEC;
	struct tm tm;
	char when[40] = "";

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &tm);
	table_row(table, (struct cell[]) {
		[R_START]	= cell_s(when),
		[R_DURATION]	= cell_u(s->last_ns - s->first_ns),
		[R_INTERVALS]	= cell_u(s->intervals ? s->intervals : s->group.intervals),
		[R_SAMPLE]	= cell_u(s->attrs.sample_us),
		[R_AGGR]	= cell_u(s->attrs.aggr_us),
		[R_WINDOW]	= cell_u(s->window_us),
		[R_PAGE]	= cell_u(rp->reader.header.page_size),
		[R_END]		= cell_s(s->ended ? end_name(s->reason) :
					 "cut off"),
		[R_RECORDS]	= cell_u(s->records),
		/* a loss at the very end has no LOST record after it */
		[R_LOST]	= cell_u(s->lost.records > st->lost_records ?
					 s->lost.records : st->lost_records),
		[R_LOST_BYTES]	= cell_u(s->lost.bytes > st->lost_bytes ?
					 s->lost.bytes : st->lost_bytes),
		[R_CPU]		= cpu_share(s),
		[R_ROUNDS]	= stat_cell(s, st->rounds),
		[R_LATE]	= stat_cell(s, st->late_rounds),
		[R_LATE_P99]	= newer_cell(s, st->late_p99_ns),
		[R_STEP]	= newer_cell(s, st->sample_ns),
		[R_BUDGET]	= st->budget ? newer_cell(s, st->budget) : (struct cell){ 0 },
		[R_MISSED]	= stat_cell(s, st->missed),
		[R_CHECKS]	= stat_cell(s, st->checks),
		[R_FLUSHES]	= stat_cell(s, st->flushes),
		[R_FLUSH_NS]	= stat_cell(s, st->flush_ns),
		[R_HOLD]	= stat_cell(s, st->max_hold_ns),
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
	struct table *table = report_table(rp, &group_desc);

	table_row(table, (struct cell[]) {
		[G_NAME]	= cell_s(group_name(&s->group, s->targets.nr, name)),
		[G_MEAN]	= all ? rounded(all->wss.mean) : (struct cell){ 0 },
		[G_LOW]		= all ? rounded(all->low.mean) : (struct cell){ 0 },
		[G_HIGH]	= all ? rounded(all->high.mean) : (struct cell){ 0 },
		[G_TARGETS]	= differ ? rounded(targets->mean) : (struct cell){ 0 },
		[G_WINDOW]	= cell_u(s->window_us),
		[G_INTERVALS]	= cell_u(s->group.intervals),
		[G_MEMBERS]	= cell_u(s->group.max),
		[G_CAME]	= cell_u(s->group.came),
		[G_WENT]	= cell_u(s->group.went),
		[G_MISSED]	= cell_u(s->group.missed),
		[G_UNFOLLOWED]	= cell_u(s->group.unfollowed),
	});
	table_end(table);
	if (rp->out.format != TABLE_HUMAN)
		return;
	fputs("The total counts each page once.", rp->out.f);
	if (differ)
		fputs(" The sum of targets adds the working sets of the processes below:\n"
		      "pages that they share count several times, their children not at all.",
		      rp->out.f);
	fputc('\n', rp->out.f);
	group_explain(&s->group, rp->out.f);
}

/* The group, in the column of names of processes */
static struct cell total_cell(const struct report *rp)
{
	return rp->out.format == TABLE_HUMAN ? cell_s("total") : (struct cell){ 0 };
}

static void print_wss(const struct report *rp)
{
	struct table *table = report_table(rp, &wss_desc);
	const struct summary *s = rp->data;
	size_t i;

	for (i = 0; i < s->wss.nr; i++) {
		const struct wss_sums *r = (const struct wss_sums *)s->wss.base + i;
		char name[GROUP_NAME];

		table_row(table, (struct cell[]) {
			[W_SCOPE]	= cell_s(r->group ? "group" : "process"),
			[W_PID]		= r->group ? (struct cell){ 0 } : cell_u(r->pid),
			[W_COMM]	= r->group ? total_cell(rp) :
						     cell_s(summary_comm(s, r->pid)),
			[W_NAME]	= !r->group ? (struct cell){ 0 } :
					  cell_s(group_name(&s->group, s->targets.nr, name)),
			[W_CLASS]	= cell_s(class_name(r->class)),
			[W_WINDOW]	= cell_u(r->window_us),
			[W_MEAN]	= rounded(r->wss.mean),
			[W_SD]		= rounded(running_sd(&r->wss)),
			[W_PEAK]	= cell_u(r->wss.max),
			[W_PEAK_T]	= cell_d(r->wss.max_t),
			[W_LOW]		= rounded(r->low.mean),
			[W_HIGH]	= rounded(r->high.mean),
			[W_MAPPED]	= rounded(r->mapped.mean),
			[W_N]		= cell_u(r->wss.n),
		});
	}
	table_end(table);
}

/*
 * Distinct memory accessed at any time. Samples say which share of a region was
 * accessed in an interval, not which pages of it. If these are the same pages each time, the
 * greatest share was accessed: the lower bound. If they are different pages each time, the sum
 * of the shares was accessed, at most the whole region: the upper bound. Different memory at
 * the same address at different times counts once.
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
		table_row(table, (struct cell[]) {
			[T_PID]	= cell_u(pid),
			[T_COMM]	= cell_s(summary_comm(s, pid)),
			[T_CLASS]	= cell_s(class_name(class)),
			[T_LOW]	= rounded(min),
			[T_HIGH]	= rounded(fmax(sum->max, min)),
			[T_SEEN]	= rounded(sum->range),
			[T_ACCESSES] = cell_d(sum->accesses / sums[0].accesses),
		});
	}
}

static void print_touched(const struct report *rp)
{
	struct table *table = report_table(rp, &touched_desc);
	const struct summary *s = rp->data;
	const struct hot_target *t = s->hot.targets.base;
	struct touched sums[WSMON_NR_CLASSES] = { 0 };
	double aggr = (double)s->attrs.aggr_us / 1000000;
	size_t i;

	for (i = 0; i < s->hot.targets.nr; i++) {
		/* the other address spaces of the target follow */
		add_cells(&t[i], aggr, sums);
		if (i + 1 < s->hot.targets.nr && t[i + 1].pid == t[i].pid)
			continue;
		print_target(rp, table, t[i].pid, sums);
		memset(sums, 0, sizeof(sums));
	}
	table_end(table);
}

static struct cell mean_cell(const struct running *s)
{
	return s->n ? rounded(s->mean) : (struct cell){ 0 };
}

static struct cell max_cell(const struct running *s)
{
	return s->n ? cell_u(s->max) : (struct cell){ 0 };
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
		/* they need not be found by pid any more */
		qsort(s->targets.base, s->targets.nr, sizeof(struct target_sums), by_rss);
		if (rp->out.format == TABLE_HUMAN)
			fputs("Processes with at least 5 % of the memory of all (RSS):\n", rp->out.f);
	}
	table = report_table(rp, &memory_desc);
	for (i = 0; i < s->targets.nr; i++) {
		const struct target_sums *t =
			(const struct target_sums *)s->targets.base + i;

		if (!filter_wants_pid(&rp->filter, t->pid))
			continue;
		table_row(table, (struct cell[]) {
			[M_PID]		= cell_u(t->pid),
			[M_COMM]	= cell_s(t->comm),
			[M_RSS]		= mean_cell(&t->rss),
			[M_RSS_MAX]	= max_cell(&t->rss),
			[M_PSS]		= mean_cell(&t->pss),
			[M_PSS_MAX]	= max_cell(&t->pss),
			[M_SWAP_MAX]	= max_cell(&t->swap),
			[M_VSIZE]	= mean_cell(&t->vsize),
			[M_VSIZE_MAX]	= max_cell(&t->vsize),
			[M_EXIT]	= t->gone ? cell_d(t->exit_t) :
						    (struct cell){ 0 },
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
	/* is there a group that the filter leaves over? */
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
		msg("the window of %s is longer than the recording, %s: the figures lack memory used before it",
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
