/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_pure.h - what needs no kernel: plain numbers, no mm
 *
 * Pure files (wsmon_space.c, wsmon_regions.c, wsmon_adapt.c, wsmon_fresh.c,
 * wsmon_learn.c, wsmon_wss.c, wsmon_peaks.c, wsmon_pace.c, wsmon_hist.c, wsmon_parse.c)
 * include this and nothing else of the module. They are compiled for userland too, by tests/unit.
 *
 * Addresses in here are virtual page numbers (vpn), sizes are pages, times are
 * nanoseconds of CLOCK_MONOTONIC; shares and probabilities are Q15.
 */
#ifndef WSMON_PURE_H
#define WSMON_PURE_H

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../include/wsmon.h"

#define WSMON_ONE		WSMON_SHARE_ONE

/* Limits of the attributes: wsmon_attrs_check() */
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
 * struct wsmon_extent - a mapping, or the part of one that has page tables, or
 * neighbours of one class without a gap
 * @start:	first page
 * @end:	page behind the last one
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
 * @nr:		number of its extents: those of a mapping, or of several that
 *		had to be coalesced
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
 * @cap:	extents and areas there is room for, at most WSMON_MAX_EXTENTS
 * @coalesced:	areas would be more if they could
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
 * @seen_ns:	the last round that found it accessed; 0 is never since armed
 */
struct wsmon_sample {
	u64 vpn;
	u64 seen_ns;
};

/**
 * struct wsmon_region - a cell, clipped to the mapped pages of its area
 * @start:	first mapped page
 * @end:	page behind the last mapped one
 * @n:		mapped pages in the cell's lower and upper half
 * @s:		a sample page in each half; the second is unused if @n[1] is 0
 * @armed_ns:	when both positions were first cleared; 0 is not yet
 * @since_ns:	when the share last changed much
 * @origin_ns:	there was nothing of it before, and the samples know of every
 *		access since; 0: not so
 * @area:	index of its area
 * @hits:	visits of this interval that found a sample accessed
 * @checks:	visits of this interval
 * @out:	by window, share of each half within it, as last observed for
 *		the whole window (Q15): what the estimate is made of
 * @share:	moving average of each half's share an interval (Q15)
 * @ref:	share at @since_ns
 * @disagree:	moving average of "the two samples differed" (Q15)
 * @draws:	positions drawn since the share last flipped, saturating
 * @debt:	by half: what reclaim does not know of the sample, a sampler's own
 *		idea; 0 is nothing
 * @known:	bit k: @out[k] says something, be it of a part of the window
 * @whole:	bit k: @out[k] was observed for the whole window
 * @guess:	bit k: @out[k] was made of halves that differed: which of its pages were
 *		accessed is not known, even if both halves say the same
 * @due:	this boundary is to drop its samples
 * @dropped:	this boundary has
 * @last:	this boundary looked at its samples
 * @stale:	@out is of an earlier interval: this one's end was not observed
 * @absent:	bit h: the page of half h was not mapped at the last visit
 * @vague:	bit h: the page of half h was found accessed when it was first seen
 *		mapped and not since, and may merely have been mapped around a fault
 * @doubtful:	by half, bit k: @out[k] was made of such a page
 *
 * A region of one page has @n = { 1, 0 } and one sample. The size of a region
 * is what its budget pays for: two page visits a round.
 */
struct wsmon_region {
	u64 start;
	u64 end;
	u64 n[2];
	struct wsmon_sample s[2];
	u64 armed_ns;
	u64 since_ns;
	u64 origin_ns;
	u32 area;
	u32 hits;
	u32 checks;
	u16 out[WSMON_WINDOWS_MAX][2];
	u16 share[2];
	u16 ref;
	u16 disagree;
	u16 draws;
	u8 debt[2];
	u8 known;
	u8 whole;
	u8 guess;
	u8 due;
	u8 dropped;
	u8 last;
	u8 stale;
	u8 absent;
	u8 vague;
	u8 doubtful[2];
};

/**
 * struct wsmon_regions - the regions of a target
 * @r:		the regions, in address order
 * @spare:	as many again: every change writes the new list here, then swaps
 * @nr:		number of regions
 * @cap:	regions that fit into @r: budget and some room to move in
 * @budget:	most regions this target is to have
 * @limit:	most it may have, whatever that costs; at least @budget
 */
struct wsmon_regions {
	struct wsmon_region *r;
	struct wsmon_region *spare;
	u32 nr;
	u32 cap;
	u32 budget;
	u32 limit;
};

