// SPDX-License-Identifier: GPL-2.0
/*
 * models_test.c - thousands of random targets: do the intervals hold?
 *
 * A model is a mapping of 16 MiB to 4 TiB, in up to six pieces, of which up to
 * five stretches are touched every interval: whole, every nth page, pages at
 * random, or every other block. Regions, samples, adaptation and estimates are
 * the module's own; only the page tables are simulated.
 */
#include "world.h"

#ifndef MODELS
#define MODELS		10000
#endif
#define BUDGET		120
#define WARM_UP		12
#define MEASURED	2
#define MAX_HOT		5

enum kind { WHOLE, STRIDE, RANDOM, BLOCKS, NR_KINDS };

struct stretch {
	u64 start;
	u64 end;
	enum kind kind;
	u64 by;
};

struct model {
	struct stretch hot[MAX_HOT];
	u32 nr;
	u64 truth;
};

static bool is_hot(const struct stretch *s, u64 page)
{
	switch (s->kind) {
	case WHOLE:
		return true;
	case STRIDE:
		return page % s->by == 0;
	case RANDOM:
		return wsmon_hash64(page + s->start) % 100 < s->by;
	default:
		return (page - s->start) / s->by % 2 == 0;
	}
}

static bool touched(const void *what, u64 page)
{
	const struct model *m = what;
	u32 i;

	for (i = 0; i < m->nr; i++)
		if (page >= m->hot[i].start && page < m->hot[i].end)
			return is_hot(&m->hot[i], page);
	return false;
}

/* Exact, except for long stretches of pages at random */
static u64 count(const struct stretch *s)
{
	u64 n = s->end - s->start, p, sum = 0;

	switch (s->kind) {
	case WHOLE:
		return n;
	case STRIDE:
		return (s->end + s->by - 1) / s->by - (s->start + s->by - 1) / s->by;
	case RANDOM:
		if (n > 1 << 14)
			return n * s->by / 100;
		for (p = s->start; p < s->end; p++)
			sum += is_hot(s, p);
		return sum;
	default:
		return n / s->by / 2 * s->by +
		       (n / s->by % 2 ? s->by : min(n % s->by, s->by));
	}
}

static u64 magnitude(u64 min, u64 max)
{
	u32 octaves = fls64(max / min);
	u64 n = min << test_below(octaves);

	return min(n + test_below(n), max);
}

static void make_stretch(struct stretch *s, u64 start, u64 end)
{
	u64 size = magnitude(1, end - start);

	s->start = start + test_below(end - start - size + 1);
	s->end = s->start + size;
	s->kind = test_below(NR_KINDS);
	s->by = s->kind == STRIDE ? 2 + test_below(63) :
		s->kind == RANDOM ? 1 + test_below(90) : magnitude(1, 1 << 12);
}

static void make_model(struct model *m, struct world *w)
{
	u64 size = magnitude(1 << 12, 1 << 30), base = test_below(1ULL << 34);
	u32 pieces = 1 + test_below(6), i, k;

	m->nr = 0;
	m->truth = 0;
	for (i = 0; i < pieces; i++) {
		u64 lo = base + size / pieces * i;
		u64 hi = lo + size / pieces;

		/* a gap between pieces, or none */
		hi -= test_below(2) * test_below((hi - lo) / 2);
		world_map(w, lo, hi, 1 + test_below(WSMON_NR_CLASSES - 2));
		k = m->nr;
		if (k < MAX_HOT && test_below(3)) {
			make_stretch(&m->hot[k], lo, hi);
			m->truth += count(&m->hot[m->nr++]);
		}
	}
}

/* Observe one interval, then draw samples anew */
static u64 step(const struct model *m, struct world *w, u64 epoch, u64 seed,
		struct wsmon_wss *wss)
{
	u64 sum = 0;
	u32 i;

	world_observe(w, touched, m);
	wsmon_wss_estimate(&w->rs, &w->sp, NULL, 0, wss);
	world_note(w);
	wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
	for (i = 0; i < w->rs.nr; i++) {
		wsmon_region_draw(&w->sp, &w->rs.r[i], wsmon_draw_key(seed, epoch));
		sum = wsmon_hash64(sum ^ w->rs.r[i].s[0].vpn ^ w->rs.r[i].s[1].vpn);
	}
	for (i = 0; i < WSMON_NR_CLASSES; i++)
		sum = wsmon_hash64(sum ^ wss[i].pages ^ wss[i].low << 20 ^ wss[i].high << 40);
	return sum;
}

static double cases, covered, error;
static double by_kind[NR_KINDS][2];

/* Return: a hash of all results */
static u64 run(u64 seed, bool measure)
{
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct model m;
	struct world w;
	u64 sum = 0;
	u32 i;

	test_seed(seed);
	world_init(&w, BUDGET);
	make_model(&m, &w);
	world_settle(&w, 0);
	for (i = 0; i < WARM_UP + MEASURED; i++) {
		bool holds;

		sum = wsmon_hash64(sum ^ step(&m, &w, i, seed, wss));
		if (!measure || i < WARM_UP)
			continue;
		holds = wss->low <= m.truth && m.truth <= wss->high;
		cases++;
		covered += holds;
		error += ((double)wss->pages - m.truth) / wss->mapped;
		if (m.nr == 1) {
			by_kind[m.hot[0].kind][0] += 1;
			by_kind[m.hot[0].kind][1] += holds;
		}
	}
	world_free(&w);
	return sum;
}

static void models(void)
{
	static const char * const names[] = { "whole", "stride", "random", "blocks" };
	u32 i;

	for (i = 0; i < MODELS; i++)
		run(i, true);
	printf("# %.0f cases: %.1f %% covered, mean error %+.4f %% of what is mapped\n",
	       cases, covered * 100 / cases, error * 100 / cases);
	CHECK(covered > .93 * cases && covered < .99 * cases, "%f", covered / cases);
	CHECK(error / cases < .0005 && error / cases > -.0005, "%f", error / cases);
	for (i = 0; i < NR_KINDS; i++) {
		double share = by_kind[i][1] / by_kind[i][0];

		printf("# %s alone: %.0f cases, %.1f %% covered\n", names[i],
		       by_kind[i][0], share * 100);
		CHECK(share > .88, "%s: %f", names[i], share);
	}
}

static void repeatable(void)
{
	u32 i;

	for (i = 0; i < 200; i++)
		CHECK(run(i, false) == run(i, false), "seed %u", i);
	CHECK(run(1, false) != run(2, false), "it does not depend on the seed");
}

void test_models(void)
{
	test_run("models: intervals hold for random targets", models);
	test_run("models: the same seed, the same output", repeatable);
}
