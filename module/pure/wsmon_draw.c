// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_draw.c - draw the positions of samples, and spread them evenly over runs of regions
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * Whatever the regions are, a position is uniform over the mapped pages of its half. So the
 * estimate is unbiased. But positions in different halves need not be independent of each
 * other. If the same pattern is in all, such as every other block, then half of the positions
 * should be in a block, and half beside one. So the halves of a run of regions, one after the
 * other, draw from the 64 parts of a half without replacement, and their positions in these parts
 * at random: a Latin hypercube sample (McKay, Beckman, Conover: Technometrics 1979). Whatever the
 * pattern, the sum of a run varies by at most 64/63 of what it would vary by with independent
 * positions (Owen: SIAM Journal on Numerical Analysis 34, 1997).
 *
 * How much this reduces the variance is measured. A half deviates from its mean in earlier draws,
 * and a run by the sum of its halves' deviations. Runs are independent of each other (replicated
 * systematic samples: Cochran, Sampling Techniques, 3rd ed. 1977, chapter 8). So the sum of their
 * squares, divided by that of the halves, is the part of the variance that remains. The means
 * deviate, too, but by the same part of both.
 */
#include "wsmon_pure.h"

/* Regions in a run: longer ones are more even, and more of them say better how much so */
#define RUN		32U

/* Parts of a half: each is drawn from once in a run */
#define PARTS_BITS	6
#define PARTS		BIT(PARTS_BITS)

/* Intervals in an average: at most, and until it is used */
#define TIMES_MAX	16U
#define TIMES_MIN	8U
/* Intervals in the quick average, which notices that order ends */
#define TIMES_QUICK	4U

/* Units of 2^-SIZE_BITS of all memory: squares sum to less than 2^40 */
#define SIZE_BITS	20

/* The variance is not reduced below this: means of the past deviate by as much */
#define REST_MIN	(WSMON_ONE / 16)

/** wsmon_hash64 - hash by the finalizer of splitmix64 (Steele, Lea, Flood: OOPSLA 2014) */
u64 wsmon_hash64(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/**
 * wsmon_draw_key - make the key of a draw
 * @seed:	the user's seed
 * @epoch:	number of the draw
 */
u64 wsmon_draw_key(u64 seed, u64 epoch)
{
	return wsmon_hash64(wsmon_hash64(seed + 0x9e3779b97f4a7c15ULL) ^ epoch);
}

/* Put the samples of a region at rest at these fractions of its halves, in units of 2^-64. */
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

		/* mostly, all between its ends is mapped */
		r->s[h].vpn = a->nr == 1 ? (h ? mid : r->start) + k :
			      wsmon_area_select(sp, a, rank + k);
		rank += r->n[0];
	}
}

/* Random numbers for the halves of a region: hashes of cell, half, and key */
static void region_random(const struct wsmon_region *r, u64 key, u64 random[2])
{
	u64 mid = wsmon_cell_mid(r->start, r->end);

	key = wsmon_hash64(key ^ (mid << 6 | fls64(r->start ^ (r->end - 1))));
	random[0] = wsmon_hash64(key);
	random[1] = wsmon_hash64(key + 1);
}

/**
 * wsmon_region_draw - draw new positions for the samples of a region, on its own
 * @sp:		the space
 * @r:		the region, at rest
 * @key:	wsmon_draw_key()
 *
 * They are uniform, and independent of all others.
 */
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 key)
{
	u64 random[2];

	region_random(r, key, random);
	region_place(sp, r, random[0], random[1]);
}

/**
 * struct parts - the parts of a half that a run has not drawn from yet
 * @nr:		their number
 * @part:	these
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

/* Draw a part by the lower bits of a random number, and a position in it by the upper ones. */
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
		/* in this order, whatever the compiler */
		random[0] = parts_draw(&parts, random[0]);
		random[1] = parts_draw(&parts, random[1]);
		region_place(sp, r, random[0], random[1]);
		if (clusters)
			wsmon_clusters_draw(sp, r, epoch);
	}
}

/**
 * wsmon_run_adds - tell whether the deviations of a region count in its run
 * @r:	the region
 */
bool wsmon_run_adds(const struct wsmon_region *r)
{
	return r->times >= WSMON_TIMES_MIN && !r->stale;
}

/**
 * struct runs_sums - sums over the runs of a class, of one interval
 * @alone:	squared deviations of halves
 * @together:	squared sums of runs
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

/* The part of @alone that @together is (Q15), at most 1 */
static u32 runs_rest(u64 together, u64 alone)
{
	return together < alone ? div64_u64(together << WSMON_SHIFT, alone) : WSMON_ONE;
}

/*
 * Learn from the sums of an interval how much the variance of a class is reduced. Without order,
 * the averages find a small reduction by chance, so an eighth is added to what remains, and more if
 * there are few runs. The quick average notices that order ends. If there are many runs, so does a
 * single interval: the sum of n squares deviates by sqrt(2 / n) of its expectation.
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
 * Only where the past is kept: see wsmon_history_kept(). If regions were fitted since they were
 * drawn, these are not the runs that were drawn, and the reduction of this interval is too small.
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
			/* of small memory, in units that are smaller than a page */
			d *= shift ? r->n[h] >> shift : r->n[h] << (SIZE_BITS - bits);
			d /= WSMON_ONE;
			s->alone += d * d;
			sum += d;
		}
	}
	for (c = 0; c < WSMON_NR_CLASSES; c++)
		runs_learn(&rs->runs, c, &sums[c]);
}
