/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_regions.h - what is tiled: mapped pages, regions, their samples
 *
 * Pure: structures and functions that need no kernel. tests/unit compiles regions, space, adapt,
 * wss, peaks, pace and parse for userland, too.
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
 * Let others run, in a loop over regions: a region is 650 bytes, so 1024 of them take about
 * a tenth of a millisecond.
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
#define WSMON_MAX_EXTENTS	16384U	/* mappings kept apart in a target */
#define WSMON_INPUT_MAX		4096U	/* bytes of one write to debugfs */

/**
 * struct wsmon_extent - a mapping, a part of one that has page tables, or several
 * of one class without a gap between them
 * @start:	first page
 * @end:	end, exclusive
 * @base:	mapped pages of the target below @start
 * @class:	enum wsmon_class
 * @joined:	belongs to the same mapping as the extent before
 */
struct wsmon_extent {
	u64 start;
	u64 end;
	u64 base;
	u32 class;
	bool joined;
};

/**
 * struct wsmon_area - one or more neighbouring extents that regions tile
 * @first:	index of its first extent
 * @nr:		number of its extents: those of one mapping, or of several coalesced
 * @class:	their class, or WSMON_CLASS_MIXED
 */
struct wsmon_area {
	u32 first;
	u32 nr;
	u32 class;
};

/**
 * struct wsmon_space - the mapped pages of a target
 * @ext:	extents in address order, disjoint
 * @nr_ext:	their number
 * @area:	areas in address order: every extent belongs to one
 * @nr_area:	their number
 * @cap:	extents and areas that fit, at most WSMON_MAX_EXTENTS
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
 * @seen_ns:	the last round that found it accessed; 0: none since it was armed
 * @chance:	of a group: members of at most this rank are looked at in any case
 * @reach:	of a group: members of at most this rank are looked at
 * @times:	of a target: mappings of the page, if each is an equal part of it; 0 is 1
 */
struct wsmon_sample {
	u64 vpn;
	u64 seen_ns;
	u32 chance;
	u32 reach;
	u32 times;
};

/* Pages in a cluster, at most */
#define WSMON_CLUSTER		64U

/**
 * struct wsmon_cluster - the pages around a sample page
 * @first:	the first
 * @ever:	bit i: the i-th, which is not the sample page, was found accessed since it was
 *		armed
 * @seen:	likewise, in this interval
 * @owed:	bit i: reclaim does not know of an access: DEBT_OWED
 * @reported:	bit i: DEBT_REPORTED
 * @nr:		number of pages; 0: only the sample page is looked at
 * @seen_at:	by page in @ever, number of the interval in which it was last found accessed
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
 *    region is new, split or merged; a half grew; a sample is not in its half any more
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
 * Only regions at rest are split and merged. Above the limit, armed ones are merged,
 * too.
 *
 * What is known for window k, by bit k of known and whole:
 *
 *   known whole
 *     0     0    nothing: any of its pages may have been accessed
 *     1     0    out[k] covers a part of the window: more may have been accessed
 *     1     1    out[k] covers the whole window
 *
 * wsmon_regions_learn() sets both bits once samples have served the window, or if the
 * memory is younger than the window. Before that, it sets known if whole is not set; if
 * whole is set, out[k] stays as earlier samples left it. A stale region loses whole:
 * its out[k] may be wrong either way. New windows, and a half that grew by more than an
 * eighth, clear both bits. Halves inherit the bits; a merged region has those that both
 * had. guess is set when a region whose halves differ is split or merged, and cleared
 * with the next out[k].
 */

/**
 * struct wsmon_history - what earlier draws of the window showed: see wsmon_regions.c
 * @mean:	by half, moving average of the accessed share (Q15); of a group perhaps above 1
 * @var:	by half, moving average of the square of the deviation from @mean (Q30)
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
 * @origin_ns:	the memory did not exist before this time, and the samples know of
 *		every access since; 0: this is not so
 * @area:	index of its area
 * @hits:	checks in this interval that found a sample accessed
 * @checks:	checks in this interval
 * @out:	by window, accessed share of each half within it (Q15), for the estimate; of a
 *		group perhaps above 1: see wsmon_sample_weight()
 * @past:	what the draws before the present one showed
 * @share:	moving average of the share of each half accessed in an interval (Q15)
 * @ref:	share at @since_ns
 * @disagree:	moving average of the square of the samples' difference (Q15)
 * @found:	moving average of the accessed share of clusters in an interval (Q15)
 * @within:	moving average of the variance within them (Q15)
 * @draws:	positions drawn since the share last flipped, saturating
 * @times:	how many draws @past is of, at most 8; 0: of none
 * @debt:	by half: what reclaim does not know of the sample, enum wsmon_debt
 * @known:	bit k: @out[k] was observed, perhaps for a part of the window only
 * @whole:	bit k: @out[k] was observed for the whole window
 * @guess:	bit k: @out[k] comes from halves that differed: which pages were
 *		accessed is not known, even if both halves have the same share now
 * @due:	the samples are to be dropped at this boundary
 * @dropped:	the samples were dropped at this boundary
 * @last:	the samples were checked at this boundary
 * @stale:	@out is from an earlier interval: the end of this one was not observed
 * @absent:	bit h: the page of half h was not mapped at the last check
 * @went:	bit h: the page of half h went in this interval; what is in swap did not
 * @vague:	bit h: the page of half h was found accessed when it was first seen
 *		mapped and not since: perhaps a fault on a page near it mapped it
 * @doubtful:	by half, bit k: @out[k] comes from such a page
 * @exact:	by half, bit k: @out[k] comes from all of its pages
 * @own:	bit h: at the last look, the page of half h had a place of its own in a page table
 * @hit:	bit h: the last look found the page of half h accessed
 * @again:	bit h: so had one before it, within the shortest window
 * @looked:	it was looked at since the samples were armed
 * @blind:	bit h: there was no such look just before @made_ns
 * @recent:	bit h: the page of half h was found accessed just before @made_ns, and not before
 * @lost:	by half, bit k: nothing is known of it: @out[k] is its @share
 * @gap:	by half, bit k: as much again may have been accessed, and not been seen
 * @made_ns:	by half: when the page was first seen in an entry that the kernel had made of it,
 *		with the bit set, which is no access; 0: never
 * @weight:	of a group: the largest weight that its samples can have; 0 is 1
 * @c:		the pages around each sample; never of a group
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
	/* what a look that finds nothing sets is side by side */
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
 * @alone:	sum of the squared deviations of halves: a slow moving average, and a quick one
 * @together:	likewise, of the squares of the runs' sums of deviations
 * @less:	the reduction, a part of the halves' variance (Q15)
 * @times:	how many intervals the averages are of, at most 16
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
 * @cap:	regions that fit into @r: budget and some room to move in
 * @budget:	maximum number of regions by the CPU budget: armed ones may exceed it
 * @limit:	absolute maximum, at least @budget: armed ones are merged to keep it
 * @edge:	the part of the shortest window by which samples served longer or shorter (Q15)
 * @late:	the part of an interval by which the time that they served is early or late (Q15)
 * @begin_ns:	when the last interval began in which they served
 * @end_ns:	when the last look at them in that interval began
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
bool wsmon_regions_buddies(const struct wsmon_regions *rs, u32 i);
u16 wsmon_region_samples(const struct wsmon_region *r, u64 since);

