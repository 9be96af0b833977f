/* SPDX-License-Identifier: GPL-2.0 */
/*
 * budget.h - how much sampling was reduced, to keep within the CPU budget or for a precision; what
 * was taken above the budget
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
 * @cpu_ns:	CPU time it took
 * @bytes:	estimates for the shortest window since the last STATS record: of all targets, or
 *		of the group
 * @var:	squares of the half-widths of their intervals
 * @group:	they are of the group
 * @widths:	sum of the half-widths in @intervals, as shares of the estimates
 * @intervals:	those with an estimate
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
	double cpu_ns;
	double bytes;
	double var;
	bool group;
	double widths;
	__u64 intervals;
};

/** budget_take() - take any record, also a recording's first ones */
void budget_take(struct budget *b, const struct wsmon_record *rec);

/**
 * budget_text() - say that the CPU budget was exceeded by a quarter or more; or that sampling was
 *	reduced by a tenth or more, and what that means; or what the wanted precision took
 * @buf: BUDGET_TEXT bytes
 *
 * Return: @buf; NULL if there is nothing to say
 */
const char *budget_text(char *buf, const struct budget *b);

#endif /* WSMO_BUDGET_H */
