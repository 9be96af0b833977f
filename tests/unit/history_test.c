// SPDX-License-Identifier: GPL-2.0
/* history_test.c - the variance as estimated from earlier draws */
#include <math.h>

#include "world.h"

/* Fixed point: variances are Q30 */
#define ONE	((u64)1 << 2 * WSMON_SHIFT)

static struct wsmon_interval served = { .now = 2, .nr_windows = 1, .aggr_ns = 1 };

static struct wsmon_region fresh_region(void)
{
	return (struct wsmon_region){ .end = 64, .n = { 32, 32 }, .dropped = 1, .draws = 1 };
}

/* One more draw, which found these shares of the halves */
static void draw(struct wsmon_region *r, u32 x0, u32 x1)
{
	struct wsmon_regions rs = { .r = r, .nr = 1 };

	r->out[0][0] = x0;
	r->out[0][1] = x1;
	wsmon_regions_note(&rs, &served);
	r->draws++;
}

static u32 page(u32 permille)
{
	return test_below(1000) < permille ? WSMON_ONE : 0;
}

/* The mean of the variances is p (1 - p), for any number of draws. */
static void unbiased(void)
{
	static const u32 permille[2] = { 250, 900 };
	static const u32 draws[] = { 2, 3, 5, 8, 40 };
	const u32 runs = 40000;
	u32 i, j, h, n;

	for (j = 0; j < ARRAY_SIZE(draws); j++) {
		double mean[2] = { 0, 0 }, var[2] = { 0, 0 };

		for (i = 0; i < runs; i++) {
			struct wsmon_region r = fresh_region();

			for (n = 0; n < draws[j]; n++)
				draw(&r, page(permille[0]), page(permille[1]));
			CHECK(r.times == (draws[j] < 8 ? draws[j] : 8), "%u draws", r.times);
			for (h = 0; h < 2; h++) {
				mean[h] += r.past.mean[h] / (double)WSMON_ONE / runs;
				var[h] += r.past.var[h] / (double)ONE / runs;
			}
		}
		for (h = 0; h < 2; h++) {
			double p = permille[h] / 1000.;

			CHECK(fabs(mean[h] - p) < .01, "%u draws: mean %f", draws[j], mean[h]);
			/* after 8 draws the mean is of 7 values, and deviates more than later */
			CHECK(var[h] > .98 * p * (1 - p) && var[h] < 1.03 * p * (1 - p),
			      "%u draws: variance %f of %f", draws[j], var[h], p * (1 - p));
		}
	}
}

/* A first draw, a second one, and draws that do not count */
static void begins(void)
{
	struct wsmon_interval early = {
		.now = 2, .nr_windows = 1, .window_ns = { 2 }, .aggr_ns = 2
	};
	struct wsmon_interval longer = {
		.now = 2, .nr_windows = 1, .window_ns = { 2 }, .aggr_ns = 1
	};
	struct wsmon_region r = fresh_region();
	struct wsmon_regions rs = { .r = &r, .nr = 1 };

	draw(&r, WSMON_ONE, 0);
	CHECK(r.times == 1 && r.past.mean[0] == WSMON_ONE && !r.past.var[0], "a first draw");
	draw(&r, 0, 0);
	CHECK(r.times == 2 && r.past.mean[0] == WSMON_ONE / 2 &&
	      r.past.var[0] == ONE / 2 && !r.past.var[1], "a second one");
	r.out[0][0] = 0;
	r.stale = 1;
	wsmon_regions_note(&rs, &served);
	r.stale = 0;
	r.dropped = 0;
	wsmon_regions_note(&rs, &served);
	CHECK(r.times == 2, "not looked at");
	r.dropped = 1;
	r.armed_ns = 1;
	wsmon_regions_note(&rs, &early);
	CHECK(r.times == 2, "it served half of a window");
	r.armed_ns = 0;
	wsmon_regions_note(&rs, &longer);
	CHECK(r.times == 2, "a window of two intervals");
}

