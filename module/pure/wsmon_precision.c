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
 * share that was too small is remembered, so that it is not tried again and again.
 *
 * Half-widths vary by chance. What one estimate says leads to a change only if it is far
 * from what is wanted; else the mean of several does. So the half-width is what is wanted
 * on average, and rarely more than an eighth wider.
 */
#include "wsmon_pure.h"

/* No half-width below this is wanted, in pages: 256 KiB */
#define FLOOR		64U

/*
 * The share is not reduced further: what is cold must still be looked at in so many places
 * that new accesses are noticed
 */
#define SHARE_LEAST	(WSMON_ONE / 8)

/* Sizes are limited to 2^50 pages, so that products stay below 2^63 */
#define PAGES_MAX	((u64)1 << 50)

/* A change shows after the shortest window and this many intervals */
#define SHOWS_AFTER	2U

/* What was too few may be tried again after a quarter of so many intervals */
#define FORGET		1024U

/* Half-widths are compared in units of the wanted one / RATIO_ONE */
#define RATIO_ONE	256U
#define RATIO_MAX	(64 * RATIO_ONE)

/* Small changes follow from the mean of so many estimates */
#define MEAN_OF		8U
/* They change the share by a sixteenth of it, or an eighth to try again what was too few */
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

static void precision_set(struct wsmon_precision *q, const struct wsmon_attrs *a, u32 share,
			  u64 half)
{
	q->raised = share > q->share;
	q->share = share;
	q->half = half;
	q->nr = 0;
	q->sum = 0;
	q->wait = min_t(u64, div64_u64(a->windows_us[0], a->aggr_us), 1000) + SHOWS_AFTER;
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
	u32 change = CHANGE_LEAST;
	u64 wanted, ratio, need;

	if (!a->precision) {
		q->share = WSMON_ONE;
		return;
	}
	wanted = max_t(u64, div64_u64(min(pages, PAGES_MAX) * a->precision, 1000), FLOOR);
	/* aim a little below it */
	ratio = min_t(u64, div64_u64(min(half, PAGES_MAX) * RATIO_ONE, wanted - wanted / 32),
		      RATIO_MAX);
	need = div64_u64(min_t(u64, used, 2 * WSMON_ONE) * ratio * ratio, RATIO_ONE * RATIO_ONE);
	q->wait -= !!q->wait;
	q->least = max_t(u32, q->least - q->least / FORGET, SHARE_LEAST);

	if (half > wanted + wanted / 8) {
		/* a change upwards has to show, unless the target changes meanwhile */
		if (q->share == WSMON_ONE ||
		    (q->wait && q->raised && half <= q->half + q->half / 4))
			return;
		q->least = max(q->least, q->share + q->share / 4);
		need = clamp_t(u64, need, q->share + q->share / 4, WSMON_ONE);
		precision_set(q, a, need, half);
		return;
	}
	if (q->wait)
		return;
	q->sum += need;
	q->nr++;
	if (need >= q->share - q->share / 4) {
		if (q->nr < MEAN_OF)
			return;
		need = div64_u64(q->sum, q->nr);
		q->nr = 0;
		q->sum = 0;
	}
	if (need < q->least)
		change = CHANGE_AGAIN;
	need = clamp_t(u64, need, max(q->share / 2, q->least), WSMON_ONE);
	if (need >= q->share + q->share / change || need <= q->share - q->share / change)
		precision_set(q, a, need, half);
}
