/* SPDX-License-Identifier: GPL-2.0 */
/*
 * export.h - what the formats of "wsmo export" share
 *
 * A format is a view, like those of "wsmo report": it has the same filters.
 */
#ifndef WSMO_EXPORT_H
#define WSMO_EXPORT_H

#include "libwsmon/sorted.h"
#include "report/report.h"

/* Max. bytes of a text of unknown origin, and of the same as JSON */
#define EXPORT_TEXT	1024
#define EXPORT_JSON	(6 * EXPORT_TEXT + 3)

#define EXPORT_TARGETS	4096	/* max. targets with a name */

extern const struct report_view export_chrome;
extern const struct report_view export_damo;
extern const struct report_view export_openmetrics;

/**
 * export_json_text() - quote a text of unknown origin for JSON
 * Return: @buf
 */
const char *export_json_text(char *buf, size_t size, const char *text);

/**
 * export_live() - write the module's figures to a file, until a signal ends it
 * @file: the file, NULL for standard output
 * @interval_ns: how often
 *
 * Return: exit status
 */
int export_live(const char *file, __u64 interval_ns);

struct fleet;

/**
 * export_fleet() - the same with the figures of cgroups, which it watches
 * @fleet:	what the caller sets of it
 * @filter:	which classes
 */
int export_fleet(struct fleet *fleet, const struct filter *filter, const char *file,
		 __u64 interval_ns);

/** export_signals() - Return: a file to poll for the signals that end it; -1 after a message */
int export_signals(void);

/** export_next() - Return: when it is time after @now, each @interval_ns from @next_ns on */
__u64 export_next(__u64 next_ns, __u64 now, __u64 interval_ns);

/**
 * export_write() - have metrics printed, so that @file has all of them or is as before
 * @file: NULL for standard output
 * Return: 0, or -1 after a message
 */
int export_write(const char *file, void (*print)(const void *arg), const void *arg);

#endif /* WSMO_EXPORT_H */
