/* SPDX-License-Identifier: GPL-2.0 */
/*
 * limits.h - how much "wsmo act" may do, and when it must not
 */
#ifndef WSMO_ACT_LIMITS_H
#define WSMO_ACT_LIMITS_H

#include <stdbool.h>

#include "wsmon.h"

/**
 * struct act_limits - the limits, and how near they are
 * @bytes_per_s: most bytes acted on in a second, ~0 is no limit
 * @cpu_per_s:	max. CPU time for acting, nanoseconds a second
 * @max_refaults: pages a second that may come back
 * @max_pressure: memory pressure ("some" of PSI) that is bearable, 0 to 1
 * @available_below: reclaim only while less is available, 0 is always
 * @pressure_above: or while the pressure is greater; negative if not asked for
 * @has_psi:	pressure can be known
 * @now_ns:	when the budgets were filled
 * @bytes:	budget; below 0 after an action that took more
 * @cpu_ns:	budget
 * @tick_ns:	last limits_tick()
 * @stall_us:	what PSI said then
 * @pressure:	since the one before
 * @refaults:	pages a second since the one before
 * @wanted:	the watermarks allow it
 * @pause_ns:	until when reclaim pauses, 0 if it does not
 * @backoff_ns:	how long it will pause the next time
 * @pauses:	how often it did
 */
struct act_limits {
	__u64 bytes_per_s;
	__u64 cpu_per_s;
	__u64 max_refaults;
	double max_pressure;
	__u64 available_below;
	double pressure_above;

	bool has_psi;
	__u64 now_ns;
	__s64 bytes;
	__s64 cpu_ns;
	__u64 tick_ns;
	__u64 stall_us;
	double pressure;
	double refaults;
	bool wanted;
	__u64 pause_ns;
	__u64 backoff_ns;
	__u64 pauses;
};

/**
 * limits_start() - begin
 * Return: 0, or -1 after a message: what was asked for is not to be had
 */
int limits_start(struct act_limits *l, __u64 now);

/** limits_left() - may more be done now? */
bool limits_left(struct act_limits *l, __u64 now);

/** limits_charge() - that was done */
void limits_charge(struct act_limits *l, __u64 bytes, __u64 cpu_ns);

/**
 * limits_tick() - look at pressure and refaults, about once a second
 * @pages: that came back since the last time
 */
void limits_tick(struct act_limits *l, __u64 now, __u64 pages);

/** limits_reclaim() - may memory be taken away now? */
bool limits_reclaim(const struct act_limits *l);

/** memory_total() - Return: bytes of this machine's memory, 0 if not known */
__u64 memory_total(void);

/** swap_free() - Return: bytes of swap space that are free */
__u64 swap_free(void);

#endif /* WSMO_ACT_LIMITS_H */
