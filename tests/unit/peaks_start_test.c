// SPDX-License-Identifier: GPL-2.0
/*
 * peaks_start_test.c - the detector of peaks on its first estimates, and on
 * recurring peaks, at the default attributes and intervals of 1 s
 */
#include "peaks_model.h"

#define BASE	20000

static const struct wsmon_attrs usual = {
	.peak_detector = WSMON_PEAK_SIGMA, .peak_window = 30,
	.peak_gain = 5000, .peak_adapt = 250,
};

static double uniform(void)
{
	return ldexp(test_random() >> 11, -53);
}

/* Feed an estimate of @truth pages with a 95 % interval of +- @half of it */
static int estimate(struct wsmon_detector *d, double truth, double half)
{
	double y = fmax(0, truth * (1 + half / 1.96 * peaks_normal()));

	return feed(d, &usual, y, fmax(0, y - half * truth), y + half * truth);
}

/* Ten minutes of a program with a constant working set, with sampling errors */
static void steady(void)
{
	static const double halves[] = { 0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45 };
	u32 i, j, n, k, of = 0, events = 0;

	for (i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
		/* and of a program that varies by itself; standard deviation in percent */
		for (j = 0; j <= 10; j += 5) {
			for (n = 0; n < 100; n++, of++) {
				struct wsmon_detector d = { 0 };
				u32 before = events;

				for (k = 0; k < 600 && events == before; k++)
					events += !!(2 & estimate(&d, BASE * (1 + j / 100.0 *
							    peaks_normal()), halves[i]));
			}
		}
	}
	printf("# %u of %u times ten steady minutes had a peak\n", events, of);
	CHECK(events * 200 <= of, "%u of %u", events, of);
}

/**
 * struct bursts - bursts of 1.5 s, now and then
 * @times:	height, in multiples of the base
 * @half:	half-width of the intervals, as a part of the estimate
 * @seconds:	how long the program is watched
 * @due:	bursts from the eighth interval on
 * @found:	of these, found in their first or second interval
 * @others:	false peaks and troughs
 */
struct bursts {
	double times;
	double half;
	u32 seconds;
	u32 due;
	u32 found;
	u32 others;
};

/* The set is touched each 50 ms, and varies by 5 %. */
static void watch(struct bursts *b, double period, double first)
{
	struct wsmon_detector d = { 0 };
	double last = -1;
	bool due = false;
	u32 k;

	for (k = 0; k < b->seconds; k++) {
		/* the burst of this interval, and how much of it is seen */
		double begin = first + floor((k + 1 - first) / period) * period, seen;
		int edges;

		if (begin + 1.5 <= k)
			begin += period;
		seen = fmin(begin + 1.5, k + 1) - fmax(begin, k);
		seen = fmax(0, fmin(1, seen / 0.05));
		if (seen && begin != last) {
			last = begin;
			due = begin >= 7 && begin + 0.1 < b->seconds;
			b->due += due;
		}
		edges = estimate(&d, BASE * (1 + seen * (b->times - 1)) *
				 (1 + 0.05 * peaks_normal()), b->half);
		b->others += edges & 2 && !seen;
		b->found += edges & 2 && due;
		if (edges & 2)
			due = false;
	}
}

/*
 * Bursts of any period and phase, some of them before the eighth interval, in
 * 45 s and in ten minutes. Larger bursts tolerate wider intervals.
 */
static void bursts(void)
{
	static const struct {
		double times, half;
		u32 promille;	/* of the bursts, found at least */
	} rows[] = {
		{ 2, 0.02, 950 }, { 2.5, 0.05, 990 }, { 3, 0.1, 990 }, { 4, 0.2, 980 },
		{ 6, 0.1, 999 }, { 8, 0.1, 999 }, { 8, 0.3, 980 },
	};
	size_t i;
	u32 n, seconds;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (seconds = 45; seconds <= 600; seconds += 555) {
			struct bursts b = {
				.times = rows[i].times, .half = rows[i].half,
				.seconds = seconds,
			};

			for (n = 0; n < 9000 / seconds; n++) {
				double period = n % 2 ? 12 : 10 + 10 * uniform();

				watch(&b, period, period * uniform());
			}
			printf("# %.1f times the base +- %.0f %%, %u s: found %u of %u, others %u\n",
			       b.times, 100 * b.half, seconds, b.found, b.due, b.others);
			CHECK(b.found * 1000 >= b.due * rows[i].promille,
			      "row %zu: %u of %u", i, b.found, b.due);
			CHECK(b.others * 500 <= b.due, "row %zu: %u others", i, b.others);
		}
	}
}

