/* SPDX-License-Identifier: GPL-2.0 */
/* export.h - the format OpenMetrics of "wsmo export" */
#ifndef WSMO_EXPORT_H
#define WSMO_EXPORT_H

#include "live/session.h"
#include "views/report.h"

/**
 * struct export_fleet - cgroups to watch in turns
 * @root:	path of the cgroup above them; NULL: no cgroups are watched
 * @alone:	watch @root itself
 * @max:	maximum number of cgroups; if there are more, only the largest are watched
 * @at_once:	maximum number of sessions at a time
 * @cpu_permille: CPU time, in 1/1000 of one CPU
 * @precision:	target precision in 1/1000; or NO_PRECISION
 * @how:	attributes of the sessions; no session itself
 */
struct export_fleet {
	char *root;
	bool alone;
	__u32 max;
	__u32 at_once;
	__u32 cpu_permille;
	__u32 precision;
	struct session how;
};

/* No precision was given: the module's default applies */
#define NO_PRECISION	(~0U)

extern const struct report_view export_openmetrics;

/**
 * export_live() - write the module's figures to a file, until a signal ends it
 * @file:	the file; NULL: standard output
 * @interval_ns: time between two writes
 *
 * Return: exit status
 */
int export_live(const char *file, __u64 interval_ns);

/**
 * export_cgroups() - watch cgroups, and write their figures like export_live()
 * @filter:	the wanted classes
 */
int export_cgroups(const struct export_fleet *how, const struct filter *filter,
		   const char *file, __u64 interval_ns);

#endif /* WSMO_EXPORT_H */
