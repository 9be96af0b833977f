/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_regions.h - a target's mapped pages, the regions that tile them, and their samples
 *
 * Pure: structures and functions that need no kernel. tests/unit also compiles regions, space,
 * adapt, wss, peaks, pace and parse for userland.
 *
 * Addresses are virtual page numbers (vpn), sizes are pages, times are nanoseconds of
 * CLOCK_MONOTONIC. Shares and probabilities are Q15: 2^15 is 1.
 */
#ifndef WSMON_REGIONS_H
#define WSMON_REGIONS_H

#include <linux/errno.h>
#include <linux/sched.h>

#include "../include/wsmon.h"
#include "wsmon_math.h"

/*
 * Reschedule every 1024 iterations of a loop over regions. A region has 650 bytes, so 1024
 * iterations take about a tenth of a millisecond.
 */
static inline void wsmon_loop_resched(u32 i)
{
	if (i % 1024 == 1023)
		cond_resched();
}

#define WSMON_ONE		WSMON_SHARE_ONE
#define WSMON_SHIFT		15		/* WSMON_ONE is 1 << WSMON_SHIFT */

/* Limits of the attributes: attrs_check() */
#define WSMON_SAMPLE_US_MIN	100ULL
#define WSMON_INTERVAL_US_MAX	86400000000ULL	/* a day */
#define WSMON_REGIONS_LIMIT	32768U
#define WSMON_PEAK_WINDOW_MIN	2U
#define WSMON_PEAK_WINDOW_MAX	10000U
#define WSMON_PEAK_GAIN_MAX	100000U		/* 100, in 1/1000 */

#define WSMON_MAX_TARGETS	256U
#define WSMON_MAX_EXTENTS	16384U	/* extents of a target */
#define WSMON_INPUT_MAX		4096U	/* bytes of one write to debugfs */

/**
 * struct wsmon_extent - a mapping, the part of a mapping that has page tables, or several
 * adjacent mappings of one class
 * @start:	first page
 * @end:	end, exclusive
 * @base:	mapped pages of the target below @start
 * @class:	enum wsmon_class
 * @joined:	this extent and the previous one belong to the same mapping
 */
struct wsmon_extent {
	u64 start;
	u64 end;
	u64 base;
	u32 class;
	bool joined;
};

/**
 * struct wsmon_area - the extents of one mapping, or of several coalesced: regions tile them
 * @first:	index of the first extent
 * @nr:		number of extents
 * @class:	class of the extents, or WSMON_CLASS_MIXED if they differ
 */
struct wsmon_area {
	u32 first;
	u32 nr;
	u32 class;
};

/**
 * struct wsmon_space - the mapped pages of a target
 * @ext:	extents in address order, disjoint
 * @nr_ext:	number of extents
 * @area:	areas in address order: every extent belongs to one area
 * @nr_area:	number of areas
 * @cap:	capacity of @ext and of @area, at most WSMON_MAX_EXTENTS
 * @coalesced:	some areas have several mappings, to limit the number of areas
 */
struct wsmon_space {
	struct wsmon_extent *ext;
	u32 nr_ext;
	struct wsmon_area *area;
	u32 nr_area;
	u32 cap;
	bool coalesced;
};

/**
 * struct wsmon_sample - a sample page
 * @vpn:	the page
 * @seen_ns:	time of the last round that found the page accessed; 0: none since arming
 * @chance:	groups only: the page is always looked at in members of at most this rank
 * @reach:	groups only: the page is looked at in members of at most this rank
 * @times:	targets only: number of mappings of a page that KSM merged, each an equal part of
 *		it; else 0 or 1
 */
struct wsmon_sample {
	u64 vpn;
	u64 seen_ns;
	u32 chance;
	u32 reach;
	u32 times;
};

/* Maximum number of pages in a cluster */
#define WSMON_CLUSTER		64U

/**
 * struct wsmon_cluster - the pages around a sample page
 * @first:	first page
 * @ever:	bit i: page i was found accessed since it was armed; never set for the sample page
 * @seen:	as @ever, but in this interval
 * @owed:	bit i: reclaim does not know of an access to page i: DEBT_OWED
 * @reported:	bit i: an access to page i was reported to reclaim: DEBT_REPORTED
 * @nr:		number of pages; 0: only the sample page is looked at
 * @seen_at:	for each page in @ever, number of the interval that last found it accessed
 */
struct wsmon_cluster {
	u64 first;
	u64 ever;
	u64 seen;
	u64 owed;
	u64 reported;
	u8 nr;
	u16 seen_at[WSMON_CLUSTER];
};

