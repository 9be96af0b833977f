// SPDX-License-Identifier: GPL-2.0
/*
 * windows_test.c - several windows at once: is each estimate unbiased, and does
 * its interval hold?
 *
 * A simulated target touches the same pages in every interval, so all windows have
 * the same truth. Regions, samples, learning and estimates are the module's own.
 */
#include <math.h>

#include "world.h"

#define PAGES	131072ULL	/* 512 MiB */
#define BASE	0x7f1234567ULL
#define SECOND	1000000000ULL
#define AGGR	(SECOND / 2)
#ifndef SEEDS
#define SEEDS	40
#endif
#define INTERVALS 60
#define WINDOWS	5

struct study {
	u32 one_in;	/* pages touched */
	bool strided;	/* every one_in-th page, or pages at random */
};

static bool is_touched(const struct study *s, u64 vpn)
{
	u64 page = vpn - BASE;

	return (s->strided ? page : test_hash(page)) % s->one_in == 0;
}

static void end_interval(struct world *w, const struct study *s,
			 struct wsmon_interval *iv, struct wsmon_wss est[WINDOWS])
{
	struct wsmon_wss wss[WSMON_NR_WSS];
	u32 i, h, k;

	iv->active++;
	for (i = 0; i < w->rs.nr; i++) {
		struct wsmon_region *r = &w->rs.r[i];

		r->dropped = wsmon_region_due(&w->rs, i, iv);
		r->last = 1;
		for (h = 0; h < 2 && r->n[h]; h++) {
			r->checks++;
			if (!is_touched(s, r->s[h].vpn))
				continue;
			r->hits++;
			r->s[h].seen_ns = iv->now;
		}
	}
	wsmon_regions_learn(&w->rs, iv, false);
	for (k = 0; k < WINDOWS; k++) {
		wsmon_wss_estimate(&w->rs, &w->sp, NULL, k, wss);
		est[k] = wss[WSMON_CLASS_ALL];
	}
	wsmon_regions_note(&w->rs, iv);
	wsmon_regions_rest(&w->rs);
}

static void begin_interval(struct world *w, struct wsmon_interval *iv, u64 seed, u64 epoch)
{
	u32 i;

	wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
	iv->begin_ns = iv->now;
	for (i = 0; i < w->rs.nr; i++) {
		if (w->rs.r[i].armed_ns)
			continue;
		wsmon_region_draw(&w->sp, &w->rs.r[i], wsmon_draw_key(seed, epoch));
		w->rs.r[i].armed_ns = iv->now;
	}
	iv->now += AGGR;
}

struct sums {
	double mean[SEEDS];
	u32 held, cases;
};

/* One recording: adds up the results of each window from its first full length on */
static void record(const struct study *s, u64 seed, u64 truth, struct sums sums[WINDOWS])
{
	struct wsmon_interval iv = {
		.now = SECOND,
		.aggr_ns = AGGR,
		.slack_ns = SECOND / 20,
		.window_ns = { AGGR, SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND },
		.nr_windows = WINDOWS,
	};
	struct wsmon_wss est[WINDOWS];
	struct world w;
	u32 i, k, n = 0;

	world_init(&w, 2000);
	world_map(&w, BASE, BASE + PAGES, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 1);
	wsmon_regions_fit(&w.rs, &w.sp, 1, 0);
	for (i = 0; i < INTERVALS; i++) {
		begin_interval(&w, &iv, seed, i);
		end_interval(&w, s, &iv, est);
		if (i < 20)
			continue;
		n++;
		for (k = 0; k < WINDOWS; k++) {
			sums[k].mean[seed] += est[k].pages;
			sums[k].held += est[k].low <= truth && truth <= est[k].high;
			sums[k].cases++;
		}
	}
	for (k = 0; k < WINDOWS; k++)
		sums[k].mean[seed] = sums[k].mean[seed] / n / truth - 1;
	world_free(&w);
}

/* Totals over all patterns, by window */
static u32 held[WINDOWS], cases[WINDOWS];

static void study(u32 one_in, bool strided)
{
	struct study s = { one_in, strided };
	struct sums sums[WINDOWS] = { };
	u64 truth = 0, p;
	u32 seed, k;

	for (p = 0; p < PAGES; p++)
		truth += is_touched(&s, BASE + p);
	for (seed = 0; seed < SEEDS; seed++)
		record(&s, seed, truth, sums);
	for (k = 0; k < WINDOWS; k++) {
		double mean = 0, var = 0, error, cover;

		for (seed = 0; seed < SEEDS; seed++)
			mean += sums[k].mean[seed] / SEEDS;
		for (seed = 0; seed < SEEDS; seed++)
			var += pow(sums[k].mean[seed] - mean, 2) / (SEEDS - 1);
		error = sqrt(var / SEEDS);
		cover = (double)sums[k].held / sums[k].cases;
		printf("# window %u: mean error %+.2f %% +- %.2f %%, coverage %.1f %%\n",
		       k, mean * 100, error * 100, cover * 100);
		CHECK(fabs(mean) < fmax(.02, 3 * error), "window %u: bias %f", k, mean);
		CHECK(cover > .93, "window %u: coverage %f", k, cover);
		held[k] += sums[k].held;
		cases[k] += sums[k].cases;
	}
}

