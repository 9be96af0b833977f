// SPDX-License-Identifier: GPL-2.0
/* parse.c - suite wsmon_parse: texts written to attrs and target */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../../../module/wsmon_control.h"

static const struct wsmon_attrs before = {
	.sample_us = 100000, .aggr_us = 1000000, .update_us = 1000000,
	.windows_us = { 1000000 }, .seed = 5, .min_regions = 10,
	.max_regions = 2000, .flags = WSMON_ATTR_FLUSH_TLB, .nr_windows = 1,
	.cpu_permille = 30, .peak_detector = WSMON_PEAK_SIGMA,
	.peak_window = 30, .peak_gain = 5000, .peak_adapt = 250,
};

/* A copy as debugfs passes it: no NUL follows, and a read beyond it is an error */
static char *exact(struct kunit *test, const char *text, size_t len)
{
	char *copy = kunit_kmalloc(test, len + !len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	return memcpy(copy + !len, text, len);
}

#define DAY	WSMON_INTERVAL_US_MAX
#define SEC	1000000

static const struct {
	const char *text;
	struct wsmon_attrs after;
} goods[] = {
	{ "cpu_permille=1000",
	  { 100000, SEC, SEC, 5, 10, 2000, 1, 1, { SEC }, 1000 } },
	{ "follow=1",
	  { 100000, SEC, SEC, 5, 10, 2000, 1, 1, { SEC }, 30,
	    WSMON_PEAK_SIGMA, 30, 5000, 250, 1 } },
	{ "who_rate=10000",
	  { 100000, SEC, SEC, 5, 10, 2000, 1, 1, { SEC }, 30,
	    WSMON_PEAK_SIGMA, 30, 5000, 250, 0, 10000 } },
	{ "precision=1000",
	  { 100000, SEC, SEC, 5, 10, 2000, 1, 1, { SEC }, 30,
	    WSMON_PEAK_SIGMA, 30, 5000, 250, 0, 0, 1000 } },
	{ "peak_window=2 peak_gain=0.001 peak_adapt=1.0 peak_detector=fano",
	  { 100000, SEC, SEC, 5, 10, 2000, 1, 1, { SEC }, 30,
	    WSMON_PEAK_FANO, 2, 1, 1000 } },
	{ "peak_window=10000 peak_gain=100 peak_adapt=0.75",
	  { 100000, SEC, SEC, 5, 10, 2000, 1, 1, { SEC }, 30,
	    WSMON_PEAK_SIGMA, 10000, 100000, 750 } },
	{ "seed=18446744073709551615",
	  { 100000, SEC, SEC, U64_MAX, 10, 2000, 1, 1, { SEC } } },
	{ "\n max_regions=32768\tmin_regions=32768 flush_tlb=0\n",
	  { 100000, SEC, SEC, 5, 32768, 32768, 0, 1, { SEC } } },
	{ "min_regions=1 max_regions=1 seed=0000000000000000000000007",
	  { 100000, SEC, SEC, 7, 1, 1, 1, 1, { SEC } } },
	{ "aggr_us=86400000000 update_us=86400000000 window_us=86400000000",
	  { 100000, DAY, DAY, 5, 10, 2000, 1, 1, { DAY } } },
	/* valid together, though none of them alone would fit the others' defaults */
	{ "sample_us=86400000000 aggr_us=86400000000 update_us=86400000000 window_us=86400000000",
	  { DAY, DAY, DAY, 5, 10, 2000, 1, 1, { DAY } } },
	{ "sample_us=100 aggr_us=100 update_us=100 window_us=100",
	  { 100, 100, 100, 5, 10, 2000, 1, 1, { 100 } } },
	{ " flush_tlb=0\tmax_regions=7\n min_regions=3 ",
	  { 100000, SEC, SEC, 5, 3, 7, 0, 1, { SEC } } },
	{ "sample_us=100 aggr_us=100 update_us=86400000000 window_us=200,60000000,100",
	  { 100, 100, DAY, 5, 10, 2000, 1, 3, { 100, 200, 60 * SEC } } },
	{ "aggr_us=100 window_us=100 update_us=86400000000 sample_us=100",
	  { 100, 100, DAY, 5, 10, 2000, 1, 1, { 100 } } },
	/* the maximum number of windows, kept in ascending order */
	{ "window_us=300000,86400000000,200000,100000,400000,600000,500000,700000",
	  { 100000, SEC, SEC, 5, 10, 2000, 1, 8,
	    { 100000, 200000, 300000, 400000, 500000, 600000, 700000, DAY } } },
};

static void attrs_for_len(struct kunit *test, const char *text, size_t len, int want,
			  const struct wsmon_attrs *after)
{
	struct wsmon_attrs a = before;
	int got = wsmon_attrs_parse(&a, exact(test, text, len), len);

	KUNIT_EXPECT_EQ_MSG(test, got, want, "\"%.60s\"", text);
	KUNIT_EXPECT_MEMEQ_MSG(test, &a, after, sizeof(a), "\"%.60s\"", text);
}

static void attrs_for(struct kunit *test, const char *text, int want,
		      const struct wsmon_attrs *after)
{
	attrs_for_len(test, text, strlen(text), want, after);
}

static void attrs_taken(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(goods); i++) {
		struct wsmon_attrs after = goods[i].after;

		after.cpu_permille = after.cpu_permille ?: before.cpu_permille;
		if (!after.peak_window) {
			after.peak_detector = before.peak_detector;
			after.peak_window = before.peak_window;
			after.peak_gain = before.peak_gain;
			after.peak_adapt = before.peak_adapt;
		}
		attrs_for(test, goods[i].text, 0, &after);
	}
}

