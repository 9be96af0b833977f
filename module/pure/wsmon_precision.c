// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_precision.c - regions as few as the wanted precision allows
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structure.
 *
 * Where pages are accessed without order, half the half-width takes four times the regions.
 * So from the half-width of an estimate, and the regions it was made with, follows how many
 * are needed. Where order is found, fewer are enough; then each step down leads to another
 * one, until the interval would be too wide. A change takes a while to show: regions are
 * split and merged at the end of an interval, and their samples serve a window first. A
 * share that was too small twice is remembered, so that it is not tried again and again.
 *
 * Half-widths vary by chance, and often one region found something new, and splitting it is enough.
 * So one that is much too wide leads to a quarter more regions, and only the next one, if it is,
 * too, to a quarter more than it says. Small changes follow from the mean of several. So where
 * accesses have no order, the half-width is a little below what is wanted on average.
 */
#include "wsmon_pure.h"

/* No half-width below this is wanted, in pages: 256 KiB */
#define FLOOR		64U

/*
 * The share is not reduced further: what is cold must still be looked at in so many places
 * that new accesses are noticed
 */
#define SHARE_LEAST	(WSMON_ONE / 8)

/* What a burst leaves in the past of regions fades by about 1/16 an estimate, at least 1/FADES */
#define FADES		32U
/* Estimates of a burst that are passed over, at most: after these, more regions help sooner */
#define FADES_MAX	6U

/* Sizes are limited to 2^50 pages, so that products stay below 2^63 */
#define PAGES_MAX	((u64)1 << 50)

/* A change shows when regions have followed, and so many intervals */
#define SHOWS_AFTER	2U
#define WAIT_MAX	1000U

/* Before so many intervals regions have had few draws, and doubts that do not last */
#define YOUTH		32U

/* What was too few may be tried again, an eighth below, after a seventh of so many intervals */
#define FORGET		1024U

/* Half-widths are compared in units of the wanted one / RATIO_ONE */
#define RATIO_ONE	256U
#define RATIO_MAX	(64 * RATIO_ONE)

/* Small changes follow from the mean of so many estimates */
#define MEAN_OF		8U
/* They change the share by a sixteenth of it at least, or an eighth to try what was too few */
#define CHANGE_LEAST	16U
#define CHANGE_AGAIN	8U

/**
 * wsmon_precision_begin - begin with all regions
 * @q:	the precision
 */
void wsmon_precision_begin(struct wsmon_precision *q)
{
	memset(q, 0, sizeof(*q));
	q->share = WSMON_ONE;
	q->least = SHARE_LEAST;
}

/*
 * Regions are split and merged when their samples have served the longest window. If that
 * is longer than an interval, they take turns, and merging waits for a second turn.
 */
static u32 precision_wait(const struct wsmon_attrs *a)
{
	u64 longest = div64_u64(a->windows_us[a->nr_windows - 1] + a->aggr_us - 1, a->aggr_us);

	return min_t(u64, longest > 1 ? 2 * longest : 1, WAIT_MAX) + SHOWS_AFTER;
}

static void precision_set(struct wsmon_precision *q, const struct wsmon_attrs *a, u32 share,
			  u32 ratio)
{
	q->raised = share >= q->share + q->share / 4;
	q->share = share;
	q->ratio = ratio;
	q->wait = precision_wait(a);
	q->nr = 0;
	q->sum = 0;
}

/* Must there be more regions at once? The interval is much too wide. */
static bool precision_must_rise(const struct wsmon_precision *q, u32 ratio)
{
	if (q->share == WSMON_ONE)
		return false;
	/* a large change upwards has to show, unless the target changes meanwhile */
	return !q->wait || !q->raised || ratio > q->ratio + q->ratio / 4;
}

/**
 * wsmon_precision_next - set the share of regions for the next interval
 * @q:		the precision; sets @share
 * @a:		the attributes
 * @used:	share of max_regions that the estimate was made with
 * @pages:	the estimate of the shortest window
 * @half:	the half-width of its interval, in pages
 */
void wsmon_precision_next(struct wsmon_precision *q, const struct wsmon_attrs *a, u32 used,
			  u64 pages, u64 half)
{
	u32 ratio, change, need;
	bool wide, again, known;
	u64 wanted;

	if (!a->precision) {
		q->share = WSMON_ONE;
		return;
	}
	wanted = max_t(u64, div64_u64(min(pages, PAGES_MAX) * a->precision, 1000), FLOOR);
	ratio = min_t(u64, div64_u64(min(half, PAGES_MAX) * RATIO_ONE, wanted), RATIO_MAX);
	/* there may be fewer, for want of CPU time, or more, as some cannot be merged */
	used = min(used, q->share);
	/* aim a little below what is wanted: 16 / 15 is (1 + 1 / 31)^2 */
	need = min_t(u64, div64_u64((u64)used * ratio * ratio / 15 * 16, RATIO_ONE * RATIO_ONE),
		     2 * WSMON_ONE);
	q->wait -= !!q->wait;
	q->least = max_t(u32, q->least - q->least / FORGET, SHARE_LEAST);

	wide = ratio > RATIO_ONE + RATIO_ONE / 8;
	/* remembered for longer than it bounds the share */
	q->few -= q->few / (4 * FORGET);
	q->age = min(q->age + 1, YOUTH);
	/* of the size that was there, this is left of a burst, in what earlier draws say */
	if (wide && ratio < q->wide - q->wide / FADES && q->faded < FADES_MAX &&
	    max(pages, q->level) - min(pages, q->level) <= half) {
		q->wide = ratio;
		q->faded++;
		return;
	}
	if (!wide) {
		q->level = pages;
		q->faded = 0;
	}
	/* once may be chance, memory that could not be looked at, or regions that just moved */
	again = wide && q->wide;
	known = wide && used < q->few;
	q->wide = wide ? ratio : 0;
	if (known)
		q->least = max(q->least, min(q->few, used + used / 4));
	if (again && q->share < WSMON_ONE && q->age == YOUTH)
		q->few = max(q->few, min_t(u32, used + used / 4, WSMON_ONE));
	/* where the share was too small before, it may be enough now: the next estimate decides */
	if ((again || (wide && !known)) && precision_must_rise(q, ratio)) {
		/* regions do not follow the change yet, so this may be too few */
		need = max(again ? need + need / 4 : 0, q->share + q->share / 4);
		precision_set(q, a, min_t(u32, need, WSMON_ONE), ratio);
		/* the next estimate may say that it takes more */
		q->raised &= again;
		return;
	}
	if (wide || q->wait)
		return;
	q->sum += need;
	q->nr++;
	if (need > q->share / 2) {
		if (q->nr < MEAN_OF)
			return;
		need = div64_u64(q->sum, q->nr);
	}
	q->nr = 0;
	q->sum = 0;
	change = q->share / (need < q->least ? CHANGE_AGAIN : CHANGE_LEAST);
	need = min_t(u32, max(need, max(q->share / 2, q->least)), WSMON_ONE);
	if (need >= q->share + change || need <= q->share - change)
		precision_set(q, a, need, ratio);
}
