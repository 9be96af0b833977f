// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_space.c - the mapped pages of a target, as extents grouped into areas
 *
 * Pure: no mm, no allocation, no locks. May sleep. wsmon_mm.c builds a space, and regions tile it.
 *
 * An area usually is one extent. If a target has more extents than its regions can
 * cover, neighbours are coalesced, and an area has gaps. The mapped pages of an area
 * are numbered: wsmon_area_rank() finds the number of a page, wsmon_area_select() the page of a
 * number. So a gap of terabytes has no weight in an estimate, and no samples.
 */
#include <linux/sched.h>

#include "wsmon_regions.h"

/** wsmon_space_pages - count the mapped pages of a target */
u64 wsmon_space_pages(const struct wsmon_space *sp)
{
	const struct wsmon_extent *last;

	if (!sp->nr_ext)
		return 0;
	last = &sp->ext[sp->nr_ext - 1];
	return last->base + last->end - last->start;
}

/**
 * wsmon_area_rank - count the mapped pages of an area below a page
 * @sp:		the space
 * @a:		the area
 * @vpn:	any page number
 *
 * O(log extents of the area).
 */
u64 wsmon_area_rank(const struct wsmon_space *sp, const struct wsmon_area *a,
		    u64 vpn)
{
	const struct wsmon_extent *ext = sp->ext + a->first;
	u32 lo = 0, hi = a->nr;

	if (hi == 1)
		return vpn <= ext->start ? 0 : min(vpn, ext->end) - ext->start;
	/* find the first extent that ends after vpn */
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (ext[mid].end <= vpn)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == a->nr)
		return ext[lo - 1].base - ext[0].base +
		       ext[lo - 1].end - ext[lo - 1].start;
	return ext[lo].base - ext[0].base +
	       (vpn > ext[lo].start ? vpn - ext[lo].start : 0);
}

/**
 * wsmon_area_select - find the mapped page of an area that has a given rank
 * @sp:	the space
 * @a:	the area
 * @k:	rank, less than the area's mapped pages
 *
 * O(log extents of the area).
 */
u64 wsmon_area_select(const struct wsmon_space *sp, const struct wsmon_area *a,
		      u64 k)
{
	const struct wsmon_extent *ext = sp->ext + a->first;
	u32 lo = 0, hi = a->nr - 1;

	/* find the last extent whose first page has a rank of at most k */
	while (lo < hi) {
		u32 mid = lo + (hi - lo + 1) / 2;

		if (ext[mid].base - ext[0].base <= k)
			lo = mid;
		else
			hi = mid - 1;
	}
	return ext[lo].start + (k - (ext[lo].base - ext[0].base));
}

/*
 * Halve the number of extents by closing the narrowest gaps. The pages of a closed gap count as
 * mapped from now on. They are never found accessed, so estimates stay unbiased, but become less
 * precise.
 */
static void space_coarsen(struct wsmon_space *sp)
{
	u64 gap = 1;
	u32 i, nr;

	do {
		nr = 0;
		for (i = 1; i < sp->nr_ext; i++) {
			struct wsmon_extent *last = &sp->ext[nr];
			struct wsmon_extent *e = &sp->ext[i];

			if (e->start - last->end <= gap) {
				if (last->class != e->class)
					last->class = WSMON_CLASS_MIXED;
				last->end = e->end;
			} else {
				sp->ext[++nr] = *e;
			}
		}
		sp->nr_ext = nr + 1;
		gap *= 2;
	} while (sp->nr_ext > WSMON_MAX_EXTENTS / 2);

	for (i = 1; i < sp->nr_ext; i++)
		sp->ext[i].base = sp->ext[i - 1].base +
				  sp->ext[i - 1].end - sp->ext[i - 1].start;
}

/**
 * wsmon_space_add - append a mapping, or a range of one
 * @sp:		the space
 * @start:	first page, not below the end of the last extent
 * @end:	end, exclusive
 * @class:	enum wsmon_class
 * @joined:	the range belongs to the same mapping as the last extent
 *
 * Extends the last extent if there is no gap and the class is the same. When WSMON_MAX_EXTENTS
 * extents are used, the narrowest gaps are closed, so that any number of mappings fits, in
 * O(log extents) amortised time for each.
 *
 * Return: 0; -EINVAL if the range is empty or out of order; -ENOSPC if @sp->cap extents are used,
 * and @sp->cap is below WSMON_MAX_EXTENTS.
 */
int wsmon_space_add(struct wsmon_space *sp, u64 start, u64 end, u32 class,
		    bool joined)
{
	struct wsmon_extent *last = NULL;

	if (sp->nr_ext)
		last = &sp->ext[sp->nr_ext - 1];
	if (start >= end || (last && start < last->end))
		return -EINVAL;

	if (last && last->end == start && last->class == class) {
		last->end = end;
		return 0;
	}
	if (sp->nr_ext == WSMON_MAX_EXTENTS)
		space_coarsen(sp);
	else if (sp->nr_ext == sp->cap)
		return -ENOSPC;

	sp->ext[sp->nr_ext].start = start;
	sp->ext[sp->nr_ext].end = end;
	sp->ext[sp->nr_ext].base = wsmon_space_pages(sp);
	sp->ext[sp->nr_ext].class = class;
	sp->ext[sp->nr_ext].joined = joined && last;
	sp->nr_ext++;
	return 0;
}