static const struct {
	const char *text;
	int err;
} bads[] = {
	{ "", -EINVAL },
	{ "\n ", -EINVAL },
	{ "seed", -EINVAL },
	{ "seed=", -EINVAL },
	{ "=1", -EINVAL },
	{ "seed=1 aggr_us", -EINVAL },
	{ "seed=1 sed=1", -EINVAL },
	{ "seed=1 seed=1", -EINVAL },
	{ "seed=1,aggr_us=1000000", -EINVAL },
	{ "seed=-1", -EINVAL },
	{ "seed=0x1", -EINVAL },
	{ "seed=18446744073709551616", -ERANGE },
	{ "seed=99999999999999999999999999999999999999999", -ERANGE },
	{ "sample_us=0", -EINVAL },
	{ "sample_us=99", -ERANGE },
	/* 2^64 + 100000: must not wrap into range */
	{ "sample_us=18446744073709651616", -ERANGE },
	{ "aggr_us=86400000001", -ERANGE },
	{ "aggr_us=99999", -EINVAL },
	{ "window_us=99999", -EINVAL },
	{ "update_us=99999", -EINVAL },
	{ "window_us=1000000,", -EINVAL },
	{ "window_us=,1000000", -EINVAL },
	{ "window_us=300000,200000,300000", -EINVAL },
	{ "window_us=300000,99999", -EINVAL },
	{ "window_us=300000,86400000001", -ERANGE },
	{ "window_us=100001,100002,100003,100004,100005,100006,100007,100008,100009", -ERANGE },
	{ "min_regions=0", -EINVAL },
	{ "min_regions=2001", -EINVAL },
	{ "max_regions=9", -EINVAL },
	{ "max_regions=32769", -ERANGE },
	/* 2^32 + 2000 */
	{ "max_regions=4294969296", -ERANGE },
	{ "flush_tlb=2", -ERANGE },
	{ "peak_window=1", -ERANGE },
	{ "peak_window=10001", -ERANGE },
	{ "peak_gain=0", -EINVAL },
	{ "peak_gain=0.0001", -EINVAL },
	{ "peak_gain=5.", -EINVAL },
	{ "peak_gain=.5", -EINVAL },
	{ "peak_gain=100.001", -ERANGE },
	{ "peak_gain=18446744073709551617.5", -ERANGE },
	{ "peak_adapt=1.001", -ERANGE }, { "follow=2", -ERANGE },
	{ "who_rate=10001", -ERANGE }, { "precision=1001", -ERANGE },
	{ "peak_detector=2", -EINVAL },
	{ " ", -EINVAL }, { "\n", -EINVAL }, { "abc", -EINVAL },
	{ "=", -EINVAL }, { "sample_us", -EINVAL }, { "sample_us=", -EINVAL },
	{ "sample_us =1000", -EINVAL }, { "sample_us= 1000", -EINVAL },
	{ "sample_us=-1", -EINVAL }, { "sample_us=+1000", -EINVAL },
	{ "sample_us=0x1000", -EINVAL }, { "sample_us=1000 abc", -EINVAL },
	{ "sample_us=1000abc", -EINVAL }, { "sample_us=1.5", -EINVAL },
	{ "sample_us=86400000001", -ERANGE }, { "max_regions=4294967296", -ERANGE },
	{ "max_regions=4294967297", -ERANGE },
	{ "max_regions=18446744073709551616", -ERANGE }, { "cpu_permille=0", -EINVAL },
	{ "cpu_permille=1001", -ERANGE }, { "max_regions=0", -EINVAL },
	{ "min_regions=11 max_regions=10", -EINVAL }, { "sample_us=1000001", -EINVAL },
	{ "update_us=0", -EINVAL }, { "window_us=", -EINVAL }, { "window_us=,", -EINVAL },
	{ "window_us=1000000,,2000000", -EINVAL },
	{ "window_us=1000000,1000000", -EINVAL }, { "window_us=1000000,99999", -EINVAL },
	{ "window_us=1000000,86400000001", -ERANGE }, { "window_us=1000000,2x", -EINVAL },
	{ "flush_tlb=yes", -EINVAL }, { "seed=1 seed=2", -EINVAL },
	{ "seed=1 unknown=1", -EINVAL }, { "see=1", -EINVAL }, { "seedx=1", -EINVAL },
	{ "1 2 3 4", -EINVAL }, { "seed=1,aggr_us=1", -EINVAL },
	{ "peak_window=0", -EINVAL }, { "peak_window=3.5", -EINVAL },
	{ "peak_gain=0.000", -EINVAL }, { "peak_gain=101", -ERANGE },
	{ "peak_gain=4294967297", -ERANGE }, { "peak_gain=18446744073709551617", -ERANGE },
	{ "peak_gain=1000.x", -EINVAL }, { "peak_gain=-1", -EINVAL },
	{ "peak_gain=.", -EINVAL }, { "peak_gain=", -EINVAL },
	{ "peak_gain=1.2345", -EINVAL }, { "peak_gain=1.2.3", -EINVAL },
	{ "peak_gain=1,5", -EINVAL }, { "peak_gain=1e1", -EINVAL },
	{ "peak_gain=1.-5", -EINVAL }, { "peak_gain=1. 5", -EINVAL },
	{ "seed=1e3", -EINVAL }, { "seed=5\v", -EINVAL }, { "seed=\xd9\xa5", -EINVAL },
	{ "seed=5;", -EINVAL }, { "seed==5", -EINVAL }, { "seed=5=5", -EINVAL },
	{ "Seed=5", -EINVAL }, { "#", -EINVAL }, { "=5", -EINVAL },
	{ "peak_adapt=2", -ERANGE }, { "peak_adapt=", -EINVAL },
	{ "peak_adapt=0x1", -EINVAL }, { "peak_detector=", -EINVAL },
	{ "peak_detector=1", -EINVAL }, { "peak_detector=sigm", -EINVAL },
	{ "peak_detector=sigmas", -EINVAL }, { "peak_detector=Sigma", -EINVAL },
};

