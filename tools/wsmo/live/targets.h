/* SPDX-License-Identifier: GPL-2.0 */
/*
 * targets.h - the targets of a recording, and their memory
 *
 * The stream of a cgroup has only the working set of all processes together. The recorder adds the
 * names and sizes of the largest processes to the file, as targets without working sets.
 */
#ifndef WSMO_RECORD_TARGETS_H
#define WSMO_RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "libwsmon/sorted.h"
#include "output.h"

/**
 * struct targets - the targets; all zero is empty
 * @list:	struct target
 * @first:	pid of the first target
 */
struct targets {
	struct sorted list;
	__u32 first;
};

/** targets_note() - note that a target came or, with @gone, that it ended */
void targets_note(struct targets *t, __u32 pid, bool gone);

/**
 * targets_next() - get the next target that has not ended
 * @i: state of the walk; 0 at first
 * Return: a pid, 0 at the end
 */
__u32 targets_next(const struct targets *t, size_t *i);

/**
 * targets_memory() - write PROC records that are due, about one a second for each target
 * @pid: only this target; 0: all
 */
void targets_memory(struct targets *t, __u32 pid, struct output *o);

/** targets_free() - free everything */
void targets_free(struct targets *t);

/**
 * struct members - the processes of a cgroup; all zero is empty
 * @pids:	@nr processes of the last listing, ascending
 * @next_ns:	when to list the processes again
 */
struct members {
	__u32 *pids;
	size_t nr;
	__u64 next_ns;
};

/**
 * members_tick() - choose which processes are targets; call it once a second
 *
 * A target has at least a twentieth of the RSS of all processes. It existed when recording began,
 * or has existed for five seconds.
 */
void members_tick(struct members *m, const char *cgroup, struct targets *t, struct output *o);

/**
 * members_largest() - list the at most @max processes with the largest RSS
 * Return: their number
 */
size_t members_largest(const char *cgroup, __u32 *pids, size_t max);

/** members_again() - write the TARGET records again, to the next file */
void members_again(struct targets *t, struct output *o);

/** members_free() - free the listing */
void members_free(struct members *m);

#endif /* WSMO_RECORD_TARGETS_H */
