/* SPDX-License-Identifier: GPL-2.0 */
/*
 * members.h - the largest processes of a cgroup that is recorded
 *
 * The stream has the working set of all of them together. Beside it the file gets the names
 * of those that hold most memory, and how much: as targets without working sets.
 */
#ifndef WSMO_RECORD_MEMBERS_H
#define WSMO_RECORD_MEMBERS_H

#include "record/file/output.h"
#include "targets.h"

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
 * members_tick() - look which of them are to be targets; to be called each second
 *
 * Those with a twentieth of the memory of all, RSS, that were there at the beginning, or have
 * been for five seconds.
 */
void members_tick(struct members *m, const char *cgroup, struct targets *t, struct output *o);

/** members_largest() - list the @max processes with most memory, RSS; Return: how many */
size_t members_largest(const char *cgroup, __u32 *pids, size_t max);

/** members_again() - write the TARGET records again, to another file */
void members_again(struct targets *t, struct output *o);

/** members_free() - free the listing */
void members_free(struct members *m);

#endif /* WSMO_RECORD_MEMBERS_H */
