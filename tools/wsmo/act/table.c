// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - what the rules of "wsmo act" did, for it and for "report act"
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "libwsmon/wsmon_records.h"
#include "scheme.h"
#include "table.h"

enum {
	RULE, ACTION, TRIED, APPLIED, TRIED_BYTES, APPLIED_BYTES, REFAULTED,
	SKIPPED, GONE, SHADOWED, FAILED, ERRORS, CPU, DRY_RUN, TEXT,
};

static const struct column columns[] = {
	[RULE]		= { "rule", "RULE", COL_COUNT, 4, 0 },
	[ACTION]	= { "action", "ACTION", COL_TEXT, 10, 0 },
	[TRIED]		= { "tried", "TIMES", COL_COUNT, 6, 0 },
	[APPLIED]	= { "applied", "DONE", COL_COUNT, 6, 0 },
	[TRIED_BYTES]	= { "tried_bytes", "MATCHED", COL_SIZE, 9, 0 },
	[APPLIED_BYTES]	= { "applied_bytes", "APPLIED", COL_SIZE, 9, 0 },
	[REFAULTED]	= { "refaulted_bytes", "REFAULTED", COL_SIZE, 9, 0 },
	[SKIPPED]	= { "skipped_bytes", "SKIPPED", COL_SIZE, 9, 0 },
	[GONE]		= { "gone_bytes", "GONE", COL_SIZE, 9, 0 },
	[SHADOWED]	= { "shadowed_bytes", "SHADOWED", COL_SIZE, 9, 0 },
	[FAILED]	= { "failed", "FAILED", COL_COUNT, 6, 0 },
	[ERRORS]	= { "errors", "ERRORS", COL_TEXT, 6, 0 },
	[CPU]		= { "cpu_ns", "CPU", COL_NS, 7, 0 },
	[DRY_RUN]	= { "dry_run", "DRY", COL_COUNT, 1, NOT_HUMAN },
	[TEXT]		= { "text", "THE RULE", COL_TEXT, 8, 0 },
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

/* "ENOMEM 3, ESRCH 1"; Return: how many there are in all */
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
		[RULE]		= cell_u(rec->rule + 1ULL),
		[ACTION]	= cell_s(act_action_name(rec->action)),
		[TRIED]		= cell_u(rec->tried),
		[APPLIED]	= cell_u(rec->applied),
		[TRIED_BYTES]	= cell_u(rec->tried_bytes),
		[APPLIED_BYTES]	= cell_u(rec->applied_bytes),
		[REFAULTED]	= cell_u(rec->refaulted_bytes),
		[SKIPPED]	= cell_u(rec->skipped_bytes),
		[GONE]		= cell_u(rec->gone_bytes),
		[SHADOWED]	= cell_u(rec->shadowed_bytes),
		[FAILED]	= cell_u(failed),
		[ERRORS]	= cell_s(errors),
		[CPU]		= cell_u(rec->cpu_ns),
		[DRY_RUN]	= cell_u(!!(rec->flags & WSMON_ACT_DRY_RUN)),
		[TEXT]		= cell_s(rec->text),
	});
}
