/* SPDX-License-Identifier: GPL-2.0 */
/*
 * collect.h - what several views keep of a recording: sizes, names, the group
 */
#ifndef WSMO_REPORT_COLLECT_H
#define WSMO_REPORT_COLLECT_H

#include <stdio.h>

#include "libwsmon/filter.h"
#include "libwsmon/series.h"
#include "libwsmon/sizing.h"

/* Processes of a recording that are kept */
#define TARGETS_MAX	65536

/* Max. bytes of a group's name, if it is that of targets */
#define GROUP_NAME	(WSMON_COMM_LEN + 32)

#define GROUP_PATH	4096

/**
 * struct group - what TARGET, GROUP and STATS records say; zeroed is empty
 * @pid:	the first target
 * @comm:	its name
 * @named:	there was a target
 * @path:	of the cgroup; empty if there is none
 * @intervals:	aggregation intervals with several members
 * @min:	smallest number of members of such an interval
 * @max:	largest number
 * @came:	processes that became members
 * @went:	members that ended
 * @missed:	members that ended and whose last accesses are unknown
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

/** group_take() - take a TARGET, GROUP or STATS record that is wanted; ignore others */
void group_take(struct group *g, const struct filter *filter, const struct wsmon_record *rec);

/**
 * group_name() - name the group: by its cgroup, or by its first target
 * @targets:	number of targets
 * @name:	room for GROUP_NAME bytes
 * Return: the name
 */
const char *group_name(const struct group *g, size_t targets, char *name);

/** group_explain() - print which accesses the total lacks, a line each */
void group_explain(const struct group *g, FILE *f);

/**
 * struct collected - sizes and names
 * @rows:	working set sizes that the filter wants
 * @rss:	resident sizes that it wants
 * @names:	struct wss_name of all targets
 * @group:	the group
 */
struct collected {
	struct wsmon_wss_rows rows;
	struct wsmon_wss_rows rss;
	struct sorted names;
	struct group group;
};

/** base_name() - get the last part of a path; all of it if it ends in a slash */
const char *base_name(const char *path);

/** compare_strings() - order char * */
int compare_strings(const void *a, const void *b);

/** collect_init() - begin empty */
void collect_init(struct collected *c);

/** collect_name() - take the name from a TARGET record, ignore others */
void collect_name(struct collected *c, const struct wsmon_record *rec);

/** collect_row() - get the size of a WSS or TOTAL record. Return: whether it is such, and wanted */
bool collect_row(const struct filter *filter, const struct wsmon_record *rec,
		 struct wsmon_wss_row *row);

/** collect_record() - take a TARGET, GROUP, WSS, TOTAL or PROC record, ignore others */
void collect_record(struct collected *c, const struct filter *filter,
		    const struct wsmon_record *rec);

/**
 * collect_curves() - add a record to curves, if the filter wants it
 *
 * A filter without classes makes curves of all memory only, not of each class.
 */
void collect_curves(struct wsmon_curves *cs, const struct filter *filter,
		    const struct wsmon_record *rec);

/** collect_slowdown() - take the cost of refaults, and add to @s->files, which is allocated */
void collect_slowdown(struct slowdown *s, const struct filter *filter,
		      const struct wsmon_record *rec);

/** collect_comm() - get the name of a target, "" if it is not known */
const char *collect_comm(const struct collected *c, __u32 pid);

/** collect_group() - name the group as group_name() does, by @c's own names */
const char *collect_group(const struct collected *c, char *name);

/** collect_free() - free what is in it */
void collect_free(struct collected *c);

#endif /* WSMO_REPORT_COLLECT_H */
