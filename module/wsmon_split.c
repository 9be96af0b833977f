// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_split.c - splitting and merging regions, and placing their samples
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures. May sleep.
 *
 * The variance of the estimate is a sum over regions. Splitting a region saves about half
 * of its term, (n0^2 + n1^2) v / 2, where v is the variance of one draw in it; merging two
 * buddies adds as much. Moving regions from where they save little to where they save much
 * is Neyman's allocation (1934), by splits and merges. v is half the rate at which the two
 * samples differ, plus a prior that fades with the number of draws: the prior has large cells with
 * few draws split although their samples agree.
 *
 * The variance does not show where the accessed pages are: an accessed range that is much smaller
 * than its cell adds little to it. So while only few cells are accessed in part, these cells are
 * split until their halves agree, even if that saves nothing.
 *
 * Scores are logarithms in quarters of an octave, so that a histogram replaces sorting
 * and nothing overflows.
 */
#include <linux/sched.h>

#include "wsmon_regions.h"

/*
 * Fitting the regions to areas that changed
 */

/**
 * struct regions_fit - state of wsmon_regions_fit()
 * @rs:		the regions
 * @sp:		the areas
 * @now:	the time
 * @origin:	time before which none of the new memory existed; 0: unknown
 * @area:	index of the area that is being tiled
 * @first:	index of its first region
 * @nr:		number of regions made so far, in rs->spare
 * @limit:	maximum of @nr that leaves one region for each further area
 * @full:	@nr reached @limit
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
 * Reset a region if a half grew by more than 1 / GROWTH, but keep its share. Clear @exact after any
 * change of size, because some pages were not looked at.
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
		r->was_own &= ~BIT(h);
		r->was_made &= ~BIT(h);
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
 * Grow the last region to the end of its cell, at most to @end.
 * Return: where the rest of the range begins, at least @start.
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
 * Tile a range that no old region covers. The regions on both sides grow to the bounds of their
 * cells, and aligned cells fill the rest.
 * @next_end:	end of the region that begins at @end; 0: there is no such region
 * Return: the new start of the region after the range.
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
 * Keep an old region. Its cell and the cell of the last region may overlap if they were in
 * different areas before. Then the last region grows, and the rest of the old region is cut at the
 * middles of its cell until they no longer overlap.
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
		/* begin and end with mapped pages, or the cell would be too large */
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

		/* the area is new, or has too many regions: begin with a single region */
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
 * The mapped parts of regions keep their history; new pages become new regions or are added to
 * regions whose cells hold them. If a sample is no longer in its half, both samples of the region
 * are forgotten. Usually the page is gone; if it still exists and the kernel has no young flag, its
 * Accessed bit is not set again.
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

/* Splitting must save four times the cost of merging, in quarters of an octave */
#define HYSTERESIS	8

/* Give both halves of a new region the figures of one half of the old region. */
static void region_extend_half(struct wsmon_region *r, u32 half)
{
	u16 share = r->share[half];
	u32 k;

	r->share[0] = share;
	r->share[1] = share;
	for (k = 0; k < WSMON_WINDOWS_MAX; k++)
		r->out[k][!half] = r->out[k][half];
	wsmon_history_split(r, half);
	r->doubtful[!half] = r->doubtful[half];
	r->lost[!half] = r->lost[half];
	r->gap[!half] = r->gap[half];
	r->exact[0] = 0;
	r->exact[1] = 0;
	r->was_own = r->was_own & BIT(half) ? 3 : 0;
	r->was_made = r->was_made & BIT(half) ? 3 : 0;
	r->ref = share;
	if (!wsmon_clusters_pay(r))
		r->disagree = 2 * share * (WSMON_ONE - share) / WSMON_ONE;
}

/* Do the accessed shares of the halves differ in a window? */
static bool halves_differ(const struct wsmon_region *r, u32 k)
{
	const u32 *out = r->out[k];

	return max(out[0], out[1]) - min(out[0], out[1]) > WSMON_DIFFER;
}

