/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve_data.h - the working-set curves of a recording
 *
 * A curve is of one process, or of all together, and of one class. Its points are
 * means over the same moments: those at which the process had been observed for as
 * long as the longest window that counts. The group's total is measured as one, so it
 * needs no sum.
 */
#ifndef WSMO_CURVE_DATA_H
#define WSMO_CURVE_DATA_H

#include "curve.h"
#include "libwsmon/sorted.h"

/* Minimum number of windows of a curve */
#define CURVES_WINDOWS	3

/**
 * struct wsmon_curves - data of a recording, and its curves
 * @start_ns:	when the recording began
 * @page_size:	bytes of a page
 * @rows:	working set sizes of windows observed in full
 * @rss:	PROC records: @bytes is RSS, @high with swap
 * @targets:	of struct curves_target
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

/**
 * struct curves_target - a target
 * @pid:	the target
 * @since_ns:	when its observation began
 * @comm:	its name
 */
struct curves_target {
	__u32 pid;
	__u64 since_ns;
	char comm[WSMON_COMM_LEN];
};

/** curves_target() - find a target; NULL if there is no TARGET record of it */
struct curves_target *curves_target(const struct wsmon_curves *cs, __u32 pid);

#endif /* WSMO_CURVE_DATA_H */
