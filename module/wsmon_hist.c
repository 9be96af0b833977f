// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_hist.c - percentiles of times, in little memory
 *
 * Pure: no mm, no allocation, no locks.
 */
#include "wsmon_pure.h"

/**
 * wsmon_hist_add - one more
 * @h:		the histogram
 * @value:	what to count
 */
void wsmon_hist_add(struct wsmon_hist *h, u64 value)
{
	h->n[wsmon_log2_quarters(value)]++;
	h->total++;
	h->max = max(h->max, value);
}

/**
 * wsmon_hist_percentile - so many are not above it
 * @h:		the histogram
 * @percent:	how many, 1 to 100
 *
 * Return: a value at most a quarter too high; 0 if there are none.
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
	/* where the next bucket begins; the last octave has none */
	if (i >= WSMON_HIST_BUCKETS - 4)
		return h->max;
	above = (4ULL + (i + 1) % 4) << ((i + 1) / 4) >> 2;
	return min(h->max, above);
}
