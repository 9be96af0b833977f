// SPDX-License-Identifier: GPL-2.0
/*
 * summary_touched.c - "wsmo report summary": distinct memory accessed at any time,
 * and which class the accesses went to
 *
 * Samples tell which share of a region was accessed in an interval, not which pages
 * of it. Over a recording these may have been the same all the time: at least the
 * greatest share there was. Or different ones each time: at most the sum of the
 * shares, and the whole region. What was there one time after another at one address
 * counts once.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "summary.h"

enum { PID, COMM, CLASS, LEAST, MOST, ACCESSES, RANGE };

static const struct column columns[] = {
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[COMM]	= { "comm", "NAME", COL_TEXT, 4, 0, "its name" },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of memory; all is the whole target" },
	[LEAST]	= { "touched_low", "TOUCHED", COL_SIZE, 10, 0, "distinct memory accessed at any time: at least, as if it always were the same pages of a region" },
	[MOST]	= { "touched_high", "AT MOST", COL_SIZE, 10, 0, "and at most, as if it were others each time" },
	[RANGE]	= { "seen", "SEEN", COL_SIZE, 10, 0, "addresses mapped at any time that were looked at" },
	[ACCESSES] = { "accesses", "ACCESSES", COL_RATIO, 8, 0, "part of the target's accesses: pages found accessed, summed over the rounds" },
};

const struct table_desc summary_touched_desc = {
	.type = "touched", .columns = columns, .nr = ARRAY_SIZE(columns),
};

struct sums {
	double least, most, range, accesses;
};

static void add_cells(const struct hot_target *t, double aggr, struct sums *sums)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		const struct hot_cell *c = &t->cell[i];
		double size = c->end - c->start;
		__u32 class = c->class;
		struct sums add = {
			.least = size * c->most_share,
			.most = size * hot_min(1, hot_max(c->most_share, c->share / aggr)),
			.range = size,
			.accesses = size * c->freq,
		};

		for (;; class = WSMON_CLASS_ALL) {
			struct sums *s = &sums[class < WSMON_NR_CLASSES ? class : 0];

			s->least += add.least;
			s->most += add.most;
			s->range += add.range;
			s->accesses += add.accesses;
			if (!class || class >= WSMON_NR_CLASSES)
				break;
		}
	}
}

static void print_target(struct report *rp, struct table *table, __u32 pid,
			 const struct sums *sums)
{
	const struct summary *s = rp->data;
	__u32 class;

	for (class = 0; class < WSMON_NR_CLASSES; class++) {
		const struct sums *sum = &sums[class];
		const struct row *w = summary_row(rp, pid, class);
		/* what a working set was at one time was touched */
		double least = w ? hot_max(sum->least, hot_min(w->low.max, sum->range)) :
				   sum->least;

		if (!sum->range || !filter_wants_class(&rp->filter, class))
			continue;
		table_row(table, (struct cell[]) {
			[PID]	= cell_u(pid),
			[COMM]	= cell_s(summary_comm(s, pid)),
			[CLASS]	= cell_s(class_name(class)),
			[LEAST]	= summary_rounded(least),
			[MOST]	= summary_rounded(hot_max(sum->most, least)),
			[RANGE]	= summary_rounded(sum->range),
			[ACCESSES] = cell_d(sum->accesses / sums[0].accesses),
		});
	}
}

void summary_touched(struct report *rp)
{
	struct table *table = table_new(&summary_touched_desc, rp->format);
	const struct summary *s = rp->data;
	const struct hot_target *t = s->hot.targets.base;
	struct sums sums[WSMON_NR_CLASSES] = { 0 };
	double aggr = (double)s->attrs.aggr_us / 1000000;
	size_t i;

	for (i = 0; i < s->hot.targets.nr; i++) {
		/* its other address spaces follow */
		add_cells(&t[i], aggr, sums);
		if (i + 1 < s->hot.targets.nr && t[i + 1].pid == t[i].pid)
			continue;
		print_target(rp, table, t[i].pid, sums);
		memset(sums, 0, sizeof(sums));
	}
	table_end(table);
}
