// SPDX-License-Identifier: GPL-2.0
/* wss.c - suite wsmon_wss: the estimator, on cases worked out by hand */
#include "world.h"

#define ONE		WSMON_ONE
#define MAX_REGIONS	4
/* Enough draws for certainty in regions of up to some thousand pages */
#define SURE		U16_MAX

/**
 * struct looked - a region, and the results of its samples
 * @n:		pages of its halves
 * @out:	their shares within the window
 * @draws:	draws behind these shares
 * @seen:	part of the window that was observed
 * @class:	of its area
 * @exact:	bit h: all pages of half h were looked at
 */
struct looked {
	u64 n[2];
	u32 out[2];
	u16 draws;
	enum { NONE, PART, WHOLE } seen;
	u32 class;
	u32 exact;
};

struct estimate {
	const char *what;
	struct looked r[MAX_REGIONS];
	struct wsmon_wss all;	/* pages, low, high, mapped */
	struct wsmon_wss text;
};

#define TEXT	WSMON_CLASS_TEXT
#define HEAP	WSMON_CLASS_HEAP

static const struct estimate estimates[] = {
	{ "nothing", { }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
	{ "not observed yet", { { { 32, 32 }, { ONE, ONE }, 9, NONE, TEXT } },
	  { 0, 0, 64, 64 }, { 0, 0, 64, 64 } },
	{ "a hot page", { { { 1, 0 }, { ONE, 0 }, 1, WHOLE, TEXT } },
	  { 1, 1, 1, 1 }, { 1, 1, 1, 1 } },
	{ "a cold page", { { { 1, 0 }, { 0, 0 }, 1, WHOLE, TEXT } },
	  { 0, 0, 0, 1 }, { 0, 0, 0, 1 } },
	{ "classes add up",
	  { { { 32, 32 }, { ONE, ONE }, SURE, WHOLE, TEXT },
	    { { 100, 28 }, { 0, 0 }, SURE, WHOLE, HEAP },
	    { { 1, 0 }, { ONE, 0 }, 1, WHOLE, TEXT } },
	  { 65, 65, 65, 193 }, { 65, 65, 65, 65 } },
	/* sqrt((100^2 + 100^2) / 2) * 1.96 */
	{ "halves differ", { { { 100, 100 }, { ONE, 0 }, 1, WHOLE, TEXT },
			     { { 500, 500 }, { ONE, ONE }, SURE, WHOLE, TEXT } },
	  { 1100, 904, 1200, 1200 }, { 1100, 904, 1200, 1200 } },
	/* a quarter of the above, as of each half's pages */
	{ "shares between", { { { 100, 100 }, { ONE / 2, ONE / 4 }, 1, WHOLE, TEXT },
			      { { 500, 500 }, { ONE, ONE }, SURE, WHOLE, TEXT } },
	  { 1075, 1026, 1124, 1200 }, { 1075, 1026, 1124, 1200 } },
	/* 3 times 1.75, where few members of a group use a page */
	{ "parts of pages add up",
	  { { { 1, 0 }, { ONE * 7 / 4, 0 }, 1, WHOLE, HEAP },
	    { { 1, 0 }, { ONE * 7 / 4, 0 }, 1, WHOLE, HEAP },
	    { { 1, 0 }, { ONE * 7 / 4, 0 }, 1, WHOLE, HEAP },
	    { { 48, 48 }, { 0, 0 }, SURE, WHOLE, HEAP } },
	  { 5, 5, 5, 99 }, { 0, 0, 0, 0 } },
	/* the rule of three: 3 / (2 * 30) of the pages */
	{ "cold, with doubt", { { { 500, 500 }, { 0, 0 }, 30, WHOLE, TEXT } },
	  { 0, 0, 50, 1000 }, { 0, 0, 50, 1000 } },
	{ "hot, with doubt", { { { 500, 500 }, { ONE, ONE }, 30, WHOLE, TEXT } },
	  { 1000, 950, 1000, 1000 }, { 1000, 950, 1000, 1000 } },
	/* the same for the hot quarter and the other three, rounded up */
	{ "a quarter, with doubt", { { { 500, 500 }, { ONE / 4, ONE / 4 }, 30, WHOLE, TEXT } },
	  { 250, 237, 288, 1000 }, { 250, 237, 288, 1000 } },
	/* plus or minus a tenth: the edges of the window */
	{ "all looked at", { { { 500, 500 }, { ONE / 4, ONE / 2 }, 1, WHOLE, TEXT, 3 } },
	  { 375, 338, 412, 1000 }, { 375, 338, 412, 1000 } },
	/* 1.96 * 100, as if the other half had been drawn from the same pages */
	{ "all looked at of the upper half",
	  { { { 100, 300 }, { ONE, 0 }, 1, WHOLE, TEXT, 2 },
	    { { 500, 500 }, { ONE, ONE }, SURE, WHOLE, TEXT } },
	  { 1100, 904, 1296, 1400 }, { 1100, 904, 1296, 1400 } },
	/* 1.96 * 300, and a tenth of 100 */
	{ "all looked at of the lower half",
	  { { { 100, 300 }, { ONE, 0 }, 1, WHOLE, TEXT, 1 },
	    { { 500, 500 }, { ONE, ONE }, SURE, WHOLE, TEXT } },
	  { 1100, 503, 1400, 1400 }, { 1100, 503, 1400, 1400 } },
	{ "one draw proves nothing", { { { 500, 500 }, { 0, 0 }, 1, WHOLE, TEXT } },
	  { 0, 0, 1000, 1000 }, { 0, 0, 1000, 1000 } },
	{ "hot for a part of the window",
	  { { { 500, 500 }, { ONE, ONE }, 30, PART, TEXT } },
	  { 1000, 950, 1000, 1000 }, { 1000, 950, 1000, 1000 } },
	{ "cold for a part of the window",
	  { { { 500, 500 }, { 0, 0 }, SURE, PART, TEXT } },
	  { 0, 0, 1000, 1000 }, { 0, 0, 1000, 1000 } },
	{ "a quarter used for a part of it",
	  { { { 500, 500 }, { ONE / 4, ONE / 4 }, 1, PART, TEXT },
	    { { 500, 500 }, { 0, 0 }, SURE, WHOLE, TEXT } },
	  { 250, 0, 1000, 2000 }, { 250, 0, 1000, 2000 } },
	{ "everything, hot", { { { TOP / 2, TOP / 2 }, { ONE, ONE }, 3, WHOLE, TEXT } },
	  { TOP, TOP / 2, TOP, TOP }, { TOP, TOP / 2, TOP, TOP } },
	{ "everything, cold", { { { TOP / 2, TOP / 2 }, { 0, 0 }, 3, WHOLE, TEXT } },
	  { 0, 0, TOP / 2, TOP }, { 0, 0, TOP / 2, TOP } },
	{ "everything, halves differ",
	  { { { TOP / 2, TOP / 2 }, { 0, ONE }, 1, WHOLE, TEXT } },
	  { TOP / 2, 0, TOP, TOP }, { TOP / 2, 0, TOP, TOP } },
	{ "a page beside everything",
	  { { { 1, 0 }, { ONE, 0 }, 1, WHOLE, TEXT },
	    { { TOP / 2, TOP / 2 - 2 }, { 0, 0 }, 3, WHOLE, HEAP } },
	  { 1, 1, TOP / 2, TOP - 1 }, { 1, 1, 1, 1 } },
};

KUNIT_ARRAY_PARAM_DESC(estimate, estimates, what);

/* Regions side by side, without cells: enough for the estimator. */
static void add_region(struct world *w, const struct looked *l, u32 k)
{
	struct wsmon_region *r = &w->rs.r[w->rs.nr];
	u64 start = wsmon_space_pages(&w->sp);

	KUNIT_ASSERT_EQ(w->test, 0, wsmon_space_add(&w->sp, start,
						    start + l->n[0] + l->n[1],
						    l->class, false));
	memcpy(r->n, l->n, sizeof(r->n));
	r->draws = l->draws;
	r->area = w->sp.nr_ext - 1;
	/* the other windows have different values */
	memset(r->out, 0x11, sizeof(r->out));
	memcpy(r->out[k], l->out, sizeof(l->out));
	r->known = l->seen != NONE ? BIT(k) : ~BIT(k);
	r->whole = l->seen == WHOLE ? BIT(k) : ~BIT(k);
	r->exact[0] = l->exact & 1 ? BIT(k) : 0;
	r->exact[1] = l->exact & 2 ? BIT(k) : 0;
	w->rs.nr++;
}

static void by_hand_for(struct kunit *test, u32 k)
{
	struct world *w = world_new(test, MAX_REGIONS, MAX_REGIONS);
	const struct estimate *e = test->param_value;
	struct wsmon_wss wss[WSMON_NR_WSS];
	u32 i;

	for (i = 0; i < MAX_REGIONS && e->r[i].class; i++)
		add_region(w, &e->r[i], k);
	wsmon_space_group(&w->sp, MAX_REGIONS);
	w->rs.edge = ONE / 10;
	memset(wss, 0xff, sizeof(wss));
	wsmon_wss_estimate(&w->rs, &w->sp, NULL, k, wss);

	KUNIT_EXPECT_EQ(test, wss[WSMON_CLASS_ALL].pages, e->all.pages);
	KUNIT_EXPECT_EQ(test, wss[WSMON_CLASS_ALL].low, e->all.low);
	KUNIT_EXPECT_EQ(test, wss[WSMON_CLASS_ALL].high, e->all.high);
	KUNIT_EXPECT_EQ(test, wss[WSMON_CLASS_ALL].mapped, e->all.mapped);
	KUNIT_EXPECT_MEMEQ(test, &wss[TEXT], &e->text, sizeof(e->text));
	KUNIT_EXPECT_EQ(test, wss[HEAP].mapped, e->all.mapped - e->text.mapped);
	KUNIT_EXPECT_EQ(test, wss[WSMON_CLASS_MIXED].high, 0);
}

static void by_hand(struct kunit *test)
{
	by_hand_for(test, 0);
	by_hand_for(test, WSMON_WINDOWS_MAX - 1);
}

/* The maximum number of regions, all of them uncertain */
static void most_regions_differ(struct kunit *test)
{
	static const struct mapping map = { 0, TOP, TEXT };
	struct world *w = world_new(test, 1, WSMON_REGIONS_LIMIT);
	struct wsmon_wss wss[WSMON_NR_WSS];
	u64 half;
	u32 i;

	world_fill(w, &map, 1, 1);
	wsmon_regions_fit(&w->rs, &w->sp, 1, 0);
	wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
	KUNIT_ASSERT_EQ(test, w->rs.nr, WSMON_REGIONS_LIMIT);
	for (i = 0; i < w->rs.nr; i++) {
		w->rs.r[i].out[0][i % 2] = ONE;
		w->rs.r[i].draws = 1;
		w->rs.r[i].known = 1;
		w->rs.r[i].whole = 1;
	}
	wsmon_wss_estimate(&w->rs, &w->sp, NULL, 0, wss);
	KUNIT_EXPECT_EQ(test, wss[0].pages, TOP / 2);
	KUNIT_EXPECT_EQ(test, wss[0].mapped, TOP);
	/* 2^15 regions of 2^30: 1.96 * sqrt(2^15) * 2^29 */
	half = wss[0].high - wss[0].pages;
	KUNIT_EXPECT_EQ(test, half, wss[0].pages - wss[0].low);
	KUNIT_EXPECT_GE(test, half, 190480000000ULL);
	KUNIT_EXPECT_LE(test, half, 190490000000ULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(by_hand, estimate_gen_params),
	KUNIT_CASE(most_regions_differ),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_wss",
	.test_cases = cases,
};

kunit_test_suite(suite);
