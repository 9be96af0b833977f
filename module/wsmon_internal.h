/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_internal.h - what the module's files share
 *
 * Pure files (wsmon_regions.c, wsmon_space.c, wsmon_adapt.c, wsmon_wss.c,
 * wsmon_fresh.c, wsmon_parse.c) see only the first half: plain numbers, no mm. They are
 * compiled for userland too, by tests/unit.
 *
 * Addresses in here are virtual page numbers (vpn), sizes are pages, times are
 * nanoseconds of CLOCK_MONOTONIC; shares and probabilities are Q15.
 */
#ifndef WSMON_INTERNAL_H
#define WSMON_INTERNAL_H

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
 */
struct wsmon_space {
	struct wsmon_extent *ext;
	u32 nr_ext;
	struct wsmon_area *area;
	u32 nr_area;
	u32 cap;
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
 * @area:	index of its area
 * @hits:	visits of this interval that found a sample accessed
 * @checks:	visits of this interval
 * @out:	by window, share of each half within it, as last observed for
 *		the whole window (Q15): what the estimate is made of
 * @share:	moving average of each half's share an interval (Q15)
 * @ref:	share at @since_ns
 * @disagree:	moving average of "the two samples differed" (Q15)
 * @draws:	positions drawn since the share last flipped, saturating
 * @stolen:	bit h: sample h's Accessed bit was cleared and not given back
 * @known:	bit k: @out[k] says something, be it of a part of the window
 * @whole:	bit k: @out[k] was observed for the whole window
 * @due:	this boundary is to drop its samples
 * @dropped:	this boundary has
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
	u32 area;
	u32 hits;
	u32 checks;
	u16 out[WSMON_WINDOWS_MAX][2];
	u16 share[2];
	u16 ref;
	u16 disagree;
	u16 draws;
	u8 stolen;
	u8 known;
	u8 whole;
	u8 due;
	u8 dropped;
};

/**
 * struct wsmon_regions - the regions of a target
 * @r:		the regions, in address order
 * @spare:	as many again: every change writes the new list here, then swaps
 * @nr:		number of regions
 * @cap:	regions that fit into @r: budget and some room to move in
 * @budget:	most regions this target may have
 */
struct wsmon_regions {
	struct wsmon_region *r;
	struct wsmon_region *spare;
	u32 nr;
	u32 cap;
	u32 budget;
};

/* wsmon_space.c: the mapped pages */

u64 wsmon_space_pages(const struct wsmon_space *sp);
u64 wsmon_area_rank(const struct wsmon_space *sp, const struct wsmon_area *a,
		    u64 vpn);
u64 wsmon_area_select(const struct wsmon_space *sp, const struct wsmon_area *a,
		      u64 k);
int wsmon_space_add(struct wsmon_space *sp, u64 start, u64 end, u32 class,
		    bool joined);
void wsmon_space_group(struct wsmon_space *sp, u32 max_areas);
bool wsmon_space_same(const struct wsmon_space *a, const struct wsmon_space *b);

static inline u64 wsmon_area_start(const struct wsmon_space *sp,
				   const struct wsmon_area *a)
{
	return sp->ext[a->first].start;
}

static inline u64 wsmon_area_end(const struct wsmon_space *sp,
				 const struct wsmon_area *a)
{
	return sp->ext[a->first + a->nr - 1].end;
}

/* wsmon_regions.c: cells */

u64 wsmon_cell_mid(u64 start, u64 end);
bool wsmon_regions_buddies(const struct wsmon_regions *rs, u32 i);
void wsmon_region_split(const struct wsmon_space *sp,
			const struct wsmon_region *r, struct wsmon_region out[2]);
void wsmon_region_merge(const struct wsmon_space *sp,
			const struct wsmon_region *l,
			const struct wsmon_region *r, struct wsmon_region *out);
void wsmon_regions_fit(struct wsmon_regions *rs, const struct wsmon_space *sp,
		       u64 now);
u64 wsmon_hash64(u64 x);
void wsmon_region_draw(const struct wsmon_space *sp, struct wsmon_region *r,
		       u64 seed, u64 epoch);

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
 */
struct wsmon_adapt {
	u32 split[WSMON_SCORES];
	u32 merge[WSMON_SCORES];
};

void wsmon_region_observe(struct wsmon_region *r, const bool x[2], bool fresh,
			  u64 now);
void wsmon_regions_adapt(struct wsmon_regions *rs, const struct wsmon_space *sp,
			 struct wsmon_adapt *ws);

/* wsmon_fresh.c: memory that is new */

