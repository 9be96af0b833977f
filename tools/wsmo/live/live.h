/* SPDX-License-Identifier: GPL-2.0 */
/*
 * live.h - the current figures of a session, from its stream
 */
#ifndef WSMO_LIVE_H
#define WSMO_LIVE_H

#include "libwsmon/events.h"
#include "libwsmon/series.h"

/** struct live_class - sums over the regions of a target's class; "all" is the target */
struct live_class {
	__u32 pid;
	__u32 class;
	__u64 regions;		/* how many */
	__u64 hot;		/* bytes in regions with half or more of their pages accessed */
};

/**
 * struct live_interval - the figures of an aggregation interval
 * @rows:	working set sizes
 * @classes:	struct live_class
 * @group:	the members together, if its size is not 0
 */
struct live_interval {
	struct wsmon_wss_rows rows;
	struct sorted classes;
	struct wsmon_rec_group group;
};

/**
 * struct live - the figures of a session
 * @now:	the last interval, its rows sorted by target, window and class
 * @next:	the one whose records arrive now
 * @held:	do not update @now, and other figures of that moment
 * @rss:	resident sizes of the targets in @now
 * @names:	of the targets, struct wss_name
 * @events:	peaks since the stream is read
 * @time_ns:	end of @now, 0 before there is one
 * @cpu_ns:	CPU time of the kernel thread since the session started
 * @cpu:	its share of one CPU in @now, negative if not known
 * @lost:	records lost since the stream was read
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

/** live_init() - there are no figures */
void live_init(struct live *live);

/** live_take() - take a record of the stream */
void live_take(struct live *live, const struct wsmon_record *rec);

/** live_comm() - Return: a target's name; empty if it is not known */
const char *live_comm(const struct live *live, __u32 pid);

/** live_free() - free the figures */
void live_free(struct live *live);

#endif /* WSMO_LIVE_H */
