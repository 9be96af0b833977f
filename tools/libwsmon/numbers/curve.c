// SPDX-License-Identifier: GPL-2.0
/*
 * curve.c - the working set against its window, and what follows for a limit
 *
 * Between its nodes the curve is a quadratic spline that is rising and concave if
 * the nodes are (Schumaker, On Shape Preserving Quadratic Spline Interpolation,
 * SIAM J. Numer. Anal. 20:4, 1983): its slope is continuous, falls, and has the
 * mean that was measured between any two windows.
 */
#include <math.h>

#include "curve.h"

/*
 * The working set of a longer window is no smaller, but its estimate may be. To take
 * the greatest so far would add up noise; neighbours that fall are replaced by
 * their mean, until none does (pool adjacent violators: Barlow et al., Statistical
 * Inference under Order Restrictions, 1972).
 */
static void pool_means(struct curve *c)
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

static double mean_slope(const struct curve *c, size_t i)
{
	return (c->size[i + 1] - c->size[i]) / (c->tau[i + 1] - c->tau[i]);
}

/*
 * Slopes that rise are those of noise, too.
 */
static void make_concave(struct curve *c)
{
	size_t end[WSMON_WINDOWS_MAX], nr = 0, i, b;

	for (i = 0; i < c->nr; i++) {
		end[nr++] = i + 1;
		while (nr > 1) {
			size_t mid = end[nr - 2];
			size_t from = nr > 2 ? end[nr - 3] : 0;
			double before = (c->size[mid] - c->size[from]) /
					(c->tau[mid] - c->tau[from]);
			double behind = (c->size[i + 1] - c->size[mid]) /
					(c->tau[i + 1] - c->tau[mid]);

			if (before >= behind)
				break;
			end[--nr - 1] = i + 1;
		}
	}
	for (b = 0, i = 0; b < nr; b++) {
		size_t from = b ? end[b - 1] : 0;
		double slope = (c->size[end[b]] - c->size[from]) /
			       (c->tau[end[b]] - c->tau[from]);

		for (i = from + 1; i < end[b]; i++)
			c->size[i] = c->size[from] +
				     slope * (c->tau[i] - c->tau[from]);
	}
}

/*
 * The mean slope of a segment is about that in its middle. Between two of them the
 * logarithm is linear, as rates that fall by parts of themselves are.
 */
static double node_slope(const struct curve *c, size_t i)
{
	double before = mean_slope(c, i - 1), behind = mean_slope(c, i);
	double share = (c->tau[i] - c->tau[i - 1]) / (c->tau[i + 1] - c->tau[i - 1]);

	if (behind <= 0)
		return 0;
	return before * pow(behind / before, share);
}

void curve_fit(struct curve *c)
{
	double last;
	size_t i;

	pool_means(c);
	c->tau[0] = c->size[0] = 0;
	for (i = 0; i < c->nr; i++) {
		c->tau[i + 1] = c->point[i].tau;
		c->size[i + 1] = c->point[i].size;
	}
	make_concave(c);
	for (i = 1; i < c->nr; i++)
		c->slope[i] = node_slope(c, i);
	/* at the end it goes on falling as it did on the way there */
	last = mean_slope(c, c->nr - 1);
	c->slope[c->nr] = c->slope[c->nr - 1] > 0 ?
			  last * last / c->slope[c->nr - 1] : 0;
	c->slope[0] = 2 * mean_slope(c, 0) - c->slope[1];
}

/* The segment a window is in */
static size_t segment(const struct curve *c, double tau)
{
	size_t i = 0;

	while (i + 1 < c->nr && tau > c->tau[i + 1])
		i++;
	return i;
}

/*
 * Where between two nodes the slope is the mean. It falls to that from the first
 * node's, then on to the second's: both parabolas together rise as they should. A
 * node with the mean's slope makes it stay so to the other one.
 */
static double knot(const struct curve *c, size_t i)
{
	double mean = mean_slope(c, i);
	double before = c->slope[i] - mean, behind = mean - c->slope[i + 1];
	double share = before + behind > 0 ? behind / (before + behind) : 0.5;

	return c->tau[i] + share * (c->tau[i + 1] - c->tau[i]);
}

