// SPDX-License-Identifier: GPL-2.0
/*
 * act_apply.c - applies the rules to a target's memory
 *
 * Memory may have changed since the module looked. So each stretch is cut into blocks, and each
 * block is looked up in the current mappings and page tables just before the action. If memory
 * changes after that, the kernel refuses the action, and the refusal is counted. All actions are
 * advice: none changes the contents of memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act.h"
#include "core/act_table.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/names.h"
#include "libwsmon/wsmon_records.h"
#include "live/patience.h"
#include "live/procfs.h"

struct action_row {
	double t;
	__u64 pid, rule;
	const char *action, *class;
	__u64 start, end, size;
	double share, freq;
	__u64 age_ns, tried_bytes, applied_bytes;
	const char *result;
};

#define ROW struct action_row

TABLE(action_table, "action",
	COL(t, T, 8, "TIME", 0, "end of the interval whose samples led to the action"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(rule, COUNT, 4, "RULE", 0, "number of the rule"),
	COL(action, TEXT, 10, "ACTION", 0, "its action"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory"),
	COL(start, ADDR, 14, "START", 0, "first address"),
	COL(end, ADDR, 14, "END", 0, "end, exclusive"),
	COL(size, SIZE, 10, "SIZE", NOT_JSON | NOT_CSV, ""),
	COL(share, RATIO, 7, "SHARE", 0,
	    "share of its pages accessed within an aggregation interval"),
	COL(freq, RATIO, 7, "FREQ", 0, "share of sampling rounds that found its samples accessed"),
	COL(age_ns, NS, 7, "AGE", 0, "time since the share last changed much"),
	COL(tried_bytes, SIZE, 10, "TRIED", 0, "memory to which the rule was applied"),
	COL(applied_bytes, SIZE, 10, "APPLIED", 0, "memory on which the rule had an effect"),
	COL(result, TEXT, 6, "RESULT", 0,
	    "``ok``, ``would`` in a dry run, or the name of an error"));

static void act_log(struct act *a, const struct act_target *t, const struct stretch *s,
		    __u64 tried, __u64 done, int err)
{
	if (!a->table)
		a->table = table_new(&action_table, a->format);
	table_row(a->table, &(struct action_row) {
		.t = (double)(__s64)(t->snapshot_ns - a->record.start_ns) / NSEC_PER_SEC,
		.pid = t->process.pid,
		.rule = s->rule + 1,
		.action = act_action_name(a->scheme.rule[s->rule].action),
		.class = class_name(s->class),
		.start = s->start, .end = s->end, .size = s->end - s->start,
		.share = s->share, .freq = s->freq,
		.age_ns = s->age_ns,
		.tried_bytes = tried, .applied_bytes = done,
		.result = err ? strerrorname_np(-err) : a->dry_run ? "would" : "ok",
	});
}

/* Completes the record of a rule, and appends the rule's text */
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

struct goal_row {
	const char *goal;
	double target, last, mean, reached;
	__u64 quota_bytes;
};

#undef ROW
#define ROW struct goal_row

TABLE(goal_table, "goal",
	COL(goal, TEXT, 9, "GOAL", 0, "``available`` or ``pressure``"),
	COL(target, RATIO, 7, "TARGET", 0,
	    "value to reach: available memory as a share of the machine's memory, or the share of "
	    "the time in which tasks wait for memory"),
	COL(last, RATIO, 7, "LAST", OR_NULL,
	    "value in the last second; null if no second has passed"),
	COL(mean, RATIO, 7, "MEAN", OR_NULL, "mean of all seconds"),
	COL(reached, RATIO, 7, "REACHED", OR_NULL,
	    "share of the seconds in which the goal was reached"),
	COL(quota_bytes, SIZE, 9, "QUOTA", 0,
	    "bytes that reclaim may take in a second, at the end"));

/* Prints an empty line between two tables */
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
	t = table_new(&goal_table, a->format);
	for (i = 0; i < ACT_NR_GOALS; i++) {
		const struct act_goal *g = &goals->goal[i];

		if (g->target <= 0)
			continue;
		table_row(t, &(struct goal_row) {
			.goal = act_goal_name(i),
			.target = g->target,
			.last = g->looks ? g->last : NAN,
			.mean = g->looks ? g->sum / g->looks : NAN,
			.reached = g->looks ? (double)g->reached / g->looks : NAN,
			.quota_bytes = goals->rate,
		});
	}
	table_end(t);
}

/* Prints a sentence about the result of a dry run */
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
		printf(", and apply other actions to %s", units_size(size, other));
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
	t = act_table(stdout, a->format);
	for (i = 0; i < a->scheme.nr; i++) {
		complete(a, i, buf.bytes);
		act_row(t, &buf.rec);
	}
	table_end(t);
	print_goals(a);
}

/* Min. time before a rule is applied to the same memory again */
#define RETRY		(30 * NSEC_PER_SEC)

/* Max. time for a target in an interval: meanwhile the stream, signals and the governor wait */
#define SLICE		(100 * NSEC_PER_MSEC)

