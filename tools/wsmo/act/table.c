// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - what the rules of "wsmo act" did, for it and for "report act"
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "scheme.h"
#include "table.h"

enum {
	RULE, ACTION, TRIED, APPLIED, TRIED_BYTES, APPLIED_BYTES, REFAULTED,
	SKIPPED, GONE, SHADOWED, FAILED, ERRORS, CPU, DRY_RUN, TEXT,
};

static const struct column columns[] = {
	[RULE]		= { "rule", "RULE", COL_COUNT, 4, 0, "its number; the first that fits is applied" },
	[ACTION]	= { "action", "ACTION", COL_TEXT, 10, 0, "what it does" },
	[TRIED]		= { "tried", "TIMES", COL_COUNT, 6, 0, "stretches of memory it was applied to" },
	[APPLIED]	= { "applied", "DONE", COL_COUNT, 6, 0, "of them, those where it had an effect" },
	[TRIED_BYTES]	= { "tried_bytes", "MATCHED", COL_SIZE, 9, 0, "bytes it could have an effect on" },
	[APPLIED_BYTES]	= { "applied_bytes", "APPLIED", COL_SIZE, 9, 0, "bytes it had an effect on" },
	[REFAULTED]	= { "refaulted_bytes", "REFAULTED", COL_SIZE, 9, 0, "of that, paged out and come back" },
	[SKIPPED]	= { "skipped_bytes", "SKIPPED", COL_SIZE, 9, 0, "left alone: of classes not asked for, locked, without swap" },
	[GONE]		= { "gone_bytes", "GONE", COL_SIZE, 9, 0, "unmapped before it was their turn" },
	[SHADOWED]	= { "shadowed_bytes", "SHADOWED", COL_SIZE, 9, 0, "fit the rule at the end, but an earlier rule has them" },
	[FAILED]	= { "failed", "FAILED", COL_COUNT, 6, 0, "times the kernel refused" },
	[ERRORS]	= { "errors", "ERRORS", COL_TEXT, 6, 0, "why, and how often each" },
	[CPU]		= { "cpu_ns", "CPU", COL_NS, 7, 0, "CPU time it took" },
	[DRY_RUN]	= { "dry_run", "DRY", COL_COUNT, 1, NOT_HUMAN, "1 if nothing was done" },
	[TEXT]		= { "text", "THE RULE", COL_TEXT, 8, 0, "the rule itself" },
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
