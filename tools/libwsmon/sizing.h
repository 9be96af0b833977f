/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sizing.h - which memory limits to look at, their refaults, and what these cost in time
 *
 * A thread waits for each refault: for the page, and until another one was paged out to make
 * room. Refaults a second times that time is the share of a CPU that a process waits. The
 * time was measured during the recording (REFAULT records), or the user gives it.
 */
#ifndef WSMO_SIZING_H
#define WSMO_SIZING_H

#include <stdbool.h>

#include "libwsmon.h"

/* Kinds of refaults, WSMON_REFAULT_* */
#define REFAULT_KINDS	2

/* Enough for the name of a device */
#define REFAULT_TEXT	128

/**
 * struct refault_cost - how long a refault takes; 0 is not known
 * @mean:	seconds
 * @half:	half of its 95 % interval
 * @refaults:	number of refaults that were measured
 * @text:	what they were of, or why there are none; empty if there is no record
 */
struct refault_cost {
	double mean;
	double half;
	__u32 refaults;
	char text[REFAULT_TEXT];
};

/**
 * struct slowdown - costs
 * @cost:	by kind
 * @unmapped:	share of the file pages under a limit that faults read around others, and that
 *		are not mapped
 * @files:	fitted curves of the classes text and file, which are refaulted from files: their
 *		part of the refaults of a whole process; NULL is none
 */
struct slowdown {
	struct refault_cost cost[REFAULT_KINDS];
	double unmapped;
	struct wsmon_curves *files;
};

/**
 * struct slowdown_range - time waited in a second of the recording, with its 95 % interval
 * @mean:	NAN if it is not known, as are the others
 * @low:	lower end
 * @high:	upper end
 */
struct slowdown_range {
	double mean;
	double low;
	double high;
};

/** slowdown_record() - take a REFAULT record; others are ignored */
void slowdown_record(struct slowdown *s, const struct wsmon_record *rec);

/** slowdown_set() - set the time that every refault takes, in place of what was measured */
void slowdown_set(struct slowdown *s, double seconds);

/** slowdown_known() - is any cost known? */
bool slowdown_known(const struct slowdown *s);

/**
 * slowdown_limit() - estimate the refaults with a limit of @bytes
 * @s: costs, or NULL
 *
 * Faults read pages of files around the page accessed, which take a part of the limit. They are
 * lost if nobody uses them, but not if they are used as often as the pages they displace: half of
 * them count as lost, the ends of the interval have none and all.
 */
struct wsmon_limit slowdown_limit(const struct slowdown *s, const struct wsmon_curve *of,
				  double bytes);

/** slowdown_at() - compute what a limit costs a target; with @s NULL nothing is known */
struct slowdown_range slowdown_at(const struct slowdown *s, const struct wsmon_curve *of,
				  const struct wsmon_limit *at);

#define SIZING_LIMITS_MAX	64

/* Maximum refaults a second of the limit that is recommended by default */
#define SIZING_REFAULTS		100

/**
 * struct sizing_choice - which limits to look at
 * @max_refaults: a second, of the limit to recommend; 0 is no bound
 * @max_slowdown: of that limit; 0 is no bound
 * @refault_cost_ns: time of a refault; 0 is the time measured
 * @limits:	the limits; none means steps from the shortest to the longest window
 * @nr_limits:	number of limits
 */
struct sizing_choice {
	__u64 max_refaults;
	double max_slowdown;
	__u64 refault_cost_ns;
	__u64 limits[SIZING_LIMITS_MAX];
	size_t nr_limits;
};

/** sizing_defaults() - bound the refaults, unless they or the slowdown are bounded */
static inline void sizing_defaults(struct sizing_choice *choice)
{
	if (!choice->max_refaults && choice->max_slowdown <= 0)
		choice->max_refaults = SIZING_REFAULTS;
}

/**
 * struct sizing_row - a row of a table of limits
 * @at:		the limit
 * @slowdown:	its cost
 * @knee:	it is the limit recommended
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
 * Return: bytes; infinity if the longest window is too short
 */
double sizing_knee(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of);

/**
 * sizing_rows() - make the table of limits of a curve
 * @s: costs, or NULL
 * @row: room for SIZING_ROWS of them
 *
 * Return: number of rows, which are in ascending order
 */
size_t sizing_rows(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of, struct sizing_row *row);

#endif /* WSMO_SIZING_H */
