/* SPDX-License-Identifier: GPL-2.0 */
/*
 * budget.h - how much sampling was reduced, for the CPU budget or for a precision, and what it took
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
 * @rounds:	number of sampling rounds that were due
 * @left_out:	number of rounds that were left out for lack of CPU time
 * @time:	nanoseconds observed
 * @regions_time: nanoseconds observed, weighted by the part of max_regions that was allowed
 * @cpu_ns:	CPU time taken
 * @bytes:	sum of the estimates for the shortest window since the last STATS record: of all
 *		targets, or of the group
 * @var:	sum of the squares of the half-widths of their intervals
 * @group:	@bytes and @var are of the group
 * @widths:	sum over @intervals of the half-width as a part of the estimate
 * @intervals:	number of intervals with an estimate
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

/** budget_take() - take any record, from the first of the recording on */
void budget_take(struct budget *b, const struct wsmon_record *rec);

/**
 * budget_text() - describe what was reduced or taken
 * @buf: BUDGET_TEXT bytes
 *
 * Return: @buf: what the wanted precision took, or that the CPU budget was exceeded by more than a
 * quarter, or that sampling was reduced by a tenth or more and what that means; else NULL
 */
const char *budget_text(char *buf, const struct budget *b);

#endif /* WSMO_BUDGET_H */