double curve_rate(const struct curve *c, double tau)
{
	size_t i = segment(c, tau);
	double at = knot(c, i), mean = mean_slope(c, i);

	if (tau > c->tau[c->nr])
		return c->slope[c->nr];
	if (tau < at)
		return c->slope[i] + (mean - c->slope[i]) *
		       (tau - c->tau[i]) / (at - c->tau[i]);
	if (at >= c->tau[i + 1])
		return mean;
	return mean + (c->slope[i + 1] - mean) * (tau - at) /
	       (c->tau[i + 1] - at);
}

double curve_size(const struct curve *c, double tau)
{
	size_t i = segment(c, tau);
	double rate = curve_rate(c, tau);

	if (tau >= c->tau[c->nr])
		return c->size[c->nr];
	if (tau < knot(c, i))
		return c->size[i] + (c->slope[i] + rate) / 2 * (tau - c->tau[i]);
	return c->size[i + 1] -
	       (c->slope[i + 1] + rate) / 2 * (c->tau[i + 1] - tau);
}

double curve_window(const struct curve *c, double size)
{
	double low = 0, high = c->tau[c->nr];
	unsigned int i;

	if (size > c->size[c->nr])
		return INFINITY;
	/* a double has no more bits than that */
	for (i = 0; i < 64; i++) {
		double mid = (low + high) / 2;

		if (curve_size(c, mid) <= size)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* The point before a segment; the curve begins with one that is certain */
static struct curve_point before(const struct curve *c, size_t i)
{
	return i ? c->point[i - 1] : (struct curve_point){ };
}

/* As far from the curve as at the points around, in proportion */
void curve_ends(const struct curve *c, double tau, double *low, double *high)
{
	size_t i = segment(c, tau);
	const struct curve_point from = before(c, i), to = c->point[i];
	double share = fmin(1, (tau - from.tau) / (to.tau - from.tau));
	double size = curve_size(c, tau);

	*low = fmax(0, size - (1 - share) * (from.mean - from.low) -
		       share * (to.mean - to.low));
	*high = size + (1 - share) * (from.high - from.mean) +
		share * (to.high - to.mean);
}

/* Half the interval of a rate: as uncertain as the rise that was measured there */
static double slack(const struct curve *c, double tau, double rate)
{
	size_t i = segment(c, tau);
	double mean = mean_slope(c, i);
	double half = c->point[i].slack / (c->tau[i + 1] - c->tau[i]);

	return mean > 0 && rate > mean ? half * rate / mean : half;
}

static double fastest(const struct curve *c, double size)
{
	double tau = curve_window(c, fmax(0, size));
	double rate = curve_rate(c, tau);

	return rate + slack(c, tau, rate);
}

static double slowest(const struct curve *c, double size)
{
	double tau = curve_window(c, size), rate;

	if (isinf(tau))
		return 0;
	rate = curve_rate(c, tau);
	return fmax(0, rate - slack(c, tau, rate));
}

struct curve_miss curve_limit(const struct curve *c, double size)
{
	const struct curve_point *p = c->point, *last = &p[c->nr - 1];
	struct curve_miss m = { .tau = curve_window(c, size) };
	double low, high;

	m.rate = curve_rate(c, m.tau);
	if (isinf(m.tau)) {
		double mean = mean_slope(c, c->nr - 1);

		/* the rate falls: at the end it is at most its mean before */
		m.bound = CURVE_BELOW;
		m.high = size < last->high ?
			 fastest(c, size - (last->high - last->mean)) :
			 mean + slack(c, last->tau, mean);
		return m;
	}
	curve_ends(c, m.tau, &low, &high);
	m.low = slowest(c, size + (size - low));
	m.high = fastest(c, size - (high - size));
	if (m.tau < p[0].tau) {
		m.bound = CURVE_ABOVE;
		m.low = slowest(c, c->size[1] + p->mean - p->low);
		m.high = INFINITY;
	}
	return m;
}

/* Steps are a part in a thousand of what there is to choose from */
#define STEPS	1024

double curve_smallest(const struct curve *c, double most)
{
	double least = c->size[1], greatest = c->point[c->nr - 1].high;
	unsigned int i;

	for (i = 0; i <= STEPS; i++) {
		double size = greatest - (greatest - least) * i / STEPS;

		if (curve_limit(c, size).high > most)
			break;
	}
	if (!i)
		return INFINITY;
	return greatest - (greatest - least) * (i - 1) / STEPS;
}
