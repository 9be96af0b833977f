// SPDX-License-Identifier: GPL-2.0
/*
 * cluster_test.c - the pages around a sample page
 */
#include <math.h>
#include <string.h>

#include "world.h"

#define SECOND	1000000000ULL

static void draw(struct world *w, struct wsmon_region *r, u64 seed, u64 epoch)
{
	wsmon_region_draw(&w->sp, r, wsmon_draw_key(seed, epoch));
	wsmon_clusters_draw(&w->sp, r, epoch);
}

/* Clusters lie in their halves, hold their samples, and cover mapped pages only. */
static void bounds(void)
{
	struct world w;
	u32 n, i, h, found = 0;
	u64 vpn, mid;

	for (n = 0; n < 300; n++) {
		u32 size = n % 2 ? 8 : WSMON_CLUSTER;

		world_init(&w, 1 + test_below(50));
		world_map_random(&w, 20, 1ULL << (6 + test_below(30)));
		world_settle(&w, n);
		for (i = 0; i < w.rs.nr; i++) {
			struct wsmon_region *r = &w.rs.r[i];
			const struct wsmon_area *a = &w.sp.area[r->area];

			r->share[0] = n % 2 ? WSMON_ONE / 2 : WSMON_ONE / 40;
			r->share[1] = r->share[0];
			r->found = WSMON_ONE / 2;
			r->within = WSMON_ONE / 4;
			draw(&w, r, n, n);
			mid = wsmon_cell_mid(r->start, r->end);
			for (h = 0; h < 2; h++) {
				const struct wsmon_cluster *c = &r->c[h];

				if (!c->nr)
					continue;
				found++;
				vpn = r->s[h].vpn;
				CHECK(r->n[h], "of a half without pages");
				CHECK(vpn >= c->first && vpn < c->first + c->nr, "beside it");
				CHECK(c->first >= (h ? mid : r->start) &&
				      c->first + c->nr <= (h ? r->end : mid), "beyond its half");
				CHECK(c->first / size == (c->first + c->nr - 1) / size &&
				      (c->first % size == 0 || c->first == (h ? mid : r->start)),
				      "of another place");
				CHECK(wsmon_area_rank(&w.sp, a, c->first + c->nr) -
				      wsmon_area_rank(&w.sp, a, c->first) == c->nr, "gaps");
				CHECK(a->class != WSMON_CLASS_TEXT && a->class != WSMON_CLASS_FILE &&
				      a->class != WSMON_CLASS_SHMEM, "class %u", a->class);
			}
		}
		world_free(&w);
	}
	CHECK(found > 1000, "only %u", found);
}

/* A pattern with structure within clusters, and across the bounds of mappings */
static bool used(u64 vpn)
{
	return vpn % 16 == 3 || (vpn & 64 && test_hash(vpn) % 3 == 0);
}

/* The mean of clusters is the share of used pages, with less variance than single pages. */
static void unbiased(void)
{
	double sum[2] = { 0, 0 }, square[2] = { 0, 0 }, sd, truth = 0;
	const u32 runs = 20000;
	struct wsmon_interval iv = {
		.now = SECOND, .epoch = 1, .window_ns = { SECOND }, .nr_windows = 1
	};
	struct world w;
	u32 i, j, h;
	u64 vpn;

	world_init(&w, 1);
	/* parts of clusters at both ends of the cell's halves, and a gap */
	world_map(&w, 5, 100, WSMON_CLASS_ANON);
	world_map(&w, 131, 250, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 1, "%u regions", w.rs.nr);
	for (vpn = 5; vpn < 250; vpn++)
		truth += (vpn < 100 || vpn >= 131) && used(vpn);
	for (i = 0; i < runs; i++) {
		struct wsmon_region r = w.rs.r[0];
		double got[2] = { 0, 0 };

		r.share[0] = WSMON_ONE / 3;
		r.share[1] = WSMON_ONE / 3;
		r.found = WSMON_ONE / 2;
		r.within = WSMON_ONE / 4;
		draw(&w, &r, 7, i);
		for (h = 0; h < 2; h++) {
			struct wsmon_cluster *c = &r.c[h];
			bool hit = used(r.s[h].vpn);

			for (j = 0; j < c->nr; j++)
				if (c->first + j != r.s[h].vpn && used(c->first + j))
					wsmon_cluster_note(c, 1ULL << j, 1);
			got[0] += r.n[h] * (double)hit;
			got[1] += r.n[h] * (double)(!c->nr ? hit * WSMON_ONE :
				wsmon_cluster_share(&r, h, hit * WSMON_ONE, &iv, 0, false)) /
				WSMON_ONE;
		}
		for (j = 0; j < 2; j++) {
			sum[j] += got[j] / runs;
			square[j] += got[j] * got[j] / runs;
		}
	}
	for (j = 0; j < 2; j++) {
		square[j] -= sum[j] * sum[j];
		sd = sqrt(square[j] / runs);
		CHECK(fabs(sum[j] - truth) < 4 * sd, "%u: %.2f of %.0f", j, sum[j], truth);
	}
	CHECK(square[1] < square[0] / 2, "variance %.0f of %.0f", square[1], square[0]);
	world_free(&w);
}

