// SPDX-License-Identifier: GPL-2.0
/* targets.c - the targets of a recording, and their memory by /proc */
#include <stdlib.h>

#include "cgroup.h"
#include "core/cli.h"
#include "core/clock.h"
#include "libwsmon/util.h"
#include "libwsmon/wsmon_records.h"
#include "procfs.h"
#include "targets.h"

/* Min. time between two PROC records of a target, which follow its WSS records */
#define MEMORY_INTERVAL	(NSEC_PER_SEC * 9 / 10)

/*
 * Reading PSS holds the target's mmap lock and visits all of its pages. So PSS is read every
 * PSS_INTERVAL, or after PSS_PACE times the duration of the last reading if this is longer. The
 * duration of the first reading is estimated from RSS; if it may exceed PSS_AT_ONCE, the first
 * reading is also delayed by PSS_PACE times this estimate.
 */
#define PSS_INTERVAL	(10 * NSEC_PER_SEC)
#define PSS_PACE	1000
#define PSS_PAGE_NS	50
#define PSS_AT_ONCE	(NSEC_PER_SEC / 20)

/**
 * struct target - a target
 * @pid:	the process
 * @gone:	the process has ended
 * @memory_ns:	time of its last PROC record; 0: none
 * @pss_ns:	time of the next reading of PSS; 0: not decided
 */
struct target {
	__u32 pid;
	bool gone;
	__u64 memory_ns;
	__u64 pss_ns;
};

void targets_note(struct targets *t, __u32 pid, bool gone)
{
	const struct target key = { .pid = pid };
	struct target *target;

	if (!t->list.size)
		t->list = SORTED(key, 65536, order_u32);
	if (!t->first)
		t->first = pid;
	target = sorted_get(&t->list, &key);
	if (target)
		target->gone = gone;
}

__u32 targets_next(const struct targets *t, size_t *i)
{
	const struct target *target = t->list.base;

	while (*i < t->list.nr)
		if (!target[(*i)++].gone)
			return target[*i - 1].pid;
	return 0;
}

static __u64 read_pss(struct target *t, __u64 rss)
{
	__u64 begin = clock_now(), pss, took;

	if (!t->pss_ns) {
		took = rss / 4096 * PSS_PAGE_NS;
		t->pss_ns = took > PSS_AT_ONCE ? begin + took * PSS_PACE : begin;
	}
	if (begin < t->pss_ns)
		return 0;
	pss = proc_pss(t->pid);
	took = (clock_now() - begin) * PSS_PACE;
	t->pss_ns = begin + (took > PSS_INTERVAL ? took : PSS_INTERVAL);
	return pss;
}

static void add_memory(struct target *t, struct output *o)
{
	struct wsmon_rec_proc proc = {
		.rec = {
			.type = WSMON_REC_PROC,
			.size = sizeof(proc),
			.time_ns = clock_now(),
		},
		.pid = t->pid,
	};

	if (t->gone || (t->memory_ns &&
			proc.rec.time_ns - t->memory_ns < MEMORY_INTERVAL))
		return;
	t->memory_ns = proc.rec.time_ns;
	if (proc_memory(t->pid, &proc))
		return;
	proc.pss = read_pss(t, proc.rss);
	output_record(o, &proc.rec);
}

void targets_memory(struct targets *t, __u32 pid, struct output *o)
{
	struct target *target = t->list.base;
	size_t i;

	for (i = 0; i < t->list.nr; i++)
		if (!pid || target[i].pid == pid)
			add_memory(&target[i], o);
}

void targets_free(struct targets *t)
{
	free(t->list.base);
}

/* The largest processes of a cgroup */

/* Max. processes looked at */
#define PROCESSES	65536

/* List the processes this often, or less often, so that listing takes at most 1 % of a CPU */
#define LIST_INTERVAL	(5 * NSEC_PER_SEC)
#define LIST_PACE	100

/* Add no targets after this time: on a busy machine, looking at all processes may take minutes */
#define LOOK_MAX	NSEC_PER_SEC

#define LARGE		20	/* a target has at least this part of the RSS of all */

static bool has(const __u32 *pids, size_t nr, __u32 pid)
{
	return nr && bsearch(&pid, pids, nr, sizeof(pid), order_u32);
}

