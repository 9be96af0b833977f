/* SPDX-License-Identifier: GPL-2.0 */
/* live.h - the current figures of a session, from its stream */
#ifndef WSMO_LIVE_H
#define WSMO_LIVE_H

#include "libwsmon/events.h"
#include "libwsmon/series.h"

/** struct live_class - sums over a target's regions of a class; class "all" is the whole target */
struct live_class {
	__u32 pid;
	__u32 class;
	__u64 regions;		/* number of regions */
	__u64 hot;		/* bytes in regions with at least half of the pages accessed */
};

/**
 * struct live_interval - the figures of an aggregation interval
 * @rows:	working set sizes
 * @classes:	struct live_class
 * @group:	GROUP record; none if its size is 0
 */
struct live_interval {
	struct wsmon_wss_rows rows;
	struct sorted classes;
	struct wsmon_rec_group group;
};

/**
 * struct live - the figures of a session
 * @now:	the last interval, its rows sorted by target, window and class
 * @next:	the interval whose records arrive now
 * @held:	do not update @now and the other figures of the same interval
 * @rss:	resident sizes of the targets in @now
 * @names:	names of the targets, struct wss_name
 * @events:	peaks since reading the stream began
 * @time_ns:	end of @now; 0: no interval yet
 * @cpu_ns:	CPU time of the kernel thread since the session started
 * @cpu:	share of one CPU used by this thread in @now; negative: unknown
 * @lost:	number of records lost since reading the stream began
 */
struct live {
	struct live_interval now;
	struct live_interval next;
	bool held;
	struct wsmon_wss_rows rss;
	struct sorted names;
	struct events events;
	__u64 time_ns;
	__u64 cpu_ns;
	double cpu;
	__u64 lost;
};

/** live_init() - make empty figures */
void live_init(struct live *live);

/** live_take() - take a record of the stream */
void live_take(struct live *live, const struct wsmon_record *rec);

/** live_comm() - get a target's name; "" if unknown */
const char *live_comm(const struct live *live, __u32 pid);

/** live_free() - free the figures */
void live_free(struct live *live);

#endif /* WSMO_LIVE_H */
