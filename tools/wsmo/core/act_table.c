// SPDX-License-Identifier: GPL-2.0
/*
 * act_table.c - the table of what "wsmo act" has done, for itself and for "wsmo report act"
 */
#include <stdio.h>
#include <string.h>

#include "act_table.h"
#include "cli.h"

#define NAME(id, name)	name,
static const char * const actions[] = { WSMON_ACTIONS(NAME) };

const char *act_action_name(__u32 action)
{
	static char unknown[24];

	if (action < ARRAY_SIZE(actions))
		return actions[action];
	snprintf(unknown, sizeof(unknown), "action%u", action);
	return unknown;
}

enum {
	S_RULE, S_ACTION, S_TRIED, S_APPLIED, S_TRIED_BYTES, S_APPLIED_BYTES, S_REFAULTED,
	S_SKIPPED, S_GONE, S_SHADOWED, S_FAILED, S_ERRORS, S_CPU, S_DRY_RUN, S_TEXT,
};

static const struct column columns[] = {
	[S_RULE]	  = { "rule", "RULE", COL_COUNT, 4, 0 },
	[S_ACTION]	  = { "action", "ACTION", COL_TEXT, 10, 0 },
	[S_TRIED]	  = { "tried", "TIMES", COL_COUNT, 6, 0 },
	[S_APPLIED]	  = { "applied", "DONE", COL_COUNT, 6, 0 },
	[S_TRIED_BYTES]	  = { "tried_bytes", "MATCHED", COL_SIZE, 9, 0 },
	[S_APPLIED_BYTES] = { "applied_bytes", "APPLIED", COL_SIZE, 9, 0 },
	[S_REFAULTED]	  = { "refaulted_bytes", "REFAULTED", COL_SIZE, 9, 0 },
	[S_SKIPPED]	  = { "skipped_bytes", "SKIPPED", COL_SIZE, 9, 0 },
	[S_GONE]	  = { "gone_bytes", "GONE", COL_SIZE, 9, 0 },
	[S_SHADOWED]	  = { "shadowed_bytes", "SHADOWED", COL_SIZE, 9, 0 },
	[S_FAILED]	  = { "failed", "FAILED", COL_COUNT, 6, 0 },
	[S_ERRORS]	  = { "errors", "ERRORS", COL_TEXT, 6, 0 },
	[S_CPU]		  = { "cpu_ns", "CPU", COL_NS, 7, 0 },
	[S_DRY_RUN]	  = { "dry_run", "DRY", COL_COUNT, 1, NOT_HUMAN },
	[S_TEXT]	  = { "text", "THE RULE", COL_TEXT, 8, 0 },
};

const struct table_desc act_desc = {
	.type = "rule", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const char *error_name(char *buf, size_t size, __u32 err)
{
	const char *name = strerrorname_np(err);

	if (name)
		return name;
	snprintf(buf, size, "error %u", err);
	return buf;
}

/* Writes "ENOMEM 3, ESRCH 1"; Return: number of errors in all */
static __u64 list_errors(char *text, size_t size, const struct wsmon_rec_act *rec)
{
	__u64 sum = 0;
	size_t i, len = 0;
	char buf[24];

	*text = '\0';
	for (i = 0; i < WSMON_ACT_ERRORS && rec->failed[i]; i++) {
		sum += rec->failed[i];
		len += snprintf(text + len, size - len, "%s%s %u", i ? ", " : "",
				error_name(buf, sizeof(buf), rec->error[i]),
				rec->failed[i]);
	}
	return sum;
}

void act_row(struct table *t, const struct wsmon_rec_act *rec)
{
	char errors[64 * WSMON_ACT_ERRORS];
	__u64 failed = list_errors(errors, sizeof(errors), rec);

	table_row(t, (struct cell[]) {
		[S_RULE]	  = cell_u(rec->rule + 1ULL),
		[S_ACTION]	  = cell_s(act_action_name(rec->action)),
		[S_TRIED]	  = cell_u(rec->tried),
		[S_APPLIED]	  = cell_u(rec->applied),
		[S_TRIED_BYTES]	  = cell_u(rec->tried_bytes),
		[S_APPLIED_BYTES] = cell_u(rec->applied_bytes),
		[S_REFAULTED]	  = cell_u(rec->refaulted_bytes),
		[S_SKIPPED]	  = cell_u(rec->skipped_bytes),
		[S_GONE]	  = cell_u(rec->gone_bytes),
		[S_SHADOWED]	  = cell_u(rec->shadowed_bytes),
		[S_FAILED]	  = cell_u(failed),
		[S_ERRORS]	  = cell_s(errors),
		[S_CPU]		  = cell_u(rec->cpu_ns),
		[S_DRY_RUN]	  = cell_u(!!(rec->flags & WSMON_ACT_DRY_RUN)),
		[S_TEXT]	  = cell_s(rec->text),
	});
}