/*
 * Regions have clusters where most of the variance is within clusters. Clusters are tried where
 * only single pages found accesses, in one of eight regions where nothing was found, and in one
 * of 64 where they did not pay, but never where nearly all pages are used.
 */
static void where_they_pay(void)
{
	static const struct {
		u32 share, found, within, low, high;
	} cases[] = {
		{ WSMON_ONE, 0, 0, 0, 0 },
		{ WSMON_ONE * 15 / 16, WSMON_ONE * 15 / 16, WSMON_ONE / 17, 0, 0 },
		{ WSMON_ONE / 2, WSMON_ONE / 2, WSMON_ONE / 5, 1000, 1000 },
		{ WSMON_ONE / 2, WSMON_ONE / 2, WSMON_ONE / 9, 5, 30 },
		/* single pages may have found more by chance */
		{ WSMON_ONE / 8, WSMON_ONE / 256, WSMON_ONE / 300, 1000, 1000 },
		{ WSMON_ONE / 256, WSMON_ONE / 256, WSMON_ONE / 600, 5, 30 },
		/* not tried yet */
		{ WSMON_ONE / 2, 0, 0, 1000, 1000 },
		{ WSMON_ONE / 1024, 0, 0, 90, 160 },
		{ 0, 0, 0, 90, 160 },
	};
	struct world w;
	u32 i, epoch;

	world_init(&w, 1);
	world_map(&w, 0, 1 << 20, WSMON_CLASS_HEAP);
	world_settle(&w, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wsmon_region r = w.rs.r[0];
		u32 nr = 0;

		r.share[0] = cases[i].share;
		r.share[1] = cases[i].share;
		r.found = cases[i].found;
		r.within = cases[i].within;
		for (epoch = 0; epoch < 1000; epoch++) {
			draw(&w, &r, 1, epoch);
			CHECK(!r.c[0].nr == !r.c[1].nr, "one of two halves");
			nr += !!r.c[0].nr;
		}
		CHECK(nr >= cases[i].low && nr <= cases[i].high, "share %u, within %u: %u",
		      cases[i].share, cases[i].within, nr);
	}
	world_free(&w);
}

/* Clusters are looked at when intervals end: windows that begin within an interval have none. */
static void whole_intervals(void)
{
	static const struct {
		u64 window_us[2];
		bool clusters;
	} cases[] = {
		{ { 1000, 3000 }, true }, { { 1000, 2500 }, false }, { { 500, 2000 }, false },
		{ { 1000, 1000ULL << 14 }, true }, { { 1000, 1000ULL << 15 }, false },
	};
	struct wsmon_attrs a = { .aggr_us = 1000, .nr_windows = 2 };
	struct world w;
	u32 i;

	world_init(&w, 1);
	world_map(&w, 0, 1 << 10, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(a.windows_us, cases[i].window_us, sizeof(cases[i].window_us));
		wsmon_region_reset_samples(&w.rs.r[0]);
		w.rs.r[0].found = WSMON_ONE / 2;
		w.rs.r[0].within = WSMON_ONE / 4;
		wsmon_regions_draw(&w.rs, &w.sp, &a, 1, i);
		CHECK(w.rs.r[0].s[0].vpn < 512 && w.rs.r[0].s[1].vpn >= 512, "no samples");
		CHECK(!w.rs.r[0].c[0].nr == !cases[i].clusters, "case %u", i);
	}
	world_free(&w);
}

