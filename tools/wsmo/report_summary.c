// SPDX-License-Identifier: GPL-2.0
/*
 * report_summary.c - "wsmo report summary": the recording, each target and
 * class over all of it, what monitoring cost
 *
 * Means and variances are updated record by record (Welford, "Note on a method
 * for calculating corrected sums of squares and products", 1962).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "names.h"
#include "report.h"
#include "sorted.h"
#include "units.h"
#include "wsmo.h"

/* A file with more targets, or windows, than this is told to be too much. */
#define SUMMARY_ROWS	16384

enum {
	R_START, R_DURATION, R_INTERVALS, R_SAMPLE, R_AGGR, R_WINDOW, R_PAGE,
	R_END, R_RECORDS, R_LOST, R_LOST_BYTES, R_CPU, R_ROUNDS, R_LATE,
	R_LATE_P99, R_STEP, R_BUDGET, R_MISSED, R_CHECKS, R_FLUSHES, R_FLUSH_NS, R_HOLD,
};

static const struct column recording_columns[] = {
	[R_START]	= { "start", "Recorded", COL_TEXT, 0, 0, "when recording began" },
	[R_DURATION]	= { "duration_ns", "Duration", COL_NS, 0, 0, "from the first record to the last" },
	[R_INTERVALS]	= { "intervals", "Intervals", COL_COUNT, 0, 0, "aggregation intervals seen" },
	[R_SAMPLE]	= { "sample_us", "Sampling", COL_US, 0, 0, "sampling interval" },
	[R_AGGR]	= { "aggr_us", "Aggregation", COL_US, 0, 0, "aggregation interval" },
	[R_WINDOW]	= { "window_us", "Window", COL_US, 0, 0, "window tau of the working set" },
	[R_PAGE]	= { "page_size", "Page size", COL_SIZE, 0, 0, "bytes of a page" },
	[R_END]		= { "end", "Ended", COL_TEXT, 0, 0, "why it ended: stopped, targets gone, or the file is cut off" },
	[R_RECORDS]	= { "records", "Records", COL_COUNT, 0, 0, "records in the file" },
	[R_LOST]	= { "lost_records", "Lost", COL_COUNT, 0, 0, "records lost" },
	[R_LOST_BYTES]	= { "lost_bytes", "Lost bytes", COL_SIZE, 0, 0, "how long they were" },
	[R_CPU]		= { "cpu", "Cost", COL_RATIO, 0, 0, "share of one CPU the monitor used" },
	[R_ROUNDS]	= { "rounds", "Rounds", COL_COUNT, 0, 0, "sampling rounds" },
	[R_LATE]	= { "late_rounds", "Late rounds", COL_COUNT, 0, 0, "rounds left out because one ended late" },
	[R_LATE_P99]	= { "late_p99_ns", "Late by", COL_NS, 0, 0, "how late 99 % of the rounds began at most" },
	[R_STEP]	= { "sample_ns", "Sampling at last", COL_NS, 0, 0, "sampling interval in force at the end: longer to keep within the CPU budget" },
	[R_BUDGET]	= { "budget", "Most regions", COL_COUNT, 0, 0, "regions allowed at the end: fewer to keep within the CPU budget" },
	[R_MISSED]	= { "missed", "Missed visits", COL_COUNT, 0, 0, "visits given up because a lock was busy" },
	[R_CHECKS]	= { "checks", "Page checks", COL_COUNT, 0, 0, "sample pages checked" },
	[R_FLUSHES]	= { "flushes", "TLB flushes", COL_COUNT, 0, 0, "TLB flushes" },
	[R_FLUSH_NS]	= { "flush_ns", "Time flushing", COL_NS, 0, 0, "time in them" },
	[R_HOLD]	= { "max_hold_ns", "Longest hold", COL_NS, 0, 0, "longest time a target's mmap lock was held" },
};

enum {
	W_PID, W_COMM, W_CLASS, W_TAU, W_MEAN, W_SD, W_PEAK, W_PEAK_T, W_LOW,
	W_HIGH, W_MAPPED, W_N,
};