/*
 * The life of a region's samples. A boundary is the end of an aggregation interval:
 *
 *    region is new, split or merged; a half grew; a sample has left its half
 *                     |
 *                     v
 *   +------------> AT REST     armed_ns = 0; each boundary draws positions
 *   |                 |
 *   |                 |  ARM pass; if the mmap lock is busy: tried again next round
 *   |                 v
 *   |     +------>  ARMED      each round, if the target ran: CHECK pass
 *   |     |           |
 *   |     |           |  boundary: due = wsmon_region_due()
 *   |     |     +-----+-----+-------------+-----------+
 *   |     |    due       not due      lock busy   target slept
 *   |     |     |           |             |           |
 *   |     |   DROP        CHECK           |           |
 *   |     |   last,       last            |           |
 *   |     |   dropped       |             |           |
 *   |     |     +-----+-----+-------------+-----------+
 *   |     |           |  wsmon_regions_learn(): stale if not armed, or lock busy
 *   |     |           |  wsmon_regions_rest(): clears due, last, dropped
 *   |     +-- else ---+
 *   |                 |
 *   +- was dropped ---+
 *
 * Only regions at rest are split and merged. Above the limit, armed regions are also merged.
 *
 * Bit k of known and of whole say how much of window k out[k] covers:
 *
 *   known whole
 *     0     0    none of it: any page of the region may have been accessed
 *     1     0    a part of it: more pages may have been accessed
 *     1     1    the whole window
 *
 * wsmon_regions_learn() sets both bits once the samples have served the window, or if the
 * memory is younger than the window. Until then it updates out[k] and sets known, but only if
 * whole is clear; if whole is set, it keeps the out[k] of earlier samples. A stale region loses
 * whole, because its out[k] may be too large or too small. New windows clear both bits, and so
 * does a half that grows by more than an eighth. After a split both halves have the bits of the
 * region; after a merge the region has the bits that both halves had. A split or a merge sets
 * guess if the halves differ; the next update of out[k] clears it.
 */

/**
 * struct wsmon_history - results of earlier draws: see wsmon_regions.c
 * @mean:	by half, moving average of the accessed share (Q15); may exceed 1 in groups
 * @var:	by half, moving average of the squared deviation from @mean (Q30)
 */
struct wsmon_history {
	u32 mean[2];
	u64 var[2];
};

/**
 * struct wsmon_region - a cell, clipped to the mapped pages of its area
 * @start:	first mapped page
 * @end:	end of the last mapped page
 * @n:		mapped pages in the cell's lower and upper half; { 1, 0 } for one page
 * @s:		a sample page in each half; the second is unused if @n[1] is 0
 * @armed_ns:	when the samples were armed; 0: at rest
 * @looked_ns:	when the samples were last looked at, or armed
 * @since_ns:	when the share last changed much
 * @origin_ns:	time before which the memory did not exist, if the samples know of every access
 *		since then; else 0
 * @area:	index of its area
 * @hits:	checks in this interval that found a sample accessed
 * @checks:	checks in this interval
 * @out:	by window, share of each half accessed within it (Q15), for the estimate; may
 *		exceed 1 in groups: see wsmon_sample_weight()
 * @past:	results of the draws before the present one
 * @share:	moving average of the share of each half accessed in an interval (Q15)
 * @ref:	share at @since_ns
 * @disagree:	moving average of the squared difference of the two samples (Q15)
 * @found:	moving average of the accessed share of clusters in an interval (Q15)
 * @within:	moving average of the variance within clusters (Q15)
 * @draws:	positions drawn since the share last flipped, saturating
 * @times:	number of draws in @past, at most 8
 * @debt:	by half, whether reclaim knows of the accesses to the sample: enum wsmon_debt
 * @known:	bit k: @out[k] was observed for at least a part of the window
 * @whole:	bit k: @out[k] was observed for the whole window
 * @guess:	bit k: @out[k] averages halves that differed, so the accessed pages may be
 *		unevenly spread even if both halves now have the same share
 * @due:	drop the samples at this boundary
 * @dropped:	the samples were dropped at this boundary
 * @last:	the samples were checked at this boundary
 * @stale:	@out is from an earlier interval: the end of this interval was not observed
 * @absent:	bit h: the page of half h was not mapped at the last check
 * @went:	bit h: the page of half h was freed in this interval; swapping out does not count
 * @vague:	bit h: the only look that found the page of half h accessed was the first that
 *		found it mapped: perhaps a fault on a page near it mapped it
 * @doubtful:	by half, bit k: @out[k] comes from a page with @vague set
 * @exact:	by half, bit k: @out[k] comes from all pages of the half
 * @own:	bit h: at the last look, the page of half h had a page-table entry of its own
 * @made:	bit h: at the last look, the page of half h was in a huge entry, or KSM had merged
 *		it; valid only if bit h of @own is clear
 * @was_own:	bit h: as @own, at the end of the interval before, perhaps for another page of the
 *		half
 * @was_made:	bit h: likewise, as @made
 * @hit:	bit h: the last look found the page of half h accessed
 * @again:	bit h: an earlier look within the shortest window had also found it accessed
 * @looked:	the samples were looked at since they were armed
 * @blind:	bit h: no look preceded @made_ns[h] closely, so accesses before it are unknown
 * @recent:	bit h: the look just before @made_ns[h] found the page of half h accessed, and no
 *		earlier look within the shortest window did
 * @lost:	by half, bit k: the window was not observed: @out[k] is a copy of @share
 * @gap:	by half, bit k: as many pages as the half has may have been accessed unseen, in the
 *		gap before @made_ns
 * @made_ns:	by half, when the page was first seen in an entry that the kernel had made for it;
 *		the kernel sets the Accessed bit of such an entry without an access; 0: never
 * @weight:	groups only: largest weight that the samples can have; 0 means 1
 * @c:		targets only: the pages around each sample
 */
