// SPDX-License-Identifier: GPL-2.0
/* fresh.c - suite wsmon_fresh: memory that appeared within the window */
#include "world.h"

#define TEXT	WSMON_CLASS_TEXT
#define HEAP	WSMON_CLASS_HEAP

struct change {
	const char *what;
	struct mapping then[MAX_MAPS];
	struct mapping now[MAX_MAPS];
	u64 text;	/* new pages */
	u64 heap;
};

static const struct change changes[] = {
	{ "nothing at all", { }, { } },
	{ "nothing new", { { 0, TOP, HEAP } }, { { 0, TOP, HEAP } } },
	{ "another class is not new", { { 0, 9, HEAP } }, { { 0, 9, TEXT } } },
	{ "a part is left", { { 0, 100, HEAP } }, { { 5, 50, HEAP } } },
	{ "first page", { }, { { 0, 1, HEAP } }, 0, 1 },
	{ "last page", { { 0, TOP - 1, HEAP } }, { { 0, TOP, HEAP } }, 0, 1 },
	{ "both ends", { { 1, TOP - 1, HEAP } }, { { 0, TOP, HEAP } }, 0, 2 },
	{ "everything", { }, { { 0, TOP, HEAP } }, 0, TOP },
	{ "as many as are looked at", { { 9, 10, HEAP } },
	  { { 0, 257, HEAP } }, 0, 256 },
	{ "one more", { { 9, 10, HEAP } }, { { 0, 258, HEAP } }, 0, 257 },
	{ "gaps and classes",
	  { { 10, 20, TEXT }, { 30, 40, HEAP }, { 1000, 2000, HEAP } },
	  { { 0, 15, TEXT }, { 18, 35, HEAP }, { 38, 50, TEXT },
	    { 60, 61, HEAP }, { 1500, 2500, HEAP }, { 5000, 5007, TEXT } },
	  27, 511 },
};

KUNIT_ARRAY_PARAM_DESC(change, changes, what);

static u32 class_at(const struct mapping *map, u64 vpn)
{
	u32 i;

	for (i = 0; i < MAX_MAPS && map[i].class; i++) {
		if (vpn >= map[i].start && vpn < map[i].end)
			return map[i].class;
	}
	return 0;
}

/* The limit of pages or all there are, each of them new, ascending */
static void draws_new_pages(struct kunit *test)
{
	const struct change *c = test->param_value;
	struct world *now = world_new(test, MAX_MAPS, 1);
	struct world *then = world_new(test, MAX_MAPS, 1);
	struct wsmon_fresh *f = test_alloc(test, 1, sizeof(*f));
	u32 i, drawn[WSMON_NR_CLASSES] = { };

	memset(f, 0x11, sizeof(*f));
	world_fill(now, c->now, MAX_MAPS, MAX_MAPS);
	world_fill(then, c->then, MAX_MAPS, MAX_MAPS);
	wsmon_fresh_draw(f, &now->sp, &then->sp, U64_MAX, WSMON_FRESH_MAX);

	KUNIT_EXPECT_EQ(test, f->pages[TEXT], c->text);
	KUNIT_EXPECT_EQ(test, f->pages[HEAP], c->heap);
	KUNIT_ASSERT_EQ(test, f->nr, min_t(u64, c->text + c->heap, WSMON_FRESH_MAX));
	for (i = 0; i < f->nr; i++) {
		KUNIT_EXPECT_NE(test, f->class[i], 0);
		KUNIT_EXPECT_EQ(test, class_at(c->now, f->vpn[i]), f->class[i]);
		KUNIT_EXPECT_EQ(test, class_at(c->then, f->vpn[i]), 0);
		if (i)
			KUNIT_EXPECT_GT(test, f->vpn[i], f->vpn[i - 1]);
		drawn[f->class[i]]++;
	}
	KUNIT_EXPECT_MEMEQ(test, f->drawn, drawn, sizeof(drawn));
	KUNIT_EXPECT_EQ(test, f->seen[TEXT] + f->seen[HEAP], 0);
	KUNIT_EXPECT_FALSE(test, f->late);
}

