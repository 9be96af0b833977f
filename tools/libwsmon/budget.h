/* SPDX-License-Identifier: GPL-2.0 */
/* budget.h - how far the CPU budget or a precision reduced sampling, and the cost of sampling */
#ifndef WSMO_BUDGET_H
#define WSMO_BUDGET_H

#include <stdbool.h>

#include "wsmon.h"

#define BUDGET_TEXT	320

/**
 * struct budget - sums over a recording; all zero before the first record
 * @attrs:	attributes in force
 * @stats:	the last STATS record, or the counters when monitoring began
 * @known:	@stats is valid
 * @targets:	number of targets that monitoring began with
 * @rounds:	number of sampling rounds that were due
 * @left_out:	number of these rounds that were left out for lack of CPU time, or that a
 *		precision did not need
 * @time:	nanoseconds observed
 * @regions_time: nanoseconds observed, weighted by the allowed part of max_regions
 * @cpu_ns:	CPU time of monitoring, with TLB flushes on other CPUs
 * @bytes:	sum of the estimates in the shortest window since the last STATS record: of all
 *		targets, or of the group
 * @var:	sum of the squared half-widths of the confidence intervals of @bytes
 * @group:	@bytes and @var are of the group
 * @widths:	sum over @intervals of the relative half-width
 * @intervals:	number of aggregation intervals with an estimate
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

/** budget_take() - take a record; call it with all records, from the first on */
void budget_take(struct budget *b, const struct wsmon_record *rec);

/**
 * budget_text() - describe how sampling was reduced, or what it cost
 * @buf: BUDGET_TEXT bytes
 *
 * Return: @buf with one of three messages: the cost of the precision, a CPU budget exceeded by
 * more than a quarter, or sampling reduced by a tenth or more; NULL if there is nothing to say
 */
const char *budget_text(char *buf, const struct budget *b);

#endif /* WSMO_BUDGET_H */