/*
 * Make areas. Without @mix, coalesce neighbours of one class with together at most @pages mapped
 * pages. With @mix, coalesce all neighbours of one class, and others up to @pages mapped pages.
 * The extents of one mapping always share an area.
 */
static void space_group_by(struct wsmon_space *sp, u64 pages, bool mix)
{
	u64 sum = 0;
	u32 i;

	sp->nr_area = 0;
	for (i = 0; i < sp->nr_ext; i++) {
		const struct wsmon_extent *e = &sp->ext[i];
		u64 size = e->end - e->start;
		struct wsmon_area *a = &sp->area[max(sp->nr_area, 1U) - 1];
		bool same = sp->nr_area && a->class == e->class, fit = sum + size <= pages;

		if (sp->nr_area && (e->joined || (mix ? same || fit : same && fit))) {
			a->nr++;
			if (a->class != e->class)
				a->class = WSMON_CLASS_MIXED;
			sum += size;
			continue;
		}
		a = &sp->area[sp->nr_area++];
		a->first = i;
		a->nr = 1;
		a->class = e->class;
		sum = size;
	}
}

/**
 * wsmon_space_group - group the extents into areas
 * @sp:		the space; @area has room for @nr_ext areas
 * @max_areas:	maximum number of areas, not 0
 *
 * Each mapping is an area of its own if there are few enough mappings. Otherwise neighbours are
 * coalesced up to some number of pages, the smallest power of two that keeps @max_areas: only
 * neighbours of one class if that is enough; otherwise all neighbours of one class, whatever their
 * size, and others up to this number of pages.
 * O(extents * log pages).
 */
void wsmon_space_group(struct wsmon_space *sp, u32 max_areas)
{
	u64 pages;
	bool mix;

	space_group_by(sp, 0, false);
	sp->coalesced = sp->nr_area > max_areas;
	if (!sp->coalesced)
		return;
	space_group_by(sp, U64_MAX, false);
	mix = sp->nr_area > max_areas;
	pages = 1;
	do {
		cond_resched();
		space_group_by(sp, pages, mix);
		pages *= 2;
	} while (sp->nr_area > max_areas && pages);
}

/** wsmon_space_same - tell whether two spaces have the same areas and extents */
bool wsmon_space_same(const struct wsmon_space *a, const struct wsmon_space *b)
{
	u32 i;

	if (a->nr_ext != b->nr_ext || a->nr_area != b->nr_area)
		return false;
	for (i = 0; i < a->nr_ext; i++) {
		if (a->ext[i].start != b->ext[i].start ||
		    a->ext[i].end != b->ext[i].end ||
		    a->ext[i].class != b->ext[i].class)
			return false;
	}
	for (i = 0; i < a->nr_area; i++) {
		if (a->area[i].first != b->area[i].first ||
		    a->area[i].nr != b->area[i].nr)
			return false;
	}
	return true;
}

/*
 * In how many members of a group a sample page is looked at
 *
 * A page that several members map was accessed if any member accessed it. Looking at it in each of
 * two thousand members would cost too much. So each sample has a random reach in (0, 1], and each
 * member has a random rank for this sample, uniform in (0, 1]. The sample is looked at in the
 * members whose rank is at most its reach.
 *
 * The probability that a reach is at least t is min(1, chance / t). If t is the lowest rank of the
 * members that accessed the page, the sample sees an access if its reach is at least t. Then it
 * counts with the inverse of the probability (Horvitz and Thompson, 1952), otherwise it counts 0.
 * So the mean of an accessed page is 1, whichever and however many members use it; the mean of any
 * other page is 0.
 *
 * With chance = FIRST / mappers, the page is looked at in FIRST (1 + ln(mappers / FIRST)) members
 * on average. A page that all members use has weight 1 in nearly all cases, because some of its
 * ranks are below chance. Ranks, reaches and chances are in units of 2^-32.
 */

/* If at most this many members map a page, it is looked at in all of them */
#define FIRST	8U

/**
 * wsmon_sample_reach - draw the reach of a sample
 * @s:		the sample: @chance and @reach are set
 * @mappers:	number of members that map the page, at least 1
 * @random:	uniform
 */
void wsmon_sample_reach(struct wsmon_sample *s, u64 mappers, u64 random)
{
	u64 first = max_t(u64, FIRST, mappers / WSMON_WEIGHT_MAX + 1);
	u32 v = random >> 32;

	s->chance = U32_MAX;
	s->reach = U32_MAX;
	if (mappers <= first)
		return;
	s->chance = div64_u64(first << 32, mappers);
	if (v > s->chance)
		s->reach = div64_u64((u64)s->chance << 32, v);
}

/**
 * wsmon_sample_weight - compute the weight of an access that a sample saw
 * @s:		the sample
 * @rank:	the lowest rank of the members that accessed the page, at most @s->reach
 *
 * Return: the weight (Q15), from WSMON_ONE to WSMON_WEIGHT_MAX * WSMON_ONE.
 */
u32 wsmon_sample_weight(const struct wsmon_sample *s, u32 rank)
{
	return rank <= s->chance ? WSMON_ONE :
	       div64_u64((u64)rank * WSMON_ONE, s->chance);
}
