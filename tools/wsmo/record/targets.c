// SPDX-License-Identifier: GPL-2.0
/*
 * targets.c - the targets of a recording, and their PROC records
 */
#include <stdlib.h>

#include "cli/clock.h"
#include "session/procfs.h"
#include "targets.h"
#include "libwsmon/util.h"

/* Min. time between two PROC records of a target: one follows each WSS record */
#define MEMORY_INTERVAL	(NSEC_PER_SEC * 9 / 10)

/*
 * Reading PSS holds the target's mmap lock, and visits each of its pages. So it is
 * read every PSS_INTERVAL, or less often: after PSS_PACE times the time reading took.
 * The first reading waits as long, by an estimate from RSS, if it may take more than
 * PSS_AT_ONCE.
 */
#define PSS_INTERVAL	(10 * NSEC_PER_SEC)
#define PSS_PACE	1000
#define PSS_PAGE_NS	50
#define PSS_AT_ONCE	(NSEC_PER_SEC / 20)

/**
 * struct target - a target
 * @pid:	the process
 * @gone:	it ended
 * @memory_ns:	time of its last PROC record, 0 if there is none
 * @pss_ns:	when to read PSS next, 0 if not decided
 */
struct target {
	__u32 pid;
	bool gone;
	__u64 memory_ns;
	__u64 pss_ns;
};

static int compare(const void *x, const void *y)
{
	const struct target *a = x, *b = y;

	return COMPARE(a->pid, b->pid);
}

void targets_note(struct targets *t, __u32 pid, bool gone)
{
	const struct target key = { .pid = pid };
	struct target *target;

	if (!t->list.size)
		t->list = (struct sorted) {
			.size = sizeof(key), .max = 65536, .compare = compare,
		};
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
