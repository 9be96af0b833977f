/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world.h - spaces, regions and detectors for the suites
 */
#ifndef WSMON_KUNIT_WORLD_H
#define WSMON_KUNIT_WORLD_H

#include <kunit/test.h>

#include "../../../module/wsmon_control.h"

/* Pages of the largest address space there is: 57 bits of bytes */
#define TOP		BIT_ULL(45)
#define MAX_MAPS	8

/**
 * struct mapping - a mapping; in a table, @class 0 is none
 * @start:	first page
 * @end:	end, exclusive
 * @class:	enum wsmon_class
 * @joined:	part of the same mapping as the entry before
 */
struct mapping {
	u64 start;
	u64 end;
	u32 class;
	bool joined;
};

/**
 * struct world - a target without an mm
 * @test:	the test it belongs to
 * @sp:		its mappings
 * @rs:		its regions
 * @ws:		scratch memory
 * @now:	the time, in tests that keep one
 */
struct world {
	struct kunit *test;
	struct wsmon_space sp;
	struct wsmon_regions rs;
	struct wsmon_adapt ws;
	u64 now;
};

/* Zeroed memory of exactly this size, freed at the end of the test */
void *test_alloc(struct kunit *test, size_t n, size_t size);

struct world *world_new(struct kunit *test, u32 max_maps, u32 budget);
/* Replace the mappings; they are grouped into at most @max_areas */
void world_fill(struct world *w, const struct mapping *map, u32 nr, u32 max_areas);

/*
 * Invariants of regions: every mapped page is in one region, cells are disjoint,
 * bounds are mapped, every area has regions, no share is above 1.
 */
void world_check(const struct world *w);

/* Feed an estimate to a detector of peaks. Return: edges: 1 a peak ended, 2 one began */
static inline int feed_grown(struct wsmon_detector *d, const struct wsmon_attrs *a, u64 pages,
			     u64 low, u64 high, u64 grew)
{
	struct wsmon_wss w = { pages, low, high, high, grew };
	int edges = wsmon_peak_ends(d, a, &w);

	edges += 2 * wsmon_peak_begins(d, a, &w);
	wsmon_peak_learn(d, a, &w);
	return edges;
}

static inline int feed(struct wsmon_detector *d, const struct wsmon_attrs *a, u64 pages,
		u64 low, u64 high)
{
	return feed_grown(d, a, pages, low, high, 0);
}

#endif
