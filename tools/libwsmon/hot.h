/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hot.h - how often each address was accessed over a recording
 *
 * Regions differ from snapshot to snapshot. So their figures are summed in cells: the ranges
 * between the borders of all regions so far.
 */
#ifndef WSMO_HOT_H
#define WSMO_HOT_H

#include <stdbool.h>

#include "sorted.h"
#include "wsmon.h"

/**
 * struct hot_cell - a range and its use
 * @start:	first address
 * @end:	end, exclusive
 * @share:	sum over the snapshots of share x seconds
 * @freq:	sum over the snapshots of freq x seconds
 * @max_share:	the highest share; 1 is all pages
 * @best_ns:	end of the interval with the highest freq
 * @best_freq:	freq at @best_ns; WSMON_SHARE_ONE is all rounds
 * @best_share:	share at @best_ns; WSMON_SHARE_ONE is all pages
 * @age_ms:	age in the last snapshot
 * @class:	enum wsmon_class at @best_ns
 * @place:	number that @place of struct hot returned at @best_ns
 */
struct hot_cell {
	__u64 start;
	__u64 end;
	double share;
	double freq;
	double max_share;
	__u64 best_ns;
	__u16 best_freq;
	__u16 best_share;
	__u32 age_ms;
	__u32 class;
	__u32 place;
};

/**
 * struct hot_target - one of the address spaces that a target had
 * @pid:	the target
 * @life:	number of programs that it executed before
 * @seconds:	sum of the intervals of its snapshots
 * @cell:	disjoint cells in address order
 * @nr:		number of cells
 * @room:	number of cells that are allocated
 */
struct hot_target {
	__u32 pid;
	__u32 life;
	double seconds;
	struct hot_cell *cell;
	size_t nr;
	size_t room;
};

/**
 * struct hot - the address spaces of all targets
 * @targets:	struct hot_target, by pid and life
 * @place:	returns a number that identifies the mapping at the start of a region
 * @data:	first argument of @place
 * @cells:	number of cells of all targets
 * @max:	maximum of @cells; 0 before the first snapshot
 * @looks:	cells looked at so far, beyond HOT_LOOKS for each region
 * @scratch:	memory to make the cells of a snapshot
 * @room:	number of cells allocated at @scratch
 * @coarse:	cells were joined, or cold cells dropped, to limit memory
 * @too_many:	targets were left out to limit memory
 */
struct hot {
	struct sorted targets;
	__u32 (*place)(void *data, __u32 pid, const struct wsmon_region_entry *e);
	void *data;
	size_t cells;
	size_t max;
	__s64 looks;
	struct hot_cell *scratch;
	size_t room;
	bool coarse;
	bool too_many;
};

/**
 * hot_snapshot() - add a SNAPSHOT record, which may be a part of a snapshot
 * Return: 0; -ENOMEM if the record was not added
 */
int hot_snapshot(struct hot *h, const struct wsmon_rec_snapshot *s)
	__attribute__((warn_unused_result));

/** hot_exec() - begin a new address space of a target */
void hot_exec(struct hot *h, __u32 pid);

/**
 * hot_fold() - join adjacent cells that have the same class and place, and a similar freq
 */
void hot_fold(struct hot_target *t);

/** hot_free() - free all cells and targets, but not @h */
void hot_free(struct hot *h);

#endif /* WSMO_HOT_H */
