// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_regions.c - regions are buddy cells
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * A cell is a power of two of pages, aligned to its size. A region is a cell
 * clipped to the mapped pages of its area, described by its first and last
 * mapped page; the cell is the smallest that holds both, so it need not be
 * stored. Cells of different regions are disjoint, and every mapped page of
 * an area is in exactly one region. Splitting cuts at the middle of the cell:
 *
 *	cell      |               :               |
 *	region        [---- n[0] -:------ n[1] -------]   clipped by its area
 *	               x          :         x             a sample in each half
 *
 * Merging undoes it, once both halves are whole regions again.
 */
#include "wsmon_pure.h"

/**
 * wsmon_cell_mid - where a region splits
 * @start:	first page
 * @end:	page behind the last one
 *
 * Return: the middle of the smallest cell that holds both ends, which is in
 * (@start, @end); @end for a single page, whose upper half is empty.
 */
u64 wsmon_cell_mid(u64 start, u64 end)
{
	u64 last = end - 1;
	unsigned int bit;

	if (start == last)
		return end;
	bit = fls64(start ^ last) - 1;
	return last >> bit << bit;
}

/* First page of the smallest cell that holds a region, and the page behind it */
static void wsmon_cell_bounds(u64 start, u64 end, u64 *lo, u64 *hi)
{
	unsigned int order = fls64(start ^ (end - 1));

	*lo = start >> order << order;
	*hi = *lo + (1ULL << order);
}

/*
 * Clip a range to its mapped pages and count them.
 * Return: false if there are none.
 */
static bool wsmon_region_clip(const struct wsmon_space *sp, struct wsmon_region *r,
		       u64 start, u64 end)
{
	const struct wsmon_area *a = &sp->area[r->area];
	u64 lo = wsmon_area_rank(sp, a, start);
	u64 hi = wsmon_area_rank(sp, a, end);

	if (lo == hi)
		return false;
	r->start = wsmon_area_select(sp, a, lo);
	r->end = wsmon_area_select(sp, a, hi - 1) + 1;
	r->n[0] = wsmon_area_rank(sp, a, wsmon_cell_mid(r->start, r->end)) - lo;
	r->n[1] = hi - lo - r->n[0];
	return true;
}

/**
 * wsmon_regions_buddies - are a region and its successor the halves of a cell?
 * @rs:	the regions
 * @i:	index of the lower one
 */
bool wsmon_regions_buddies(const struct wsmon_regions *rs, u32 i)
{
	const struct wsmon_region *l = &rs->r[i], *r = l + 1;
	u64 lo, hi, mid;

	if (i + 1 >= rs->nr || l->area != r->area)
		return false;
	mid = wsmon_cell_mid(l->start, r->end);
	if (l->end > mid || r->start < mid)
		return false;
	/* nothing else of the area may be in the cell */
	wsmon_cell_bounds(l->start, r->end, &lo, &hi);
	if (i && l[-1].area == l->area && l[-1].end > lo)
		return false;
	return i + 2 >= rs->nr || r[1].area != r->area || r[1].start >= hi;
}

/* What a new region knows if all of it has the same share. */
static void region_extend_half(struct wsmon_region *r, u32 half)
{
	u16 share = r->share[half];
	u32 k;

	r->share[0] = share;
	r->share[1] = share;
	for (k = 0; k < WSMON_WINDOWS_MAX; k++)
		r->out[k][!half] = r->out[k][half];
	r->doubtful[!half] = r->doubtful[half];
	r->ref = share;
	r->disagree = 2 * share * (WSMON_ONE - share) / WSMON_ONE;
}

/* Windows of which a region cannot tell its halves' pages apart */
static u8 region_guesses(const struct wsmon_region *r)
{
	u8 guess = r->guess;
	u32 k;

	for (k = 0; k < WSMON_WINDOWS_MAX; k++)
		if (r->out[k][0] != r->out[k][1])
			guess |= BIT(k);
	return guess;
}

static void wsmon_region_reset_samples(struct wsmon_region *r)
{
	memset(r->s, 0, sizeof(r->s));
	r->armed_ns = 0;
	r->hits = 0;
	r->checks = 0;
	memset(r->debt, 0, sizeof(r->debt));
	r->absent = 0;
	r->vague = 0;
}

/**
 * wsmon_region_split - the two halves of a region
 * @sp:		the space
 * @r:		a region of at least two pages, its samples dropped
 * @out:	the halves, without sample positions yet
 */
