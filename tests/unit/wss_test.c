// SPDX-License-Identifier: GPL-2.0
/*
 * wss_test.c - the estimator on cases that can be worked out by hand
 */
#include "world.h"

static struct wsmon_wss wss[WSMON_NR_CLASSES];

static void estimate(struct world *w)
{
	wsmon_wss_estimate(&w->rs, &w->sp, NULL, 0, NULL, wss);
}

static void set_out(struct world *w, u32 i, u16 out0, u16 out1, u16 draws)
{
	w->rs.r[i].out[0][0] = out0;
	w->rs.r[i].out[0][1] = out1;
	w->rs.r[i].draws = draws;
	w->rs.r[i].known = 1;
	w->rs.r[i].whole = 1;
}

static void nothing(void)
{
	struct world w;

	world_init(&w, 10);
	estimate(&w);
	CHECK(!wss[0].pages && !wss[0].low && !wss[0].high && !wss[0].mapped, "empty");
	world_free(&w);
}

static void unobserved(void)
{
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 64, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	estimate(&w);
	CHECK(wss[0].low == 0 && wss[0].high == 64, "could be anything");
	world_free(&w);
}

static void by_hand(void)
{
	struct world w;

	world_init(&w, 4);
	world_map(&w, 0, 128, WSMON_CLASS_HEAP);
	world_map(&w, 200, 201, WSMON_CLASS_TEXT);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 4, "%u", w.rs.nr);	/* 0-32-64-128, 200 */
	set_out(&w, 0, WSMON_ONE, WSMON_ONE, 1000);
	set_out(&w, 1, WSMON_ONE, 0, 1000);
	set_out(&w, 2, 0, 0, 1000);
	set_out(&w, 3, WSMON_ONE, 0, 1);
	estimate(&w);
	CHECK(wss[WSMON_CLASS_HEAP].pages ==
	      w.rs.r[0].n[0] + w.rs.r[0].n[1] + w.rs.r[1].n[0],
	      "%llu", (long long)wss[WSMON_CLASS_HEAP].pages);
	/* one region of n differs: 1.96 * n / 2 either way */
	CHECK(wss[WSMON_CLASS_HEAP].high - wss[WSMON_CLASS_HEAP].pages ==
	      w.rs.r[1].n[0] * 196 / 100, "high %llu",
	      (long long)wss[WSMON_CLASS_HEAP].high);
	CHECK(wss[WSMON_CLASS_TEXT].pages == 1 && wss[WSMON_CLASS_TEXT].low == 1 &&
	      wss[WSMON_CLASS_TEXT].high == 1, "one page is certain");
	CHECK(wss[WSMON_CLASS_ALL].pages == wss[WSMON_CLASS_HEAP].pages + 1, "sum");
	CHECK(wss[WSMON_CLASS_ALL].mapped == 129, "mapped");
	world_free(&w);
}

/* No hit at all does not mean certainly empty; many draws make it surer. */
static void zero_hits(void)
{
	struct world w;
	u64 few, many;

	world_init(&w, 1);
	world_map(&w, 0, 1ULL << 28, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	set_out(&w, 0, 0, 0, 1);
	estimate(&w);
	few = wss[0].high;
	set_out(&w, 0, 0, 0, 60);
	estimate(&w);
	many = wss[0].high;
	CHECK(!wss[0].pages && !wss[0].low, "no hit");
	CHECK(few == 1ULL << 28, "two samples prove nothing");
	CHECK(many == (1ULL << 28) * 3 / 120, "%llu", (long long)many);
	set_out(&w, 0, WSMON_ONE, WSMON_ONE, 60);
	estimate(&w);
	CHECK(wss[0].high == 1ULL << 28 && wss[0].low == (1ULL << 28) - many,
	      "nor are all hits certain");
	world_free(&w);
}

/* What was used within a second was used within a minute. */
static void windows(void)
{
	struct wsmon_wss longer[WSMON_NR_CLASSES];
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 1000, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	set_out(&w, 0, WSMON_ONE, WSMON_ONE, 100);
	estimate(&w);
	CHECK(wss[0].pages == 1000, "%llu", (long long)wss[0].pages);
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 1, wss, longer);
	CHECK(longer[0].pages == 1000 && longer[0].low == wss[0].low &&
	      longer[0].high == 1000, "not observed for so long, yet no less");
	/* half a window with nothing seen: anything may still come */
	w.rs.r[0].known = 3;
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 1, NULL, longer);
	CHECK(!longer[0].pages && longer[0].high == 1000, "part of a window");
	w.rs.r[0].whole = 3;
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 1, NULL, longer);
	CHECK(!longer[0].pages && longer[0].high == 15, "%llu: 3/200 of it",
	      (long long)longer[0].high);
	world_free(&w);
}

/* The largest address space there is, in many disagreeing regions */
static void huge(void)
{
	u64 pages = 1ULL << 45;		/* 57 bits of bytes */
	struct world w;
	u32 i;

	world_init(&w, 60000);
	world_map(&w, 0, pages, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	for (i = 0; i < w.rs.nr; i++)
		set_out(&w, i, WSMON_ONE, 0, 1);
	estimate(&w);
	CHECK(llabs((s64)(wss[0].pages - pages / 2)) < (s64)pages / 10000, "%llx",
	      (long long)wss[0].pages);
	/* each differs: 1.96 * sqrt(60000) * n / 2, n = pages / 60000 */
	CHECK(wss[0].high - wss[0].pages > pages / 60000 * 245 * 98 / 100 &&
	      wss[0].high - wss[0].pages < pages / 60000 * 245 * 130 / 100,
	      "half %llx", (long long)(wss[0].high - wss[0].pages));

	w.rs.budget = 1;
	world_settle(&w, 1);
	set_out(&w, 0, WSMON_ONE, 0, 1);
	estimate(&w);
	CHECK(wss[0].pages == pages / 2 && wss[0].low < pages / 50 &&
	      wss[0].high > pages - pages / 50, "one region");
	world_free(&w);
}

void test_wss(void)
{
	test_run("wss: of nothing", nothing);
	test_run("wss: of what was not observed", unobserved);
	test_run("wss: by hand", by_hand);
	test_run("wss: zero hits are not certainty", zero_hits);
	test_run("wss: several windows", windows);
	test_run("wss: no overflow at 57 bits", huge);
}
