/* SPDX-License-Identifier: GPL-2.0 */
/*
 * budget.h - how much sampling was reduced to keep within the CPU budget
 */
#ifndef WSMO_BUDGET_H
#define WSMO_BUDGET_H

#include <stdbool.h>

#include "wsmon.h"

#define BUDGET_TEXT	320

/**
 * struct budget - zeroed, it has seen no record
 * @attrs:	the attributes
 * @stats:	the last STATS record, or the counters when monitoring began
 * @known:	@stats is valid
 * @targets:	targets that monitoring began with
 * @rounds:	sampling rounds that were due while no target slept
 * @left_out:	those of them that were left out for lack of CPU time
 * @time:	nanoseconds observed
 * @regions_time: the same, weighted by the share of max_regions that was allowed
 */
struct budget {
	struct wsmon_attrs attrs;
	struct wsmon_rec_stats stats;
	bool known;
	__u32 targets;
	double rounds;
	double left_out;
	double time;
	double regions_time;
};

/** budget_take() - take any record, also a recording's first ones */
void budget_take(struct budget *b, const struct wsmon_record *rec);

/**
 * budget_text() - say that sampling was reduced by a tenth or more, and what that means
 * @buf: BUDGET_TEXT bytes
 *
 * Return: @buf; NULL if it was not
 */
const char *budget_text(char *buf, const struct budget *b);

#endif /* WSMO_BUDGET_H */