static const struct column wss_columns[] = {
	[W_PID]		= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[W_COMM]	= { "comm", "NAME", COL_TEXT, 4, 0, "its name" },
	[W_CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of memory; all is the whole target" },
	[W_TAU]		= { "tau_ms", "WINDOW", COL_MS, 6, 0, "the window tau, milliseconds" },
	[W_MEAN]	= { "mean", "WSS", COL_SIZE, 10, 0, "working set: mean over the intervals" },
	[W_SD]		= { "sd", "SD", COL_SIZE, 10, 0, "its standard deviation" },
	[W_PEAK]	= { "peak", "PEAK", COL_SIZE, 10, 0, "its greatest value" },
	[W_PEAK_T]	= { "peak_t", "AT", COL_T, 8, 0, "when that was" },
	[W_LOW]		= { "low", "LOW", COL_SIZE, 10, 0, "mean lower end of the 95 % interval" },
	[W_HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0, "mean upper end" },
	[W_MAPPED]	= { "mapped", "MAPPED", COL_SIZE, 10, 0, "mean bytes mapped" },
	[W_N]		= { "intervals", "N", COL_COUNT, 4, 0, "intervals it is made of" },
};

enum {
	M_PID, M_COMM, M_RSS, M_RSS_MAX, M_SWAP_MAX, M_VSIZE, M_VSIZE_MAX,
	M_EXIT,
};

static const struct column memory_columns[] = {
	[M_PID]		= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[M_COMM]	= { "comm", "NAME", COL_TEXT, 4, 0, "its name" },
	[M_RSS]		= { "rss_mean", "RSS", COL_SIZE, 10, 0, "resident memory, mean" },
	[M_RSS_MAX]	= { "rss_max", "MAX RSS", COL_SIZE, 10, 0, "resident memory, greatest" },
	[M_SWAP_MAX]	= { "swap_max", "MAX SWAP", COL_SIZE, 10, 0, "swapped out, greatest" },
	[M_VSIZE]	= { "vsize_mean", "VSZ", COL_SIZE, 10, 0, "mapped memory, mean" },
	[M_VSIZE_MAX]	= { "vsize_max", "MAX VSZ", COL_SIZE, 10, 0, "mapped memory, greatest" },
	[M_EXIT]	= { "exit_t", "GONE AT", COL_T, 8, 0, "when it was gone" },
};

static const struct table_desc recording_desc = {
	.type = "recording", .list = true,
	.columns = recording_columns, .nr = ARRAY_SIZE(recording_columns),
};

static const struct table_desc wss_desc = {
	.type = "wss_summary",
	.columns = wss_columns, .nr = ARRAY_SIZE(wss_columns),
};

static const struct table_desc memory_desc = {
	.type = "memory",
	.columns = memory_columns, .nr = ARRAY_SIZE(memory_columns),
};

static const struct table_desc * const tables[] = {
	&recording_desc, &wss_desc, &memory_desc,
};

/** struct series - mean, variance and maximum of a series of values */
struct series {
	__u64 n;
	double mean;
	double m2;
	__u64 max;
	double max_t;
};

static void series_add(struct series *s, __u64 value, double t)
{
	double delta = value - s->mean;

	s->n++;
	s->mean += delta / s->n;
	s->m2 += delta * (value - s->mean);
	if (s->n == 1 || value > s->max) {
		s->max = value;
		s->max_t = t;
	}
}

static double series_sd(const struct series *s)
{
	return s->n > 1 ? sqrt(s->m2 / (s->n - 1)) : 0;
}

/* A target and window and class; a target itself has no window. */
struct row {
	__u32 pid;
	__u32 class;
	__u64 tau_us;
	struct series wss, low, high, mapped;
};

struct target {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	bool gone;
	double exit_t;
	struct series rss, swap, vsize;
};

struct summary {
	struct sorted rows;		/* struct row */
	struct sorted targets;		/* struct target */
	bool too_many;
	__u64 first_ns, last_ns;
	__u64 records;
	__u64 intervals;
	struct wsmon_rec_lost lost;
	struct wsmon_attrs attrs;
	bool have_stats, late_reader;
	struct wsmon_rec_stats first_stats, stats;
	bool ended;
	__u32 reason;
};

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tau_us != b->tau_us)
		return a->tau_us < b->tau_us ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return 0;
}

