/* SPDX-License-Identifier: GPL-2.0 */
/*
 * slowdown.h - what refaults cost in time
 *
 * A thread waits for each refault: for the page, and until another one was paged out to make
 * room. Refaults a second times that time is the share of a CPU that a process waits. How
 * long it takes was measured when it was recorded (REFAULT records), or the user knows.
 */
#ifndef WSMO_SLOWDOWN_H
#define WSMO_SLOWDOWN_H

#include <stdbool.h>

#include "libwsmon/libwsmon.h"

/* Kinds of refaults, WSMON_REFAULT_* */
#define REFAULT_KINDS	2

/* Enough for the name of a device */
#define REFAULT_TEXT	128

/**
 * struct refault_cost - how long a refault takes; 0 is not known
 * @mean:	seconds
 * @half:	half of its 95 % interval
 * @refaults:	how many were measured
 * @text:	of what, or why none were; empty if there is no record
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
 * @unmapped:	share of the file pages under a limit that faults read around others, unmapped
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

/** slowdown_record() - take a REFAULT record, ignore others */
void slowdown_record(struct slowdown *s, const struct wsmon_record *rec);

/** slowdown_set() - all refaults take @seconds, whatever was measured */
void slowdown_set(struct slowdown *s, double seconds);

/** slowdown_known() - is there any cost? */
bool slowdown_known(const struct slowdown *s);

/**
 * slowdown_limit() - estimate the refaults with a limit of @bytes, of which what faults read around
 * the pages of files takes a part; @s NULL: none
 *
 * What is read around is lost if nobody uses it, and not if it is used as often as what it displaces:
 * half of it, give or take half.
 */
struct wsmon_limit slowdown_limit(const struct slowdown *s, const struct wsmon_curve *of, double bytes);

/** slowdown_at() - compute what a limit costs a target; @s NULL: not known */
struct slowdown_range slowdown_at(const struct slowdown *s, const struct wsmon_curve *of,
				  const struct wsmon_limit *at);

#endif /* WSMO_SLOWDOWN_H */
