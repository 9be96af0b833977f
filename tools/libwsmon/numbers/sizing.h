/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sizing.h - memory limits and the refaults they would cause
 */
#ifndef WSMO_SIZING_H
#define WSMO_SIZING_H

#include "curve_data.h"

#define SIZING_LIMITS_MAX	64

/* Refaults a second up to which a limit is recommended, unless the user says */
#define SIZING_REFAULTS		100

/**
 * struct sizing_choice - which limits to look at
 * @max_refaults: a second, of the limit to recommend
 * @limits:	the limits, @nr_limits of them; none means a choice of ours
 * @nr_limits:	how many
 */
struct sizing_choice {
	__u64 max_refaults;
	__u64 limits[SIZING_LIMITS_MAX];
	size_t nr_limits;
};

/**
 * struct sizing_row - a limit
 * @limit:	bytes
 * @bound:	what is known of the rates
 * @window:	memory used within this many seconds stays; infinity if not known
 * @refaults:	pages a second
 * @low:	lower end of their 95 % interval
 * @high:	upper end; infinity if there is none
 * @missed:	upper bound of the share of accesses that would be refaults; accesses
 *		to a page within the shortest window count once
 * @knee:	the recommended limit
 */
struct sizing_row {
	double limit;
	enum curve_bound bound;
	double window;
	double refaults;
	double low;
	double high;
	double missed;
	bool knee;
};

/**
 * sizing_knee() - find the smallest limit with at most @max_refaults a second
 * @max_refaults: compared with the upper end of the interval
 *
 * Return: bytes; infinity if the longest window is too short
 */
double sizing_knee(const struct curve_of *of, double max_refaults,
		   __u32 page_size);

/** sizing_row() - estimate the refaults with a limit */
struct sizing_row sizing_row(const struct curve_of *of, double limit,
			     __u32 page_size);

/* Most rows of sizing_rows() */
#define SIZING_ROWS	(SIZING_LIMITS_MAX + 2)

/**
 * sizing_rows() - what to print of a curve: the limits chosen, or some steps
 * @row: SIZING_ROWS of them
 *
 * Return: how many, in ascending order
 */
size_t sizing_rows(const struct sizing_choice *choice,
		   const struct curve_of *of, __u32 page_size,
		   struct sizing_row *row);

#endif /* WSMO_SIZING_H */
