// SPDX-License-Identifier: GPL-2.0
/* regions.c - suite wsmon_regions: mappings, and the cells that tile them */
#include "world.h"

static void cell_mid(struct kunit *test)
{
	static const u64 rows[][3] = {
		/* start and end of a range, middle of the smallest cell that holds it */
		{ 0, 1, 1 },
		{ 0, 2, 1 }, { 0, 3, 2 }, { 0, 8, 4 }, { 1, 3, 2 }, { 3, 5, 4 }, { 5, 6, 6 },
		{ 100, 128, 112 },
		{ 96, 128, 112 },
		{ 97, 101, 100 },
		{ 511, 513, 512 },
		{ 0, TOP, TOP / 2 },
		{ 1, TOP, TOP / 2 },
		{ TOP / 2 - 1, TOP / 2 + 1, TOP / 2 },
		{ TOP - 2, TOP, TOP - 1 },
		{ TOP - 1, TOP, TOP },
		{ U64_MAX - 2, U64_MAX, U64_MAX - 1 },
		{ 0, U64_MAX, 1ULL << 63 }, { 1, U64_MAX, 1ULL << 63 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, rows[i][2],
				    wsmon_cell_mid(rows[i][0], rows[i][1]),
				    "%llx-%llx", rows[i][0], rows[i][1]);
}

static void space_add(struct kunit *test)
{
	static const struct {
		struct mapping add;
		int want;
		u32 nr_ext;
		u64 pages;
	} rows[] = {
		{ { 5, 5, 1 }, -EINVAL, 0, 0 },
		{ { 6, 5, 1 }, -EINVAL, 0, 0 },
		{ { 0, 10, 1 }, 0, 1, 10 },
		{ { 9, 20, 1 }, -EINVAL, 1, 10 },
		{ { 10, 20, 1 }, 0, 1, 20 },	/* joins */
		{ { 20, 30, 2 }, 0, 2, 30 },	/* another class */
		{ { TOP - 9, TOP - 1, 2 }, 0, 3, 38 },
		{ { 40, 50, 2 }, -EINVAL, 3, 38 },
		{ { TOP - 1, TOP, 3 }, -ENOSPC, 3, 38 },
		{ { TOP - 1, TOP, 2 }, 0, 3, 39 },
	};
	struct world *w = world_new(test, 3, 1);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct mapping *r = &rows[i].add;

		KUNIT_EXPECT_EQ_MSG(test, rows[i].want,
				    wsmon_space_add(&w->sp, r->start, r->end,
						    r->class, false),
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].nr_ext, w->sp.nr_ext,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].pages,
				    wsmon_space_pages(&w->sp), "row %u", i);
	}
	KUNIT_EXPECT_EQ(test, w->sp.ext[2].base, 30);
}

/* Four times the maximum of separate mappings, with gaps of 1 to 64 pages */
static void space_overfull(struct kunit *test)
{
	struct world *w = world_new(test, WSMON_MAX_EXTENTS, 1);
	u64 i, nr = 4 * WSMON_MAX_EXTENTS, pages = 0;

	for (i = 0; i < nr; i++) {
		u64 end = i * 100 + 100 - (1 << i % 7);

		KUNIT_ASSERT_EQ(test, 0, wsmon_space_add(&w->sp, i * 100, end,
							 1 + i % 3, false));
		pages += end - i * 100;
	}
	KUNIT_EXPECT_LE(test, w->sp.nr_ext, WSMON_MAX_EXTENTS);
	KUNIT_EXPECT_GE(test, wsmon_space_pages(&w->sp), pages);
	KUNIT_EXPECT_LE(test, wsmon_space_pages(&w->sp), nr * 100);
	KUNIT_EXPECT_EQ(test, w->sp.ext[0].start, 0);
	KUNIT_EXPECT_EQ(test, w->sp.ext[w->sp.nr_ext - 1].end,
			nr * 100 - (1 << (nr - 1) % 7));
	for (i = 1; i < w->sp.nr_ext; i++)
		KUNIT_EXPECT_EQ(test, w->sp.ext[i].base, w->sp.ext[i - 1].base +
				w->sp.ext[i - 1].end - w->sp.ext[i - 1].start);
	wsmon_space_group(&w->sp, 7);
	KUNIT_EXPECT_LE(test, w->sp.nr_area, 7);
}

/*
 * Areas: at most as many as asked for, each extent in one of them, parts of a
 * mapping in the same, the smallest areas coalesced
 */
