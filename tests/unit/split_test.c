// SPDX-License-Identifier: GPL-2.0
/* split_test.c - evidence, and where regions go */
#include "world.h"

/* Drop all samples after they have observed accesses to [lo, hi). */
static void interval(struct world *w, u64 lo, u64 hi)
{
	u32 i, h;

	w->now += 1000;
	for (i = 0; i < w->rs.nr; i++) {
		struct wsmon_region *r = &w->rs.r[i];
		u32 x[2] = { 0, 0 };

		for (h = 0; h < 2 && r->n[h]; h++)
			x[h] = r->s[h].vpn >= lo && r->s[h].vpn < hi ? WSMON_ONE : 0;
		wsmon_region_observe(r, x, true, w->now);
		r->armed_ns = 0;
	}
	world_settle(w, w->now);
	world_check(w);
}

static void fills_budget(void)
{
	struct world w;

	world_init(&w, 1000);
	world_map(&w, 10, 500, WSMON_CLASS_TEXT);
	world_map(&w, 1 << 20, 3 << 20, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 1000, "%u", w.rs.nr);
	/* the large mapping gets them: it has 2 Mi pages, the small ones some thousand */
	CHECK(w.rs.r[10].start >= 1 << 20, "small mappings took the budget");
	w.rs.budget = 20;
	world_settle(&w, 1);
	CHECK(w.rs.nr == 20, "%u, not 20", w.rs.nr);
	w.rs.budget = 2;
	world_settle(&w, 2);
	CHECK(w.rs.nr == 2, "%u, not 2", w.rs.nr);
	world_free(&w);
}

/* As much new memory as there is old, cold memory: it gets half of the regions at once */
static void new_memory(void)
{
	struct world w;
	u32 i, nr = 0;

	world_init(&w, 1000);
	world_map(&w, 0, 1 << 17, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	for (i = 0; i < 30; i++)
		interval(&w, 0, 0);
	world_unmap_all(&w);
	world_map(&w, 0, 1 << 18, WSMON_CLASS_ANON);
	interval(&w, 0, 0);
	for (i = 0; i < w.rs.nr; i++)
		nr += w.rs.r[i].start >= 1 << 17;
	CHECK(nr > 400 && nr < 900 && w.rs.nr <= 1000, "%u of %u", nr, w.rs.nr);
	for (i = 0; i < w.rs.nr; i++)
		CHECK(w.rs.r[i].start < 1 << 17 || !w.rs.r[i].draws,
		      "an observation before there was one");
	world_free(&w);
}

/* 1 GiB hot at an odd place in 64 GiB: its bounds are found to 5 %. */
static void finds_bounds(void)
{
	u64 lo = (5ULL << 20) + 12345, hi = lo + (1 << 18), hot = 0, i;
	struct world w;

	world_init(&w, 500);
	world_map(&w, 0, 1 << 24, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	for (i = 0; i < 40; i++)
		interval(&w, lo, hi);
	for (i = 0; i < w.rs.nr; i++) {
		const struct wsmon_region *r = &w.rs.r[i];
		u64 in = min(max(r->start, lo), hi);
		u64 out = max(min(r->end, hi), lo);

		/* pages reported as hot, rightly or wrongly */
		if (wsmon_region_share(r) > WSMON_ONE / 2)
			hot += wsmon_region_pages(r) - 2 * (out - in);
		hot += out - in;
	}
	CHECK(hot < (hi - lo) / 20, "%llu pages of %llu misplaced",
	      (long long)hot, (long long)(hi - lo));
	world_free(&w);
}

/* Any observations, and any changes of mappings: invariants and the limit hold */
static void random_evidence(void)
{
	struct world w;
	u32 n, step, i;

	for (n = 0; n < 500; n++) {
		world_init(&w, 1 + test_below(200));
		world_map_random(&w, 40, 1ULL << (10 + test_below(42)));
		world_settle(&w, 0);
		for (step = 0; step < 40; step++) {
			w.now++;
			for (i = 0; i < w.rs.nr; i++) {
				u32 x[2] = { test_below(2) * WSMON_ONE, test_below(2) * WSMON_ONE };

				wsmon_region_observe(&w.rs.r[i], x, true, w.now);
				w.rs.r[i].armed_ns = !!test_below(5);
			}
			if (!test_below(3)) {
				world_map_random(&w, 40, 1ULL << (10 + test_below(42)));
				wsmon_space_group(&w.sp, max(w.rs.budget / 2, 1U));
				wsmon_regions_fit(&w.rs, &w.sp, w.now, 0);
			}
			wsmon_regions_adapt(&w.rs, &w.sp, &w.ws);
			world_check(&w);
			CHECK(w.rs.nr <= w.rs.limit, "%u", w.rs.nr);
		}
		world_free(&w);
	}
}

void test_adapt(void)
{
	test_run("adapt: the budget is spent, on the largest", fills_budget);
	test_run("adapt: new memory gets regions at once", new_memory);
	test_run("adapt: finds the bounds of a hot block", finds_bounds);
	test_run("adapt: bounds hold for any evidence", random_evidence);
}
