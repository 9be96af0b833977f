/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_limits.h - how much "wsmo act" may do, when it must not, and what came back
 *
 * Budgets bound bytes and CPU time. The governor pauses reclaim when memory comes back too
 * fast, or pressure is high. Goals bound the rate of reclaim; what may be reclaimed at all is
 * up to the rules, so a goal that cannot be reached takes nothing that the rules do not.
 */
#ifndef WSMO_ACT_LIMITS_H
#define WSMO_ACT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "act_target.h"
#include "core/files.h"
#include "libwsmon/sorted.h"
#include "wsmon.h"

/* The slowest rate: half a block a second */
#define GOAL_RATE_MIN	(1.0 * (1 << 20))

/*
 * What reclaim raises, as a share: available memory, of the machine's memory; time in which
 * tasks wait for memory, of all time
 */
#define ACT_GOALS(X)			\
	X(AVAILABLE, "available")	\
	X(PRESSURE, "pressure")

#define ACT_GOAL_ENUM(id, name)	GOAL_##id,
enum act_goal_kind { ACT_GOALS(ACT_GOAL_ENUM) ACT_NR_GOALS };

/**
 * struct act_goal - a goal and how far it is reached
 * @target:	share to reach; 0 is no such goal
 * @last:	the share between the last two looks
 * @sum:	of the shares at all @looks
 * @looks:	looks at which the share was known
 * @reached:	number of looks that found at least @target
 */
struct act_goal {
	double target;
	double last, sum;
	__u64 looks, reached;
};

/**
 * struct act_goals - the goals, and the reclaim that they allow
 * @goal:	by enum act_goal_kind
 * @rate:	bytes that may be reclaimed between two looks
 * @left:	rest of @rate; below 0 after an action that took more
 * @reached:	the last look found one of the goals reached: no reclaim
 */
struct act_goals {
	struct act_goal goal[ACT_NR_GOALS];
	double rate;
	double left;
	bool reached;
};

/** act_goal_name() - Return: "available" or "pressure" */
const char *act_goal_name(enum act_goal_kind kind);

/** goals_any() - is there a goal? */
bool goals_any(const struct act_goals *g);

/**
 * goals_look() - compare with the goals, about once a second; sets the rate of reclaim
 * @share:	reached by each goal; below 0 if unknown: then nothing is reclaimed
 * @max:	the greatest rate
 */
void goals_look(struct act_goals *g, const double *share, double max);

/** goals_allow() - may reclaim go on until the next look? Without goals it always may */
bool goals_allow(const struct act_goals *g);

/**
 * struct act_limits - the limits, and the budgets that are left
 * @bytes_per_s: max. bytes acted on in a second, ~0 is no limit
 * @cpu_per_s:	max. CPU time for acting, nanoseconds a second
 * @max_refaults: max. pages a second that come back
 * @max_pressure: max. memory pressure ("some" of PSI), 0 to 1
 * @psi:	file with the pressure, malloc()ed; NULL is the machine's
 * @available_below: reclaim while less memory is available; 0 if not set
 * @pressure_above: reclaim also while the pressure is greater; negative if not set. If neither
 *		is set, always
 * @goals:	bound the rate of reclaim, and end it
 * @has_psi:	PSI is available
 * @blind:	PSI was available at the start, and cannot be read now: no reclaim
 * @blind_said:	a message said so
 * @now_ns:	when the budgets were filled last
 * @bytes:	budget; below 0 after an action that took more
 * @cpu_ns:	budget
 * @tick_ns:	last limits_tick()
 * @stall_us:	PSI's total at the last tick
 * @pressure:	between the last two ticks; below 0 if unknown
 * @refaults:	pages a second between the last two ticks
 * @wanted:	the watermarks allow it
 * @pause_ns:	when the pause of reclaim ends, 0 if there is none
 * @backoff_ns:	length of the next pause
 * @pauses:	number of pauses so far
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
	bool blind, blind_said;
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

/** limits_left() - fill the budgets; Return: is something left in both? */
bool limits_left(struct act_limits *l, __u64 now);

/**
 * limits_charge() - take an action from the budgets
 * @reclaim:	also from the budget of the goals
 */
void limits_charge(struct act_limits *l, __u64 bytes, __u64 cpu_ns, bool reclaim);

/**
 * limits_tick() - check pressure and refaults, about once a second
 * @pages: pages that came back since the last tick
 */
void limits_tick(struct act_limits *l, __u64 now, __u64 pages);

/** limits_reclaim() - is reclaim allowed now? */
bool limits_reclaim(const struct act_limits *l);

/**
 * psi_read() - read for how long some thread waited for memory
 * @path:	a file such as /proc/pressure/memory
 * @avg10:	gets the share of the last ten seconds
 * @us:		gets the time so far
 * Return: 0, or -1 if it cannot be read
 */
int psi_read(const char *path, double *avg10, __u64 *us);

/**
 * kdamond_running() - does DAMON run, for any purpose?
 * @name:	gets its thread's name
 */
bool kdamond_running(char *name, size_t size);

/**
 * struct taken - blocks of a target that have pages in swap, or had some a while ago
 * @blocks:	struct taken_block
 * @cursor:	the next one to look at
 */
struct taken {
	struct sorted blocks;
	size_t cursor;
};

/**
 * taken_note() - remember a block after a rule was applied to it
 * @addr:	any address in it
 */
void taken_note(struct taken *t, struct act_process *p, __u64 addr, __u32 rule);

/**
 * taken_look() - count bytes of a block that came back since the last look
 * @refaulted:	bytes of each rule, added to
 */
void taken_look(struct taken *t, struct act_process *p, __u64 addr,
		__u64 *refaulted);

/**
 * taken_back() - find which pages of a block came back in the last minutes
 *
 * Evidence is about ranges. If the pages of a range are used unequally, these pages should not
 * have been paged out.
 *
 * @addr:	any address in it
 * Return: a bit each, or NULL if there are none
 */
const __u64 *taken_back(const struct taken *t, __u64 addr);

/**
 * taken_scan() - taken_look() at all blocks in turn, at most once each
 * @until_ns:	when to stop, after a few blocks (CLOCK_MONOTONIC)
 */
void taken_scan(struct taken *t, struct act_process *p, __u64 *refaulted,
		__u64 until_ns);

/** taken_clear() - forget all blocks */
void taken_clear(struct taken *t);

#endif /* WSMO_ACT_LIMITS_H */
