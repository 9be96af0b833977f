// SPDX-License-Identifier: GPL-2.0
/*
 * peaks_test.c - the detector of peaks against its model in double precision,
 * and against its promises
 */
#include "peaks_model.h"

static const struct wsmon_attrs usual = {
	.peak_detector = WSMON_PEAK_SIGMA, .peak_window = 30,
	.peak_gain = 5000, .peak_adapt = 250,
};

static double scale(const struct wsmon_detector *d)
{
	return ldexp(1, (int)d->shift - 16);
}

static bool within(double got, double want, double part, double slack)
{
	return fabs(got - want) <= part * fabs(want) + slack;
}

/* exp() is clamped: F above 1000 is usual for a variance in pages */
static void large_f(void)
{
	static const u64 sizes[] = { 1000, 10000, 1000000, 1ULL << 44 };
	struct wsmon_attrs a = usual;
	size_t i, j;

	a.peak_detector = WSMON_PEAK_FANO;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct wsmon_detector d = { 0 };
		struct model m = { 0 };

		for (j = 0; j < 60; j++) {
			u64 y = sizes[i] * (j % 2);

			model_feed(&m, &a, y, y, y);
			feed(&d, &a, y, y, y);
		}
		CHECK(!i || m.var / m.mean > 1000, "F %g", m.var / m.mean);
		CHECK(!d.sign, "deaf, as it is known to be");
		if (model_threshold(&m, &a) < 1e9)
			CHECK(within(wsmon_peak_threshold(&d, &a) * scale(&d),
				     model_threshold(&m, &a), 1e-3, 0), "%zu", i);
		else
			CHECK(wsmon_peak_threshold(&d, &a) * scale(&d) >
			      2.0 * sizes[i], "%zu", i);
	}
}

static u64 random_size(void)
{
	return test_random() >> (19 + test_below(45));
}

static struct wsmon_attrs random_attrs(void)
{
	struct wsmon_attrs a = {
		.peak_detector = 1 + test_below(2),
		.peak_window = WSMON_PEAK_WINDOW_MIN + test_below(test_below(4) ?
			60 : WSMON_PEAK_WINDOW_MAX - 1),
		.peak_gain = 1 + test_below(test_below(2) ? 10000 :
					    WSMON_PEAK_GAIN_MAX),
		.peak_adapt = test_below(1001),
	};

	return a;
}

/* The next value of a series with small changes, and a large one now and then */
static u64 next_size(u64 level, u64 *now)
{
	if (!test_below(40))
		*now = random_size();
	else if (!test_below(20))
		*now = level * (1 + test_below(6));
	else if (!test_below(4))
		*now = level;
	return min_t(u64, 1ULL << 45, *now - *now / 10 + test_below(*now / 5 + 1));
}

/* The same values as in double precision, as long as decisions are the same */
static void as_the_model(void)
{
	u32 round, compared = 0, peaks = 0;

	for (round = 0; round < 2000; round++) {
		struct wsmon_attrs a = random_attrs();
		struct wsmon_detector d = { 0 };
		struct model m = { 0 };
		u64 level = 2000 + (test_random() >> (20 + test_below(32)));
		u32 i;

		a.peak_window = min_t(u32, a.peak_window, 60);
		for (i = 0; i < 200; i++) {
			u64 y = level - level / 10 + test_below(level / 5), e;
			double near, want;

			if (test_below(10) == 0)
				y = level / 4 * (1 + test_below(30));
			y = min_t(u64, y, 1ULL << 45);
			want = model_threshold(&m, &a);
			e = wsmon_peak_threshold(&d, &a);
			/* thresholds beyond any possible distance may be wrong */
			if (i && want * 1000 / a.peak_gain < ldexp(scale(&d), 45))
				CHECK(within(e * scale(&d), want, 1e-3, 4 * scale(&d)),
				      "round %u, %u: %f, not %f", round, i,
				      e * scale(&d), want);
			near = model_feed(&m, &a, y, y - y / 50, y + y / 50);
			feed(&d, &a, y, y - y / 50, y + y / 50);
			/* too close to call: it may go either way */
			if (near < 2e-3)
				break;
			CHECK(d.sign == m.sign, "round %u, %u: %d, not %d (%g)",
			      round, i, d.sign, m.sign, near);
			CHECK(within(d.mean * scale(&d), m.mean, 1e-3, 2 * scale(&d)),
			      "round %u, %u: mean", round, i);
			compared++;
			peaks += d.sign != 0;
		}
	}
	printf("# %u estimates as in double precision, %u of them in peaks\n",
	       compared, peaks);
	CHECK(compared > 100000 && peaks > 5000, "%u, %u", compared, peaks);
}

