// SPDX-License-Identifier: GPL-2.0
/*
 * points.c - recently sampled pages of a target
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

/* As in the module: shares closer to 0 or 1 than this count as that */
#define NEARLY		(WSMON_SHARE_ONE / 512)

/* Age of points whose page is not known */
#define AGE_ANYWHERE	24

int fine_points_room(struct fine_points *p, size_t more, size_t *all)
{
	size_t room = p->room ? p->room : 64;
	struct fine_point *point;

	while (room < p->nr + more)
		room *= 2;
	if (room == p->room)
		return 0;
	if (room - p->room > FINE_POINTS_ALL - *all)
		return -1;
	point = reallocarray(p->point, room, sizeof(*point));
	if (!point)
		return -1;
	*all += room - p->room;
	p->point = point;
	p->room = room;
	return 0;
}

void fine_points_insert(struct fine_points *p, size_t first,
			const struct fine_point *point)
{
	size_t i = p->nr++;

	for (; i > first && p->point[i - 1].page > point->page; i--)
		p->point[i] = p->point[i - 1];
	p->point[i] = *point;
}

void fine_points_clear(struct fine_points *p, size_t *all)
{
	*all -= p->room;
	free(p->point);
	memset(p, 0, sizeof(*p));
}

bool fine_partial(const struct wsmon_region_entry *e)
{
	return e->share >= NEARLY && e->share <= WSMON_SHARE_ONE - NEARLY;
}

/* The page of a sample's place in its part: the middle one if there are several */
static struct fine_point point_of(__u64 start, __u64 end, unsigned int place, bool hit)
{
	__u64 pages = end - start, each = pages / WSMON_SAMPLES_PLACES;
	__u64 rest = pages % WSMON_SAMPLES_PLACES, page;

	place %= WSMON_SAMPLES_PLACES;
	page = place * each + each / 2 +
	       (place * rest + WSMON_SAMPLES_PLACES - 1) / WSMON_SAMPLES_PLACES;
	return (struct fine_point) {
		/* small parts have no pages in the last places */
		.page = start + (page < pages ? page : pages - 1),
		.near = each < UINT32_MAX ? each : UINT32_MAX,
		.hit = hit,
	};
}

/* A sample that was like all others for long: its page may be any */
static struct fine_point any_point(__u64 start, __u64 end, __u64 hash, bool hit)
{
	return (struct fine_point) {
		.page = start + hash % (end - start),
		.age = AGE_ANYWHERE,
		.hit = hit,
	};
}

bool fine_samples(const struct wsmon_region_entry *e, __u64 start, __u64 end,
		  __u64 time_ns, struct fine_point point[2])
{
	__u64 hash = ((e->start ^ time_ns) * 0x9e3779b97f4a7c15ULL) >> 12;
	unsigned int order = 63 - __builtin_clzll(start ^ (end - 1));
	__u64 mid = (end - 1) >> order << order;
	unsigned int samples = e->samples;
	bool hit = e->share > WSMON_SHARE_ONE / 2;

	if (samples & WSMON_SAMPLES_VALID) {
		point[0] = point_of(start, mid, samples,
				    samples & WSMON_SAMPLES_LOWER_HIT);
		point[1] = point_of(mid, end, samples >> WSMON_SAMPLES_UPPER_SHIFT,
				    samples & WSMON_SAMPLES_UPPER_HIT);
		return true;
	}
	if (samples || fine_partial(e) || (hit && !e->freq))
		return false;
	point[0] = any_point(start, mid, hash, hit);
	point[1] = any_point(mid, end, hash, hit);
	return true;
}
