/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_estimate.h - estimates of the working set size
 */
#ifndef WSMON_ESTIMATE_H
#define WSMON_ESTIMATE_H

#include "wsmon_regions.h"

/* wsmon_wss.c: memory that was used and given back within a window */

/**
 * struct wsmon_counts - the kernel's counts of a process
 * @anon:	pages of anonymous memory, including swap
 * @files:	resident pages of files and of shared memory
 * @peak:	maximum number of resident pages so far
 * @faults:	minor faults so far; U64_MAX: unknown
 * @huge:	faults of all processes so far that allocated a huge page
 * @huge_pages:	base pages in a huge page
 * @hints:	hint faults of all processes so far, by NUMA balancing and by the second sampler
 * @forks:	forks so far
 * @fork_pages:	anonymous pages at the last fork: at most this many faults copy a page after it
 * @used:	lower bound of the pages accessed in the last interval
 */
struct wsmon_counts {
	u64 anon;
	u64 files;
	u64 peak;
	u64 faults;
	u64 huge;
	u64 huge_pages;
	u64 hints;
	u64 forks;
	u64 fork_pages;
	u64 used;
};

/**
 * struct wsmon_went - bounds of the number of pages that were freed
 * @least:	at least this many pages appeared and were freed
 * @most:	at most this many pages were freed
 * @late:	at least this many more were freed between the end of the interval and the last look
 *		at its samples and at new memory. They may have been used in this interval; the next
 *		interval's @most includes them, too
 */
struct wsmon_went {
	u64 least;
	u64 most;
	u64 late;
};

/**
 * struct wsmon_balance - anonymous pages that appeared in a process or were freed in an interval
 * @begin:	the process's counts when the interval began
 * @last:	anonymous pages at the last look
 * @peak:	maximum of the anonymous pages at any look
 * @fell:	sum of the decreases of anonymous pages from one look to the next
 * @churn:	moving sum of the decreases over about 8 intervals
 * @copies:	number of future faults that may copy a page after the last fork
 * @begun:	@begin is set
 * @frees:	the process frees memory: @churn was large enough when the last interval ended
 * @suspect:	the faults suggest that memory was freed: more looks would show it
 */
struct wsmon_balance {
	struct wsmon_counts begin;
	u64 last;
	u64 peak;
	u64 fell;
	u64 churn;
	u64 copies;
	bool begun;
	bool frees;
	bool suspect;
};

void wsmon_balance_look(struct wsmon_balance *b, u64 anon);
struct wsmon_went wsmon_balance_end(struct wsmon_balance *b, const struct wsmon_counts *now);

/*
 * Like wsmon_balance_look(). Return: the decrease since the last look or wsmon_balance_end(), for
 * @late of struct wsmon_went; 0 if the process shows no sign of freeing memory.
 */
static inline u64 wsmon_balance_late(struct wsmon_balance *b, u64 anon)
{
	u64 before = b->fell;

	wsmon_balance_look(b, anon);
	return b->frees ? b->fell - before : 0;
}

/* Entries for freed pages; if the longest window has more intervals, each entry sums several */
#define WSMON_GONE	64U

/**
 * struct wsmon_gone - pages freed during the longest window
 * @past:	ring of entries, each for one interval or several successive intervals
 * @past.end_ns: when the last interval of the entry ended
 * @past.went:	pages that were freed in its intervals and that no region counts
 * @at:		index of the latest entry
 * @nr:		number of intervals in the latest entry
 */
struct wsmon_gone {
	struct {
		u64 end_ns;
		struct wsmon_went went;
	} past[WSMON_GONE];
	u32 at;
	u32 nr;
};

void wsmon_gone_add(struct wsmon_gone *g, const struct wsmon_interval *iv,
		    struct wsmon_went went, const struct wsmon_regions *rs,
		    const struct wsmon_space *sp);
/*
 * Add the pages of a program that the process left by exec to the latest entry, as an upper bound:
 * they may have been used.
 */
static inline void wsmon_gone_left(struct wsmon_gone *g, u64 pages)
{
	g->past[g->at].went.most += pages;
}