/* Windows (bits) in which the halves differ, or come from halves that differed */
static u8 region_guesses(const struct wsmon_region *r)
{
	u8 guess = r->guess;
	u32 k;

	for (k = 0; k < WSMON_WINDOWS_MAX; k++)
		if (halves_differ(r, k))
			guess |= BIT(k);
	return guess;
}

/**
 * wsmon_region_split - split a region into its halves
 * @sp:		the space
 * @r:		a region of at least two pages, at rest
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
		/* each half had half of the samples */
		out[h].draws = r->draws > 1 ? r->draws / 2 : r->draws;
		wsmon_region_reset_samples(&out[h]);
	}
}

/*
 * Return: the expected squared difference of the two samples (Q15) once two regions are merged. If
 * clusters pay in both: the mean of @disagree, plus the squared difference of the shares. For
 * single pages it follows from the shares alone.
 */
static u32 regions_disagree(const struct wsmon_region *l, const struct wsmon_region *r)
{
	u32 p = wsmon_region_share(l), q = wsmon_region_share(r);
	u32 within = (l->disagree + r->disagree) / 2;

	if (wsmon_clusters_pay(l) && wsmon_clusters_pay(r))
		return min_t(u32, within + (p - q) * (p - q) / WSMON_ONE, WSMON_ONE);
	return p + q - 2 * p * q / WSMON_ONE;
}

/**
 * wsmon_region_merge - merge two buddies into one region
 * @sp:		the space
 * @l:		the lower buddy
 * @r:		the upper buddy
 * @out:	the result, without sample positions yet
 *
 * Shares are averaged by size without losing the fraction.
 */
void wsmon_region_merge(const struct wsmon_space *sp,
			const struct wsmon_region *l,
			const struct wsmon_region *r, struct wsmon_region *out)
{
	const struct wsmon_region *half[2] = { l, r };
	u8 was_own = 0, was_made = 0;
	unsigned int h, k;

	*out = *l;
	wsmon_region_clip(sp, out, l->start, r->end);
	for (h = 0; h < 2; h++) {
		const struct wsmon_region *c = half[h];
		u64 n = wsmon_region_pages(c);
		u8 both = c->n[1] ? 3 : 1;

		was_own |= ((c->was_own & both) == both) << h;
		was_made |= ((c->was_made & both) == both) << h;
		out->share[h] = wsmon_region_share(c);
		out->doubtful[h] = c->doubtful[0] | c->doubtful[1];
		out->exact[h] = c->exact[0] & c->exact[1];
		out->lost[h] = c->lost[0] | c->lost[1];
		out->gap[h] = c->gap[0] | c->gap[1];
		for (k = 0; k < WSMON_WINDOWS_MAX; k++)
			out->out[k][h] = div64_u64(c->n[0] * c->out[k][0] +
						   c->n[1] * c->out[k][1], n);
		wsmon_history_merge(out, h, c);
	}
	out->disagree = regions_disagree(l, r);
	out->found = (l->found + r->found) / 2;
	out->within = (l->within + r->within) / 2;
	out->ref = wsmon_region_share(out);
	/* each half of the result was a region with two draws at a time */
	out->draws = min_t(u32, 2 * min(l->draws, r->draws), WSMON_DRAWS_MAX);
	out->since_ns = max(l->since_ns, r->since_ns);
	/* 0 if a buddy has no @origin_ns, or has armed samples, which are forgotten here */
	out->origin_ns = l->armed_ns || r->armed_ns ? 0 :
			 min(l->origin_ns, r->origin_ns);
	out->known = l->known & r->known;
	out->whole = l->whole & r->whole;
	out->guess = region_guesses(l) | region_guesses(r);
	/* no guess if the buddies differ, but the halves of each agree: @out shows it */
	for (k = 0; k < WSMON_WINDOWS_MAX; k++)
		if (halves_differ(out, k) && !halves_differ(l, k) && !halves_differ(r, k))
			out->guess &= ~BIT(k);
	wsmon_region_reset_samples(out);
	out->was_own = was_own;
	out->was_made = was_made;
}

