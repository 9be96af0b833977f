// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_math.c - a hash, a square root, and histograms
 *
 * Pure: no mm, no allocation, no locks.
 */
#include "wsmon_math.h"

/** wsmon_hash64 - hash by the finalizer of splitmix64 (Steele, Lea, Flood: OOPSLA 2014) */
u64 wsmon_hash64(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/** wsmon_sqrt_up - compute a square root, rounded up */
u64 wsmon_sqrt_up(u64 x)
{
	u64 r = 0, bit = 1ULL << 62;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= r + bit) {
			x -= r + bit;
			r = (r >> 1) + bit;
		} else {
			r >>= 1;
		}
	}
	return x ? r + 1 : r;
}

/** wsmon_hist_add - add a value to a histogram */
void wsmon_hist_add(struct wsmon_hist *h, u64 value)
{
	h->n[wsmon_log2_quarters(value)]++;
	h->total++;
	h->max = max(h->max, value);
}

/**
 * wsmon_hist_percentile - return an upper bound of a percentile
 * @h:		the histogram
 * @percent:	1 to 100
 *
 * Return: the bound, at most a quarter too high; 0 if the histogram is empty.
 */
u64 wsmon_hist_percentile(const struct wsmon_hist *h, u32 percent)
{
	u64 want = div64_u64(h->total * percent + 99, 100), sum = 0, above;
	u32 i;

	for (i = 0; i < WSMON_HIST_BUCKETS; i++) {
		sum += h->n[i];
		if (sum >= want)
			break;
	}
	/* the bound is the start of the next bucket; in the last two octaves, use the maximum */
	if (i >= WSMON_HIST_BUCKETS - 9)
		return h->max;
	above = (4ULL + (i + 1) % 4) << ((i + 1) / 4) >> 2;
	return min(h->max, above);
}
