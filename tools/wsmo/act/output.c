// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - what "wsmo act" prints: its rules, its actions, their effect
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act.h"
#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "libwsmon/wsmon_records.h"
#include "session/procfs.h"
#include "table.h"

enum {
	RULE, LINE, MIN_SIZE, MAX_SIZE, MIN_SHARE, MAX_SHARE, MIN_FREQ, MAX_FREQ,
	MIN_AGE, MAX_AGE, ACTION,
};

static const struct column rule_columns[] = {
	[RULE]	    = { "rule", "RULE", COL_COUNT, 4, 0 },
	[LINE]	    = { "line", "LINE", COL_COUNT, 4, 0 },
	[MIN_SIZE]  = { "min_size", "MIN SIZE", COL_SIZE, 9, 0 },
	[MAX_SIZE]  = { "max_size", "MAX SIZE", COL_SIZE, 9, 0 },
	[MIN_SHARE] = { "min_share", "MIN SHARE", COL_RATIO, 9, 0 },
	[MAX_SHARE] = { "max_share", "MAX SHARE", COL_RATIO, 9, 0 },
	[MIN_FREQ]  = { "min_freq", "MIN FREQ", COL_RATIO, 8, 0 },
	[MAX_FREQ]  = { "max_freq", "MAX FREQ", COL_RATIO, 8, 0 },
	[MIN_AGE]   = { "min_age_ns", "MIN AGE", COL_NS, 7, 0 },
	[MAX_AGE]   = { "max_age_ns", "MAX AGE", COL_NS, 7, 0 },
	[ACTION]    = { "action", "ACTION", COL_TEXT, 8, 0 },
};

static const struct table_desc rule_desc = {
	.type = "scheme", .columns = rule_columns, .nr = ARRAY_SIZE(rule_columns),
};

static struct cell bound(__u64 v)
{
	return v == ~0ULL ? (struct cell){ 0 } : cell_u(v);
}

/* A rule bounds the share or the rate, not both */
static struct cell access_bound(const struct act_rule *r, bool freq, double v)
{
	return r->freq == freq ? cell_d(v) : (struct cell){ 0 };
}

void act_show_rules(const struct act *a)
{
	struct table *t = table_new(&rule_desc, a->format);
	size_t i;

	for (i = 0; i < a->scheme.nr; i++) {
		const struct act_rule *r = &a->scheme.rule[i];

		table_row(t, (struct cell[]) {
			[RULE]	    = cell_u(i + 1),
			[LINE]	    = cell_u(r->line),
			[MIN_SIZE]  = cell_u(r->min_size),
			[MAX_SIZE]  = bound(r->max_size),
			[MIN_SHARE] = access_bound(r, false, r->min_access),
			[MAX_SHARE] = access_bound(r, false, r->max_access),
			[MIN_FREQ]  = access_bound(r, true, r->min_access),
			[MAX_FREQ]  = access_bound(r, true, r->max_access),
			[MIN_AGE]   = cell_u(r->min_age_ns),
			[MAX_AGE]   = bound(r->max_age_ns),
			[ACTION]    = cell_s(act_action_name(r->action)),
		});
	}
	table_end(t);
}

/* Finds the first earlier rule related to @b; Return: its index, or @b */
static size_t earlier(const struct act_scheme *s, size_t b,
		      bool (*related)(const struct act_rule *,
				      const struct act_rule *))
{
	size_t a;

	for (a = 0; a < b; a++)
		if (related(&s->rule[a], &s->rule[b]))
			break;
	return a;
}

void act_report_overlaps(const struct act *a)
{
	const struct act_scheme *s = &a->scheme;
	size_t i, first;

	for (i = 1; i < s->nr; i++) {
		first = earlier(s, i, act_rule_covers);
		if (first < i) {
			msg("rule %zu (%s) is never applied: rule %zu (%s) covers it",
			    i + 1, s->rule[i].text, first + 1, s->rule[first].text);
			continue;
		}
		first = earlier(s, i, act_rule_overlaps);
		if (first < i && a->dry_run)
			msg("rules %zu (%s) and %zu (%s) overlap: the first one is applied",
			    first + 1, s->rule[first].text, i + 1, s->rule[i].text);
	}
}

