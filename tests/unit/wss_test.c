// SPDX-License-Identifier: GPL-2.0
/* wss_test.c - the estimator on cases worked out by hand */
#include "world.h"

static struct wsmon_wss wss[WSMON_NR_WSS];

static void estimate(struct world *w)
{
	wsmon_wss_estimate(&w->rs, &w->sp, NULL, 0, wss);
}

static void set_out(struct world *w, u32 i, u16 out0, u16 out1, u16 draws)
{
	w->rs.r[i].out[0][0] = out0;
	w->rs.r[i].out[0][1] = out1;
	w->rs.r[i].draws = draws;
	w->rs.r[i].known = 1;
	w->rs.r[i].whole = 1;
}

/* No look was possible: the last value stands, with full uncertainty. */
static void stale(void)
{
	struct world w;

	world_init(&w, 2);
	world_map(&w, 0, 128, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 2, "%u", w.rs.nr);
	set_out(&w, 0, WSMON_ONE, WSMON_ONE, 1000);
	set_out(&w, 1, WSMON_ONE, WSMON_ONE, 1000);
	w.rs.r[1].whole = 0;
	w.rs.r[1].stale = 1;
	estimate(&w);
	CHECK(wss[0].pages == 128 && wss[0].low == 64 && wss[0].high == 128, "%llu, %llu-%llu",
	      (long long)wss[0].pages, (long long)wss[0].low, (long long)wss[0].high);
	set_out(&w, 1, 0, 0, 1000);
	w.rs.r[1].whole = 0;
	estimate(&w);
	CHECK(wss[0].pages == 64 && wss[0].low == 64 && wss[0].high == 128, "%llu, %llu-%llu",
	      (long long)wss[0].pages, (long long)wss[0].low, (long long)wss[0].high);
	world_free(&w);
}

/* Cutting a region whose halves differed does not make it better known. */
static void cut(void)
{
	struct wsmon_region half[2];
	struct wsmon_wss before;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 128, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 1, "%u", w.rs.nr);
	set_out(&w, 0, WSMON_ONE, 0, 1000);
	estimate(&w);
	before = wss[0];
	CHECK(before.low < 64 && before.high > 64, "%llu-%llu", (long long)before.low,
	      (long long)before.high);
	wsmon_region_split(&w.sp, &w.rs.r[0], half);
	w.rs.r[0] = half[0];
	w.rs.r[1] = half[1];
	w.rs.nr = 2;
	estimate(&w);
	CHECK(!memcmp(&before, wss, sizeof(before)), "%llu-%llu, was %llu-%llu",
	      (long long)wss[0].low, (long long)wss[0].high, (long long)before.low,
	      (long long)before.high);
	/* nor does joining such regions, though their halves are alike then */
	set_out(&w, 0, WSMON_ONE, 0, 1000);
	set_out(&w, 1, 0, WSMON_ONE, 1000);
	half[0] = w.rs.r[0];
	half[1] = w.rs.r[1];
	wsmon_region_merge(&w.sp, &half[0], &half[1], &w.rs.r[0]);
	w.rs.nr = 1;
	estimate(&w);
	CHECK(wss[0].pages == 64 && wss[0].low < 64 && wss[0].high > 64, "%llu-%llu",
	      (long long)wss[0].low, (long long)wss[0].high);
	world_free(&w);
}

