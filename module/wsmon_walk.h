/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_walk.h - what a sampler does to sample pages, and what the walk offers
 */
#ifndef WSMON_WALK_H
#define WSMON_WALK_H

#include "wsmon_internal.h"

/**
 * struct wsmon_entry - the page-table entry of a sample page
 * @vma:	its mapping, under the mmap lock
 * @val:	the entry: present, and under its lock during a visit
 * @pfn:	the page frame, if @has_folio
 * @has_folio:	it is an ordinary page that reclaim may know
 */
struct wsmon_entry {
	struct vm_area_struct *vma;
	unsigned long *val;
	unsigned long pfn;
	bool has_folio;
};

/**
 * struct wsmon_pass - one pass over a target's sample pages
 * @target:	whose; NULL where nothing is changed
 * @mm:		the address space, referenced
 * @stats:	counters
 * @dirty_tlb:	processors may use translations and not tell
 * @settle:	the last one of an interval, or of a second: debts are to be paid, if
 *		they can be
 * @returned:	the last entry whose bit was set again
 * @kept:	the last entry of a sample that was not dropped
 * @kept_debt:	that sample's
 */
struct wsmon_pass {
	const struct wsmon_target *target;
	struct mm_struct *mm;
	struct wsmon_stats *stats;
	bool dirty_tlb;
	bool settle;
	const unsigned long *returned;
	const unsigned long *kept;
	u8 *kept_debt;
};

/**
 * struct wsmon_sampler - a way to learn whether a page is accessed
 * @prepare:	begin a round; no locks held, may sleep
 * @visit:	do what enum wsmon_sample_op says to an entry; its lock is held, may
 *		not sleep. @debt belongs to the sample: what it is set to the
 *		next visit finds, unless the sample is given up. Return: accessed
 *		since the last visit
 * @finish:	end a round; no locks held, may sleep
 * @idle_mask:	a present entry that has none of these bits was not accessed since
 *		the last visit: WSMON_SAMPLE_CHECK has nothing to do, except in a
 *		round that settles
 */
struct wsmon_sampler {
	void (*prepare)(struct wsmon_pass *round);
	bool (*visit)(struct wsmon_pass *round, const struct wsmon_entry *e,
		      enum wsmon_sample_op op, u8 *debt);
	void (*finish)(struct wsmon_pass *round);
	unsigned long idle_mask;
};

extern const struct wsmon_sampler wsmon_sampler_young;

#endif /* WSMON_WALK_H */
