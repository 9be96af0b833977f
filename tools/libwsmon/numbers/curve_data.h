/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve_data.h - the working-set curves of a recording
 *
 * A curve is of one process, or of all together, and of one class. Its points are
 * means over the same moments: those at which the process had been observed for as
 * long as the longest window that counts.
 */
#ifndef WSMO_CURVE_DATA_H
#define WSMO_CURVE_DATA_H

#include <stdbool.h>

#include "curve.h"
#include "series.h"

/* Minimum number of windows of a curve */
#define CURVES_WINDOWS	3

/**
 * struct curve_range - percentiles over time of a window's working set
 * @p5:		5 % of the moments had at most this
 * @p50:	the median
 * @p95:	95 % of the moments had at most this
 */
struct curve_range {
	__u64 p5;
	__u64 p50;
	__u64 p95;
};

/**
 * struct curve_of - a curve, and whose it is
 * @pid:	the target; 0 is all together
 * @class:	enum wsmon_class
 * @comm:	its name
 * @curve:	the curve
 * @range:	for each of its points, if it is of one target
 * @rss:	mean resident size; negative if it is not known
 * @growth:	rate at which memory was used for the first time: growth of RSS and
 *		swap; negative if it is not known
 */
struct curve_of {
	__u32 pid;
	__u32 class;
	char comm[WSMON_COMM_LEN];
	struct curve curve;
	struct curve_range range[WSMON_WINDOWS_MAX];
	double rss;
	double growth;
};

/**
 * struct curves - data of a recording, and its curves
 * @rows:	working set sizes of windows observed in full
 * @rss:	PROC records: @bytes is RSS, @high with swap
 * @targets:	of struct curves_target
 * @seen:	number of all working set sizes
 * @longest_us:	the longest window of all
 * @of:		the curves, @nr of them
 * @failed:	memory ran out: @of is incomplete, or missing
 */
struct curves {
	struct wss_rows rows;
	struct wss_rows rss;
	struct sorted targets;
	__u64 seen;
	__u64 longest_us;
	struct curve_of *of;
	size_t nr;
	bool failed;
};

/** curves_begin() - prepare an empty set */
void curves_begin(struct curves *cs);

/** curves_record() - take a record, whatever @filter says: names are needed in any case */
void curves_record(struct curves *cs, const struct filter *filter,
		   const struct wsmon_record *rec);

/**
 * curves_make() - make the curves, after the last record
 * Return: 0, or -1 if there are too few windows for any, or no memory
 */
int curves_make(struct curves *cs);

/** curves_end() - free what is in it */
void curves_end(struct curves *cs);

#endif /* WSMO_CURVE_DATA_H */