/* Pages of it that are looked at */
#define WSMON_FRESH_MAX		256

/**
 * struct wsmon_fresh - memory that was not there when mappings were last read
 * @pages:	how much of each class
 * @drawn:	pages of it that are looked at
 * @seen:	those found accessed
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

void wsmon_wss_estimate(const struct wsmon_regions *rs,
			const struct wsmon_space *sp,
			const struct wsmon_fresh *fresh, u32 k,
			const struct wsmon_wss *shorter,
			struct wsmon_wss wss[WSMON_NR_CLASSES]);

/* wsmon_parse.c: what people write into debugfs files */

/* The windows, ascending; k < nr_windows */
static inline u64 wsmon_attrs_window(const struct wsmon_attrs *attrs, u32 k)
{
	return k ? attrs->longer_us[k - 1] : attrs->window_us;
}

bool wsmon_attrs_same_windows(const struct wsmon_attrs *a,
			      const struct wsmon_attrs *b);
int wsmon_attrs_parse(struct wsmon_attrs *attrs, const char *text, size_t len);
int wsmon_attrs_check(const struct wsmon_attrs *attrs);
int wsmon_pids_parse(u32 *pids, unsigned int max, const char *text, size_t len);
const char *wsmon_class_name(u32 class);

/* What follows needs a kernel. */
#ifdef __KERNEL__

#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/pid.h>

struct file;
struct inode;
struct seq_file;

/**
 * struct wsmon_target - a process that is monitored
 * @pid:	its thread group, referenced
 * @mm:		address space the regions describe; an identity only, never
 *		followed: the process may have left it
 * @exec_id:	tells a new address space at the old one's address
 * @space:	its mappings
 * @regions:	its regions
 * @wss:	last estimates by window and class
 * @comm:	name of its main thread
 * @updated_ns:	when the mappings were last read; 0 is never
 * @read_ns:	how long that took
 * @fresh_ns:	when memory came to be that was not there before; regions made
 *		then are of such memory
 * @interval_ns: beginning of the present aggregation interval
 * @rounds:	sampling rounds in it
 * @drop_all:	all samples are to be dropped at the next boundary
 * @resume:	region the next pass begins with: where the last one gave up
 * @gone:	it exited
 */
struct wsmon_target {
	struct pid *pid;
	struct mm_struct *mm;
	u64 exec_id;
	struct wsmon_space space;
	struct wsmon_regions regions;
	struct wsmon_wss wss[WSMON_WINDOWS_MAX][WSMON_NR_CLASSES];
	char comm[WSMON_COMM_LEN];
	u64 updated_ns;
	u64 read_ns;
	u64 fresh_ns;
	u64 interval_ns;
	u32 rounds;
	u32 resume;
	bool drop_all;
	bool gone;
};

/**
 * struct wsmon_stats - counters since monitoring started: struct wsmon_rec_stats
 */
struct wsmon_stats {
	u64 rounds;
	u64 late_rounds;
	u64 missed;
	u64 checks;
	u64 arms;
	u64 flushes;
	u64 walk_ns;
	u64 flush_ns;
	u64 adapt_ns;
	u64 emit_ns;
	u64 cpu_ns;
	u64 max_hold_ns;
};

/**
 * struct wsmon_session - targets under observation
 * @targets:	the targets
 * @nr_targets:	their number
 * @nr_alive:	those not gone
 * @epoch:	aggregation intervals so far: salt of the sample positions
 * @stats:	counters
 * @start_ns:	when it began
 * @adapt:	scratch memory
 * @space:	scratch memory: mappings being read
 * @fresh:	scratch memory: pages of what is new in them
 * @boundary_ns: when the present aggregation interval ends
 * @cpu_start_ns: CPU time of the thread when it began
 * @ns:		pid namespace of who started it: pids in the stream are its,
 *		referenced
 * @thread:	kwsmond, referenced
 */
struct wsmon_session {
	struct wsmon_target *targets;
	u32 nr_targets;
	u32 nr_alive;
	u64 epoch;
	struct wsmon_stats stats;
	u64 start_ns;
	struct wsmon_adapt adapt;
	struct wsmon_space space;
	struct wsmon_fresh fresh;
	u64 boundary_ns;
	u64 cpu_start_ns;
	struct pid_namespace *ns;
	struct task_struct *thread;
};

/**
 * struct wsmon - the monitor
 * @ctl:	serialises what starts, stops and changes monitoring; taken
 *		before @lock, held while waiting for the thread to end
 * @lock:	protects everything below; the thread holds it during a round
 * @attrs:	attributes in force
 * @session:	present or last session; NULL before the first
 * @running:	@session is being observed
 * @stop_reason: why the last session ended, enum wsmon_end or -1: none yet
 */
