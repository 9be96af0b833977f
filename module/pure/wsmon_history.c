// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_history.c - what the earlier draws of a region showed: mean and variance of each half
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * Two draws, one in each half, say little of the variance of one region, and too much where the
 * halves differ. Earlier draws of the same half do better: positions are drawn anew, so the squares
 * of their deviations from the mean have the variance as their expectation. Moving averages, so
 * what is long ago fades.
 */
#include "wsmon_pure.h"

/* Averages have the weights of so many draws */
#define TIMES_MAX	8U
/* A region that was split or merged learns anew, quickly */
#define TIMES_CHANGED	3U

/* No variance is larger than a quarter of the square of the range: weights are up to 2^8 */
#define VAR_MAX		(((u64)WSMON_WEIGHT_MAX * WSMON_WEIGHT_MAX << 2 * WSMON_SHIFT) / 4)

/*
 * The @n-th value of a half is @x. The mean deviates, too: that of n - 1 values by 1 / (n - 1) of
 * their variance, with weights that fade as (1 - 1/n)^i by 1 / (2n - 1).
 */
static void history_note(struct wsmon_history *p, u32 h, u32 x, u32 n)
{
	u64 mean = p->mean[h], var = p->var[h], d = x > mean ? x - mean : mean - x;

	/* at most 2^46 */
	d *= d;
	if (n == TIMES_MAX) {
		var = (var * (TIMES_MAX - 1) + d - d / (2 * TIMES_MAX)) / TIMES_MAX;
		mean = (mean * (TIMES_MAX - 1) + x) / TIMES_MAX;
	} else {
		/* the first value has no deviation */
		var = n == 1 ? 0 : div64_u64(var * (n - 2) + d - div64_u64(d, n), n - 1);
		mean = div64_u64(mean * (n - 1) + x, n);
	}
	p->var[h] = min(var, VAR_MAX);
	p->mean[h] = mean;
}

/**
 * wsmon_history_kept - tell whether histories are kept
 * @iv:	the interval
 *
 * Only of one window, of which each interval is a draw: what is looked at for longer would be put
 * where it was found by chance, and be of long ago.
 */
bool wsmon_history_kept(const struct wsmon_interval *iv)
{
	return iv->nr_windows == 1 && wsmon_interval_phases(iv) == 1;
}

/**
 * wsmon_regions_note - add the draws of an interval to what is known of earlier ones
 * @rs:	the regions, after their estimate: it compares the draws with those before
 * @iv:	the interval that ends
 */
void wsmon_regions_note(struct wsmon_regions *rs, const struct wsmon_interval *iv)
{
	u32 i, h;

	if (!wsmon_history_kept(iv))
		return;
	for (i = 0; i < rs->nr; i++) {
		struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		/* samples that were armed late have not served the window */
		if (!r->dropped || r->stale || !r->n[1] || !wsmon_region_answers(r, iv, 0))
			continue;
		/* that it is as before is a guess */
		if ((r->lost[0] | r->lost[1]) & BIT(0))
			continue;
		r->times = min(r->times + 1U, TIMES_MAX);
		for (h = 0; h < 2; h++)
			history_note(&r->past, h, r->out[0][h], r->times);
	}
}

/**
 * wsmon_history_split - let a region have the past of one of its halves in both
 * @r:		the region
 * @half:	the half
 */
void wsmon_history_split(struct wsmon_region *r, u32 half)
{
	r->past.mean[!half] = r->past.mean[half];
	r->past.var[!half] = r->past.var[half];
	r->times = min_t(u32, r->times, TIMES_CHANGED);
}

/* The mean of the halves' values, by their sizes; less than 2^48 each */
static u64 mean_of_halves(const struct wsmon_region *r, u64 lower, u64 upper)
{
	u64 part = div64_u64(r->n[0] << WSMON_SHIFT, wsmon_region_pages(r));

	return (part * lower + (WSMON_ONE - part) * upper) >> WSMON_SHIFT;
}

/**
 * wsmon_history_merge - let a half have the past of a whole region
 * @out:	the merged region; it has not more @times than the other half's
 * @half:	its half
 * @r:		the region: that within its halves, and what their means differ
 */
void wsmon_history_merge(struct wsmon_region *out, u32 half, const struct wsmon_region *r)
{
	const struct wsmon_history *p = &r->past;
	u64 d = max(p->mean[0], p->mean[1]) - min(p->mean[0], p->mean[1]), var;

	out->past.mean[half] = mean_of_halves(r, p->mean[0], p->mean[1]);
	var = mean_of_halves(r, p->var[0], p->var[1]) + (r->n[1] ? d * d / 4 : 0);
	out->past.var[half] = min(var, VAR_MAX);
	out->times = min_t(u32, min(out->times, r->times), TIMES_CHANGED);
}
