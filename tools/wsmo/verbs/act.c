// SPDX-License-Identifier: GPL-2.0
/*
 * act.c - "wsmo act": options, use of the live stream, final summary
 *
 * At the end of each interval the stream has the snapshots of all targets, then STATS. Only STATS
 * tells whether samples were missed. So rules are applied when STATS is read.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act.h"
#include "core/act_table.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/outfile.h"
#include "core/secondary.h"
#include "core/units.h"
#include "libwsmon/wsmon_records.h"
#include "live/cgroup.h"

#define THP_DIR		"/sys/kernel/mm/transparent_hugepage"

/* After swap was full, it is used again when this much is free */
#define SWAP_AGAIN	(16ULL << 20)

/* Records older than this are late; handling an interval takes much less time */
#define LATE		NSEC_PER_SEC

/* A slow machine may be late again and again: print at most one message in this time */
#define SAY_LATE	(60 * NSEC_PER_SEC)

/* Max. time per second for looking for refaults, all targets together */
#define LOOK		(20 * NSEC_PER_MSEC)

/* Max. time for looking for refaults at the end, for each target */
#define LAST_LOOK	(2 * NSEC_PER_SEC)

/* Defaults: estimates of shares and ages need many samples early */
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
	/* longer windows would keep samples on the same pages */
	set_default(r, "window_us", record_setting(r, "aggr_us", NULL));
	/* short intervals must not reduce the number of regions */
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
		msg("%s: this kernel cannot apply it to another process (Linux %s can)",
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

	a->no_swap = meminfo("SwapFree") < (before ? SWAP_AGAIN : 1);
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

/* Stops acting on a target */
static void act_let_go(struct act_target *t)
{
	forget(t);
	process_close(&t->process);
	t->gone = true;
}

/*
 * The processes of a cgroup as targets of "wsmo act"
 *
 * Rules need the regions of targets, and the session of a cgroup has no regions. So the largest
 * processes of the cgroup are made the targets. For new processes, a new session replaces the old
 * session, and all evidence is lost. So this is done rarely, and only after a time in which memory
 * could reach the longest age of a rule.
 */

/* Max. targets: each has at least 1/64 of the regions */
#define TARGETS		64

/* Max. processes looked at */
#define PROCESSES	65536

/* Smaller processes are left alone */
#define SMALLEST	(1ULL << 20)

/* Time until new processes become targets; at least AGES times the longest age of a rule */
#define RESCAN		(10 * NSEC_PER_SEC)
#define AGES		3
/* and at least this many times the CPU time of listing the processes */
#define LIST_PACE	100

struct candidate {
	__u32 pid;
	__u64 rss;
};

static int by_rss(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	return COMPARE(b->rss, a->rss) ?: COMPARE(a->pid, b->pid);
}

/* Return: the target of a process, even if the target is gone; NULL if there is none */
static struct act_target *known(const struct act *a, __u32 pid)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++)
		if (a->target[i].process.pid == pid)
			return &a->target[i];
	return NULL;
}

/* The processes of the cgroup at one moment, ascending; @nr may be more than PROCESSES */
struct listed {
	__u32 *pids;
	long nr;
};

static struct listed list_all(const struct act *a)
{
	struct listed m = { .pids = need(calloc(PROCESSES, sizeof(*m.pids))) };

	m.nr = cgroup_pids(a->cgroup, m.pids, PROCESSES);
	return m;
}

/* If the list is not complete, any process counts as a member */
static bool is_member(const struct listed *m, __u32 pid)
{
	return m->nr > PROCESSES ||
	       (m->nr > 0 && bsearch(&pid, m->pids, m->nr, sizeof(pid), order_u32));
}

/*
 * Is a process in the cgroup or below, by its /proc/PID/cgroup? list_all() would take time for each
 * cgroup below, and users can create many. False may be wrong: a process in another cgroup
 * namespace may show another path.
 */
static bool is_inside(const struct act *a, const struct act_process *p)
{
	char *path = process_cgroup(p);
	size_t len = strlen(a->cgroup);
	bool inside = path && !strncmp(path, a->cgroup, len) && (!path[len] || path[len] == '/');

	free(path);
	return inside;
}

/* Lets go targets that are no longer in the cgroup */
static void act_check_members(struct act *a)
{
	size_t i;

	/* nothing is outside of the root */
	if (!a->cgroup || !a->cgroup[1])
		return;
	for (i = 0; i < a->nr_targets; i++) {
		struct act_target *t = &a->target[i];
		struct listed m;

		if (t->gone || is_inside(a, &t->process) || !process_alive(&t->process))
			continue;
		m = list_all(a);
		if (!is_member(&m, t->process.pid)) {
			msg("process %u is not in %s any more: it is left alone", t->process.pid,
			    a->cgroup);
			act_let_go(t);
		}
		free(m.pids);
	}
}