struct wsmon {
	struct mutex ctl;	/* outside of lock */
	struct mutex lock;	/* see above */
	struct wsmon_attrs attrs;
	struct wsmon_session *session;
	bool running;
	int stop_reason;
};

extern struct wsmon wsmon;

/* wsmon_core.c: starting, stopping, attributes */
int wsmon_may_open(void);
int wsmon_set_attrs(const char *text, size_t len);
int wsmon_set_targets(const u32 *pids, unsigned int nr,
		      struct pid_namespace *ns);
void wsmon_end(u32 reason);

/* wsmon_session.c: memory of a session */
struct wsmon_session *wsmon_session_create(const u32 *pids, unsigned int nr,
					   struct pid_namespace *ns,
					   const struct wsmon_attrs *attrs);
void wsmon_session_free(struct wsmon_session *ss);
int wsmon_session_resize(struct wsmon_session *ss,
			 const struct wsmon_attrs *attrs);
void wsmon_session_forget(struct wsmon_session *ss);

/* wsmon_thread.c: kwsmond */
int wsmon_thread(void *data);

/* wsmon_vaddr.c: a target's mm and mappings */
struct mm_struct *wsmon_target_mm(struct wsmon_target *t, bool *changed);
int wsmon_vaddr_read(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm);
void wsmon_vaddr_adopt(struct wsmon_session *ss, struct wsmon_target *t,
		       u64 now);
void wsmon_space_free(struct wsmon_space *sp);

/**
 * enum wsmon_visit - what a visit does to a sample page
 * @WSMON_VISIT_ARM:	begin: forget accesses before now
 * @WSMON_VISIT_CHECK:	was it accessed since the last visit? go on watching
 * @WSMON_VISIT_DROP:	the same, and leave the page as it was found
 * @WSMON_VISIT_LOOK:	was it accessed? change nothing
 */
enum wsmon_visit {
	WSMON_VISIT_ARM,
	WSMON_VISIT_CHECK,
	WSMON_VISIT_DROP,
	WSMON_VISIT_LOOK,
};

/* Most attempts a pass makes to get a busy mmap lock, WSMON_LOCK_WAIT_US apart */
#define WSMON_LOCK_TRIES	40
#define WSMON_LOCK_WAIT_US	100

/* wsmon_walk.c: the pass over the sample pages */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_visit visit, u64 now);
void wsmon_walk_look(struct wsmon_session *ss, struct mm_struct *mm,
		     struct wsmon_fresh *f);
bool wsmon_mmap_trylock(struct mm_struct *mm, unsigned int *tries);
bool wsmon_vma_usable(struct vm_area_struct *vma);

/* wsmon_populated.c: where there are page tables */
unsigned long wsmon_populated(struct mm_struct *mm, unsigned long *start,
			      unsigned long end, unsigned int *left);

/* wsmon_tlb.c */
bool wsmon_tlb_can_flush(void);
void wsmon_tlb_flush(struct mm_struct *mm);
void wsmon_tlb_drain(void);

/* wsmon_stream.c: encoding records, with wsmon.lock held */
int wsmon_stream_init(void);
void wsmon_stream_exit(void);
void wsmon_stream_end(u32 reason);
void wsmon_stream_attrs(void);
void wsmon_stream_target(const struct wsmon_target *t, u32 flags);
void wsmon_stream_areas(const struct wsmon_target *t);
void wsmon_stream_snapshot(const struct wsmon_target *t, u64 now);
void wsmon_stream_wss(const struct wsmon_target *t, u64 now);
void wsmon_stream_exited(const struct wsmon_target *t);
void wsmon_stream_stats(const struct wsmon_session *ss);
void wsmon_stats_fill(struct wsmon_rec_stats *rec,
		      const struct wsmon_session *ss);

/* wsmon_buffer.c: where records wait for the reader */
int wsmon_buffer_init(void);
void wsmon_buffer_exit(void);
void wsmon_buffer_begin(void);
void wsmon_buffer_put(const struct wsmon_record *rec);
void wsmon_buffer_lost(u64 *records, u64 *bytes);
void wsmon_buffer_end(void);
bool wsmon_buffer_attached(void);
extern const struct file_operations wsmon_buffer_fops;

/* wsmon_debugfs.c */
int wsmon_debugfs_init(void);
void wsmon_debugfs_exit(void);

#endif /* __KERNEL__ */
#endif /* WSMON_INTERNAL_H */
