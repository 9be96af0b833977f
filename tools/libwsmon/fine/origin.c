// SPDX-License-Identifier: GPL-2.0
/*
 * origin.c - what the divisions of a mapping are aligned to
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "origin.h"

/* Factor of the odds after each snapshot */
#define MEMORY		0.5

/**
 * struct fine_origin - that of an area
 * @page:	its first page
 * @log_odds:	of divisions that count from there
 * @faded:	how often that was faded
 */
struct fine_origin {
	__u64 page;
	double log_odds;
	__u64 faded;
};

/* Those that are not asked for take no time */
static struct fine_origin *get(const struct fine_origins *o, __u32 index)
{
	struct fine_origin *area = &o->area[index];

	area->log_odds *= pow(MEMORY, o->faded - area->faded);
	area->faded = o->faded;
	return area;
}

int fine_origins_add(struct fine_origins *o, const struct wsmon_rec_area *rec,
		     __u32 page_size)
{
	__u64 page = page_size ? rec->start / page_size : 0;
	struct fine_origin *area;
	__u32 room;

	/* areas come in order: a large index in a file does not allocate much */
	if (rec->index > o->nr)
		return 0;
	if (rec->index == o->room) {
		room = o->room ? 2 * o->room : 16;
		area = reallocarray(o->area, room, sizeof(*area));
		if (!area)
			return -1;
		o->area = area;
		o->room = room;
	}
	if (rec->index == o->nr) {
		o->area[o->nr] = (struct fine_origin) { 0 };
		o->nr++;
	}
	if (o->area[rec->index].page != page)
		o->area[rec->index] = (struct fine_origin) { .page = page };
	return 0;
}

__u64 fine_origins_get(const struct fine_origins *o, __u32 index, __u64 page)
{
	if (index >= o->nr || o->area[index].page > page)
		return 0;
	return o->area[index].page;
}

bool fine_origins_best(const struct fine_origins *o, __u32 index)
{
	return index < o->nr && get(o, index)->log_odds > 0;
}

void fine_origins_learn(struct fine_origins *o, __u32 index, double log_odds)
{
	if (index < o->nr)
		get(o, index)->log_odds += log_odds;
}

void fine_origins_fade(struct fine_origins *o)
{
	o->faded++;
}

void fine_origins_clear(struct fine_origins *o)
{
	free(o->area);
	memset(o, 0, sizeof(*o));
}
