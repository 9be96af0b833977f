// SPDX-License-Identifier: GPL-2.0
/* precision_test.c - regions become as few as the precision allows, and as many as it needs */
#include <math.h>

#include "world.h"

#define PAGES	(64ULL << 8)	/* 64 MiB */

/* Half-width with this share of the regions, in 1/1000 of @PAGES */
typedef u64 (*width_fn)(u32 used);

/* Pages without order: 3 % with all regions */
static u64 scattered(u32 used)
{
	return 30 * sqrt((double)WSMON_ONE / used);
}

/* Never precise enough, with any number of regions: 14 % with all */
static u64 hopeless(u32 used)
{
	return 140 * sqrt((double)WSMON_ONE / used);
}

/* Edges are found, unless there are too few regions for all of them */
static u64 ordered(u32 used)
{
	return used < WSMON_ONE * 3 / 10 ? 200 : 10;
}

static u64 narrow(u32 used __attribute__((unused)))
{
	return 1;
}

struct sim {
	struct wsmon_attrs a;
	struct wsmon_precision q;
	u32 served;	/* share that the samples of this interval have */
	u32 next;	/* share of the next interval's samples */
	u32 moved;	/* number of changes of the share */
};

static void sim_begin(struct sim *s, u32 permille, u64 window_s)
{
	*s = (struct sim){
		.a = { .aggr_us = 1000000, .windows_us = { window_s * 1000000 },
		       .nr_windows = 1, .precision = permille },
		.served = WSMON_ONE, .next = WSMON_ONE,
	};
	wsmon_precision_begin(&s->q);
}

/* Run @nr intervals: a share set at the end of one takes effect in the one after the next. */
static u64 sim_run(struct sim *s, width_fn width, u32 nr)
{
	u64 half = 0;
	u32 was;

	for (; nr; nr--) {
		half = width(s->served);
		was = s->q.share;
		wsmon_precision_next(&s->q, &s->a, s->served, PAGES, half * PAGES / 1000);
		s->moved += s->q.share != was;
		s->served = s->next;
		s->next = s->q.share;
	}
	return half;
}

static void off_is_all(void)
{
	struct sim s;

	sim_begin(&s, 0, 1);
	sim_run(&s, narrow, 100);
	CHECK(s.q.share == WSMON_ONE, "share %u", s.q.share);
}

static void as_few_as_needed(void)
{
	struct sim s;
	u64 half;

	sim_begin(&s, 50, 1);
	half = sim_run(&s, scattered, 40);
	/* (3 / 5)^2 is 36 %, and a margin */
	CHECK(half <= 50 && s.q.share < WSMON_ONE * 6 / 10 && s.q.share > WSMON_ONE * 35 / 100,
	      "half-width %llu, share %u", (long long)half, s.q.share);
	s.moved = 0;
	sim_run(&s, scattered, 1000);
	CHECK(!s.moved, "%u changes", s.moved);
	/* never so few that new accesses go unnoticed */
	sim_run(&s, narrow, 100);
	CHECK(s.q.share == WSMON_ONE / 8, "share %u", s.q.share);
}

static void all_if_hopeless(void)
{
	struct sim s;

	sim_begin(&s, 50, 1);
	sim_run(&s, hopeless, 100);
	CHECK(s.q.share == WSMON_ONE && !s.moved, "share %u, %u changes", s.q.share, s.moved);
	/* hopeless intervals are not remembered: each target begins with some */
	sim_run(&s, narrow, 40);
	CHECK(s.q.share == WSMON_ONE / 8, "share %u", s.q.share);
}

/* Down slowly, up at once; a share that was too small is not tried again soon. */
static void settles(void)
{
	struct sim s;
	u64 half;

	sim_begin(&s, 50, 1);
	sim_run(&s, ordered, 60);
	s.moved = 0;
	half = sim_run(&s, ordered, 500);
	CHECK(s.moved <= 12 && s.q.share < WSMON_ONE, "%u changes, share %u, half-width %llu",
	      s.moved, s.q.share, (long long)half);
}

