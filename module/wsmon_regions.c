// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_regions.c - regions: buddy cells, their samples, and what the samples show
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * A cell is a power of two of pages, aligned to its size. A region is a cell clipped to
 * the mapped pages of its area. Its first and last mapped page describe it: the cell is
 * the smallest that holds both. Cells of different regions are disjoint, and every mapped
 * page of an area is in exactly one region. Splitting cuts at the middle of the cell:
 *
 *	cell      |               :               |
 *	region        [---- n[0] -:------ n[1] -------]   clipped by its area
 *	               x          :         x             a sample in each half
 *
 * Merging undoes that, when each half is one region.
 */
#include <linux/bitops.h>

#include "wsmon_regions.h"

/**
 * wsmon_cell_mid - find where a region splits
 * @start:	first page
 * @end:	end, exclusive
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

/**
 * wsmon_region_clip - make a region of a range: clip it to the mapped pages, count them
 * @sp:		the space
 * @r:		the region, with its area
 * @start:	first page
 * @end:	end, exclusive
 *
 * Return: false if no page of the range is mapped.
 */
bool wsmon_region_clip(const struct wsmon_space *sp, struct wsmon_region *r,
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
 * wsmon_regions_buddies - tell whether a region and the next are the halves of a cell
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

/* Forget in what entries the sample pages were. */
static void region_forget_entries(struct wsmon_region *r)
{
	memset(r->made_ns, 0, sizeof(r->made_ns));
	r->own = 0;
	r->hit = 0;
	r->looked = 0;
	r->again = 0;
	r->blind = 0;
	r->recent = 0;
}

/**
 * wsmon_region_reset_samples - put a region at rest, without sample positions
 * @r:	the region
 */
void wsmon_region_reset_samples(struct wsmon_region *r)
{
	memset(r->s, 0, sizeof(r->s));
	wsmon_clusters_forget(r);
	r->armed_ns = 0;
	r->hits = 0;
	r->checks = 0;
	memset(r->debt, 0, sizeof(r->debt));
	r->absent = 0;
	r->went = 0;
	r->vague = 0;
	region_forget_entries(r);
}

/* Samples of a region are not reported if its share is this close to 0 or 1 */
#define SHARE_NEARLY		(WSMON_ONE / 512)
/* and it has had at least this many draws */
#define DRAWS_SETTLED		4

/* Position of a sample in its half, @start to @end, in units of 1 / WSMON_SAMPLES_PLACES */
static u16 sample_position(const struct wsmon_sample *s, u64 start, u64 end)
{
	/* a half has less than 2^45 pages */
	return div64_u64((s->vpn - start) * WSMON_SAMPLES_PLACES, end - start);
}

/**
 * wsmon_region_samples - encode for a record what the samples of a region saw
 * @r:		the region, observed until now
 * @since:	when the interval began, nanoseconds
 *
 * Return: WSMON_SAMPLES_*
 */
u16 wsmon_region_samples(const struct wsmon_region *r, u64 since)
{
	u64 mid = wsmon_cell_mid(r->start, r->end);
	u32 share = wsmon_region_share(r);
	u16 samples = WSMON_SAMPLES_VALID;

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

/*
 * Pages beside a sample page, whose entries are near its own
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * Finding an entry costs much, and reading those beside it little. So the pages around a sample
 * page are looked at, too: its cluster, one of those that an area is divided into. What counts
 * for the half is the cluster's accessed share. That is unbiased, because a page is drawn
 * uniformly, so a cluster in proportion to its size (Cochran, Sampling Techniques, 3rd ed. 1977,
 * 9A.1). It varies at most as much as a single page, and not at all where accesses have gaps of
 * one size that divides the cluster's.
 *
 * A set bit that is cleared must be reported to reclaim, for each page. So there are clusters
 * only where they pay: where most of the variance of single pages is within clusters, and not
 * where nearly all is accessed. They are tried now and then elsewhere, but not where a fault maps
 * several pages at once: only in anonymous memory. Whether there is a cluster, and its size, never
 * depend on what is accessed while it serves, and so do not bias the estimate.
 */

/* From this share on there are no clusters */
#define SHARE_MAX	(WSMON_ONE * 7 / 8)
/* Entries in a processor's cache line: clusters are not smaller */
#define SIZE_MIN	8U

/* One region in so many tries clusters where nothing was found, and where they did not pay */
#define TRY_COLD	8
#define TRY_AGAIN	64
/* A smaller share is nothing */
#define SHARE_MIN	(WSMON_ONE / 512)

/* The past has a weight of 7/8 in the means of what clusters found */
#define AVERAGE_OF	8

/* Numbers of intervals are of 16 bits: windows are of less than half of what these can count */
#define INTERVALS_MAX	0x4000

static bool area_is_anonymous(const struct wsmon_area *a)
{
	return a->class == WSMON_CLASS_ANON || a->class == WSMON_CLASS_HEAP ||
	       a->class == WSMON_CLASS_STACK;
}

/**
 * wsmon_clusters_forget - let the samples of a region have no clusters
 * @r:	the region
 */
void wsmon_clusters_forget(struct wsmon_region *r)
{
	memset(&r->c[0], 0, offsetof(struct wsmon_cluster, seen_at));
	memset(&r->c[1], 0, offsetof(struct wsmon_cluster, seen_at));
}

/**
 * wsmon_clusters_pay - tell whether most of the variance of single pages was within clusters
 * @r:	the region
 */
bool wsmon_clusters_pay(const struct wsmon_region *r)
{
	return 2 * r->within > r->found * (WSMON_ONE - r->found) / WSMON_ONE;
}

/* Does a cluster of a half consist of pages of the half that are all mapped? */
static bool cluster_fits(const struct wsmon_space *sp, const struct wsmon_region *r, u32 h,
			 u64 start, u64 end)
{
	const struct wsmon_area *a = &sp->area[r->area];
	u64 mid = wsmon_cell_mid(r->start, r->end);

	return start >= (h ? mid : r->start) && end <= (h ? r->end : mid) &&
	       (a->nr == 1 ||
		wsmon_area_rank(sp, a, end) - wsmon_area_rank(sp, a, start) == end - start);
}

/* About one accessed page is enough: clearing bits costs more than reading them. */
static u64 cluster_size(u32 share)
{
	u32 size = SIZE_MIN;

	while (size < WSMON_CLUSTER && share * size < WSMON_ONE * 7 / 8)
		size *= 2;
	return size;
}

/* Does a region try clusters? At once where only single pages have found something so far. */
static bool clusters_tried(const struct wsmon_region *r, u32 share, u64 epoch)
{
	if (r->found ? wsmon_clusters_pay(r) : share > SHARE_MIN)
		return true;
	return !(wsmon_hash64(r->start + epoch) % (r->found ? TRY_AGAIN : TRY_COLD));
}

/**
 * wsmon_clusters_draw - find the clusters of samples that were drawn
 * @sp:	the space
 * @r:	the region, its samples drawn, at rest
 * @epoch:	number of the draw
 */
void wsmon_clusters_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 epoch)
{
	u32 share = wsmon_region_share(r), h;
	u64 mid, mask, start, end;

	if (share > SHARE_MAX || !area_is_anonymous(&sp->area[r->area]) ||
	    !clusters_tried(r, share, epoch))
		return;
	mask = cluster_size(share) - 1;
	mid = wsmon_cell_mid(r->start, r->end);
	for (h = 0; h < 2 && r->n[h]; h++) {
		start = max(r->s[h].vpn & ~mask, h ? mid : r->start);
		end = min((r->s[h].vpn | mask) + 1, h ? r->end : mid);
		if (!cluster_fits(sp, r, h, start, end))
			continue;
		r->c[h].first = start;
		r->c[h].nr = end - start;
	}
}

/**
 * wsmon_clusters_wanted - tell whether samples have clusters at all
 * @a:	the attributes
 *
 * Only if windows are whole intervals: rounds within one do not look at clusters as of their time.
 */
bool wsmon_clusters_wanted(const struct wsmon_attrs *a)
{
	bool whole = a->windows_us[a->nr_windows - 1] / INTERVALS_MAX <= a->aggr_us;
	u32 i;

	for (i = 0; i < a->nr_windows; i++)
		whole &= !(a->windows_us[i] % a->aggr_us);
	return whole;
}

/**
 * wsmon_clusters_fit - forget clusters that mappings have changed
 * @sp:	the space
 * @r:	a region with samples, each in its half
 */
void wsmon_clusters_fit(const struct wsmon_space *sp, struct wsmon_region *r)
{
	u32 h;

	for (h = 0; h < 2; h++) {
		struct wsmon_cluster *c = &r->c[h];

		if (c->nr && !cluster_fits(sp, r, h, c->first, c->first + c->nr))
			c->nr = 0;
	}
}

/**
 * wsmon_cluster_note - note accesses to pages of a cluster
 * @c:		the cluster
 * @pages:	bit i: the i-th; not the sample page
 * @epoch:	number of the interval
 */
void wsmon_cluster_note(struct wsmon_cluster *c, u64 pages, u16 epoch)
{
	c->ever |= pages;
	for (; pages; pages &= pages - 1)
		c->seen_at[__ffs64(pages)] = epoch;
}

/**
 * wsmon_clusters_age - forget what was accessed so long ago that numbers of intervals repeat
 * @r:		the region
 * @epoch:	number of the interval; this is for each, while samples stay
 */
void wsmon_clusters_age(struct wsmon_region *r, u16 epoch)
{
	u64 pages;
	u32 h;

	if (epoch % INTERVALS_MAX)
		return;
	for (h = 0; h < 2; h++) {
		for (pages = r->c[h].ever; pages; pages &= pages - 1) {
			u16 age = epoch - r->c[h].seen_at[__ffs64(pages)];

			if (age >= 2 * INTERVALS_MAX)
				r->c[h].ever &= ~(pages & -pages);
		}
	}
}

/* Pages of a cluster that were accessed within window @k, in parts (Q15); @all: ever */
static u32 cluster_count(const struct wsmon_cluster *c, const struct wsmon_interval *iv, u32 k,
			 bool all)
{
	u64 pages;
	u32 sum = 0;

	if (all)
		return hweight64(c->ever) * WSMON_ONE;
	for (pages = c->ever; pages; pages &= pages - 1) {
		u16 age = iv->epoch - c->seen_at[__ffs64(pages)];

		/* if it is not known when intervals ended: as if they had their nominal length */
		if (iv->whole[k] ? age < iv->whole[k] :
				   age * iv->aggr_ns + iv->slack_ns < iv->window_ns[k])
			sum += WSMON_ONE;
		else if (age == iv->whole[k])
			sum += iv->part[k];
	}
	return sum;
}

/* The share of so many pages of a cluster, in parts (Q15) */
static u32 cluster_share(const struct wsmon_cluster *c, u32 pages)
{
	return (pages + c->nr / 2) / c->nr;
}

/**
 * wsmon_cluster_share - what a sample page and its cluster say of a half
 * @r:		the region
 * @h:		the half, which has a cluster
 * @hit:	how much of the page was accessed in the window (Q15)
 * @iv:		the interval
 * @k:		the window
 * @all:	all accesses since the samples were armed count
 *
 * Return: the accessed share (Q15).
 */
u32 wsmon_cluster_share(const struct wsmon_region *r, u32 h, u32 hit,
			const struct wsmon_interval *iv, u32 k, bool all)
{
	const struct wsmon_cluster *c = &r->c[h];

	return cluster_share(c, hit + cluster_count(c, iv, k, all));
}

/**
 * clusters_seen - what the samples of a region say of an interval
 * @r:		the region
 * @since:	when the interval began
 * @seen:	by half, the accessed share (Q15)
 *
 * Notes what its clusters found, too.
 */
static void clusters_seen(struct wsmon_region *r, u64 since, u32 seen[2])
{
	u32 h, hit, within;

	for (h = 0; h < 2; h++) {
		const struct wsmon_cluster *c = &r->c[h];

		hit = r->n[h] && r->s[h].seen_ns > since;
		if (!c->nr) {
			seen[h] = hit * WSMON_ONE;
			continue;
		}
		seen[h] = cluster_share(c, (hit + hweight64(c->seen)) * WSMON_ONE);
		within = seen[h] * (WSMON_ONE - seen[h]) / WSMON_ONE;
		r->found = (r->found * (AVERAGE_OF - 1) + seen[h]) / AVERAGE_OF;
		r->within = (r->within * (AVERAGE_OF - 1) + within) / AVERAGE_OF;
	}
}

/* Averages */

/* The past has a weight of at most 7/8 in moving averages */
#define AVERAGE_MAX	8

static u16 moving_average(u16 old, u16 new, unsigned int weight)
{
	int d = (int)new - (int)old;

	/* mostly; a division by what is not constant takes long */
	return old + (weight == AVERAGE_MAX ? d / AVERAGE_MAX : d / (int)weight);
}

/**
 * wsmon_region_observe - update the averages of a region after an aggregation interval
 * @r:		the region, observed at the same pages during the whole interval
 * @seen:	by half, the accessed share of its sample: the page, or its cluster (Q15)
 * @fresh:	the positions were drawn for this interval
 * @now:	the time
 *
 * If the halves agree with each other and contradict the average, their value replaces
 * it at once. Otherwise it only moves the average.
 */
void wsmon_region_observe(struct wsmon_region *r, const u32 seen[2], bool fresh, u64 now)
{
	u32 v[2] = { seen[0], r->n[1] ? seen[1] : seen[0] };
	u32 diff = v[0] > v[1] ? v[0] - v[1] : v[1] - v[0];
	u32 differ = diff * diff / WSMON_ONE;
	unsigned int weight;
	int share, mean;

	share = wsmon_region_share(r);
	mean = (v[0] + v[1]) / 2;

	if (!r->draws ||
	    (v[0] == v[1] && abs(share - mean) > WSMON_ONE * 3 / 4)) {
		if (r->draws || mean)
			r->since_ns = now;
		r->share[0] = v[0];
		r->share[1] = v[1];
		r->ref = wsmon_region_share(r);
		r->disagree = differ;
		r->draws = 1;
		return;
	}

	weight = min_t(unsigned int, r->draws + 1, AVERAGE_MAX);
	r->share[0] = moving_average(r->share[0], v[0], weight);
	r->share[1] = moving_average(r->share[1], v[1], weight);
	r->disagree = moving_average(r->disagree, differ, weight);
	if (fresh && r->draws < WSMON_DRAWS_MAX)
		r->draws++;

	share = wsmon_region_share(r);
	if (abs(share - r->ref) > WSMON_ONE / 4) {
		r->ref = share;
		r->since_ns = now;
	}
}

/*
 * What the earlier draws of a region showed: mean and variance of each half
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * Two draws, one in each half, say little of the variance of one region, and too much where the
 * halves differ. Earlier draws of the same half do better: positions are drawn anew, so the squares
 * of their deviations from the mean have the variance as their expectation. Moving averages, so
 * what is long ago fades.
 */

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
 * history_kept - tell whether histories are kept
 * @iv:	the interval
 *
 * Only of one window, of which each interval is a draw: what is looked at for longer would be put
 * where it was found by chance, and be of long ago.
 */
static bool history_kept(const struct wsmon_interval *iv)
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

	if (!history_kept(iv))
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

/*
 * What an aggregation interval teaches
 *
 * Each window has its own estimate, from samples that served it in full. Estimates for
 * different windows come from different generations of samples, so the estimate for a
 * longer window may by chance be smaller. This is not corrected: the larger of the two
 * would be too large on average.
 */

/*
 * Tell whether a sample has served for @ns. Rounds come at multiples of the sampling
 * interval, give or take half of one.
 */
static bool sample_served(const struct wsmon_interval *iv, u64 since, u64 ns)
{
	return iv->now - since + iv->slack_ns >= ns;
}

/* Was an access within the last @ns? The round at @at found it: it was since the one before. */
static bool sample_seen_within(const struct wsmon_interval *iv, u64 at, u64 ns)
{
	return at && iv->now - at + iv->slack_ns < ns;
}

/*
 * Where a window begins
 *
 * What a look finds was accessed since the look before. On a machine that is not busy looks
 * come in time, and windows begin at one. Late ones move: then a window begins between two
 * looks, and what the second of them found is partly older. A page that it found, and no later
 * look, was used at any time in between, so it counts as the part of that time which is within
 * the window. Not if that look is the last one: what it finds may be used all the time.
 */

/**
 * wsmon_looks_add - remember a look
 * @l:	the looks
 * @at:	when it was, not before the last one
 */
void wsmon_looks_add(struct wsmon_looks *l, u64 at)
{
	l->at[l->nr++ % WSMON_LOOKS] = at;
}

/*
 * Find the looks around a time that is not within @slack of one.
 * @from:	set to the last look before
 * @to:		set to the first look after
 * Both are set to the look if there is one near, or if the last look is the next one.
 * Return: number of looks after @to; -1 if it is too long ago, or there was none since.
 */
static int looks_around(const struct wsmon_looks *l, u64 at, u64 slack, u64 *from, u64 *to)
{
	u64 first = l->nr - min_t(u64, l->nr, WSMON_LOOKS), lo = first, hi = l->nr, mid;

	/* the first look after @at */
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (l->at[mid % WSMON_LOOKS] > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == first || lo == l->nr)
		return -1;
	*from = l->at[(lo - 1) % WSMON_LOOKS];
	*to = l->at[lo % WSMON_LOOKS];
	if (*to - at <= slack && lo + 1 < l->nr)
		*from = *to;
	else if (at - *from <= slack || lo + 1 == l->nr)
		*to = *from;
	return l->nr - 1 - lo;
}

/* The part of what was found at @at, since @from, that is within a window since @begin (Q15) */
static u32 edge_part(u64 from, u64 begin, u64 at)
{
	/* at most some intervals, less than 2^48 ns */
	return at > begin ? div64_u64((at - begin) << WSMON_SHIFT, at - from) : 0;
}

/**
 * wsmon_interval_edges - find out where windows begin, of what was looked at
 * @iv:		the interval; sets @from_ns, @to_ns, @whole and @part
 * @rounds:	all looks at samples
 * @ends:	the ends of intervals, the last one at @iv->now
 */
void wsmon_interval_edges(struct wsmon_interval *iv, const struct wsmon_looks *rounds,
			  const struct wsmon_looks *ends)
{
	u64 begin, from, to;
	int after;
	u32 k;

	for (k = 0; k < iv->nr_windows; k++) {
		begin = iv->now - min(iv->now, iv->window_ns[k]);
		iv->to_ns[k] = 0;
		if (looks_around(rounds, begin, iv->slack_ns, &from, &to) >= 0) {
			iv->from_ns[k] = from;
			iv->to_ns[k] = to;
		}
		iv->whole[k] = 0;
		iv->part[k] = 0;
		after = looks_around(ends, begin, iv->slack_ns, &from, &to);
		if (after < 0)
			continue;
		/* it began with an interval: with that of @to, or with the next one */
		iv->whole[k] = after + (from == to && from <= begin);
		if (from < to)
			iv->part[k] = edge_part(from, begin, to);
	}
}

/**
 * wsmon_interval_phases - the number of turns that regions take, one an interval
 * @iv:	the interval
 */
u64 wsmon_interval_phases(const struct wsmon_interval *iv)
{
	u64 longest = iv->window_ns[iv->nr_windows - 1];

	return max_t(u64, div64_u64(longest + iv->aggr_ns - 1, iv->aggr_ns), 1);
}

/**
 * wsmon_regions_turn - tell whether it is a region's turn
 * @rs:		the regions
 * @i:		index of the region
 * @turn:	the number of the turn
 * @phases:	how many turns there are until it is a region's again
 *
 * Turns are by address. Buddies, which can be parts of different sizes of their halves of a cell,
 * have theirs together, by that cell: else they could never be merged.
 */
bool wsmon_regions_turn(const struct wsmon_regions *rs, u32 i, u64 turn, u64 phases)
{
	u64 start = rs->r[i].start, end = rs->r[i].end;

	if (wsmon_regions_buddies(rs, i))
		end = rs->r[i + 1].end;
	else if (i && wsmon_regions_buddies(rs, i - 1))
		start = rs->r[i - 1].start;
	start >>= fls64(start ^ (end - 1));
	return (start * 0x9e3779b97f4a7c15ULL >> 32) % phases == turn % phases;
}

/**
 * wsmon_region_due - tell whether it is time to drop the samples of a region
 * @rs:	the regions
 * @i:	index of the region
 * @iv:	the interval that ends
 *
 * Samples are dropped, and drawn again, when they have served the longest window. If
 * that is longer than an interval, regions take turns, which are counted in intervals in which
 * the target ran: if all intervals counted, a target that runs once a window would always drop
 * the same regions.
 */
bool wsmon_region_due(const struct wsmon_regions *rs, u32 i, const struct wsmon_interval *iv)
{
	u64 phases = wsmon_interval_phases(iv);

	if (iv->drop_all || phases == 1)
		return true;
	return sample_served(iv, rs->r[i].armed_ns, iv->window_ns[iv->nr_windows - 1]) &&
	       wsmon_regions_turn(rs, i, iv->active, phases);
}

/* Is the memory younger than a window, and are all accesses to it known? */
static bool region_younger_than(const struct wsmon_interval *iv, const struct wsmon_region *r,
				u64 window)
{
	return r->origin_ns && iv->now - r->origin_ns <= window + iv->slack_ns;
}

/**
 * wsmon_region_answers - tell whether a region's samples have served a window
 * @r:	the region, not stale
 * @iv:	the interval that ends
 * @k:	the window
 */
bool wsmon_region_answers(const struct wsmon_region *r, const struct wsmon_interval *iv, u32 k)
{
	return region_younger_than(iv, r, iv->window_ns[k]) ||
	       sample_served(iv, r->armed_ns, iv->window_ns[k]);
}

/**
 * wsmon_seen_within - tell whether an access was within a window
 * @iv:	the interval that ends
 * @at:	when a round found the access; 0: never
 * @k:	the window
 */
bool wsmon_seen_within(const struct wsmon_interval *iv, u64 at, u32 k)
{
	return sample_seen_within(iv, at, iv->window_ns[k]);
}

/**
 * wsmon_seen_share - return how much of an access was within a window
 * @iv:		the interval that ends
 * @at:		when a round found the access; 0: never
 * @k:		the window
 *
 * Return: the share (Q15): all or nothing, unless the window began between two rounds.
 */
u32 wsmon_seen_share(const struct wsmon_interval *iv, u64 at, u32 k)
{
	if (!at || !iv->to_ns[k])
		return wsmon_seen_within(iv, at, k) * WSMON_ONE;
	if (at > iv->to_ns[k])
		return WSMON_ONE;
	if (at <= iv->from_ns[k])
		return 0;
	return edge_part(iv->from_ns[k], iv->now - iv->window_ns[k], at);
}

/*
 * Pages made huge, or merged, without an access
 *
 * The kernel makes entries with the bit set, of pages that nobody has accessed: by collapsing a
 * page table, and by merging pages (Documentation/internals/design.rst). So if a page had an
 * entry of its own and is found in such an entry, the bit counts from the next look on. What is
 * missing are accesses between the last look at the old entry and the first at the new one. The
 * working set of a window is concave in its length (Denning and Schwartz, CACM 15:3, 1972). So in
 * such a gap, on average, at most as much is accessed for the first time as in the time of that
 * length before it. Where there was no look before the gap, its pages may have been accessed, or
 * not (Manski, Partial Identification of Probability Distributions, 2003).
 */

/* Was a half not observed in the interval, up to when the kernel made its entry anew? */
static bool region_lost(const struct wsmon_region *r, u32 h, u64 since)
{
	return r->blind & BIT(h) && r->made_ns[h] > since && r->s[h].seen_ns <= since;
}

/* Note for window k what is missing of a half; @hit: it was accessed. */
static void region_learn_made(struct wsmon_region *r, const struct wsmon_interval *iv, u32 k,
			      u32 h, bool hit, bool all)
{
	u64 at = r->made_ns[h];
	bool made = all ? at : sample_seen_within(iv, at, iv->window_ns[k]);

	r->lost[h] &= ~BIT(k);
	r->gap[h] &= ~BIT(k);
	if (!made)
		return;
	if (r->recent & BIT(h))
		r->gap[h] |= BIT(k);
	if (hit || !(r->blind & BIT(h)))
		return;
	r->lost[h] |= BIT(k);
	r->out[k][h] = r->share[h];
}

static void region_learn(struct wsmon_region *r, const struct wsmon_interval *iv)
{
	u32 seen[2];
	u32 h, k;

	/* rounds the target slept through count as checks that found nothing */
	r->checks += iv->idle * (r->n[1] ? 2 : 1);
	if (!r->checks)
		return;
	wsmon_clusters_age(r, iv->epoch);
	if (region_lost(r, 0, iv->begin_ns) || region_lost(r, 1, iv->begin_ns)) {
		/* the interval says nothing of it */
		r->checks = 0;
		r->hits = 0;
	} else {
		clusters_seen(r, iv->begin_ns, seen);
		wsmon_region_observe(r, seen, r->armed_ns >= iv->begin_ns, iv->now);
	}

	for (k = 0; k < iv->nr_windows; k++) {
		bool all = region_younger_than(iv, r, iv->window_ns[k]);

		/* until a sample has served the window, use what it saw of a part of it */
		if (all || sample_served(iv, r->armed_ns, iv->window_ns[k]))
			r->whole |= BIT(k);
		else if (r->whole & BIT(k))
			continue;
		r->known |= BIT(k);
		r->guess &= ~BIT(k);
		for (h = 0; h < 2; h++) {
			u64 at = r->s[h].seen_ns;
			u32 hit = !r->n[h] ? 0 : all ? !!at * WSMON_ONE :
				  wsmon_seen_share(iv, at, k);
			bool partly = hit % WSMON_ONE || (r->c[h].nr && iv->part[k] && !all);

			r->out[k][h] = !r->c[h].nr ? hit / max(r->s[h].times, 1U) :
				       wsmon_cluster_share(r, h, hit, iv, k, all);
			r->exact[h] &= ~BIT(k);
			if (max_t(u32, r->c[h].nr, 1) == r->n[h] && r->weight <= 1 && !partly)
				r->exact[h] |= BIT(k);
			r->doubtful[h] &= ~BIT(k);
			if (hit && r->vague & BIT(h))
				r->doubtful[h] |= BIT(k);
			region_learn_made(r, iv, k, h, hit, all);
		}
	}
}

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/**
 * wsmon_regions_edge - set by how much the time that samples serve is not the interval up to now,
 *			and when that began
 * @rs:		the regions
 * @iv:		the interval, from when the first sample was armed to when it is dropped
 * @arming_ns:	how long it took to arm samples, one after the other
 * @dropping_ns: likewise, to drop them
 */
void wsmon_regions_edge(struct wsmon_regions *rs, const struct wsmon_interval *iv, u64 arming_ns,
			u64 dropping_ns)
{
	u64 first = iv->now - iv->begin_ns, last = first + dropping_ns - arming_ns;
	u64 edge = max(distance(first, iv->aggr_ns), distance(last, iv->aggr_ns));
	/* the first sample is armed so long before it should be, the last one so long after */
	u64 late = max(distance(first, iv->aggr_ns), distance(first, iv->aggr_ns + arming_ns));
	u64 window = iv->window_ns[0];

	/* windows and intervals are shorter than 2^48 ns */
	rs->edge = div64_u64(min(edge, window) << WSMON_SHIFT, window);
	rs->begin_ns = iv->begin_ns;
	rs->end_ns = iv->now;
	late = min(max(late, dropping_ns), iv->aggr_ns);
	rs->late = div64_u64(late << WSMON_SHIFT, iv->aggr_ns);
}

/**
 * wsmon_regions_learn - update what is known about regions from what their samples saw
 * @rs:		the regions, their samples checked for the last time in this interval
 * @iv:		the interval
 * @slept:	the target did not run in it, so samples were not checked
 *
 * Regions that could not be checked because the mmap lock was busy keep their last
 * figures, which widen the confidence interval.
 */
void wsmon_regions_learn(struct wsmon_regions *rs, const struct wsmon_interval *iv,
			 bool slept)
{
	bool kept = history_kept(iv);
	u32 i;

	for (i = 0; i < rs->nr; i++) {
		struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		r->stale = !r->armed_ns || !(r->last || slept);
		if (!r->stale)
			region_learn(r, iv);
		/* what flipped, is new, or was not drawn anew has no past */
		if (!kept || !r->dropped || r->draws <= 1)
			r->times = 0;
		if (!r->stale)
			continue;
		r->whole = 0;
		/* the bits that are set now are of this interval or of the next one */
		r->c[0].nr = 0;
		r->c[1].nr = 0;
	}
}

/**
 * wsmon_regions_rest - put regions at rest whose samples were dropped, reset counters
 * @rs:	the regions
 */
void wsmon_regions_rest(struct wsmon_regions *rs)
{
	u32 i;

	for (i = 0; i < rs->nr; i++) {
		struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		if (r->dropped) {
			r->armed_ns = 0;
			r->origin_ns = 0;
			r->absent = 0;
			r->vague = 0;
			region_forget_entries(r);
		}
		r->c[0].seen = 0;
		r->c[1].seen = 0;
		r->went = 0;
		r->dropped = 0;
		r->due = 0;
		r->last = 0;
		r->hits = 0;
		r->checks = 0;
	}
}
