/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sizing.h - which memory limits to look at
 */
#ifndef WSMO_SIZING_H
#define WSMO_SIZING_H

#include "libwsmon/libwsmon.h"

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
 * struct sizing_row - a row of a table of limits
 * @at:		the limit
 * @knee:	it is the recommended one
 */
struct sizing_row {
	struct wsmon_limit at;
	bool knee;
};

/* Maximum number of rows of sizing_rows() */
#define SIZING_ROWS	(SIZING_LIMITS_MAX + 2)

/**
 * sizing_rows() - what to print of a curve: the limits chosen, or some steps
 * @row: SIZING_ROWS of them
 *
 * Return: how many, in ascending order
 */
size_t sizing_rows(const struct sizing_choice *choice, const struct wsmon_curve *of,
		   struct sizing_row *row);

#endif /* WSMO_SIZING_H */
