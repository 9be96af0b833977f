/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_sampler.h - the first sampler: Accessed bits of sample pages
 *
 * wsmon_walk.c goes over the sample pages and finds their page-table entries,
 * wsmon_accessed.c reads and clears bits in them.
 */
#ifndef WSMON_SAMPLER_H
#define WSMON_SAMPLER_H

#include <linux/mm.h>
#include <linux/pgtable.h>

#include "wsmon_process.h"

#if defined(CONFIG_X86_64)
#include "wsmon_x86.h"
#elif defined(CONFIG_ARM64)
#include "wsmon_arm64.h"
#else
#error "wsmon is for x86-64 and arm64"
#endif

/**
 * enum wsmon_sample_op - what is done to a sample page
 * @WSMON_SAMPLE_ARM:	forget accesses before now
 * @WSMON_SAMPLE_CHECK:	was it accessed since the last time? clear its bit
 * @WSMON_SAMPLE_DROP:	was it accessed since the last time? do not clear its bit
 * @WSMON_SAMPLE_LOOK:	was it accessed? change nothing
 * @WSMON_SAMPLE_SETTLE: pay a debt to reclaim, if there is one; clear nothing
 */
enum wsmon_sample_op {
	WSMON_SAMPLE_ARM,
	WSMON_SAMPLE_CHECK,
	WSMON_SAMPLE_DROP,
	WSMON_SAMPLE_LOOK,
	WSMON_SAMPLE_SETTLE,
};

/**
 * enum wsmon_place - in what entry a page was at a look, as far as its bit depends on it
 * @WSMON_PLACE_UNKNOWN: nobody could look
 * @WSMON_PLACE_NONE:	no page table has it: if it is found in a huge entry, a fault has made that
 * @WSMON_PLACE_OWN:	it has a place in a page table, mapped or not
 * @WSMON_PLACE_MADE:	it is in an entry such as the kernel makes of others, with the bit set: a
 *			huge one, or one of a page that KSM has merged
 */
enum wsmon_place {
	WSMON_PLACE_UNKNOWN,
	WSMON_PLACE_NONE,
	WSMON_PLACE_OWN,
	WSMON_PLACE_MADE,
};

/* wsmon_walk.c: the pass over the sample pages */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now);
void wsmon_walk_visits(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, struct wsmon_visit *v, u32 nr, bool settle);

/**
 * struct wsmon_visit - a look at a sample page in one process
 * @spot:	the page in the group's space; of new memory: index in struct wsmon_fresh
 * @vpn:	the page in the process
 * @looked_ns:	accesses since the last look, at this time, count
 * @seen_ns:	when an access was last found that counts; 0: never
 * @made_ns:	when it was found that the kernel had made the entry anew; 0: never
 * @pfn:	the page frame at the last look
 * @frame:	the page frame at @seen_ns, where members may have different ones; else 0
 * @rank:	rank of the process for this sample: see wsmon_space.c
 * @kind:	enum wsmon_part_kind
 * @op:		what to do
 * @debt:	what reclaim does not know: see wsmon_accessed.c
 * @place:	enum wsmon_place
 * @own:	it had a place in a page table before
 * @skip:	not in this pass
 * @done:	the page was looked at
 * @mapped:	it is mapped
 * @none:	it is not, and not in swap either
 * @seen:	it was accessed
 * @around:	perhaps a fault on a page near it mapped it
 * @text:	it is text
 * @absent:	it was not mapped at the last look
 * @vague:	@seen_ns is perhaps a fault on a page near it
 * @anon:	it is an anonymous page
 * @exclusive:	that no other process maps
 * @times:	how often it is mapped, if each time is an equal part of it; else 1
 */
struct wsmon_visit {
	u64 spot;
	u64 vpn;
	u64 looked_ns;
	u64 seen_ns;
	u64 made_ns;
	u64 pfn;
	u64 frame;
	u32 rank;
	u8 kind;
	u8 op;
	u8 debt;
	u8 place;
	bool own;
	bool skip;
	bool done;
	bool mapped;
	bool none;
	bool seen;
	bool around;
	bool text;
	bool absent;
	bool vague;
	bool anon;
	bool exclusive;
	u32 times;
};

