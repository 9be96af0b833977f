// SPDX-License-Identifier: GPL-2.0
/*
 * goal.c - reclaims as fast as its goals need, and stops when one is reached
 */
#include "goal.h"

#define NAME(id, name)	name,
static const char * const names[] = { ACT_GOALS(NAME) };

const char *act_goal_name(enum act_goal_kind kind)
{
	return names[kind];
}

double goal_rate(double rate, double score, bool used_up, double max)
{
	if (score >= 1 || used_up)
		rate *= 2 - score;
	if (rate < GOAL_RATE_MIN)
		rate = GOAL_RATE_MIN;
	return rate < max ? rate : max;
}

bool goals_any(const struct act_goals *g)
{
	int i;

	for (i = 0; i < ACT_NR_GOALS; i++)
		if (g->goal[i].target > 0)
			return true;
	return false;
}

/* Return: how far the goal is reached, 1 is just so; -1 if that is not known */
static double look(struct act_goal *goal, double share)
{
	if (share < 0)
		return -1;
	goal->last = share;
	goal->sum += share;
	goal->looks++;
	goal->reached += share >= goal->target;
	return share / goal->target;
}

void goals_look(struct act_goals *g, const double *share, double max)
{
	double best = 0, score;
	bool unknown = false;
	int i;

	for (i = 0; i < ACT_NR_GOALS; i++) {
		if (g->goal[i].target <= 0)
			continue;
		score = look(&g->goal[i], share[i]);
		unknown |= score < 0;
		if (score > best)
			best = score;
	}
	g->reached = unknown || best >= 1;
	if (!unknown)
		g->rate = goal_rate(g->rate, best, g->left <= 0, max);
	/* what an action took beyond its quota is missing from the next one */
	g->left = g->rate + (g->left < 0 ? g->left : 0);
}

bool goals_allow(const struct act_goals *g)
{
	return !goals_any(g) || (!g->reached && g->left > 0);
}