static void attrs_refused(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bads); i++)
		attrs_for(test, bads[i].text, bads[i].err, &before);
	attrs_for_len(test, "seed=1\0", 7, -EINVAL, &before);
	attrs_for_len(test, "seed=1\0seed=2", 13, -EINVAL, &before);
	attrs_for_len(test, "\0", 1, -EINVAL, &before);
}

/* Any number of digits */
static void long_numbers(struct kunit *test)
{
	char *text = kunit_kzalloc(test, 406, GFP_KERNEL);
	struct wsmon_attrs after = before;

	KUNIT_ASSERT_NOT_NULL(test, text);
	memcpy(text, "seed=", 5);
	memset(text + 5, '9', 400);
	attrs_for(test, text, -ERANGE, &before);
	memset(text + 5, '0', 400);
	after.seed = 0;
	attrs_for(test, text, 0, &after);
}

static void decimals(struct kunit *test)
{
	static const struct {
		const char *text;
		u32 gain;
	} rows[] = {
		{ "peak_gain=5", 5000 }, { "peak_gain=0.25", 250 }, { "peak_gain=0.001", 1 },
		{ "peak_gain=12.5", 12500 }, { "peak_gain=100", 100000 },
		{ "peak_gain=100.000", 100000 }, { "peak_gain=99.999", 99999 },
		{ "peak_gain=007.010", 7010 }, { "peak_gain=1.0", 1000 },
	};
	struct wsmon_attrs after = before;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		after.peak_gain = rows[i].gain;
		attrs_for(test, rows[i].text, 0, &after);
	}
	after = before;
	after.peak_adapt = 0;
	after.peak_detector = WSMON_PEAK_OFF;
	attrs_for(test, "peak_adapt=0 peak_detector=off", 0, &after);
}

