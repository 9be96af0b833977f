// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_fit.c - fitting the regions to areas that changed
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 */
#include "wsmon_pure.h"

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