static void fail(struct wsmon_rec_act *st, int err)
{
	size_t i;

	/* a process may end at any time: this is not a failure */
	if (err == -ESRCH)
		return;
	for (i = 0; i < WSMON_ACT_ERRORS - 1; i++)
		if (!st->error[i] || st->error[i] == (__u32)-err)
			break;
	st->error[i] = -err;
	st->failed[i]++;
}

/* Do the governor and goals apply? */
static bool is_reclaim(enum wsmon_action action)
{
	return action == WSMON_ACT_PAGEOUT || action == WSMON_ACT_COLD;
}

static bool permitted(const struct act *a, enum wsmon_action action)
{
	return !is_reclaim(action) || a->dry_run ||
	       (limits_reclaim(&a->limits) && goals_allow(&a->limits.goals));
}

static bool of_huge_pages(enum wsmon_action action)
{
	return action == WSMON_ACT_HUGEPAGE || action == WSMON_ACT_NOHUGEPAGE;
}

/* Return: bytes on which the action could have an effect */
static __u64 to_do(enum wsmon_action action, const struct resident *r, __u64 size)
{
	switch (action) {
	case WSMON_ACT_WILLNEED:
		return r->swapped;
	case WSMON_ACT_HUGEPAGE:
		return r->bytes && r->huge < size ? size - r->huge : 0;
	case WSMON_ACT_NOHUGEPAGE:
		return r->huge;
	default:
		return r->bytes;
	}
}

/* Return: bytes on which the action had an effect */
static __u64 was_done(enum wsmon_action action, const struct resident *before,
		      const struct resident *after, __u64 todo)
{
	switch (action) {
	case WSMON_ACT_PAGEOUT:
		return before->bytes > after->bytes ?
		       before->bytes - after->bytes : 0;
	case WSMON_ACT_HUGEPAGE:
		return after->huge > before->huge ?
		       after->huge - before->huge : 0;
	case WSMON_ACT_NOHUGEPAGE:
		return before->huge > after->huge ?
		       before->huge - after->huge : 0;
	default:
		return todo;
	}
}

/**
 * struct effect - the effect of an action on one stretch
 * @tried:	bytes on which it could have an effect
 * @done:	bytes on which it had an effect
 * @err:	the last failure
 */
struct effect {
	__u64 tried, done;
	int err;
};

/* Return: bytes of the pages of a range that are in @keep, which may be NULL */
static __u64 kept_bytes(const __u64 *keep, __u64 start, __u64 end)
{
	__u64 page = sysconf(_SC_PAGESIZE), bytes = 0, bit;

	for (; keep && start < end; start += page) {
		bit = start % ACT_BLOCK / page;
		bytes += (keep[bit / 64] >> bit % 64 & 1) * page;
	}
	return bytes;
}

/*
 * Applies a rule to a part of one mapping, within one block. The advice may fail for some pages and
 * succeed for others. So even after an error, changes in the page tables count as done.
 */
static int apply_block(struct act *a, struct act_target *t,
		       const struct stretch *s, __u64 start, __u64 end,
		       struct effect *e)
{
	enum wsmon_action action = a->scheme.rule[s->rule].action;
	struct act_process *p = &t->process;
	bool huge = of_huge_pages(action), seen = action == WSMON_ACT_PAGEOUT || huge;
	struct resident before, after;
	const __u64 *keep = NULL;
	__u64 todo, kept;
	int err;

	err = process_resident(p, start, end, huge, &before);
	if (err)
		return err;
	todo = to_do(action, &before, end - start);
	if (action == WSMON_ACT_PAGEOUT) {
		taken_look(&t->taken, p, start, a->refaulted);
		keep = taken_back(&t->taken, start);
		kept = kept_bytes(keep, start, end);
		a->stat[s->rule].skipped_bytes += kept < todo ? kept : todo;
		todo -= kept < todo ? kept : todo;
	}
	if (!todo)
		return 0;
	e->tried += todo;
	if (a->dry_run)
		return 0;
	err = process_advise(p, action, start, end, keep);
	if (action == WSMON_ACT_PAGEOUT)
		taken_note(&t->taken, p, start, s->rule);
	if (!process_resident(p, start, end, huge, &after) && (seen || !err))
		e->done += was_done(action, &before, &after, todo);
	if (action != WSMON_ACT_STAT)
		limits_charge(&a->limits, todo, 0, is_reclaim(action));
	return err;
}

/* Has the process's cgroup, or one above it, no swap left? Prints this once for each cgroup */
static bool no_swap(struct act *a, struct act_process *p, __u64 bytes)
{
	__u64 now = clock_now();
	char *cgroup, clean[256];
	bool slows;

	if (now < p->swap_ns)
		return p->no_swap;
	p->no_swap = !process_swap(p, bytes, &slows, &cgroup);
	p->swap_ns = slows && !p->no_swap ? 0 : now + NSEC_PER_SEC;
	if (p->no_swap && !p->swap_said && (!a->swap_said || strcmp(a->swap_said, cgroup))) {
		msg("cgroup %s has no swap left (memory.swap.max, memory.swap.high): anonymous memory of its processes is not paged out",
		    text_clean(clean, sizeof(clean), cgroup));
		free(a->swap_said);
		a->swap_said = cgroup;
		cgroup = NULL;
	}
	p->swap_said |= p->no_swap;
	free(cgroup);
	return p->no_swap;
}

