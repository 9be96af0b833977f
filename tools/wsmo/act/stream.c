// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - what "wsmo act" does with the live stream
 *
 * An interval brings the snapshots of all targets, then STATS. Only STATS says whether
 * samples were missed, so the rules are applied then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libwsmon/wsmon_records.h"
#include "act.h"
#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/secondary.h"

#define THP_DIR		"/sys/kernel/mm/transparent_hugepage"

/* Once full, swap counts again with this much free space */
#define SWAP_AGAIN	(16ULL << 20)

/* Records older than this are late; taking an interval is much faster */
#define LATE		NSEC_PER_SEC

/* Time for looking at what was taken, once a second */
#define LOOK		(20 * NSEC_PER_MSEC)

/* Time for looking at all that was taken, at the end */
#define LAST_LOOK	(2 * NSEC_PER_SEC)

/* Defaults: shares and ages need many samples soon */
#define SAMPLE_US	100000
#define AGGR_US		200000

static struct act *act_of(struct record *r)
{
	return (struct act *)(void *)r;
}

static void set_default(struct record *r, const char *key, const char *value)
{
	char *text = record_setting(r, key, NULL);

	if (!*text)
		snprintf(text, SETTING_TEXT, "%s", value);
}

static void set_defaults(struct record *r)
{
	char aggr[SETTING_TEXT];
	__u64 sample = SAMPLE_US;

	set_default(r, "sample_us", "100000");
	units_parse_count(record_setting(r, "sample_us", NULL), ~0ULL, &sample);
	snprintf(aggr, sizeof(aggr), "%llu",
		 sample * 2 > AGGR_US ? sample * 2 : AGGR_US);
	set_default(r, "aggr_us", aggr);
	/* with longer windows samples would stay on their pages */
	set_default(r, "window_us", record_setting(r, "aggr_us", NULL));
	/* short intervals must not cost regions */
	set_default(r, "cpu_permille", "60");
}

/* Checks that a rule's action is possible; Return: 0, or -1 after a message */
static int check_action(const struct act *a, const struct act_target *t,
			const struct act_rule *rule)
{
	const char *name = act_action_name(rule->action);
	int err;

	if (t->gone)
		return 0;
	if (rule->action == WSMON_ACT_HUGEPAGE && access(THP_DIR, F_OK)) {
		msg("%s: this kernel has no transparent huge pages", name);
		return -1;
	}
	err = process_may(&t->process, rule->action);
	switch (err) {
	case 0:
		return 0;
	case -ESRCH:
		if (a->cgroup)
			return 0;
		break;
	case -EPERM:
	case -EACCES:
		msg("%s is not permitted on process %u: it needs CAP_SYS_NICE and the right to trace it (root has both)",
		    name, t->process.pid);
		return -1;
	case -ENOSYS:
	case -EINVAL:
		msg("%s: this kernel cannot do that to another process (Linux %s can)",
		    name, rule->action == WSMON_ACT_HUGEPAGE ? "6.1" : "5.10");
		return -1;
	case -ENOENT:
		msg("%s: there is no /sys/kernel/debug/split_huge_pages; mount debugfs: mount -t debugfs none /sys/kernel/debug",
		    name);
		return -1;
	}
	msg("%s on process %u: %s", name, t->process.pid, strerror(-err));
	return -1;
}

static void look_at_swap(struct act *a)
{
	bool before = a->no_swap, pageout = false;
	size_t i;

	a->no_swap = swap_free() < (before ? SWAP_AGAIN : 1);
	for (i = 0; i < a->scheme.nr; i++)
		pageout |= a->scheme.rule[i].action == WSMON_ACT_PAGEOUT &&
			   a->classes & ACT_SWAPPED_CLASSES;
	if (pageout && a->no_swap && !before)
		msg("no swap space is free: anonymous memory is not paged out");
	if (pageout && !a->no_swap && before)
		msg("swap space is free again: anonymous memory is paged out");
}

static void forget(struct act_target *t)
{
	evidence_clear(&t->evidence);
	taken_clear(&t->taken);
	t->nr = 0;
	t->total = 0;
}

void act_let_go(struct act_target *t)
{
	forget(t);
	process_close(&t->process);
	t->gone = true;
}

/* Rules that only count leave a process to others */
static bool acts(const struct act *a)
{
	size_t i = 0;

	while (i < a->scheme.nr && a->scheme.rule[i].action == WSMON_ACT_STAT)
		i++;
	return i < a->scheme.nr && !a->dry_run;
}

