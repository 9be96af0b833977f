// SPDX-License-Identifier: GPL-2.0
/*
 * summary_recording.c - "wsmo report summary": the recording as a whole, what it
 * lost and what it cost
 */
#include <time.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "summary.h"

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
	[R_WINDOW]	= { "window_us", "Window", COL_US, 0, 0, "window of the working set" },
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

const struct table_desc summary_recording_desc = {
	.type = "recording", .list = true,
	.columns = recording_columns, .nr = ARRAY_SIZE(recording_columns),
};

__u64 summary_window(const struct report *rp)
{
	const struct summary *s = rp->data;

	return rp->filter.nr_windows ? rp->filter.windows[0] : s->attrs.window_us;
}

/* Share of one CPU used while it was being recorded, by flushes on others, too */
static struct cell cpu_share(const struct summary *s)
{
	__u64 cpu = s->stats.cpu_ns + s->stats.remote_ns, from = s->first_ns;

	if (!s->have_stats)
		return (struct cell){ 0 };
	if (s->late_reader) {
		/* monitoring had been running before the file begins */
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

/* What modules without a CPU budget did not tell */
static struct cell newer_cell(const struct summary *s, __u64 value)
{
	return s->stats.sample_ns ? cell_u(value) : (struct cell){ 0 };
}

void summary_recording(struct report *rp)
{
	struct table *table = table_new(&summary_recording_desc, rp->format);
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
		[R_WINDOW]	= cell_u(summary_window(rp)),
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