/* Neither too narrow nor too wide */
static void all_patterns(void)
{
	u32 k;

	for (k = 0; k < WINDOWS; k++) {
		double cover = (double)held[k] / cases[k];

		printf("# window %u: %.1f %% of %u\n", k, cover * 100, cases[k]);
		CHECK(cover > .93 && cover < .98, "window %u: coverage %f", k, cover);
	}
}

/*
 * On a busy machine intervals end late, by up to 40 %. Pages are used at times of their own:
 * one in ten all the time, others each 3 to 30 s.
 */
#define LATE_PAGES	16384ULL

static bool is_used(u64 vpn, u64 since, u64 until)
{
	u64 hash = test_hash(vpn), period = SECOND / 20, phase;

	if (hash % 10)
		period = 3 * SECOND + hash % (27 * SECOND);
	phase = test_hash(hash) % period;
	return (since + phase) / period < (until + phase) / period;
}

/* Mean errors of the estimates by window; @known: the times of looks are known */
static void record_late(u64 seed, bool known, double error[WINDOWS])
{
	static struct wsmon_looks looks;
	struct wsmon_interval iv = {
		.now = 100 * SECOND,
		.aggr_ns = AGGR,
		.slack_ns = SECOND / 40,
		.window_ns = { AGGR, SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND },
		.nr_windows = WINDOWS,
	};
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct world w;
	u32 i, j, h, k, n = 0;

	memset(&looks, 0, sizeof(looks));
	world_init(&w, 2000);
	world_map(&w, BASE, BASE + LATE_PAGES, WSMON_CLASS_ANON);
	wsmon_space_group(&w.sp, 1);
	wsmon_regions_fit(&w.rs, &w.sp, 1, 0);
	for (i = 0; i < INTERVALS; i++) {
		wsmon_looks_add(&looks, iv.now);
		begin_interval(&w, &iv, seed, i);
		iv.now += test_hash(seed << 32 | i) % (AGGR * 4 / 10);
		iv.active++;
		for (j = 0; j < w.rs.nr; j++) {
			struct wsmon_region *r = &w.rs.r[j];

			r->dropped = wsmon_region_due(&w.rs, j, &iv);
			r->last = 1;
			for (h = 0; h < 2 && r->n[h]; h++) {
				r->checks++;
				if (is_used(r->s[h].vpn, iv.begin_ns, iv.now))
					r->s[h].seen_ns = iv.now;
			}
		}
		if (known) {
			struct wsmon_looks all = looks;

			wsmon_looks_add(&all, iv.now);
			wsmon_interval_edges(&iv, &all, &all);
		}
		wsmon_regions_learn(&w.rs, &iv, false);
		for (k = 0; i >= 25 && k < WINDOWS; k++) {
			u64 truth = 0, p;

			for (p = 0; p < LATE_PAGES; p++)
				truth += is_used(BASE + p, iv.now - iv.window_ns[k], iv.now);
			wsmon_wss_estimate(&w.rs, &w.sp, NULL, k, wss);
			error[k] += (double)wss[WSMON_CLASS_ALL].pages / truth - 1;
			n += !k;
		}
		wsmon_regions_note(&w.rs, &iv);
		wsmon_regions_rest(&w.rs);
	}
	for (k = 0; k < WINDOWS; k++)
		error[k] /= n;
	world_free(&w);
}

static void late(void)
{
	double mean[2][WINDOWS] = { };
	u32 seed, k, known;

	for (known = 0; known < 2; known++) {
		for (seed = 0; seed < 10; seed++) {
			double error[WINDOWS] = { };

			record_late(seed, known, error);
			for (k = 0; k < WINDOWS; k++)
				mean[known][k] += error[k] / 10;
		}
	}
	for (k = 0; k < WINDOWS; k++)
		printf("# window %u: mean error %+.2f %%, %+.2f %% as if looks were in time\n", k,
		       mean[1][k] * 100, mean[0][k] * 100);
	/* the shortest window has a single look: its interval is widened instead */
	for (k = 1; k < WINDOWS; k++)
		CHECK(fabs(mean[1][k]) < .01, "window %u: bias %f", k, mean[1][k]);
	CHECK(mean[0][3] > .03, "nothing was late: bias %f", mean[0][3]);
}

