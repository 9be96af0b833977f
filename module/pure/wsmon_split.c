// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_split.c - splitting and merging: putting regions where they serve best
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures. May sleep.
 *
 * The variance of the estimate is a sum over regions. Splitting a region saves about half
 * of its term, (n0^2 + n1^2) v / 2, where v is the variance of one draw in it; merging two
 * buddies adds as much. Moving regions from where they save little to where they save much
 * is Neyman's allocation (1934), by splits and merges. v is half the rate at which the two
 * samples differ, plus a prior that fades with the number of draws: large cells with few
 * draws are split although their samples agree.
 *
 * That shows how much is accessed, not where: an accessed range that is much smaller
 * than its cell adds little to the variance. So while only few cells are accessed in
 * part, they are split, even if that saves nothing, until their halves agree.
 *
 * Scores are logarithms in quarters of an octave, so that a histogram replaces sorting
 * and nothing overflows.
 */
#include <linux/sched.h>

#include "wsmon_pure.h"

/* Splitting must save four times what merging costs: quarters of an octave */
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
	r->ref = share;
	if (!wsmon_clusters_pay(r))
		r->disagree = 2 * share * (WSMON_ONE - share) / WSMON_ONE;
}

/* Were the halves accessed to different parts within a window? */
static bool halves_differ(const struct wsmon_region *r, u32 k)
{
	const u32 *out = r->out[k];

	return max(out[0], out[1]) - min(out[0], out[1]) > WSMON_DIFFER;
}

/* Windows (bits) for which it is not known which pages of a region were accessed */
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
 * The square of the difference of two samples that is expected in two regions as one (Q15): half
 * of that within each, and that of their shares. Of single pages, it follows from the shares.
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
 * @l:		the lower one
 * @r:		the upper one
 * @out:	the result, without sample positions yet
 *
 * Shares are averaged by size without losing the fraction.
 */
void wsmon_region_merge(const struct wsmon_space *sp,
			const struct wsmon_region *l,
			const struct wsmon_region *r, struct wsmon_region *out)
{
	const struct wsmon_region *half[2] = { l, r };
	unsigned int h, k;

	*out = *l;
	wsmon_region_clip(sp, out, l->start, r->end);
	for (h = 0; h < 2; h++) {
		const struct wsmon_region *c = half[h];
		u64 n = wsmon_region_pages(c);

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
	/* each half has had the draws of two halves */
	out->draws = min_t(u32, 2 * min(l->draws, r->draws), WSMON_DRAWS_MAX);
	out->since_ns = max(l->since_ns, r->since_ns);
	/* 0 if one has none, or has armed samples, which are forgotten here */
	out->origin_ns = l->armed_ns || r->armed_ns ? 0 :
			 min(l->origin_ns, r->origin_ns);
	out->known = l->known & r->known;
	out->whole = l->whole & r->whole;
	out->guess = region_guesses(l) | region_guesses(r);
	/* if they differ, but the halves of each agree, out itself says so: no guess */
	for (k = 0; k < WSMON_WINDOWS_MAX; k++)
		if (halves_differ(out, k) && !halves_differ(l, k) && !halves_differ(r, k))
			out->guess &= ~BIT(k);
	wsmon_region_reset_samples(out);
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

/* A smaller share means that accesses were long ago */
#define PARTIAL_MIN	(WSMON_ONE / 512)
/* Regions accessed in part are few if they are at most one in this many */
#define PARTIAL_FEW	16

/* Maximum number of passes in which new memory gets its regions */
#define NEW_PASSES	12

/* Only regions at rest may change */
static bool region_at_rest(const struct wsmon_region *r)
{
	return !r->armed_ns;
}

/* Was a region accessed in part lately? */
static bool region_is_partial(const struct wsmon_region *r)
{
	u32 share = wsmon_region_share(r);

	return r->n[1] && share > PARTIAL_MIN && share < WSMON_ONE * 7 / 8;
}

/*
 * @only_new:	only regions that were never observed
 * @zoom:	split what was accessed in part, even if that saves nothing
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
 * @zoom:	do not merge what was accessed in part: it was split to locate accesses
 * @armed:	also regions whose samples still serve
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
 * struct adapt_plan - which scores are split and merged
 * @split:	split regions of this score or above
 * @merge:	merge pairs of this score or below; -1 for none
 * @splits:	maximum number of splits
 * @merges:	maximum number of merges
 * @only_new:	split only what was never observed
 * @zoom:	split what was accessed in part
 * @armed:	merge also regions whose samples still serve
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
 * Plan splits from the highest score down, as long as they fit into the budget, which
 * includes the regions freed by merges that score HYSTERESIS below the lowest split.
 * One pass splits only scores within HYSTERESIS of the highest. If more regions have
 * the lowest score than fit, as many are split as fit.
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

	/* below: pairs that score i - HYSTERESIS or less */
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
	/* only as many merges as the splits need, the cheapest */
	p.merges = clamp_t(s64, p.splits - spare, 0, merges);
	for (i = 0, below = ws->merge[0]; i < p.merge && below < p.merges; )
		below += ws->merge[++i];
	p.merge = min(p.merge, i);
	return p;
}

/* A region at rest has no clusters, and they are most of it. */
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
 * Merge the cheapest pairs until there are at most @max regions, in as many passes as
 * that takes. @armed: merge also regions whose samples still serve.
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
 * @rs:	the regions; afterwards at most @rs->limit, and at most @rs->budget as far as
 *	regions are at rest, unless there are more areas than that
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

	/* a new target begins with few regions: several passes fill its budget */
	do {
		cond_resched();
		before = rs->nr;
		adapt_count_scores(rs, ws, false, true, false);
		p = adapt_plan_changes(rs, ws, false);
		/* merges only make room for splits */
		if (p.splits)
			adapt_apply(rs, sp, p);
	} while (rs->nr > before && rs->nr < rs->budget);

	/* a pass only halves regions; new memory must not wait for many intervals */
	for (pass = 0; pass < NEW_PASSES && ws->unseen; pass++) {
		adapt_count_scores(rs, ws, true, false, false);
		p = adapt_plan_changes(rs, ws, true);
		if (!p.splits)
			break;
		adapt_apply(rs, sp, p);
		cond_resched();
	}
}