/* A region keeps its past only while it is drawn anew each interval, and is unchanged. */
static void forgets(void)
{
	static const struct { u32 draws, windows; bool dropped, kept; u64 window; } cases[] = {
		{ 9, 1, true, true, 1 }, { 0, 1, true, false, 1 }, { 9, 1, false, false, 1 },
		{ 9, 2, true, false, 1 }, { 9, 1, true, false, 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wsmon_interval iv = {
			.now = 2, .aggr_ns = 1, .nr_windows = cases[i].windows,
			.window_ns = { cases[i].window, cases[i].window },
		};
		struct wsmon_region r = fresh_region();
		struct wsmon_regions rs = { .r = &r, .nr = 1 };

		r.draws = cases[i].draws;
		r.dropped = cases[i].dropped;
		r.times = 8;
		r.armed_ns = 1;
		r.last = 1;
		r.checks = 2;
		wsmon_regions_learn(&rs, &iv, false);
		CHECK(!r.times == !cases[i].kept, "case %u: %u draws", i, r.times);
	}
}

/* The largest weights of groups, without any smoothing: no overflow */
static void heavy(void)
{
	struct wsmon_region r = fresh_region();

	draw(&r, WSMON_WEIGHT_MAX * WSMON_ONE, 0);
	draw(&r, 0, 0);
	CHECK(r.past.var[0] == ONE << 14, "variance %llu", (long long)r.past.var[0]);
	draw(&r, 0, WSMON_WEIGHT_MAX * WSMON_ONE);
	CHECK(r.past.var[0] < ONE << 14 && r.past.var[0] > ONE << 13 &&
	      r.past.var[1] > ONE << 13 && r.past.var[1] <= ONE << 14,
	      "variances %llu and %llu", (long long)r.past.var[0], (long long)r.past.var[1]);
}

static void split_and_merge(void)
{
	struct wsmon_region r = fresh_region(), out = { .times = 8 };

	r.n[1] = 96;
	r.times = 8;
	r.past = (struct wsmon_history){
		.mean = { 0, WSMON_ONE }, .var = { 0, ONE / 8 }
	};
	wsmon_history_merge(&out, 1, &r);
	CHECK(out.times == 3, "%u draws", out.times);
	CHECK(out.past.mean[1] == WSMON_ONE * 3 / 4, "mean %u", out.past.mean[1]);
	/* 3/4 of 1/8 within clusters, and 1/4 of 1 between */
	CHECK(out.past.var[1] == ONE * 3 / 32 + ONE / 4, "variance %llu",
	      (long long)out.past.var[1]);
	wsmon_history_split(&r, 1);
	CHECK(r.times == 3 && r.past.mean[0] == WSMON_ONE && r.past.var[0] == ONE / 8,
	      "a half has %u draws, mean %u", r.times, r.past.mean[0]);
}

#define BASE	0x7f1234567ULL
#define TEXT	0x555500000ULL

struct use {
	u64 seed;
	u32 stride;	/* of anonymous memory; 0: every other block is used */
	u32 block;
};

static bool is_used(const struct use *u, u64 vpn)
{
	if (vpn < BASE)
		return test_hash(vpn ^ u->seed << 40) % 4 == 0;
	vpn -= BASE + u->seed;
	return u->stride ? vpn % u->stride == 0 : vpn / u->block % 2 == 0;
}

static void look(const struct use *u, struct wsmon_region *r, u16 epoch, u64 now)
{
	u32 h, i;

	r->last = 1;
	r->dropped = 1;
	for (h = 0; h < 2 && r->n[h]; h++) {
		struct wsmon_cluster *c = &r->c[h];
		u64 pages = 0;

		r->checks++;
		if (is_used(u, r->s[h].vpn))
			r->s[h].seen_ns = now;
		for (i = 0; i < c->nr; i++)
			if (c->first + i != r->s[h].vpn && is_used(u, c->first + i))
				pages |= 1ULL << i;
		c->seen = pages;
		wsmon_cluster_note(c, pages, epoch);
	}
}

/*
 * Clusters make most of the memory certain, and a few regions of single pages remain: for them,
 * the samples of one window say nothing. If halves differ, they suggest too much variance. If all
 * halves have the same blocks, evenly spread positions improve the estimate.
 */
static void few_matter(void)
{
	static const struct { u32 stride, block; double max_half; } cases[] = {
		{ 64, 0, 2 }, { 2, 0, .15 }, { 0, 64, 2.2 }, { 0, 16, 1.9 }
	};
	const struct wsmon_attrs a = { .aggr_us = 1, .windows_us = { 1 }, .nr_windows = 1 };
	u32 i, j, step, seed;

	for (j = 0; j < ARRAY_SIZE(cases); j++) {
		double half = 0, covered = 0, n = 0;

		for (seed = 1; seed <= 16; seed++) {
			struct wsmon_interval iv = {
				.aggr_ns = 1000, .window_ns = { 1000 }, .nr_windows = 1,
			};
			struct use u = { seed, cases[j].stride, cases[j].block };
			struct wsmon_wss wss[WSMON_NR_WSS];
			u64 truth = 0, vpn;
			struct world w;

			world_init(&w, 2000);
			world_map(&w, TEXT, TEXT + 32, WSMON_CLASS_TEXT);
			world_map(&w, BASE, BASE + (1 << 17), WSMON_CLASS_ANON);
			for (vpn = TEXT; vpn < TEXT + 32; vpn++)
				truth += is_used(&u, vpn);
			for (vpn = BASE; vpn < BASE + (1 << 17); vpn++)
				truth += is_used(&u, vpn);
			wsmon_space_group(&w.sp, 1000);
			wsmon_regions_fit(&w.rs, &w.sp, 1, 0);
			for (step = 1; step <= 60; step++) {
				wsmon_regions_adapt(&w.rs, &w.sp, &w.ws);
				wsmon_regions_draw(&w.rs, &w.sp, &a, seed, step);
				iv.begin_ns = step * 1000;
				iv.now = iv.begin_ns + 1000;
				iv.epoch = step;
				iv.active = step;
				for (i = 0; i < w.rs.nr; i++) {
					w.rs.r[i].armed_ns = iv.begin_ns;
					look(&u, &w.rs.r[i], step, iv.now);
				}
				wsmon_regions_learn(&w.rs, &iv, false);
				wsmon_runs_learn(&w.rs, &w.sp);
				wsmon_wss_estimate(&w.rs, &w.sp, NULL, 0, wss);
				wsmon_regions_note(&w.rs, &iv);
				wsmon_regions_rest(&w.rs);
				if (step <= 30)
					continue;
				n++;
				covered += wss->low <= truth && truth <= wss->high;
				half += (wss->high - wss->low) / 2. / truth;
			}
			world_free(&w);
		}
		printf("# stride %u, blocks of %u: %.1f %% of %.0f covered, half-width %.2f %%\n",
		       cases[j].stride, cases[j].block, covered * 100 / n, n, half * 100 / n);
		CHECK(covered > .93 * n, "case %u: %.0f of %.0f", j, covered, n);
		CHECK(half * 100 / n < cases[j].max_half, "case %u: %f %%", j, half * 100 / n);
	}
}

/* Cold memory is suddenly used at random: the interval is as wide as random use requires. */
static void a_surprise(void)
{
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct world w;
	double half;
	u32 i, h;

	world_init(&w, 1024);
	world_map(&w, 0, 1 << 20, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 1024, "%u regions", w.rs.nr);
	for (i = 0; i < w.rs.nr; i++) {
		struct wsmon_region *r = &w.rs.r[i];

		r->known = 1;
		r->whole = 1;
		r->draws = 64;
		r->times = 8;
		for (h = 0; h < 2; h++)
			r->out[0][h] = page(500);
	}
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 0, wss);
	/* of 2048 halves of 512 pages; the smaller of two estimates, so somewhat less */
	half = 1.96 * sqrt(2048 * 512. * 512 / 4);
	CHECK(wss->high - wss->pages > .8 * half, "%llu of %.0f",
	      (long long)(wss->high - wss->pages), half);

	/* the other way round: memory used at random becomes cold */
	for (i = 0; i < w.rs.nr; i++) {
		struct wsmon_region *r = &w.rs.r[i];

		for (h = 0; h < 2; h++) {
			r->out[0][h] = 0;
			r->past.mean[h] = WSMON_ONE / 2;
			r->past.var[h] = ONE / 4;
		}
	}
	wsmon_wss_estimate(&w.rs, &w.sp, NULL, 0, wss);
	CHECK(!wss->pages && wss->high < .1 * half, "%llu of %.0f", (long long)wss->high, half);
	world_free(&w);
}

void test_history(void)
{
	test_run("history: the variance of each half", unbiased);
	test_run("history: what has none", begins);
	test_run("history: what is forgotten", forgets);
	test_run("history: the largest weights", heavy);
	test_run("history: splits and merges", split_and_merge);
	test_run("history: a surprise", a_surprise);
	test_run("history: where few regions matter", few_matter);
}
