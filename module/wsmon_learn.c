// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_learn.c - what an aggregation interval teaches of a region
 *
 * Pure: no mm, no allocation, no locks.
 *
 * Each window has its own estimate, made of what samples saw that served it in
 * full. Estimates of different windows are made of different generations of
 * samples, so a longer window's may be the smaller one by chance. They are left
 * as they are: the larger of the two would be too large in the mean.
 */
#include "wsmon_pure.h"

/*
 * Has it been this long? Rounds come at multiples of the sampling interval,
 * give or take: half of one is allowed for.
 */
static bool sample_served(const struct wsmon_interval *iv, u64 since, u64 ns)
{
	return iv->now - since + iv->slack_ns >= ns;
}

/* Was it within the last ns? A round at @at saw accesses since the one before. */
static bool sample_seen_within(const struct wsmon_interval *iv, u64 at, u64 ns)
{
	return at && iv->now - at + iv->slack_ns < ns;
}

/**
 * wsmon_region_due - is it time to drop the samples of a region?
 * @r:	the region
 * @iv:	the interval that ends
 *
 * Samples are dropped, to be drawn afresh, when they have served the longest
 * window. A window longer than an interval spreads that over as many as it takes,
 * of those the target ran in: one that runs once a window would else have the
 * same turn always.
 */
bool wsmon_region_due(const struct wsmon_region *r,
		      const struct wsmon_interval *iv)
{
	u64 longest = iv->window_ns[iv->nr_windows - 1];
	u64 phases = div64_u64(longest + iv->aggr_ns - 1, iv->aggr_ns);

	if (iv->drop_all || phases <= 1)
		return true;
	return sample_served(iv, r->armed_ns, longest) &&
	       (r->start * 0x9e3779b97f4a7c15ULL >> 32) % phases ==
	       iv->active % phases;
}

/* Is the memory younger than a window, and are all accesses since known? */
static bool region_younger_than(const struct wsmon_interval *iv, const struct wsmon_region *r,
			 u64 window)
{
	return r->origin_ns && iv->now - r->origin_ns <= window + iv->slack_ns;
}

static void region_learn(struct wsmon_region *r, const struct wsmon_interval *iv)
{
	bool x[2];
	u32 h, k;

	/* nothing was accessed at rounds the target slept through */
	r->checks += iv->idle * (r->n[1] ? 2 : 1);
	if (!r->checks)
		return;
	for (h = 0; h < 2; h++)
		x[h] = r->n[h] && r->s[h].seen_ns > iv->begin_ns;
	wsmon_region_observe(r, x, r->armed_ns >= iv->begin_ns, iv->now);

	for (k = 0; k < iv->nr_windows; k++) {
		bool all = region_younger_than(iv, r, iv->window_ns[k]);

		/* as long as none has served a whole window, tell what is known */
		if (all || sample_served(iv, r->armed_ns, iv->window_ns[k]))
			r->whole |= BIT(k);
		else if (r->whole & BIT(k))
			continue;
		r->known |= BIT(k);
		r->guess &= ~BIT(k);
		for (h = 0; h < 2; h++) {
			u64 at = r->s[h].seen_ns;
			bool hit = r->n[h] && (all ? at :
					       sample_seen_within(iv, at, iv->window_ns[k]));

			r->out[k][h] = hit ? WSMON_ONE : 0;
			r->doubtful[h] &= ~BIT(k);
			if (hit && r->vague & BIT(h))
				r->doubtful[h] |= BIT(k);
		}
	}
}

/**
 * wsmon_regions_learn - what the samples saw becomes what is known
 * @rs:		the regions, their samples checked for the last time in this interval
 * @iv:		the interval
 * @slept:	the target did not run in it, and nobody looked
 *
 * Of regions that could not be looked at, as somebody sat on the mmap lock, the last
 * figures stand, and count as quite uncertain.
 */
void wsmon_regions_learn(struct wsmon_regions *rs, const struct wsmon_interval *iv,
			 bool slept)
{
	u32 i;

	for (i = 0; i < rs->nr; i++) {
		struct wsmon_region *r = &rs->r[i];

		r->stale = !r->armed_ns || !(r->last || slept);
		if (r->stale)
			r->whole = 0;
		else
			region_learn(r, iv);
	}
}

/**
 * wsmon_regions_rest - the next interval begins
 * @rs:	the regions
 *
 * Samples the pass dropped may be drawn again; counters begin anew.
 */
void wsmon_regions_rest(struct wsmon_regions *rs)
{
	u32 i;

	for (i = 0; i < rs->nr; i++) {
		struct wsmon_region *r = &rs->r[i];

		if (r->dropped) {
			r->armed_ns = 0;
			r->origin_ns = 0;
			r->absent = 0;
			r->vague = 0;
		}
		r->dropped = 0;
		r->due = 0;
		r->last = 0;
		r->hits = 0;
		r->checks = 0;
	}
}