/* One interval that is too wide has little effect; two have more, but not for long. */
static void once_is_chance(void)
{
	struct sim s;
	u32 before;

	sim_begin(&s, 50, 1);
	sim_run(&s, scattered, 100);
	before = s.q.share;
	sim_run(&s, hopeless, 1);
	CHECK(s.q.share == before + before / 4, "share %u, before %u", s.q.share, before);
	sim_run(&s, scattered, 40);
	CHECK(s.q.share < before + before / 8, "share %u, before %u", s.q.share, before);
	sim_run(&s, hopeless, 2);
	CHECK(s.q.share == WSMON_ONE, "share %u, before %u", s.q.share, before);
	sim_run(&s, scattered, 40);
	CHECK(s.q.share < before + before / 8, "share %u, before %u", s.q.share, before);
	/* one has no effect where two were too wide before */
	before = s.q.share;
	sim_run(&s, hopeless, 1);
	CHECK(s.q.share == before, "share %u, before %u", s.q.share, before);
}

/* A target begins with few draws: a share that was too small then is enough later. */
static void forgets_its_youth(void)
{
	struct sim s;
	u32 i;

	sim_begin(&s, 50, 1);
	for (i = 0; i < 3; i++) {
		sim_run(&s, narrow, 7);
		CHECK(s.q.share < WSMON_ONE, "share %u", s.q.share);
		sim_run(&s, hopeless, 2);
	}
	sim_run(&s, narrow, 40);
	CHECK(s.q.share == WSMON_ONE / 8, "share %u", s.q.share);
}

/* A half-width that fades after a burst needs no regions; one that stays gets them, soon. */
static void after_a_burst(void)
{
	struct wsmon_attrs a = { .aggr_us = 1000000, .windows_us = { 1000000 }, .nr_windows = 1,
				 .precision = 50 };
	struct wsmon_precision q;
	u32 i, stays;

	for (stays = 0; stays < 2; stays++) {
		wsmon_precision_begin(&q);
		for (i = 0; i < 200; i++)
			wsmon_precision_next(&q, &a, q.share, PAGES, 1);
		CHECK(q.share == WSMON_ONE / 8, "share %u", q.share);
		/*
		 * four times too wide, then fading as the past of one burst does, or twice too
		 * wide for good
		 */
		wsmon_precision_next(&q, &a, q.share, PAGES, PAGES / 5);
		for (i = 0; i < 4; i++)
			wsmon_precision_next(&q, &a, q.share, PAGES,
					     stays ? PAGES / 10 : PAGES / 8 * (16 - i) / 16);
		CHECK(stays ? q.share >= WSMON_ONE / 2 : q.share < WSMON_ONE / 3,
		      "%s: share %u", stays ? "stays" : "fades", q.share);
		/* but it must fade soon */
		for (i = 4; i < 8; i++)
			wsmon_precision_next(&q, &a, q.share, PAGES, PAGES / 8 * (16 - i) / 16);
		CHECK(q.share > WSMON_ONE / 4, "fades for long: share %u", q.share);
	}
}

/* If the size changes, the target has changed: two estimates show it. */
static void after_a_change(void)
{
	struct wsmon_attrs a = { .aggr_us = 1000000, .windows_us = { 1000000 }, .nr_windows = 1,
				 .precision = 50 };
	struct wsmon_precision q;
	u32 i;

	wsmon_precision_begin(&q);
	for (i = 0; i < 200; i++)
		wsmon_precision_next(&q, &a, q.share, PAGES, 1);
	wsmon_precision_next(&q, &a, q.share, 2 * PAGES, PAGES / 2);
	wsmon_precision_next(&q, &a, q.share, 2 * PAGES, PAGES / 5);
	CHECK(q.share >= WSMON_ONE / 2, "share %u", q.share);
}

static void reacts(void)
{
	u32 windows[] = { 1, 8 }, k;
	struct sim s;
	u64 half;

	for (k = 0; k < 2; k++) {
		sim_begin(&s, 50, windows[k]);
		sim_run(&s, narrow, 200);
		CHECK(s.q.share == WSMON_ONE / 8, "share %u", s.q.share);
		/*
		 * two intervals are too wide; from the one after the next on they are narrow
		 * enough
		 */
		sim_run(&s, scattered, 2);
		CHECK(s.q.share >= WSMON_ONE * 36 / 100, "share %u", s.q.share);
		half = sim_run(&s, scattered, 3);
		CHECK(half <= 50, "half-width %llu", (long long)half);
		/* and once more too wide, before that change could take effect */
		sim_run(&s, narrow, 200);
		sim_run(&s, scattered, 2);
		CHECK(s.q.share >= WSMON_ONE * 36 / 100, "share %u", s.q.share);
		sim_run(&s, hopeless, 1);
		CHECK(s.q.share == WSMON_ONE, "share %u", s.q.share);
	}
}

