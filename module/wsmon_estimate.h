/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_estimate.h - what samples show: working set sizes
 */
#ifndef WSMON_ESTIMATE_H
#define WSMON_ESTIMATE_H

#include "wsmon_regions.h"

/* wsmon_wss.c: memory that was used and given back within a window */

/**
 * struct wsmon_counts - what the kernel counts of a process, or has counted so far
 * @anon:	pages of anonymous memory, those in swap too
 * @files:	resident pages of files and of shared memory
 * @peak:	the most pages that were resident
 * @faults:	minor faults; U64_MAX: not known
 * @huge:	faults of all processes that made a huge page
 * @huge_pages:	pages of one
 * @hints:	faults of all processes that found their page mapped, as somebody wanted to know
 * @forks:	forks
 * @fork_pages:	anonymous pages at the last one: as many faults may copy a page
 * @used:	pages that were accessed in the last interval, at least
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
 * struct wsmon_went - pages that went
 * @least:	so many came and went
 * @most:	no more went
 */
struct wsmon_went {
	u64 least;
	u64 most;
};

/**
 * struct wsmon_balance - what came and went in a process since its interval began
 * @begin:	its counts at that time
 * @last:	anonymous pages at the last look
 * @peak:	the most of them at any look
 * @fell:	sum of what they were less than at the look before
 * @churn:	moving sum of @fell, of about 8 intervals
 * @copies:	faults to come that may copy a page after the last fork
 * @begun:	@begin is known
 * @suspect:	faults say that memory may have gone; more looks would tell
 */
struct wsmon_balance {
	struct wsmon_counts begin;
	u64 last;
	u64 peak;
	u64 fell;
	u64 churn;
	u64 copies;
	bool begun;
	bool suspect;
};

void wsmon_balance_look(struct wsmon_balance *b, u64 anon);
struct wsmon_went wsmon_balance_end(struct wsmon_balance *b, const struct wsmon_counts *now);

/* What went in so many intervals is kept apart; of long windows, of several together */
#define WSMON_GONE	64U

/**
 * struct wsmon_gone - what went in the intervals of the longest window
 * @past:	a ring of intervals, or of several in a row
 * @end_ns:	when the last of them ended
 * @went:	pages that went, and which no region counts
 * @at:		the latest in @past
 * @nr:		number of intervals in it
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
/* Add to the latest interval what programs had that the process left by exec: it may have been used */
static inline void wsmon_gone_left(struct wsmon_gone *g, u64 pages)
{
	g->past[g->at].went.most += pages;
}

void wsmon_gone_drop(struct wsmon_gone *g, const struct wsmon_interval *iv,
		     const struct wsmon_regions *rs, const struct wsmon_space *now);
struct wsmon_went wsmon_gone_within(const struct wsmon_gone *g, const struct wsmon_interval *iv,
				    u32 k);

/* wsmon_wss.c: new memory, the estimator */
/* The part of the last @ns that was before the last @window of them (Q15) */
static inline u32 wsmon_part_before(u64 ns, u64 window)
{
	ns = min(ns, BIT_ULL(48));
	return ns > window ? div64_u64((ns - window) << WSMON_SHIFT, ns) : 0;
}

/* Maximum number of pages of new memory that are sampled */
#define WSMON_FRESH_MAX		1024

/**
 * struct wsmon_fresh - memory that appeared since the mappings were last read
 * @pages:	its pages by class
 * @drawn:	pages of each class that are sampled
 * @seen:	pages of @drawn found accessed
 * @vague:	pages of @seen that a fault on a page near them may have mapped
 * @late:	some of the memory may be older than the window: what was accessed counts,
 *		but may have been before the window
 * @early:	the part of the time in which the memory appeared that was before the window (Q15)
 * @nr:		pages in @vpn
 * @vpn:	the pages, ascending
 * @class:	their classes
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
 * @low:	lower end of the 95 % interval
 * @high:	upper end
 * @mapped:	the mapped pages that it is a part of
 * @grew:	pages in use that the kernel has made huge pages in the interval: @pages may be so
 *		much more than before
 */
struct wsmon_wss {
	u64 pages;
	u64 low;
	u64 high;
	u64 mapped;
	u64 grew;
};

/* More may be in use than samples can show, up to @high, or as many as @twice may count again */
static inline void wsmon_wss_widen(struct wsmon_wss *w, u64 high, u64 twice)
{
	w->high = min(w->mapped, max(w->high, high));
	w->low -= min(w->low, twice);
}

/*
 * What changes changed by (now - before) within an interval: so a window that is early or late by a
 * part @late of that has so much more or less.
 */
static inline void wsmon_wss_moved(struct wsmon_wss *w, u64 before, u32 late)
{
	u64 change = max(w->pages, before) - min(w->pages, before);
	u64 moved = mul_u64_u64_shr(change, late, WSMON_SHIFT);

	w->low -= min(w->low, moved);
	w->high = min(w->mapped, w->high + moved);
}

/* Index of the sum of all classes but text, after the classes */
#define WSMON_WSS_REST		WSMON_NR_CLASSES
#define WSMON_NR_WSS		(WSMON_NR_CLASSES + 1)

void wsmon_wss_estimate(const struct wsmon_regions *rs, const struct wsmon_space *sp,
			const struct wsmon_fresh *fresh, u32 k,
			struct wsmon_wss wss[WSMON_NR_WSS]);
void wsmon_wss_add_went(struct wsmon_wss wss[WSMON_NR_WSS], struct wsmon_went went);
void wsmon_wss_add_blind(struct wsmon_wss wss[WSMON_NR_WSS], u64 blind);

#endif /* WSMON_ESTIMATE_H */