static void space_group(struct kunit *test)
{
	static const struct mapping map[] = {
		{ 0, 1000, WSMON_CLASS_TEXT },
		{ 2000, 2001, WSMON_CLASS_DATA },
		{ 2001, 2002, WSMON_CLASS_HEAP },
		{ 5000, 5001, WSMON_CLASS_HEAP, true },
		{ TOP - 1000, TOP, WSMON_CLASS_ANON },
	};
	static const struct {
		u32 max_areas;
		u32 nr_area;
		u32 class[4];
	} rows[] = {
		{ 4, 4, { WSMON_CLASS_TEXT, WSMON_CLASS_DATA,
			  WSMON_CLASS_HEAP, WSMON_CLASS_ANON } },
		{ 3, 3, { WSMON_CLASS_TEXT, WSMON_CLASS_MIXED,
			  WSMON_CLASS_ANON } },
		{ 2, 2, { WSMON_CLASS_MIXED, WSMON_CLASS_ANON } },
		{ 1, 1, { WSMON_CLASS_MIXED } },
	};
	struct world *w = world_new(test, 5, 1);
	u32 i, j, ext;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		world_fill(w, map, 5, rows[i].max_areas);
		KUNIT_ASSERT_EQ(test, w->sp.nr_area, rows[i].nr_area);
		for (j = 0, ext = 0; j < w->sp.nr_area; j++) {
			KUNIT_EXPECT_EQ(test, w->sp.area[j].first, ext);
			KUNIT_EXPECT_EQ(test, w->sp.area[j].class,
					rows[i].class[j]);
			ext += w->sp.area[j].nr;
		}
		KUNIT_EXPECT_EQ(test, ext, 5);
	}
}

/* Pages of an area with gaps are numbered without the gaps. */
static void rank_and_select(struct kunit *test)
{
	static const struct mapping map[] = {
		{ 0, 3, 1 }, { 1000, 1001, 1 }, { TOP - 2, TOP, 1 },
	};
	static const u64 vpn[] = { 0, 1, 2, 1000, TOP - 2, TOP - 1 };
	static const struct {
		u64 vpn;
		u64 rank;
	} gaps[] = {
		{ 3, 3 }, { 999, 3 }, { 1001, 4 }, { TOP - 3, 4 }, { TOP, 6 },
		{ U64_MAX, 6 },
	};
	struct world *w = world_new(test, 3, 1);
	const struct wsmon_area *a = w->sp.area;
	u32 i;

	world_fill(w, map, 3, 1);
	for (i = 0; i < ARRAY_SIZE(vpn); i++) {
		KUNIT_EXPECT_EQ(test, wsmon_area_select(&w->sp, a, i), vpn[i]);
		KUNIT_EXPECT_EQ(test, wsmon_area_rank(&w->sp, a, vpn[i]), i);
	}
	for (i = 0; i < ARRAY_SIZE(gaps); i++)
		KUNIT_EXPECT_EQ(test, wsmon_area_rank(&w->sp, a, gaps[i].vpn),
				gaps[i].rank);
}

struct tiling {
	const char *what;
	struct mapping old[MAX_MAPS];
	struct mapping new[MAX_MAPS];
};

/*
 *	old	   |----|----|        |----|----|        |----|----|
 *	new	|------------|  |--|      |------------------------|
 */
static const struct tiling tilings[] = {
	{ "first page", { }, { { 0, 1, 1 } } },
	{ "last page", { }, { { TOP - 1, TOP, 1 } } },
	{ "everything", { }, { { 0, TOP, 1 } } },
	{ "all but the ends", { { 0, TOP, 1 } }, { { 1, TOP - 1, 1 } } },
	{ "both ends", { { 1, TOP - 1, 1 } }, { { 0, 1, 1 }, { TOP - 1, TOP, 1 } } },
	{ "the middle", { { 0, TOP, 1 } },
	  { { TOP / 2 - 1, TOP / 2 + 1, 1 } } },
	{ "nothing left", { { 0, 100, 1 } }, { } },
	{ "other pages", { { 0, 100, 1 } }, { { 200, 300, 1 } } },
	{ "grown both ways", { { 97, 101, 1 } }, { { 3, 300, 1 } } },
	{ "split in two", { { 0, 64, 1 } }, { { 0, 31, 1 }, { 33, 64, 1 } } },
	{ "joined", { { 0, 31, 1 }, { 33, 64, 1 } }, { { 0, 64, 1 } } },
	{ "another class", { { 0, 64, 1 } }, { { 0, 30, 1 }, { 30, 64, 2 } } },
	{ "three areas moved", { { 10, 30, 1 }, { 50, 59, 1 }, { 70, 100, 1 } },
	  { { 5, 27, 1 }, { 45, 55, 1 }, { 73, 104, 1 } } },
	{ "three areas shrunk", { { 10, 30, 1 }, { 50, 59, 1 }, { 70, 100, 1 } },
	  { { 5, 27, 1 }, { 56, 57, 1 }, { 65, 104, 1 } } },
	{ "one left its place", { { 10, 30, 1 }, { 50, 59, 1 }, { 70, 100, 1 } },
	  { { 5, 27, 1 }, { 61, 63, 1 }, { 65, 104, 1 } } },
	{ "none kept", { { 10, 30, 1 }, { 50, 59, 1 }, { 70, 100, 1 } },
	  { { 5, 7, 1 }, { 30, 32, 1 }, { 65, 68, 1 } } },
	{ "parts of one mapping", { { 0, TOP, 1 } },
	  { { 7, 8, 1 }, { 512, 1024, 1, true }, { TOP - 512, TOP, 1, true } } },
	/* areas are coalesced if the budget is small */
	{ "areas with gaps",
	  { { 0, 9, 1 }, { 11, 13, 2 }, { 1000, 1003, 3 }, { TOP - 5, TOP, 4 } },
	  { { 1, 5, 1 }, { 8, 12, 2 }, { 900, 1100, 3 }, { 5000, 5001, 1 },
	    { TOP - 9, TOP - 2, 4 } } },
};