static void same_peaks(struct kunit *test)
{
	struct wsmon_attrs a = before;

	a.seed = 7;
	a.windows_us[1] = 2000000;
	KUNIT_EXPECT_TRUE(test, wsmon_attrs_same_peaks(&a, &before));
	a.windows_us[0]++;
	KUNIT_EXPECT_FALSE(test, wsmon_attrs_same_peaks(&a, &before));
	a = before;
	a.peak_window++;
	KUNIT_EXPECT_FALSE(test, wsmon_attrs_same_peaks(&a, &before));
	a = before;
	a.peak_gain++;
	KUNIT_EXPECT_FALSE(test, wsmon_attrs_same_peaks(&a, &before));
	a = before;
	a.peak_adapt++;
	KUNIT_EXPECT_FALSE(test, wsmon_attrs_same_peaks(&a, &before));
	a = before;
	a.peak_detector = WSMON_PEAK_OFF;
	KUNIT_EXPECT_FALSE(test, wsmon_attrs_same_peaks(&a, &before));
}

static void same_windows(struct kunit *test)
{
	struct wsmon_attrs a = before;

	a.seed = 7;
	a.cpu_permille = 1;
	KUNIT_EXPECT_TRUE(test, wsmon_attrs_same_windows(&a, &before));
	a.windows_us[0]++;
	KUNIT_EXPECT_FALSE(test, wsmon_attrs_same_windows(&a, &before));
	a = before;
	a.windows_us[WSMON_WINDOWS_MAX - 1] = 1;
	KUNIT_EXPECT_FALSE(test, wsmon_attrs_same_windows(&a, &before));
}

#define MAX_PIDS	3

static const struct {
	const char *text;
	int want;
	u32 pids[MAX_PIDS];
} lists[] = {
	{ "", 0 },
	{ "\n", 0 },
	{ "1", 1, { 1 } },
	{ "12 35\t46\n", 3, { 12, 35, 46 } },
	{ "2147483647 007", 2, { S32_MAX, 7 } },
	{ "123abc", -EINVAL },
	{ "a123", -EINVAL },
	{ "12 abc 35", -EINVAL },
	{ "12,35", -EINVAL },
	{ "-1", -EINVAL },
	{ "0", -EINVAL },
	{ "12 012", -EINVAL },
	{ "2147483648", -ERANGE },
	/* 2^32 + 1, 2^64 + 1 */
	{ "4294967297", -ERANGE },
	{ "18446744073709551617", -ERANGE },
	{ "1 2 3 4", -ERANGE },
	{ "12 35 abc 46", -EINVAL },
	{ "12 12", -EINVAL },
	{ "0x12", -EINVAL },
	{ "4294967308", -ERANGE },
	{ "18446744073709551628", -ERANGE },
	{ "1 2 3 4 5", -ERANGE },
	{ " \n\t", 0 },
	{ "012", 1, { 12 } },
	{ "+1", -EINVAL },
	{ "1.5", -EINVAL },
	{ "12 #", -EINVAL },
	{ "12 \xff", -EINVAL },
};