/* Score of a split, or of the merge that undoes it */
static unsigned int cut_score(u64 n0, u64 n1, u32 disagree, u32 draws)
{
	/* the variance of a draw is at most a quarter; the prior fades as 1/draws */
	u32 v = disagree / 2 + WSMON_ONE / 4 / (draws + 1);

	return min_t(unsigned int, WSMON_SCORES - 1,
		     2 * wsmon_log2_quarters(max(n0, n1)) +
		     wsmon_log2_quarters(v));
}

/* A share of at most this means that accesses were long ago */
#define PARTIAL_MIN	(WSMON_ONE / 512)
/* Regions accessed in part are few if they are at most 1 / PARTIAL_FEW of the budget */
#define PARTIAL_FEW	16

/* Maximum number of passes that split new memory into regions */
#define NEW_PASSES	12

static bool region_at_rest(const struct wsmon_region *r)
{
	return !r->armed_ns;
}

/* Was a part of a region, but not nearly all of it, accessed lately? */
static bool region_is_partial(const struct wsmon_region *r)
{
	u32 share = wsmon_region_share(r);

	return r->n[1] && share > PARTIAL_MIN && share < WSMON_ONE * 7 / 8;
}

/*
 * @only_new:	split only regions that were never observed
 * @zoom:	split regions accessed in part, even if that saves nothing
 * Return: the score of splitting a region; 0 if it must not be split
 */
static unsigned int region_split_score(const struct wsmon_region *r, bool only_new,
				       bool zoom)
{
	if (!region_at_rest(r) || !r->n[1] || (only_new && r->draws))
		return 0;
	if (zoom && region_is_partial(r))
		return WSMON_SCORES - 1;
	return cut_score(r->n[0], r->n[1], r->disagree, min_t(u32, r->draws, 16));
}

/*
 * @zoom:	do not merge regions accessed in part: they were split to locate accesses
 * @armed:	merge also regions whose samples are armed
 * Return: the score of merging a region with the next one; -1 if they must not be merged
 */
static int region_merge_score(const struct wsmon_regions *rs, u32 i, bool zoom, bool armed)
{
	const struct wsmon_region *l = &rs->r[i], *r = l + 1;

	if (!wsmon_regions_buddies(rs, i) || (!armed && (!region_at_rest(l) || !region_at_rest(r))))
		return -1;
	if (zoom && (region_is_partial(l) || region_is_partial(r)))
		return -1;
	return cut_score(wsmon_region_pages(l), wsmon_region_pages(r), regions_disagree(l, r),
			 min_t(u32, 16, min(l->draws, r->draws)));
}

/**
 * struct adapt_plan - which regions to split and to merge
 * @split:	split regions of this score or above
 * @merge:	merge pairs of this score or below; -1 for none
 * @splits:	maximum number of splits
 * @merges:	maximum number of merges
 * @only_new:	split only regions that were never observed
 * @zoom:	split regions accessed in part, and do not merge them
 * @armed:	merge also regions whose samples are armed
 */
struct adapt_plan {
	int split;
	int merge;
	u32 splits;
	u32 merges;
	bool only_new;
	bool zoom;
	bool armed;
};

/*
 * Plan splits from the highest score down, as long as the result fits into the budget. Merges free
 * regions for splits, if they score at least HYSTERESIS less than the lowest split. One pass splits
 * only scores within HYSTERESIS of the highest score. Of the regions with the lowest score, only as
 * many are split as fit.
 */
