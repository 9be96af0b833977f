/* SPDX-License-Identifier: GPL-2.0 */
/* collect.h - data that several views keep of a recording: sizes, names, the group */
#ifndef WSMO_REPORT_COLLECT_H
#define WSMO_REPORT_COLLECT_H

#include <stdio.h>

#include "libwsmon/events.h"
#include "libwsmon/filter.h"
#include "libwsmon/series.h"
#include "libwsmon/sizing.h"

/* Maximum number of processes kept of a recording */
#define TARGETS_MAX	65536

/* Maximum bytes of a group's name that is made from a target's name */
#define GROUP_NAME	(WSMON_COMM_LEN + 32)

#define GROUP_PATH	4096

/**
 * struct group - sums of TARGET, GROUP and STATS records; all zero is empty
 * @pid:	the first target
 * @comm:	name of the first target
 * @named:	there was a target
 * @path:	path of the cgroup; empty if there is none
 * @intervals:	aggregation intervals with several members
 * @min:	smallest number of members of such an interval
 * @max:	largest number of members of such an interval
 * @came:	number of processes that became members
 * @went:	number of members that ended
 * @missed:	number of members that ended, but whose last accesses are unknown
 * @unfollowed:	number of children that did not become members
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

/** group_take() - take a wanted TARGET, GROUP or STATS record; ignore other records */
void group_take(struct group *g, const struct filter *filter, const struct wsmon_record *rec);

/**
 * group_name() - name the group by its cgroup, or by its first target
 * @targets:	number of targets
 * @name:	gets the name, GROUP_NAME bytes
 * Return: @name
 */
const char *group_name(const struct group *g, size_t targets, char *name);

/** group_explain() - print the kinds of accesses that the total lacks, one a line */
void group_explain(const struct group *g, FILE *f);

/**
 * struct collected - sizes and names
 * @rows:	working set sizes that the filter wants
 * @rss:	resident sizes that the filter wants
 * @names:	struct wss_name of all targets
 * @group:	the group
 */
struct collected {
	struct wsmon_wss_rows rows;
	struct wsmon_wss_rows rss;
	struct sorted names;
	struct group group;
};

/** base_name() - get the last part of a path; a path that ends in a slash is returned whole */
const char *base_name(const char *path);

/** compare_strings() - compare two char *, for qsort() */
int compare_strings(const void *a, const void *b);

/** collect_init() - make an empty collection */
void collect_init(struct collected *c);

/** collect_name() - take the name in a TARGET record; ignore other records */
void collect_name(struct collected *c, const struct wsmon_record *rec);

/** collect_row() - get the size in a wanted WSS or TOTAL record. Return: false for other records */
bool collect_row(const struct filter *filter, const struct wsmon_record *rec,
		 struct wsmon_wss_row *row);

/** collect_record() - take a TARGET, GROUP, WSS, TOTAL or PROC record; ignore other records */
void collect_record(struct collected *c, const struct filter *filter,
		    const struct wsmon_record *rec);

/**
 * collect_curves() - add a record to curves, if the filter wants it
 *
 * A filter without classes makes curves of all memory only, not of each class.
 */
void collect_curves(struct wsmon_curves *cs, const struct filter *filter,
		    const struct wsmon_record *rec);

/**
 * collect_slowdown() - take the cost of refaults; add records to @s->files, which must be allocated
 */
void collect_slowdown(struct slowdown *s, const struct filter *filter,
		      const struct wsmon_record *rec);

/** collect_comm() - get the name of a target; "" if unknown */
const char *collect_comm(const struct collected *c, __u32 pid);

/** collect_group() - name the group, as group_name() does, with the number of targets in @c */
const char *collect_group(const struct collected *c, char *name);

/** collect_events_free() - free peaks and marks, and say if any were left out */
void collect_events_free(struct events *ev);

/** collect_free() - free the contents of a collection */
void collect_free(struct collected *c);

#endif /* WSMO_REPORT_COLLECT_H */