/*
 * What others took, and how much of it came back, is not known here: two that act on a process
 * would each take what the other one leaves alone. Return: 0, or -1 after a message
 */
static int claim(const struct act *a, struct act_target *t)
{
	if (process_claim(&t->process) != -EWOULDBLOCK)
		return 0;
	msg("another wsmo act acts on process %u%s", t->process.pid,
	    a->cgroup ? ": it is left alone" : "");
	if (!a->cgroup)
		return -1;
	act_let_go(t);
	t->refused = true;
	return 0;
}

/* One of a cgroup may have ended since it was listed; Return: 0, or -1 after a message */
static int add_target(struct act *a, __u32 pid)
{
	struct act_target *t = &a->target[a->nr_targets++];
	int err = process_open(&t->process, pid);

	switch (err) {
	case 0:
		return acts(a) ? claim(a, t) : 0;
	case -ESRCH:
		break;
	case -EINVAL:
	case -ENOENT:
		msg("%u is a thread; name its process", pid);
		return -1;
	case -ENOSYS:
		msg("this kernel has no pidfd_open(), which wsmo act needs (Linux 5.3)");
		return -1;
	default:
		msg("process %u cannot be opened: %s", pid, strerror(-err));
		return -1;
	}
	if (!a->cgroup) {
		msg("there is no process %u", pid);
		return -1;
	}
	act_let_go(t);
	return 0;
}

static int add_targets(struct act *a)
{
	const struct record *r = &a->record;
	size_t i, nr = r->cmd ? 1 : r->pids.nr;

	a->target = need(calloc(nr, sizeof(*a->target)));
	for (i = 0; i < nr; i++)
		if (add_target(a, r->cmd ? (__u32)r->child.pid : r->pids.pid[i]))
			return -1;
	return 0;
}

static bool is_refused(const struct act *a, __u32 pid)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++)
		if (a->target[i].refused && a->target[i].process.pid == pid)
			return true;
	return false;
}

/* Those that are left alone are not monitored, either */
static void drop_refused(struct act *a)
{
	struct pids *pids = &a->record.pids;
	size_t nr = pids->nr, i;

	pids->nr = 0;
	for (i = 0; i < nr; i++)
		if (!is_refused(a, pids->pid[i]))
			pids->pid[pids->nr++] = pids->pid[i];
}

/* Accesses that somebody else saw first were missed */
static void look_at_samplers(struct act *a)
{
	bool before = a->spoilt;
	char name[32];
	size_t i;

	a->spoilt = kdamond_running(name, sizeof(name));
	if (a->spoilt == before)
		return;
	if (a->spoilt)
		msg("DAMON runs (thread %s) and clears the same Accessed bits: nothing is done until it ends (see /sys/kernel/mm/damon/admin/kdamonds, /sys/module/damon_*/parameters/enabled)",
		    name);
	else
		msg("DAMON has ended: all ages begin anew");
	for (i = 0; i < a->nr_targets; i++)
		evidence_doubt(&a->target[i].evidence, clock_now());
}

int act_begin(struct record *r)
{
	struct act *a = act_of(r);
	size_t i, k;

	set_defaults(r);
	a->scanned_ns = clock_now();
	if (add_targets(a))
		return -1;
	drop_refused(a);
	/* one that was listed may have ended, and its pid be another's */
	act_check_members(a);
	if (!r->cmd && !r->pids.nr)
		return -1;
	for (i = 0; i < a->scheme.nr && !a->dry_run; i++)
		for (k = 0; k < a->nr_targets; k++)
			if (check_action(a, &a->target[k], &a->scheme.rule[i]))
				return -1;
	if (limits_start(&a->limits, clock_now()))
		return -1;
	act_report_overlaps(a);
	look_at_swap(a);
	look_at_samplers(a);
	return 0;
}

static struct act_target *find(struct act *a, __u32 pid)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++)
		if (a->target[i].process.pid == pid && !a->target[i].gone)
			return &a->target[i];
	return NULL;
}

/* Lets a target with a secondary MMU go; ends if it was the last one */
static void refuse(struct act *a, struct act_target *t)
{
	size_t i;

	act_let_go(t);
	a->refused = t->refused = true;
	for (i = 0; i < a->nr_targets; i++)
		if (!a->target[i].gone)
			return;
	if (a->record.session.started)
		session_stop(&a->record.session);
}