/* Must a part of a mapping be left alone? */
static bool skip(struct act *a, struct act_process *p, const struct mapping *m,
		 enum wsmon_action action, __u64 start, __u64 end)
{
	if (!(m->class & a->classes) || m->locked)
		return true;
	if (of_huge_pages(action) && end - start < ACT_HUGE)
		return true;
	return action == WSMON_ACT_PAGEOUT && m->class & ACT_SWAPPED_CLASSES &&
	       (a->no_swap || no_swap(a, p, end - start));
}

static __u64 block_end(__u64 addr, __u64 end)
{
	__u64 next = (addr & ~(ACT_BLOCK - 1)) + ACT_BLOCK;

	return next < end ? next : end;
}

/*
 * Applies a rule to the next block of a stretch
 * Return: end of the block; if the process is gone, end of the stretch
 */
static __u64 apply_next(struct act *a, struct act_target *t,
			const struct stretch *s, __u64 addr, struct effect *e)
{
	enum wsmon_action action = a->scheme.rule[s->rule].action;
	struct wsmon_rec_act *st = &a->stat[s->rule];
	const struct mapping *m;
	__u64 end;
	int err;

	err = process_maps(&t->process);
	if (err) {
		st->gone_bytes += s->gaps ? 0 : s->end - addr;
		e->err = err;
		fail(st, err);
		return s->end;
	}
	m = process_mapping(&t->process, addr);
	if (!m || m->start > addr) {
		end = m && m->start < s->end ? m->start : s->end;
		st->gone_bytes += s->gaps ? 0 : end - addr;
		return end;
	}
	end = block_end(addr, m->end < s->end ? m->end : s->end);
	if (skip(a, &t->process, m, action, addr, end)) {
		st->skipped_bytes += end - addr;
		return end;
	}
	err = apply_block(a, t, s, addr, end, e);
	if (err) {
		e->err = err;
		fail(st, err);
	}
	return end;
}

/*
 * Applies a rule to a stretch. Looking up a block uses up budget, even if no action follows.
 * Return: end of the part that was handled before the budget or the time ran out
 */
static __u64 apply_stretch(struct act *a, struct act_target *t,
			   const struct stretch *s, __u64 until_ns,
			   struct effect *e)
{
	__u64 addr = s->start, cpu;

	while (addr < s->end) {
		cpu = clock_cpu() + patience_cpu();
		addr = apply_next(a, t, s, addr, e);
		cpu = clock_cpu() + patience_cpu() - cpu;
		a->stat[s->rule].cpu_ns += cpu;
		if (a->dry_run)
			continue;
		limits_charge(&a->limits, 0, cpu, false);
		if (clock_now() > until_ns || !limits_left(&a->limits, clock_now()) ||
		    !permitted(a, a->scheme.rule[s->rule].action))
			break;
	}
	return addr;
}

static void apply_one(struct act *a, struct act_target *t,
		      const struct stretch *s, __u64 until_ns)
{
	struct wsmon_rec_act *st = &a->stat[s->rule];
	struct effect e = { 0 };
	__u64 end = apply_stretch(a, t, s, until_ns, &e);

	evidence_mark(&t->evidence, s->whole_start,
		      end == s->end ? s->whole_end : end, s->rule,
		      t->snapshot_ns);
	if (!e.tried && !e.err)
		return;
	st->tried++;
	st->applied += e.done > 0;
	st->tried_bytes += e.tried;
	st->applied_bytes += e.done;
	if (a->log)
		act_log(a, t, s, e.tried, e.done, e.err);
}

void act_apply(struct act *a, struct act_target *t)
{
	__u64 until_ns = clock_now() + SLICE;
	size_t i;

	/*
	 * Mixed areas match any class, because each of their mappings is classified just before the
	 * action. In a dry run a rule is applied to the same memory only once, to count it once.
	 */
	if (act_match(&a->match, &a->scheme, &t->evidence,
		      a->classes | 1U << WSMON_CLASS_MIXED,
		      t->snapshot_ns, a->dry_run ? ~0ULL : RETRY)) {
		msg("out of memory: nothing is done in this interval");
		return;
	}
	for (i = 0; i < a->scheme.nr; i++)
		a->stat[i].shadowed_bytes += a->match.shadowed[i];
	for (i = 0; i < a->match.nr; i++) {
		const struct stretch *s = &a->match.stretch[i];
		__u64 now = clock_now();

		if (!permitted(a, a->scheme.rule[s->rule].action))
			continue;
		if (now > until_ns ||
		    (!a->dry_run && !limits_left(&a->limits, now)))
			break;
		apply_one(a, t, s, until_ns);
	}
	process_rest(&t->process);
}