/* Clusters estimate how much halves differ; for single pages this follows from the shares. */
static void differences(void)
{
	struct wsmon_region r, out[2], both;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 1024, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	r = w.rs.r[0];
	r.draws = 8;
	r.share[0] = WSMON_ONE / 2;
	r.share[1] = WSMON_ONE / 2;
	r.disagree = WSMON_ONE / 64;
	r.found = WSMON_ONE / 2;
	r.within = WSMON_ONE / 32;
	wsmon_region_split(&w.sp, &r, out);
	CHECK(out[0].disagree == WSMON_ONE / 2 && out[1].disagree == WSMON_ONE / 2, "of pages: %u",
	      out[0].disagree);
	r.within = WSMON_ONE / 4;
	wsmon_region_split(&w.sp, &r, out);
	CHECK(out[0].disagree == WSMON_ONE / 64, "split: %u", out[0].disagree);
	CHECK(out[0].within == WSMON_ONE / 4 && out[1].found == WSMON_ONE / 2, "lost");
	wsmon_region_merge(&w.sp, &out[0], &out[1], &both);
	CHECK(both.disagree == WSMON_ONE / 64, "merged: %u", both.disagree);
	out[1].share[0] = WSMON_ONE / 4;
	out[1].share[1] = WSMON_ONE / 4;
	out[1].found = WSMON_ONE / 4;
	out[1].within = WSMON_ONE / 8;
	wsmon_region_merge(&w.sp, &out[0], &out[1], &both);
	CHECK(both.disagree == WSMON_ONE / 64 + WSMON_ONE / 16, "of two shares: %u", both.disagree);
	CHECK(both.within == WSMON_ONE * 3 / 16 && both.found == WSMON_ONE * 3 / 8,
	      "within %u, found %u", both.within, both.found);
	out[1].within = 0;
	wsmon_region_merge(&w.sp, &out[0], &out[1], &both);
	CHECK(both.disagree == WSMON_ONE / 2, "one of pages: %u", both.disagree);
	world_free(&w);
}

/* The past of changed mappings is forgotten, the rest is kept. */
static void mappings_change(void)
{
	struct wsmon_region *r;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 64, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	r = w.rs.r;
	r->share[0] = WSMON_ONE / 16;
	r->share[1] = WSMON_ONE / 16;
	r->found = WSMON_ONE / 2;
	r->within = WSMON_ONE / 4;
	draw(&w, r, 1, 1);
	r->armed_ns = 1;
	r->exact[0] = 1;
	r->exact[1] = 1;
	/* a sample that stays mapped, and a cluster that loses a page */
	r->s[1].vpn = 48;
	r->c[1].first = 48;
	world_unmap_all(&w);
	world_map(&w, 0, 63, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 1);
	wsmon_regions_fit(&w.rs, &w.sp, 2, 0);
	r = w.rs.r;
	CHECK(w.rs.nr == 1 && r->armed_ns && r->s[1].vpn == 48, "the sample is gone");
	CHECK(!r->exact[0] && !r->exact[1], "what changed is known exactly");
	CHECK(r->c[0].nr == 16 && !r->c[1].nr, "%u, %u", r->c[0].nr, r->c[1].nr);
	world_free(&w);
}

static struct wsmon_region observed(void)
{
	struct wsmon_region r = {
		.end = 32, .n = { 16, 16 }, .s = { { .vpn = 2 }, { .vpn = 16 } },
		.c = { { .nr = 16 }, { .first = 16, .nr = 16 } }, .armed_ns = SECOND,
		.checks = 2, .last = 1,
	};

	return r;
}

/* Each window counts accesses within it; .found counts those of the interval. */
static void windows(void)
{
	struct wsmon_interval iv = {
		.begin_ns = 9 * SECOND, .now = 10 * SECOND, .aggr_ns = SECOND,
		.slack_ns = SECOND / 20, .window_ns = { SECOND, 3 * SECOND, 9 * SECOND },
		.nr_windows = 3, .epoch = 10,
	};
	struct wsmon_region r = observed();
	struct wsmon_regions rs = { .r = &r, .nr = 1, .budget = 1 };
	u32 i;

	/* accesses: the sample page and 3 pages now, 4 two seconds ago, 8 five seconds ago */
	r.s[0].seen_ns = 10 * SECOND;
	wsmon_cluster_note(&r.c[0], 0xff00, 5);
	wsmon_cluster_note(&r.c[0], 0x00f0, 8);
	r.c[0].seen = 0x000b;
	wsmon_cluster_note(&r.c[0], r.c[0].seen, 10);
	wsmon_regions_learn(&rs, &iv, false);
	CHECK(r.share[0] == WSMON_ONE / 4, "of the interval: %u", r.share[0]);
	CHECK(r.disagree == WSMON_ONE / 16, "difference %u", r.disagree);
	/*
	 * .found is a mean with 1/8 of the new value: 1/4 for the first half, then 0 for the
	 * second
	 */
	CHECK(r.found == WSMON_ONE / 4 / 8 * 7 / 8, "found %u", r.found);
	CHECK(r.within == WSMON_ONE * 3 / 16 / 8 * 7 / 8, "within %u", r.within);
	CHECK(r.out[0][0] == WSMON_ONE / 4, "of 1 s: %u", r.out[0][0]);
	CHECK(r.out[1][0] == WSMON_ONE / 2, "of 3 s: %u", r.out[1][0]);
	CHECK(r.out[2][0] == WSMON_ONE, "of 9 s: %u", r.out[2][0]);
	CHECK(!r.out[2][1], "of the other half: %u", r.out[2][1]);

	/* epochs wrap */
	iv.epoch = 1;
	wsmon_regions_rest(&rs);
	CHECK(!r.c[0].seen, "counts twice");
	r.s[0].seen_ns = 0;
	r.c[0].ever = 0;
	wsmon_cluster_note(&r.c[0], 0x1001, U16_MAX);
	r.checks = 2;
	r.last = 1;
	wsmon_regions_learn(&rs, &iv, false);
	CHECK(!r.out[0][0] && r.out[1][0] == WSMON_ONE / 8, "%u, %u", r.out[0][0], r.out[1][0]);

	/* accesses are forgotten before they are half the range of epochs old */
	for (i = 0; i < 4; i++)
		wsmon_clusters_age(&r, i << 14);
	CHECK(!r.c[0].ever, "after %u intervals", i << 14);
	wsmon_cluster_note(&r.c[0], 0x1001, iv.epoch);

	/* in memory younger than the window all accesses count */
	r.origin_ns = iv.now - SECOND / 2;
	r.checks = 2;
	wsmon_regions_learn(&rs, &iv, false);
	CHECK(r.out[0][0] == WSMON_ONE / 8, "of new memory: %u", r.out[0][0]);
}

