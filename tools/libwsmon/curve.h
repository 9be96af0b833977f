/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve.h - internals of the curves of libwsmon.h
 *
 * A curve belongs to one process, or to all together, and to one class. All its points are means
 * over the same moments: the moments when the process had been observed for the longest window
 * that counts. The group's total is measured as a whole, so it needs no sum over processes.
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
 * @rows:	working set sizes whose window lies within the observation
 * @rss:	PROC records as rows: @bytes is RSS, @high is RSS plus swap
 * @targets:	struct curves_target, by pid
 * @group_ns:	time of the group's first total; 0 if there is no group
 * @seen:	number of working set sizes in the recording, those not in @rows included
 * @longest_us:	the longest window in the recording
 * @of:		the curves
 * @nr:		number of curves
 * @failed:	memory ran out: @of is incomplete or missing
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

/** curve_size() - get the working set of @window; above the longest window, of the longest */
double curve_size(const struct wsmon_curve *c, double window);

/** curve_ends() - get the ends of the 95 % confidence interval of curve_size() */
void curve_ends(const struct wsmon_curve *c, double window, double *low, double *high);

/** curve_rate() - get the slope at @window; above the longest window, at the longest */
double curve_rate(const struct wsmon_curve *c, double window);

#endif /* WSMO_CURVE_H */