void wsmon_region_split(const struct wsmon_space *sp,
			const struct wsmon_region *r, struct wsmon_region out[2])
{
	u64 mid = wsmon_cell_mid(r->start, r->end);
	unsigned int h;

	for (h = 0; h < 2; h++) {
		out[h] = *r;
		out[h].guess = region_guesses(r);
		wsmon_region_clip(sp, &out[h], h ? mid : r->start, h ? r->end : mid);
		region_extend_half(&out[h], h);
		/* half of the samples were there */
		out[h].draws = r->draws > 1 ? r->draws / 2 : r->draws;
		wsmon_region_reset_samples(&out[h]);
	}
}

/**
 * wsmon_region_merge - the region made of two buddies
 * @sp:		the space
 * @l:		the lower one, its samples dropped
 * @r:		the upper one, its samples dropped
 * @out:	the result, without sample positions yet
 *
 * Shares are averaged by size without losing the fraction.
 */
void wsmon_region_merge(const struct wsmon_space *sp,
			const struct wsmon_region *l,
			const struct wsmon_region *r, struct wsmon_region *out)
{
	const struct wsmon_region *half[2] = { l, r };
	u64 share[2];
	unsigned int h, k;

	*out = *l;
	wsmon_region_clip(sp, out, l->start, r->end);
	for (h = 0; h < 2; h++) {
		const struct wsmon_region *c = half[h];
		u64 n = wsmon_region_pages(c);

		share[h] = wsmon_region_share(c);
		out->share[h] = share[h];
		out->doubtful[h] = c->doubtful[0] | c->doubtful[1];
		for (k = 0; k < WSMON_WINDOWS_MAX; k++)
			out->out[k][h] = div64_u64(c->n[0] * c->out[k][0] +
						   c->n[1] * c->out[k][1], n);
	}
	out->disagree = share[0] + share[1] -
			2 * share[0] * share[1] / WSMON_ONE;
	out->ref = wsmon_region_share(out);
	out->draws = min(l->draws, r->draws);
	out->since_ns = max(l->since_ns, r->since_ns);
	/* 0 if one of them is older, or what its samples saw is given up */
	out->origin_ns = l->armed_ns || r->armed_ns ? 0 :
			 min(l->origin_ns, r->origin_ns);
	out->known = l->known & r->known;
	out->whole = l->whole & r->whole;
	out->guess = region_guesses(l) | region_guesses(r);
	/* of two that differ, each all alike, the difference says as much */
	for (k = 0; k < WSMON_WINDOWS_MAX; k++)
		if (out->out[k][0] != out->out[k][1] &&
		    l->out[k][0] == l->out[k][1] && r->out[k][0] == r->out[k][1])
			out->guess &= ~BIT(k);
	wsmon_region_reset_samples(out);
}

/*
 * Fitting regions to areas that changed
 */
struct regions_fit {
	struct wsmon_regions *rs;
	const struct wsmon_space *sp;
	u64 now;
	u64 origin;
	u32 area;	/* the area being tiled */
	u32 first;	/* index of its first region */
	u32 nr;		/* regions made so far, in rs->spare */
	u32 limit;	/* most that leave room for the areas to come */
	bool full;	/* the limit was met */
};

/* A half that has become larger by more than this part was never sampled as a whole. */
#define GROWTH	8

/* The pages it had say little of those it has: it begins anew, but for its share. */
static void fit_grown(struct wsmon_region *r, const u64 before[2])
{
	u32 h;

	for (h = 0; h < 2; h++) {
		if (r->n[h] <= before[h] + before[h] / GROWTH)
			continue;
		wsmon_region_reset_samples(r);
		r->origin_ns = 0;
		r->known = 0;
		r->whole = 0;
		r->draws = 0;
	}
}

static void fit_push(struct regions_fit *f, const struct wsmon_region *old,
		     u64 start, u64 end)
{
	struct wsmon_region *r;

	if (f->nr == f->limit) {
		f->full = true;
		return;
	}
	r = &f->rs->spare[f->nr];
	if (old) {
		*r = *old;
	} else {
		memset(r, 0, sizeof(*r));
		r->since_ns = f->now;
		r->origin_ns = f->origin;
	}
	r->area = f->area;
	if (!wsmon_region_clip(f->sp, r, start, end))
		return;
	if (old)
		fit_grown(r, old->n);
	f->nr++;
}

/* The last region of the area so far, if there is one */
static struct wsmon_region *fit_last(struct regions_fit *f)
{
	return f->nr > f->first ? &f->rs->spare[f->nr - 1] : NULL;
}

