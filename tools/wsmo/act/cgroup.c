// SPDX-License-Identifier: GPL-2.0
/*
 * cgroup.c - the processes of a cgroup as targets of "wsmo act"
 *
 * Rules need the regions of targets, which a session of a cgroup does not have. So its largest
 * processes are targets. Others begin, and their session with them: evidence then begins
 * anew, so that is done seldom, and not before the longest age of a rule has had its time.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act.h"
#include "cli/cli.h"
#include "cli/clock.h"
#include "libwsmon/wsmon_records.h"
#include "session/cgroup.h"

/* Max. targets: each has at least a sixty-fourth of the regions */
#define TARGETS		64

/* Max. processes looked at */
#define PROCESSES	65536

/* Smaller ones are not worth it */
#define SMALLEST	(1ULL << 20)

/* New processes become targets this often, or after AGES times the longest age of a rule */
#define RESCAN		(10 * NSEC_PER_SEC)
#define AGES		3

/* ... or after so many times the CPU time that listing them took */
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

static const struct act_target *known(const struct act *a, __u32 pid)
{
	size_t i;

	for (i = 0; i < a->nr_targets; i++)
		if (a->target[i].process.pid == pid)
			return &a->target[i];
	return NULL;
}

static int compare_pids(const void *x, const void *y)
{
	return COMPARE(*(const __u32 *)x, *(const __u32 *)y);
}

/* The processes of the cgroup, listed at a time */
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

/* What does not fit in the list may be a member */
static bool is_member(const struct listed *m, __u32 pid)
{
	return m->nr > PROCESSES ||
	       (m->nr > 0 && bsearch(&pid, m->pids, m->nr, sizeof(pid), compare_pids));
}

/*
 * Listing costs as much as there are cgroups, which their users can make: ask the process. It names
 * the cgroup otherwise if that is seen in another namespace of cgroups.
 */
static bool is_inside(const struct act *a, const struct act_process *p)
{
	char *path = process_cgroup(p);
	size_t len = strlen(a->cgroup);
	bool inside = path && !strncmp(path, a->cgroup, len) && (!path[len] || path[len] == '/');

	free(path);
	return inside;
}

void act_check_members(struct act *a)
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

/* Those worth acting on: no kernel threads, none that was refused, not this one */
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

int act_list(struct act *a)
{
	__u32 *pids = need(calloc(PROCESSES, sizeof(*pids)));
	struct candidate *list = need(calloc(PROCESSES, sizeof(*list)));
	struct pids *to = &a->record.pids;
	__u64 cpu = clock_cpu();
	long nr = cgroup_pids(a->cgroup, pids, PROCESSES);
	size_t i, n = 0;

	if (nr > 0)
		n = candidates(a, pids, nr < PROCESSES ? nr : PROCESSES, list);
	say_left_out(a, n > TARGETS ? n - TARGETS : 0);
	to->nr = n < TARGETS ? n : TARGETS;
	to->pid = need(reallocarray(to->pid, to->nr + 1, sizeof(*to->pid)));
	for (i = 0; i < to->nr; i++)
		to->pid[i] = list[i].pid;
	free(list);
	free(pids);
	a->scan_cpu_ns = clock_cpu() - cpu;
	return nr < 0 ? -1 : 0;
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

/* Is there a process that is no target, or was one before it left? */
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

void act_rescan(struct act *a)
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
