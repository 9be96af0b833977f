// SPDX-License-Identifier: GPL-2.0
/*
 * curve.c - the working set as a function of its window, and what follows for a limit
 *
 * Between its nodes the curve is a quadratic spline that is rising and concave if
 * the nodes are (Schumaker, On Shape Preserving Quadratic Spline Interpolation,
 * SIAM J. Numer. Anal. 20:4, 1983): its slope is continuous, falls, and has the
 * mean that was measured between any two windows.
 */
#include <math.h>

#include "curve.h"

/*
 * The working set of a longer window is no smaller, but its estimate may be. Taking the
 * maximum so far would add up noise, so neighbours that fall are replaced by their mean
 * until none does (pool adjacent violators: Barlow et al., Statistical Inference under
 * Order Restrictions, 1972).
 */
static void pool_means(struct wsmon_curve *c)
{
	struct block {
		double sum;
		size_t nr;
	} block[WSMON_WINDOWS_MAX];
	size_t nr = 0, i, b, k;

	for (i = 0; i < c->nr; i++) {
		block[nr++] = (struct block){ c->point[i].mean, 1 };
		for (; nr > 1; nr--) {
			struct block *before = &block[nr - 2], *after = &block[nr - 1];

			if (before->sum / before->nr <= after->sum / after->nr)
				break;
			before->sum += after->sum;
			before->nr += after->nr;
		}
	}
	for (i = 0, b = 0; b < nr; b++)
		for (k = 0; k < block[b].nr; k++)
			c->point[i++].size = block[b].sum / block[b].nr;
}

static double mean_slope(const struct wsmon_curve *c, size_t i)
{
	return (c->size[i + 1] - c->size[i]) / (c->node[i + 1] - c->node[i]);
}

/* Slopes that rise are noise, too */
static void make_concave(struct wsmon_curve *c)
{
	size_t end[WSMON_WINDOWS_MAX], nr = 0, i, b;

	for (i = 0; i < c->nr; i++) {
		end[nr++] = i + 1;
		while (nr > 1) {
			size_t mid = end[nr - 2];
			size_t from = nr > 2 ? end[nr - 3] : 0;
			double before = (c->size[mid] - c->size[from]) /
					(c->node[mid] - c->node[from]);
			double after = (c->size[i + 1] - c->size[mid]) /
					(c->node[i + 1] - c->node[mid]);

			if (before >= after)
				break;
			end[--nr - 1] = i + 1;
		}
	}
	for (b = 0, i = 0; b < nr; b++) {
		size_t from = b ? end[b - 1] : 0;
		double slope = (c->size[end[b]] - c->size[from]) /
			       (c->node[end[b]] - c->node[from]);

		for (i = from + 1; i < end[b]; i++)
			c->size[i] = c->size[from] +
				     slope * (c->node[i] - c->node[from]);
	}
}

/*
 * The mean slope of a segment is about that in its middle. Between two middles its
 * logarithm is linear, as for rates that fall exponentially.
 */
static double node_slope(const struct wsmon_curve *c, size_t i)
{
	double before = mean_slope(c, i - 1), after = mean_slope(c, i);
	double share = (c->node[i] - c->node[i - 1]) / (c->node[i + 1] - c->node[i - 1]);

	if (after <= 0)
		return 0;
	return before * pow(after / before, share);
}

void curve_fit(struct wsmon_curve *c)
{
	double last;
	size_t i;

	pool_means(c);
	c->node[0] = c->size[0] = 0;
	for (i = 0; i < c->nr; i++) {
		c->node[i + 1] = c->point[i].window;
		c->size[i + 1] = c->point[i].size;
	}
	make_concave(c);
	for (i = 1; i < c->nr; i++)
		c->slope[i] = node_slope(c, i);
	/* after the last middle it falls on as before it */
	last = mean_slope(c, c->nr - 1);
	c->slope[c->nr] = c->slope[c->nr - 1] > 0 ?
			  last * last / c->slope[c->nr - 1] : 0;
	c->slope[0] = 2 * mean_slope(c, 0) - c->slope[1];
}

/* The segment that contains a window */
static size_t segment(const struct wsmon_curve *c, double window)
{
	size_t i = 0;

	while (i + 1 < c->nr && window > c->node[i + 1])
		i++;
	return i;
}

/*
 * Where between two nodes the slope is the mean. It falls to that from the first
 * node's, then on to the second's: both parabolas together rise as they should. A
 * node with the mean's slope makes it stay so to the other one.
 */
