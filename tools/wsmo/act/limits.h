/* SPDX-License-Identifier: GPL-2.0 */
/*
 * limits.h - how much "wsmo act" may do, and when it must not
 */
#ifndef WSMO_ACT_LIMITS_H
#define WSMO_ACT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "goal.h"
#include "wsmon.h"

/**
 * struct act_limits - the limits and what is left of them
 * @bytes_per_s: max. bytes acted on in a second, ~0 is no limit
 * @cpu_per_s:	max. CPU time for acting, nanoseconds a second
 * @max_refaults: max. pages a second that come back
 * @max_pressure: max. memory pressure ("some" of PSI), 0 to 1
 * @psi:	file with the pressure, malloc()ed; NULL is the machine's
 * @available_below: reclaim only while less is available, 0 is always
 * @pressure_above: or while the pressure is greater; negative if not set
 * @goals:	bound the rate of reclaim, and end it
 * @has_psi:	PSI is available
 * @now_ns:	when the budgets were last filled
 * @bytes:	budget; below 0 after an action that took more
 * @cpu_ns:	budget
 * @tick_ns:	last limits_tick()
 * @stall_us:	PSI's total then
 * @pressure:	between the last two ticks; below 0 if not known
 * @refaults:	pages a second between the last two ticks
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
	char *psi;
	__u64 available_below;
	double pressure_above;
	struct act_goals goals;

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
 * limits_start() - fill the budgets, begin to watch pressure
 * Return: 0, or -1 after a message if PSI is needed and not available
 */
int limits_start(struct act_limits *l, __u64 now);

/** limits_left() - fill the budgets; Return: whether both have something left */
bool limits_left(struct act_limits *l, __u64 now);

/**
 * limits_charge() - take an action from the budgets
 * @reclaim:	from that of the goals, too
 */
void limits_charge(struct act_limits *l, __u64 bytes, __u64 cpu_ns, bool reclaim);

/**
 * limits_tick() - check pressure and refaults, about once a second
 * @pages: pages that came back since the last tick
 */
void limits_tick(struct act_limits *l, __u64 now, __u64 pages);

/** limits_reclaim() - is reclaim allowed now? */
bool limits_reclaim(const struct act_limits *l);

/** memory_total() - Return: bytes of this machine's memory, 0 if not known */
__u64 memory_total(void);

/**
 * kdamond_running() - does DAMON run, on whatever it does?
 * @name:	gets its thread's name
 */
bool kdamond_running(char *name, size_t size);

/** swap_free() - Return: bytes of swap space that are free */
__u64 swap_free(void);

#endif /* WSMO_ACT_LIMITS_H */
