/* SPDX-License-Identifier: GPL-2.0 */
/*
 * filter.h - selects a part of a recording: time, processes, classes, windows
 */
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

/** pids_has() - is @pid one of them? */
bool pids_has(const struct pids *pids, __u32 pid);

/**
 * struct filter - the part of a recording that is wanted
 * @zero_ns:	when the recording began, on the records' clock
 * @from_ns:	no earlier records than this, nanoseconds since @zero_ns
 * @to_ns:	no later records than this
 * @pids:	targets; none means all
 * @classes:	bit n: class n; 0 means all
 * @windows:	windows in microseconds; none means all
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

/** filter_free() - free what the filter holds, not the filter */
void filter_free(struct filter *f);

/** filter_is_all() - is everything wanted? */
bool filter_is_all(const struct filter *f);

/** filter_time() - get the seconds since the recording began */
double filter_time(const struct filter *f, __u64 time_ns);

/** filter_wants() - are the time and the process of a record wanted? Marks are of all processes */
bool filter_wants(const struct filter *f, const struct wsmon_record *rec);

/** filter_wants_pid() - is a target wanted? */
bool filter_wants_pid(const struct filter *f, __u32 pid);

/** filter_wants_class() - is a class wanted? */
bool filter_wants_class(const struct filter *f, __u32 class);

/** filter_wants_window() - is a window, in microseconds, wanted? */
bool filter_wants_window(const struct filter *f, __u64 window_us);

#endif /* WSMON_FILTER_H */
