// SPDX-License-Identifier: GPL-2.0
/*
 * parse_test.c - what may be written to attrs and target, and what not
 */
#include "test.h"

static const struct wsmon_attrs start = {
	.sample_us = 100000, .aggr_us = 1000000, .update_us = 1000000,
	.window_us = 1000000, .min_regions = 10, .max_regions = 2000,
	.flags = WSMON_ATTR_FLUSH_TLB, .nr_windows = 1, .cpu_permille = 30,
	.peak_detector = WSMON_PEAK_SIGMA, .peak_window = 30, .peak_gain = 5000,
	.peak_adapt = 250,
};

static void attrs_for(const char *text, size_t len, int want,
		      const struct wsmon_attrs *then)
{
	struct wsmon_attrs a = start;
	char *exact = malloc(len + !len);	/* reading beyond is an error */
	int got;

	memcpy(exact, text, len);
	got = wsmon_attrs_parse(&a, exact, len);
	CHECK(got == want, "\"%.60s\" gave %d, not %d", text, got, want);
	CHECK(!memcmp(&a, then, sizeof(a)), "\"%.60s\"", text);
	free(exact);
}

static void attrs_bad(const char *text, int want)
{
	attrs_for(text, strlen(text), want, &start);
}

static void bad_attrs(void)
{
	static const struct {
		const char *text;
		int err;
	} bad[] = {
		{ "", -EINVAL }, { " ", -EINVAL }, { "\n", -EINVAL },
		{ "abc", -EINVAL }, { "=", -EINVAL }, { "=1", -EINVAL },
		{ "sample_us", -EINVAL }, { "sample_us=", -EINVAL },
		{ "sample_us =1000", -EINVAL }, { "sample_us= 1000", -EINVAL },
		{ "sample_us=-1", -EINVAL }, { "sample_us=+1000", -EINVAL },
		{ "sample_us=0x1000", -EINVAL }, { "sample_us=1000 abc", -EINVAL },
		{ "sample_us=1000abc", -EINVAL }, { "sample_us=1.5", -EINVAL },
		{ "sample_us=0", -EINVAL }, { "sample_us=99", -ERANGE },
		{ "sample_us=86400000001", -ERANGE },
		{ "max_regions=4294967296", -ERANGE },
		{ "max_regions=4294967297", -ERANGE },
		{ "max_regions=18446744073709551616", -ERANGE },
		{ "seed=18446744073709551616", -ERANGE },
		{ "sample_us=18446744073709651616", -ERANGE },
		{ "max_regions=32769", -ERANGE },
		{ "cpu_permille=0", -EINVAL }, { "cpu_permille=1001", -ERANGE },
		{ "min_regions=0", -EINVAL }, { "max_regions=0", -EINVAL },
		{ "min_regions=11 max_regions=10", -EINVAL },
		{ "max_regions=9", -EINVAL }, { "min_regions=2001", -EINVAL },
		{ "aggr_us=99999", -EINVAL }, { "sample_us=1000001", -EINVAL },
		{ "window_us=99999", -EINVAL }, { "update_us=0", -EINVAL },
		{ "window_us=", -EINVAL }, { "window_us=,", -EINVAL },
		{ "window_us=1000000,", -EINVAL }, { "window_us=,1000000", -EINVAL },
		{ "window_us=1000000,,2000000", -EINVAL },
		{ "window_us=1000000,1000000", -EINVAL },
		{ "window_us=1000000,99999", -EINVAL },
		{ "window_us=1000000,86400000001", -ERANGE },
		{ "window_us=1000000,2x", -EINVAL },
		{ "window_us=100001,100002,100003,100004,100005,100006,100007,"
		  "100008,100009", -ERANGE },
		{ "flush_tlb=2", -ERANGE }, { "flush_tlb=yes", -EINVAL },
		{ "seed=1 seed=1", -EINVAL }, { "seed=1 seed=2", -EINVAL },
		{ "seed=1 unknown=1", -EINVAL }, { "see=1", -EINVAL },
		{ "seedx=1", -EINVAL }, { "1 2 3 4", -EINVAL },
		{ "seed=1,aggr_us=1", -EINVAL },
		{ "peak_window=0", -EINVAL }, { "peak_window=1", -ERANGE },
		{ "peak_window=10001", -ERANGE }, { "peak_window=3.5", -EINVAL },
		{ "peak_gain=0", -EINVAL }, { "peak_gain=0.000", -EINVAL },
		{ "peak_gain=100.001", -ERANGE }, { "peak_gain=101", -ERANGE },
		{ "peak_gain=4294967297", -ERANGE },
		{ "peak_gain=18446744073709551617", -ERANGE },
		{ "peak_gain=1000.x", -EINVAL }, { "peak_gain=-1", -EINVAL },
		{ "peak_gain=5.", -EINVAL }, { "peak_gain=.5", -EINVAL },
		{ "peak_gain=.", -EINVAL }, { "peak_gain=", -EINVAL },
		{ "peak_gain=1.2345", -EINVAL }, { "peak_gain=1.2.3", -EINVAL },
		{ "peak_gain=1,5", -EINVAL }, { "peak_gain=1e1", -EINVAL },
		{ "peak_gain=1.-5", -EINVAL }, { "peak_gain=1. 5", -EINVAL },
		{ "peak_adapt=1.001", -ERANGE }, { "peak_adapt=2", -ERANGE },
		{ "peak_adapt=", -EINVAL }, { "peak_adapt=0x1", -EINVAL },
		{ "peak_detector=", -EINVAL }, { "peak_detector=1", -EINVAL },
		{ "peak_detector=sigm", -EINVAL },
		{ "peak_detector=sigmas", -EINVAL },
		{ "peak_detector=Sigma", -EINVAL },
	};
	char text[420] = "seed=";
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		attrs_bad(bad[i].text, bad[i].err);
	memset(text + 5, '9', 400);
	attrs_bad(text, -ERANGE);
	memset(text + 5, '0', 400);
	attrs_for(text, 405, 0, &start);
	attrs_for("seed=1\0", 7, -EINVAL, &start);
	attrs_for("seed=1\0seed=2", 13, -EINVAL, &start);
	attrs_for("\0", 1, -EINVAL, &start);
}