/* Activity for half or a third of the time is usual, from the start. */
static void often(void)
{
	u32 on, period, k, events;

	for (period = 2; period <= 16; period++) {
		for (on = (period + 2) / 3; on <= period / 2; on++) {
			struct wsmon_detector d = { 0 };

			for (k = 0, events = 0; k < 600; k++) {
				double truth = BASE * (k % period < on ? 8 : 1);

				if (2 & estimate(&d, truth, 0.05))
					CHECK(++events <= 6 && k < 40, "%u of %u: at %u",
					      on, period, k);
			}
		}
	}
}

/* No peak in a ramp, or in a program's start; at most one for a new level. */
static void warming_up(void)
{
	u32 n, k, edges, begun, ramps = 0, fillings = 0, levels = 0, after = 0;

	for (n = 0; n < 300; n++) {
		double half = 0.02 + 0.1 * uniform();
		u32 grows = 10 + test_below(200), fills = 1 + test_below(3);
		u32 changes = 8 + test_below(30), burst = changes + 60 + test_below(30);
		struct wsmon_detector ramp = { 0 }, fill = { 0 }, level = { 0 };

		for (k = 0, begun = 0; k < 300; k++) {
			ramps += !!(2 & estimate(&ramp, BASE * (1 + 9 * fmin(1, (double)k / grows)),
						 half));
			/* at first little, then all of its memory, then its working set */
			fillings += !!(2 & estimate(&fill, !k ? 50 : k <= fills ? 8 * BASE : BASE,
						    half));
			edges = estimate(&level, BASE * (k < changes ? 1 : k == burst ? 8 : 4),
					 half);
			CHECK(k < changes || k >= burst || !(edges & 2) || !begun++,
			      "the level %u times", begun);
			after += k == burst && edges & 2;
		}
		levels += begun;
	}
	printf("# %u peaks of 300 ramps, %u of as many fillings, %u of new levels; %u bursts after these\n",
	       ramps, fillings, levels, after);
	CHECK(ramps <= 3 && !fillings && levels <= 300 && after >= 295,
	      "%u, %u, %u, %u", ramps, fillings, levels, after);
}

/* From the first estimates to the moving mean: unusual values stay unusual. */
static void hand_over(void)
{
	u64 far[36], means[36];
	u32 n, k;

	for (n = 0; n < 100; n++) {
		struct wsmon_detector d = { 0 };

		for (k = 0; k < 36; k++) {
			estimate(&d, BASE, 0.2);
			far[k] = wsmon_peak_threshold(&d, &usual);
			means[k] = d.mean;
		}
		for (k = 28; k < 36; k++)
			CHECK(far[k] < 1.5 * far[k - 1] && far[k - 1] < 1.5 * far[k] &&
			      means[k] < 1.05 * means[k - 1] && means[k - 1] < 1.05 * means[k],
			      "a step at %u", k);
	}
}

/* Values of any size, with bounded work; the largest comes last. */
static void sizes(void)
{
	struct wsmon_detector d = { 0 };
	u32 k;

	for (k = 0; k < 20; k++)
		feed(&d, &usual, 1000 + k, 1000 + k, 1000 + k);
	CHECK(feed(&d, &usual, 1ULL << 45, 1ULL << 45, 1ULL << 45) == 2, "all there is");
	CHECK(feed(&d, &usual, 1000, 1000, 1000) == 1, "and back");
	CHECK(wsmon_peak_size(&d, d.mean, 0) <= 1100, "%llu",
	      (long long)wsmon_peak_size(&d, d.mean, 0));
	/* all and nothing in turn */
	memset(&d, 0, sizeof(d));
	for (k = 0; k < 40; k++) {
		u64 y = k % 2 ? 1ULL << 45 : 0;

		CHECK(!(2 & feed(&d, &usual, y, y, y)) || k == 7, "at %u", k);
		CHECK(d.var >> 62 == 0, "too large");
	}
}

void test_peaks_start(void)
{
	test_run("peaks: none of steady programs", steady);
	test_run("peaks: bursts of 1.5 s from the eighth interval on", bursts);
	test_run("peaks: what is there often is usual", often);
	test_run("peaks: warming up", warming_up);
	test_run("peaks: from the start to the moving mean", hand_over);
	test_run("peaks: first estimates of any size", sizes);
}
