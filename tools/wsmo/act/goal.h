/* SPDX-License-Identifier: GPL-2.0 */
/*
 * goal.h - what "wsmo act" reclaims for, and how fast until that is reached
 *
 * Goals bound the rate of reclaim. What may be reclaimed at all is up to the rules, so a
 * goal that cannot be reached takes nothing that the rules do not.
 *
 * Uses no files and no clock.
 */
#ifndef WSMO_ACT_GOAL_H
#define WSMO_ACT_GOAL_H

#include <stdbool.h>

#include "wsmon.h"

/* The slowest rate: half a block a second */
#define GOAL_RATE_MIN	(1.0 * (1 << 20))

/*
 * What reclaim raises, as a share: of the machine's memory, what is available; of the
 * time, when tasks wait for memory
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
 * @reached:	those that found at least @target
 */
struct act_goal {
	double target;
	double last, sum;
	__u64 looks, reached;
};

/**
 * struct act_goals - the goals, and the reclaim that they allow
 * @goal:	by enum act_goal_kind
 * @rate:	bytes for each time between two looks
 * @left:	what is left of them; below 0 after an action that took more
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

/**
 * goal_rate() - adapt a rate of reclaim to what it led to
 *
 * The feedback of DAMON's quota goals: a quarter short of the target makes it a quarter
 * more, a quarter beyond it a quarter less. A rate that was not used up is not raised, as it
 * was not what kept the target from being reached.
 *
 * @rate:	bytes a second until now
 * @score:	reached share of the target, 0 or more
 * @used_up:	there was more to reclaim
 * @max:	bytes a second
 * Return: bytes a second from now on, from GOAL_RATE_MIN to @max, or @max if that is less
 */
double goal_rate(double rate, double score, bool used_up, double max);

/** goals_any() - is there a goal? */
bool goals_any(const struct act_goals *g);

/**
 * goals_look() - compare with the goals, about once a second; sets the rate of reclaim
 * @share:	of each goal; below 0 if it is not known: then nothing is reclaimed
 * @max:	the greatest rate
 */
void goals_look(struct act_goals *g, const double *share, double max);

/** goals_allow() - may reclaim go on until the next look? Always without goals */
bool goals_allow(const struct act_goals *g);

#endif /* WSMO_ACT_GOAL_H */