static void good_attrs(void)
{
	struct wsmon_attrs a = start;
	const char *text;

	attrs_for("sample_us=100000", 16, 0, &start);
	a.seed = U64_MAX;
	attrs_for("seed=18446744073709551615\n", 26, 0, &a);
	a = start;
	a.flags = 0;
	attrs_for(" flush_tlb=0 ", 13, 0, &a);
	a.min_regions = 3;
	a.max_regions = 7;
	attrs_for("flush_tlb=0\tmax_regions=7\n min_regions=3", 40, 0, &a);
	a = start;
	a.sample_us = 100;
	a.aggr_us = 100;
	a.update_us = 86400000000ULL;
	a.window_us = 100;
	/* ascending, whatever they are like in the text */
	a.nr_windows = 3;
	a.longer_us[0] = 200;
	a.longer_us[1] = 60000000;
	text = "sample_us=100 aggr_us=100 update_us=86400000000 window_us=200,60000000,100";
	attrs_for(text, strlen(text), 0, &a);
	a.nr_windows = 1;
	memset(a.longer_us, 0, sizeof(a.longer_us));
	attrs_for("aggr_us=100 window_us=100 update_us=86400000000 sample_us=100",
		  61, 0, &a);
}

static void decimals(void)
{
	static const struct {
		const char *text;
		u32 gain;
	} good[] = {
		{ "5", 5000 }, { "0.25", 250 }, { "0.001", 1 }, { "12.5", 12500 },
		{ "100", 100000 }, { "100.000", 100000 }, { "99.999", 99999 },
		{ "007.010", 7010 }, { "1.0", 1000 },
	};
	struct wsmon_attrs a = start;
	char text[40];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		a.peak_gain = good[i].gain;
		sprintf(text, "peak_gain=%s", good[i].text);
		attrs_for(text, strlen(text), 0, &a);
	}
	a = start;
	a.peak_adapt = 0;
	attrs_for("peak_adapt=0", 12, 0, &a);
	a.peak_adapt = 1000;
	a.peak_window = WSMON_PEAK_WINDOW_MIN;
	a.peak_detector = WSMON_PEAK_OFF;
	attrs_for("peak_adapt=1 peak_window=2 peak_detector=off", 44, 0, &a);
	a = start;
	a.peak_detector = WSMON_PEAK_FANO;
	a.peak_window = WSMON_PEAK_WINDOW_MAX;
	attrs_for("peak_detector=fano peak_window=10000", 36, 0, &a);
}