/* Beside terabytes, halves of a few megabytes still vary. */
static void small_beside_huge(void)
{
	struct world w;
	u32 i;

	world_init(&w, 4);
	world_map(&w, 0, 2048, WSMON_CLASS_HEAP);
	world_map(&w, 1ULL << 20, 1ULL << 35, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	for (i = 0; i < w.rs.nr; i++)
		set_out(&w, i, w.rs.r[i].start < 2048 ? WSMON_ONE : 0, 0, 1000);
	estimate(&w);
	CHECK(wss[WSMON_CLASS_HEAP].low < 1024 && wss[WSMON_CLASS_HEAP].high > 1024,
	      "%llu-%llu", (long long)wss[WSMON_CLASS_HEAP].low,
	      (long long)wss[WSMON_CLASS_HEAP].high);
	world_free(&w);
}

/* The interval of the rest is that of its classes together, as of independent samples. */
static void rest(void)
{
	struct wsmon_wss *r = &wss[WSMON_WSS_REST];
	u64 pages = 0, var = 0, half;
	struct world w;
	u32 i;

	world_init(&w, 6);
	world_map(&w, 0, 128, WSMON_CLASS_HEAP);
	world_map(&w, 256, 384, WSMON_CLASS_ANON);
	world_map(&w, 512, 640, WSMON_CLASS_TEXT);
	world_settle(&w, 0);
	for (i = 0; i < w.rs.nr; i++) {
		struct wsmon_region *g = &w.rs.r[i];
		bool text = w.sp.area[g->area].class == WSMON_CLASS_TEXT;

		set_out(&w, i, WSMON_ONE, text ? WSMON_ONE : 0, 1);
		pages += text ? 0 : g->n[0];
		var += text ? 0 : (g->n[0] * g->n[0] + g->n[1] * g->n[1]) / 2;
	}
	estimate(&w);
	CHECK(r->pages == pages && r->mapped == 256, "%llu of %llu",
	      (long long)r->pages, (long long)r->mapped);
	/* squares add up; text, with few draws, does not count here */
	half = wsmon_sqrt_up(var) * 196 / 100;
	CHECK(r->high - r->pages == half && r->pages - r->low == half,
	      "%llu - %llu, not %llu", (long long)r->low, (long long)r->high,
	      (long long)half);
	CHECK(wss[0].pages == pages + 128 && wss[0].low < r->low + 128 - half / 2,
	      "of all it is: %llu", (long long)wss[0].low);
	world_free(&w);
}

/* Each window has its own estimate, independent of shorter ones. */
static void windows(void)
{
	struct wsmon_wss longer[WSMON_NR_WSS];
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 1000, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	set_out(&w, 0, WSMON_ONE, WSMON_ONE, 100);
	estimate(&w);
	CHECK(wss[0].pages == 1000, "%llu", (long long)wss[0].pages);
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 1, longer);
	CHECK(!longer[0].pages && longer[0].high == 1000, "not observed for so long");
	/* half a window without accesses: any may still follow */
	w.rs.r[0].known = 3;
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 1, longer);
	CHECK(!longer[0].pages && longer[0].high == 1000, "part of a window");
	w.rs.r[0].whole = 3;
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 1, longer);
	CHECK(!longer[0].pages && longer[0].high == 15, "%llu: 3/200 of it",
	      (long long)longer[0].high);
	world_free(&w);
}

/* The lower half was found accessed when its sample was new: at least 1/16 of it was. */
static void vague(void)
{
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 6400, WSMON_CLASS_FILE);
	world_settle(&w, 0);
	set_out(&w, 0, WSMON_ONE, WSMON_ONE, 60000);
	w.rs.r[0].doubtful[0] = 1;
	estimate(&w);
	CHECK(wss[0].pages == w.rs.r[0].n[0] * 17 / 32 + w.rs.r[0].n[1] &&
	      wss[0].high == 6400 && wss[0].low == w.rs.r[0].n[0] / 16 + w.rs.r[0].n[1],
	      "%llu", (long long)wss[0].pages);
	world_free(&w);
}

