// SPDX-License-Identifier: GPL-2.0
/*
 * members.c - the largest processes of a cgroup that is recorded
 */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "members.h"
#include "session/cgroup.h"
#include "session/procfs.h"

/* Max. processes looked at */
#define PROCESSES	65536

/* They are listed this often, or after so many times the CPU time that listing took */
#define LIST_INTERVAL	(5 * NSEC_PER_SEC)
#define LIST_PACE	100

#define LARGE		20	/* a target has this part of the memory of all */

static int compare(const void *x, const void *y)
{
	const __u32 *a = x, *b = y;

	return COMPARE(*a, *b);
}

static bool has(const __u32 *pids, size_t nr, __u32 pid)
{
	return nr && bsearch(&pid, pids, nr, sizeof(pid), compare);
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

/* Those that have ended, or are not among @pids, if there are any */
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

	drop(t, o, pids, nr);
	for (i = 0; i < nr; i++) {
		struct wsmon_rec_proc proc = { 0 };

		if (!proc_memory(pids[i], &proc))
			sum += rss[i] = proc.rss;
	}
	for (i = 0; i < nr; i++)
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
