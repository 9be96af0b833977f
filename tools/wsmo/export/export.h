/* SPDX-License-Identifier: GPL-2.0 */
/*
 * export.h - what the formats of "wsmo export" share
 *
 * A format is a view as reports are: the same filters, the same way through the
 * file.
 */
#ifndef WSMO_EXPORT_H
#define WSMO_EXPORT_H

#include "libwsmon/sorted.h"
#include "report/report.h"

/* Bytes of a text of unknown origin that are written, and most of it as JSON */
#define EXPORT_TEXT	1024
#define EXPORT_JSON	(6 * EXPORT_TEXT + 3)

#define EXPORT_TARGETS	4096	/* whose names and sizes are kept */

extern const struct report_view export_table;
extern const struct report_view export_chrome;
extern const struct report_view export_damo;
extern const struct report_view export_openmetrics;

/** struct export_target - what was told of a target last */
struct export_target {
	__u32 pid;
	bool have_rss;
	__u64 rss;
	__u64 swap;
	char comm[WSMON_COMM_LEN];
};

/** export_targets_init() - none yet */
void export_targets_init(struct sorted *targets);

/** export_target_note() - take a TARGET or PROC record, leave others */
void export_target_note(struct sorted *targets, const struct wsmon_record *rec);

/** export_target() - Return: what is known; of an unknown target nothing */
struct export_target export_target(const struct sorted *targets, __u32 pid);

/**
 * export_json_text() - a text of unknown origin as JSON has it, with quotes
 * Return: @buf
 */
const char *export_json_text(char *buf, size_t size, const char *text);

/**
 * export_live() - write what the module knows now to a file, again and again
 * @file: the file, NULL for standard output
 * @interval_ns: time between
 *
 * Return: exit status, when a signal says to end
 */
int export_live(const char *file, __u64 interval_ns);

#endif /* WSMO_EXPORT_H */
