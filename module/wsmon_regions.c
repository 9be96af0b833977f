// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_regions.c - regions: buddy cells, their samples, and the figures learned from samples
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
 * Merging undoes a split, once each half is one region.
 */
#include <linux/bitops.h>

#include "wsmon_regions.h"

/**
 * wsmon_cell_mid - find where a region splits
 * @start:	first page
 * @end:	end, exclusive
 *
 * Return: the middle of the smallest cell that holds both ends, between @start and @end; for a
 * single page @end, as its upper half is empty.
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
 * wsmon_region_clip - set a region to a range, clipped to its mapped pages, and count them
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

/** wsmon_regions_search - find the first region that ends after @page. Return: @rs->nr if none. */
u32 wsmon_regions_search(const struct wsmon_regions *rs, u64 page)
{
	u32 lo = 0, hi = rs->nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (rs->r[mid].end <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/**
 * wsmon_regions_buddies - tell whether a region and the next are the halves of a cell
 * @rs:	the regions
 * @i:	index of the lower region
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

/* Note which kinds of page-table entries the last looks found. */
static void region_keep_entries(struct wsmon_region *r)
{
	u8 made = r->made & ~r->own, known = r->own | made;

	r->was_own = (r->was_own & ~known) | r->own;
	r->was_made = (r->was_made & ~known) | made;
}

/* Forget which kind of page-table entry mapped each sample page, but not which its half had. */
static void region_forget_entries(struct wsmon_region *r)
{
	region_keep_entries(r);
	memset(r->made_ns, 0, sizeof(r->made_ns));
	r->own = 0;
	r->made = 0;
	r->hit = 0;
	r->looked = 0;
	r->again = 0;
	r->blind = 0;
	r->recent = 0;
}

/** wsmon_region_reset_samples - put a region at rest, without sample positions */
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

/* Don't report a region's samples if its share is this close to 0 or 1 ... */
#define SHARE_NEARLY		(WSMON_ONE / 512)
/* ... after at least this many draws */
#define DRAWS_SETTLED		4

/* Position of a sample within its half [@start, @end), in units of 1 / WSMON_SAMPLES_PLACES */
static u16 sample_position(const struct wsmon_sample *s, u64 start, u64 end)
{
	/* a half has less than 2^45 pages */
	return div64_u64((s->vpn - start) * WSMON_SAMPLES_PLACES, end - start);
}

/**
 * wsmon_region_samples - encode a region's sample positions and hits for a record
 * @r:		the region, observed until now
 * @since:	when the interval began, ns
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
 * Clusters: the pages around a sample page, whose page-table entries are near its own
 *
 * Finding an entry is expensive, reading its neighbours is cheap. So an area is divided into
 * clusters, and all pages of a sample page's cluster are looked at. The cluster's accessed share
 * counts for the half. This is unbiased: pages are drawn uniformly, so clusters are drawn with
 * probabilities proportional to their sizes (Cochran, Sampling Techniques, 3rd ed. 1977, 9A.1).
 * The cluster's share varies at most as much as a single page. It does not vary at all where
 * accesses have gaps of one size that divides the cluster's size.
 *
 * Each set bit that is cleared must be reported to reclaim. So clusters are used only where they
 * pay: where most of the variance of single pages is within clusters, and where not nearly all
 * pages are accessed. Other regions try clusters now and then. Only anonymous memory has clusters,
 * because in files one fault maps several pages. Neither the choice of a cluster nor its size
 * depends on the accesses while it serves, so neither biases the estimate.
 */

/* No clusters above this share */
#define SHARE_MAX	(WSMON_ONE * 7 / 8)
/* Minimum size of a cluster, unless its half is smaller: entries in a cache line */
#define SIZE_MIN	8U

/* One in TRY_COLD regions with no accesses tries clusters; one in TRY_AGAIN if they did not pay */
#define TRY_COLD	8
#define TRY_AGAIN	64
/* A share of at most this counts as no accesses */
#define SHARE_MIN	(WSMON_ONE / 512)

/* In the moving averages of what clusters found, the past has a weight of 7/8 */
#define AVERAGE_OF	8

/* Maximum intervals in a window with clusters: a quarter of the range of 16-bit interval numbers */
#define INTERVALS_MAX	0x4000

/** wsmon_clusters_forget - remove the clusters of a region's samples */
void wsmon_clusters_forget(struct wsmon_region *r)
{
	memset(&r->c[0], 0, offsetof(struct wsmon_cluster, seen_at));
	memset(&r->c[1], 0, offsetof(struct wsmon_cluster, seen_at));
}

/** wsmon_clusters_pay - tell whether most of the variance of single pages was within clusters */
bool wsmon_clusters_pay(const struct wsmon_region *r)
{
	return 2 * r->within > r->found * (WSMON_ONE - r->found) / WSMON_ONE;
}

/* Are all pages of [@start, @end) mapped pages of the half? */
static bool cluster_fits(const struct wsmon_space *sp, const struct wsmon_region *r, u32 h,
			 u64 start, u64 end)
{
	const struct wsmon_area *a = &sp->area[r->area];
	u64 mid = wsmon_cell_mid(r->start, r->end);

	return start >= (h ? mid : r->start) && end <= (h ? r->end : mid) &&
	       (a->nr == 1 ||
		wsmon_area_rank(sp, a, end) - wsmon_area_rank(sp, a, start) == end - start);
}

/* Size for about one accessed page in a cluster: clearing bits costs more than reading them. */
static u64 cluster_size(u32 share)
{
	u32 size = SIZE_MIN;

	while (size < WSMON_CLUSTER && share * size < WSMON_ONE * 7 / 8)
		size *= 2;
	return size;
}

/*
 * Does a region use clusters for this draw? Always if they pay, or if single pages found accesses
 * and no cluster did yet; else in one draw of several.
 */
static bool clusters_tried(const struct wsmon_region *r, u32 share, u64 epoch)
{
	if (r->found ? wsmon_clusters_pay(r) : share > SHARE_MIN)
		return true;
	return !(wsmon_hash64(r->start + epoch) % (r->found ? TRY_AGAIN : TRY_COLD));
}

/**
 * wsmon_clusters_draw - set the clusters of samples that were just drawn
 * @sp:	the space
 * @r:	the region, at rest, with its samples drawn
 * @epoch:	number of the draw
 */
void wsmon_clusters_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 epoch)
{
	u32 share = wsmon_region_share(r), h;
	u64 mid, mask, start, end;

	if (share > SHARE_MAX || !wsmon_class_is_anon(sp->area[r->area].class) ||
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
 * wsmon_clusters_wanted - tell whether the attributes allow clusters
 * @a:	the attributes
 *
 * All windows must be multiples of the interval, because clusters record the interval of an access,
 * not its round. They must not exceed INTERVALS_MAX intervals.
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
 * wsmon_clusters_fit - forget clusters that no longer fit the changed mappings
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
 * @pages:	bit i: page i was accessed; not set for the sample page
 * @epoch:	number of the interval
 */
void wsmon_cluster_note(struct wsmon_cluster *c, u64 pages, u16 epoch)
{
	c->ever |= pages;
	for (; pages; pages &= pages - 1)
		c->seen_at[__ffs64(pages)] = epoch;
}

/**
 * wsmon_clusters_age - forget accesses so old that interval numbers would soon repeat
 * @r:		the region
 * @epoch:	number of the interval
 *
 * To be called in each interval while the samples stay armed.
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

/* Count the pages of a cluster accessed within window @k, or with @all since arming. Return: Q15 */
static u32 cluster_count(const struct wsmon_cluster *c, const struct wsmon_interval *iv, u32 k,
			 bool all)
{
	u64 pages;
	u32 sum = 0;

	if (all)
		return hweight64(c->ever) * WSMON_ONE;
	for (pages = c->ever; pages; pages &= pages - 1) {
		u16 age = iv->epoch - c->seen_at[__ffs64(pages)];

		/* if @whole is unknown, assume that intervals had their nominal length */
		if (iv->whole[k] ? age < iv->whole[k] :
				   age * iv->aggr_ns + iv->slack_ns < iv->window_ns[k])
			sum += WSMON_ONE;
		else if (age == iv->whole[k])
			sum += iv->part[k];
	}
	return sum;
}

/* Divide a number of pages (Q15) by the size of the cluster, rounded. Return: the share (Q15) */
static u32 cluster_share(const struct wsmon_cluster *c, u32 pages)
{
	return (pages + c->nr / 2) / c->nr;
}

/**
 * wsmon_cluster_share - estimate the accessed share of a half by its sample page and cluster
 * @r:		the region
 * @h:		the half, which has a cluster
 * @hit:	part of the sample page's access that was within the window (Q15)
 * @iv:		the interval
 * @k:		the window
 * @all:	count all accesses since the samples were armed
 *
 * Return: the accessed share (Q15).
 */
u32 wsmon_cluster_share(const struct wsmon_region *r, u32 h, u32 hit,
			const struct wsmon_interval *iv, u32 k, bool all)
{
	const struct wsmon_cluster *c = &r->c[h];

	return cluster_share(c, hit + cluster_count(c, iv, k, all));
}

/*
 * Set @seen, by half, to the share (Q15) of the sample page or its cluster that was accessed in the
 * interval since @since. Also update the averages of what clusters found.
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

/* In moving averages, the past has a weight of at most 7/8 */
#define AVERAGE_MAX	8

static u16 moving_average(u16 old, u16 new, unsigned int weight)
{
	int d = (int)new - (int)old;

	/* @weight mostly is AVERAGE_MAX, and dividing by a constant is faster */
	return old + (weight == AVERAGE_MAX ? d / AVERAGE_MAX : d / (int)weight);
}

/**
 * wsmon_region_observe - update the averages of a region after an aggregation interval
 * @r:		the region, observed at the same pages during the whole interval
 * @seen:	by half, the accessed share of the sample page or its cluster (Q15)
 * @fresh:	the positions were drawn for this interval
 * @now:	the time
 *
 * If the halves agree with each other and contradict the average, their value replaces the
 * average at once. Otherwise it only moves the average.
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
 * History: mean and variance of each half over earlier draws
 *
 * The two draws of one interval, one in each half, are a poor estimate of a region's variance, and
 * overestimate it where the halves differ. Earlier draws of the same half are better: each interval
 * draws new positions, so the expectation of the squared deviation from the mean is the variance.
 * Moving averages let old draws fade.
 */

/* Moving averages weight the past as this many draws */
#define TIMES_MAX	8U
/* After a split or merge, the history counts as at most this many draws: it adapts quickly */
#define TIMES_CHANGED	3U

/* A variance is at most a quarter of the squared range: weights are up to 2^8 */
#define VAR_MAX		(((u64)WSMON_WEIGHT_MAX * WSMON_WEIGHT_MAX << 2 * WSMON_SHIFT) / 4)

/*
 * Add @x, the @n-th value of a half, to mean and variance. The correction terms are for the error
 * of the mean itself: the mean of n - 1 values has 1 / (n - 1) of their variance; a mean with
 * weights that fade as (1 - 1/n)^i has 1 / (2n - 1) of it.
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

/*
 * Keep histories only for a single window that fits into one interval, so that each interval is a
 * draw: longer windows would give stale, biased values.
 */
static bool history_kept(const struct wsmon_interval *iv)
{
	return iv->nr_windows == 1 && wsmon_interval_phases(iv) == 1;
}

/**
 * wsmon_regions_note - add the draws of an interval to the histories
 * @rs:	the regions
 * @iv:	the interval that ends
 *
 * To be called after the estimate, which compares these draws with earlier draws.
 */
void wsmon_regions_note(struct wsmon_regions *rs, const struct wsmon_interval *iv)
{
	u32 i, h;

	if (!history_kept(iv))
		return;
	for (i = 0; i < rs->nr; i++) {
		struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		/* skip samples that were armed too late to serve the window */
		if (!r->dropped || r->stale || !r->n[1] || !wsmon_region_answers(r, iv, 0))
			continue;
		/* @out of a lost half is not a draw */
		if ((r->lost[0] | r->lost[1]) & BIT(0))
			continue;
		r->times = min(r->times + 1U, TIMES_MAX);
		for (h = 0; h < 2; h++)
			history_note(&r->past, h, r->out[0][h], r->times);
	}
}

/**
 * wsmon_history_split - copy the history of one half of a region to the other half
 * @r:		a region after a split, still with the histories of the region before it
 * @half:	the half that became @r: copy its history
 */
void wsmon_history_split(struct wsmon_region *r, u32 half)
{
	r->past.mean[!half] = r->past.mean[half];
	r->past.var[!half] = r->past.var[half];
	r->times = min_t(u32, r->times, TIMES_CHANGED);
}

/* The mean of the halves' values, weighted by size; values are below 2^48 */
static u64 mean_of_halves(const struct wsmon_region *r, u64 lower, u64 upper)
{
	u64 part = div64_u64(r->n[0] << WSMON_SHIFT, wsmon_region_pages(r));

	return (part * lower + (WSMON_ONE - part) * upper) >> WSMON_SHIFT;
}

/**
 * wsmon_history_merge - set the history of a half from the region that becomes this half
 * @out:	the merged region; its @times become at most @r's, and at most TIMES_CHANGED
 * @half:	the half of @out
 * @r:		the region before the merge
 *
 * The variance is the mean variance of the halves of @r, plus the variance of their means.
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
 * Learning from an aggregation interval
 *
 * Each window has its own estimate, from samples that served it in full. Estimates for
 * different windows come from different generations of samples, so the estimate for a
 * longer window may by chance be smaller. This is not corrected: taking the larger of the two
 * estimates would be too large on average.
 */

/*
 * Tell whether a sample armed at @since has served for @ns. Rounds come at multiples of the
 * sampling interval, plus or minus half a sampling interval.
 */
static bool sample_served(const struct wsmon_interval *iv, u64 since, u64 ns)
{
	return iv->now - since + iv->slack_ns >= ns;
}

/* Did a round within the last @ns find an access? It found it at @at; 0: never. */
static bool sample_seen_within(const struct wsmon_interval *iv, u64 at, u64 ns)
{
	return at && iv->now - at + iv->slack_ns < ns;
}

/*
 * Windows that begin between two looks
 *
 * A look finds the pages that were accessed since the previous look. On a machine that is not busy,
 * looks come in time, and each window begins at a look. If looks come late, a window may begin
 * between two looks, and some accesses that the second look finds precede the window. If no later
 * look finds such a page accessed, its last access was at an unknown time between the two looks. So
 * the page counts as the fraction of this time that is within the window. This does not apply if
 * the second look is the last one, because its pages may be in constant use.
 */

/**
 * wsmon_looks_add - remember a look
 * @l:	the looks
 * @at:	time of the look, not before the last look
 */
void wsmon_looks_add(struct wsmon_looks *l, u64 at)
{
	l->at[l->nr++ % WSMON_LOOKS] = at;
}

/*
 * Find the looks around the time @at.
 * @from:	set to the last look not after @at
 * @to:		set to the first look after @at
 * If a look is within @slack of @at, both are set to this look. If the first look after @at is also
 * the last look of all, both are set to the last look not after @at.
 * Return: number of looks after the first look after @at; -1 if @at precedes all remembered looks,
 * or no look is after it.
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

/* Part (Q15) of the time between the looks at @from and @at that is in a window since @begin */
static u32 edge_part(u64 from, u64 begin, u64 at)
{
	/* at most a few intervals: less than 2^48 ns */
	return at > begin ? div64_u64((at - begin) << WSMON_SHIFT, at - from) : 0;
}

/**
 * wsmon_interval_edges - find the looks and interval ends where the windows begin
 * @iv:		the interval; sets @from_ns, @to_ns, @whole and @part
 * @rounds:	all looks at samples
 * @ends:	the ends of intervals; the last end is @iv->now
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
		/* if it began at the end before @begin, one more interval is whole */
		iv->whole[k] = after + (from == to && from <= begin);
		if (from < to)
			iv->part[k] = edge_part(from, begin, to);
	}
}

/**
 * wsmon_interval_phases - compute after how many intervals a region has its turn again
 * @iv:	the interval
 *
 * Return: the longest window in intervals, rounded up; at least 1.
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
 * @turn:	number of the turn
 * @phases:	number of turns after which a region has its turn again
 *
 * A hash of the region's cell determines its turn. Buddies have the same turn, by the cell that
 * holds both, or they could never be merged.
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
 * Samples are dropped, and drawn again, when they have served the longest window. If the longest
 * window exceeds an interval, regions take turns. Only intervals in which the target ran count as
 * turns: otherwise a target that runs once a window would always drop the same regions.
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
 * wsmon_seen_within - tell whether a round within a window found an access
 * @iv:	the interval that ends
 * @at:	when a round found the access; 0: never
 * @k:	the window
 */
bool wsmon_seen_within(const struct wsmon_interval *iv, u64 at, u32 k)
{
	return sample_seen_within(iv, at, iv->window_ns[k]);
}

/**
 * wsmon_seen_share - compute how much of an access counts in a window
 * @iv:		the interval that ends
 * @at:		when a round found the access; 0: never
 * @k:		the window
 *
 * Return: the share (Q15): 0 or 1, unless the window began between two rounds and the second of
 * them found the access; then the fraction of the time between them that is within the window.
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
 * The kernel creates entries with the Accessed bit set for pages that nobody accessed, when it
 * collapses a page table or merges pages (Documentation/internals/design.rst). So if a page had an
 * entry of its own and is found in such an entry, its bit counts only from the next look on.
 * Accesses between the last look at the old entry and the first look at the new entry are missed:
 * this time is the gap. The working set of a window is concave in the window's length (Denning and
 * Schwartz, CACM 15:3, 1972). So, on average, at most as many pages are accessed for the first time
 * in the gap as in a period of the same length before it. If no look closely preceded the gap, the
 * page may or may not have been accessed (Manski, Partial Identification of Probability
 * Distributions, 2003).
 */

/*
 * In the interval since @since, was a half unobserved until the kernel made its entry, and did no
 * look find it accessed?
 */
static bool region_lost(const struct wsmon_region *r, u32 h, u64 since)
{
	return r->blind & BIT(h) && r->made_ns[h] > since && r->s[h].seen_ns <= since;
}

/*
 * Set the bits of @lost and @gap of a half for window @k.
 * @hit:	a look found the sample page accessed within the window
 * @all:	the memory is younger than the window
 */
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

	/* rounds in which the target slept count as checks that found nothing */
	r->checks += iv->idle * (r->n[1] ? 2 : 1);
	if (!r->checks)
		return;
	wsmon_clusters_age(r, iv->epoch);
	if (region_lost(r, 0, iv->begin_ns) || region_lost(r, 1, iv->begin_ns)) {
		/* the interval did not observe the half, so do not update the averages */
		r->checks = 0;
		r->hits = 0;
	} else {
		clusters_seen(r, iv->begin_ns, seen);
		wsmon_region_observe(r, seen, r->armed_ns >= iv->begin_ns, iv->now);
	}

	for (k = 0; k < iv->nr_windows; k++) {
		bool all = region_younger_than(iv, r, iv->window_ns[k]);

		/* until a sample has served the window, use the part of the window that it saw */
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

/**
 * wsmon_regions_edge - set how far the time that samples served differs from the nominal interval
 * @rs:		the regions; sets @edge, @late, @begin_ns and @end_ns
 * @iv:		the interval: from arming to dropping of the first sample
 * @arming_ns:	how long it took to arm all samples, one after the other
 * @dropping_ns: how long it took to drop all samples
 */
void wsmon_regions_edge(struct wsmon_regions *rs, const struct wsmon_interval *iv, u64 arming_ns,
			u64 dropping_ns)
{
	u64 first = iv->now - iv->begin_ns, last = first + dropping_ns - arming_ns;
	u64 early = wsmon_distance(first, iv->aggr_ns);
	u64 edge = max(early, wsmon_distance(last, iv->aggr_ns));
	/* how early the first sample was armed, and how late the last one */
	u64 late = max(early, wsmon_distance(first, iv->aggr_ns + arming_ns));
	u64 window = iv->window_ns[0];

	/* windows and intervals are shorter than 2^48 ns */
	rs->edge = div64_u64(min(edge, window) << WSMON_SHIFT, window);
	rs->begin_ns = iv->begin_ns;
	rs->end_ns = iv->now;
	late = min(max(late, dropping_ns), iv->aggr_ns);
	rs->late = div64_u64(late << WSMON_SHIFT, iv->aggr_ns);
}

/**
 * wsmon_regions_learn - update the figures of regions by their samples
 * @rs:		the regions, after the last check of the interval
 * @iv:		the interval
 * @slept:	the target did not run in the interval, so samples were not checked
 *
 * A region keeps its old figures and becomes stale, which widens the confidence interval, if its
 * samples were not armed, or if a busy mmap lock prevented their last check.
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
		/* drop the history if the share flipped, or the region is new or was not redrawn */
		if (!kept || !r->dropped || r->draws <= 1)
			r->times = 0;
		if (!r->stale)
			continue;
		r->whole = 0;
		/* forget the clusters: their bits may be of this interval or of the next one */
		r->c[0].nr = 0;
		r->c[1].nr = 0;
	}
}

/** wsmon_regions_rest - put regions with dropped samples at rest, and reset counters of all */
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
		} else {
			region_keep_entries(r);
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