/* The present window counts if its variance is nine times the past's, not if it is eight times. */
static void surprise(void)
{
	struct wsmon_region *r;
	u64 n, half[2];
	struct world w;
	u32 i;

	world_init(&w, 1);
	world_map(&w, 0, 2048, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	r = w.rs.r;
	n = r->n[0];
	for (i = 0; i < 2; i++) {
		set_out(&w, 0, WSMON_ONE, 0, 60000);
		r->times = 8;
		/* squared deviations are 1/16 now, and were 1/10 or 1/8 of that in the past */
		r->past.mean[0] = WSMON_ONE * 3 / 4;
		r->past.mean[1] = WSMON_ONE / 4;
		r->past.var[0] = (u64)WSMON_ONE * WSMON_ONE / (i ? 128 : 160);
		r->past.var[1] = r->past.var[0];
		estimate(&w);
		half[i] = wss[0].high - wss[0].pages;
	}
	CHECK(half[0] == wsmon_sqrt_up(2 * n * n / 16) * 196 / 100, "now: %llu", (long long)half[0]);
	CHECK(half[1] == wsmon_sqrt_up(2 * n * n / 128) * 196 / 100, "past: %llu", (long long)half[1]);
	world_free(&w);
}

/* Entries that the kernel made anew without an access */
static void made(void)
{
	struct wsmon_wss before;
	struct wsmon_region *r;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 6400, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	r = w.rs.r;
	set_out(&w, 0, 0, 0, 60000);
	estimate(&w);
	before = wss[0];
	/* seen just before the entry was made: pages not seen may have been accessed, too */
	r->gap[1] = 1;
	estimate(&w);
	CHECK(wss[0].pages == before.pages && wss[0].low == before.low &&
	      wss[0].high == before.high + r->n[1], "gap: %llu", (long long)wss[0].high);
	r->gap[1] = 2;
	estimate(&w);
	CHECK(!memcmp(&before, wss, sizeof(before)), "the other window's");
	/* nothing is known: the share is a guess without variance, and does not count */
	r->gap[1] = 0;
	r->lost[1] = 1;
	r->out[0][1] = WSMON_ONE / 2;
	r->times = 8;
	estimate(&w);
	CHECK(wss[0].pages == r->n[1] / 2 && !wss[0].low && wss[0].high >= r->n[1] &&
	      wss[0].high <= r->n[1] + before.high + 1, "lost: %llu, %llu-%llu",
	      (long long)wss[0].pages, (long long)wss[0].low, (long long)wss[0].high);
	/* findings in a group have a weight */
	r->weight = 3;
	r->lost[1] = 0;
	r->gap[1] = 1;
	r->out[0][1] = 0;
	w.rs.r[0].draws = 60000;
	estimate(&w);
	CHECK(wss[0].high >= min(3 * r->n[1], 6400ULL), "%llu", (long long)wss[0].high);
	world_free(&w);
}

/* Pages that were made huge in the last interval, and accessed, or found by the last look */
static void grew(void)
{
	static const struct {
		u64 made, seen;
		bool counts;
	} cases[] = {
		{ 90, 95, false }, { 110, 120, true }, { 110, 105, false },
		{ 199, 0, false }, { 200, 0, true }, { 205, 150, true },
	};
	struct world w;
	u32 i;

	world_init(&w, 1);
	world_map(&w, 0, 6400, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	w.rs.begin_ns = 100;
	w.rs.end_ns = 200;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		w.rs.r[0].made_ns[1] = cases[i].made;
		w.rs.r[0].s[1].seen_ns = cases[i].seen;
		estimate(&w);
		CHECK(wss[0].grew == cases[i].counts * w.rs.r[0].n[1], "%u: %llu", i,
		      (long long)wss[0].grew);
	}
	world_free(&w);
}

/* Entries of the halves' pages, before and now, also for new samples */
static void grew_unseen(void)
{
	static const struct {
		u8 own, made, was_own, was_made;
		u64 seen;
		s8 counts;
	} cases[] = {
		{ 0, 2, 2, 0, 150, 1 }, { 0, 2, 2, 0, 50, 0 }, { 0, 2, 0, 2, 150, 0 },
		{ 2, 2, 2, 0, 150, 0 }, { 0, 0, 2, 0, 150, 0 }, { 2, 0, 0, 2, 150, -1 },
		{ 2, 0, 0, 2, 0, -1 }, { 0, 1, 2, 0, 150, 0 },
	};
	struct world w;
	u32 i;

	world_init(&w, 2);
	world_map(&w, 0, 6400, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	w.rs.begin_ns = 100;
	w.rs.end_ns = 200;
	/* as many grew in another region */
	w.rs.r[1].n[1] = w.rs.r[0].n[1];
	w.rs.r[1].made_ns[1] = 110;
	w.rs.r[1].s[1].seen_ns = 120;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wsmon_region *r = &w.rs.r[0];

		r->own = cases[i].own;
		r->made = cases[i].made;
		r->was_own = cases[i].was_own;
		r->was_made = cases[i].was_made;
		r->s[1].seen_ns = cases[i].seen;
		estimate(&w);
		CHECK(wss[0].grew == (1 + cases[i].counts) * r->n[1], "%u: %llu of %llu", i,
		      (long long)wss[0].grew, (long long)r->n[1]);
	}
	world_free(&w);
}

/* Mappings could not be read: each class may have grown; the sums include it already. */
static void blind(void)
{
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 640, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	estimate(&w);
	wsmon_wss_add_blind(wss, 50);
	CHECK(wss[WSMON_CLASS_HEAP].mapped == 690 && wss[0].mapped == 640 &&
	      !wss[WSMON_CLASS_STACK].mapped && !wss[WSMON_CLASS_STACK].high, "%llu",
	      (long long)wss[WSMON_CLASS_HEAP].mapped);
	world_free(&w);
}

void test_wss(void)
{
	test_run("wss: what could not be looked at", stale);
	test_run("wss: a cut reveals nothing", cut);
	test_run("wss: little beside much", small_beside_huge);
	test_run("wss: all but text", rest);
	test_run("wss: several windows", windows);
	test_run("wss: what a fault may have mapped", vague);
	test_run("wss: a surprise", surprise);
	test_run("wss: entries that the kernel has made", made);
	test_run("wss: what was made huge lately", grew);
	test_run("wss: what was made huge unseen", grew_unseen);
	test_run("wss: mappings that could not be read", blind);
}
