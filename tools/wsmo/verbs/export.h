/* SPDX-License-Identifier: GPL-2.0 */
/*
 * export.h - the format OpenMetrics of "wsmo export"
 */
#ifndef WSMO_EXPORT_H
#define WSMO_EXPORT_H

#include "live/session.h"
#include "views/report.h"

/**
 * struct export_fleet - cgroups to watch in turns
 * @root:	path of the cgroup above them; NULL: none are watched
 * @alone:	watch @root itself
 * @max:	max. cgroups; if there are more, the largest are watched
 * @at_once:	max. sessions
 * @cpu_permille: CPU time, in 1/1000 of one CPU
 * @precision:	the precision wanted, in 1/1000; or NO_PRECISION
 * @how:	the attributes; has no session
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

/* None was named: the module's default counts */
#define NO_PRECISION	(~0U)

extern const struct report_view export_openmetrics;

/**
 * export_live() - write the module's figures to a file, until a signal ends it
 * @file:	the file, NULL for standard output
 * @interval_ns: how often
 *
 * Return: exit status
 */
int export_live(const char *file, __u64 interval_ns);

/**
 * export_cgroups() - the same with the figures of cgroups, which it watches
 * @filter:	which classes
 */
int export_cgroups(const struct export_fleet *how, const struct filter *filter,
		   const char *file, __u64 interval_ns);

#endif /* WSMO_EXPORT_H */