/* Any series: peaks begin, then end, and their reported values are right. */
static void any_series(void)
{
	u32 round, peaks = 0;

	for (round = 0; round < 3000; round++) {
		struct wsmon_attrs a = random_attrs();
		struct wsmon_detector d = { 0 };
		u64 level = random_size(), now = level, height = 0;
		u32 i;

		for (i = 0; i < 300; i++) {
			u64 y = next_size(level, &now);
			u64 low = test_below(y + 1);
			u64 high = min_t(u64, 1ULL << 45, y + test_below(y + 1));
			s8 was = d.sign;
			int edges = feed(&d, &a, y, low, high);

			CHECK(was || !(edges & 1), "the end of nothing");
			CHECK(!(edges & 1) || d.ended == was, "another's end");
			CHECK(!(edges & 2) || d.sign, "no sign");
			CHECK(!was || edges || d.sign == was, "it changed");
			CHECK(edges != 3 || d.sign == -was, "no change at all");
			CHECK(!d.sign || i >= a.peak_window ||
			      (i >= 6 && a.peak_detector == WSMON_PEAK_SIGMA),
			      "not warm at %u", i);
			CHECK(d.mean >> 31 == 0 && d.filtered >> 31 == 0 &&
			      d.var >> 62 == 0, "too large: %llx, %llx",
			      (long long)d.mean, (long long)d.var);
			if (edges & 2) {
				u64 base = wsmon_peak_size(&d, d.baseline, 0);

				CHECK(d.sign > 0 ? low >= base : high <= base + 1,
				      "not beyond the baseline");
				height = y;
				peaks++;
			}
			if (d.sign)
				height = d.sign > 0 ? max(height, y) : min(height, y);
			CHECK(!d.sign || d.height == height, "height");
		}
	}
	printf("# %u peaks\n", peaks);
	CHECK(peaks > 3000, "%u", peaks);
}

/* "sigma" gives the same result in pages, bytes and MiB; "fano" does not. */
static u32 differences(u32 detector)
{
	struct wsmon_attrs a = usual;
	u32 round, differ = 0;

	a.peak_detector = detector;
	for (round = 0; round < 200; round++) {
		struct wsmon_detector pages = { 0 }, bytes = { 0 };
		u32 i;

		for (i = 0; i < 200; i++) {
			u64 y = 100 + test_below(20);

			if (!test_below(30))
				y *= 1 + test_below(5);
			differ += feed(&pages, &a, y, y, y) !=
				  feed(&bytes, &a, y << 12, y << 12, y << 12);
		}
	}
	return differ;
}

static void any_unit(void)
{
	u32 sigma = differences(WSMON_PEAK_SIGMA), fano = differences(WSMON_PEAK_FANO);

	printf("# other events in bytes than in pages: sigma %u, fano %u\n",
	       sigma, fano);
	CHECK(!sigma, "%u", sigma);
	CHECK(fano > 100, "%u: the test sees a difference", fano);
}

/* Box-Muller transform */
double peaks_normal(void)
{
	double u = (test_random() >> 11) + 1, v = test_random() >> 11;

	return sqrt(-2 * log(ldexp(u, -53))) * cos(2 * M_PI * ldexp(v, -53));
}

/*
 * Ten minutes with @rate intervals a second: five bursts of four times the
 * base, two seconds each, in noise of 10 %; intervals as wide as regions make
 * them.
 */
static void bursts(u32 rate, u32 seeds, const struct wsmon_attrs *a)
{
	u32 seed, i, found = 0, late = 0, false_ones = 0, ends = 0;

	for (seed = 0; seed < seeds; seed++) {
		struct wsmon_detector d = { 0 };

		for (i = 0; i < 600 * rate; i++) {
			u32 second = i / rate, into = second % 100;
			bool burst = second >= 100 && into < 2;
			u64 y = fmax(0, 20000 * (burst ? 4 : 1) *
					(1 + 0.1 * peaks_normal()));
			int edges = feed(&d, a, y, y - y / 20, y + y / 20);

			if (edges & 2 && burst && i % (100 * rate) == 0)
				found++;
			else if (edges & 2 && burst)
				late++;
			else if (edges & 2)
				false_ones++;
			ends += edges & 1;
		}
	}
	printf("# %u bursts of %u at once, %u later, %u other events, %u ends, in %u times ten minutes at %u a second\n",
	       found, 5 * seeds, late, false_ones, ends, seeds, rate);
	CHECK(found == 5 * seeds, "%u of %u", found, 5 * seeds);
	CHECK(!late && !false_ones, "%u, %u", late, false_ones);
	CHECK(ends == found, "each ends: %u", ends);
}

static void ten_minutes(void)
{
	bursts(1, 200, &usual);
	bursts(10, 40, &usual);
}