struct wsmon_region {
	u64 start;
	u64 end;
	u64 n[2];
	struct wsmon_sample s[2];
	u64 armed_ns;
	u64 looked_ns;
	u64 since_ns;
	u64 origin_ns;
	u32 area;
	u32 hits;
	u32 checks;
	u32 out[WSMON_WINDOWS_MAX][2];
	struct wsmon_history past;
	u16 share[2];
	u16 ref;
	u16 disagree;
	u16 found;
	u16 within;
	u16 draws;
	u8 times;
	u8 debt[2];
	u8 known;
	u8 whole;
	u8 guess;
	u8 due;
	u8 dropped;
	/* @last to @looked are adjacent, because a look that finds nothing sets these four */
	u8 last;
	u8 own;
	u8 hit;
	u8 looked;
	u8 again;
	u8 blind;
	u8 recent;
	u8 stale;
	u8 absent;
	u8 went;
	u8 made;
	u8 was_own;
	u8 was_made;
	u8 vague;
	u8 doubtful[2];
	u8 exact[2];
	u8 lost[2];
	u8 gap[2];
	u16 weight;
	u64 made_ns[2];
	struct wsmon_cluster c[2];
};

/**
 * struct wsmon_runs - how much evenly spread positions reduce the variance, by class
 * @alone:	sum over halves of the squared deviation: a slow and a quick moving average
 * @together:	sum over runs of the squared sum of deviations: a slow and a quick average
 * @less:	the reduction, as a part of the halves' variance (Q15)
 * @times:	number of intervals in the averages, at most 16
 *
 * Sizes are in units of 2^-20 of all memory.
 */
struct wsmon_runs {
	u64 alone[WSMON_NR_CLASSES][2];
	u64 together[WSMON_NR_CLASSES][2];
	u16 less[WSMON_NR_CLASSES];
	u8 times[WSMON_NR_CLASSES];
};

/**
 * struct wsmon_regions - the regions of a target
 * @r:		the regions, in address order
 * @spare:	a second array: every change writes the new list here, then swaps
 * @nr:		number of regions
 * @cap:	capacity of @r: the budget and a reserve for mappings that change
 * @budget:	maximum number of regions by the CPU budget; exceeded while regions are armed
 * @limit:	absolute maximum, at least @budget: even armed regions are merged to keep it
 * @edge:	how much longer or shorter than the nominal interval the samples served, as a part
 *		of the shortest window (Q15)
 * @late:	how early or late the time the samples served is, as a part of an interval (Q15)
 * @begin_ns:	when the last interval in which the samples served began
 * @end_ns:	when the last look at the samples in that interval began
 * @runs:	how much evenly spread positions reduce the variance
 */
struct wsmon_regions {
	struct wsmon_region *r;
	struct wsmon_region *spare;
	u32 nr;
	u32 cap;
	u32 budget;
	u32 limit;
	u32 edge;
	u32 late;
	u64 begin_ns;
	u64 end_ns;
	struct wsmon_runs runs;
};

/* Is memory of a class (enum wsmon_class) anonymous, and never that of a file? */
static inline bool wsmon_class_is_anon(u32 class)
{
	return class == WSMON_CLASS_HEAP || class == WSMON_CLASS_STACK || class == WSMON_CLASS_ANON;
}

