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

#endif /* WSMO_EXPORT_H */
