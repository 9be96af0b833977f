// SPDX-License-Identifier: GPL-2.0
/* draw_test.c - positions spread over runs of regions, and their effect on the variance */
#include <math.h>

#include "world.h"

#define RUN		32U
#define RUNS		4U
#define HALF		512U
#define DRAWS		4000U

static const struct wsmon_attrs attrs = { .aggr_us = 1, .windows_us = { 1 }, .nr_windows = 1 };

/* Regions of two halves of @half pages each; each area holds @each of them */
static void world_of_runs(struct world *w, u32 nr, u32 each, u64 half)
{
	u32 i;

	world_init(w, nr);
	for (i = 0; i < nr; i += each)
		world_map(w, 2 * half * i, 2 * half * (i + each),
			  i / each % 2 ? WSMON_CLASS_HEAP : WSMON_CLASS_ANON);
	wsmon_space_group(&w->sp, 1000);
	for (i = 0; i < nr; i++) {
		struct wsmon_region *r = &w->rs.r[i];

		r->start = 2 * half * i;
		r->end = r->start + 2 * half;
		r->n[0] = r->n[1] = half;
		r->area = i / each;
		r->times = 8;
		r->past.mean[0] = r->past.mean[1] = WSMON_ONE / 2;
	}
	w->rs.nr = nr;
}

/* A pattern of accesses in all halves: the first @used of every @period pages */
struct pattern {
	u32 period;
	u32 used;
};

/* Accessed pages of a run less the samples that hit: expected - found, of 64 positions */
static double missing(const struct world *w, u32 run, struct pattern p)
{
	double sum = 2. * RUN * p.used / p.period;
	u32 i, h;

	for (i = run * RUN; i < (run + 1) * RUN; i++) {
		for (h = 0; h < 2; h++)
			sum -= w->rs.r[i].s[h].vpn % p.period < p.used;
	}
	return sum;
}

/*
 * If the same part of each half is accessed, the positions of a run miss at most one. With any
 * other pattern they miss as much as independent positions, or less. The error of one run is
 * independent of another's, and each position is uniform.
 */
static void even(void)
{
	static const struct pattern patterns[] = {
		{ HALF, HALF * 3 / 8 + 1 }, { HALF / 4, 43 }, { 64, 29 }, { 8, 4 }, { 2, 1 },
	};
	double alone[5] = { 0 }, total[5] = { 0 }, worst[5] = { 0 }, part[16] = { 0 }, chi = 0;
	u32 epoch, i, run;
	struct world w;

	world_of_runs(&w, RUNS * RUN, RUNS * RUN, HALF);
	for (epoch = 0; epoch < DRAWS; epoch++) {
		wsmon_regions_draw(&w.rs, &w.sp, &attrs, 1, epoch);
		for (i = 0; i < ARRAY_SIZE(patterns); i++) {
			double sum = 0, x;

			for (run = 0; run < RUNS; run++) {
				x = missing(&w, run, patterns[i]);
				worst[i] = fmax(worst[i], fabs(x));
				alone[i] += x * x / RUNS / DRAWS;
				sum += x;
			}
			total[i] += sum * sum / RUNS / DRAWS;
		}
		part[w.rs.r[RUN + RUN / 2].s[1].vpn % HALF / (HALF / 16)]++;
	}
	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		double p = (double)patterns[i].used / patterns[i].period;
		double independent = 2 * RUN * p * (1 - p);

		printf("# period %u: squared deviation %.2f, of independent ones %.2f, at most %.1f\n",
		       patterns[i].period, alone[i], independent, worst[i]);
		/* 64 / 63 expected; 16000 squares deviate by 1.1 % */
		CHECK(alone[i] < 1.05 * independent, "%f", alone[i]);
		CHECK(worst[i] < 6 * sqrt(independent), "%f", worst[i]);
		/* 4000 squares deviate by 2.2 % */
		CHECK(fabs(total[i] / alone[i] - 1) < .1, "runs vary together: %f, %f", total[i],
		      alone[i]);
	}
	CHECK(worst[0] < 1.01 && alone[1] < 1, "%f, %f", worst[0], alone[1]);
	for (i = 0; i < 16; i++)
		chi += (part[i] - DRAWS / 16.) * (part[i] - DRAWS / 16.) / (DRAWS / 16.);
	/* 15 degrees of freedom: above 37.7 in one case of a thousand */
	CHECK(chi < 37.7, "chi squared %.1f", chi);
	world_free(&w);
}

/* Findings: one of the two halves of each region, or any halves at random */
static void find(struct world *w, u32 first, u32 end, bool order)
{
	u32 i;

	for (i = first; i < end; i++) {
		u32 *out = w->rs.r[i].out[0];

		out[0] = order || test_below(2) ? WSMON_ONE : 0;
		out[1] = !order && test_below(2) ? WSMON_ONE : 0;
	}
}