/* wsmon_space.c: the mapped pages */
u64 wsmon_space_pages(const struct wsmon_space *sp);
u64 wsmon_area_rank(const struct wsmon_space *sp, const struct wsmon_area *a, u64 vpn);
u64 wsmon_area_select(const struct wsmon_space *sp, const struct wsmon_area *a, u64 k);
int wsmon_space_add(struct wsmon_space *sp, u64 start, u64 end, u32 class, bool joined);
void wsmon_space_group(struct wsmon_space *sp, u32 max_areas);
bool wsmon_space_same(const struct wsmon_space *a, const struct wsmon_space *b);

static inline u64 wsmon_area_start(const struct wsmon_space *sp, const struct wsmon_area *a)
{
	return sp->ext[a->first].start;
}

static inline u64 wsmon_area_end(const struct wsmon_space *sp, const struct wsmon_area *a)
{
	return sp->ext[a->first + a->nr - 1].end;
}

/* wsmon_regions.c: cells, and the life of regions */
/* Find the smallest cell that holds a region: its first page, and its end, exclusive */
static inline void wsmon_cell_bounds(u64 start, u64 end, u64 *lo, u64 *hi)
{
	unsigned int order = fls64(start ^ (end - 1));

	*lo = start >> order << order;
	*hi = *lo + (1ULL << order);
}

u64 wsmon_cell_mid(u64 start, u64 end);
bool wsmon_region_clip(const struct wsmon_space *sp, struct wsmon_region *r, u64 start, u64 end);
void wsmon_region_reset_samples(struct wsmon_region *r);
u32 wsmon_regions_search(const struct wsmon_regions *rs, u64 page);
bool wsmon_regions_buddies(const struct wsmon_regions *rs, u32 i);
u16 wsmon_region_samples(const struct wsmon_region *r, u64 since);

static inline u64 wsmon_region_pages(const struct wsmon_region *r)
{
	return r->n[0] + r->n[1];
}

static inline u32 wsmon_region_share(const struct wsmon_region *r)
{
	/*
	 * The shares mostly are equal: save the slow division. It does not overflow: a region has
	 * less than 2^45 pages.
	 */
	return r->share[0] == r->share[1] ? r->share[0] :
	       div64_u64(r->n[0] * r->share[0] + r->n[1] * r->share[1], wsmon_region_pages(r));
}

/* wsmon_space.c: regions follow the mappings */
void wsmon_regions_fit(struct wsmon_regions *rs, const struct wsmon_space *sp, u64 now, u64 origin);

/* wsmon_split.c: merging and splitting */
#define WSMON_DRAWS_MAX		64U	/* the count of draws saturates: older draws fade */
/* Quarters of an octave: 2 * log2(pages, at most 2^45) + log2(Q15) */
#define WSMON_SCORES		400

/**
 * struct wsmon_adapt - scratch memory of wsmon_regions_adapt()
 * @split:	number of regions that could be split, by score
 * @merge:	number of pairs that could be merged, by score
 * @zoom:	few regions are accessed in part: split these regions
 * @unseen:	some regions were never observed
 */
struct wsmon_adapt {
	u32 split[WSMON_SCORES];
	u32 merge[WSMON_SCORES];
	bool zoom;
	bool unseen;
};

void wsmon_region_split(const struct wsmon_space *sp, const struct wsmon_region *r,
			struct wsmon_region out[2]);
void wsmon_region_merge(const struct wsmon_space *sp, const struct wsmon_region *l,
			const struct wsmon_region *r, struct wsmon_region *out);
void wsmon_regions_adapt(struct wsmon_regions *rs, const struct wsmon_space *sp,
			 struct wsmon_adapt *ws);

/* wsmon_regions.c: learning from an aggregation interval */
/* Number of looks remembered */
#define WSMON_LOOKS	1024U

/**
 * struct wsmon_looks - times of the last looks at samples
 * @at:		ring of ascending times
 * @nr:		number of looks so far
 */
struct wsmon_looks {
	u64 at[WSMON_LOOKS];
	u64 nr;
};

void wsmon_looks_add(struct wsmon_looks *l, u64 at);

/* Time of the last look; 0 if there was none */
static inline u64 wsmon_looks_last(const struct wsmon_looks *l)
{
	return l->nr ? l->at[(l->nr - 1) % WSMON_LOOKS] : 0;
}

