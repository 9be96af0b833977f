// SPDX-License-Identifier: GPL-2.0
/* filter.c - selects a part of a recording: time, processes, classes, windows */
#include <limits.h>
#include <stdlib.h>

#include "filter.h"
#include "libwsmon.h"

bool pids_has(const struct pids *pids, __u32 pid)
{
	size_t i;

	for (i = 0; i < pids->nr; i++)
		if (pids->pid[i] == pid)
			return true;
	return false;
}

void filter_init(struct filter *f)
{
	*f = (struct filter) { .from_ns = LLONG_MIN, .to_ns = LLONG_MAX };
}

void filter_free(struct filter *f)
{
	free(f->pids.pid);
}

bool filter_is_all(const struct filter *f)
{
	return f->from_ns == LLONG_MIN && f->to_ns == LLONG_MAX && !f->pids.nr &&
	       !f->classes && !f->nr_windows;
}

double filter_time(const struct filter *f, __u64 time_ns)
{
	return (__s64)(time_ns - f->zero_ns) / 1e9;
}

bool filter_wants(const struct filter *f, const struct wsmon_record *rec)
{
	__s64 t = rec->time_ns - f->zero_ns;
	__u32 pid;

	if (t < f->from_ns || t > f->to_ns)
		return false;
	/* a mark belongs to all targets */
	if (!f->pids.nr || rec->type == WSMON_REC_MARK)
		return true;
	return wsmon_record_pid(rec, &pid) && pids_has(&f->pids, pid);
}

bool filter_wants_pid(const struct filter *f, __u32 pid)
{
	return !f->pids.nr || pids_has(&f->pids, pid);
}

bool filter_wants_class(const struct filter *f, __u32 class)
{
	return !f->classes || (class < 32 && (f->classes & (1U << class)));
}

bool filter_wants_window(const struct filter *f, __u64 window_us)
{
	__u32 i;

	for (i = 0; i < f->nr_windows; i++)
		if (f->windows[i] == window_us)
			return true;
	return !f->nr_windows;
}