static double knot(const struct wsmon_curve *c, size_t i)
{
	double mean = mean_slope(c, i);
	double before = c->slope[i] - mean, after = mean - c->slope[i + 1];
	double share = before + after > 0 ? after / (before + after) : 0.5;

	return c->node[i] + share * (c->node[i + 1] - c->node[i]);
}

double curve_rate(const struct wsmon_curve *c, double window)
{
	size_t i = segment(c, window);
	double at = knot(c, i), mean = mean_slope(c, i);

	if (window > c->node[c->nr])
		return c->slope[c->nr];
	if (window < at)
		return c->slope[i] + (mean - c->slope[i]) *
		       (window - c->node[i]) / (at - c->node[i]);
	if (at >= c->node[i + 1])
		return mean;
	return mean + (c->slope[i + 1] - mean) * (window - at) /
	       (c->node[i + 1] - at);
}

double curve_size(const struct wsmon_curve *c, double window)
{
	size_t i = segment(c, window);
	double rate = curve_rate(c, window);

	if (window >= c->node[c->nr])
		return c->size[c->nr];
	if (window < knot(c, i))
		return c->size[i] + (c->slope[i] + rate) / 2 * (window - c->node[i]);
	return c->size[i + 1] -
	       (c->slope[i + 1] + rate) / 2 * (c->node[i + 1] - window);
}

double curve_window(const struct wsmon_curve *c, double size)
{
	double low = 0, high = c->node[c->nr];
	unsigned int i;

	if (size > c->size[c->nr])
		return INFINITY;
	/* a double has no more bits */
	for (i = 0; i < 64; i++) {
		double mid = (low + high) / 2;

		if (curve_size(c, mid) <= size)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* The point before a segment; (0, 0) is certain */
static struct wsmon_curve_point before(const struct wsmon_curve *c, size_t i)
{
	return i ? c->point[i - 1] : (struct wsmon_curve_point){ };
}

/* Interpolates the distance from the curve between the points */
void curve_ends(const struct wsmon_curve *c, double window, double *low, double *high)
{
	size_t i = segment(c, window);
	const struct wsmon_curve_point from = before(c, i), to = c->point[i];
	double share = fmin(1, (window - from.window) / (to.window - from.window));
	double size = curve_size(c, window);

	*low = fmax(0, size - (1 - share) * (from.mean - from.low) -
		       share * (to.mean - to.low));
	*high = size + (1 - share) * (from.high - from.mean) +
		share * (to.high - to.mean);
}

/* Half the interval of a rate, from that of the rise measured there */
static double slack(const struct wsmon_curve *c, double window, double rate)
{
	size_t i = segment(c, window);
	double mean = mean_slope(c, i);
	double half = c->point[i].slack / (c->node[i + 1] - c->node[i]);

	return mean > 0 && rate > mean ? half * rate / mean : half;
}

static double fastest(const struct wsmon_curve *c, double size)
{
	double window = curve_window(c, fmax(0, size));
	double rate = curve_rate(c, window);

	return rate + slack(c, window, rate);
}

static double slowest(const struct wsmon_curve *c, double size)
{
	double window = curve_window(c, size), rate;

	if (isinf(window))
		return 0;
	rate = curve_rate(c, window);
	return fmax(0, rate - slack(c, window, rate));
}

struct curve_miss curve_limit(const struct wsmon_curve *c, double size)
{
	const struct wsmon_curve_point *p = c->point, *last = &p[c->nr - 1];
	struct curve_miss m = { .window = curve_window(c, size) };
	double low, high;

	m.rate = curve_rate(c, m.window);
	if (isinf(m.window)) {
		double mean = mean_slope(c, c->nr - 1);

		/* the rate falls: at the end it is at most the mean before */
		m.bound = WSMON_AT_MOST;
		m.high = size < last->high ?
			 fastest(c, size - (last->high - last->mean)) :
			 mean + slack(c, last->window, mean);
		return m;
	}
	curve_ends(c, m.window, &low, &high);
	m.low = slowest(c, size + (size - low));
	m.high = fastest(c, size - (high - size));
	if (m.window < p[0].window) {
		m.bound = WSMON_AT_LEAST;
		m.low = slowest(c, c->size[1] + p->mean - p->low);
		m.high = INFINITY;
	}
	return m;
}

/* Steps of a thousandth of the range */
#define STEPS	1024

double curve_smallest(const struct wsmon_curve *c, double max_rate)
{
	double min = c->size[1], max = c->point[c->nr - 1].high;
	unsigned int i;

	for (i = 0; i <= STEPS; i++) {
		double size = max - (max - min) * i / STEPS;

		if (curve_limit(c, size).high > max_rate)
			break;
	}
	if (!i)
		return INFINITY;
	return max - (max - min) * (i - 1) / STEPS;
}
