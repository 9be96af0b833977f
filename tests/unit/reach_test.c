// SPDX-License-Identifier: GPL-2.0
/*
 * reach_test.c - a page of a group counts once, however many members use it
 */
#include <math.h>

#include "test.h"

#define RUNS	200000

/*
 * Mean count of a page that @users of @mappers members accessed, and the mean number of
 * members looked at
 */
static double mean_count(u32 mappers, u32 users, double *looks)
{
	double sum = 0;
	u32 i, j;

	*looks = 0;
	for (i = 0; i < RUNS; i++) {
		struct wsmon_sample s;
		u32 lowest = U32_MAX;
		bool seen = false;

		wsmon_sample_reach(&s, mappers, test_random());
		for (j = 0; j < mappers; j++) {
			u32 rank = test_random() >> 32;

			if (rank > s.reach)
				continue;
			++*looks;
			if (j < users && rank <= lowest) {
				lowest = rank;
				seen = true;
			}
		}
		if (seen)
			sum += wsmon_sample_weight(&s, lowest) / (double)WSMON_ONE;
	}
	*looks /= RUNS;
	return sum / RUNS;
}

static void unbiased(void)
{
	static const u32 cases[][2] = {
		{ 1, 1 }, { 8, 1 }, { 8, 8 }, { 9, 1 }, { 20, 0 }, { 50, 1 }, { 50, 7 },
		{ 50, 50 }, { 300, 1 }, { 300, 10 }, { 300, 300 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 n = cases[i][0], users = cases[i][1];
		double looks, mean = mean_count(n, users, &looks), want = users ? 1 : 0;
		/* the second moment of the weight is at most half of the largest weight, plus 1 */
		double sd = sqrt((n / 8. + 1) / RUNS);

		CHECK(fabs(mean - want) <= 4 * sd, "%u of %u: %.4f", users, n, mean);
		CHECK(looks <= (n <= 8 ? n : 8 * (1 + log(n / 8.)) * 1.02 + 0.02), "%u: %.1f",
		      n, looks);
		/* a page used by all members hardly varies */
		if (users == n)
			CHECK(fabs(mean - 1) < 0.02, "%u: %.4f", n, mean);
	}
}

/* Weights stay in their range for any number of members. */
static void bounded(void)
{
	u64 n;

	for (n = 1; n <= 1 << 20; n *= 2) {
		struct wsmon_sample s;

		wsmon_sample_reach(&s, n, 0);
		CHECK(s.reach == U32_MAX, "%u", s.reach);
		CHECK(wsmon_sample_weight(&s, 0) == WSMON_ONE, "%u", wsmon_sample_weight(&s, 0));
		CHECK(wsmon_sample_weight(&s, U32_MAX) <= WSMON_WEIGHT_MAX * WSMON_ONE, "%llu: %u",
		      (long long)n, wsmon_sample_weight(&s, U32_MAX));
		wsmon_sample_reach(&s, n, U64_MAX);
		CHECK(s.reach >= s.chance, "%u %u", s.reach, s.chance);
	}
}

void test_reach(void)
{
	test_run("reach: a page counts once on average", unbiased);
	test_run("reach: weights are bounded", bounded);
}
