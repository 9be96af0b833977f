// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_peaks.c - the detector of peaks of the working set size
 *
 * Pure: no mm, no allocation, no locks.
 *
 * An exponential moving mean and variance describe the usual size. A peak is a period in which the
 * working set size is further from the mean than a threshold. For the first estimates, the detector
 * "sigma" uses their median, and the median distance from it. The recursions come from valgrind-ws
 * (M. Becker, 2018, ws_main.c). Documentation/internals/design.rst has the formulas, and explains
 * why "sigma" differs from "fano".
 *
 * Numbers are fixed point with a common exponent: a value is pages << FRAC >> shift. It is below
 * 2^31 for any size, so that its square fits into 64 bits. The exponent grows with the largest
 * value since the start.
 */
#include "wsmon_control.h"

#define FRAC		16
#define VALUE_BITS	31
/* "sigma" ignores smaller changes: 64 KiB */
#define FEW_PAGES	16
/* Limit of thresholds: no distance exceeds it */
#define FAR		BIT_ULL(46)

/* Weights are between 0 and ONE */
#define ONE_SHIFT	30
#define ONE		BIT_ULL(ONE_SHIFT)
/* Arguments of the exponential, which is 0 from ARG_FAR on */
#define ARG_SHIFT	20
#define ARG_BITS	25U
#define ARG_FAR		BIT_ULL(ARG_BITS)
#define LOG2_E		1512775ULL	/* log2(e) << ARG_SHIFT */
#define LN_2		744261118ULL	/* ln(2) << ONE_SHIFT */

/* exp(-x), x in units of 1 / (1 << ARG_SHIFT) */
static u64 exp_minus(u64 x)
{
	u64 log2, u, sum = ONE;
	unsigned int k;

	if (x >= ARG_FAR)
		return 0;
	/* exp(-x) is 2^-n exp(-u) with u < ln 2, which needs only a short series */
	log2 = x * LOG2_E;
	u = (log2 >> (2 * ARG_SHIFT - ONE_SHIFT) & (ONE - 1)) * LN_2 >> ONE_SHIFT;
	for (k = 7; k; k--)
		sum = ONE - (u * sum >> ONE_SHIFT) / k;
	return sum >> (log2 >> 2 * ARG_SHIFT);
}

static u64 peak_weighted(u64 x, u64 weight)
{
	return mul_u64_u64_shr(x, weight, ONE_SHIFT);
}

/* x << by, or x >> -by if by is negative; at most FAR */
static u64 peak_shifted(u64 x, int by)
{
	if (by <= 0)
		return min_t(u64, FAR, x >> -by);
	return fls64(x) + by > 46 ? FAR : x << by;
}

static u64 peak_value(const struct wsmon_detector *d, u64 pages)
{
	return pages << FRAC >> d->shift;
}

/* Half of F = (sigma / (mean / 10))^2; the unit of @sigma and the mean cancels out */
static u64 peak_half_f_sigma(const struct wsmon_detector *d, u64 sigma)
{
	u64 ratio = min_t(u64, 8 << ARG_SHIFT,
			  (sigma * 10 << ARG_SHIFT) / d->mean);

	return ratio * ratio / 2 >> ARG_SHIFT;
}

/* Half of F = variance / mean, in pages */
static u64 peak_half_f_fano(const struct wsmon_detector *d)
{
	u32 by = ARG_SHIFT - 1 + d->shift - FRAC, first = min(by, ARG_BITS);
	u64 half;

	/* @by is 3 to 33; if var / mean is below 2^(ARG_BITS - first), shift it by @first */
	if (fls64(d->var / d->mean) + first > ARG_BITS)
		return ARG_FAR;
	half = (d->var << first) / d->mean;
	return fls64(half) + by - first > ARG_BITS ? ARG_FAR : half << (by - first);
}