static void target_lists(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *text = lists[i].text;
		/* in slab memory: KASAN sees a write beyond MAX_PIDS */
		u32 *pids = kunit_kzalloc(test, sizeof(lists[i].pids), GFP_KERNEL);
		int got;

		KUNIT_ASSERT_NOT_NULL(test, pids);
		got = wsmon_pids_parse(pids, MAX_PIDS, exact(test, text, strlen(text)),
				       strlen(text));
		KUNIT_EXPECT_EQ_MSG(test, got, lists[i].want, "\"%s\"", text);
		if (got > 0)
			KUNIT_EXPECT_MEMEQ_MSG(test, pids, lists[i].pids,
					       sizeof(lists[i].pids),
					       "\"%s\"", text);
	}
}

static void nul_in_list(struct kunit *test)
{
	u32 pids[MAX_PIDS];

	KUNIT_EXPECT_EQ(test, wsmon_pids_parse(pids, MAX_PIDS, exact(test, "12\0", 3), 3),
			-EINVAL);
}

static const struct {
	const char *text;
	int want;
	struct wsmon_request req;
	const char *attrs;
} requests[] = {
	{ "pid=12", 0, { .nr_pids = 1 }, "      " },
	{ " pid=12,35\n", 0, { .nr_pids = 2 }, "          \n" },
	{ "aggr_us=5 pid=7\nfollow=1", 0, { .nr_pids = 1, .has_attrs = true },
	  "aggr_us=5      \nfollow=1" },
	{ "a=b", 0, { .has_attrs = true }, "a=b" },
	{ "joint", 0, { .has_attrs = true }, "joint" },
	{ "join a=b", 0, { .join = true, .has_attrs = true }, "     a=b" },
	{ "stop\n", 0, { .stop = true }, "    \n" },
	{ "", -EINVAL },
	{ " \n", -EINVAL },
	{ "pid=", -EINVAL },
	{ "pid=,", -EINVAL },
	{ "pid=,1", -EINVAL },
	{ "pid=1,", -EINVAL },
	{ "pid=1,,2", -EINVAL },
	{ "pid=1,1", -EINVAL },
	{ "pid=1 pid=2", -EINVAL },
	{ "pid=1,2,3,4", -ERANGE },
	{ "pid=1 join", -EINVAL },
	{ "stop stop", -EINVAL },
	{ "stop pid=1", -EINVAL },
};

static void requests_to_the_device(struct kunit *test)
{
	struct wsmon_request req;
	u32 pids[MAX_PIDS], i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		size_t len = strlen(requests[i].text);
		char *text = kunit_kzalloc(test, len, GFP_KERNEL);
		int got;

		KUNIT_ASSERT_NOT_NULL(test, text);
		memcpy(text, requests[i].text, len);
		got = wsmon_request_parse(&req, pids, MAX_PIDS, text, len);
		KUNIT_EXPECT_EQ_MSG(test, got, requests[i].want, "\"%s\"", requests[i].text);
		if (got)
			continue;
		KUNIT_EXPECT_MEMEQ_MSG(test, text, requests[i].attrs, len, "\"%s\"",
				       requests[i].text);
		KUNIT_EXPECT_EQ(test, req.nr_pids, requests[i].req.nr_pids);
		KUNIT_EXPECT_EQ(test, req.join, requests[i].req.join);
		KUNIT_EXPECT_EQ(test, req.stop, requests[i].req.stop);
		KUNIT_EXPECT_EQ(test, req.has_attrs, requests[i].req.has_attrs);
		KUNIT_EXPECT_TRUE(test, !req.mark);
	}
}

static const struct {
	const char *path;
	int want;
	const char *decoded;
} cgroups[] = {
	{ "/", 0, "/" },
	{ "/a\\040b", 0, "/a b" },
	{ "/a\\011who_rate=5000\\012", 0, "/a\twho_rate=5000\n" },
	{ "\\377\\134\\141", 0, "\377\\a" },
	/* names of systemd, which must stay as they are */
	{ "/a\\x2d\\", 0, "/a\\x2d\\" },
	{ "/a\\04", 0, "/a\\04" },
	{ "/\\400\\080\\008", 0, "/\\400\\080\\008" },
	{ "/a\\000", -EINVAL },
};

