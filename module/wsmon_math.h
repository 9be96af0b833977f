/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_math.h - a hash, a square root, logarithms, and histograms
 */
#ifndef WSMON_MATH_H
#define WSMON_MATH_H

#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

static inline u64 wsmon_distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

u64 wsmon_hash64(u64 x);
u64 wsmon_sqrt_up(u64 x);

/* 4 * log2(x), linear between powers of two, rounded down */
static inline unsigned int wsmon_log2_quarters(u64 x)
{
	unsigned int bit;

	if (!x)
		return 0;
	bit = fls64(x) - 1;
	return 4 * bit + (bit >= 2 ? x >> (bit - 2) & 3 : x << (2 - bit) & 3);
}

#define WSMON_HIST_BUCKETS	256

/**
 * struct wsmon_hist - a histogram with four buckets for each octave
 * @n:		number of values in each bucket, indexed by wsmon_log2_quarters()
 * @total:	number of values
 * @max:	largest value
 */
struct wsmon_hist {
	u64 n[WSMON_HIST_BUCKETS];
	u64 total;
	u64 max;
};

void wsmon_hist_add(struct wsmon_hist *h, u64 value);
u64 wsmon_hist_percentile(const struct wsmon_hist *h, u32 percent);

#endif /* WSMON_MATH_H */
