/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sizing.h - a table of memory limits, their refaults, and the time that refaults cost
 *
 * At a refault, a thread waits until the kernel has made room by paging out another page, and has
 * read the page.
 * Refaults per second times this time is the slowdown: seconds waited per second of the recording.
 * The recorder measures the time of a refault before monitoring begins (REFAULT records), or the
 * user gives it.
 */
#ifndef WSMO_SIZING_H
#define WSMO_SIZING_H

#include <stdbool.h>

#include "libwsmon.h"

/* Number of kinds of refaults, WSMON_REFAULT_* */
#define REFAULT_KINDS	2

/* Bytes of the name of a device, or of a reason */
#define REFAULT_TEXT	128

/**
 * struct refault_cost - the time that a refault takes
 * @mean:	mean in seconds; 0: unknown
 * @half:	half-width of the 95 % confidence interval of @mean
 * @refaults:	number of refaults measured
 * @text:	the device measured, or the reason why there are no refaults; "" without a record
 */
struct refault_cost {
	double mean;
	double half;
	__u32 refaults;
	char text[REFAULT_TEXT];
};

/**
 * struct slowdown - the costs of refaults
 * @cost:	time of a refault, by kind
 * @unmapped:	share of file pages under a limit that are not mapped, because faults read them
 *		around accessed pages
 * @files:	fitted curves of the classes text and file. Their slopes give the part of FILE
 *		refaults among the refaults of a process; NULL: none
 */
struct slowdown {
	struct refault_cost cost[REFAULT_KINDS];
	double unmapped;
	struct wsmon_curves *files;
};

/**
 * struct slowdown_range - time waited per second of the recording, with its 95 % interval
 * @mean:	mean; NAN if a cost is unknown, or if only a bound of the refaults is known
 * @low:	lower end; NAN if a cost is unknown
 * @high:	upper end; NAN if a cost is unknown, infinity without an upper bound
 */
struct slowdown_range {
	double mean;
	double low;
	double high;
};

/** slowdown_record() - take a REFAULT record; ignore other records */
void slowdown_record(struct slowdown *s, const struct wsmon_record *rec);

/** slowdown_set() - set the time of all kinds of refaults, in place of the measured times */
void slowdown_set(struct slowdown *s, double seconds);

/** slowdown_known() - tell whether the time of any kind of refault is known */
bool slowdown_known(const struct slowdown *s);

/**
 * slowdown_limit() - estimate the refaults under a limit of @bytes
 * @s: costs, or NULL
 *
 * Unlike wsmon_limit(), considers file pages that faults read around accessed pages. They take a
 * part of the limit, which is lost if they are unused, but not if they are used as often as the
 * pages they displace. So half of this part counts as lost in the estimate, none at the lower end
 * of the confidence interval, and all at the upper end.
 */
struct wsmon_limit slowdown_limit(const struct slowdown *s, const struct wsmon_curve *of,
				  double bytes);

/** slowdown_at() - compute the slowdown of a target under a limit; unknown if @s is NULL */
struct slowdown_range slowdown_at(const struct slowdown *s, const struct wsmon_curve *of,
				  const struct wsmon_limit *at);

#define SIZING_LIMITS_MAX	64

/* By default, recommend a limit with at most this many refaults per second */
#define SIZING_REFAULTS		100

/**
 * struct sizing_choice - the user's choice of limits and bounds
 * @max_refaults: maximum refaults per second of the recommended limit; 0: no bound
 * @max_slowdown: maximum slowdown of the recommended limit; 0: no bound
 * @refault_cost_ns: time of a refault; 0: the measured time
 * @limits:	limits of the table, in bytes; none: steps between the working sets of the shortest
 *		and the longest window
 * @nr_limits:	number of limits
 */
struct sizing_choice {
	__u64 max_refaults;
	double max_slowdown;
	__u64 refault_cost_ns;
	__u64 limits[SIZING_LIMITS_MAX];
	size_t nr_limits;
};

/** sizing_defaults() - bound the refaults by SIZING_REFAULTS if the user chose no bound */
static inline void sizing_defaults(struct sizing_choice *choice)
{
	if (!choice->max_refaults && choice->max_slowdown <= 0)
		choice->max_refaults = SIZING_REFAULTS;
}

/**
 * struct sizing_row - a row of a table of limits
 * @at:		the limit and its refaults
 * @slowdown:	the slowdown under the limit
 * @knee:	this is the recommended limit
 */
struct sizing_row {
	struct wsmon_limit at;
	struct slowdown_range slowdown;
	bool knee;
};

/* Maximum number of rows of sizing_rows() */
#define SIZING_ROWS	(SIZING_LIMITS_MAX + 2)

/**
 * sizing_knee() - find the smallest limit within the bounds of the choice
 * @s: costs, or NULL
 *
 * Return: the limit in bytes; infinity if the longest window is too short to find it
 */
double sizing_knee(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of);

/**
 * sizing_rows() - make the table of limits of a curve
 * @s: costs, or NULL
 * @row: gets the rows, by ascending limit; room for SIZING_ROWS rows
 *
 * Return: number of rows
 */
size_t sizing_rows(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of, struct sizing_row *row);

#endif /* WSMO_SIZING_H */
