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
 * struct wsmon_round - one pass over a target's sample pages
 * @mm:		the address space, referenced
 * @stats:	counters
 * @dirty_tlb:	processors may use translations and not tell
 */
struct wsmon_round {
	struct mm_struct *mm;
	struct wsmon_stats *stats;
	bool dirty_tlb;
};

/**
 * struct wsmon_sampler - a way to learn whether a page is accessed
 * @prepare:	begin a round; no locks held, may sleep
 * @visit:	do what enum wsmon_visit says to an entry; its lock is held, may
 *		not sleep. @stolen belongs to the sample: set it to have the
 *		next visit know. Return: accessed since the last visit
 * @finish:	end a round; no locks held, may sleep
 */
struct wsmon_sampler {
	void (*prepare)(struct wsmon_round *round);
	bool (*visit)(struct wsmon_round *round, const struct wsmon_entry *e,
		      enum wsmon_visit visit, bool *stolen);
	void (*finish)(struct wsmon_round *round);
};

extern const struct wsmon_sampler wsmon_sampler_young;

#endif /* WSMON_WALK_H */