KUNIT_ARRAY_PARAM_DESC(tiling, tilings, what);

/* Fit to mappings, adapt, and draw samples, as kwsmond does. */
static void settle(struct world *w, const struct mapping *map)
{
	u32 i;

	world_fill(w, map, MAX_MAPS, max(w->rs.budget / 2, 1U));
	wsmon_regions_fit(&w->rs, &w->sp, 1, 0);
	world_check(w);
	wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
	world_check(w);
	KUNIT_EXPECT_LE(w->test, w->rs.nr, w->rs.budget);
	KUNIT_EXPECT_GE(w->test, w->rs.nr, w->sp.nr_area);
	for (i = 0; i < w->rs.nr; i++)
		wsmon_region_draw(&w->sp, &w->rs.r[i], wsmon_draw_key(1, 1));
}

static void tiles_exactly(struct kunit *test)
{
	static const u32 budgets[] = { 1, 2, 3, 8, 20, 1000 };
	const struct tiling *t = test->param_value;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(budgets); i++) {
		struct world *w = world_new(test, MAX_MAPS, budgets[i]);

		settle(w, t->old);
		settle(w, t->new);
		settle(w, t->old);
	}
}

/* Regions of memory that stays mapped keep their past; other regions have none. */
static void history_stays(struct kunit *test)
{
	const struct tiling *t = test->param_value;
	struct world *w = world_new(test, MAX_MAPS, 500);
	u32 i, j;

	settle(w, t->old);
	for (i = 0; i < w->rs.nr; i++)
		w->rs.r[i].draws = 9;
	world_fill(w, t->new, MAX_MAPS, 100);
	wsmon_regions_fit(&w->rs, &w->sp, 2, 7);
	for (i = 0; i < w->rs.nr; i++) {
		const struct wsmon_region *r = &w->rs.r[i];
		bool within = false, apart = true;

		for (j = 0; j < MAX_MAPS && t->old[j].class; j++) {
			const struct mapping *o = &t->old[j];

			within |= r->start >= o->start && r->end <= o->end;
			apart &= r->end <= o->start || r->start >= o->end;
		}
		if (within)
			KUNIT_EXPECT_EQ_MSG(test, r->draws, 9, "%llx-%llx",
					    r->start, r->end);
		if (!apart)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, r->draws, 0, "%llx-%llx", r->start, r->end);
		/* its memory is no older than that */
		KUNIT_EXPECT_EQ_MSG(test, r->origin_ns, 7, "%llx-%llx", r->start, r->end);
	}
}

static const struct mapping cells[] = {
	{ 0, 2, 1 }, { 0, 3, 1 }, { 5, 8, 1 }, { 97, 101, 1 }, { 511, 513, 1 },
	{ 0, 1 << 20, 1 }, { 0, TOP, 1 }, { 1, TOP - 1, 1 },
	{ TOP - 2, TOP, 1 }, { TOP / 2 - 1, TOP, 1 },
};

