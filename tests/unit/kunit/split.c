// SPDX-License-Identifier: GPL-2.0
/* split.c - suite wsmon_split: evidence, and its effect on regions */
#include "world.h"

struct evidence {
	const char *what;
	/*
	 * c: both samples cold, h: both hot, l: only the lower hot, u: only the
	 * upper
	 */
	const char *seen;
	u16 share[2];
	u16 disagree;
	u16 draws;
	u64 since_ns;	/* the first observation is at 1 */
};

#define ONE	WSMON_ONE

static const struct evidence evidences[] = {
	{ "cold from the start", "c", { 0, 0 }, 0, 1, 0 },
	{ "hot from the start", "h", { ONE, ONE }, 0, 1, 1 },
	{ "halves differ", "l", { ONE, 0 }, ONE, 1, 1 },
	{ "stays cold", "cccc", { 0, 0 }, 0, 4, 0 },
	{ "stays hot", "hhhh", { ONE, ONE }, 0, 4, 1 },
	{ "turns hot at once", "cccch", { ONE, ONE }, 0, 1, 5 },
	{ "turns cold at once", "hhhhc", { 0, 0 }, 0, 1, 5 },
	/* below three quarters it is an average */
	{ "half of it", "lu", { ONE / 2, ONE / 2 }, ONE, 2, 1 },
	{ "cold after a half", "lc", { ONE / 2, 0 }, ONE / 2, 2, 1 },
	/* 65 in all: draws stay at 64, the average is of the last eight */
	{ "does not overflow",
	  "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhl",
	  { ONE, ONE * 7 / 8 }, ONE / 8, 64, 1 },
};

KUNIT_ARRAY_PARAM_DESC(evidence, evidences, what);

/* A region is too large for the stack. */
static struct wsmon_region *region_new(struct kunit *test, u64 n0, u64 n1)
{
	struct wsmon_region *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->n[0] = n0;
	r->n[1] = n1;
	r->end = n0 + n1;
	return r;
}

static void observe_for(struct kunit *test, u64 n0, u64 n1)
{
	const struct evidence *e = test->param_value;
	struct wsmon_region *r = region_new(test, n0, n1);
	const char *seen;
	u64 now = 0;

	for (seen = e->seen; *seen; seen++) {
		const u32 x[2] = { *seen == 'h' || *seen == 'l' ? ONE : 0,
				   *seen == 'h' || *seen == 'u' ? ONE : 0 };

		wsmon_region_observe(r, x, true, ++now);
	}
	KUNIT_EXPECT_EQ(test, r->share[0], e->share[0]);
	KUNIT_EXPECT_EQ(test, r->share[1], e->share[1]);
	KUNIT_EXPECT_EQ(test, r->disagree, e->disagree);
	KUNIT_EXPECT_EQ(test, r->draws, e->draws);
	KUNIT_EXPECT_EQ(test, r->since_ns, e->since_ns);
}

static void observes(struct kunit *test)
{
	observe_for(test, 1, 1);
	observe_for(test, TOP / 2, TOP / 2);
}

/* Shares drift slowly; another look at the same pages is no new draw. */
static void drifts(struct kunit *test)
{
	const u32 yes[2] = { ONE, ONE }, low[2] = { ONE, 0 };
	struct wsmon_region *r = region_new(test, 1, 1);
	u32 i, draws;

	r->since_ns = 1;
	for (i = 0; i < 101; i++)
		wsmon_region_observe(r, yes, true, 20 + i);
	KUNIT_EXPECT_EQ(test, r->since_ns, 20);
	KUNIT_EXPECT_EQ(test, r->draws, 64);
	KUNIT_EXPECT_EQ(test, r->disagree, 0);
	for (i = 0; i < 100; i++)
		wsmon_region_observe(r, low, true, 200 + i);
	KUNIT_EXPECT_GT(test, r->share[0], ONE * 9 / 10);
	KUNIT_EXPECT_LT(test, r->share[1], ONE / 10);
	KUNIT_EXPECT_GT(test, r->disagree, ONE * 9 / 10);
	/* the share fell by half */
	KUNIT_EXPECT_GT(test, r->since_ns, 200);
	draws = r->draws;
	wsmon_region_observe(r, low, false, 400);
	KUNIT_EXPECT_EQ(test, r->draws, draws);
}

/* The second half of a single page does not exist: its sample must not count. */
static void observes_single_page(struct kunit *test)
{
	static const u32 x[][2] = { { ONE, 0 }, { 0, ONE } };
	struct wsmon_region *r = region_new(test, 1, 0);
	u32 i;

	for (i = 0; i < 2; i++) {
		wsmon_region_observe(r, x[i], true, i + 1);
		KUNIT_EXPECT_EQ(test, wsmon_region_share(r), x[i][0]);
		KUNIT_EXPECT_EQ(test, r->disagree, 0);
	}
}

struct spending {
	const char *what;
	struct mapping map[MAX_MAPS];
	u32 budget[4];
	u32 want[4];
};

