// SPDX-License-Identifier: GPL-2.0
/*
 * interval_test.c - the statistics: is the estimate unbiased, and does the
 * interval hold the truth as often as promised?
 *
 * A simulated target touches a set of pages every interval; regions, samples
 * and estimates are the module's own.
 */
#include "world.h"

#define PAGES	131072ULL	/* 512 MiB */
#define BASE	0x7f1234567ULL

typedef bool (*pattern)(u64 page);

static bool contiguous_64m(u64 p) { return p >= 40000 && p < 40000 + 16384; }
static bool contiguous_8m(u64 p) { return p >= 77777 && p < 77777 + 2048; }
static bool every_2nd(u64 p) { return p % 2 == 0; }
static bool every_16th(u64 p) { return p % 16 == 3; }
static bool random_half(u64 p) { return test_hash(p) & 1; }
static bool random_5(u64 p) { return test_hash(p) % 20 == 0; }
static bool blocks_256k(u64 p) { return p / 64 % 2; }
static bool blocks_64k(u64 p) { return p / 16 % 2; }

static bool is_touched(const void *what, u64 vpn)
{
	const pattern *touched = what;

	return (*touched)(vpn - BASE);
}

static void study(pattern touched, double max_bias, double min_cover,
		  double max_half)
{
	u64 truth = 0, p;
	u32 seed, step, i, cases = 0, covered = 0;
	double sum = 0, half = 0;

	for (p = 0; p < PAGES; p++)
		truth += touched(p);
	for (seed = 0; seed < 10; seed++) {
		struct wsmon_wss wss[WSMON_NR_WSS];
		struct world w;

		world_init(&w, 2000);
		world_map(&w, BASE, BASE + PAGES, WSMON_CLASS_ANON);
		world_settle(&w, 0);
		for (step = 0; step < 40; step++) {
			world_observe(&w, is_touched, &touched);
			wsmon_wss_estimate(&w.rs, &w.sp, NULL, 0, wss);
			world_note(&w);
			if (step >= 10) {
				cases++;
				covered += wss->low <= truth && truth <= wss->high;
				sum += wss->pages;
				half += (wss->high - wss->low) / 2.;
			}
			wsmon_regions_adapt(&w.rs, &w.sp, &w.ws);
			for (i = 0; i < w.rs.nr; i++)
				wsmon_region_draw(&w.sp, &w.rs.r[i], wsmon_draw_key(seed, step));
		}
		world_free(&w);
	}
	sum = sum / cases / truth - 1;
	half = half / cases / truth;
	printf("# bias %+.2f %%, coverage %.1f %%, half-width %.2f %%\n",
	       sum * 100, covered * 100. / cases, half * 100);
	CHECK(sum < max_bias && sum > -max_bias, "bias %f", sum);
	CHECK(covered >= min_cover * cases, "%u of %u", covered, cases);
	CHECK(half < max_half, "half-width %f", half);
}

static void study_contiguous_64m(void) { study(contiguous_64m, .002, .93, .01); }
static void study_contiguous_8m(void) { study(contiguous_8m, .005, .93, .05); }
static void study_every_2nd(void) { study(every_2nd, .005, .90, .05); }
static void study_every_16th(void) { study(every_16th, .02, .90, .20); }
static void study_random_half(void) { study(random_half, .005, .90, .05); }
static void study_random_5(void) { study(random_5, .02, .90, .20); }
static void study_blocks_256k(void) { study(blocks_256k, .005, .93, .05); }
static void study_blocks_64k(void) { study(blocks_64k, .005, .90, .05); }

struct block {
	u64 start, end;
};

static bool in_block(const void *what, u64 vpn)
{
	const struct block *b = what;

	return vpn >= b->start && vpn < b->end;
}

/* Are most pages of the regions with accesses in the block? */
static bool shown(const struct wsmon_regions *rs, const struct block *b)
{
	u64 inside = 0, all = 0, size = b->end - b->start;
	u32 i;

	for (i = 0; i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		if (wsmon_region_share(r) < WSMON_ONE / 2)
			continue;
		all += r->end - r->start;
		if (r->start < b->end && r->end > b->start)
			inside += min(r->end, b->end) - max(r->start, b->start);
	}
	return inside >= size - size / 10 && all - inside <= size / 10;
}

/* Number of intervals until the block is found */
static u32 search(u64 seed, u64 pages, u64 size)
{
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct block b;
	struct world w;
	u32 step, i;

	test_seed(seed);
	b.start = BASE + test_below(pages - size);
	b.end = b.start + size;
	world_init(&w, 2000);
	world_map(&w, BASE, BASE + pages, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	for (step = 1; step < 1000; step++) {
		world_observe(&w, in_block, &b);
		wsmon_wss_estimate(&w.rs, &w.sp, NULL, 0, wss);
		world_note(&w);
		if (shown(&w.rs, &b))
			break;
		wsmon_regions_adapt(&w.rs, &w.sp, &w.ws);
		for (i = 0; i < w.rs.nr; i++)
			wsmon_region_draw(&w.sp, &w.rs.r[i], wsmon_draw_key(seed, step));
	}
	world_free(&w);
	return step;
}

/* 1 MiB of 64 GiB, pages of 4 KiB; 200 MiB of 160 GiB */
static void small_blocks_are_found(void)
{
	u32 seed, steps, sum = 0, worst = 0;

	for (seed = 1; seed <= 20; seed++) {
		steps = search(seed, 1 << 24, 256);
		sum += steps;
		worst = max(worst, steps);
		CHECK(search(seed, 160 << 18, 51200) <= 30, "seed %u", seed);
	}
	printf("# 1 MiB of 64 GiB: found after %u intervals in the mean, %u at most\n",
	       sum / 20, worst);
	CHECK(sum / 20 < 30 && worst < 90, "%u, %u", sum / 20, worst);
}

void test_coverage(void)
{
	test_run("coverage: 64 MiB contiguous of 512", study_contiguous_64m);
	test_run("coverage: 8 MiB contiguous", study_contiguous_8m);
	test_run("coverage: every 2nd page", study_every_2nd);
	test_run("coverage: every 16th page", study_every_16th);
	test_run("coverage: random half", study_random_half);
	test_run("coverage: random 5 %", study_random_5);
	test_run("coverage: blocks of 256 KiB", study_blocks_256k);
	test_run("coverage: blocks of 64 KiB", study_blocks_64k);
	test_run("coverage: small blocks are found", small_blocks_are_found);
}