struct look {
	const char *what;
	u64 pages;
	u32 drawn;
	u32 seen;
	bool late;
	struct wsmon_wss want;	/* pages, low, high, mapped */
	u32 vague;
	u32 early;
};

static const struct look looks[] = {
	{ "none", 0, 0, 0, false, { 0, 0, 0, 0 } },
	{ "a page used", 1, 1, 1, false, { 1, 1, 1, 1 } },
	{ "all looked at", 100, 100, 30, false, { 30, 30, 30, 100 } },
	/* 20 may only be mapped around a fault: 17/32 of them, give or take 15/32 */
	{ "some mapped around a fault", 100, 100, 30, false, { 21, 12, 30, 100 }, 20 },
	/* 1.96 * 1000 * sqrt(1/2 * 1/2 / 10), the root rounded up */
	{ "half used", 1000, 10, 5, false, { 500, 189, 811, 1000 } },
	/* rule of three: 3 / 30 */
	{ "none used", 1000, 30, 0, false, { 0, 0, 100, 1000 } },
	{ "all used", 1000, 30, 30, false, { 1000, 900, 1000, 1000 } },
	{ "none drawn", 1000, 0, 0, false, { 0, 0, 1000, 1000 } },
	{ "older than the window", 1000, 100, 100, true, { 1000, 0, 1000, 1000 } },
	{ "half of it used, and older", 100, 100, 50, true, { 50, 0, 50, 100 } },
	/* 1.96 * 2^45 / 2 / sqrt(256) */
	{ "everything, half used", TOP, 256, 128, false,
	  { TOP / 2, TOP / 2 - TOP / 32 * 196 / 100,
	    TOP / 2 + TOP / 32 * 196 / 100, TOP } },
	{ "everything used", TOP, 256, 256, false,
	  { TOP, TOP - TOP / 256 * 3, TOP, TOP } },
	/*
	 * a quarter of the time was before the window: all but an eighth; low: but a quarter;
	 * high: all
	 */
	{ "some before the window", 64, 64, 64, false, { 56, 40, 64, 64 }, 0, WSMON_ONE / 4 },
	{ "half used, some before the window", 64, 64, 32, false, { 28, 20, 32, 64 }, 0,
	  WSMON_ONE / 4 },
	/* 32 times 17/32, give or take 15/32, and 7/8 of that */
	{ "some mapped around a fault before the window", 64, 64, 32, false,
	  { 15, 0, 32, 64 }, 32, WSMON_ONE / 4 },
	{ "everything, most of the time before the window", TOP, 256, 256, false,
	  { TOP / 2, 0, TOP, TOP }, 0, WSMON_ONE },
};

KUNIT_ARRAY_PARAM_DESC(look, looks, what);

static void estimates(struct kunit *test)
{
	const struct look *l = test->param_value;
	struct wsmon_fresh *f = test_alloc(test, 1, sizeof(*f));
	struct world *w = world_new(test, 1, 1);
	struct wsmon_wss wss[WSMON_NR_WSS];

	f->pages[HEAP] = l->pages;
	f->drawn[HEAP] = l->drawn;
	f->seen[HEAP] = l->seen;
	f->vague[HEAP] = l->vague;
	f->late = l->late;
	f->early = l->early;
	wsmon_wss_estimate(&w->rs, &w->sp, f, 0, wss);
	KUNIT_EXPECT_MEMEQ(test, &wss[HEAP], &l->want, sizeof(l->want));
	KUNIT_EXPECT_MEMEQ(test, &wss[WSMON_CLASS_ALL], &l->want,
			   sizeof(l->want));
	KUNIT_EXPECT_EQ(test, wss[TEXT].high, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(draws_new_pages, change_gen_params),
	KUNIT_CASE_PARAM(estimates, look_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_fresh",
	.test_cases = cases,
};

kunit_test_suite(suite);