/* wsmon_accessed.c: the sampler */
int wsmon_young_init(void);
void wsmon_young_exit(void);

/* Between wsmon_walk.c and wsmon_accessed.c */

/**
 * struct wsmon_entry - the page-table entry of a sample page
 * @vma:	its mapping, under the mmap lock
 * @val:	the entry: present, its lock held; the first of those that share the bit
 * @span:	how many these are
 * @pfn:	the page frame, if @has_folio
 * @has_folio:	it is an ordinary page, which reclaim may manage
 */
struct wsmon_entry {
	struct vm_area_struct *vma;
	unsigned long *val;
	unsigned int span;
	unsigned long pfn;
	bool has_folio;
};

/**
 * struct wsmon_pass - one pass over a target's sample pages, for the sampler
 * @member:	the process; NULL where nothing is changed
 * @mm:		the address space, referenced
 * @session:	the session
 * @dirty_tlb:	processors may use translations without setting Accessed bits
 * @shared:	others sample this process, too: take notes
 * @since:	a bit that others cleared since then counts as set; 0: it does not
 * @settle:	debts to reclaim are to be paid, if they can be: the last pass of an
 *		interval, or of a second
 * @alone:	the entry maps an anonymous huge page, and no other process maps that
 * @returned:	the last entry whose bit was set again for reclaim
 * @kept:	the last entry of a sample that was not dropped
 * @kept_debt:	that sample's debt
 */
struct wsmon_pass {
	const struct wsmon_member *member;
	struct mm_struct *mm;
	struct wsmon_session *session;
	u64 since;
	bool shared;
	bool dirty_tlb;
	bool settle;
	bool alone;
	const unsigned long *returned;
	const unsigned long *kept;
	u8 *kept_debt;
};

/**
 * enum wsmon_debt - what reclaim does not know of a sample page
 * @DEBT_NONE:	reclaim knows everything
 * @DEBT_REPORTED: reclaim knows everything: an access was reported since debts were
 *		last settled. Without the young flag: the bit is still to be set again
 * @DEBT_OWED:	reclaim does not know of an access
 * @DEBT_PAID:	reclaim knows everything, by a young flag of a huge page that may still be set
 */
enum wsmon_debt {
	DEBT_NONE,
	DEBT_REPORTED,
	DEBT_OWED,
	DEBT_PAID,
};

/*
 * Note one more access to a page, its bit about to be cleared, if that needs nothing but a
 * note: an access was reported in this interval. Return: is that so?
 */
static inline bool wsmon_young_owe_again(u8 *debt)
{
	if (!IS_ENABLED(CONFIG_PAGE_IDLE_FLAG))
		return *debt == DEBT_REPORTED;
	if (*debt == DEBT_NONE)
		return false;
	*debt = DEBT_OWED;
	return true;
}

/*
 * Is there memory? Reading what was never written maps the zero page, which is nobody's. Its
 * entries are marked as special.
 */
static inline bool wsmon_pte_has_memory(pte_t pte)
{
	return pte_present(pte) && !(pte_special(pte) && is_zero_pfn(pte_pfn(pte)));
}

bool wsmon_young_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			enum wsmon_sample_op op, u8 *debt);
bool wsmon_young_seen_by_any(struct wsmon_session *ss, const pmd_t *pmdp,
			     enum wsmon_sample_op op, bool seen);
void wsmon_tlb_finish(struct wsmon_pass *pass);

/**
 * struct wsmon_range - a range of addresses
 * @start:	first address
 * @end:	end, exclusive; 0 if the range is empty
 */
struct wsmon_range {
	unsigned long start;
	unsigned long end;
};

