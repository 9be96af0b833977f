// SPDX-License-Identifier: GPL-2.0
/*
 * goal.c - runs the goals of "wsmo act", for act/test_goals.py
 *
 * The first line has a target for each goal, the others what each goal's share is, the
 * greatest rate, and what was reclaimed since the line before. Prints the rate from then on,
 * what of it is left, and whether reclaim may go on.
 */
#include <stdio.h>

#include "wsmo/act/goal.h"

int main(void)
{
	double share[ACT_NR_GOALS], max, taken;
	struct act_goals g = { 0 };

	if (scanf("%lf %lf", &g.goal[0].target, &g.goal[1].target) != 2)
		return 1;
	while (scanf("%lf %lf %lf %lf", &share[0], &share[1], &max, &taken) == 4) {
		g.left -= taken;
		goals_look(&g, share, max);
		printf("%.17g %.17g %d\n", g.rate, g.left, goals_allow(&g));
		fflush(stdout);
	}
	return 0;
}
