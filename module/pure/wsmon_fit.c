// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_fit.c - fitting the regions to areas that changed
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 */
#include "wsmon_pure.h"

/**
 * struct regions_fit - state of wsmon_regions_fit()
 * @rs:		the regions
 * @sp:		the areas
 * @now:	the time
 * @origin:	time before which none of the new memory existed; 0: unknown
 * @area:	the area that is being tiled
 * @first:	index of its first region
 * @nr:		regions made so far, in rs->spare
 * @limit:	maximum of @nr, so that one region is left for each area to come
 * @full:	the limit was reached
 */
struct regions_fit {
	struct wsmon_regions *rs;
	const struct wsmon_space *sp;
	u64 now;
	u64 origin;
	u32 area;
	u32 first;
	u32 nr;
	u32 limit;
	bool full;
};

/* A half that grew by more than 1 / GROWTH does not count as sampled */
#define GROWTH	8

/*
 * Let a region that grew this much begin anew, except for its share. If it changed at all, not
 * all of its pages were looked at.
 */
static void fit_grown(struct wsmon_region *r, const u64 before[2])
{
	u32 h;

	for (h = 0; h < 2; h++) {
		if (r->n[h] != before[h])
			memset(r->exact, 0, sizeof(r->exact));
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

/* The last region of the area so far, or NULL */
static struct wsmon_region *fit_last(struct regions_fit *f)
{
	return f->nr > f->first ? &f->rs->spare[f->nr - 1] : NULL;
}

/*
 * Grow the last region to the bound of its cell, at most to @end.
 * Return: its end, at least @start.
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
 * Tile a range that no old region covers: the regions at both sides grow to the bounds
 * of their cells, and aligned cells fill the rest.
 * Return: where the region after the range begins now.
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

		/* begin at the next mapped page */
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
 * Keep an old region. Its cell may overlap that of the last region, if they were in
 * different areas before. Then the last region grows, or this one is cut at the middles
 * of its cell until they no longer overlap.
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
		/* bounds must be mapped pages, or the cell would be too large */
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

		/* the area is new, or has too many regions: begin with one */
		f->nr = f->first;
		f->full = false;
		fit_push(f, NULL, start, end);
		if (full)
			f->rs->spare[f->first].origin_ns = 0;
	}
	for (i = f->first; i < f->nr; i++) {
		struct wsmon_region *r = &f->rs->spare[i];

		if (!r->armed_ns)
			continue;
		if (region_holds_samples(r)) {
			wsmon_clusters_fit(f->sp, r);
		} else {
			wsmon_region_reset_samples(r);
			r->origin_ns = 0;
		}
	}
}

/**
 * wsmon_regions_fit - make regions tile areas that changed
 * @rs:		the regions; afterwards at most @rs->cap, perhaps more than the budget,
 *		which wsmon_regions_adapt() corrects
 * @sp:		the areas, at most @rs->cap
 * @now:	the time
 * @origin:	time before which none of the new memory existed; 0: unknown
 *
 * Regions stay, with their history, as far as they are still mapped; new pages become
 * new regions. A sample that is not in its half any more is forgotten; usually its page
 * is gone. (If the page still exists, and the kernel has no young flag, its bit is not
 * set again.)
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