/* Small sets: 256 KiB more or less are precise enough. */
static void a_floor(void)
{
	struct wsmon_attrs a = { .aggr_us = 1000000, .windows_us = { 1000000 }, .nr_windows = 1,
				 .precision = 1 };
	struct wsmon_precision q;
	u32 i;

	wsmon_precision_begin(&q);
	for (i = 0; i < 100; i++)
		wsmon_precision_next(&q, &a, q.share, 10, 20);
	CHECK(q.share == WSMON_ONE / 8, "share %u", q.share);
	wsmon_precision_next(&q, &a, q.share, 10, 73);
	CHECK(q.share > WSMON_ONE / 8, "share %u", q.share);
}

static void anything_goes(void)
{
	u32 i, k;

	for (k = 0; k < 20000; k++) {
		struct wsmon_attrs a = {
			.aggr_us = WSMON_SAMPLE_US_MIN << test_below(20),
			.precision = test_below(1001), .nr_windows = 1,
		};
		struct wsmon_precision q;

		a.windows_us[0] = a.aggr_us << test_below(20);
		wsmon_precision_begin(&q);
		for (i = 0; i < 30; i++) {
			wsmon_precision_next(&q, &a, test_random() >> (32 + test_below(32)),
					     test_random() >> test_below(64),
					     test_random() >> test_below(64));
			CHECK(q.share >= WSMON_ONE / 8 && q.share <= WSMON_ONE,
			      "share %u", q.share);
		}
	}
}

static bool first_eighth(const void *what __attribute__((unused)), u64 vpn)
{
	return vpn < PAGES / 8 + 5;
}

static bool every_second(const void *what __attribute__((unused)), u64 vpn)
{
	return vpn % 2;
}

/* With the estimator: intervals hold, and are as narrow as asked for. */
static void intervals_hold(bool (*touched)(const void *, u64), u64 truth, u32 most)
{
	struct wsmon_attrs a = { .aggr_us = 1000000, .windows_us = { 1000000 }, .nr_windows = 1,
				 .precision = 50 };
	u32 i, k, nr = 0, held = 0, wide = 0;
	u64 regions = 0;

	for (k = 0; k < 10; k++) {
		struct wsmon_wss wss[WSMON_NR_WSS], *all = &wss[WSMON_CLASS_ALL];
		struct wsmon_precision q;
		struct world w;

		world_init(&w, 2000);
		world_map(&w, 0, PAGES, WSMON_CLASS_ANON);
		wsmon_precision_begin(&q);
		for (i = 0; i < 80; i++) {
			u32 next = (u64)2000 * q.share / WSMON_ONE;

			world_settle(&w, 1000 * k + i);
			w.rs.budget = next;
			world_observe(&w, touched, NULL);
			wsmon_wss_estimate(&w.rs, &w.sp, NULL, 0, wss);
			world_note(&w);
			wsmon_precision_next(&q, &a, w.rs.nr * WSMON_ONE / 2000, all->pages,
					     (all->high - all->low) / 2);
			if (i < 40)
				continue;
			nr++;
			regions += w.rs.nr;
			held += truth >= all->low && truth <= all->high;
			wide += (all->high - all->low) * 8 > 9 * truth / 10;
		}
		world_free(&w);
	}
	CHECK(held >= nr * 93 / 100, "%u of %u hold", held, nr);
	CHECK(wide <= nr / 10, "%u of %u are too wide", wide, nr);
	CHECK(regions / nr <= most, "%llu regions", (long long)regions / nr);
}

static void blocks_hold(void)
{
	intervals_hold(first_eighth, PAGES / 8 + 5, 400);
}

static void strides_hold(void)
{
	intervals_hold(every_second, PAGES / 2, 1050);
}

void test_precision(void)
{
	test_run("precision: without one, all regions", off_is_all);
	test_run("precision: as few regions as it needs", as_few_as_needed);
	test_run("precision: all if they are not enough", all_if_hopeless);
	test_run("precision: shares settle", settles);
	test_run("precision: changes of the target", reacts);
	test_run("precision: too wide once", once_is_chance);
	test_run("precision: after a burst", after_a_burst);
	test_run("precision: after a change", after_a_change);
	test_run("precision: a target's first intervals", forgets_its_youth);
	test_run("precision: small sets", a_floor);
	test_run("precision: any figures", anything_goes);
	test_run("precision: intervals of a block hold", blocks_hold);
	test_run("precision: intervals of every second page hold", strides_hold);
}
