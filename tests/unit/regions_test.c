// SPDX-License-Identifier: GPL-2.0
/*
 * regions_test.c - cells: splitting, merging, fitting, drawing
 */
#include "world.h"

/* Size-weighted merge of 0-100 (10, age 9) and 100-300 (20, 21): 16.67 and 17 */
static void merge_weighted(void)
{
	struct wsmon_region l = { 0 }, r = { 0 }, m;
	struct world w;

	world_init(&w, 10);
	world_map(&w, 0, 384, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 1);
	l = (struct wsmon_region){ .start = 0, .end = 256, .n = { 128, 128 },
		.share = { WSMON_ONE / 3, WSMON_ONE / 3 }, .draws = 9 };
	r = (struct wsmon_region){ .start = 256, .end = 384, .n = { 64, 64 },
		.share = { WSMON_ONE, WSMON_ONE / 2 }, .draws = 21 };
	wsmon_region_merge(&w.sp, &l, &r, &m);
	CHECK(m.start == 0 && m.end == 384 && m.n[0] == 256 && m.n[1] == 128,
	      "bounds");
	CHECK(m.share[0] == WSMON_ONE / 3 && m.share[1] == WSMON_ONE * 3 / 4,
	      "shares %u %u", m.share[0], m.share[1]);
	/* 2/3 * 1/3 + 1/3 * 3/4 = 0.4722 */
	CHECK(abs((int)wsmon_region_share(&m) - 15474) < 2, "share %u",
	      wsmon_region_share(&m));
	/* 9 draws for each half */
	CHECK(m.draws == 18, "draws %u", m.draws);
	world_free(&w);
}

/* A merged region knows what both knew, and doubts what either doubted. */
static void merge_knows_no_more(void)
{
	struct wsmon_region l = { .end = 128, .n = { 64, 64 }, .draws = 9, .known = 0x0f,
		.whole = 0x0e, .doubtful = { 1, 2 }, .exact = { 3, 5 }, .lost = { 1, 2 },
		.gap = { 4, 0 }, .since_ns = 3, .origin_ns = 5 };
	struct wsmon_region r = { .start = 128, .end = 256, .n = { 64, 64 }, .draws = 9,
		.known = 0x33, .whole = 0x13, .exact = { 1, 1 }, .gap = { 0, 2 }, .since_ns = 8,
		.origin_ns = 9 };
	struct wsmon_region half[2], m;
	struct world w;

	world_init(&w, 10);
	world_map(&w, 0, 256, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 1);
	wsmon_region_merge(&w.sp, &l, &r, &m);
	CHECK(m.known == 0x03, "known %x", m.known);
	CHECK(m.whole == 0x02, "whole %x", m.whole);
	CHECK(m.doubtful[0] == 3 && !m.doubtful[1], "doubtful %x %x", m.doubtful[0], m.doubtful[1]);
	CHECK(m.exact[0] == 1 && m.exact[1] == 1, "exact %x %x", m.exact[0], m.exact[1]);
	CHECK(m.lost[0] == 3 && !m.lost[1], "lost %x %x", m.lost[0], m.lost[1]);
	CHECK(m.gap[0] == 4 && m.gap[1] == 2, "gap %x %x", m.gap[0], m.gap[1]);
	CHECK(m.since_ns == 8, "the share of one changed later");
	/* all of it is at least as old as the older region */
	CHECK(m.origin_ns == 5, "origin %llu", (long long)m.origin_ns);
	l.origin_ns = 0;
	wsmon_region_merge(&w.sp, &l, &r, &m);
	CHECK(!m.origin_ns, "nobody knows how old one is");
	l.origin_ns = 5;
	r.armed_ns = 10;
	wsmon_region_merge(&w.sp, &l, &r, &m);
	CHECK(!m.origin_ns, "what the samples of one saw is forgotten");
	/* the other way: split */
	m.doubtful[0] = 1;
	m.doubtful[1] = 2;
	m.exact[0] = 1;
	m.lost[0] = 4;
	m.lost[1] = 0;
	wsmon_region_split(&w.sp, &m, half);
	CHECK(half[0].known == 0x03 && half[1].whole == 0x02, "halves know no more");
	CHECK(half[0].doubtful[1] == 1 && half[1].doubtful[0] == 2, "doubts of halves");
	CHECK(!half[0].exact[0] && !half[1].exact[1], "halves are not exact");
	CHECK(half[0].lost[1] == 4 && !half[1].lost[0] && half[0].gap[1] == 4 && half[1].gap[0] == 2,
	      "what halves miss");
	world_free(&w);
}

