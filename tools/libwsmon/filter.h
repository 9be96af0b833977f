/* SPDX-License-Identifier: GPL-2.0 */
/* filter.h - selects a part of a recording: time, processes, classes, windows */
#ifndef WSMON_FILTER_H
#define WSMON_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

/** struct pids - @nr process ids, each at least 1 */
struct pids {
	__u32 *pid;
	size_t nr;
};

/** pids_has() - tell whether the set contains @pid */
bool pids_has(const struct pids *pids, __u32 pid);

/**
 * struct filter - the wanted part of a recording
 * @zero_ns:	when the recording began, on the clock of the records
 * @from_ns:	earliest wanted time, nanoseconds since @zero_ns
 * @to_ns:	latest wanted time, nanoseconds since @zero_ns
 * @pids:	wanted targets; none means all
 * @classes:	wanted classes: bit n is class n; 0 means all
 * @windows:	wanted windows in microseconds; none means all
 * @nr_windows:	number of windows
 */
struct filter {
	__u64 zero_ns;
	__s64 from_ns;
	__s64 to_ns;
	struct pids pids;
	__u32 classes;
	__u64 windows[WSMON_WINDOWS_MAX];
	__u32 nr_windows;
};

/** filter_init() - want everything */
void filter_init(struct filter *f);

/** filter_free() - free the list of pids, but not @f */
void filter_free(struct filter *f);

/** filter_is_all() - tell whether everything is wanted */
bool filter_is_all(const struct filter *f);

/** filter_time() - convert a record's time to seconds since the recording began */
double filter_time(const struct filter *f, __u64 time_ns);

/**
 * filter_wants() - tell whether the time and the target of a record are wanted
 *
 * A mark belongs to all targets. If some pids are chosen, other records for which
 * wsmon_record_pid() finds no target are not wanted.
 */
bool filter_wants(const struct filter *f, const struct wsmon_record *rec);

/** filter_wants_pid() - tell whether a target is wanted */
bool filter_wants_pid(const struct filter *f, __u32 pid);

/** filter_wants_class() - tell whether a class is wanted */
bool filter_wants_class(const struct filter *f, __u32 class);

/** filter_wants_window() - tell whether a window, in microseconds, is wanted */
bool filter_wants_window(const struct filter *f, __u64 window_us);

#endif /* WSMON_FILTER_H */
