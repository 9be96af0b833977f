/* SPDX-License-Identifier: GPL-2.0 */
/*
 * inuse.h - what of a process's memory is in use, from a recording or a session that runs
 *
 * The mean over the recording of the memory that was accessed within an aggregation
 * interval, by address.
 */
#ifndef WSMO_MEM_INUSE_H
#define WSMO_MEM_INUSE_H

#include "libwsmon/hot.h"
#include "smaps.h"

/**
 * struct in_use - zeroed, nothing is known
 * @hot:	accesses by address
 * @targets:	struct in_use_target
 * @cgroup:	its path if a cgroup was recorded, else empty
 * @total:	by class: sum of the working sets of all members together
 * @totals:	how many were added
 * @window_us:	their window, the shortest
 * @intervals:	aggregation intervals that ended
 * @last_ns:	the last record
 */
struct in_use {
	struct hot hot;
	struct sorted targets;
	char cgroup[4096];
	double total[WSMON_NR_CLASSES];
	__u64 totals[WSMON_NR_CLASSES];
	__u64 window_us;
	__u64 intervals;
	__u64 last_ns;
};

/** struct in_use_target - a process of the recording */
struct in_use_target {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
};

/** in_use_read() - read a recording; Return: 0, or -1 after a message */
int in_use_read(struct in_use *u, const char *file);

/** in_use_live() - watch the session that began last; Return: 0, or -1 after a message */
int in_use_live(struct in_use *u);

/**
 * in_use_same() - is a process the one that was watched?
 *
 * Says so if it is another, of the same number.
 */
bool in_use_same(const struct in_use *u, const struct mem_process *p);

/** in_use_find() - find a process by its number; Return: NULL if nothing is known of it */
const struct hot_target *in_use_find(const struct in_use *u, __u32 pid);

/** in_use_range() - Return: bytes of a range that are in use */
double in_use_range(const struct hot_target *t, __u64 start, __u64 end);

/** in_use_free() - free everything */
void in_use_free(struct in_use *u);

#endif /* WSMO_MEM_INUSE_H */