/**
 * struct wsmon_interval - the aggregation interval of a target that ends now
 * @begin_ns:	when it began
 * @now:	when it ends
 * @aggr_ns:	its nominal length
 * @slack_ns:	how much too early a round may come: half a sampling interval
 * @window_ns:	the windows, ascending
 * @from_ns:	by window, time of the last look before it began
 * @to_ns:	by window, time of the first look after it began; same as @from_ns if it began at a
 *		look; 0: unknown
 * @whole:	by window, number of intervals that lie wholly within it; 0: unknown
 * @part:	by window, part of the preceding interval that also lies within it (Q15)
 * @nr_windows:	number of windows
 * @epoch:	number of the interval
 * @idle:	rounds of the interval without a check, because the target had not run
 * @active:	number of intervals so far in which the target ran
 * @drop_all:	drop all samples
 */
struct wsmon_interval {
	u64 begin_ns;
	u64 now;
	u64 aggr_ns;
	u64 slack_ns;
	u64 window_ns[WSMON_WINDOWS_MAX];
	u64 from_ns[WSMON_WINDOWS_MAX];
	u64 to_ns[WSMON_WINDOWS_MAX];
	u32 whole[WSMON_WINDOWS_MAX];
	u32 part[WSMON_WINDOWS_MAX];
	u32 nr_windows;
	u16 epoch;
	u32 idle;
	u64 active;
	bool drop_all;
};

void wsmon_interval_edges(struct wsmon_interval *iv, const struct wsmon_looks *rounds,
			  const struct wsmon_looks *ends);
u64 wsmon_interval_phases(const struct wsmon_interval *iv);
bool wsmon_regions_turn(const struct wsmon_regions *rs, u32 i, u64 turn, u64 phases);
bool wsmon_region_due(const struct wsmon_regions *rs, u32 i, const struct wsmon_interval *iv);
void wsmon_region_observe(struct wsmon_region *r, const u32 seen[2], bool fresh, u64 now);
void wsmon_regions_edge(struct wsmon_regions *rs, const struct wsmon_interval *iv, u64 arming_ns,
			u64 dropping_ns);
void wsmon_regions_learn(struct wsmon_regions *rs, const struct wsmon_interval *iv, bool slept);
void wsmon_regions_rest(struct wsmon_regions *rs);
bool wsmon_region_answers(const struct wsmon_region *r, const struct wsmon_interval *iv, u32 k);
bool wsmon_seen_within(const struct wsmon_interval *iv, u64 at, u32 k);
u32 wsmon_seen_share(const struct wsmon_interval *iv, u64 at, u32 k);

/* Halves agree if their shares differ by at most this: with clusters, shares are fractions */
#define WSMON_DIFFER		(WSMON_ONE / 8)

/* wsmon_space.c: in how many members of a group a page is looked at */
/* Maximum weight, so that sums do not overflow */
#define WSMON_WEIGHT_MAX	256U

void wsmon_sample_reach(struct wsmon_sample *s, u64 mappers, u64 random);
u32 wsmon_sample_weight(const struct wsmon_sample *s, u32 rank);

/* wsmon_regions.c: the pages around sample pages */
/* Does a cluster have pages, or debts to settle with reclaim? */
static inline bool wsmon_cluster_matters(const struct wsmon_cluster *c)
{
	return c->nr || c->owed || c->reported;
}

void wsmon_clusters_forget(struct wsmon_region *r);
bool wsmon_clusters_pay(const struct wsmon_region *r);
void wsmon_clusters_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 epoch);
bool wsmon_clusters_wanted(const struct wsmon_attrs *a);
void wsmon_clusters_fit(const struct wsmon_space *sp, struct wsmon_region *r);
void wsmon_clusters_age(struct wsmon_region *r, u16 epoch);
void wsmon_cluster_note(struct wsmon_cluster *c, u64 pages, u16 epoch);
u32 wsmon_cluster_share(const struct wsmon_region *r, u32 h, u32 hit,
			const struct wsmon_interval *iv, u32 k, bool all);

/* wsmon_split.c: positions of samples */
u64 wsmon_draw_key(u64 seed, u64 epoch);
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 key);
void wsmon_regions_draw(struct wsmon_regions *rs, const struct wsmon_space *sp,
			const struct wsmon_attrs *a, u64 salt, u64 epoch);
bool wsmon_run_adds(const struct wsmon_region *r);
void wsmon_runs_learn(struct wsmon_regions *rs, const struct wsmon_space *sp);

/* wsmon_regions.c: results of earlier draws, used once there are at least this many draws */
#define WSMON_TIMES_MIN		3U
void wsmon_regions_note(struct wsmon_regions *rs, const struct wsmon_interval *iv);
void wsmon_history_split(struct wsmon_region *r, u32 half);
void wsmon_history_merge(struct wsmon_region *out, u32 half, const struct wsmon_region *r);

#endif /* WSMON_REGIONS_H */
