// SPDX-License-Identifier: GPL-2.0
/*
 * space_test.c - mappings, rank and select, areas
 */
#include "world.h"

static void rank_select(void)
{
	struct world w;
	u64 k, total;
	int i;

	for (i = 0; i < 2000; i++) {
		world_init(&w, 10);
		world_map_random(&w, 1 + test_below(20), 1000);
		wsmon_space_group(&w.sp, 1);
		CHECK(w.sp.nr_area == 1 && w.sp.area[0].nr == w.sp.nr_ext, "one");
		total = wsmon_area_rank(&w.sp, w.sp.area, 1000);
		CHECK(total == wsmon_space_pages(&w.sp), "all");
		for (k = 0; k < total; k++) {
			u64 vpn = wsmon_area_select(&w.sp, w.sp.area, k);

			CHECK(wsmon_area_rank(&w.sp, w.sp.area, vpn) == k &&
			      wsmon_area_rank(&w.sp, w.sp.area, vpn + 1) == k + 1,
			      "rank of %llu", (long long)vpn);
		}
		world_free(&w);
	}
}

static void group(void)
{
	struct world w;
	u32 i, j, max, mappings;

	for (i = 0; i < 5000; i++) {
		world_init(&w, 10);
		world_map_random(&w, 50, 1ULL << (8 + test_below(40)));
		max = 1 + test_below(60);
		wsmon_space_group(&w.sp, max);
		CHECK(w.sp.nr_area <= max, "%u areas", w.sp.nr_area);
		for (mappings = 0, j = 0; j < w.sp.nr_ext; j++)
			mappings += !w.sp.ext[j].joined;
		CHECK(mappings > max || w.sp.nr_area == mappings,
		      "coalesced without need");
		for (j = 0; j < w.sp.nr_area; j++)
			CHECK(!w.sp.ext[w.sp.area[j].first].joined,
			      "a mapping in two areas");
		for (j = 0; j + 1 < w.sp.nr_area; j++)
			CHECK(w.sp.area[j].first + w.sp.area[j].nr ==
			      w.sp.area[j + 1].first, "areas leave extents out");
		world_free(&w);
	}
}

/* Neighbours of one class are coalesced before small ones of different classes */
static void classes(void)
{
	struct world w;
	u32 i;

	world_init(&w, 10);
	world_map(&w, 0, 1, WSMON_CLASS_TEXT);
	world_map(&w, 1, 2, WSMON_CLASS_DATA);
	for (i = 1; i <= 6; i++)
		world_map(&w, 1000 * i, 1000 * i + 100, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 5);
	CHECK(w.sp.nr_area == 5, "%u areas", w.sp.nr_area);
	for (i = 0; i < w.sp.nr_area; i++)
		CHECK(w.sp.area[i].class != WSMON_CLASS_MIXED, "area %u is mixed", i);
	wsmon_space_group(&w.sp, 2);
	CHECK(w.sp.nr_area == 2 && w.sp.area[0].class == WSMON_CLASS_MIXED && w.sp.area[0].nr == 2 &&
	      w.sp.area[1].class == WSMON_CLASS_ANON, "more is mixed than has to be");
	world_free(&w);
}

static void same(void)
{
	struct world a, b;
	int i;

	for (i = 0; i < 1000; i++) {
		world_init(&a, 10);
		world_init(&b, 10);
		test_seed(i);
		world_map_random(&a, 10, 1000);
		test_seed(i);
		world_map_random(&b, 10, 1000);
		wsmon_space_group(&a.sp, 5);
		wsmon_space_group(&b.sp, 5);
		CHECK(wsmon_space_same(&a.sp, &b.sp), "equal");
		b.sp.ext[test_below(b.sp.nr_ext)].end++;
		CHECK(!wsmon_space_same(&a.sp, &b.sp), "one page more");
		world_free(&a);
		world_free(&b);
	}
	world_init(&a, 10);
	world_init(&b, 10);
	for (i = 0; i < 3; i++) {
		world_map(&a, 10 * i, 10 * i + 1, 1);
		CHECK(!wsmon_space_same(&a.sp, &b.sp), "one mapping more");
		world_map(&b, 10 * i, 10 * i + 1, 1);
	}
	/* two areas of { 1, 2 } extents, or of { 2, 1 } */
	wsmon_space_group(&a.sp, 2);
	wsmon_space_group(&b.sp, 2);
	b.sp.area[0].nr = 3 - a.sp.area[0].nr;
	b.sp.area[1].first = b.sp.area[0].nr;
	CHECK(!wsmon_space_same(&a.sp, &b.sp), "other areas");
	world_free(&a);
	world_free(&b);
}

void test_space(void)
{
	test_run("space: rank and select are inverse", rank_select);
	test_run("space: areas are as few as wanted", group);
	test_run("space: classes stay apart where they can", classes);
	test_run("space: comparison", same);
}