static const struct spending spendings[] = {
	{ "nothing", { }, { 1, 10, 2 }, { 0, 0, 0 } },
	{ "first page", { { 0, 1, 1 } }, { 1, 10, 2 }, { 1, 1, 1 } },
	{ "last page", { { TOP - 1, TOP, 1 } }, { 1, 10, 2 }, { 1, 1, 1 } },
	{ "few pages", { { TOP - 5, TOP, 1 } }, { 3, 10, 1 }, { 3, 5, 1 } },
	{ "everything, within limits", { { 0, TOP, 1 } },
	  { 10, WSMON_REGIONS_LIMIT, 1 }, { 10, WSMON_REGIONS_LIMIT, 1 } },
	{ "areas of all sizes", { { 0, 1, 1 }, { 7, 9, 1 }, { 100, 1124, 1 },
	  { TOP / 2, TOP, 1 } },
	  { 8, 2000, 100, 4 }, { 8, 2000, 100, 4 } },
};

KUNIT_ARRAY_PARAM_DESC(spending, spendings, what);

/* The whole budget is used, and never more. */
static void budget_is_kept(struct kunit *test)
{
	const struct spending *s = test->param_value;
	u32 most = 1, i;
	struct world *w;

	for (i = 0; i < ARRAY_SIZE(s->budget); i++)
		most = max(most, s->budget[i]);
	w = world_new(test, MAX_MAPS, most);
	world_fill(w, s->map, MAX_MAPS, MAX_MAPS);
	wsmon_regions_fit(&w->rs, &w->sp, 1, 0);
	for (i = 0; i < ARRAY_SIZE(s->budget) && s->budget[i]; i++) {
		w->rs.budget = s->budget[i];
		wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
		KUNIT_EXPECT_EQ(test, w->rs.nr, s->want[i]);
		world_check(w);
	}
}

struct move {
	const char *what;
	/* of eight regions of 16 pages: c cold, h hot, d halves differ */
	const char *before;
	u32 budget;
	/* first pages of the regions afterwards */
	u64 after[10];
};

/*
 *	before	|.......|.......|.......|.......|.......|.......|.......|.......|
 *	        0       16      32      48      64      80      96      112     128
 */
static const struct move moves[] = {
	{ "one more goes where halves disagree", "ccccdccc", 9,
	  { 0, 16, 32, 48, 64, 72, 80, 96, 112 } },
	{ "agreeing buddies pay for a cut", "ccccdhcd", 8,
	  { 0, 32, 64, 72, 80, 96, 112, 120 } },
	{ "the pair that agrees is joined", "dchhdddd", 7,
	  { 0, 16, 32, 64, 80, 96, 112 } },
	{ "opposites are joined last", "cchcddcd", 6,
	  { 0, 32, 48, 64, 96, 112 } },
};

KUNIT_ARRAY_PARAM_DESC(move, moves, what);

static struct world *eight(struct kunit *test, const char *before)
{
	static const struct mapping map = { 0, 128, 1 };
	struct world *w = world_new(test, 1, 8);
	u32 i;

	world_fill(w, &map, 1, 1);
	wsmon_regions_fit(&w->rs, &w->sp, 1, 0);
	wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
	KUNIT_ASSERT_EQ(test, w->rs.nr, 8);
	for (i = 0; i < 8; i++) {
		struct wsmon_region *r = &w->rs.r[i];

		KUNIT_ASSERT_EQ(test, r->start, 16 * i);
		r->draws = 1000;
		r->disagree = before[i] == 'd' ? ONE : 0;
		r->share[0] = before[i] == 'c' ? 0 : ONE;
		r->share[1] = before[i] == 'h' ? ONE : 0;
	}
	return w;
}

static void regions_move(struct kunit *test)
{
	const struct move *m = test->param_value;
	struct world *w = eight(test, m->before);
	u32 i;

	w->rs.budget = m->budget;
	wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
	KUNIT_ASSERT_EQ(test, w->rs.nr, m->budget);
	for (i = 0; i < w->rs.nr; i++)
		KUNIT_EXPECT_EQ(test, w->rs.r[i].start, m->after[i]);
	world_check(w);
}

/* Armed samples must not move, whatever the budget; but the limit holds. */
static void armed_regions_stay(struct kunit *test)
{
	static const u32 budgets[] = { 1, 7, 8, 9, 16 };
	struct world *w = eight(test, "cccdchhd");
	u32 i;

	for (i = 0; i < 8; i++)
		w->rs.r[i].armed_ns = 1;
	for (i = 0; i < ARRAY_SIZE(budgets); i++) {
		w->rs.budget = budgets[i];
		wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
		KUNIT_EXPECT_EQ(test, w->rs.nr, 8);
	}
	for (i = 7; i; i--) {
		w->rs.budget = min(w->rs.budget, i);
		w->rs.limit = i;
		wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
		KUNIT_EXPECT_EQ(test, w->rs.nr, i);
		world_check(w);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(observes, evidence_gen_params),
	KUNIT_CASE(drifts),
	KUNIT_CASE(observes_single_page),
	KUNIT_CASE_PARAM(budget_is_kept, spending_gen_params),
	KUNIT_CASE_PARAM(regions_move, move_gen_params),
	KUNIT_CASE(armed_regions_stay),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_split",
	.test_cases = cases,
};

kunit_test_suite(suite);