/*
 * The last region grows to the bound of its cell, as far as @end.
 * Return: the first page behind it, at least @start.
 */
static u64 fit_grow(struct regions_fit *f, u64 start, u64 end)
{
	struct wsmon_region *last = fit_last(f);
	u64 lo, hi, before[2];

	if (!last)
		return start;
	wsmon_cell_bounds(last->start, last->end, &lo, &hi);
	if (hi <= start)
		return start;
	hi = min(hi, end);
	memcpy(before, last->n, sizeof(before));
	wsmon_region_clip(f->sp, last, last->start, hi);
	fit_grown(last, before);
	return hi;
}

/*
 * Tile a range no old region covers: the regions at both sides grow to the
 * bounds of their cells, aligned cells fill the rest.
 * Return: where the region behind the range now begins.
 */
static u64 fit_gap(struct regions_fit *f, u64 start, u64 end, u64 next_end)
{
	const struct wsmon_area *a = &f->sp->area[f->area];
	u64 lo, hi, next = end;

	start = fit_grow(f, start, end);
	if (next_end > end) {
		wsmon_cell_bounds(end, next_end, &lo, &hi);
		next = max(lo, start);
	}

	while (start < next && !f->full) {
		u64 rank = wsmon_area_rank(f->sp, a, start);
		unsigned int order;

		/* from the next mapped page on */
		if (rank == wsmon_area_rank(f->sp, a, next))
			break;
		start = wsmon_area_select(f->sp, a, rank);
		order = fls64(next - start) - 1;
		if (start)
			order = min_t(unsigned int, order, __ffs64(start));
		fit_push(f, NULL, start, start + (1ULL << order));
		start += 1ULL << order;
	}
	return next;
}

/*
 * Keep an old region. Regions of areas that were apart so far may have cells
 * that overlap: then the last one grows, or this one is cut at the middles of
 * its cell until they no longer do.
 */
static void fit_keep(struct regions_fit *f, const struct wsmon_region *old,
		     u64 start, u64 end)
{
	start = fit_grow(f, start, end);
	while (start < end && !f->full) {
		struct wsmon_region *last = fit_last(f);
		u64 cut = end, lo, hi;

		wsmon_cell_bounds(start, cut, &lo, &hi);
		while (last && lo < last->end) {
			cut = wsmon_cell_mid(start, cut);
			wsmon_cell_bounds(start, cut, &lo, &hi);
		}
		fit_push(f, old, start, cut);
		start = cut;
	}
}

/* Does a region still hold its sample pages, each in its own half? */
static bool region_holds_samples(const struct wsmon_region *r)
{
	u64 mid = wsmon_cell_mid(r->start, r->end);

	return r->s[0].vpn >= r->start && r->s[0].vpn < mid &&
	       (!r->n[1] || (r->s[1].vpn >= mid && r->s[1].vpn < r->end));
}

static void fit_area(struct regions_fit *f, u32 *old)
{
	const struct wsmon_area *a = &f->sp->area[f->area];
	u64 start = wsmon_area_start(f->sp, a), end = wsmon_area_end(f->sp, a);
	u64 done = start;
	u32 i;

	f->first = f->nr;
	f->full = false;
	while (*old < f->rs->nr && f->rs->r[*old].end <= start)
		(*old)++;

	for (i = *old; i < f->rs->nr && f->rs->r[i].start < end; i++) {
		const struct wsmon_region *r = &f->rs->r[i];
		u64 lo = max(r->start, start), hi = min(r->end, end);
		u64 rank = wsmon_area_rank(f->sp, a, lo);

		if (rank == wsmon_area_rank(f->sp, a, hi))
			continue;
		/* bounds are mapped pages, or cells would seem larger */
		lo = wsmon_area_select(f->sp, a, rank);
		hi = wsmon_area_select(f->sp, a,
				       wsmon_area_rank(f->sp, a, hi) - 1) + 1;
		lo = fit_gap(f, done, lo, hi);
		fit_keep(f, r, lo, hi);
		done = hi;
	}
	if (f->nr > f->first)
		fit_gap(f, done, end, 0);
	if (f->full || f->nr == f->first) {
		bool full = f->full;

		/* new, or in too many pieces: begin with one region */
		f->nr = f->first;
		f->full = false;
		fit_push(f, NULL, start, end);
		if (full)
			f->rs->spare[f->first].origin_ns = 0;
	}
	for (i = f->first; i < f->nr; i++) {
		struct wsmon_region *r = &f->rs->spare[i];

		if (r->armed_ns && !region_holds_samples(r)) {
			wsmon_region_reset_samples(r);
			r->origin_ns = 0;
		}
	}
}