enum { T, PID, L_RULE, L_ACTION, CLASS, START, END, SIZE, SHARE, FREQ, AGE, TRIED, DONE, RESULT };

static const struct column log_columns[] = {
	[T]	   = { "t", "TIME", COL_T, 8, 0 },
	[PID]	   = { "pid", "PID", COL_COUNT, 7, 0 },
	[L_RULE]   = { "rule", "RULE", COL_COUNT, 4, 0 },
	[L_ACTION] = { "action", "ACTION", COL_TEXT, 10, 0 },
	[CLASS]	   = { "class", "CLASS", COL_TEXT, 7, 0 },
	[START]	   = { "start", "START", COL_ADDR, 14, 0 },
	[END]	   = { "end", "END", COL_ADDR, 14, 0 },
	[SIZE]	   = { "size", "SIZE", COL_SIZE, 10, NOT_JSON | NOT_CSV },
	[SHARE]	   = { "share", "SHARE", COL_RATIO, 7, 0 },
	[FREQ]	   = { "freq", "FREQ", COL_RATIO, 7, 0 },
	[AGE]	   = { "age_ns", "AGE", COL_NS, 7, 0 },
	[TRIED]	   = { "tried_bytes", "TRIED", COL_SIZE, 10, 0 },
	[DONE]	   = { "applied_bytes", "APPLIED", COL_SIZE, 10, 0 },
	[RESULT]   = { "result", "RESULT", COL_TEXT, 6, 0 },
};

static const struct table_desc log_desc = {
	.type = "action", .columns = log_columns, .nr = ARRAY_SIZE(log_columns),
};

void act_log(struct act *a, const struct act_target *t, const struct stretch *s,
	     __u64 tried, __u64 done, int err)
{
	if (!a->table)
		a->table = table_new(&log_desc, a->format);
	table_row(a->table, (struct cell[]) {
		[T]	   = cell_d((double)(__s64)(t->snapshot_ns - a->record.start_ns) /
				    NSEC_PER_SEC),
		[PID]	   = cell_u(t->process.pid),
		[L_RULE]   = cell_u(s->rule + 1),
		[L_ACTION] = cell_s(act_action_name(a->scheme.rule[s->rule].action)),
		[CLASS]	   = cell_s(class_name(s->class)),
		[START]	   = cell_u(s->start),
		[END]	   = cell_u(s->end),
		[SIZE]	   = cell_u(s->end - s->start),
		[SHARE]	   = cell_d(s->share),
		[FREQ]	   = cell_d(s->freq),
		[AGE]	   = cell_u(s->age_ns),
		[TRIED]	   = cell_u(tried),
		[DONE]	   = cell_u(done),
		[RESULT]   = cell_s(err ? strerrorname_np(-err) :
				    a->dry_run ? "would" : "ok"),
	});
}

/* Makes the record of a rule, with its text */
static void complete(const struct act *a, size_t rule, char *buf)
{
	const char *text = a->scheme.rule[rule].text;
	struct wsmon_rec_act rec = a->stat[rule];
	size_t len = strlen(text) + 1, size = sizeof(rec) + (len + 7) / 8 * 8;

	rec.rec = (struct wsmon_record) {
		.type = WSMON_REC_ACT, .size = size, .time_ns = clock_now(),
	};
	rec.rule = rule;
	rec.nr_rules = a->scheme.nr;
	rec.action = a->scheme.rule[rule].action;
	rec.flags = (a->dry_run ? WSMON_ACT_DRY_RUN : 0) |
		    (limits_reclaim(&a->limits) ? 0 : WSMON_ACT_PAUSED);
	memset(buf, 0, size);
	memcpy(buf, &rec, sizeof(rec));
	memcpy(buf + sizeof(rec), text, len);
}

