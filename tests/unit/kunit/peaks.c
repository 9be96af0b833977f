// SPDX-License-Identifier: GPL-2.0
/*
 * peaks.c - suite wsmon_peaks: the detector, against golden values
 *
 * Thresholds, means and variances are in 1/1000; they were computed by the
 * detector of valgrind-ws in double precision.
 */
#include "world.h"

#define STEPS	7

struct golden {
	const char *what;
	u32 detector;
	u64 step;	/* after 60 times 100 pages */
	struct {
		u64 threshold;
		u64 mean;
		u64 var;
		int sign;
	} at[STEPS];
};

static const struct golden goldens[] = {
	{ "fano, 160", WSMON_PEAK_FANO, 160, {
		{ 50000, 100968, 13580, 1 },
		{ 51616, 102599, 51281, 1 },
		{ 96655, 106302, 246832, 0 },
		{ 864297, 109767, 404935, 0 },
		{ 1713251, 113007, 531107, 0 },
		{ 2407637, 116039, 630122, 0 },
		{ 2945889, 118875, 706106, 0 } } },
	{ "sigma, 160", WSMON_PEAK_SIGMA, 160, {
		{ 50000, 100968, 13580, 1 },
		{ 48418, 102599, 51281, 1 },
		{ 47950, 104669, 110118, 1 },
		{ 52388, 107014, 182745, 1 },
		{ 61250, 109514, 261569, 1 },
		{ 72092, 112082, 340332, 1 },
		{ 82899, 115174, 456955, 0 } } },
	{ "sigma, 140", WSMON_PEAK_SIGMA, 140, {
		{ 50000, 102581, 96566, 0 },
		{ 50497, 104995, 174844, 0 },
		{ 59953, 107253, 237519, 0 },
		{ 68713, 109366, 286916, 0 },
		{ 75649, 111342, 325044, 0 },
		{ 80852, 113191, 353640, 0 },
		{ 84611, 114921, 374202, 0 } } },
};

KUNIT_ARRAY_PARAM_DESC(golden, goldens, what);

static struct wsmon_attrs attrs_of(u32 detector)
{
	return (struct wsmon_attrs){
		.peak_detector = detector, .peak_window = 30,
		.peak_gain = 5000, .peak_adapt = 250,
	};
}

/* Equal to 0.1 %. Values are in 1/2^16 as long as they need no exponent. */
static void expect_near(struct kunit *test, u64 got, u64 want)
{
	KUNIT_EXPECT_GE(test, got, want - want / 1000);
	KUNIT_EXPECT_LE(test, got, want + want / 1000);
}

static void steps(struct kunit *test)
{
	const struct golden *g = test->param_value;
	struct wsmon_attrs a = attrs_of(g->detector);
	struct wsmon_detector d = { };
	u32 i;

	for (i = 0; i < 60; i++)
		KUNIT_EXPECT_EQ(test, feed(&d, &a, 100, 100, 100), 0);
	for (i = 0; i < STEPS; i++) {
		expect_near(test, wsmon_peak_threshold(&d, &a) * 1000 >> 16,
			    g->at[i].threshold);
		feed(&d, &a, g->step, g->step, g->step);
		expect_near(test, d.mean * 1000 >> 16, g->at[i].mean);
		expect_near(test, (d.var >> 16) * 1000 >> 16, g->at[i].var);
		KUNIT_EXPECT_EQ(test, d.sign, g->at[i].sign);
	}
}

/* A step too small for "fano" */
static void no_peak(struct kunit *test)
{
	struct wsmon_attrs a = attrs_of(WSMON_PEAK_FANO);
	struct wsmon_detector d = { };
	u32 i;

	for (i = 0; i < 100; i++) {
		u64 y = i < 60 ? 100 : 140;

		KUNIT_EXPECT_EQ(test, feed(&d, &a, y, y, y), 0);
	}
}

static void sizes(struct kunit *test)
{
	struct wsmon_detector d = { .shift = 0 };

	KUNIT_EXPECT_EQ(test, wsmon_peak_size(&d, 0x12345678, 0), 0x1234);
	KUNIT_EXPECT_EQ(test, wsmon_peak_size(&d, 0x12345678, 12), 0x1234567);
	KUNIT_EXPECT_EQ(test, wsmon_peak_size(&d, 0x12345678, 16), 0x12345678);
	d.shift = 30;
	KUNIT_EXPECT_EQ(test, wsmon_peak_size(&d, BIT_ULL(30), 0), BIT_ULL(44));
	KUNIT_EXPECT_EQ(test, wsmon_peak_size(&d, BIT_ULL(37), 12), BIT_ULL(63));
	KUNIT_EXPECT_EQ(test, wsmon_peak_size(&d, BIT_ULL(38), 12), U64_MAX);
}

