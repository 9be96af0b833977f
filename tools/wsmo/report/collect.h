/* SPDX-License-Identifier: GPL-2.0 */
/*
 * collect.h - what several views keep of a recording: sizes and names
 */
#ifndef WSMO_REPORT_COLLECT_H
#define WSMO_REPORT_COLLECT_H

#include "group.h"
#include "libwsmon/filter.h"
#include "libwsmon/series.h"
#include "libwsmon/sizing.h"

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

/** compare_pids() - order structures whose first member is a pid, a __u32 */
int compare_pids(const void *a, const void *b);

/** collect_init() - nothing yet */
void collect_init(struct collected *c);

/** collect_name() - take the name from a TARGET record, ignore others */
void collect_name(struct collected *c, const struct wsmon_record *rec);

/** collect_row() - get the size of a WSS or TOTAL record if it is one that the filter wants */
bool collect_row(const struct filter *filter, const struct wsmon_record *rec,
		 struct wsmon_wss_row *row);

/** collect_record() - take a TARGET, GROUP, WSS, TOTAL or PROC record, ignore others */
void collect_record(struct collected *c, const struct filter *filter,
		    const struct wsmon_record *rec);

/**
 * collect_curves() - have curves take a record that the filter wants
 *
 * If it wants all classes, there are only curves of the class of all memory.
 */
void collect_curves(struct wsmon_curves *cs, const struct filter *filter,
		    const struct wsmon_record *rec);

/** collect_slowdown() - take what refaults cost, and the curves of files, which are allocated */
void collect_slowdown(struct slowdown *s, const struct filter *filter, const struct wsmon_record *rec);

/** collect_comm() - the name of a target, "" if it is not known */
const char *collect_comm(const struct collected *c, __u32 pid);

/** collect_free() - frees what is in it */
void collect_free(struct collected *c);

#endif /* WSMO_REPORT_COLLECT_H */
