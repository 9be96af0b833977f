/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sizing.h - limits and what they mean, for a table, a picture and a page
 */
#ifndef WSMO_SIZING_H
#define WSMO_SIZING_H

#include "curves.h"

/**
 * struct sizing_row - a limit
 * @limit:	bytes
 * @bound:	what is known of the rates
 * @tau:	what was used within so many seconds stays; infinity if not known
 * @refaults:	pages a second
 * @low:	lower end of their 95 % interval
 * @high:	upper end; infinity if there is none
 * @missed:	share of the accesses that would be refaults, at most: of those to
 *		a page within the shortest window, one counts
 * @knee:	it is the one to recommend
 */
struct sizing_row {
	double limit;
	enum curve_bound bound;
	double tau;
	double refaults;
	double low;
	double high;
	double missed;
	bool knee;
};

/**
 * sizing_knee() - the smallest limit with at most so many refaults a second, the
 * upper end of the interval taken
 *
 * Return: bytes; infinity if the longest window is too short to tell
 */
double sizing_knee(const struct curve_of *of, double max_refaults,
		   __u32 page_size);

/** sizing_row() - what a limit means */
struct sizing_row sizing_row(const struct curve_of *of, double limit,
			     __u32 page_size);

/* Most rows of sizing_rows() */
#define SIZING_ROWS	(SIZING_LIMITS_MAX + 2)

/**
 * sizing_rows() - what to print of a curve: the user's limits or a choice of ours
 * @row: SIZING_ROWS of them
 *
 * Return: how many, in ascending order
 */
size_t sizing_rows(const struct report *rp, const struct curve_of *of,
		   struct sizing_row *row);

#endif /* WSMO_SIZING_H */