static void split_then_merge(struct kunit *test)
{
	struct world *w = world_new(test, 1, 1);
	/* several regions are too large for a kernel stack */
	struct wsmon_region *r = test_alloc(test, 4, sizeof(*r));
	struct wsmon_region *half = r + 1, *again = r + 3;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cells); i++) {
		world_fill(w, &cells[i], 1, 1);
		w->rs.nr = 0;
		wsmon_regions_fit(&w->rs, &w->sp, 7, 0);
		*r = w->rs.r[0];
		r->share[0] = WSMON_ONE;
		r->share[1] = 12345;
		r->out[0][0] = 1;
		r->out[0][1] = WSMON_ONE;
		r->out[WSMON_WINDOWS_MAX - 1][0] = WSMON_ONE;
		r->draws = 10;
		r->times = 2;
		r->past = (struct wsmon_history){ .mean = { 3, WSMON_ONE }, .var = { 5, 7 } };
		r->known = 0x81;
		r->whole = 0x80;

		wsmon_region_split(&w->sp, r, half);
		KUNIT_EXPECT_EQ(test, half[0].start, cells[i].start);
		KUNIT_EXPECT_EQ(test, half[0].end, half[1].start);
		KUNIT_EXPECT_EQ(test, half[1].end, cells[i].end);
		KUNIT_EXPECT_EQ(test, wsmon_region_pages(&half[0]), r->n[0]);
		KUNIT_EXPECT_EQ(test, wsmon_region_pages(&half[1]), r->n[1]);
		KUNIT_EXPECT_EQ(test, wsmon_region_share(&half[0]), WSMON_ONE);
		KUNIT_EXPECT_EQ(test, wsmon_region_share(&half[1]), 12345);

		wsmon_region_merge(&w->sp, &half[0], &half[1], again);
		/* fields that merging cannot restore, or restores in another form */
		again->ref = r->ref;
		again->disagree = r->disagree;
		KUNIT_EXPECT_MEMEQ(test, again, r, sizeof(*r));
	}
}

/* Both samples are in their halves in any epoch; all pages get a turn. */
static void samples_in_halves(struct kunit *test)
{
	static const u64 epochs[] = { 0, 1, 2, 3, 1ULL << 32, U64_MAX };
	struct world *w = world_new(test, 1, 1);
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(cells); i++) {
		struct wsmon_region *r;
		u64 mid;

		world_fill(w, &cells[i], 1, 1);
		w->rs.nr = 0;
		wsmon_regions_fit(&w->rs, &w->sp, 7, 0);
		r = &w->rs.r[0];
		mid = wsmon_cell_mid(r->start, r->end);
		for (j = 0; j < ARRAY_SIZE(epochs); j++) {
			wsmon_region_draw(&w->sp, r, wsmon_draw_key(U64_MAX, epochs[j]));
			KUNIT_EXPECT_GE(test, r->s[0].vpn, r->start);
			KUNIT_EXPECT_LT(test, r->s[0].vpn, mid);
			KUNIT_EXPECT_GE(test, r->s[1].vpn, mid);
			KUNIT_EXPECT_LT(test, r->s[1].vpn, r->end);
		}
	}
}

static void samples_everywhere(struct kunit *test)
{
	static const struct mapping map[] = {
		{ TOP - 100, TOP - 98, 1 }, { TOP - 50, TOP - 49, 1 },
		{ TOP - 3, TOP, 1 },
	};
	struct world *w = world_new(test, 3, 1);
	u32 count[6] = { }, i;

	world_fill(w, map, 3, 1);
	wsmon_regions_fit(&w->rs, &w->sp, 1, 0);
	for (i = 0; i < 200; i++) {
		struct wsmon_region *r = &w->rs.r[0];

		wsmon_region_draw(&w->sp, r, wsmon_draw_key(3, i));
		count[wsmon_area_rank(&w->sp, w->sp.area, r->s[0].vpn)]++;
		count[wsmon_area_rank(&w->sp, w->sp.area, r->s[1].vpn)]++;
	}
	/* the cell of 128 pages splits at TOP - 64: 2 pages below, 4 above */
	for (i = 0; i < ARRAY_SIZE(count); i++) {
		KUNIT_EXPECT_GT(test, count[i], i < 2 ? 70 : 30);
		KUNIT_EXPECT_LT(test, count[i], i < 2 ? 130 : 70);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(cell_mid),
	KUNIT_CASE(space_add),
	KUNIT_CASE(space_overfull),
	KUNIT_CASE(space_group),
	KUNIT_CASE(rank_and_select),
	KUNIT_CASE_PARAM(tiles_exactly, tiling_gen_params),
	KUNIT_CASE_PARAM(history_stays, tiling_gen_params),
	KUNIT_CASE(split_then_merge),
	KUNIT_CASE(samples_in_halves),
	KUNIT_CASE(samples_everywhere),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_regions",
	.test_cases = cases,
};

kunit_test_suite(suite);