static inline bool wsmon_range_holds(const struct wsmon_range *r, unsigned long addr)
{
	return addr >= r->start && addr < r->end;
}

/* The table of @size that holds @addr; the last one of the address space ends at ~0 */
static inline struct wsmon_range wsmon_range_around(unsigned long addr, unsigned long size)
{
	unsigned long start = addr & ~(size - 1);
	struct wsmon_range r = { start, start + size ? start + size : ULONG_MAX };

	return r;
}

/**
 * struct wsmon_walk - the cursor of a pass
 * @pass:	what the sampler sees
 * @locked:	the mmap lock is held
 * @since_ns:	when the mmap lock was taken
 * @switches:	how often the thread had been switched out then
 * @tries:	attempts at a busy mmap lock this pass may still make
 * @steps:	regions until the clock is read again; 0 if not @locked
 * @vma:	mapping of the last sample, in @mapping; NULL if not usable
 * @shared:	the file of @vma whose page tables several processes may share, its
 *		i_mmap_rwsem held; or NULL
 * @mapped:	the last sample page was mapped
 * @none:	there is nothing: no mapping, or no entry, so it is not in swap either
 * @around:	perhaps a fault on a page near it mapped it, and set its bit
 * @text:	it is text
 * @place:	in what entry it is
 * @maps_old:	what a fault maps around the folio of its page is not marked accessed
 * @frames:	find out what the entry maps: the next three
 * @anon:	an anonymous page
 * @exclusive:	that no other process maps
 * @delta:	page frame number, less the page number
 * @times:	mappings of the last sample page, if KSM merged it: each is a part of it; else 1
 * @reclaimed:	pages of the target come and go: look at clusters in each round
 * @busy:	the lock of a shared file was busy: sample this page again later
 * @mapping:	addresses for which @vma is the answer
 * @hole:	addresses without page tables, while the mmap lock is held
 * @leaf:	addresses of the last huge entry, or of entries that share an Accessed bit
 * @leaf_seen:	it was accessed: samples in one huge page share the answer for a pass
 * @leaf_op:	what was done to it
 * @leaf_mapped, @leaf_around, @leaf_text, @leaf_place: @mapped, @around, @text and @place of it
 * @table:	addresses of @mapping in the page table the cursor is in
 * @pte:	its first entry
 * @ptl:	its lock, held; NULL if the cursor is in none
 * @quick:	entries of @table, if nobody else samples the process, and KSM merges nothing there
 * @quick_vpn:	page of the first
 * @quick_nr:	number of them
 * @begin_ns:	when the pass began
 * @near_ns:	a look within this time before one is just before it
 * @recent_ns:	the shortest window began then
 * @notes_until: notes of cleared bits matter for what was looked at before this time
 * @looks:	samples looked at
 * @missed:	regions that were to be sampled, but @busy
 */
struct wsmon_walk {
	struct wsmon_pass pass;
	bool locked;
	u64 since_ns;
	u64 switches;
	unsigned int tries;
	unsigned int steps;
	struct vm_area_struct *vma;
	struct address_space *shared;
	bool mapped;
	bool none;
	bool around;
	bool text;
	enum wsmon_place place;
	bool maps_old;
	bool frames;
	bool anon;
	bool exclusive;
	u64 delta;
	u32 times;
	bool reclaimed;
	bool busy;
	struct wsmon_range mapping;
	struct wsmon_range hole;
	struct wsmon_range leaf;
	bool leaf_seen;
	enum wsmon_sample_op leaf_op;
	bool leaf_mapped;
	bool leaf_around;
	bool leaf_text;
	enum wsmon_place leaf_place;
	struct wsmon_range table;
	pte_t *pte;
	spinlock_t *ptl;	/* of the page table */
	pte_t *quick;
	u64 quick_vpn;
	u64 quick_nr;
	u64 begin_ns;
	u64 near_ns;
	u64 recent_ns;
	u64 notes_until;
	u32 looks;
	u32 missed;
};

#endif /* WSMON_SAMPLER_H */
