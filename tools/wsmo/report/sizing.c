// SPDX-License-Identifier: GPL-2.0
/*
 * sizing.c - "wsmo report sizing": which limit a container can be given
 */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "libwsmon/numbers/sizing.h"
#include "curves.h"
#include "report/plot/curve.h"

enum { PID, CLASS, LIMIT, OF_RSS, TAU, BOUND, REFAULTS, LOW, HIGH, MISSED, MARK };

static const struct column columns[] = {
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0, "the target; none: all of them together" },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 5, 0, "class of memory; all is the whole target" },
	[LIMIT]	= { "limit", "LIMIT", COL_SIZE, 10, 0, "the memory there is" },
	[OF_RSS] = { "of_rss", "OF RSS", COL_RATIO, 7, 0, "share of the mean resident size that is" },
	[TAU]	= { "window_us", "KEEPS", COL_US, 7, 0, "what was used within this time stays, microseconds" },
	[BOUND]	= { "bound", "", COL_TEXT, 1, 0, "<: less than HIGH, as no window was that long; >: more than LOW, as none was that short" },
	[REFAULTS] = { "refaults_per_s", "REFAULTS/S", COL_RATE, 10, 0, "pages needed again that are not there, a second" },
	[LOW]	= { "low", "LOW", COL_RATE, 7, 0, "lower end of their 95 % interval" },
	[HIGH]	= { "high", "HIGH", COL_RATE, 7, 0, "upper end" },
	[MISSED] = { "missed", "MISSED", COL_RATIO, 7, 0, "share of accesses that are refaults, at most; those to a page within the shortest window count as one" },
	[MARK]	= { "mark", "", COL_TEXT, 4, 0, "knee: the smallest limit whose HIGH is at most --max-refaults" },
};

static const struct table_desc desc = {
	.type = "sizing", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const struct table_desc * const tables[] = { &desc };

static struct cell known(const struct sizing_row *row, double value)
{
	return row->bound == CURVE_EXACT ? cell_d(value) : (struct cell){ };
}

static void print_row(const struct report *rp, struct table *t,
		      const struct curve_of *of, const struct sizing_row *row)
{
	/* nothing to note is not something missing */
	const char *none = rp->format == TABLE_HUMAN ? " " : "";
	const char * const bounds[] = { none, "<", ">" };
	bool tau = row->bound == CURVE_EXACT;

	table_row(t, (struct cell[]) {
		[PID]	= of->pid ? cell_u(of->pid) : (struct cell){ },
		[CLASS]	= cell_s(class_name(of->class)),
		[LIMIT]	= cell_u(whole(row->limit)),
		[OF_RSS] = cell_d(of->rss > 0 ? row->limit / of->rss : NAN),
		[TAU]	= tau ? cell_u(whole(row->tau * 1e6)) : (struct cell){ },
		[BOUND]	= cell_s(bounds[row->bound]),
		[REFAULTS] = known(row, row->refaults),
		[LOW]	= cell_d(row->low),
		[HIGH]	= cell_d(row->high),
		[MISSED] = known(row, row->missed),
		[MARK]	= cell_s(row->knee ? "knee" : none),
	});
}

/* The answer in a sentence or two */
static void print_words(const struct report *rp, const struct curve_of *of)
{
	const struct curve *c = &of->curve;
	const __u32 page_size = rp->reader.header.page_size;
	double knee = sizing_knee(of, rp->sizing.max_refaults, page_size);
	char size[UNITS_LEN], name[4 * WSMON_COMM_LEN];

	printf("\n%s", text_clean(name, sizeof(name), of->comm));
	if (of->pid)
		printf(" (%u)", of->pid);
	if (of->class != WSMON_CLASS_ALL)
		printf(", %s", class_name(of->class));
	if (isinf(knee))
		printf(": at %s there may be more than %llu refaults a second still; record longer windows",
		       units_size(size, whole(c->size[c->nr])),
		       rp->sizing.max_refaults);
	else
		printf(": %s %s keep refaults below %llu a second",
		       units_size(size, whole(knee)),
		       knee <= c->size[1] ? "or less" : "of memory",
		       rp->sizing.max_refaults);
	if (of->rss > 0)
		printf("; it had %s", units_size(size, whole(of->rss)));
	printf(".\n");
	if (of->growth >= page_size)
		printf("Besides, it used %s a second for the first time: faults that no limit spares.\n",
		       units_size(size, whole(of->growth)));
}

/* Where what is told ends */
static void print_end(const struct curves *cs)
{
	char tau[UNITS_LEN];
	double longest = 0;
	size_t i;

	for (i = 0; i < cs->nr; i++)
		longest = larger(longest, cs->of[i].curve.tau[cs->of[i].curve.nr]);
	printf("\nWhat is not used for %s, the longest window, counts as cold: above the largest limits refaults are rarer than told.\n",
	       units_time(tau, whole(longest * 1e9)));
}

static int print(const struct report *rp, const struct curves *cs)
{
	struct table *t = table_new(&desc, rp->format);
	struct sizing_row row[SIZING_ROWS];
	size_t i, j, n;

	for (i = 0; i < cs->nr; i++) {
		n = sizing_rows(&rp->sizing, &cs->of[i],
				rp->reader.header.page_size, row);
		for (j = 0; j < n; j++)
			print_row(rp, t, &cs->of[i], &row[j]);
	}
	table_end(t);
	if (rp->format != TABLE_HUMAN)
		return 0;
	for (i = 0; i < cs->nr; i++)
		print_words(rp, &cs->of[i]);
	print_end(cs);
	return 0;
}

static void end(struct report *rp)
{
	curves_report_end(rp, rp->output ? sizing_plot : print);
}

const struct report_view report_sizing = {
	.name = "sizing",
	.help = "memory limits against the refaults to expect: which limit will do",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.no_snapshots = true,
	.plots = true,
	.begin = curves_report_begin,
	.record = curves_report_record,
	.end = end,
};
