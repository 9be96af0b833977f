// SPDX-License-Identifier: GPL-2.0
/*
 * sizing.c - memory limits and the refaults they would cause
 *
 * The first use of memory is a fault with any limit, not a refault. Its rate, by the
 * growth of RSS and swap, is subtracted.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "curve.h"
#include "sizing.h"
#include "libwsmon/util.h"

/* Steps between the shortest and the longest window if no limits are given */
#define STEPS	12

static double growth(const struct wsmon_curve *of)
{
	return fmax(0, of->growth) / of->page_size;
}

double wsmon_knee(const struct wsmon_curve *of, double max_refaults)
{
	return curve_smallest(of, (max_refaults + growth(of)) * of->page_size);
}

struct wsmon_limit wsmon_limit(const struct wsmon_curve *of, double bytes)
{
	struct curve_miss m = curve_limit(of, bytes);
	double first = growth(of);
	double all = of->point[0].size / of->point[0].window / of->page_size;
	struct wsmon_limit at = {
		.bytes = bytes, .bound = m.bound, .window = m.window,
		.refaults = fmax(0, m.rate / of->page_size - first),
		.low = fmax(0, m.low / of->page_size - first),
		.high = fmax(0, m.high / of->page_size - first),
	};

	at.missed = all > 0 ? fmin(1, at.refaults / all) : 0;
	return at;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sizing_row *x = a, *y = b;

	return COMPARE(x->at.bytes, y->at.bytes);
}

/* Steps of a thousandth of the range, as curve_smallest() takes them */
#define KNEE_STEPS	1024

double sizing_knee(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of)
{
	double min = of->size[1], max = of->point[of->nr - 1].high, knee = INFINITY;
	unsigned int i;

	if (choice->max_slowdown <= 0 && (!s || s->unmapped <= 0))
		return wsmon_knee(of, choice->max_refaults);
	for (i = 0; i <= KNEE_STEPS; i++) {
		double bytes = max - (max - min) * i / KNEE_STEPS;
		struct wsmon_limit at = slowdown_limit(s, of, bytes);

		/* not so either if it is not known */
		if ((choice->max_slowdown > 0 && !(slowdown_at(s, of, &at).high <= choice->max_slowdown)) ||
		    (choice->max_refaults && at.high > choice->max_refaults))
			break;
		knee = bytes;
	}
	return knee;
}

size_t sizing_rows(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of, struct sizing_row *row)
{
	double min = of->size[1], max = of->size[of->nr];
	double knee = sizing_knee(choice, s, of);
	size_t n = 0, i;

	memset(row, 0, SIZING_ROWS * sizeof(*row));
	for (i = 0; i < choice->nr_limits; i++)
		row[n++].at = slowdown_limit(s, of, choice->limits[i]);
	for (i = 0; !choice->nr_limits && i <= STEPS; i++)
		row[n++].at = slowdown_limit(s, of, min + (max - min) * i / STEPS);
	if (!choice->nr_limits && of->rss > max)
		row[n++].at = slowdown_limit(s, of, of->rss);
	if (!isinf(knee))
		row[n++] = (struct sizing_row){ .at = slowdown_limit(s, of, knee), .knee = true };
	for (i = 0; i < n; i++)
		row[i].slowdown = slowdown_at(s, of, &row[i].at);
	qsort(row, n, sizeof(*row), compare_rows);
	return n;
}
