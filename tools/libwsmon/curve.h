/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve.h - curves of a recording, beside what libwsmon.h has of them
 *
 * A curve is of one process, or of all together, and of one class. Its points are
 * means over the same moments: those at which the process had been observed for as
 * long as the longest window that counts. The group's total is measured as one, so it
 * needs no sum.
 */
#ifndef WSMO_CURVE_H
#define WSMO_CURVE_H

#include "libwsmon.h"
#include "sorted.h"

/* Minimum number of windows of a curve */
#define CURVES_WINDOWS	3

/**
 * struct wsmon_curves - data of a recording, and its curves
 * @start_ns:	when the recording began
 * @page_size:	bytes of a page
 * @rows:	working set sizes of windows observed in full
 * @rss:	PROC records: @bytes is RSS, @high with swap
 * @targets:	struct curves_target, by pid
 * @group_ns:	when the group's observation began; 0 if there is no group
 * @seen:	number of all working set sizes
 * @longest_us:	the longest window of all
 * @of:		the curves, @nr of them
 * @failed:	memory ran out: @of is incomplete, or missing
 */
struct wsmon_curves {
	__u64 start_ns;
	__u32 page_size;
	struct wsmon_wss_rows rows;
	struct wsmon_wss_rows rss;
	struct sorted targets;
	__u64 group_ns;
	__u64 seen;
	__u64 longest_us;
	struct wsmon_curve *of;
	size_t nr;
	bool failed;
};

/** curve_size() - get the working set of a window; beyond the longest that of the longest */
double curve_size(const struct wsmon_curve *c, double window);

/** curve_ends() - get the ends of its 95 % interval */
void curve_ends(const struct wsmon_curve *c, double window, double *low, double *high);

/** curve_rate() - get the slope at a window; beyond the longest that at the longest */
double curve_rate(const struct wsmon_curve *c, double window);

#endif /* WSMO_CURVE_H */