/* F of 250,000: the exponential must not wrap */
static void large_f(struct kunit *test)
{
	struct wsmon_attrs a = attrs_of(WSMON_PEAK_FANO);
	struct wsmon_detector d = { };
	u32 i;

	for (i = 0; i < 90; i++)
		KUNIT_EXPECT_EQ(test, 0, feed(&d, &a, i % 2 ? 1000000 : 0,
					      i % 2 ? 1000000 : 0, 1000000));
	KUNIT_EXPECT_GT(test, wsmon_peak_size(&d, wsmon_peak_threshold(&d, &a), 0),
			BIT_ULL(30));
}

/* All 57 bits of addresses, from nothing and back */
static void everything(struct kunit *test)
{
	static const u32 detectors[] = { WSMON_PEAK_SIGMA, WSMON_PEAK_FANO };
	const u64 top = BIT_ULL(45);
	u32 i, j;

	for (j = 0; j < ARRAY_SIZE(detectors); j++) {
		struct wsmon_attrs a = attrs_of(detectors[j]);
		struct wsmon_detector d = { };

		for (i = 0; i < 60; i++)
			feed(&d, &a, 1000, 1000, 1000);
		KUNIT_EXPECT_EQ(test, feed(&d, &a, top, top, top), 2);
		KUNIT_EXPECT_EQ(test, d.height, top);
		for (i = 0; i < 200; i++)
			feed(&d, &a, top, top, top);
		KUNIT_EXPECT_EQ(test, d.sign, 0);
		KUNIT_EXPECT_GT(test, wsmon_peak_size(&d, d.mean, 0), top - top / 100);
		for (i = 0; i < 2000; i++)
			feed(&d, &a, 0, 0, 0);
		KUNIT_EXPECT_LT(test, wsmon_peak_size(&d, d.mean, 0), top / 1000);
	}
}

/* A deviation that sampling may have caused is no peak; a larger one is. */
static void doubt(struct kunit *test)
{
	struct wsmon_attrs a = attrs_of(WSMON_PEAK_SIGMA);
	struct wsmon_detector d = { };
	u32 i;

	for (i = 0; i < 60; i++)
		feed(&d, &a, 1000, 900, 1100);
	KUNIT_EXPECT_EQ(test, feed(&d, &a, 2000, 1400, 2600), 0);
	for (i = 0; i < 60; i++)
		feed(&d, &a, 1000, 900, 1100);
	KUNIT_EXPECT_EQ(test, feed(&d, &a, 2000, 1600, 2400), 2);
	KUNIT_EXPECT_EQ(test, feed(&d, &a, 3000, 0, 5000), 0);
	KUNIT_EXPECT_EQ(test, feed(&d, &a, 1000, 900, 1100), 1);
	KUNIT_EXPECT_EQ(test, d.ended, 1);
	KUNIT_EXPECT_EQ(test, d.height, 3000);
}

/* Bursts among the first estimates: each is found, from the eighth estimate on */
static void start(struct kunit *test)
{
	static const u64 pages[] = { 50, 3000, 26000, 3100, 2900, 3000, 3000 };
	struct wsmon_attrs a = attrs_of(WSMON_PEAK_SIGMA);
	struct wsmon_detector d = { };
	u32 i, edges;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		KUNIT_EXPECT_EQ(test, feed(&d, &a, pages[i], pages[i], pages[i]), 0);
	for (; i < 60; i++) {
		u64 y = i % 12 == 7 || i % 12 == 8 ? 25000 : 2900 + i % 3 * 100;

		edges = feed(&d, &a, y, y - 300, y + 300);
		KUNIT_EXPECT_EQ(test, edges, i % 12 == 7 ? 2 : i % 12 == 9 ? 1 : 0);
	}
	KUNIT_EXPECT_LT(test, wsmon_peak_size(&d, d.mean, 0), 4500);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(steps, golden_gen_params),
	KUNIT_CASE(no_peak),
	KUNIT_CASE(sizes),
	KUNIT_CASE(large_f),
	KUNIT_CASE(everything),
	KUNIT_CASE(doubt),
	KUNIT_CASE(start),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_peaks",
	.test_cases = cases,
};

kunit_test_suite(suite);