/**
 * wsmon_regions_fit - make regions tile areas that changed
 * @rs:		the regions; afterwards at most @rs->cap, perhaps above the
 *		budget: wsmon_regions_adapt() sees to that
 * @sp:		the areas, at most @rs->cap
 * @now:	the time
 * @origin:	nothing of what is new was there before; 0: not so
 *
 * What was a region before stays one where it is still mapped, with its
 * history; new pages become new regions; samples that are no longer in their
 * half are forgotten, mostly because their page is gone. (Where the kernel has
 * no young flag, the bit of one that is still there is not given back.)
 * O(regions + areas * log pages).
 */
void wsmon_regions_fit(struct wsmon_regions *rs, const struct wsmon_space *sp,
		       u64 now, u64 origin)
{
	struct regions_fit f = { .rs = rs, .sp = sp, .now = now, .origin = origin };
	u32 old = 0;

	for (f.area = 0; f.area < sp->nr_area; f.area++) {
		f.limit = rs->cap - (sp->nr_area - 1 - f.area);
		fit_area(&f, &old);
	}
	swap(rs->r, rs->spare);
	rs->nr = f.nr;
}

/** wsmon_hash64 - the finalizer of splitmix64 (Steele, Lea, Flood: OOPSLA 2014) */
u64 wsmon_hash64(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/**
 * wsmon_region_draw - new positions for the samples of a region
 * @sp:		the space
 * @r:		the region, its old samples dropped
 * @seed:	the user's seed
 * @epoch:	number of the draw
 *
 * Positions are a hash of (cell, half, epoch, seed), uniform over the mapped
 * pages of each half, and never depend on what was observed: that is what
 * makes the estimate unbiased.
 */
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r,
		       u64 seed, u64 epoch)
{
	const struct wsmon_area *a = &sp->area[r->area];
	u64 rank = wsmon_area_rank(sp, a, r->start);
	u64 mid = wsmon_cell_mid(r->start, r->end);
	u64 key = wsmon_hash64(seed + 0x9e3779b97f4a7c15ULL);
	unsigned int h;

	key = wsmon_hash64(key ^ epoch);
	key = wsmon_hash64(key ^ (mid << 6 | fls64(r->start ^ (r->end - 1))));
	wsmon_region_reset_samples(r);
	for (h = 0; h < 2 && r->n[h]; h++) {
		u64 k = mul_u64_u64_shr(wsmon_hash64(key + h), r->n[h], 64);

		r->s[h].vpn = wsmon_area_select(sp, a, rank + k);
		rank += r->n[0];
	}
}

/* Nothing is told of samples where the share is this close to none or all */
#define SHARE_NEARLY		(WSMON_ONE / 512)
/* and has been for so many draws */
#define DRAWS_SETTLED		4

/* Where a sample is in a part of its region, as WSMON_SAMPLES_* say */
static u16 sample_position(const struct wsmon_sample *s, u64 start, u64 end)
{
	/* a part has less than 2^45 pages */
	return div64_u64((s->vpn - start) * WSMON_SAMPLES_PLACES, end - start);
}

/**
 * wsmon_region_samples - what the samples of a region saw, for its record
 * @r:		the region, observed until now
 * @since:	when the interval began, nanoseconds
 *
 * Return: WSMON_SAMPLES_*
 */
u16 wsmon_region_samples(const struct wsmon_region *r, u64 since)
{
	u64 mid = wsmon_cell_mid(r->start, r->end);
	u32 share = wsmon_region_share(r);
	u16 samples = WSMON_SAMPLES_TOLD;

	if (r->stale || !r->checks)
		return WSMON_SAMPLES_MISSED;
	if (!r->n[1])
		return 0;
	if ((share < SHARE_NEARLY || share > WSMON_ONE - SHARE_NEARLY) &&
	    r->draws >= DRAWS_SETTLED)
		return 0;
	samples |= sample_position(&r->s[0], r->start, mid);
	samples |= sample_position(&r->s[1], mid, r->end) << WSMON_SAMPLES_UPPER_SHIFT;
	if (r->s[0].seen_ns > since)
		samples |= WSMON_SAMPLES_LOWER_HIT;
	if (r->s[1].seen_ns > since)
		samples |= WSMON_SAMPLES_UPPER_HIT;
	return samples;
}