static struct adapt_plan adapt_plan_changes(const struct wsmon_regions *rs,
					    const struct wsmon_adapt *ws, bool only_new)
{
	struct adapt_plan p = {
		.split = WSMON_SCORES,
		.merge = -1,
		.only_new = only_new,
		.zoom = ws->zoom,
	};
	s64 spare = (s64)rs->budget - rs->nr, below = 0, merges = 0;
	int i, top = 0;

	for (i = 0; i < WSMON_SCORES - HYSTERESIS; i++)
		below += ws->merge[i];

	/* below: number of pairs that score i - HYSTERESIS or less */
	for (i = WSMON_SCORES - 1; i > top - HYSTERESIS && i > 0; i--) {
		if (ws->split[i]) {
			s64 room = spare - p.splits + below;
			u32 splits = clamp_t(s64, room, 0, ws->split[i]);

			if (!splits)
				break;
			top = max(top, i);
			p.split = i;
			p.merge = i - HYSTERESIS;
			p.splits += splits;
			merges = below;
			if (splits < ws->split[i])
				break;
		}
		if (i >= HYSTERESIS)
			below -= ws->merge[i - HYSTERESIS];
	}
	/* merge only the cheapest pairs, and only as many as the splits need */
	p.merges = clamp_t(s64, p.splits - spare, 0, merges);
	for (i = 0, below = ws->merge[0]; i < p.merge && below < p.merges; )
		below += ws->merge[++i];
	p.merge = min(p.merge, i);
	return p;
}

/* Copy a region. A region at rest has no clusters: skip them, as they are half of its size. */
static void region_copy(struct wsmon_region *to, const struct wsmon_region *r)
{
	memcpy(to, r, region_at_rest(r) ? offsetof(struct wsmon_region, c) : sizeof(*to));
	if (region_at_rest(r))
		wsmon_clusters_forget(to);
}

static void adapt_apply(struct wsmon_regions *rs, const struct wsmon_space *sp,
			struct adapt_plan p)
{
	u32 i, nr = 0;

	for (i = 0; i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];
		int m = p.merges ? region_merge_score(rs, i, p.zoom, p.armed) : -1;

		cond_resched();
		if (m >= 0 && m <= p.merge) {
			wsmon_region_merge(sp, r, r + 1, &rs->spare[nr++]);
			p.merges--;
			i++;
		} else if (p.splits && (int)region_split_score(r, p.only_new, p.zoom) >= p.split) {
			wsmon_region_split(sp, r, &rs->spare[nr]);
			nr += 2;
			p.splits--;
		} else {
			region_copy(&rs->spare[nr++], r);
		}
	}
	swap(rs->r, rs->spare);
	rs->nr = nr;
}

static void adapt_count_scores(const struct wsmon_regions *rs, struct wsmon_adapt *ws,
			       bool only_new, bool may_zoom, bool armed)
{
	u32 i, partial = 0;

	memset(ws, 0, sizeof(*ws));
	for (i = 0; i < rs->nr; i++)
		partial += region_is_partial(&rs->r[i]);
	ws->zoom = may_zoom && partial <= rs->budget / PARTIAL_FEW;
	for (i = 0; i < rs->nr; i++) {
		int m = region_merge_score(rs, i, ws->zoom, armed);

		wsmon_loop_resched(i);
		ws->unseen |= !rs->r[i].draws;
		ws->split[region_split_score(&rs->r[i], only_new, ws->zoom)]++;
		if (m >= 0)
			ws->merge[m]++;
	}
	ws->split[0] = 0;
}

/*
 * Merge the cheapest pairs, in passes, until there are at most @max regions.
 * @armed:	merge also regions whose samples are armed
 */
static void adapt_shrink(struct wsmon_regions *rs, const struct wsmon_space *sp,
			 struct wsmon_adapt *ws, u32 max, bool armed)
{
	while (rs->nr > max) {
		struct adapt_plan p = { .split = WSMON_SCORES, .merge = -1, .armed = armed };
		u32 sum = 0;

		adapt_count_scores(rs, ws, false, false, armed);
		p.merges = rs->nr - max;
		while (sum < p.merges && p.merge < WSMON_SCORES - 1)
			sum += ws->merge[++p.merge];
		if (!sum)
			return;
		adapt_apply(rs, sp, p);
		cond_resched();
	}
}

