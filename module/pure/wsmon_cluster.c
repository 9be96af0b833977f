// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_cluster.c - pages beside a sample page, whose entries are near its own
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
#include <linux/bitops.h>

#include "wsmon_pure.h"

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
 * wsmon_clusters_seen - what the samples of a region say of an interval
 * @r:		the region
 * @since:	when the interval began
 * @seen:	by half, the accessed share (Q15)
 *
 * Notes what its clusters found, too.
 */
void wsmon_clusters_seen(struct wsmon_region *r, u64 since, u32 seen[2])
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