/* 4 * log2(x), rounded down to the quarter below by the mantissa's two bits */
static inline unsigned int wsmon_log2_quarters(u64 x)
{
	unsigned int bit;

	if (!x)
		return 0;
	bit = fls64(x) - 1;
	return 4 * bit + (bit >= 2 ? x >> (bit - 2) & 3 : x << (2 - bit) & 3);
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

/* wsmon_regions.c: cells */

/* First page of the smallest cell that holds a region, and its end, exclusive */
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
void wsmon_region_split(const struct wsmon_space *sp,
			const struct wsmon_region *r, struct wsmon_region out[2]);
void wsmon_region_merge(const struct wsmon_space *sp,
			const struct wsmon_region *l,
			const struct wsmon_region *r, struct wsmon_region *out);
void wsmon_regions_fit(struct wsmon_regions *rs, const struct wsmon_space *sp,
		       u64 now, u64 origin);
u64 wsmon_hash64(u64 x);
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 seed, u64 epoch);
u16 wsmon_region_samples(const struct wsmon_region *r, u64 since);

static inline u64 wsmon_region_pages(const struct wsmon_region *r)
{
	return r->n[0] + r->n[1];
}

static inline u32 wsmon_region_share(const struct wsmon_region *r)
{
	u64 n = wsmon_region_pages(r);

	/* n < 2^45 and shares are Q15: no overflow */
	return div64_u64(r->n[0] * r->share[0] + r->n[1] * r->share[1], n);
}

/* wsmon_adapt.c: evidence, merging and splitting */

/* Quarters of an octave: 2 * log2(pages, at most 2^45) + log2(Q15) */
#define WSMON_SCORES		400

/**
 * struct wsmon_adapt - scratch memory of wsmon_regions_adapt()
 * @split:	regions that could be split, by score
 * @merge:	pairs that could be merged, by score
 * @zoom:	regions accessed in part are few: cut them
 */
struct wsmon_adapt {
	u32 split[WSMON_SCORES];
	u32 merge[WSMON_SCORES];
	bool zoom;
};

void wsmon_region_observe(struct wsmon_region *r, const bool x[2], bool fresh, u64 now);
void wsmon_regions_adapt(struct wsmon_regions *rs, const struct wsmon_space *sp,
			 struct wsmon_adapt *ws);

/* wsmon_learn.c: what an aggregation interval teaches */

/**
 * struct wsmon_interval - an aggregation interval of a target that ends
 * @begin_ns:	when it began
 * @now:	when it ends
 * @aggr_ns:	how long one is meant to be
 * @slack_ns:	rounds may come early by so much: half a sampling interval
 * @window_ns:	the windows, ascending
 * @nr_windows:	how many there are
 * @idle:	rounds the target slept through
 * @active:	intervals it ran in
 * @drop_all:	all samples are to be dropped
 */
struct wsmon_interval {
	u64 begin_ns;
	u64 now;
	u64 aggr_ns;
	u64 slack_ns;
	u64 window_ns[WSMON_WINDOWS_MAX];
	u32 nr_windows;
	u32 idle;
	u64 active;
	bool drop_all;
};

bool wsmon_region_due(const struct wsmon_region *r, const struct wsmon_interval *iv);
void wsmon_regions_learn(struct wsmon_regions *rs, const struct wsmon_interval *iv, bool slept);
void wsmon_regions_rest(struct wsmon_regions *rs);

/* wsmon_fresh.c: memory that is new */

/* Pages of it that are looked at */
#define WSMON_FRESH_MAX		1024

/**
 * struct wsmon_fresh - memory that was not there when mappings were last read
 * @pages:	how much of each class
 * @drawn:	pages of it that are looked at
 * @seen:	those found accessed
 * @vague:	of them, those that may merely have been mapped around a fault
 * @late:	it came to be since before the window, so when it was accessed is
 *		not known
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
	u32 nr;
	u64 vpn[WSMON_FRESH_MAX];
	u8 class[WSMON_FRESH_MAX];
};

void wsmon_fresh_draw(struct wsmon_fresh *f, const struct wsmon_space *now,
		      const struct wsmon_space *then, u64 random);

/* wsmon_wss.c: the estimator */

/**
 * struct wsmon_wss - a working set size
 * @pages:	the estimate
 * @low:	lower end of the 95 % interval
 * @high:	upper end
 * @mapped:	mapped pages it is a part of
 */
struct wsmon_wss {
	u64 pages;
	u64 low;
	u64 high;
	u64 mapped;
};

/* Behind those of the classes: everything but text */
#define WSMON_WSS_REST		WSMON_NR_CLASSES
#define WSMON_NR_WSS		(WSMON_NR_CLASSES + 1)

void wsmon_wss_estimate(const struct wsmon_regions *rs,
			const struct wsmon_space *sp,
			const struct wsmon_fresh *fresh, u32 k,
			struct wsmon_wss wss[WSMON_NR_WSS]);