/**
 * wsmon_peak_threshold - compute from which distance from the mean on an estimate is unusual
 * @d:	the detector, with at least one estimate
 * @a:	the attributes
 *
 * E = c g s + (1 - c) g/10 mean, where c = 1 - exp(-F/2), g is the gain, and s is the standard
 * deviation, or, with "fano", the variance in pages.
 *
 * Return: E, for wsmon_peak_size().
 */
u64 wsmon_peak_threshold(const struct wsmon_detector *d,
			 const struct wsmon_attrs *a)
{
	bool fano = a->peak_detector == WSMON_PEAK_FANO;
	u64 spread, rest, e;

	spread = fano ? peak_shifted(d->var, (int)d->shift - FRAC) :
			wsmon_sqrt_up(d->var);
	if (!d->mean)
		rest = 0;
	else if (fano)
		rest = exp_minus(peak_half_f_fano(d));
	else
		rest = exp_minus(peak_half_f_sigma(d, spread));
	e = peak_weighted(spread, ONE - rest) + peak_weighted(d->mean, rest) / 10;
	/* no overflow: at most 2^47 times 10^5 */
	return e * a->peak_gain / 1000;
}

/* Number of first estimates that are judged by the median: 0 with "fano" */
static u32 peak_nr_start(const struct wsmon_attrs *a)
{
	if (a->peak_detector == WSMON_PEAK_FANO)
		return 0;
	return min(a->peak_window, WSMON_PEAK_LEARN);
}

/* Number of first estimates that are not judged, as too little is known */
static u32 peak_nr_unjudged(const struct wsmon_attrs *a)
{
	return peak_nr_start(a) ? min(peak_nr_start(a), WSMON_PEAK_FIRST) : a->peak_window;
}