static bool is_listed(const struct act *a, __u32 pid)
{
	const struct pids *pids = &a->record.pids;
	size_t i;

	for (i = 0; i < pids->nr; i++)
		if (pids->pid[i] == pid)
			return true;
	return false;
}

void act_replace(struct act *a)
{
	struct act_target *before = a->target, *t;
	const struct pids *pids = &a->record.pids;
	size_t nr = a->nr_targets, i;

	/* those that were refused are known, so that they are not listed again */
	a->target = need(calloc(nr + pids->nr, sizeof(*a->target)));
	a->nr_targets = 0;
	for (i = 0; i < nr; i++) {
		t = &before[i];
		if (!t->gone && (!is_listed(a, t->process.pid) || !process_alive(&t->process)))
			act_let_go(t);
		evidence_clear(&t->evidence);
		t->nr = t->total = 0;
		if (t->gone && !t->refused) {
			free(t->region);
			free(t->gaps);
		} else {
			a->target[a->nr_targets++] = *t;
		}
	}
	free(before);
	for (i = 0; i < pids->nr; i++)
		if (!find(a, pids->pid[i]) && add_target(a, pids->pid[i]))
			act_let_go(&a->target[a->nr_targets - 1]);
	drop_refused(a);
	act_check_members(a);
}

int act_gone(struct record *r)
{
	struct pids *pids = &r->pids;
	size_t before = pids->nr, i;

	pids->nr = 0;
	for (i = 0; i < before; i++) {
		struct act_target *t = find(act_of(r), pids->pid[i]);
		struct wsmon_rec_proc proc;

		/* one that is ending has no memory */
		if (t && process_alive(&t->process) && !proc_memory(pids->pid[i], &proc))
			pids->pid[pids->nr++] = pids->pid[i];
		else if (t)
			act_let_go(t);
	}
	return pids->nr && pids->nr < before ? 0 : -1;
}

static void take_target(struct act *a, const struct wsmon_rec_target *rec)
{
	struct act_target *t = find(a, rec->pid);

	if (!t)
		return;
	secondary_take(&rec->rec, a->force ? "" : "; it is left alone without --force");
	if (rec->flags & WSMON_TARGET_SECONDARY_MMU && !a->force) {
		refuse(a, t);
		return;
	}
	if ((rec->flags & WSMON_TARGET_REASON) != WSMON_TARGET_EXEC)
		return;
	forget(t);
	process_exec(&t->process);
}

static void take_exit(struct act *a, const struct wsmon_rec_exit *rec)
{
	struct act_target *t = find(a, rec->pid);

	if (t)
		act_let_go(t);
}

/* Where mappings were coalesced, what is not mapped need not have been */
static void take_area(struct act *a, const struct wsmon_rec_area *rec)
{
	struct act_target *t = find(a, rec->pid);

	if (!t || rec->index >= rec->total)
		return;
	if (rec->total > t->nr_areas) {
		bool *gaps = realloc(t->gaps, rec->total);

		if (!gaps)
			return;
		memset(gaps + t->nr_areas, false, rec->total - t->nr_areas);
		t->gaps = gaps;
		t->nr_areas = rec->total;
	}
	t->gaps[rec->index] = rec->mapped < rec->end - rec->start;
}

/* Collects the parts of a snapshot; drops an incomplete one */
static void take_snapshot(struct act *a, const struct wsmon_rec_snapshot *s)
{
	struct act_target *t = find(a, s->pid);
	size_t i;

	if (!t)
		return;
	if (!s->first)
		t->nr = 0;
	if (s->first != t->nr || (s->first && s->total != t->total))
		return;
	t->total = s->total;
	if (t->nr + s->nr > t->room) {
		struct wsmon_region_entry *region = reallocarray(t->region,
				t->nr + s->nr, sizeof(*region));

		if (!region)
			return;
		t->region = region;
		t->room = t->nr + s->nr;
	}
	memcpy(t->region + t->nr, s->regions, s->nr * sizeof(*s->regions));
	for (i = t->nr; i < t->nr + s->nr; i++)
		t->region[i].area = t->region[i].area < t->nr_areas && t->gaps[t->region[i].area];
	t->nr += s->nr;
	t->snapshot_ns = s->rec.time_ns;
}

/*
 * Memory that was cold a while ago may be in use now: while newer records wait to be
 * read, as after this program was stopped, intervals are evidence but nothing is done.
 */