/**
 * wsmon_regions_adapt - put regions where they reduce the variance most
 * @rs:	the regions; afterwards at most @rs->budget if enough regions are at rest, and at most
 *	@rs->limit in any case, unless there are more areas
 * @sp:	the space
 * @ws:	scratch memory
 *
 * Spare budget is always used. O(regions * log budget).
 */
void wsmon_regions_adapt(struct wsmon_regions *rs, const struct wsmon_space *sp,
			 struct wsmon_adapt *ws)
{
	struct adapt_plan p;
	u32 before, pass;

	adapt_shrink(rs, sp, ws, rs->budget, false);
	adapt_shrink(rs, sp, ws, rs->limit, true);
	if (rs->nr > rs->budget)
		return;

	/* several passes fill the budget of a new target, which begins with few regions */
	do {
		cond_resched();
		before = rs->nr;
		adapt_count_scores(rs, ws, false, true, false);
		p = adapt_plan_changes(rs, ws, false);
		/* merges only make room for splits */
		if (p.splits)
			adapt_apply(rs, sp, p);
	} while (rs->nr > before && rs->nr < rs->budget);

	/* a pass only halves regions: make several, or new memory would wait for many intervals */
	for (pass = 0; pass < NEW_PASSES && ws->unseen; pass++) {
		adapt_count_scores(rs, ws, true, false, false);
		p = adapt_plan_changes(rs, ws, true);
		if (!p.splits)
			break;
		adapt_apply(rs, sp, p);
		cond_resched();
	}
}

/*
 * Drawing the positions of samples, evenly spread over runs of regions
 *
 * A position is uniform over the mapped pages of its half, so the estimate is unbiased. But
 * positions in different halves need not be independent. If all halves have the same pattern, for
 * example every other block is accessed, then half of the positions should be in an accessed block.
 * So a half is divided into 64 parts, and the successive halves of a run of regions draw their part
 * without replacement, and then a random position in the part: a Latin hypercube sample (McKay,
 * Beckman, Conover: Technometrics 1979). With any pattern, the variance of a run's sum is at most
 * 64/63 of the variance with independent positions (Owen: SIAM Journal on Numerical Analysis 34,
 * 1997).
 *
 * The reduction of the variance is measured. The deviation of a half is the difference from its
 * mean in earlier draws; the deviation of a run is the sum of its halves' deviations. Runs are
 * independent of each other (replicated systematic samples: Cochran, Sampling Techniques, 3rd ed.
 * 1977, chapter 8). So the sum of squared deviations of runs, divided by the sum of squared
 * deviations of halves, is the part of the variance that remains. The means have errors, too, which
 * increase both sums by the same part.
 */

/* Regions in a run: longer runs are more even, but more runs measure the reduction better */
#define RUN		32U

/* Parts of a half: a run draws once from each part */
#define PARTS_BITS	6
#define PARTS		BIT(PARTS_BITS)

/* Maximum number of intervals in the slow average, and the number needed before it is used */
#define TIMES_MAX	16U
#define TIMES_MIN	8U
/* Intervals in the quick average, which notices the end of a pattern */
#define TIMES_QUICK	4U

/* Units of 2^-SIZE_BITS of all memory: squares sum to less than 2^40 */
#define SIZE_BITS	20

/* Minimum part of the variance that remains: the past means have an error of this size */
#define REST_MIN	(WSMON_ONE / 16)

/** wsmon_draw_key - make the key of a draw */
u64 wsmon_draw_key(u64 seed, u64 epoch)
{
	return wsmon_hash64(wsmon_hash64(seed + 0x9e3779b97f4a7c15ULL) ^ epoch);
}