static int compare_targets(const void *x, const void *y)
{
	const struct target *a = x, *b = y;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* The element equal to @key, added if it is new; NULL if there is no room */
static void *find_or_add(struct summary *s, struct sorted *in, const void *key)
{
	void *p = sorted_get(in, key);

	if (!p)
		s->too_many = true;
	return p;
}

static struct target *find_target(struct summary *s, __u32 pid)
{
	const struct target key = { .pid = pid };

	return find_or_add(s, &s->targets, &key);
}

static void add_wss(struct summary *s, const struct wsmon_rec_wss *w, double t)
{
	const struct row key = {
		.pid = w->pid, .class = w->class, .tau_us = w->tau_us,
	};
	struct row *row = find_or_add(s, &s->rows, &key);

	if (!row)
		return;
	series_add(&row->wss, w->bytes, t);
	series_add(&row->low, w->low, t);
	series_add(&row->high, w->high, t);
	series_add(&row->mapped, w->mapped, t);
	if (w->class == WSMON_CLASS_ALL && row->wss.n > s->intervals)
		s->intervals = row->wss.n;
}

static void add_proc(struct summary *s, const struct wsmon_rec_proc *p,
		     double t)
{
	struct target *target = find_target(s, p->pid);

	if (!target)
		return;
	series_add(&target->rss, p->rss, t);
	series_add(&target->swap, p->swap, t);
	series_add(&target->vsize, p->vsize, t);
}

static void add_target(struct summary *s, const struct wsmon_rec_target *rec)
{
	struct target *target = find_target(s, rec->pid);

	if (target)
		memcpy(target->comm, rec->comm, sizeof(target->comm));
	if (rec->flags == WSMON_TARGET_AGAIN)
		s->late_reader = true;
}

static void add_exit(struct summary *s, const struct wsmon_rec_exit *rec,
		     double t)
{
	struct target *target = find_target(s, rec->pid);

	if (target) {
		target->gone = true;
		target->exit_t = t;
	}
}

/* What counts for the recording as a whole, whatever is filtered */
static void add_to_recording(struct summary *s, const struct wsmon_record *rec)
{
	const struct wsmon_rec_lost *lost = (const void *)rec;
	struct wsmon_rec_attrs attrs;

	if (!s->records++)
		s->first_ns = rec->time_ns;
	if (rec->time_ns > s->last_ns)
		s->last_ns = rec->time_ns;
	switch (rec->type) {
	case WSMON_REC_ATTRS:
		reader_copy(rec, &attrs, sizeof(attrs));
		s->attrs = attrs.attrs;
		break;
	case WSMON_REC_LOST:
		s->lost.records += lost->records;
		s->lost.bytes += lost->bytes;
		break;
	case WSMON_REC_STATS:
		reader_copy(rec, &s->stats, sizeof(s->stats));
		if (!s->have_stats)
			s->first_stats = s->stats;
		s->have_stats = true;
		break;
	case WSMON_REC_END:
		s->ended = true;
		s->reason = ((const struct wsmon_rec_end *)rec)->reason;
		break;
	}
}

static void summary_begin(struct report *rp)
{
	struct summary *s = calloc(1, sizeof(*s));

	if (!s) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	s->rows = (struct sorted) {
		.size = sizeof(struct row),
		.max = SUMMARY_ROWS,
		.compare = compare_rows,
	};
	s->targets = (struct sorted) {
		.size = sizeof(struct target),
		.max = SUMMARY_ROWS,
		.compare = compare_targets,
	};
	s->attrs = rp->reader.header.attrs;
	rp->data = s;
}

/* A summary is of one window */
static __u64 window(const struct report *rp)
{
	const struct summary *s = rp->data;

	return rp->nr_taus ? rp->taus[0] : s->attrs.window_us;
}

static void summary_record(struct report *rp, const struct wsmon_record *rec)
{
	double t = report_time(rp, rec->time_ns);
	const struct wsmon_rec_wss *wss;
	struct summary *s = rp->data;

	add_to_recording(s, rec);
	if (rec->type == WSMON_REC_TARGET) {
		/* names are needed whatever --time says */
		add_target(s, (const void *)rec);
		return;
	}
	if (!report_wants(rp, rec))
		return;
	switch (rec->type) {
	case WSMON_REC_WSS:
		wss = (const void *)rec;
		if (report_wants_class(rp, wss->class) &&
		    report_wants_tau(rp, wss->tau_us) &&
		    wss->tau_us == window(rp))
			add_wss(s, wss, t);
		break;
	case WSMON_REC_PROC:
		add_proc(s, (const void *)rec, t);
		break;
	case WSMON_REC_EXIT:
		add_exit(s, (const void *)rec, t);
		break;
	}
}

/* Share of one CPU the kernel thread used while it was being recorded */
static struct cell cpu_share(const struct summary *s)
{
	__u64 cpu = s->stats.cpu_ns, from = s->first_ns;

	if (!s->have_stats)
		return (struct cell){ 0 };
	if (s->late_reader) {
		/* monitoring had been running before the file begins */
		cpu -= s->first_stats.cpu_ns;
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

/* What modules without a CPU budget did not tell */
static struct cell newer_cell(const struct summary *s, __u64 value)
{
	return s->stats.sample_ns ? cell_u(value) : (struct cell){ 0 };
}

static void print_recording(struct report *rp)
{
	struct table *table = table_new(&recording_desc, rp->format);
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
		[R_INTERVALS]	= cell_u(s->intervals),
		[R_SAMPLE]	= cell_u(s->attrs.sample_us),
		[R_AGGR]	= cell_u(s->attrs.aggr_us),
		[R_WINDOW]	= cell_u(window(rp)),
		[R_PAGE]	= cell_u(rp->reader.header.page_size),
		[R_END]		= cell_s(s->ended ? end_name(s->reason) :
					 "cut off"),
		[R_RECORDS]	= cell_u(s->records),
		/* a loss at the very end has no LOST record behind it */
		[R_LOST]	= cell_u(s->lost.records > st->lost_records ?
					 s->lost.records : st->lost_records),
		[R_LOST_BYTES]	= cell_u(s->lost.bytes > st->lost_bytes ?
					 s->lost.bytes : st->lost_bytes),
		[R_CPU]		= cpu_share(s),
		[R_ROUNDS]	= stat_cell(s, st->rounds),
		[R_LATE]	= stat_cell(s, st->late_rounds),
		[R_LATE_P99]	= newer_cell(s, st->late_p99_ns),
		[R_STEP]	= newer_cell(s, st->sample_ns),
		[R_BUDGET]	= newer_cell(s, st->budget),
		[R_MISSED]	= stat_cell(s, st->missed),
		[R_CHECKS]	= stat_cell(s, st->checks),
		[R_FLUSHES]	= stat_cell(s, st->flushes),
		[R_FLUSH_NS]	= stat_cell(s, st->flush_ns),
		[R_HOLD]	= stat_cell(s, st->max_hold_ns),
	});
	table_end(table);
}

static const char *comm_of(const struct summary *s, __u32 pid)
{
	const struct target key = { .pid = pid };
	const struct target *t = sorted_find(&s->targets, &key);

	return t ? t->comm : "";
}

/* Sizes in a broken file may be more than 64 bits hold */
static struct cell cell_rounded(double v)
{
	return cell_u(v < 0x1p64 ? (__u64)(v + 0.5) : ~0ULL);
}

static void print_wss(struct report *rp)
{
	struct table *table = table_new(&wss_desc, rp->format);
	const struct summary *s = rp->data;
	size_t i;

	for (i = 0; i < s->rows.nr; i++) {
		const struct row *r = (const struct row *)s->rows.base + i;

		table_row(table, (struct cell[]) {
			[W_PID]		= cell_u(r->pid),
			[W_COMM]	= cell_s(comm_of(s, r->pid)),
			[W_CLASS]	= cell_s(class_name(r->class)),
			[W_TAU]		= cell_u(r->tau_us / 1000),
			[W_MEAN]	= cell_rounded(r->wss.mean),
			[W_SD]		= cell_rounded(series_sd(&r->wss)),
			[W_PEAK]	= cell_u(r->wss.max),
			[W_PEAK_T]	= cell_d(r->wss.max_t),
			[W_LOW]		= cell_rounded(r->low.mean),
			[W_HIGH]	= cell_rounded(r->high.mean),
			[W_MAPPED]	= cell_rounded(r->mapped.mean),
			[W_N]		= cell_u(r->wss.n),
		});
	}
	table_end(table);
}

static struct cell mean_cell(const struct series *s)
{
	return s->n ? cell_rounded(s->mean) : (struct cell){ 0 };
}

static struct cell max_cell(const struct series *s)
{
	return s->n ? cell_u(s->max) : (struct cell){ 0 };
}

static void print_memory(struct report *rp)
{
	struct table *table = table_new(&memory_desc, rp->format);
	const struct summary *s = rp->data;
	size_t i;

	for (i = 0; i < s->targets.nr; i++) {
		const struct target *t =
			(const struct target *)s->targets.base + i;

		if (rp->pids.nr && !has_pid(&rp->pids, t->pid))
			continue;
		table_row(table, (struct cell[]) {
			[M_PID]		= cell_u(t->pid),
			[M_COMM]	= cell_s(t->comm),
			[M_RSS]		= mean_cell(&t->rss),
			[M_RSS_MAX]	= max_cell(&t->rss),
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
	struct summary *s = rp->data;
	bool blank = rp->format != TABLE_JSON;

	print_recording(rp);
	if (blank)
		putchar('\n');
	print_wss(rp);
	if (blank)
		putchar('\n');
	print_memory(rp);
	if (s->too_many)
		msg("more than %d targets, classes and windows: the summary is of the first ones",
		    SUMMARY_ROWS);
	free(s->rows.base);
	free(s->targets.base);
	free(s);
}

const struct report_view report_summary = {
	.name = "summary",
	.help = "the recording, each target and class over all of it, what it cost",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.no_snapshots = true,
	.begin = summary_begin,
	.record = summary_record,
	.end = summary_end,
};