/* By how much the first or the last sample serves for more or less than an interval */
static void edges(void)
{
	static const struct {
		u64 length_ms, arming_ms, dropping_ms;
		u32 edge, late;
	} cases[] = {
		{ 1000, 4, 4, 0, 4 }, { 1000, 5, 2, 3, 5 }, { 1000, 2, 5, 3, 5 }, { 1010, 4, 2, 10, 10 },
		{ 990, 4, 2, 12, 14 }, { 1000, 0, 600, 600, 600 }, { 5000, 0, 0, 1000, 1000 },
	};
	struct wsmon_wss w = { .pages = 700, .low = 690, .high = 710, .mapped = 1000 };
	struct wsmon_regions rs = { };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wsmon_interval iv = {
			.begin_ns = SECOND, .now = SECOND + cases[i].length_ms * SECOND / 1000,
			.aggr_ns = SECOND, .window_ns = { SECOND }, .nr_windows = 1,
		};

		wsmon_regions_edge(&rs, &iv, cases[i].arming_ms * SECOND / 1000,
				   cases[i].dropping_ms * SECOND / 1000);
		CHECK(rs.edge == WSMON_ONE * cases[i].edge / 1000, "case %u: %u", i, rs.edge);
		CHECK(rs.late == WSMON_ONE * cases[i].late / 1000, "case %u: %u", i, rs.late);
	}
	/*
	 * 400 pages more than before: the interval grows by a quarter of it, within 0 and all pages
	 */
	wsmon_wss_moved(&w, 700, WSMON_ONE / 4);
	CHECK(w.low == 690 && w.high == 710, "what rests: %llu to %llu", w.low, w.high);
	wsmon_wss_moved(&w, 300, WSMON_ONE / 4);
	CHECK(w.low == 590 && w.high == 810, "what grows: %llu to %llu", w.low, w.high);
	wsmon_wss_moved(&w, 2700, WSMON_ONE / 4);
	CHECK(w.low == 90 && w.high == 1000, "what shrinks: %llu to %llu", w.low, w.high);
}

/* Bits found after a missed look have an unknown time: only the sample page counts from then on. */
static void missed(void)
{
	struct wsmon_interval iv = {
		.begin_ns = 9 * SECOND, .now = 10 * SECOND, .aggr_ns = SECOND,
		.window_ns = { SECOND }, .nr_windows = 1,
	};
	struct wsmon_region r = observed();
	struct wsmon_regions rs = { .r = &r, .nr = 1, .budget = 1 };

	r.last = 0;
	wsmon_regions_learn(&rs, &iv, false);
	CHECK(r.stale && !r.c[0].nr && !r.c[1].nr, "clusters stay");
	r.last = 1;
	r.s[1].seen_ns = 10 * SECOND;
	wsmon_regions_learn(&rs, &iv, false);
	CHECK(!r.out[0][0] && r.out[0][1] == WSMON_ONE, "%u, %u", r.out[0][0], r.out[0][1]);
}

void test_cluster(void)
{
	test_run("clusters: within their halves", bounds);
	test_run("clusters: unbiased, and less variance", unbiased);
	test_run("clusters: where they pay", where_they_pay);
	test_run("clusters: windows of whole intervals", whole_intervals);
	test_run("clusters: how much halves differ", differences);
	test_run("clusters: mappings change", mappings_change);
	test_run("clusters: windows", windows);
	test_run("clusters: an interval that was missed", missed);
	test_run("clusters: the edges of a window", edges);
}