static bool behind(struct act *a, __u64 at)
{
	bool before = a->behind;
	__u64 now = clock_now();

	a->behind = now > at + LATE && session_behind(&a->record.session);
	if (a->behind && !before)
		msg("%.1f s behind: does nothing until it has caught up",
		    (double)(now - at) / NSEC_PER_SEC);
	return a->behind;
}

/* An interval with missed samples proves nothing */
static void take_interval(struct act *a, const struct wsmon_rec_stats *st)
{
	bool whole = st->missed == a->missed && !a->spoilt;
	bool may = whole && a->record.session.started &&
		   !behind(a, st->rec.time_ns);
	size_t i;

	a->missed = st->missed;
	for (i = 0; i < a->scheme.nr; i++)
		a->stat[i].shadowed_bytes = 0;
	for (i = 0; i < a->nr_targets; i++) {
		struct act_target *t = &a->target[i];

		if (t->gone || !t->nr || t->nr != t->total)
			continue;
		if (evidence_update(&t->evidence, &a->scheme, t->region, t->nr,
				    t->snapshot_ns, whole))
			msg("out of memory: an interval is ignored");
		else if (may)
			act_apply(a, t);
		t->nr = 0;
		t->total = 0;
	}
	table_flush(a->table);
}

/* Lost records may have shown accesses */
static void take_lost(struct act *a, __u64 now)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++)
		evidence_doubt(&a->target[i].evidence, now);
}

static __u64 refaulted(const struct act *a)
{
	__u64 sum = 0;
	size_t i;

	for (i = 0; i < a->scheme.nr; i++)
		sum += a->refaulted[i];
	return sum;
}

/* @ns: max. time for each target */
static void look_at_taken(struct act *a, __u64 ns)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++)
		if (!a->target[i].gone)
			taken_scan(&a->target[i].taken, &a->target[i].process,
				   a->refaulted, clock_now() + ns);
	for (i = 0; i < a->scheme.nr; i++)
		a->stat[i].refaulted_bytes = a->refaulted[i];
}

static void finish(struct act *a)
{
	if (a->final)
		return;
	a->final = true;
	look_at_taken(a, LAST_LOOK);
	act_write(a);
}

void act_take(struct record *r, const struct wsmon_record *rec)
{
	struct act *a = act_of(r);

	switch (rec->type) {
	case WSMON_REC_TARGET:
		take_target(a, (const void *)rec);
		break;
	case WSMON_REC_EXIT:
		take_exit(a, (const void *)rec);
		break;
	case WSMON_REC_AREA:
		take_area(a, (const void *)rec);
		break;
	case WSMON_REC_SNAPSHOT:
		take_snapshot(a, (const void *)rec);
		break;
	case WSMON_REC_LOST:
		take_lost(a, rec->time_ns);
		break;
	case WSMON_REC_STATS:
		take_interval(a, (const void *)rec);
		break;
	case WSMON_REC_END:
		/* nothing may follow END */
		finish(a);
		break;
	}
}

static void progress(const struct act *a)
{
	char time[UNITS_LEN], taken[UNITS_LEN], back[UNITS_LEN], line[160];
	__u64 now = clock_now(), applied = 0;
	size_t i;

	for (i = 0; i < a->scheme.nr; i++)
		applied += a->stat[i].applied_bytes;
	snprintf(line, sizeof(line), "%s  %s acted on, %s came back%s",
		 units_time(time, (now - a->record.start_ns) / NSEC_PER_SEC *
			    NSEC_PER_SEC),
		 units_size(taken, applied), units_size(back, refaulted(a)),
		 limits_reclaim(&a->limits) ? "" : "  (reclaim pauses)");
	msg_progress(line);
}

void act_tick(struct record *r)
{
	struct act *a = act_of(r);
	__u64 sum;

	act_check_members(a);
	act_rescan(a);
	look_at_taken(a, LOOK / a->nr_targets);
	sum = refaulted(a);
	limits_tick(&a->limits, clock_now(),
		    (sum - a->refaulted_before) / sysconf(_SC_PAGESIZE));
	a->refaulted_before = sum;
	look_at_swap(a);
	look_at_samplers(a);
	act_write(a);
	if (!r->quiet && isatty(STDERR_FILENO))
		progress(a);
}

void act_end(struct record *r)
{
	finish(act_of(r));
	r->failed |= act_of(r)->refused;
}

void act_free(struct act *a)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++) {
		struct act_target *t = &a->target[i];

		forget(t);
		process_close(&t->process);
		free(t->region);
		free(t->gaps);
	}
	free(a->target);
	free(a->swap_said);
	act_match_free(&a->match);
}