/*
 * Sampling errors are no peaks: the truth is constant, estimates are not, and
 * their intervals include the truth. A real peak beyond the intervals is
 * reported.
 */
static void hysteresis(void)
{
	struct wsmon_detector with = { 0 }, without = { 0 };
	u32 i, made_up = 0, reported = 0;

	for (i = 0; i < 6000; i++) {
		/* errors so rare that the variance hardly includes them */
		double error = i % 100 == 99 ? 0.7 : 0.02 * peaks_normal();
		u64 y = 10000 * (1 + error), half = y * 45 / 100;

		made_up += feed(&without, &usual, y, y, y) & 2;
		reported += feed(&with, &usual, y, y - half, y + half) & 2;
	}
	CHECK(made_up > 50, "%u: there is something to suppress", made_up);
	CHECK(!reported, "%u", reported);
	CHECK(feed(&with, &usual, 60000, 33000, 87000) == 2, "a real one");
	/* the peak goes on although the interval reaches down again */
	CHECK(!feed(&with, &usual, 40000, 1000, 79000), "one peak");
	CHECK(feed(&with, &usual, 10000, 5500, 14500) == 1, "its end");
}

/* A series that begins with nothing, or has nothing for long */
static void zeroes(void)
{
	struct wsmon_detector d = { 0 };
	u32 i, edges = 0;

	/* 0 as the first estimate: no peak once the detector is warm */
	for (i = 0; i < 200; i++)
		edges += feed(&d, &usual, i ? 1000 : 0, i ? 1000 : 0, 1000);
	CHECK(!edges, "%u", edges);
	/* nothing for long, then something, then nothing */
	memset(&d, 0, sizeof(d));
	for (i = 0; i < 60; i++)
		CHECK(!feed(&d, &usual, 0, 0, 0), "nothing");
	CHECK(feed(&d, &usual, 50, 50, 50) == 2 && d.sign == 1, "something");
	CHECK(feed(&d, &usual, 0, 0, 0) == 1, "nothing again");
	/* the other way round: a time without use is a trough */
	memset(&d, 0, sizeof(d));
	for (i = 0; i < 60; i++)
		feed(&d, &usual, 5000, 4900, 5100);
	CHECK(feed(&d, &usual, 0, 0, 0) == 2 && d.sign == -1, "a trough");
	CHECK(feed(&d, &usual, 5000, 4900, 5100) == 1, "its end");
}

/* Growth as pages become huge is no peak, also in several steps. Bursts soon after are. */
static void made_huge(void)
{
	static const u32 befores[] = { 8, 20, 60 };
	struct wsmon_detector d;
	u32 i, j, steps, far = 0;
	u64 y, grew;

	for (j = 0; j < 9; j++) {
		memset(&d, 0, sizeof(d));
		y = 1000;
		steps = 1 + j % 3;
		for (i = 0; i < befores[j / 3] + 60; i++) {
			grew = 0;
			if (i >= befores[j / 3] && i < befores[j / 3] + steps)
				grew = 12000 / steps;
			/* a part of these pages was in use before */
			y += grew / 12 * 11;
			CHECK(!feed_grown(&d, &usual, y + i % 3, y - 9, y + 9, grew),
			      "%u: %u", j, i);
		}
		CHECK(within(d.mean * scale(&d), 12000, 1e-2, 0), "it is usual");
		far += feed(&d, &usual, 48000, 47000, 49000) == 2 && d.sign == 1;
	}
	CHECK(far == 9, "%u bursts", far);
	/* half of the growth is found too late to show at once */
	memset(&d, 0, sizeof(d));
	for (i = 0; i < 60; i++)
		CHECK(!feed_grown(&d, &usual, i < 46 ? 1000 : 11000, i == 45 ? 900 : i < 45 ? 990 : 10990,
				  i < 45 ? 1010 : 11010, i == 45 || i == 46 ? 5000 : 0), "%u", i);
	/* an estimate is skipped, but its growth by huge pages is known */
	memset(&d, 0, sizeof(d));
	for (i = 0; i < 60; i++) {
		if (i == 45)
			wsmon_peak_skip(&d, &(struct wsmon_wss){ .mapped = 12000, .high = 12000,
								 .grew = 10000 });
		CHECK(!feed_grown(&d, &usual, i < 45 ? 1000 : 11000, i < 45 ? 990 : 10990,
				  i < 45 ? 1010 : 11010, 0), "%u", i);
	}
	/* growth that is not used soon after explains nothing later */
	memset(&d, 0, sizeof(d));
	for (i = 0; i < 60; i++)
		feed_grown(&d, &usual, 1000, 990, 1010, i == 45 ? 12000 : 0);
	CHECK(feed(&d, &usual, 4000, 3900, 4100) == 2, "a burst");
	CHECK(feed(&d, &usual, 1000, 990, 1010) == 1, "its end");
}