/* Place the samples of a region at rest at fractions of its halves, in units of 2^-64. */
static void region_place(const struct wsmon_space *sp, struct wsmon_region *r, u64 lower,
			 u64 upper)
{
	const struct wsmon_area *a = &sp->area[r->area];
	u64 mid = wsmon_cell_mid(r->start, r->end), rank = 0;
	unsigned int h;

	wsmon_region_reset_samples(r);
	if (a->nr > 1)
		rank = wsmon_area_rank(sp, a, r->start);
	for (h = 0; h < 2 && r->n[h]; h++) {
		u64 k = mul_u64_u64_shr(h ? upper : lower, r->n[h], 64);

		/* most areas have no gaps, so this needs no search */
		r->s[h].vpn = a->nr == 1 ? (h ? mid : r->start) + k :
			      wsmon_area_select(sp, a, rank + k);
		rank += r->n[0];
	}
}

/* Set random numbers for the halves of a region: hashes of cell, half, and key */
static void region_random(const struct wsmon_region *r, u64 key, u64 random[2])
{
	u64 mid = wsmon_cell_mid(r->start, r->end);

	key = wsmon_hash64(key ^ (mid << 6 | fls64(r->start ^ (r->end - 1))));
	random[0] = wsmon_hash64(key);
	random[1] = wsmon_hash64(key + 1);
}

/**
 * wsmon_region_draw - draw new positions for the samples of a single region
 * @sp:		the space
 * @r:		the region, at rest
 * @key:	wsmon_draw_key()
 *
 * The positions are uniform, and independent of other regions.
 */
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 key)
{
	u64 random[2];

	region_random(r, key, random);
	region_place(sp, r, random[0], random[1]);
}

/**
 * struct parts - the parts of a half that a run has not drawn yet
 * @nr:		number of parts left
 * @part:	the parts left
 */
struct parts {
	u32 nr;
	u8 part[PARTS];
};

static void parts_begin(struct parts *p)
{
	for (p->nr = 0; p->nr < PARTS; p->nr++)
		p->part[p->nr] = p->nr;
}

/* Draw a part by the lower bits of a random number, and a position in it by the upper bits. */
static u64 parts_draw(struct parts *p, u64 random)
{
	u32 i = (random & U32_MAX) * p->nr >> 32;
	u64 part = p->part[i];

	p->part[i] = p->part[--p->nr];
	return part << (64 - PARTS_BITS) | random >> PARTS_BITS;
}

/* Does a run end before region i? @len: regions in it so far */
static bool run_ends(const struct wsmon_regions *rs, u32 i, u32 len)
{
	return i == rs->nr || len == RUN || (i && rs->r[i].area != rs->r[i - 1].area);
}

/**
 * wsmon_regions_draw - draw new positions for the samples of regions at rest
 * @rs:		the regions
 * @sp:		the space
 * @a:		the attributes
 * @salt:	salt of the seed
 * @epoch:	number of the draw
 */
void wsmon_regions_draw(struct wsmon_regions *rs, const struct wsmon_space *sp,
			const struct wsmon_attrs *a, u64 salt, u64 epoch)
{
	bool clusters = wsmon_clusters_wanted(a);
	u64 key = wsmon_draw_key(a->seed ^ salt, epoch);
	struct parts parts = { };
	u64 random[2];
	u32 i, len = 0;

	for (i = 0; i < rs->nr; i++) {
		struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		if (!i || run_ends(rs, i, len)) {
			parts_begin(&parts);
			len = 0;
		}
		len++;
		if (r->armed_ns)
			continue;
		region_random(r, key, random);
		/* two statements, so that the order does not depend on the compiler */
		random[0] = parts_draw(&parts, random[0]);
		random[1] = parts_draw(&parts, random[1]);
		region_place(sp, r, random[0], random[1]);
		if (clusters)
			wsmon_clusters_draw(sp, r, epoch);
	}
}

/** wsmon_run_adds - tell whether a run includes the deviations of a region */
bool wsmon_run_adds(const struct wsmon_region *r)
{
	return r->times >= WSMON_TIMES_MIN && !r->stale;
}

/**
 * struct runs_sums - sums over the runs of a class in one interval
 * @alone:	sum of the squared deviations of halves
 * @together:	sum of the squared deviations of runs
 * @nr:		number of runs with a deviation
 */