static void detectors(void)
{
	CHECK(!strcmp(wsmon_detector_name(WSMON_PEAK_OFF), "off") &&
	      !strcmp(wsmon_detector_name(WSMON_PEAK_SIGMA), "sigma") &&
	      !strcmp(wsmon_detector_name(WSMON_PEAK_FANO), "fano") &&
	      !strcmp(wsmon_detector_name(3), "?"), "names");
}

static void same_peaks(void)
{
	struct wsmon_attrs a = start;

	a.seed = 7;
	a.longer_us[0] = 2000000;
	CHECK(wsmon_attrs_same_peaks(&a, &start), "another seed, a longer window");
	a.window_us++;
	CHECK(!wsmon_attrs_same_peaks(&a, &start), "another window");
	a = start;
	a.peak_window++;
	CHECK(!wsmon_attrs_same_peaks(&a, &start), "peak_window");
	a = start;
	a.peak_gain++;
	CHECK(!wsmon_attrs_same_peaks(&a, &start), "peak_gain");
	a = start;
	a.peak_adapt++;
	CHECK(!wsmon_attrs_same_peaks(&a, &start), "peak_adapt");
	a = start;
	a.peak_detector = WSMON_PEAK_OFF;
	CHECK(!wsmon_attrs_same_peaks(&a, &start), "peak_detector");
}

static void same_windows(void)
{
	struct wsmon_attrs a = start;

	a.seed = 7;
	a.cpu_permille = 1;
	CHECK(wsmon_attrs_same_windows(&a, &start), "another seed");
	a.window_us++;
	CHECK(!wsmon_attrs_same_windows(&a, &start), "another window");
	a = start;
	a.longer_us[WSMON_WINDOWS_MAX - 2] = 1;
	CHECK(!wsmon_attrs_same_windows(&a, &start), "one more window");
}

static void pids_for(const char *text, size_t len, int want, const u32 *list)
{
	char *exact = malloc(len + !len);
	u32 pids[4] = { 0 };
	int got, i;

	memcpy(exact, text, len);
	got = wsmon_pids_parse(pids, 4, exact, len);
	CHECK(got == want, "\"%.60s\" gave %d, not %d", text, got, want);
	for (i = 0; i < got && i < want; i++)
		CHECK(pids[i] == list[i], "\"%.60s\"[%d] is %u", text, i, pids[i]);
	free(exact);
}

static void pids(void)
{
	static const u32 some[] = { 12, 35, 46, 1 };
	static const struct {
		const char *text;
		int want;
	} bad[] = {
		{ "123abc", -EINVAL }, { "a123", -EINVAL },
		{ "12 35 abc 46", -EINVAL }, { "-1", -EINVAL }, { "0", -EINVAL },
		{ "12 12", -EINVAL }, { "12,35", -EINVAL }, { "0x12", -EINVAL },
		{ "2147483648", -ERANGE }, { "4294967308", -ERANGE },
		{ "18446744073709551628", -ERANGE }, { "1 2 3 4 5", -ERANGE },
	};
	size_t i;

	pids_for("12", 2, 1, some);
	pids_for("12 35 46\n", 9, 3, some);
	pids_for("  12\t35\n46  1 ", 14, 4, some);
	pids_for("", 0, 0, NULL);
	pids_for(" \n\t", 3, 0, NULL);
	pids_for("012", 3, 1, some);
	pids_for("12\0", 3, -EINVAL, NULL);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		pids_for(bad[i].text, strlen(bad[i].text), bad[i].want, NULL);
}

static void classes(void)
{
	u32 c, d;

	for (c = 0; c < WSMON_NR_CLASSES; c++) {
		for (d = 0; d < c; d++)
			CHECK(strcmp(wsmon_class_name(c), wsmon_class_name(d)),
			      "%u and %u", c, d);
	}
	CHECK(!strcmp(wsmon_class_name(WSMON_NR_CLASSES), "?"), "unknown");
	CHECK(!strcmp(wsmon_class_name(U32_MAX), "?"), "unknown");
}

void test_parse(void)
{
	test_run("attrs: bad input is refused and changes nothing", bad_attrs);
	test_run("attrs: good input", good_attrs);
	test_run("attrs: decimals", decimals);
	test_run("attrs: comparison of windows", same_windows);
	test_run("attrs: comparison of peaks", same_peaks);
	test_run("detectors have names", detectors);
	test_run("pids: lists are taken whole or not at all", pids);
	test_run("classes have names", classes);
}