/* The path may have blanks, and then is no attribute; the bytes taken become blank. */
static void request_of_a_cgroup(struct kunit *test)
{
	struct wsmon_request req;
	char text[64];
	u32 pids[MAX_PIDS], i;

	for (i = 0; i < ARRAY_SIZE(cgroups); i++) {
		size_t len = snprintf(text, sizeof(text), "cgroup=%s a=b", cgroups[i].path);
		int got = wsmon_request_parse(&req, pids, MAX_PIDS, text, len);
		size_t n;

		KUNIT_EXPECT_EQ_MSG(test, got, cgroups[i].want, "%s", cgroups[i].path);
		if (got)
			continue;
		n = req.cgroup_len;
		KUNIT_EXPECT_EQ_MSG(test, n, strlen(cgroups[i].decoded), "%s", cgroups[i].path);
		KUNIT_EXPECT_TRUE(test, !memcmp(req.cgroup, cgroups[i].decoded, n));
		KUNIT_EXPECT_TRUE(test, req.has_attrs);
		for (n += 7; text[n] == ' '; n++)
			;
		KUNIT_EXPECT_TRUE(test, !memcmp(text + n, "a=b", 3) && len - n == 3);
	}
}

/* Any text is a valid mark. */
static void request_to_mark(struct kunit *test)
{
	char text[] = "mark=stop pid=1\n";
	struct wsmon_request req;
	u32 pids[MAX_PIDS];

	KUNIT_EXPECT_EQ(test, wsmon_request_parse(&req, pids, MAX_PIDS, text, sizeof(text) - 1), 0);
	KUNIT_EXPECT_TRUE(test, req.mark == text + 5);
	KUNIT_EXPECT_EQ(test, req.mark_len, sizeof(text) - 1 - 5);
	KUNIT_EXPECT_FALSE(test, req.stop);
	KUNIT_EXPECT_EQ(test, req.nr_pids, 0);
}

static void names(struct kunit *test)
{
	u32 c, d;

	KUNIT_EXPECT_STREQ(test, wsmon_class_name(WSMON_CLASS_ALL), "all");
	KUNIT_EXPECT_STREQ(test, wsmon_class_name(WSMON_CLASS_MIXED), "mixed");
	KUNIT_EXPECT_STREQ(test, wsmon_class_name(WSMON_NR_CLASSES), "?");
	KUNIT_EXPECT_STREQ(test, wsmon_class_name(U32_MAX), "?");
	for (c = 0; c < WSMON_NR_CLASSES; c++) {
		for (d = 0; d < c; d++)
			KUNIT_EXPECT_TRUE(test, strcmp(wsmon_class_name(c), wsmon_class_name(d)));
	}
	KUNIT_EXPECT_STREQ(test, wsmon_detector_name(WSMON_PEAK_OFF), "off");
	KUNIT_EXPECT_STREQ(test, wsmon_detector_name(WSMON_PEAK_SIGMA), "sigma");
	KUNIT_EXPECT_STREQ(test, wsmon_detector_name(WSMON_PEAK_FANO), "fano");
	KUNIT_EXPECT_STREQ(test, wsmon_detector_name(3), "?");
}

static struct kunit_case cases[] = {
	KUNIT_CASE(attrs_taken),
	KUNIT_CASE(attrs_refused),
	KUNIT_CASE(long_numbers),
	KUNIT_CASE(decimals),
	KUNIT_CASE(same_peaks),
	KUNIT_CASE(same_windows),
	KUNIT_CASE(target_lists),
	KUNIT_CASE(nul_in_list),
	KUNIT_CASE(requests_to_the_device),
	KUNIT_CASE(request_to_mark),
	KUNIT_CASE(request_of_a_cgroup),
	KUNIT_CASE(names),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_parse",
	.test_cases = cases,
};

kunit_test_suite(suite);
