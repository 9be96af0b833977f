/* SPDX-License-Identifier: GPL-2.0 */
/*
 * targets.h - the targets of a recording, and how much memory they have
 *
 * Of a cgroup the stream has the working set of all processes together. Beside it the file gets
 * the names of the processes that hold most memory, and how much: as targets without working sets.
 */
#ifndef WSMO_RECORD_TARGETS_H
#define WSMO_RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "libwsmon/sorted.h"
#include "output.h"

/**
 * struct targets - the targets; all zero is none
 * @list:	struct target
 * @first:	pid of the first one
 */
struct targets {
	struct sorted list;
	__u32 first;
};

/** targets_note() - note that a target came, or (@gone) that it ended */
void targets_note(struct targets *t, __u32 pid, bool gone);

/**
 * targets_next() - walk through the targets that have not ended
 * @i: 0 at first
 * Return: a pid, 0 at the end
 */
__u32 targets_next(const struct targets *t, size_t *i);

/**
 * targets_memory() - write PROC records, each target's about once a second
 * @pid: of this target only; 0 for all
 */
void targets_memory(struct targets *t, __u32 pid, struct output *o);

/** targets_free() - free everything */
void targets_free(struct targets *t);

/**
 * struct members - the processes; all zero is none
 * @pids:	@nr of the last listing, ascending
 * @next_ns:	when to list them again
 */
struct members {
	__u32 *pids;
	size_t nr;
	__u64 next_ns;
};

/**
 * members_tick() - choose which processes are targets; to be called each second
 *
 * A target has a twentieth of the RSS of all, and was there at the beginning or for five seconds.
 */
void members_tick(struct members *m, const char *cgroup, struct targets *t, struct output *o);

/** members_largest() - list the @max processes with most memory, RSS; Return: how many */
size_t members_largest(const char *cgroup, __u32 *pids, size_t max);

/** members_again() - write the TARGET records again, to another file */
void members_again(struct targets *t, struct output *o);

/** members_free() - free the listing */
void members_free(struct members *m);

#endif /* WSMO_RECORD_TARGETS_H */