/* Sort the values. Return: the median. */
static u64 peak_median(u32 *v, u32 n)
{
	u32 i, j, x;

	for (i = 1; i < n; i++) {
		x = v[i];
		for (j = i; j && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
	return ((u64)v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* Set mean and variance to the mean and variance of the first @n estimates. */
static void peak_first_mean(struct wsmon_detector *d, u32 n)
{
	u64 diff;
	u32 i;

	for (d->mean = 0, i = 0; i < n; i++)
		d->mean += d->first[i];
	d->mean /= n;
	for (d->var = 0, i = 0; i < n; i++) {
		diff = wsmon_distance(d->first[i], d->mean);
		d->var += diff * diff / n;
	}
}

/*
 * Set mean and variance by the first @n estimates: the mean to their median, and the standard
 * deviation to 1.4826 times the median distance from it, which is right for normal noise. Bursts
 * change neither much. But if more than three estimates, and more than three in ten, would be
 * unusual, their size is usual, too: then use mean and variance of all.
 */
static void peak_first_median(struct wsmon_detector *d, const struct wsmon_attrs *a, u32 n)
{
	u32 v[WSMON_PEAK_LEARN], rare = max(3U, n * 3 / 10), i;
	u64 sigma;

	memcpy(v, d->first, n * sizeof(*v));
	d->mean = peak_median(v, n);
	for (i = 0; i < n; i++)
		v[i] = wsmon_distance(v[i], d->mean);
	sigma = min_t(u64, peak_median(v, n) * 14826 / 10000, BIT_ULL(VALUE_BITS) - 1);
	d->var = sigma * sigma;
	if (n > rare && v[n - 1 - rare] > wsmon_peak_threshold(d, a))
		peak_first_mean(d, n);
}

/* Raise the exponent if a larger value needs it. */
static void peak_fit_value(struct wsmon_detector *d, u64 pages)
{
	unsigned int by, i;

	if (!(peak_value(d, pages) >> VALUE_BITS))
		return;
	by = fls64(peak_value(d, pages)) - VALUE_BITS;
	d->shift += by;
	d->mean >>= by;
	d->filtered >>= by;
	d->baseline >>= by;
	d->threshold >>= by;
	/* shift twice, because twice @by may be more than 63 */
	d->var = d->var >> by >> by;
	d->var_before = d->var_before >> by >> by;
	for (i = 0; i < WSMON_PEAK_LEARN; i++)
		d->first[i] >>= by;
}

/* Add an estimate to mean and variance. The variance is first, because it uses the old mean. */
static void peak_add(struct wsmon_detector *d, u64 value, u32 window)
{
	u64 diff = wsmon_distance(value, d->mean), n = window + 1, step;

	/* diff < 2^31, the variance below 2^62, n at least 3 */
	d->var += diff * diff * 2 / n;
	d->var -= d->var / n * 2;
	/* round up, or small differences would never move the mean */
	step = (diff * 2 + n - 1) / n;
	if (value > d->mean)
		d->mean += step;
	else
		d->mean -= step;
}

/* Is an estimate further than @far from @from, on the side of the peak? */
static bool peak_is_beyond(const struct wsmon_detector *d, u64 pages, u64 from, u64 far)
{
	u64 value = peak_value(d, pages);

	return d->sign > 0 ? value > from + far : value + far < from;
}

/*
 * Tell whether the size is back where it was before the peak. If so, restore mean and variance, and
 * add the estimates in the peak as if they were three tenths of the threshold away: so with a gain
 * of 5, peaks remain peaks unless they take three tenths of the time.
 */
static bool peak_is_back(struct wsmon_detector *d, const struct wsmon_attrs *a,
			 u64 pages)
{
	u64 far = d->threshold / 10 * 3;
	u32 i;

	if (peak_is_beyond(d, pages, d->baseline, d->threshold))
		return false;
	d->mean = d->baseline;
	d->var = d->var_before;
	if (d->sign < 0)
		far = -min(far, d->baseline);
	for (i = 0; i < min(d->lasted, WSMON_PEAK_LEARN); i++)
		peak_add(d, d->baseline + far, a->peak_window);
	return true;
}

/*
 * Has the new level become usual? A single estimate that passes the moving mean on the way back
 * does not count. The threshold stems from the old level, which may have been near 0; so the mean
 * gives a second threshold, and the larger threshold counts.
 */
static bool peak_is_settled(const struct wsmon_detector *d,
			    const struct wsmon_attrs *a, u64 pages)
{
	u64 far = max(d->threshold, d->mean * a->peak_gain / 50000);

	return wsmon_distance(peak_value(d, pages), d->mean) <= far &&
	       wsmon_distance(d->filtered, d->mean) <= far;
}

/*
 * Raise the usual size for pages that were made huge. If used pages lie scattered, making them huge
 * enlarges the working set. This is not a peak, so the mean and the first estimates grow by as much
 * at once. What does not show in an estimate is halved with the next one; @fresh pages are of this
 * estimate.
 */
static void peak_raise(struct wsmon_detector *d, u64 value, u64 fresh)
{
	u64 by = 0;
	u32 i;

	if (!d->sign && value > d->mean)
		by = min(value - d->mean, peak_value(d, d->grew));
	d->mean += by;
	for (i = 0; i < WSMON_PEAK_LEARN; i++)
		d->first[i] = min(d->first[i] + by, BIT_ULL(VALUE_BITS) - 1);
	d->grew -= min(d->grew, wsmon_peak_size(d, by, 0));
	fresh = min(fresh, d->grew);
	d->grew = (d->grew - fresh) / 2 + fresh;
}

/**
 * wsmon_peak_ends - tell whether an estimate ends the present peak
 * @d:	the detector; its figures of the peak stay valid afterwards
 * @a:	the attributes
 * @w:	the estimate
 *
 * This is the first of three calls for each estimate. wsmon_peak_begins() and wsmon_peak_learn()
 * follow if the target ran: estimates of a sleeping target change nothing.
 */
bool wsmon_peak_ends(struct wsmon_detector *d, const struct wsmon_attrs *a,
		     const struct wsmon_wss *w)
{
	bool over;

	peak_fit_value(d, max(w->pages, w->high));
	d->ended = 0;
	if (!d->sign)
		return false;
	if (a->peak_detector == WSMON_PEAK_FANO)
		over = !peak_is_beyond(d, w->pages, d->mean, wsmon_peak_threshold(d, a));
	else
		over = peak_is_back(d, a, w->pages) || peak_is_settled(d, a, w->pages);
	if (!over) {
		if (d->sign > 0 ? w->pages > d->height : w->pages < d->height)
			d->height = w->pages;
		return false;
	}
	d->ended = d->sign;
	d->sign = 0;
	return true;
}

/**
 * wsmon_peak_skip - note what an estimate that is not judged says about pages made huge
 * @d:	the detector
 * @w:	the estimate
 */
void wsmon_peak_skip(struct wsmon_detector *d, const struct wsmon_wss *w)
{
	d->grew = min(d->grew + w->grew, BIT_ULL(45));
}

/**
 * wsmon_peak_begins - tell whether a peak begins with an estimate
 * @d:	the detector
 * @a:	the attributes
 * @w:	the estimate
 *
 * All of the confidence interval must be beyond the threshold, so that a sampling error does not
 * count as a peak. Growth by pages that were made huge does not count either.
 */
bool wsmon_peak_begins(struct wsmon_detector *d, const struct wsmon_attrs *a,
		       const struct wsmon_wss *w)
{
	u64 far;
	s8 sign;

	d->lasted++;
	wsmon_peak_skip(d, w);
	if (d->sign || d->nr < peak_nr_unjudged(a))
		return false;
	far = wsmon_peak_threshold(d, a);
	/* the fewer estimates, the less is known about the variance: raise the threshold */
	if (d->nr < peak_nr_start(a))
		far += far * WSMON_PEAK_FIRST / d->nr;
	/* a small function that is called now and then is not a peak */
	if (a->peak_detector != WSMON_PEAK_FANO)
		far = max(far, peak_value(d, FEW_PAGES));
	if (peak_value(d, w->low) > d->mean + far + peak_value(d, d->grew))
		sign = 1;
	else if (peak_value(d, w->high) + far < d->mean)
		sign = -1;
	else
		return false;
	/* the estimate that ended a peak must not begin it again */
	if (sign == d->ended)
		return false;
	d->sign = sign;
	d->height = w->pages;
	d->baseline = d->mean;
	d->var_before = d->var;
	d->threshold = far;
	d->lasted = 1;
	return true;
}

/** wsmon_peak_learn - add an estimate to mean and variance */
void wsmon_peak_learn(struct wsmon_detector *d, const struct wsmon_attrs *a,
		      const struct wsmon_wss *w)
{
	u64 value = peak_value(d, w->pages), step;

	if (!d->nr) {
		d->mean = value;
		d->filtered = value;
	}
	peak_raise(d, value, w->grew);
	if (d->nr < peak_nr_start(a))
		d->first[d->nr] = value;
	if (d->nr < U32_MAX)
		d->nr++;
	step = wsmon_distance(value, d->filtered) * a->peak_adapt / 1000;
	if (!d->sign)
		d->filtered = value;
	else if (value > d->filtered)
		d->filtered += step;
	else
		d->filtered -= step;
	if (d->nr <= peak_nr_start(a))
		peak_first_median(d, a, d->nr);
	else
		peak_add(d, d->filtered, a->peak_window);
}

/**
 * wsmon_peak_size - convert a number of the detector to a size
 * @d:		the detector
 * @value:	its mean, baseline or threshold
 * @bits:	the unit of the size is a page >> @bits; at most FRAC
 *
 * Return: the size; U64_MAX if it does not fit.
 */
u64 wsmon_peak_size(const struct wsmon_detector *d, u64 value, u32 bits)
{
	u32 down = FRAC - bits;

	if (d->shift <= down)
		return value >> (down - d->shift);
	if (fls64(value) + d->shift - down > 64)
		return U64_MAX;
	return value << (d->shift - down);
}