static bool is_target(const struct targets *t, __u32 pid)
{
	size_t i = 0;
	__u32 other;

	while ((other = targets_next(t, &i)))
		if (other == pid)
			return true;
	return false;
}

static void add(struct targets *t, struct output *o, __u32 pid, __u32 reason)
{
	struct wsmon_rec_target rec = {
		.rec = { .type = WSMON_REC_TARGET, .size = sizeof(rec), .time_ns = clock_now() },
		.pid = pid, .flags = reason,
	};

	proc_comm(pid, rec.comm);
	output_record(o, &rec.rec);
	targets_note(t, pid, false);
}

/* Ends targets that are not among @pids; @pids NULL: ends targets whose process has ended */
static void drop(struct targets *t, struct output *o, const __u32 *pids, size_t nr)
{
	struct wsmon_rec_exit rec = {
		.rec = { .type = WSMON_REC_EXIT, .size = sizeof(rec), .time_ns = clock_now() },
	};
	struct wsmon_rec_proc proc;
	size_t i = 0;

	while ((rec.pid = targets_next(t, &i))) {
		if (pids ? has(pids, nr, rec.pid) : !proc_memory(rec.pid, &proc))
			continue;
		output_record(o, &rec.rec);
		targets_note(t, rec.pid, true);
	}
}

static void look(struct members *m, const char *cgroup, struct targets *t, struct output *o)
{
	__u32 *pids = need(calloc(PROCESSES, sizeof(*pids)));
	__u64 *rss = need(calloc(PROCESSES, sizeof(*rss))), sum = 0;
	long found = cgroup_pids(cgroup, pids, PROCESSES);
	size_t nr = found < 0 ? 0 : found < PROCESSES ? found : PROCESSES, i;
	__u64 until_ns = clock_now() + LOOK_MAX;

	drop(t, o, pids, nr);
	for (i = 0; i < nr && clock_now() < until_ns; i++) {
		struct wsmon_rec_proc proc = { 0 };

		if (!proc_memory(pids[i], &proc))
			sum += rss[i] = proc.rss;
	}
	for (i = i < nr ? nr : 0; i < nr; i++)
		if (rss[i] && rss[i] >= sum / LARGE && (!m->pids || has(m->pids, m->nr, pids[i])) &&
		    !is_target(t, pids[i]))
			add(t, o, pids[i], WSMON_TARGET_START);
	free(rss);
	free(m->pids);
	m->pids = pids;
	m->nr = nr;
}

void members_tick(struct members *m, const char *cgroup, struct targets *t, struct output *o)
{
	__u64 now = clock_now(), took;

	drop(t, o, NULL, 0);
	if (now < m->next_ns)
		return;
	took = clock_cpu();
	look(m, cgroup, t, o);
	took = (clock_cpu() - took) * LIST_PACE;
	m->next_ns = now + (took > LIST_INTERVAL ? took : LIST_INTERVAL);
}

struct size {
	__u64 rss;
	__u32 pid;
};

static int larger(const void *x, const void *y)
{
	const struct size *a = x, *b = y;

	return COMPARE(b->rss, a->rss);
}

size_t members_largest(const char *cgroup, __u32 *pids, size_t max)
{
	__u32 *all = need(calloc(PROCESSES, sizeof(*all)));
	struct size *size = need(calloc(PROCESSES, sizeof(*size)));
	long found = cgroup_pids(cgroup, all, PROCESSES);
	size_t nr = 0, i;

	for (i = 0; i < PROCESSES && (long)i < found; i++) {
		struct wsmon_rec_proc proc = { 0 };

		if (!proc_memory(all[i], &proc) && proc.rss)
			size[nr++] = (struct size) { proc.rss, all[i] };
	}
	qsort(size, nr, sizeof(*size), larger);
	nr = nr < max ? nr : max;
	for (i = 0; i < nr; i++)
		pids[i] = size[i].pid;
	free(size);
	free(all);
	return nr;
}

void members_again(struct targets *t, struct output *o)
{
	size_t i = 0;
	__u32 pid;

	while ((pid = targets_next(t, &i)))
		add(t, o, pid, WSMON_TARGET_AGAIN);
}

void members_free(struct members *m)
{
	free(m->pids);
}
