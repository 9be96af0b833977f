// SPDX-License-Identifier: GPL-2.0
/*
 * sizing.c - memory limits and the refaults they would cause
 *
 * The first use of memory is a fault with any limit, not a refault. Its rate, by the
 * growth of RSS and swap, is subtracted.
 */
#include <math.h>
#include <stdlib.h>

#include "sizing.h"
#include "libwsmon/util.h"

/* Steps between the shortest and the longest window if no limits are given */
#define STEPS	12

static double growth(const struct curve_of *of, __u32 page_size)
{
	return fmax(0, of->growth) / page_size;
}

double sizing_knee(const struct curve_of *of, double max_refaults,
		   __u32 page_size)
{
	return curve_smallest(&of->curve,
			      (max_refaults + growth(of, page_size)) * page_size);
}

struct sizing_row sizing_row(const struct curve_of *of, double limit,
			     __u32 page_size)
{
	const struct curve *c = &of->curve;
	struct curve_miss m = curve_limit(c, limit);
	double first = growth(of, page_size);
	double all = c->point[0].size / c->point[0].window / page_size;
	struct sizing_row row = {
		.limit = limit, .bound = m.bound, .window = m.window,
		.refaults = fmax(0, m.rate / page_size - first),
		.low = fmax(0, m.low / page_size - first),
		.high = fmax(0, m.high / page_size - first),
	};

	row.missed = all > 0 ? fmin(1, row.refaults / all) : 0;
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sizing_row *x = a, *y = b;

	return COMPARE(x->limit, y->limit);
}

size_t sizing_rows(const struct sizing_choice *choice,
		   const struct curve_of *of, __u32 page_size,
		   struct sizing_row *row)
{
	double least = of->curve.size[1], most = of->curve.size[of->curve.nr];
	double knee = sizing_knee(of, choice->max_refaults, page_size);
	size_t n = 0, i;

	for (i = 0; i < choice->nr_limits; i++)
		row[n++] = sizing_row(of, choice->limits[i], page_size);
	for (i = 0; !choice->nr_limits && i <= STEPS; i++)
		row[n++] = sizing_row(of, least + (most - least) * i / STEPS,
				      page_size);
	if (!choice->nr_limits && of->rss > most)
		row[n++] = sizing_row(of, of->rss, page_size);
	if (!isinf(knee)) {
		row[n] = sizing_row(of, knee, page_size);
		row[n++].knee = true;
	}
	qsort(row, n, sizeof(*row), compare_rows);
	return n;
}
