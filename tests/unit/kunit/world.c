// SPDX-License-Identifier: GPL-2.0
/*
 * world.c - spaces and regions for the suites
 */
#include <linux/slab.h>

#include "world.h"

KUNIT_DEFINE_ACTION_WRAPPER(test_free, kvfree, const void *);

void *test_alloc(struct kunit *test, size_t n, size_t size)
{
	void *p = kvcalloc(n, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, test_free, p), 0);
	return p;
}

struct world *world_new(struct kunit *test, u32 max_maps, u32 budget)
{
	struct world *w = test_alloc(test, 1, sizeof(*w));

	w->test = test;
	w->sp.cap = max_maps;
	w->sp.ext = test_alloc(test, max_maps, sizeof(*w->sp.ext));
	w->sp.area = test_alloc(test, max_maps, sizeof(*w->sp.area));
	w->rs.budget = budget;
	w->rs.cap = budget + budget / 4 + 64;
	w->rs.limit = w->rs.cap;
	w->rs.r = test_alloc(test, w->rs.cap, sizeof(*w->rs.r));
	w->rs.spare = test_alloc(test, w->rs.cap, sizeof(*w->rs.spare));
	return w;
}

void world_fill(struct world *w, const struct mapping *map, u32 nr, u32 max_areas)
{
	u32 i;

	w->sp.nr_ext = 0;
	for (i = 0; i < nr && map[i].class; i++)
		KUNIT_ASSERT_EQ(w->test, 0,
				wsmon_space_add(&w->sp, map[i].start,
						map[i].end, map[i].class,
						map[i].joined));
	wsmon_space_group(&w->sp, max_areas);
}

/* Size of the smallest cell that holds a region, minus 1 */
static u64 cell_mask(const struct wsmon_region *r)
{
	u64 mask = 0;

	while ((r->start | mask) < r->end - 1)
		mask = mask * 2 + 1;
	return mask;
}

static void check_region(const struct world *w, const struct wsmon_region *r)
{
	const struct wsmon_area *a = &w->sp.area[r->area];
	u64 lo = wsmon_area_rank(&w->sp, a, r->start);
	u64 hi = wsmon_area_rank(&w->sp, a, r->end);

	KUNIT_EXPECT_LT(w->test, r->start, r->end);
	KUNIT_EXPECT_EQ(w->test, wsmon_region_pages(r), hi - lo);
	KUNIT_EXPECT_EQ(w->test, wsmon_area_select(&w->sp, a, lo), r->start);
	KUNIT_EXPECT_EQ(w->test, wsmon_area_select(&w->sp, a, hi - 1),
			r->end - 1);
	KUNIT_EXPECT_EQ(w->test, r->n[0],
			wsmon_area_rank(&w->sp, a, wsmon_cell_mid(r->start, r->end)) - lo);
	KUNIT_EXPECT_NE(w->test, r->n[0], 0);
	KUNIT_EXPECT_EQ(w->test, !r->n[1], r->end - r->start == 1);
	KUNIT_EXPECT_LE(w->test, max(r->share[0], r->share[1]), WSMON_ONE);
	KUNIT_EXPECT_LE(w->test, max(r->out[0][0], r->out[0][1]), WSMON_ONE);
	KUNIT_EXPECT_LE(w->test, r->disagree, WSMON_ONE);
}

void world_check(const struct world *w)
{
	u64 pages = 0;
	u32 i;

	KUNIT_ASSERT_LE(w->test, w->rs.nr, w->rs.cap);
	for (i = 0; i < w->rs.nr; i++) {
		const struct wsmon_region *r = &w->rs.r[i];

		check_region(w, r);
		pages += wsmon_region_pages(r);
		/* areas in ascending order, none skipped */
		KUNIT_EXPECT_LE(w->test, r->area - (i ? r[-1].area : 0), i ? 1 : 0);
		if (!i)
			continue;
		KUNIT_EXPECT_GE(w->test, r->start, r[-1].end);
		if (r->area == r[-1].area)
			KUNIT_EXPECT_GT(w->test, r->start & ~cell_mask(r),
					r[-1].start | cell_mask(r - 1));
	}
	/*
	 * regions are disjoint, and have as many pages as the space: each page
	 * is in one
	 */
	KUNIT_EXPECT_EQ(w->test, pages, wsmon_space_pages(&w->sp));
}