/* A record and its text */
union act_buf {
	struct wsmon_rec_act rec;
	char bytes[sizeof(struct wsmon_rec_act) + ACT_TEXT];
};

void act_write(struct act *a)
{
	union act_buf buf;
	size_t i;

	for (i = 0; i < a->scheme.nr; i++) {
		complete(a, i, buf.bytes);
		output_record(&a->record.output, &buf.rec.rec);
	}
}

enum { GOAL, TARGET, LAST, MEAN, REACHED, QUOTA };

static const struct column goal_columns[] = {
	[GOAL]	  = { "goal", "GOAL", COL_TEXT, 9, 0 },
	[TARGET]  = { "target", "TARGET", COL_RATIO, 7, 0 },
	[LAST]	  = { "last", "LAST", COL_RATIO, 7, 0 },
	[MEAN]	  = { "mean", "MEAN", COL_RATIO, 7, 0 },
	[REACHED] = { "reached", "REACHED", COL_RATIO, 7, 0 },
	[QUOTA]	  = { "quota_bytes", "QUOTA", COL_SIZE, 9, 0 },
};

static const struct table_desc goal_desc = {
	.type = "goal", .columns = goal_columns, .nr = ARRAY_SIZE(goal_columns),
};

/* A table follows another */
static void separate(const struct act *a)
{
	if (a->format != TABLE_JSON)
		putchar('\n');
}

static void print_goals(const struct act *a)
{
	const struct act_goals *goals = &a->limits.goals;
	struct table *t;
	int i;

	if (!goals_any(goals))
		return;
	separate(a);
	t = table_new(&goal_desc, a->format);
	for (i = 0; i < ACT_NR_GOALS; i++) {
		const struct act_goal *g = &goals->goal[i];

		if (g->target <= 0)
			continue;
		table_row(t, (struct cell[]) {
			[GOAL]	  = cell_s(act_goal_name(i)),
			[TARGET]  = cell_d(g->target),
			[LAST]	  = g->looks ? cell_d(g->last) : (struct cell){ 0 },
			[MEAN]	  = g->looks ? cell_d(g->sum / g->looks) : (struct cell){ 0 },
			[REACHED] = g->looks ? cell_d((double)g->reached / g->looks) :
					       (struct cell){ 0 },
			[QUOTA]	  = cell_u(goals->rate),
		});
	}
	table_end(t);
}

/* What a dry run found, in words */
static void print_verdict(const struct act *a)
{
	struct wsmon_rec_proc proc;
	char size[UNITS_LEN], all[UNITS_LEN];
	__u64 out = 0, other = 0, rss = 0;
	size_t i;

	for (i = 0; i < a->scheme.nr; i++) {
		bool reclaim = a->scheme.rule[i].action == WSMON_ACT_PAGEOUT;

		*(reclaim ? &out : &other) += a->stat[i].tried_bytes;
	}
	for (i = 0; i < a->nr_targets; i++)
		if (!proc_memory(a->target[i].process.pid, &proc))
			rss += proc.rss;
	printf("Dry run: would page out %s", units_size(size, out));
	if (rss)
		printf(" of %s resident", units_size(all, rss));
	if (other)
		printf(", and do something else to %s", units_size(size, other));
	puts(".\n");
}

void act_print(const struct act *a)
{
	struct table *t;
	union act_buf buf;
	size_t i;

	table_end(a->table);
	if (a->table)
		separate(a);
	if (a->dry_run && a->format == TABLE_HUMAN)
		print_verdict(a);
	t = table_new(&act_desc, a->format);
	for (i = 0; i < a->scheme.nr; i++) {
		complete(a, i, buf.bytes);
		act_row(t, &buf.rec);
	}
	table_end(t);
	print_goals(a);
}
