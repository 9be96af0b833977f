/* SPDX-License-Identifier: GPL-2.0 */
/*
 * live.h - the module's current figures, from its text files
 *
 * Reading them takes nothing from a recorder. They show all monitoring, whoever started
 * it.
 */
#ifndef WSMO_LIVE_H
#define WSMO_LIVE_H

#include "libwsmon/numbers/events.h"
#include "libwsmon/numbers/series.h"

/** struct live_class - sums over the regions of a target's class; "all" is the target */
struct live_class {
	__u32 pid;
	__u32 class;
	__u64 regions;		/* how many */
	__u64 hot;		/* bytes in those with half or more of their pages accessed */
};

/**
 * struct live - the module's current figures
 * @rows:	working set sizes, sorted by target, window and class
 * @rss:	resident sizes of the same targets
 * @names:	their names, struct wss_name
 * @events:	peaks of the session, also of targets that are gone
 * @classes:	struct live_class; none before live_read_regions()
 * @status:	"running", or "idle" and why
 * @running:	monitoring runs
 * @cpu_ns:	CPU time of the kernel thread since it started
 * @lost:	records lost since then
 */
struct live {
	struct wsmon_wss_rows rows;
	struct wsmon_wss_rows rss;
	struct sorted names;
	struct events events;
	struct sorted classes;
	char status[128];
	bool running;
	__u64 cpu_ns;
	__u64 lost;
};

/**
 * live_status() - read whether monitoring is running
 * @status: result, the module's line
 * Return: 0, or nonzero after a message
 */
int live_status(char *status, size_t size, bool *running);

/**
 * live_read() - read all but @classes; rows only while monitoring is running
 * Return: 0, or nonzero after a message; live_free() in either case
 */
int live_read(struct live *live);

/**
 * live_read_regions() - read @classes
 * Return: 0, or nonzero after a message
 */
int live_read_regions(struct live *live);

/** live_free() - free what was read */
void live_free(struct live *live);

#endif /* WSMO_LIVE_H */
