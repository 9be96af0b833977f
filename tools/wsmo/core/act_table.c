// SPDX-License-Identifier: GPL-2.0
/* act_table.c - the table of what "wsmo act" has done, for itself and for "wsmo report act" */
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

struct rule_row {
	__u64 rule;
	const char *action;
	__u64 tried, applied, tried_bytes, applied_bytes, refaulted_bytes, skipped_bytes;
	__u64 gone_bytes, shadowed_bytes, failed;
	const char *errors;
	__u64 cpu_ns, dry_run;
	const char *text;
};

#define ROW struct rule_row

TABLE(rule_table, "rule",
	COL(rule, COUNT, 4, "RULE", 0,
	    "number of the rule; the first rule that matches is applied"),
	COL(action, TEXT, 10, "ACTION", 0, "action of the rule"),
	COL(tried, COUNT, 6, "TIMES", 0, "ranges to which the rule was applied"),
	COL(applied, COUNT, 6, "DONE", 0, "ranges on which the rule had an effect"),
	COL(tried_bytes, SIZE, 9, "MATCHED", 0, "memory to which the rule was applied"),
	COL(applied_bytes, SIZE, 9, "APPLIED", 0, "memory on which the rule had an effect"),
	COL(refaulted_bytes, SIZE, 9, "REFAULTED", 0, "memory that was paged out and came back"),
	COL(skipped_bytes, SIZE, 9, "SKIPPED", 0,
	    "memory left alone: of other classes, locked, without swap, or because it came back "
	    "before"),
	COL(gone_bytes, SIZE, 9, "GONE", 0, "memory unmapped before the rule was applied"),
	COL(shadowed_bytes, SIZE, 9, "SHADOWED", 0,
	    "memory that matches at the end of the run, but belongs to an earlier rule"),
	COL(failed, COUNT, 6, "FAILED", 0, "calls that the kernel refused"),
	COL(errors, TEXT, 6, "ERRORS", 0, "the errors of these calls, and the number of each"),
	COL(cpu_ns, NS, 7, "CPU", 0, "CPU time of the rule"),
	COL(dry_run, COUNT, 1, "DRY", NOT_HUMAN, "1 for a dry run, otherwise 0"),
	COL(text, TEXT, 8, "THE RULE", 0, "the rule"));

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

struct table *act_table(FILE *f, enum table_format format)
{
	return table_new_on(f, &rule_table, format);
}

void act_row(struct table *t, const struct wsmon_rec_act *rec)
{
	char errors[64 * WSMON_ACT_ERRORS];
	__u64 failed = list_errors(errors, sizeof(errors), rec);

	table_row(t, &(struct rule_row) {
		.rule = rec->rule + 1ULL,
		.action = act_action_name(rec->action),
		.tried = rec->tried, .applied = rec->applied,
		.tried_bytes = rec->tried_bytes, .applied_bytes = rec->applied_bytes,
		.refaulted_bytes = rec->refaulted_bytes, .skipped_bytes = rec->skipped_bytes,
		.gone_bytes = rec->gone_bytes, .shadowed_bytes = rec->shadowed_bytes,
		.failed = failed, .errors = errors,
		.cpu_ns = rec->cpu_ns,
		.dry_run = !!(rec->flags & WSMON_ACT_DRY_RUN),
		.text = rec->text,
	});
}