/* Lists processes to act on. Leaves out kernel threads, refused and small processes, and wsmo */
static size_t candidates(const struct act *a, const __u32 *pids, size_t nr,
			 struct candidate *list)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++) {
		const struct act_target *t = known(a, pids[i]);
		struct wsmon_rec_proc proc = { 0 };

		if (pids[i] == (__u32)getpid() || (t && t->refused) ||
		    proc_memory(pids[i], &proc) || proc.rss < SMALLEST)
			continue;
		list[n++] = (struct candidate) { .pid = pids[i], .rss = proc.rss };
	}
	qsort(list, n, sizeof(*list), by_rss);
	return n;
}

static void say_left_out(struct act *a, size_t nr)
{
	if (nr > a->left_out)
		msg("acts on the %d largest processes of %s, not on %zu others", TARGETS,
		    a->cgroup, nr);
	a->left_out = nr;
}

/* Lists the largest processes of the cgroup, to act on them. Return: 0; -1: no such cgroup */
static int act_list(struct act *a)
{
	struct candidate *list = need(calloc(PROCESSES, sizeof(*list)));
	struct pids *to = &a->record.pids;
	__u64 cpu = clock_cpu();
	struct listed all = list_all(a);
	size_t i, n = 0;

	if (all.nr > 0)
		n = candidates(a, all.pids, all.nr < PROCESSES ? all.nr : PROCESSES, list);
	say_left_out(a, n > TARGETS ? n - TARGETS : 0);
	to->nr = n < TARGETS ? n : TARGETS;
	to->pid = need(reallocarray(to->pid, to->nr + 1, sizeof(*to->pid)));
	for (i = 0; i < to->nr; i++)
		to->pid[i] = list[i].pid;
	free(list);
	free(all.pids);
	a->scan_cpu_ns = clock_cpu() - cpu;
	return all.nr < 0 ? -1 : 0;
}

/* Does any rule act? Rules that only count do not need a claim on processes */
static bool acts(const struct act *a)
{
	size_t i = 0;

	while (i < a->scheme.nr && a->scheme.rule[i].action == WSMON_ACT_STAT)
		i++;
	return i < a->scheme.nr && !a->dry_run;
}

/*
 * Keeps other runs from acting on a target. Only the run that paged memory out knows its refaults,
 * so two runs would page out what the other one leaves alone. Return: 0, or -1 after a message
 */
static int claim(const struct act *a, struct act_target *t)
{
	int err = process_claim(&t->process);
	static bool said;

	if (err != -EWOULDBLOCK) {
		if (err && err != -ESRCH && !said)
			msg("cannot tell whether another wsmo act acts on the same processes: %s",
			    strerror(-err));
		said |= err && err != -ESRCH;
		return 0;
	}
	msg("another wsmo act acts on process %u%s", t->process.pid,
	    a->cgroup ? ": it is left alone" : "");
	if (!a->cgroup)
		return -1;
	act_let_go(t);
	t->refused = true;
	return 0;
}

/* Adds a target. Return: 0; -1 after a message, or if a process of a cgroup has ended meanwhile */
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

/* Removes refused processes from the list of processes to monitor */
static void drop_refused(struct act *a)
{
	struct pids *pids = &a->record.pids;
	size_t nr = pids->nr, i;

	pids->nr = 0;
	for (i = 0; i < nr; i++) {
		const struct act_target *t = known(a, pids->pid[i]);

		if (!t || !t->refused)
			pids->pid[pids->nr++] = pids->pid[i];
	}
}

/* Restarts all ages: accesses may be unseen, as another sampler saw them or records were lost */
static void doubt_all(struct act *a, __u64 now)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++)
		evidence_doubt(&a->target[i].evidence, now);
}

static void look_at_samplers(struct act *a)
{
	bool before = a->spoilt;
	char name[32];

	a->spoilt = kdamond_running(name, sizeof(name));
	if (a->spoilt == before)
		return;
	if (a->spoilt)
		msg("DAMON runs (thread %s) and clears the same Accessed bits: nothing is done until it ends (see /sys/kernel/mm/damon/admin/kdamonds, /sys/module/damon_*/parameters/enabled)",
		    name);
	else
		msg("DAMON has ended: all ages begin anew");
	doubt_all(a, clock_now());
}