/* Where windows begin, and which part of an access is within */
static void edges(void)
{
	struct wsmon_interval iv = {
		.now = 100 * SECOND, .aggr_ns = SECOND, .slack_ns = SECOND / 20,
		.window_ns = { SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND }, .nr_windows = 4,
	};
	struct wsmon_looks l = { }, none = { };
	u32 i;

	wsmon_interval_edges(&iv, &none, &none);
	CHECK(!iv.to_ns[0] && !iv.whole[0], "nothing is known");
	CHECK(wsmon_seen_share(&iv, 99 * SECOND + SECOND / 2, 0) == WSMON_ONE &&
	      !wsmon_seen_share(&iv, 99 * SECOND, 0) && !wsmon_seen_share(&iv, 0, 0),
	      "as if in time");
	/* looks at 95.98, 97.02, 98.5, 100 s */
	wsmon_looks_add(&l, 95980000000ULL);
	wsmon_looks_add(&l, 97020000000ULL);
	wsmon_looks_add(&l, 98500000000ULL);
	wsmon_looks_add(&l, 100 * SECOND);
	wsmon_interval_edges(&iv, &l, &l);
	CHECK(iv.whole[0] == 1 && !iv.part[0], "the last look counts wholly: %u, %u",
	      iv.whole[0], iv.part[0]);
	CHECK(wsmon_seen_share(&iv, 100 * SECOND, 0) == WSMON_ONE &&
	      !wsmon_seen_share(&iv, 98500000000ULL, 0), "and nothing before");
	/* 98 s: a third of 97.02 to 98.5 is within */
	i = wsmon_seen_share(&iv, 98500000000ULL, 1);
	CHECK(iv.whole[1] == 1 && iv.part[1] == i && i > WSMON_ONE * 33 / 100 &&
	      i < WSMON_ONE * 34 / 100,
	      "%u, %u of it; %u", iv.whole[1], iv.part[1], i);
	CHECK(!wsmon_seen_share(&iv, 97020000000ULL, 1), "it is older");
	CHECK(!wsmon_seen_share(&iv, 97500000000ULL, 1), "a look between two rounds");
	/* 97 s: in time */
	CHECK(iv.whole[2] == 2 && !iv.part[2] && !wsmon_seen_share(&iv, 97020000000ULL, 2) &&
	      wsmon_seen_share(&iv, 98500000000ULL, 2) == WSMON_ONE, "%u", iv.whole[2]);
	/* 95 s: before the first look */
	CHECK(!iv.to_ns[3] && !iv.whole[3], "not known");
	for (i = 0; i < WSMON_LOOKS; i++)
		wsmon_looks_add(&l, 101 * SECOND + i);
	wsmon_interval_edges(&iv, &l, &l);
	CHECK(!iv.to_ns[1], "forgotten");
}

/* Samples not looked at stay, and are in doubt; later all samples can be dropped. */
static void missed(void)
{
	struct wsmon_interval iv = {
		.begin_ns = SECOND,
		.now = 2 * SECOND,
		.aggr_ns = SECOND,
		.window_ns = { SECOND, 8 * SECOND },
		.nr_windows = 2,
	};
	struct wsmon_region *r;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 64, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	r = w.rs.r;
	r->armed_ns = SECOND;
	r->known = 3;
	r->whole = 3;
	CHECK(!wsmon_region_due(&w.rs, 0, &iv), "they serve eight seconds");
	iv.drop_all = true;
	CHECK(wsmon_region_due(&w.rs, 0, &iv), "all are to be dropped");
	r->last = 1;
	wsmon_regions_learn(&w.rs, &iv, false);
	CHECK(r->whole == 3 && !r->draws && !r->stale, "nobody looked in this interval");
	r->last = 0;
	wsmon_regions_learn(&w.rs, &iv, false);
	CHECK(r->stale && !r->whole && r->known == 3, "nobody looked at its end");
	world_free(&w);
}

/* A region in an interval of a second in which the kernel made the upper half's entry */
static struct wsmon_region made(u64 made_ns, u8 blind, u8 recent, u64 seen_ns, u16 *samples)
{
	struct wsmon_interval iv = {
		.begin_ns = 9 * SECOND,
		.now = 10 * SECOND,
		.aggr_ns = SECOND,
		.window_ns = { SECOND, 8 * SECOND },
		.nr_windows = 2,
	};
	struct wsmon_region r;
	struct world w;

	world_init(&w, 1);
	world_map(&w, 0, 64, WSMON_CLASS_ANON);
	world_settle(&w, 0);
	w.rs.r->armed_ns = SECOND;
	w.rs.r->last = 1;
	w.rs.r->checks = 2;
	w.rs.r->draws = 5;
	w.rs.r->share[1] = WSMON_ONE / 4;
	w.rs.r->made_ns[1] = made_ns;
	w.rs.r->blind = blind;
	w.rs.r->recent = recent;
	w.rs.r->s[1].seen_ns = seen_ns;
	wsmon_regions_learn(&w.rs, &iv, false);
	*samples = wsmon_region_samples(w.rs.r, iv.begin_ns);
	r = w.rs.r[0];
	world_free(&w);
	return r;
}

