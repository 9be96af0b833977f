// SPDX-License-Identifier: GPL-2.0
/*
 * curves_report.c - what "wsmo report curve" and sizing have in common
 */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "curves.h"

void curves_report_begin(struct report *rp)
{
	struct curves *cs = malloc(sizeof(*cs));

	if (!cs) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	curves_begin(cs);
	rp->data = cs;
}

void curves_report_record(struct report *rp, const struct wsmon_record *rec)
{
	curves_record(rp->data, &rp->filter, rec);
}

static void tell_missing(const struct curves *cs)
{
	if (!cs->seen)
		msg("no working set was recorded that --time, --pid, --class and --tau let pass");
	else
		msg("a curve takes %d windows, each observed for a quarter more than it is long; record with 'wsmo record --sizing', for five minutes",
		    CURVES_WINDOWS);
}

static void tell_left_out(const struct curves *cs)
{
	char longest[UNITS_LEN], used[UNITS_LEN];
	double tau = 0;
	size_t i;

	for (i = 0; i < cs->nr; i++)
		tau = larger(tau, cs->of[i].curve.tau[cs->of[i].curve.nr]);
	if (whole(tau * 1e6) < cs->longest_us)
		msg("windows above %s, up to %s, do not count: they were observed for less than a quarter more than they are long",
		    units_time(used, whole(tau * 1e9)),
		    units_time(longest, cs->longest_us * NSEC_PER_USEC));
}

void curves_report_end(struct report *rp,
		       int (*show)(const struct report *rp,
				   const struct curves *cs))
{
	struct curves *cs = rp->data;

	if (curves_make(cs)) {
		tell_missing(cs);
		rp->failed = true;
	} else {
		rp->failed = show(rp, cs) != 0;
		tell_left_out(cs);
	}
	curves_end(cs);
	free(cs);
}