void wsmon_gone_drop(struct wsmon_gone *g, const struct wsmon_interval *iv,
		     const struct wsmon_regions *rs, const struct wsmon_space *now);
struct wsmon_went wsmon_gone_within(const struct wsmon_gone *g, const struct wsmon_interval *iv,
				    u32 k);

/* wsmon_wss.c: new memory, the estimator */
/* The part (Q15) of the last @ns that precedes the last @window ns; 0 if @window is longer */
static inline u32 wsmon_part_before(u64 ns, u64 window)
{
	ns = min(ns, BIT_ULL(48));
	return ns > window ? div64_u64((ns - window) << WSMON_SHIFT, ns) : 0;
}

/* Maximum number of pages of new memory that are sampled */
#define WSMON_FRESH_MAX		1024

/**
 * struct wsmon_fresh - memory that appeared since the mappings were last read
 * @pages:	pages of each class
 * @drawn:	sampled pages of each class
 * @seen:	sampled pages of each class that were found accessed
 * @vague:	pages among @seen that a fault on a page near them may have mapped, or that are not
 *		known to be accessed because older memory was made huge together with them
 * @late:	some of the memory may be older than the window: its accessed pages count, but may
 *		have been accessed before the window
 * @early:	part of the period in which the memory appeared that precedes the window (Q15)
 * @nr:		number of sampled pages
 * @vpn:	the sampled pages, ascending
 * @class:	class of each sampled page
 */
struct wsmon_fresh {
	u64 pages[WSMON_NR_CLASSES];
	u32 drawn[WSMON_NR_CLASSES];
	u32 seen[WSMON_NR_CLASSES];
	u32 vague[WSMON_NR_CLASSES];
	bool late;
	u32 early;
	u32 nr;
	u64 vpn[WSMON_FRESH_MAX];
	u8 class[WSMON_FRESH_MAX];
};

void wsmon_fresh_draw(struct wsmon_fresh *f, const struct wsmon_space *now,
		      const struct wsmon_space *then, u64 random, u32 max);

/**
 * struct wsmon_wss - a working set size
 * @pages:	the estimate
 * @low:	lower end of the 95 % confidence interval
 * @high:	upper end of the 95 % confidence interval
 * @mapped:	the mapped pages of which the working set is a part
 * @grew:	pages in use that the kernel made huge in the interval: the most by which this may
 *		have increased @pages
 */
struct wsmon_wss {
	u64 pages;
	u64 low;
	u64 high;
	u64 mapped;
	u64 grew;
};

/*
 * Widen the confidence interval, because up to @high pages may be in use, more than samples show,
 * and up to @twice pages may count twice.
 */
static inline void wsmon_wss_widen(struct wsmon_wss *w, u64 high, u64 twice)
{
	w->high = min(w->mapped, max(w->high, high));
	w->low -= min(w->low, twice);
}

/*
 * Widen the confidence interval if a window is early or late by a part @late (Q15) of an interval:
 * if the size changed by D pages within the interval, this makes a difference of @late * D pages.
 * @before:	the size before the interval, pages
 */
static inline void wsmon_wss_moved(struct wsmon_wss *w, u64 before, u32 late)
{
	u64 change = max(w->pages, before) - min(w->pages, before);
	u64 moved = mul_u64_u64_shr(change, late, WSMON_SHIFT);

	w->low -= min(w->low, moved);
	w->high = min(w->mapped, w->high + moved);
}

/* Index of the sum of all classes except text; it follows the classes */
#define WSMON_WSS_REST		WSMON_NR_CLASSES
#define WSMON_NR_WSS		(WSMON_NR_CLASSES + 1)

void wsmon_wss_estimate(const struct wsmon_regions *rs, const struct wsmon_space *sp,
			const struct wsmon_fresh *fresh, u32 k,
			struct wsmon_wss wss[WSMON_NR_WSS]);
void wsmon_wss_add_went(struct wsmon_wss wss[WSMON_NR_WSS], struct wsmon_went went);
void wsmon_wss_add_blind(struct wsmon_wss wss[WSMON_NR_WSS], u64 blind);

#endif /* WSMON_ESTIMATE_H */