static void learn(struct world *w, u32 times, bool order)
{
	while (times--) {
		find(w, 0, w->rs.nr, order);
		wsmon_runs_learn(&w->rs, &w->sp);
	}
}

/* Sums of runs show how far spreading reduces the variance, for all sizes of memory */
static void says_less(void)
{
	static const u64 halves[] = { 1, 512, 1ULL << 30 };
	const u32 most = WSMON_ONE - WSMON_ONE / 16;
	struct world w;
	double mean;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(halves); i++) {
		u16 *less;

		world_of_runs(&w, 1024, 1024, halves[i]);
		less = &w.rs.runs.less[WSMON_CLASS_ANON];
		learn(&w, 7, true);
		CHECK(!*less, "7 intervals say nothing yet");
		learn(&w, 1, true);
		CHECK(*less == most, "order takes %u of %u", *less, most);
		learn(&w, 1, false);
		/* the squares of 32 runs deviate by a quarter */
		CHECK(*less < WSMON_ONE / 2, "once without takes %u", *less);
		learn(&w, 1, true);
		CHECK(*less > most / 2 && *less < WSMON_ONE * 9 / 10, "then it takes %u", *less);
		for (j = 0, mean = 0; j < 500; j++) {
			learn(&w, 1, false);
			mean += *less / 500.;
		}
		CHECK(mean < WSMON_ONE / 50, "chance takes %f", mean);
		world_free(&w);
	}
}

/*
 * One run, observed for long: its reduction must be true on average, and chance alone must not
 * make one. If order ends, that takes longer to show.
 */
static void few_runs(void)
{
	double less = 0;
	struct world w;
	u32 i;

	world_of_runs(&w, RUN, RUN, HALF);
	learn(&w, 8, true);
	CHECK(w.rs.runs.less[WSMON_CLASS_ANON], "order takes nothing");
	find(&w, 0, RUN, true);
	/* as in a run without order: its 64 halves deviate by sqrt(64) / 2 = 4 halves */
	for (i = 0; i < 8; i++)
		w.rs.r[i].out[0][1] = WSMON_ONE;
	for (i = 0; i < 4; i++)
		wsmon_runs_learn(&w.rs, &w.sp);
	CHECK(w.rs.runs.less[WSMON_CLASS_ANON] < WSMON_ONE / 2, "4 intervals after it ended, %u",
	      w.rs.runs.less[WSMON_CLASS_ANON]);
	for (i = 0; i < 2000; i++) {
		learn(&w, 1, false);
		less += w.rs.runs.less[WSMON_CLASS_ANON] / 2000.;
	}
	CHECK(less < WSMON_ONE / 8, "chance takes %f", less);
	world_free(&w);
}

/* Regions that do not count: no past, not looked at, known exactly. Classes are separate. */
static void who_adds(void)
{
	struct wsmon_runs *runs;
	struct world w;
	u32 i;

	world_of_runs(&w, 256, 128, HALF);
	runs = &w.rs.runs;
	CHECK(w.sp.nr_area == 2, "%u areas", w.sp.nr_area);
	/* regions without a past, and exact ones, have random findings that must not matter */
	for (i = 0; i < RUN; i++) {
		w.rs.r[i].times = 2;
		w.rs.r[i + RUN].exact[0] = 1;
		w.rs.r[i + RUN].exact[1] = 1;
	}
	for (i = 0; i < 16; i++) {
		find(&w, 0, 2 * RUN, false);
		find(&w, 2 * RUN, 128, true);
		find(&w, 128, 256, false);
		wsmon_runs_learn(&w.rs, &w.sp);
	}
	CHECK(runs->less[WSMON_CLASS_ANON] == WSMON_ONE - WSMON_ONE / 16 &&
	      runs->less[WSMON_CLASS_HEAP] < WSMON_ONE / 4, "classes take %u and %u",
	      runs->less[WSMON_CLASS_ANON], runs->less[WSMON_CLASS_HEAP]);
	for (i = 0; i < 256; i++)
		w.rs.r[i].stale = 1;
	wsmon_runs_learn(&w.rs, &w.sp);
	CHECK(!runs->less[WSMON_CLASS_ANON] && !runs->times[WSMON_CLASS_ANON],
	      "of another interval");
	world_free(&w);
}

void test_draw(void)
{
	test_run("draw: positions are even in a run, and runs independent", even);
	test_run("draw: order takes from the variance, and chance does not", says_less);
	test_run("draw: one run says little", few_runs);
	test_run("draw: what does not count", who_adds);
}
