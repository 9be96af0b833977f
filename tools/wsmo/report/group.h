/* SPDX-License-Identifier: GPL-2.0 */
/*
 * group.h - the group of a recording: its name, its members
 */
#ifndef WSMO_REPORT_GROUP_H
#define WSMO_REPORT_GROUP_H

#include <stdio.h>

#include "libwsmon/filter.h"

/* Max. bytes of a group's name, if it is that of targets */
#define GROUP_NAME	(WSMON_COMM_LEN + 32)

#define GROUP_PATH	4096

/**
 * struct group - what TARGET and GROUP records say; zeroed, nothing yet
 * @pid:	the first target
 * @comm:	its name
 * @named:	there was a target
 * @path:	of the cgroup; empty if there is none
 * @intervals:	aggregation intervals with several members
 * @min:	smallest number of members of such an interval
 * @max:	largest number
 * @came:	processes that became members
 * @went:	members that ended
 * @missed:	those of them whose last accesses are unknown
 * @unfollowed:	children that did not become members
 */
struct group {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	bool named;
	char path[GROUP_PATH];
	__u64 intervals;
	__u32 min, max;
	__u64 came, went, missed, unfollowed;
};

/** group_take() - take a TARGET, GROUP or STATS record, ignore others and what is not wanted */
void group_take(struct group *g, const struct filter *filter, const struct wsmon_record *rec);

/**
 * group_name() - name the group: by its cgroup, or by its first target
 * @targets:	number of targets
 * @name:	room for GROUP_NAME bytes
 * Return: the name
 */
const char *group_name(const struct group *g, size_t targets, char *name);

/** group_explain() - print which accesses are not in the total, a line each */
void group_explain(const struct group *g, FILE *f);

#endif /* WSMO_REPORT_GROUP_H */
