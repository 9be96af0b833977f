/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sizing.h - which memory limits to look at
 */
#ifndef WSMO_SIZING_H
#define WSMO_SIZING_H

#include "slowdown.h"

#define SIZING_LIMITS_MAX	64

/* Refaults a second up to which a limit is recommended, unless the user says */
#define SIZING_REFAULTS		100

/**
 * struct sizing_choice - which limits to look at
 * @max_refaults: a second, of the limit to recommend; 0 is any number
 * @max_slowdown: of that limit, 0 is any
 * @refault_cost_ns: what a refault takes, 0 is as measured
 * @limits:	the limits, @nr_limits of them; none means a choice of ours
 * @nr_limits:	how many
 */
struct sizing_choice {
	__u64 max_refaults;
	double max_slowdown;
	__u64 refault_cost_ns;
	__u64 limits[SIZING_LIMITS_MAX];
	size_t nr_limits;
};

/** sizing_defaults() - the bound of refaults, unless there is one of them or of the slowdown */
static inline void sizing_defaults(struct sizing_choice *choice)
{
	if (!choice->max_refaults && choice->max_slowdown <= 0)
		choice->max_refaults = SIZING_REFAULTS;
}

/**
 * struct sizing_row - a row of a table of limits
 * @at:		the limit
 * @slowdown:	what it costs
 * @knee:	it is the recommended one
 */
struct sizing_row {
	struct wsmon_limit at;
	struct slowdown_range slowdown;
	bool knee;
};

/* Maximum number of rows of sizing_rows() */
#define SIZING_ROWS	(SIZING_LIMITS_MAX + 2)

/**
 * sizing_knee() - find the smallest limit that the choice allows
 * @s: costs, or NULL
 *
 * Return: bytes; infinity if the longest window is too short
 */
double sizing_knee(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of);

/**
 * sizing_rows() - what to print of a curve: the limits chosen, or some steps
 * @s: costs, or NULL
 * @row: SIZING_ROWS of them
 *
 * Return: how many, in ascending order
 */
size_t sizing_rows(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of, struct sizing_row *row);

#endif /* WSMO_SIZING_H */
