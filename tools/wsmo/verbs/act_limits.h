/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_limits.h - limits of "wsmo act": budgets, pauses, goals, and memory that came back
 *
 * Budgets bound bytes and CPU time. The governor pauses reclaim when memory comes back too fast or
 * pressure is high. Goals bound the rate of reclaim. Only rules select memory, so a goal that
 * cannot be reached reclaims no memory beyond the rules.
 */
#ifndef WSMO_ACT_LIMITS_H
#define WSMO_ACT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "act_target.h"
#include "core/files.h"
#include "libwsmon/sorted.h"
#include "wsmon.h"

/* Minimum rate in bytes per second: half a block */
#define GOAL_RATE_MIN	(1.0 * (1 << 20))

/*
 * Shares that reclaim raises: available memory as a share of the machine's memory; time in which
 * tasks wait for memory as a share of all time
 */
#define ACT_GOALS(X)			\
	X(AVAILABLE, "available")	\
	X(PRESSURE, "pressure")

#define ACT_GOAL_ENUM(id, name)	GOAL_##id,
enum act_goal_kind { ACT_GOALS(ACT_GOAL_ENUM) ACT_NR_GOALS };

/**
 * struct act_goal - a goal, and how far it was reached
 * @target:	share to reach; 0: no such goal
 * @last:	share between the last two looks
 * @sum:	sum of the shares at all @looks
 * @looks:	number of looks at which the share was known
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
 * @left:	rest of @rate; negative after an action that took more
 * @reached:	a goal was reached at the last look: no reclaim
 */
struct act_goals {
	struct act_goal goal[ACT_NR_GOALS];
	double rate;
	double left;
	bool reached;
};

/** act_goal_name() - name a goal: "available" or "pressure" */
const char *act_goal_name(enum act_goal_kind kind);

/** goals_any() - tell whether there is a goal */
bool goals_any(const struct act_goals *g);

/**
 * goals_look() - compare shares with the goals and set the rate of reclaim; call it once a second
 * @share:	present share of each goal; negative: unknown, which stops reclaim
 * @max:	maximum rate
 */
void goals_look(struct act_goals *g, const double *share, double max);

/** goals_allow() - tell whether reclaim may go on until the next look; always true without goals */
bool goals_allow(const struct act_goals *g);

/**
 * struct act_limits - the limits, and the budgets that are left
 * @bytes_per_s: maximum bytes acted on per second; ~0: no limit
 * @cpu_per_s:	maximum CPU time for acting, nanoseconds per second
 * @max_refaults: maximum pages per second that come back
 * @max_pressure: maximum memory pressure ("some" of PSI), 0 to 1
 * @psi:	file with the pressure, malloc()ed; NULL: the machine's pressure
 * @available_below: reclaim while less memory is available; 0: not set
 * @pressure_above: also reclaim while the pressure is greater; negative: not set. If neither is
 *		set, always reclaim
 * @goals:	goals, which bound the rate of reclaim and stop it
 * @has_psi:	PSI is available
 * @blind:	PSI was available at the start, but cannot be read now: no reclaim
 * @blind_said:	a message about @blind was printed
 * @now_ns:	when the budgets were last filled
 * @bytes:	budget of bytes; negative after an action that took more
 * @cpu_ns:	budget of CPU time; negative after an action that took more
 * @tick_ns:	time of the last limits_tick()
 * @stall_us:	PSI's total at the last tick
 * @pressure:	pressure between the last two ticks; negative: unknown
 * @refaults:	pages per second that came back between the last two ticks
 * @wanted:	@available_below or @pressure_above allows reclaim
 * @pause_ns:	when the pause of reclaim ends; 0: no pause
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

/** limits_left() - fill the budgets. Return: true if both are positive */
bool limits_left(struct act_limits *l, __u64 now);

/**
 * limits_charge() - subtract the cost of an action from the budgets
 * @reclaim:	subtract @bytes from the budget of the goals, too
 */
void limits_charge(struct act_limits *l, __u64 bytes, __u64 cpu_ns, bool reclaim);

/**
 * limits_tick() - check pressure and refaults; call it about once a second
 * @pages: number of pages that came back since the last tick
 */
void limits_tick(struct act_limits *l, __u64 now, __u64 pages);

/** limits_reclaim() - tell whether reclaim is allowed now */
bool limits_reclaim(const struct act_limits *l);

/**
 * psi_read() - read how long some thread waited for memory
 * @path:	a file such as /proc/pressure/memory
 * @avg10:	gets the share of the last ten seconds, 0 to 1
 * @us:		gets the total time in microseconds
 * Return: 0, or -1 if it cannot be read
 */
int psi_read(const char *path, double *avg10, __u64 *us);

/**
 * kdamond_running() - tell whether DAMON runs, for any purpose
 * @name:	gets the name of DAMON's thread
 */
bool kdamond_running(char *name, size_t size);

/**
 * struct taken - blocks of a target that have pages in swap, or had some a while ago
 * @blocks:	struct taken_block
 * @cursor:	index of the next block to look at
 */
struct taken {
	struct sorted blocks;
	size_t cursor;
};

/**
 * taken_note() - remember a block after a rule was applied
 * @addr:	any address in it
 */
void taken_note(struct taken *t, struct act_process *p, __u64 addr, __u32 rule);

/**
 * taken_look() - count the bytes of a block that came back since the last look
 * @refaulted:	adds the bytes to the entry of the block's rule
 */
void taken_look(struct taken *t, struct act_process *p, __u64 addr,
		__u64 *refaulted);

/**
 * taken_back() - find the pages of a block that came back in the last minutes
 *
 * Evidence is about whole ranges. If pages of a range are used unequally, pages that came back
 * should not have been paged out.
 *
 * @addr:	any address in it
 * Return: a bit for each page; NULL if there are none
 */
const __u64 *taken_back(const struct taken *t, __u64 addr);

/**
 * taken_scan() - call taken_look() for all blocks in turn, at most once each
 * @until_ns:	when to stop (CLOCK_MONOTONIC), but not before a few blocks
 */
void taken_scan(struct taken *t, struct act_process *p, __u64 *refaulted,
		__u64 until_ns);

/** taken_clear() - forget all blocks */
void taken_clear(struct taken *t);

#endif /* WSMO_ACT_LIMITS_H */