/* A new level is a peak for about a window; then it is usual, and stays so. */
static void new_level(void)
{
	struct wsmon_detector d = { 0 };
	u32 i, lasted = 0;

	for (i = 0; i < 60; i++)
		feed(&d, &usual, 1000, 1000, 1000);
	for (i = 0; i < 600; i++) {
		int edges = feed(&d, &usual, 4000, 4000, 4000);

		CHECK((i == 0) == (edges == 2), "at %u", i);
		if (edges & 1)
			lasted = i;
	}
	CHECK(lasted > 15 && lasted < 60, "%u", lasted);
	CHECK(within(d.mean * scale(&d), 4000, 1e-3, 0), "it is usual");
	/* also a level that varies, after next to nothing */
	memset(&d, 0, sizeof(d));
	for (i = 0; i < 60; i++)
		feed(&d, &usual, 2, 2, 2);
	for (i = 0, lasted = 0; i < 600; i++) {
		u64 y = 40000 * (1 + 0.1 * peaks_normal());
		int edges = feed(&d, &usual, y, y, y);

		CHECK((i == 0) == (edges == 2), "at %u", i);
		if (edges & 1)
			lasted = i;
	}
	CHECK(lasted > 15 && lasted < 60, "%u", lasted);
}

/* The same with coarse values, where a single estimate could have been large. */
static void new_level_coarse(void)
{
	static const struct {
		u32 window;
		u64 largest;
	} rows[] = {
		{ 30, 1ULL << 35 }, { 1000, 1ULL << 35 }, { 10000, 1ULL << 28 },
	};
	size_t i;
	u32 j;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wsmon_detector d = { 0 };
		struct wsmon_attrs a = usual;
		int edges = 0;

		a.peak_window = rows[i].window;
		feed(&d, &a, 1000, 1000, rows[i].largest);
		for (j = 0; j < a.peak_window; j++)
			CHECK(!feed(&d, &a, 1000, 1000, 1000), "nothing happened");
		CHECK(feed(&d, &a, 4000, 4000, 4000) == 2, "row %zu: no start", i);
		for (j = 0; j < a.peak_window && !edges; j++)
			edges = feed(&d, &a, 4000, 4000, 4000);
		CHECK(edges == 1, "row %zu: %d after %u", i, edges, j);
	}
}

/* After a peak the usual level is as before: the next peak is found as well. */
static void again_and_again(void)
{
	struct wsmon_detector d = { 0 };
	u32 i, begun = 0, ended = 0;

	for (i = 0; i < 30 + 50 * 40; i++) {
		bool burst = i >= 30 && (i - 30) % 40 < 10;
		int edges = feed(&d, &usual, burst ? 4000 : 1000,
				 burst ? 4000 : 1000, burst ? 4000 : 1000);

		begun += !!(edges & 2);
		ended += !!(edges & 1);
		CHECK(!(edges & 2) || (i - 30) % 40 == 0, "at %u", i);
		CHECK(!(edges & 1) || (i - 30) % 40 == 10, "end at %u", i);
	}
	CHECK(begun == 50 && ended == 50, "%u, %u", begun, ended);
}

/* A slow decline passes the mean, which has risen meanwhile: still one peak. */
static void ramps(void)
{
	struct wsmon_detector d = { 0 };
	u32 i, begun = 0, ended = 0;

	for (i = 0; i < 20 * 50; i++) {
		u32 into = i % 50;
		u64 y = 20 + (into < 30 ? 0 : into < 40 ? into - 30 : 50 - into) * 1600;
		int edges = feed(&d, &usual, y, y - y / 20, y + y / 20);

		begun += !!(edges & 2);
		ended += !!(edges & 1);
		CHECK(!(edges & 1) || y < 100, "ends at %llu", (long long)y);
		CHECK(!(edges & 1) || d.height == 20 + 16000, "height %llu",
		      (long long)d.height);
	}
	CHECK(begun == 20 && ended == 19, "%u, %u", begun, ended);
}

void test_peaks(void)
{
	test_run("peaks: an index of dispersion above 1000", large_f);
	test_run("peaks: as in double precision", as_the_model);
	test_run("peaks: any series, any attributes", any_series);
	test_run("peaks: any unit", any_unit);
	test_run("peaks: bursts in noise, ten minutes", ten_minutes);
	test_run("peaks: what sampling makes up is none", hysteresis);
	test_run("peaks: zeroes", zeroes);
	test_run("peaks: a new level becomes usual", new_level);
	test_run("peaks: pages made huge", made_huge);
	test_run("peaks: a new level becomes usual, coarse", new_level_coarse);
	test_run("peaks: one after the other", again_and_again);
	test_run("peaks: ramps", ramps);
	test_peaks_start();
}