static inline u64 wsmon_region_pages(const struct wsmon_region *r)
{
	return r->n[0] + r->n[1];
}

static inline u32 wsmon_region_share(const struct wsmon_region *r)
{
	/* mostly, and a division takes long; else of less than 2^45 pages, so without overflow */
	return r->share[0] == r->share[1] ? r->share[0] :
	       div64_u64(r->n[0] * r->share[0] + r->n[1] * r->share[1], wsmon_region_pages(r));
}

/* wsmon_space.c: regions follow the mappings */
void wsmon_regions_fit(struct wsmon_regions *rs, const struct wsmon_space *sp, u64 now, u64 origin);

/* wsmon_adapt.c: merging and splitting */
#define WSMON_DRAWS_MAX		64U	/* draws are counted up to here: older ones fade */
/* Quarters of an octave: 2 * log2(pages, at most 2^45) + log2(Q15) */
#define WSMON_SCORES		400

/**
 * struct wsmon_adapt - scratch memory of wsmon_regions_adapt()
 * @split:	regions that could be split, by score
 * @merge:	pairs that could be merged, by score
 * @zoom:	few regions are accessed in part: split these
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

/* wsmon_regions.c: what an aggregation interval teaches */
/* Looks that are remembered */
#define WSMON_LOOKS	1024U

/**
 * struct wsmon_looks - when samples were looked at
 * @at:		times, ascending: a ring
 * @nr:		looks so far
 */
struct wsmon_looks {
	u64 at[WSMON_LOOKS];
	u64 nr;
};

void wsmon_looks_add(struct wsmon_looks *l, u64 at);

/* When the last look was; 0 if there was none */
static inline u64 wsmon_looks_last(const struct wsmon_looks *l)
{
	return l->nr ? l->at[(l->nr - 1) % WSMON_LOOKS] : 0;
}

/**
 * struct wsmon_interval - the aggregation interval of a target that ends now
 * @begin_ns:	when it began
 * @now:	when it ends
 * @aggr_ns:	its nominal length
 * @slack_ns:	a round may come this much too early: half a sampling interval
 * @window_ns:	the windows, ascending
 * @from_ns:	by window, the last look before it began
 * @to_ns:	by window, the first look after that, or the same if it began at a look; 0: not
 *		known
 * @whole:	by window, number of intervals that are wholly within it; 0: not known
 * @part:	by window, how much of the interval before these is, too (Q15)
 * @nr_windows:	number of windows
 * @epoch:	its number
 * @idle:	rounds before which the target had not run
 * @active:	number of intervals in which it ran
 * @drop_all:	all samples are to be dropped
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

/* Halves whose shares differ by no more agree: clusters see fractions */
#define WSMON_DIFFER		(WSMON_ONE / 8)

/* wsmon_space.c: in how many members of a group a page is looked at */
/* A weight is at most this, so that sums do not overflow */
#define WSMON_WEIGHT_MAX	256U

void wsmon_sample_reach(struct wsmon_sample *s, u64 mappers, u64 random);
u32 wsmon_sample_weight(const struct wsmon_sample *s, u32 rank);

/* wsmon_regions.c: the pages around sample pages */
/* Has a cluster pages that count, or that something is owed for? */
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

/* wsmon_adapt.c: positions of samples */
u64 wsmon_draw_key(u64 seed, u64 epoch);
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 key);
void wsmon_regions_draw(struct wsmon_regions *rs, const struct wsmon_space *sp,
			const struct wsmon_attrs *a, u64 salt, u64 epoch);
bool wsmon_run_adds(const struct wsmon_region *r);
void wsmon_runs_learn(struct wsmon_regions *rs, const struct wsmon_space *sp);

/* wsmon_regions.c: what earlier draws showed, which is used from this number of draws on */
#define WSMON_TIMES_MIN		3U
void wsmon_regions_note(struct wsmon_regions *rs, const struct wsmon_interval *iv);
void wsmon_history_split(struct wsmon_region *r, u32 half);
void wsmon_history_merge(struct wsmon_region *out, u32 half, const struct wsmon_region *r);

#endif /* WSMON_REGIONS_H */