/* Hook: open the targets, check that the actions are possible */
static int act_begin(struct record *r)
{
	struct act *a = act_of(r);
	size_t i, k;

	set_defaults(r);
	a->scanned_ns = clock_now();
	if (add_targets(a))
		return -1;
	drop_refused(a);
	/* a listed process may have ended, and a process outside the cgroup may have its pid */
	act_check_members(a);
	if (!r->cmd && !r->pids.nr)
		return -1;
	for (i = 0; i < a->scheme.nr && !a->dry_run; i++)
		for (k = 0; k < a->nr_targets; k++)
			if (check_action(a, &a->target[k], &a->scheme.rule[i]))
				return -1;
	if (limits_start(&a->limits, clock_now()))
		return -1;
	act_report_overlaps(&a->scheme, a->dry_run);
	look_at_swap(a);
	look_at_samplers(a);
	return 0;
}

/* Return: the target of a process; NULL if there is none, or it is gone */
static struct act_target *find(const struct act *a, __u32 pid)
{
	struct act_target *t = known(a, pid);

	return t && !t->gone ? t : NULL;
}

/* Lets a target with a secondary MMU go; stops the session if it was the last target */
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

/* Makes a target of each listed process. Keeps old targets, with their claims and refaults */
static void act_replace(struct act *a)
{
	struct act_target *before = a->target, *t;
	const struct pids *pids = &a->record.pids;
	size_t nr = a->nr_targets, i;

	/* keep refused targets, so that their processes are not listed again */
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

static __u64 rescan_interval(const struct act *a)
{
	__u64 ns = a->scan_cpu_ns * LIST_PACE > RESCAN ? a->scan_cpu_ns * LIST_PACE : RESCAN;
	size_t i;

	for (i = 0; i < a->scheme.nr; i++)
		if (a->scheme.rule[i].min_age_ns > ns / AGES)
			ns = a->scheme.rule[i].min_age_ns * AGES;
	return ns;
}

/* Is a listed process no target, or a target that left the cgroup and came back? */
static bool have_new(const struct act *a)
{
	const struct act_target *t;
	size_t i;

	for (i = 0; i < a->record.pids.nr; i++) {
		t = known(a, a->record.pids.pid[i]);
		if (!t || (t->gone && !t->refused))
			return true;
	}
	return false;
}

/* Begins to act on new processes of the cgroup, unless it is too early */
static void act_rescan(struct act *a)
{
	__u64 now = clock_now();

	if (!a->cgroup || !a->record.session.started ||
	    now - a->scanned_ns < rescan_interval(a))
		return;
	a->scanned_ns = now;
	if (act_list(a) || !a->record.pids.nr || !have_new(a))
		return;
	a->cpu_ns += a->record.stats.cpu_ns;
	a->record.stats.cpu_ns = 0;
	a->missed = 0;
	act_replace(a);
	if (record_restart(&a->record))
		a->record.failed = true;
}

/*
 * Hook: leave out processes of the cgroup that have ended
 * Return: 0; -1 if none is left
 */
static int act_gone(struct record *r)
{
	struct pids *pids = &r->pids;
	size_t before = pids->nr, i;

	pids->nr = 0;
	for (i = 0; i < before; i++) {
		struct act_target *t = find(act_of(r), pids->pid[i]);
		struct wsmon_rec_proc proc;

		/* a process that has no memory is about to end */
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

/* Notes which areas have gaps: there, memory that is not mapped may never have been mapped */
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

/* Collects the parts of a snapshot; drops a snapshot that is not complete */
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
 * Do newer records wait to be read, as after this program was stopped? Memory that was cold at the
 * time of an old record may be in use now. So an old record counts as evidence, but no rule is
 * applied.
 */
static bool behind(struct act *a, __u64 at)
{
	bool before = a->behind;
	__u64 now = clock_now();

	a->behind = now > at + LATE && session_behind(&a->record.session);
	if (!a->behind || before)
		return a->behind;
	a->times_behind++;
	if (!a->behind_said_ns || now - a->behind_said_ns > SAY_LATE) {
		msg("%.1f s behind: no actions until the late records are read", (double)(now - at) / NSEC_PER_SEC);
		a->behind_said_ns = now;
	}
	return true;
}

/* Adds an interval to the evidence; applies the rules unless samples were missed in it */
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

	for (i = 0; i < a->nr_targets; i++) {
		struct act_target *t = &a->target[i];

		if (t->gone)
			continue;
		taken_scan(&t->taken, &t->process, a->refaulted, clock_now() + ns);
		process_rest(&t->process);
	}
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

/* Hook: take a record of the stream */
static void act_take(struct record *r, const struct wsmon_record *rec)
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
		doubt_all(a, rec->time_ns);
		break;
	case WSMON_REC_STATS:
		take_interval(a, (const void *)rec);
		break;
	case WSMON_REC_END:
		/* write the last records now: no record may follow END */
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

/* Hook: once a second, look at refaults, pressure and swap */
static void act_tick(struct record *r)
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

/* Hook: write the last records */
static void act_end(struct record *r)
{
	finish(act_of(r));
	r->failed |= act_of(r)->refused;
}

/* Free the targets */
static void act_free(struct act *a)
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

static void load_scheme(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	if (act_scheme_load(&((struct act *)to)->scheme, arg))
		exit(WSMO_USAGE);
}

static void set_available(struct argp_state *state, char *arg, const struct option_desc *o,
			  void *to)
{
	__u64 bytes = strchr(arg, '%') ? option_percent(state, arg) * meminfo("MemTotal") :
					 option_size(state, arg);

	if (!bytes)
		usage_error(state, "'%s' would never reclaim", arg);
	((struct act *)to)->limits.available_below = bytes;
}

static void set_cpu(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	((struct act *)to)->limits.cpu_per_s = option_percent(state, arg) * NSEC_PER_SEC;
}

static void set_goal(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	struct act_goal *goal = ((struct act *)to)->limits.goals.goal;
	char *value = strchr(arg, '=');
	double target;
	int i = 0;

	while (value && i < ACT_NR_GOALS && strncmp(arg, act_goal_name(i), value - arg))
		i++;
	if (!value || value == arg || i == ACT_NR_GOALS || act_goal_name(i)[value - arg])
		usage_error(state, "'%s' is not a goal: available=SIZE|PERCENT or pressure=PERCENT", arg);
	value++;
	if (i == GOAL_AVAILABLE && !strchr(value, '%'))
		target = (double)option_size(state, value) / meminfo("MemTotal");
	else
		target = option_percent(state, value);
	if (target <= 0)
		usage_error(state, "'%s' would never reclaim", arg);
	if (target > 1)
		usage_error(state, "'%s' is more than this machine has", arg);
	goal[i].target = target;
}

#define AT(member)	OPT_AT(struct act, member)

static const struct option_desc options[] = {
	{ "scheme", 's', "NAME", "Rules: a preset (reclaim, thp) or a file", OPT_CALL, .call = load_scheme },
	{ "dry-run", 'n', NULL, "Do nothing, print what would be done", OPT_FLAG, AT(dry_run) },
	{ "--cgroup=CGROUP, --all", .help = "Act on processes of a cgroup, or all", .kind = OPT_DOC },
	CGROUP_OPTIONS(NULL, AT(cgroup)),
	{ "show", 0, NULL, NULL, OPT_FLAG, AT(show) },
	{ "log", 'l', NULL, "Print each action, as --dry-run does", OPT_FLAG, AT(log) },
	{ "output", 'o', "FILE", "Also record to FILE", OPT_TEXT, AT(record.file) },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(record.quiet) },
	{ "force", 0, NULL, NULL, OPT_FLAG, AT(force) },
	{ "class", 0, "CLASS,...", "Act on these classes only (data,heap,stack,anon)", OPT_CLASSES, AT(classes) },
	{ "quota-bytes", 0, "SIZE", "Act on at most SIZE a second (256M)", OPT_SIZE, AT(limits.bytes_per_s) },
	{ "quota-cpu", 0, "PERCENT", "Use at most this much of one CPU to act (50%)", OPT_CALL, .call = set_cpu },
	{ "max-refaults", 0, "N", "Pause if N pages a second come back (100)", OPT_COUNT,
	  AT(limits.max_refaults), 0, INT_MAX },
	{ "max-pressure", 0, "PERCENT", "Pause above this memory pressure (10%)", OPT_PERCENT,
	  AT(limits.max_pressure) },
	{ "goal", 0, "GOAL", "Reclaim just enough: available=10%, pressure=0.5%", OPT_CALL, .call = set_goal },
	{ "when-available", 0, "SIZE", "Reclaim only while less is available; 1G, 10%", OPT_CALL, .call = set_available },
	{ "when-pressure", 0, "PERCENT", "Reclaim only above this pressure", OPT_PERCENT,
	  AT(limits.pressure_above) },
	{ 0 }
};

static void check(struct argp_state *state, void *to)
{
	struct act *a = to;

	if (!a->limits.bytes_per_s || !a->limits.cpu_per_s)
		usage_error(state, "--quota-%s 0 would never act; see --dry-run",
			    a->limits.cpu_per_s ? "bytes" : "cpu");
	if (a->limits.goals.goal[GOAL_PRESSURE].target > a->limits.max_pressure)
		usage_error(state, "--goal pressure is above --max-pressure, which pauses reclaim");
	a->record.optional = a->show || a->cgroup;
	record_check(state, &a->record);
	if (a->cgroup && (a->record.cmd || a->record.pids.nr))
		usage_error(state, "--cgroup and --all name the processes: neither -p nor a command");
	if (!a->scheme.nr)
		usage_error(state, "no rules: name a preset or a file with --scheme; presets are in %s",
			    act_scheme_dir());
	if (a->record.file && outfile_is_stdout(a->record.file))
		usage_error(state, "standard output has the actions: name a file with -o");
	a->log |= a->dry_run;
	if (!a->classes)
		a->classes = 1U << WSMON_CLASS_DATA | 1U << WSMON_CLASS_HEAP |
			     1U << WSMON_CLASS_STACK | 1U << WSMON_CLASS_ANON;
}

static void report(const struct record *r)
{
	const struct act *a = (const struct act *)(const void *)r;
	__u64 lost = record_lost(r), ran = r->end_ns - r->start_ns, cpu = 0;
	char time[UNITS_LEN];
	size_t i;

	act_print(a);
	if (lost)
		msg("LOST %llu records that found no room in the module's buffer: actions were delayed",
		    lost);
	if (a->times_behind > 1)
		msg("was behind %llu times", a->times_behind);
	if (r->quiet)
		return;
	for (i = 0; i < a->scheme.nr; i++)
		cpu += a->stat[i].cpu_ns;
	if (r->stats.rec.size && ran)
		msg("in %s: monitoring took %.2f %% of one CPU, acting %.2f %%; backed off %llu times",
		    units_time(time, ran), 100.0 * (a->cpu_ns + r->stats.cpu_ns) / ran,
		    100.0 * cpu / ran, a->limits.pauses);
	if (r->file && r->output.bytes)
		msg("now see: wsmo report act -i %s", r->file);
}

/* Return: 0, or -1 after a message */
static int list_processes(struct act *a)
{
	if (act_list(a)) {
		msg("no such cgroup (of version 2): %s", a->cgroup);
		return -1;
	}
	if (!a->record.pids.nr) {
		msg("%s has no process with at least 1 MiB of memory", a->cgroup);
		return -1;
	}
	return 0;
}

int cmd_act(int argc, char **argv)
{
	static struct act a = {
		.record = RECORD_INIT("act on"),
		.limits = {
			.bytes_per_s = 256ULL << 20,
			.cpu_per_s = NSEC_PER_SEC / 2,
			.max_refaults = 100,
			.max_pressure = 0.1,
			.pressure_above = -1,
		},
	};
	int status;

	a.record.hooks = (struct record_hooks) {
		.begin = act_begin, .take = act_take, .tick = act_tick,
		.end = act_end, .report = report,
	};
	options_parse(&(struct command_line) {
		.name = "wsmo act",
		.args = "-s NAME -p PID,... | --cgroup CGROUP\n-s NAME [--] COMMAND [ARG...]",
		.doc = "Page out cold memory, put hot memory into huge pages."
		       "\vwsmo-act(1) describes the rules and more options, wsmo-record(1) how to "
		       "monitor. Its defaults here: --sample 100ms --aggr 200ms --cpu 6%.",
		.groups = {
			OPT_GROUP(options, &a), OPT_GROUP(record_target_options, &a.record),
			OPT_GROUP(record_attr_options, &a.record, .hidden = true),
			OPT_GROUP(format_options, &a.format), OPT_GROUP(debugfs_options, NULL, .hidden = true),
		},
		.to = &a, .command = record_command, .check = check,
	}, argc, argv);
	if (a.show) {
		act_show_rules(&a.scheme, a.format);
		act_report_overlaps(&a.scheme, a.dry_run);
		return WSMO_OK;
	}
	record_follow(&a.record, false, NULL);
	if (a.cgroup) {
		a.limits.psi = cgroup_file(a.cgroup, "memory.pressure");
		a.record.hooks.gone = act_gone;
		if (list_processes(&a))
			return WSMO_FAILURE;
	}
	status = record_run(&a.record);
	free(a.cgroup);
	free(a.limits.psi);
	act_free(&a);
	return status;
}