/* Entries made by the kernel are no accesses, and unknown times are marked. */
static void made_anew(void)
{
	struct wsmon_region r;
	u16 samples;

	r = made(0, 0, 0, 0, &samples);
	CHECK(!r.out[0][1] && !r.gap[1] && !r.lost[1] && r.share[1] < WSMON_ONE / 4 &&
	      samples & WSMON_SAMPLES_VALID, "nothing happened");
	r = made(SECOND * 19 / 2, 0, 0, 0, &samples);
	CHECK(!r.out[0][1] && !r.gap[1] && !r.lost[1], "looks before saw nothing");
	r = made(SECOND * 19 / 2, 0, 2, SECOND * 19 / 2 - 1, &samples);
	CHECK(r.out[0][1] == WSMON_ONE && r.gap[1] == 3 && !r.gap[0] && !r.lost[1],
	      "the look before was the first to see it: gap %x", r.gap[1]);
	r = made(SECOND * 19 / 2, 2, 0, 0, &samples);
	CHECK(r.lost[1] == 3 && r.out[0][1] == WSMON_ONE / 4 && r.out[1][1] == WSMON_ONE / 4 &&
	      r.share[1] == WSMON_ONE / 4 && !r.lost[0], "nobody looked before: lost %x", r.lost[1]);
	CHECK(samples == WSMON_SAMPLES_MISSED, "what is not known is no evidence: %x", samples);
	r = made(SECOND * 19 / 2, 2, 0, 10 * SECOND, &samples);
	CHECK(!r.lost[1] && r.out[0][1] == WSMON_ONE && samples & WSMON_SAMPLES_UPPER_HIT,
	      "accessed since");
	r = made(SECOND * 19 / 2, 2, 0, 5 * SECOND, &samples);
	CHECK(r.lost[1] == 1 && r.out[1][1] == WSMON_ONE, "accessed before, in the long window only");
	r = made(5 * SECOND, 2, 0, 0, &samples);
	CHECK(r.lost[1] == 2 && !r.out[0][1] && samples & WSMON_SAMPLES_VALID,
	      "long ago: the short window knows all");
}

/*
 * With a window of @phases intervals: buddies are due together, otherwise they could never
 * merge. Each region can be any part of its half of the cell.
 */
static void turns(u32 phases)
{
	struct wsmon_interval iv = { .now = 1000 * SECOND, .aggr_ns = SECOND,
				     .window_ns = { phases * SECOND }, .nr_windows = 1 };
	struct wsmon_region r[2] = { { .armed_ns = SECOND }, { .armed_ns = SECOND } };
	struct wsmon_regions rs = { .r = r, .nr = 2 };
	u32 order, i, due[2], in_turn[60];

	for (order = 0; order < 12; order++) {
		memset(in_turn, 0, sizeof(in_turn));
		for (i = 0; i < 1000; i++) {
			u64 start = (BASE >> 13 << 13) + ((u64)i << (order + 1));
			u32 half = 1U << order;

			r[0].start = start + i % half;
			r[0].end = start + half;
			r[1].start = r[0].end;
			r[1].end = r[1].start + half - i / 3 % half;
			due[0] = due[1] = 0;
			for (iv.active = 0; iv.active < phases; iv.active++) {
				bool both = wsmon_region_due(&rs, 0, &iv);

				in_turn[iv.active] += both;
				due[0] += both;
				due[1] += both && wsmon_region_due(&rs, 1, &iv);
			}
			CHECK(due[0] == 1 && due[1] == 1, "order %u: %u and %u turns", order, due[0], due[1]);
		}
		for (i = 0; i < phases; i++)
			CHECK(in_turn[i] < 3000 / phases, "order %u: %u of 1000 in turn %u", order,
			      in_turn[i], i);
	}
}

static void buddies_together(void)
{
	turns(2);
	turns(10);
	turns(60);
}

static void random_2(void) { study(50, false); }
static void random_10(void) { study(10, false); }
static void random_30(void) { study(3, false); }
static void every_11th(void) { study(11, true); }

void test_windows(void)
{
	test_run("windows: random 2 %", random_2);
	test_run("windows: random 10 %", random_10);
	test_run("windows: a random third", random_30);
	test_run("windows: every 11th page", every_11th);
	test_run("windows: intervals of each hold", all_patterns);
	test_run("windows: looks that are late", late);
	test_run("windows: where they begin", edges);
	test_run("windows: what was missed", missed);
	test_run("windows: entries that the kernel has made", made_anew);
	test_run("windows: buddies take their turns together", buddies_together);
}
