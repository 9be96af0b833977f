/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_draw.h - positions of samples; wsmon_pure.h includes it
 */
#ifndef WSMON_DRAW_H
#define WSMON_DRAW_H

#include <linux/types.h>

#include "../include/wsmon.h"

struct wsmon_attrs;
struct wsmon_region;
struct wsmon_regions;
struct wsmon_space;

/**
 * struct wsmon_runs - how much evenly spread positions reduce the variance, by class
 * @alone:	sum of the squared deviations of halves: a slow moving average, and a quick one
 * @together:	likewise, of the squares of the runs' sums of deviations
 * @less:	the reduction, a part of the halves' variance (Q15)
 * @times:	how many intervals the averages are of, at most 16
 *
 * Sizes are in units of 2^-20 of all memory.
 */
struct wsmon_runs {
	u64 alone[WSMON_NR_CLASSES][2];
	u64 together[WSMON_NR_CLASSES][2];
	u16 less[WSMON_NR_CLASSES];
	u8 times[WSMON_NR_CLASSES];
};

u64 wsmon_hash64(u64 x);
u64 wsmon_draw_key(u64 seed, u64 epoch);
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 key);
void wsmon_regions_draw(struct wsmon_regions *rs, const struct wsmon_space *sp,
			const struct wsmon_attrs *a, u64 salt, u64 epoch);
bool wsmon_run_adds(const struct wsmon_region *r);
void wsmon_runs_learn(struct wsmon_regions *rs, const struct wsmon_space *sp);

#endif /* WSMON_DRAW_H */
