// SPDX-License-Identifier: GPL-2.0
/* fresh_test.c - memory that appeared within the window */
#include "world.h"

#define PAGES	4096

static struct wsmon_fresh f;

static void mark(const struct wsmon_space *sp, u8 *page, u8 bit)
{
	u32 i;
	u64 p;

	for (i = 0; i < sp->nr_ext; i++)
		for (p = sp->ext[i].start; p < sp->ext[i].end; p++)
			page[p] |= bit;
}

/* Drawn pages are in one space and not in the other, and evenly spread. */
static void draw_once(const struct world *now, const struct world *then)
{
	u64 total = 0, sum = 0, rank = 0, p;
	u8 page[PAGES] = { 0 };
	u32 i = 0, drawn = 0, c;

	mark(&now->sp, page, 1);
	mark(&then->sp, page, 2);
	for (p = 0; p < PAGES; p++)
		total += page[p] == 1;
	wsmon_fresh_draw(&f, &now->sp, &then->sp, test_random(), WSMON_FRESH_MAX);
	CHECK(f.nr == min(total, (u64)WSMON_FRESH_MAX), "%u of %llu", f.nr,
	      (long long)total);
	for (p = 0; p < PAGES; p++) {
		if (page[p] != 1)
			continue;
		for (; i < f.nr && f.vpn[i] == p; i++) {
			CHECK(rank >= total * i / f.nr &&
			      rank < total * (i + 1) / f.nr, "part %u", i);
			CHECK(f.class[i] && f.class[i] < WSMON_NR_CLASSES, "class");
		}
		rank++;
	}
	CHECK(i == f.nr, "%u of %u pages are new", i, f.nr);
	for (c = 0; c < WSMON_NR_CLASSES; c++) {
		sum += f.pages[c];
		drawn += f.drawn[c];
		CHECK(!f.seen[c] && f.drawn[c] <= f.pages[c], "class %u", c);
	}
	CHECK(sum == total && drawn == f.nr, "sums");
}

static void draw(void)
{
	struct world now, then;
	u32 i;

	for (i = 0; i < 20000; i++) {
		world_init(&now, 10);
		world_init(&then, 10);
		if (i % 7)
			world_map_random(&now, 1 + test_below(30), PAGES);
		if (i % 5)
			world_map_random(&then, 1 + test_below(30), PAGES);
		draw_once(&now, &then);
		world_free(&now);
		world_free(&then);
	}
}

/* All pages are equally likely. */
static void uniform(void)
{
	u32 hits[3000] = { 0 }, i, j, low = U32_MAX, high = 0;
	struct world now, then;

	world_init(&now, 10);
	world_init(&then, 10);
	world_map(&now, 100, 3100, WSMON_CLASS_ANON);
	world_map(&then, 1000, 1500, WSMON_CLASS_ANON);
	for (i = 0; i < 5000; i++) {
		wsmon_fresh_draw(&f, &now.sp, &then.sp, test_random(), WSMON_FRESH_MAX);
		for (j = 0; j < f.nr; j++)
			hits[f.vpn[j] - 100]++;
	}
	for (i = 0; i < 3000; i++) {
		if (i >= 900 && i < 1400) {
			CHECK(!hits[i], "%u is not new", i);
			continue;
		}
		low = min(low, hits[i]);
		high = max(high, hits[i]);
	}
	/* expected: 2048 each; a part has 2 or 3 pages */
	CHECK(low > 1500 && high < 2700, "%u to %u", low, high);
	world_free(&now);
	world_free(&then);
}

/*
 * New memory appears piecewise, all the time, within little more than the window. A piece touched
 * once counts if it appeared within the window; a piece used again always counts.
 */
static void early(void)
{
	static const u32 piece[] = { 1, 16, 256 }, percent[] = { 0, 1, 3, 10 };
	u32 i, j, held = 0, all = 0;
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct world w;

	world_init(&w, 10);
	for (i = 0; i < 24000; i++) {
		u64 window = 1000000000, age = window + window * percent[i % 4] / 100;
		u32 size = piece[i / 4 % 3], pieces = 16384 / size, drawn;
		bool again = i / 12 % 2;
		u64 pages = 0, truth = 0;

		/* at a random time in each of as many equal spans as there are pieces */
		for (j = 0; j < pieces; j++) {
			u64 at = age * j / pieces + test_below(age / pieces);

			pages += size;
			truth += again || at >= age - window ? size : 0;
		}
		drawn = min(pages, (u64)WSMON_FRESH_MAX);
		memset(&f, 0, sizeof(f));
		f.pages[WSMON_CLASS_HEAP] = pages;
		f.drawn[WSMON_CLASS_HEAP] = drawn;
		f.seen[WSMON_CLASS_HEAP] = drawn;
		f.early = wsmon_part_before(age, window);
		wsmon_wss_estimate(&w.rs, &w.sp, &f, 0, wss);
		held += truth >= wss[WSMON_CLASS_HEAP].low && truth <= wss[WSMON_CLASS_HEAP].high;
		all++;
	}
	CHECK(held >= all / 100 * 95, "%u of %u hold", held, all);
	CHECK(wsmon_part_before(U64_MAX, 1) == WSMON_ONE - 1, "%u", wsmon_part_before(U64_MAX, 1));
	CHECK(!wsmon_part_before(0, 0) && !wsmon_part_before(1, U64_MAX), "no part");
	world_free(&w);
}

void test_fresh(void)
{
	test_run("fresh: pages are drawn from what is new", draw);
	test_run("fresh: uniformly", uniform);
	test_run("fresh: what appeared before the window", early);
}