struct runs_sums {
	u64 alone;
	u64 together;
	u32 nr;
};

static u64 moving_average(u64 old, u64 new, u32 times)
{
	return div64_u64(old * (times - 1) + new, times);
}

/* @together divided by @alone (Q15), at most 1 */
static u32 runs_rest(u64 together, u64 alone)
{
	return together < alone ? div64_u64(together << WSMON_SHIFT, alone) : WSMON_ONE;
}

/*
 * Learn from the sums of an interval how much the variance of a class is reduced. Three measures
 * of the remaining part are taken, and the largest of them counts:
 *  - The slow average. Without a pattern it finds a small reduction by chance, so an eighth is
 *    added, and more if there are few runs.
 *  - The quick average, which notices that a pattern ends.
 *  - This interval alone, reduced if there are few runs: the sum of n squares has a standard
 *    deviation of sqrt(2 / n) of its expectation. With many runs it notices at once.
 */
static void runs_learn(struct wsmon_runs *runs, u32 class, const struct runs_sums *s)
{
	u64 *alone = runs->alone[class], *together = runs->together[class];
	u32 times, root = wsmon_sqrt_up(s->nr), rest;

	if (!s->nr) {
		runs->times[class] = 0;
		runs->less[class] = 0;
		return;
	}
	times = min(runs->times[class] + 1U, TIMES_MAX);
	runs->times[class] = times;
	alone[0] = moving_average(alone[0], s->alone, times);
	together[0] = moving_average(together[0], s->together, times);
	alone[1] = moving_average(alone[1], s->alone, min(times, TIMES_QUICK));
	together[1] = moving_average(together[1], s->together, min(times, TIMES_QUICK));
	rest = runs_rest(together[0] + together[0] / 8 + together[0] / (2 * s->nr), alone[0]);
	rest = max(rest, runs_rest(together[1], alone[1]));
	rest = max(rest, runs_rest(s->together, s->alone) * root / (root + 2));
	runs->less[class] = times < TIMES_MIN ? 0 : WSMON_ONE - max_t(u32, rest, REST_MIN);
}

/**
 * wsmon_runs_learn - learn how much evenly spread positions reduce the variance
 * @rs:		the regions; after wsmon_regions_learn(), before wsmon_regions_note()
 * @sp:		the space
 *
 * Learns only while histories are kept: see history_kept(). If regions were fitted since their
 * positions were drawn, the runs are no longer those that were drawn, and the measured reduction of
 * this interval is too small.
 */
void wsmon_runs_learn(struct wsmon_regions *rs, const struct wsmon_space *sp)
{
	u32 bits = fls64(wsmon_space_pages(sp)), shift = bits > SIZE_BITS ? bits - SIZE_BITS : 0;
	struct runs_sums sums[WSMON_NR_CLASSES] = { }, *s = NULL;
	u32 i, h, c, len = 0;
	u64 before = 0;
	s64 sum = 0;

	for (i = 0; i <= rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		if (i && run_ends(rs, i, len)) {
			s->together += sum * sum;
			s->nr += s->alone > before;
			sum = 0;
			len = 0;
		}
		if (i == rs->nr)
			break;
		if (!len++) {
			s = &sums[sp->area[r->area].class];
			before = s->alone;
		}
		for (h = 0; h < 2 && wsmon_run_adds(r); h++) {
			s64 d = (s64)r->out[0][h] - r->past.mean[h];

			if (r->exact[h] & BIT(0))
				continue;
			/* units of 2^-SIZE_BITS of all memory may be smaller than a page */
			d *= shift ? r->n[h] >> shift : r->n[h] << (SIZE_BITS - bits);
			d /= WSMON_ONE;
			s->alone += d * d;
			sum += d;
		}
	}
	for (c = 0; c < WSMON_NR_CLASSES; c++)
		runs_learn(&rs->runs, c, &sums[c]);
}
