/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curves.h - what "wsmo report curve" and sizing have in common
 */
#ifndef WSMO_REPORT_CURVES_H
#define WSMO_REPORT_CURVES_H

#include "libwsmon/numbers/curves.h"
#include "report.h"

/* begin and record of struct report_view */
void curves_report_begin(struct report *rp);
void curves_report_record(struct report *rp, const struct wsmon_record *rec);

/**
 * curves_report_end() - have @show show the curves; it returns 0, or -1 after a
 * message. Tells what to record if there are none, and what was left out
 */
void curves_report_end(struct report *rp,
		       int (*show)(const struct report *rp,
				   const struct curves *cs));

#endif /* WSMO_REPORT_CURVES_H */