u64 wsmon_sqrt_up(u64 x);

/* wsmon_peaks.c: when the working set size is unusual */

/* Estimates until "sigma" judges, and until it does so by moving mean and variance */
#define WSMON_PEAK_FIRST	6U
#define WSMON_PEAK_LEARN	32U

/**
 * struct wsmon_detector - finds peaks of a working set size
 * @mean:	moving mean; while "sigma" starts, the median
 * @var:	moving variance; while "sigma" starts, from the median deviation
 * @filtered:	what the last estimate counted as
 * @baseline:	@mean when the peak began
 * @var_before:	@var then
 * @threshold:	distance from the mean that made it a peak
 * @height:	of its estimates the one furthest from @baseline, pages
 * @nr:		estimates since the start, saturating
 * @lasted:	estimates since the last peak began
 * @shift:	exponent of the numbers: see wsmon_peaks.c, wsmon_peak_size()
 * @sign:	1 in a peak, -1 in one downwards, else 0
 * @ended:	what it was before this estimate, if that ended it
 * @first:	the first estimates, for the median
 */
struct wsmon_detector {
	u64 mean;
	u64 var;
	u64 filtered;
	u64 baseline;
	u64 var_before;
	u64 threshold;
	u64 height;
	u32 nr;
	u32 lasted;
	u32 shift;
	s8 sign;
	s8 ended;
	u32 first[WSMON_PEAK_LEARN];
};

u64 wsmon_peak_threshold(const struct wsmon_detector *d, const struct wsmon_attrs *a);
bool wsmon_peak_ends(struct wsmon_detector *d, const struct wsmon_attrs *a,
		     const struct wsmon_wss *w);
bool wsmon_peak_begins(struct wsmon_detector *d, const struct wsmon_attrs *a,
		       const struct wsmon_wss *w);
void wsmon_peak_learn(struct wsmon_detector *d, const struct wsmon_attrs *a,
		      const struct wsmon_wss *w);
u64 wsmon_peak_size(const struct wsmon_detector *d, u64 value, u32 bits);

/* wsmon_pace.c: keeping within the CPU budget */

/**
 * struct wsmon_pace - how much a session does, and what it costs
 * @share:	part of max_regions in force (Q15)
 * @step_ns:	sampling interval in force
 * @left_ns:	CPU time the present interval may take
 * @spent_ns:	CPU time it has taken
 * @debt_ns:	CPU time earlier ones took too much
 * @first_ns:	what the first round of an interval costs
 * @last_ns:	what the last one cost
 * @check_ns:	what a round of checks costs
 * @checks_ns:	what those of this interval cost
 * @checks:	how many there were
 */
struct wsmon_pace {
	u32 share;
	u32 checks;
	u64 step_ns;
	u64 left_ns;
	u64 spent_ns;
	u64 debt_ns;
	u64 first_ns;
	u64 last_ns;
	u64 check_ns;
	u64 checks_ns;
};

void wsmon_pace_begin(struct wsmon_pace *p, const struct wsmon_attrs *a);
u64 wsmon_pace_needed(const struct wsmon_attrs *a, u64 left_ns);
bool wsmon_pace_may_check(const struct wsmon_pace *p);
void wsmon_pace_spent(struct wsmon_pace *p, u64 cost_ns, bool first);
void wsmon_pace_next(struct wsmon_pace *p, const struct wsmon_attrs *a, u64 length_ns);

/* wsmon_hist.c: percentiles of times */

#define WSMON_HIST_BUCKETS	256

/**
 * struct wsmon_hist - a histogram, four buckets an octave
 * @n:		entries by wsmon_log2_quarters()
 * @total:	entries
 * @max:	the largest
 */
struct wsmon_hist {
	u64 n[WSMON_HIST_BUCKETS];
	u64 total;
	u64 max;
};

void wsmon_hist_add(struct wsmon_hist *h, u64 value);
u64 wsmon_hist_percentile(const struct wsmon_hist *h, u32 percent);

/* wsmon_parse.c: what people write into debugfs files */

/* The windows, ascending; k < nr_windows */
static inline u64 wsmon_attrs_window(const struct wsmon_attrs *attrs, u32 k)
{
	return k ? attrs->longer_us[k - 1] : attrs->window_us;
}

bool wsmon_attrs_same_windows(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
bool wsmon_attrs_same_peaks(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
const char *wsmon_detector_name(u32 detector);
int wsmon_attrs_parse(struct wsmon_attrs *attrs, const char *text, size_t len);
int wsmon_attrs_check(const struct wsmon_attrs *attrs);
int wsmon_pids_parse(u32 *pids, unsigned int max, const char *text, size_t len);
const char *wsmon_class_name(u32 class);

#endif /* WSMON_PURE_H */