/* Fit a region of 136 pages (a cell of 256 has 8 of them in its upper half) to @pages */
static struct wsmon_region grown(u64 pages, u64 sample)
{
	struct wsmon_region r;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 136, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 1 && w.rs.r[0].n[0] == 128 && w.rs.r[0].n[1] == 8, "%u", w.rs.nr);
	w.rs.r[0].armed_ns = 10;
	w.rs.r[0].origin_ns = 5;
	w.rs.r[0].s[0].vpn = 100;
	w.rs.r[0].s[1].vpn = sample;
	w.rs.r[0].made_ns[1] = 11;
	w.rs.r[0].was_own = 3;
	w.rs.r[0].was_made = 3;
	w.rs.r[0].known = 1;
	w.rs.r[0].whole = 1;
	w.rs.r[0].draws = 7;
	w.rs.r[0].exact[1] = 1;
	world_unmap_all(&w);
	world_map(&w, 0, pages, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 1);
	wsmon_regions_fit(&w.rs, &w.sp, 20, 15);
	r = w.rs.r[0];
	world_free(&w);
	return r;
}

/* Samples do not stand for pages that could not have been drawn. */
static void grows(void)
{
	struct wsmon_region r = grown(136, 130);

	CHECK(r.armed_ns && r.origin_ns == 5 && r.exact[1], "nothing changed");
	r = grown(137, 130);
	CHECK(r.armed_ns && r.origin_ns == 5 && r.known && r.whole && r.draws == 7 && r.made_ns[1],
	      "by an eighth");
	CHECK(!r.exact[1], "one page was not looked at");
	r = grown(138, 130);
	CHECK(!r.armed_ns && !r.known && !r.whole && !r.draws, "by more than an eighth");
	CHECK(!r.origin_ns && !r.made_ns[1], "samples to come know nothing of what was before");
	CHECK(r.was_own == 1 && r.was_made == 1, "nor of the entries of what is new");
	r = grown(132, 130);
	CHECK(r.armed_ns && r.origin_ns == 5 && r.known && r.draws == 7, "less");
	r = grown(132, 134);
	CHECK(!r.armed_ns && !r.origin_ns && r.known && r.draws == 7, "less, without a sample");
}

