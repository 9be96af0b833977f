/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verify.h - what a limit does to a cgroup
 */
#ifndef WSMO_SIZING_VERIFY_H
#define WSMO_SIZING_VERIFY_H

#include <stdbool.h>

#include "wsmon.h"

/**
 * struct usage - a cgroup at a moment
 * @time_ns:	the moment (CLOCK_MONOTONIC)
 * @anon, @file: bytes of anonymous memory and of files
 * @current:	bytes charged, with the kernel's
 * @major_faults: so far: those that waited for a page
 * @anon_refaults, @file_refaults: pages that came back so far, also those around the one waited for
 * @stall_us:	time in which some thread waited for memory
 * @pressure:	the same, share of the last ten seconds; negative if it cannot be read
 */
struct usage {
	__u64 time_ns;
	__u64 anon;
	__u64 file;
	__u64 current;
	__u64 major_faults;
	__u64 anon_refaults;
	__u64 file_refaults;
	__u64 stall_us;
	double pressure;
};

/** usage_read() - Return: 0, or -1 after a message */
int usage_read(struct usage *u, const char *dir);

/** enum verify_end - why it ended */
enum verify_end {
	VERIFY_DONE,
	VERIFY_PRESSURE,	/* it was too high */
	VERIFY_SIGNAL,
	VERIFY_GONE,		/* the cgroup was removed, after a message */
};

/**
 * struct verify - a limit that is tried
 * @dir:	directory of the cgroup
 * @high:	memory.high to set
 * @duration_ns: for how long; the second half is measured
 * @max_pressure: stop above this
 * @from:	the cgroup when measuring began; its time is 0 if it did not come to that
 * @to:		and at the end
 * @end:	why it ended
 */
struct verify {
	const char *dir;
	__u64 high;
	__u64 duration_ns;
	double max_pressure;
	struct usage from;
	struct usage to;
	enum verify_end end;
};

/** verify_run() - set the limit, watch, restore; Return: 0, or -1 after a message */
int verify_run(struct verify *v);

#endif /* WSMO_SIZING_VERIFY_H */
