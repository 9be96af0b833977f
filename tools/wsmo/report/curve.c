// SPDX-License-Identifier: GPL-2.0
/*
 * curve.c - "wsmo report curve": the working set against its window
 */
#include <math.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "curves.h"
#include "report/plot/curve.h"

/* What the other columns take, with the blanks between them */
#define BESIDE_BAR	70

enum { PID, CLASS, TAU, BYTES, LOW, HIGH, P5, P50, P95, BAR };

static const struct column columns[] = {
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0, "the target; none: all of them together" },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 5, 0, "class of memory; all is the whole target" },
	[TAU]	= { "window_us", "WINDOW", COL_US, 6, 0, "the window, microseconds" },
	[BYTES]	= { "bytes", "WSS", COL_SIZE, 9, 0, "working set: bytes accessed within the window, mean over time" },
	[LOW]	= { "low", "LOW", COL_SIZE, 9, 0, "lower end of its 95 % interval" },
	[HIGH]	= { "high", "HIGH", COL_SIZE, 9, 0, "upper end" },
	[P5]	= { "p5", "5 %", COL_SIZE, 9, 0, "at 5 % of the moments it was at most this" },
	[P50]	= { "p50", "50 %", COL_SIZE, 9, 1U << TABLE_HUMAN, "at half of them" },
	[P95]	= { "p95", "95 %", COL_SIZE, 9, 0, "at 95 % of them" },
	[BAR]	= { "bar", "BAR", COL_TEXT, BAR_MIN, NOT_CSV | NOT_JSON | 1U << TABLE_RAW, "up to LOW, then up to HIGH; the longest is the greatest" },
};

static const struct table_desc desc = {
	.type = "curve", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const struct table_desc * const tables[] = { &desc };

static struct cell range_cell(const struct curve_of *of, __u64 size)
{
	return of->pid ? cell_u(size) : (struct cell){ };
}

static int print(const struct report *rp, const struct curves *cs)
{
	struct table *t = table_new(&desc, rp->format);
	unsigned int width = bar_width(BESIDE_BAR);
	char bar[BAR_TEXT];
	double most = 0;
	size_t i, k;

	for (i = 0; i < cs->nr; i++)
		for (k = 0; k < cs->of[i].curve.nr; k++)
			most = larger(most, cs->of[i].curve.point[k].high);
	for (i = 0; i < cs->nr; i++) {
		const struct curve_of *of = &cs->of[i];

		for (k = 0; k < of->curve.nr; k++) {
			const struct curve_point *p = &of->curve.point[k];
			const struct curve_range *r = &of->range[k];

			table_row(t, (struct cell[]) {
				[PID]	= of->pid ? cell_u(of->pid) : (struct cell){ },
				[CLASS]	= cell_s(class_name(of->class)),
				[TAU]	= cell_u(whole(p->tau * 1e6)),
				[BYTES]	= cell_u(whole(p->size)),
				[LOW]	= cell_u(whole(p->low)),
				[HIGH]	= cell_u(whole(p->high)),
				[P5]	= range_cell(of, r->p5),
				[P50]	= range_cell(of, r->p50),
				[P95]	= range_cell(of, r->p95),
				[BAR]	= cell_s(bar_text(bar, whole(p->low), whole(p->high),
							  whole(most), width)),
			});
		}
	}
	table_end(t);
	return 0;
}

static void end(struct report *rp)
{
	curves_report_end(rp, rp->output ? curve_plot : print);
}

const struct report_view report_curve = {
	.name = "curve",
	.help = "the working set against its window, the mean over time",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.no_snapshots = true,
	.plots = true,
	.begin = curves_report_begin,
	.record = curves_report_record,
	.end = end,
};