/* An area with too many regions begins with one: the age of its memory is unknown. */
static void fits_into_one(void)
{
	struct world w;

	world_init(&w, 4);
	world_map(&w, 0, 1024, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	CHECK(w.rs.nr == 4, "%u", w.rs.nr);
	world_map(&w, 2048, 4096, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 2);
	w.rs.cap = 2;
	wsmon_regions_fit(&w.rs, &w.sp, 20, 15);
	CHECK(w.rs.nr == 2 && w.rs.r[0].end == 1024 && !w.rs.r[0].origin_ns, "%u", w.rs.nr);
	CHECK(w.rs.r[1].start == 2048 && w.rs.r[1].origin_ns == 15, "what is new");
	world_free(&w);
}

/* Dropped samples leave no results to the next ones. */
static void rests(void)
{
	struct wsmon_region r[2] = { { .armed_ns = 10, .origin_ns = 5, .made_ns = { 11, 12 },
		.own = 3, .hit = 1, .again = 1, .looked = 1, .blind = 2, .recent = 1, .dropped = 1 } };
	struct wsmon_regions rs = { .r = r, .nr = 2 };

	r[1] = r[0];
	r[1].dropped = 0;
	wsmon_regions_rest(&rs);
	CHECK(!r[0].armed_ns && !r[0].origin_ns && !r[0].made_ns[0] && !r[0].made_ns[1] && !r[0].own &&
	      !r[0].hit && !r[0].again && !r[0].looked && !r[0].blind && !r[0].recent, "dropped");
	CHECK(r[1].armed_ns && r[1].origin_ns && r[1].made_ns[1] && r[1].own && r[1].looked &&
	      r[1].blind && r[1].recent, "samples that stay");
}

/* The kind of entry of a half's page is kept over draws, splits and merges. */
static void keeps_entries(void)
{
	struct wsmon_region half[2], again;
	struct world w;
	struct wsmon_region *r;
	u32 i;

	world_init(&w, 1);
	world_map(&w, 0, 128, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	r = w.rs.r;
	for (i = 0; i < 4; i++) {
		/* the entries: huge, and one of its own; unknown in one round */
		r->own = i == 2 ? 0 : 2;
		r->made = i == 2 ? 0 : 3;
		r->dropped = i % 2;
		wsmon_regions_rest(&w.rs);
		CHECK(r->was_own == 2 && r->was_made == 1, "%u: %u, %u", i, r->was_own, r->was_made);
		CHECK(!r->dropped && (i % 2 ? !r->own && !r->made : 1), "%u", i);
	}
	wsmon_region_split(&w.sp, r, half);
	CHECK(!half[0].was_own && half[0].was_made == 3 && half[1].was_own == 3 &&
	      !half[1].was_made, "split");
	wsmon_region_merge(&w.sp, &half[0], &half[1], &again);
	CHECK(again.was_own == 2 && again.was_made == 1, "merged");
	half[0].was_made = 1;
	half[1].was_own = 2;
	wsmon_region_merge(&w.sp, &half[0], &half[1], &again);
	CHECK(!again.was_own && !again.was_made, "of both kinds");
	world_free(&w);
}

static void split_merge(void)
{
	struct wsmon_region r, half[2], again;
	struct world w;
	u32 i, n;

	for (n = 0; n < 20000; n++) {
		world_init(&w, 4);
		world_map_random(&w, 8, 1ULL << (4 + test_below(40)));
		world_settle(&w, n);
		i = test_below(w.rs.nr);
		r = w.rs.r[i];
		if (r.n[1]) {
			wsmon_region_split(&w.sp, &r, half);
			CHECK(half[0].start == r.start && half[1].end == r.end,
			      "bounds");
			CHECK(wsmon_region_pages(&half[0]) == r.n[0] &&
			      wsmon_region_pages(&half[1]) == r.n[1], "sizes");
			wsmon_region_merge(&w.sp, &half[0], &half[1], &again);
			CHECK(again.start == r.start && again.end == r.end &&
			      again.n[0] == r.n[0] && again.n[1] == r.n[1] &&
			      again.share[0] == r.share[0] &&
			      again.share[1] == r.share[1] &&
			      again.area == r.area && again.since_ns == r.since_ns,
			      "not what it was");
		}
		world_free(&w);
	}
}

/* Regions are marked by address; a mark must stay with its pages. */
static void fit_keeps_history(void)
{
	struct world w;
	u32 i;

	world_init(&w, 64);
	world_map(&w, 0, 1024, WSMON_CLASS_ANON);
	world_map(&w, 2048, 3072, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	for (i = 0; i < w.rs.nr; i++) {
		w.rs.r[i].draws = 5;
		w.rs.r[i].share[0] = w.rs.r[i].share[1] =
			w.rs.r[i].start < 512 ? WSMON_ONE : 0;
	}
	world_unmap_all(&w);
	world_map(&w, 100, 700, WSMON_CLASS_ANON);	/* cut at both ends */
	world_map(&w, 1500, 1600, WSMON_CLASS_ANON);	/* new */
	world_map(&w, 2000, 3500, WSMON_CLASS_ANON);	/* grown at both ends */
	wsmon_space_group(&w.sp, 32);
	wsmon_regions_fit(&w.rs, &w.sp, 2, 0);
	world_check(&w);
	for (i = 0; i < w.rs.nr; i++) {
		const struct wsmon_region *r = &w.rs.r[i];
		bool known = r->end <= 700 || (r->start >= 2048 && r->end <= 3072);

		CHECK(known || r->start < 2048 || r->start >= 3072 ||
		      r->end <= 3072 || r->draws == 0, "history spread");
		if (known)
			CHECK(r->draws == 5 && r->share[0] ==
			      (r->start < 512 ? WSMON_ONE : 0),
			      "%llu-%llu lost its history",
			      (long long)r->start, (long long)r->end);
		else if (r->end <= 2048 && r->start >= 1500)
			CHECK(!r->draws, "history from nowhere");
	}
	world_free(&w);
}

/* A sample of a region does not stand for a region that has grown. */
static void fit_grown(void)
{
	u64 end;

	for (end = 1101; end <= 1152; end += 51) {
		struct wsmon_region *r;
		struct world w;

		world_init(&w, 2);
		world_map(&w, 0, 1100, WSMON_CLASS_HEAP);
		world_settle(&w, 0);
		r = &w.rs.r[w.rs.nr - 1];
		CHECK(w.rs.nr == 2 && r->start == 1024 && r->end == 1100, "%llu-%llu",
		      (long long)r->start, (long long)r->end);
		r->draws = 5;
		r->armed_ns = 1;
		r->known = 1;
		r->whole = 1;
		world_unmap_all(&w);
		world_map(&w, 0, end, WSMON_CLASS_HEAP);
		wsmon_space_group(&w.sp, 1);
		wsmon_regions_fit(&w.rs, &w.sp, 2, 0);
		world_check(&w);
		r = &w.rs.r[w.rs.nr - 1];
		CHECK(r->start == 1024 && r->end == end, "%llu-%llu", (long long)r->start,
		      (long long)r->end);
		if (end > 1101)
			CHECK(!r->draws && !r->armed_ns && !r->known && !r->whole, "as before");
		else
			CHECK(r->draws == 5 && r->armed_ns && r->known && r->whole, "forgotten");
		world_free(&w);
	}
}

/* Mappings that come, go, grow, shrink and coalesce, at random */
static void fit_random(void)
{
	struct world w;
	u32 n, step;

	for (n = 0; n < 3000; n++) {
		u32 shift = 4 + test_below(45);
		u64 top = test_below(2) ? 1ULL << shift : U64_MAX >> (64 - shift);

		world_init(&w, 1 + test_below(100));
		for (step = 0; step < 20; step++) {
			u32 nr = 1 + test_below(step % 3 ? 20 : 80);

			world_map_random(&w, nr, top);
			world_settle(&w, step);
			world_check(&w);
			CHECK(w.rs.nr <= w.rs.budget, "%u regions, budget %u",
			      w.rs.nr, w.rs.budget);
		}
		world_free(&w);
	}
}

/* One mapping that only grows, a little at a time, as a heap does */
static void fit_growing(void)
{
	struct world w;
	u64 end = 1;

	world_init(&w, 50);
	while (end < 1ULL << 30) {
		end += 1 + test_below(end / 50 + 2);
		world_unmap_all(&w);
		world_map(&w, 0, end, WSMON_CLASS_HEAP);
		world_settle(&w, end);
		world_check(&w);
		CHECK(w.rs.nr <= 50, "%u", w.rs.nr);
		CHECK(w.rs.nr == 50 || end < 100, "%u regions of %llu pages",
		      w.rs.nr, (long long)end);
	}
	world_free(&w);
}

static void draw_in_half(void)
{
	struct world w;
	u32 n, i, h;

	for (n = 0; n < 2000; n++) {
		world_init(&w, 40);
		world_map_random(&w, 30, 1ULL << (4 + test_below(48)));
		world_settle(&w, n);
		for (i = 0; i < w.rs.nr; i++) {
			const struct wsmon_region *r = &w.rs.r[i];
			const struct wsmon_area *a = &w.sp.area[r->area];
			u64 m = wsmon_cell_mid(r->start, r->end);

			for (h = 0; h < 2 && r->n[h]; h++) {
				u64 v = r->s[h].vpn;

				CHECK(v >= (h ? m : r->start) &&
				      v < (h ? r->end : m), "not in its half");
				CHECK(wsmon_area_rank(&w.sp, a, v + 1) ==
				      wsmon_area_rank(&w.sp, a, v) + 1,
				      "in a gap");
			}
		}
		world_free(&w);
	}
}

/* Positions of many epochs are spread evenly over each half. */
static void draw_uniform(void)
{
	u32 count[2][16] = { { 0 } }, h, i;
	struct wsmon_region r;
	struct world w;
	u64 epoch;
	double chi = 0;

	world_init(&w, 1);
	world_map(&w, 32, 64, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	r = w.rs.r[0];
	for (epoch = 0; epoch < 16000; epoch++) {
		wsmon_region_draw(&w.sp, &r, wsmon_draw_key(3, epoch));
		count[0][r.s[0].vpn - 32]++;
		count[1][r.s[1].vpn - 48]++;
	}
	for (h = 0; h < 2; h++) {
		for (i = 0; i < 16; i++)
			chi += (count[h][i] - 1000.) * (count[h][i] - 1000.) / 1000;
	}
	/* 30 degrees of freedom: above 60 in one case of a thousand */
	CHECK(chi < 60, "chi squared %.1f", chi);
	world_free(&w);
}

static void draw_repeatable(void)
{
	struct wsmon_region a, b;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 1ULL << 40, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	a = b = w.rs.r[0];
	b.draws = 9;
	wsmon_region_draw(&w.sp, &a, wsmon_draw_key(5, 6));
	wsmon_region_draw(&w.sp, &b, wsmon_draw_key(5, 6));
	CHECK(a.s[0].vpn == b.s[0].vpn && a.s[1].vpn == b.s[1].vpn,
	      "depends on what was observed");
	wsmon_region_draw(&w.sp, &b, wsmon_draw_key(6, 6));
	CHECK(a.s[0].vpn != b.s[0].vpn, "seed does not matter");
	wsmon_region_draw(&w.sp, &b, wsmon_draw_key(5, 7));
	CHECK(a.s[0].vpn != b.s[0].vpn, "epoch does not matter");
	world_free(&w);
}

/* Is the page in this place of a part? Computed as readers of the record do */
static bool in_place(u64 vpn, u64 start, u64 end, u32 place)
{
	u64 i = vpn - start, n = end - start;

	return i * WSMON_SAMPLES_PLACES >= place * n &&
	       i * WSMON_SAMPLES_PLACES < (place + 1) * n;
}

/* The record reports the places and the results of the samples. */
static void samples_reported(void)
{
	u64 epoch, mid, start, end;
	struct wsmon_region r;
	struct world w;
	u32 i, places;
	u16 s;

	test_seed(9);
	for (i = 0; i < 2000; i++) {
		world_init(&w, 1);
		start = test_below(1 << 20);
		end = start + 2 + test_below(1ULL << test_below(i % 2 ? 8 : 40));
		world_map(&w, start, end, WSMON_CLASS_ANON);
		world_settle(&w, 0);
		r = w.rs.r[0];
		mid = wsmon_cell_mid(r.start, r.end);
		for (epoch = 0; epoch < 8; epoch++) {
			wsmon_region_draw(&w.sp, &r, wsmon_draw_key(i, epoch));
			r.checks = 1;
			r.draws = 1;
			r.s[0].seen_ns = epoch & 1 ? 101 : 100;
			r.s[1].seen_ns = epoch & 2 ? 101 : 0;
			s = wsmon_region_samples(&r, 100);
			places = s & ~WSMON_SAMPLES_VALID;
			CHECK(s & WSMON_SAMPLES_VALID, "not reported");
			CHECK(!!(s & WSMON_SAMPLES_LOWER_HIT) == (epoch & 1) &&
			      !!(s & WSMON_SAMPLES_UPPER_HIT) == (epoch >> 1 & 1),
			      "other hits: %x", s);
			places &= ~(WSMON_SAMPLES_LOWER_HIT | WSMON_SAMPLES_UPPER_HIT);
			CHECK(in_place(r.s[0].vpn, r.start, mid,
				       places % WSMON_SAMPLES_PLACES) &&
			      in_place(r.s[1].vpn, mid, r.end,
				       places >> WSMON_SAMPLES_UPPER_SHIFT),
			      "pages %llu and %llu of %llu+%llu are not in %x",
			      (unsigned long long)(r.s[0].vpn - r.start),
			      (unsigned long long)(r.s[1].vpn - mid),
			      (unsigned long long)(mid - r.start),
			      (unsigned long long)(r.end - mid), s);
		}
		world_free(&w);
	}
}

/* Reported only if looked at, and if parts may differ */
static void samples_left_out(void)
{
	struct wsmon_region r = {
		.start = 16, .end = 32, .n = { 8, 8 }, .s = { { 17 }, { 25 } },
		.checks = 2, .draws = 20, .share = { WSMON_ONE / 2, 0 },
	}, other;

	CHECK(wsmon_region_samples(&r, 1), "a region in part");
	other = r;
	other.stale = 1;
	CHECK(wsmon_region_samples(&other, 1) == WSMON_SAMPLES_MISSED, "not observed");
	other = r;
	other.checks = 0;
	CHECK(wsmon_region_samples(&other, 1) == WSMON_SAMPLES_MISSED, "not visited");
	other = r;
	other.share[0] = 0;
	CHECK(!wsmon_region_samples(&other, 1), "idle for long");
	other.draws = 2;
	CHECK(wsmon_region_samples(&other, 1), "idle, but not for long");
	other.share[0] = other.share[1] = WSMON_ONE;
	CHECK(wsmon_region_samples(&other, 1), "in use, but not for long");
	other.draws = 20;
	CHECK(!wsmon_region_samples(&other, 1), "in use for long");
	other = r;
	other.end = 17;
	other.n[0] = 1;
	other.n[1] = 0;
	CHECK(!wsmon_region_samples(&other, 1), "a single page");
}

void test_regions(void)
{
	test_run("cells: merging keeps the fraction", merge_weighted);
	test_run("cells: split, then merge, is identity", split_merge);
	test_run("fit: history stays with its pages", fit_keeps_history);
	test_run("fit: who grows begins anew", fit_grown);
	test_run("fit: any mappings are tiled exactly", fit_random);
	test_run("fit: a growing mapping", fit_growing);
	test_run("draw: each sample is in its half and mapped", draw_in_half);
	test_run("draw: uniform over the half", draw_uniform);
	test_run("draw: depends on cell, seed and epoch alone", draw_repeatable);
	test_run("record: samples are where they are reported to be", samples_reported);
	test_run("record: what nobody needs to know is not reported", samples_left_out);
	test_run("regions: merged and cut, they know no more", merge_knows_no_more);
	test_run("regions: that grow or shrink", grows);
	test_run("regions: too many for an area", fits_into_one);
	test_run("regions: samples that were dropped", rests);
	test_run("regions: kinds of entries", keeps_entries);
}
