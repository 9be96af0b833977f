/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_sampler.h - the first sampler: Accessed bits of sample pages
 *
 * wsmon_walk.c finds the page-table entries of the sample pages, wsmon_accessed.c reads and
 * clears their Accessed bits.
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
 * @WSMON_SAMPLE_ARM:	clear its bit, so that only later accesses count
 * @WSMON_SAMPLE_CHECK:	test whether it was accessed since the last time, and clear its bit
 * @WSMON_SAMPLE_DROP:	the same for the last time: do not clear its bit
 * @WSMON_SAMPLE_LOOK:	test whether it was accessed, and change nothing
 * @WSMON_SAMPLE_SETTLE: pay its debt to reclaim, if any; clear nothing
 */
enum wsmon_sample_op {
	WSMON_SAMPLE_ARM,
	WSMON_SAMPLE_CHECK,
	WSMON_SAMPLE_DROP,
	WSMON_SAMPLE_LOOK,
	WSMON_SAMPLE_SETTLE,
};

/**
 * enum wsmon_place - the kind of entry that a look found for a page
 * @WSMON_PLACE_UNKNOWN: the look did not tell
 * @WSMON_PLACE_NONE:	no page table covers it: only a fault can make a huge entry for it
 * @WSMON_PLACE_OWN:	it has an entry of its own in a page table, mapped or not
 * @WSMON_PLACE_MADE:	a huge entry, or the entry of a page that KSM merged: the kernel may have
 *			made this entry from others and set its Accessed bit without an access
 */
enum wsmon_place {
	WSMON_PLACE_UNKNOWN,
	WSMON_PLACE_NONE,
	WSMON_PLACE_OWN,
	WSMON_PLACE_MADE,
};

/**
 * struct wsmon_found - what a look found out about a page, besides whether it was accessed
 * @place:	enum wsmon_place
 * @mapped:	the page is mapped
 * @none:	the page is neither mapped nor in swap
 * @around:	perhaps a fault on a nearby page mapped the page and set its bit
 * @text:	the page is mapped, and the mapping is executable
 * @anon:	the page is anonymous; only wsmon_walk_visits() sets this and @exclusive
 * @exclusive:	the page is anonymous, and no other process maps it
 */
struct wsmon_found {
	u8 place;
	bool mapped;
	bool none;
	bool around;
	bool text;
	bool anon;
	bool exclusive;
};

/* wsmon_walk.c: the pass over the sample pages */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now);
void wsmon_walk_visits(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, struct wsmon_visit *v, u32 nr, bool settle);

/**
 * struct wsmon_visit - a look at a sample page in one process
 * @spot:	page number in the group's space; for new memory: index in struct wsmon_fresh
 * @vpn:	page number in the process
 * @looked_ns:	time of the last look: later accesses count
 * @seen_ns:	when a look last found an access that counts; 0: never
 * @made_ns:	when a look found that the kernel had made the entry anew; 0: never
 * @pfn:	page frame number at the last look
 * @frame:	page frame number at @seen_ns, if members may have different ones; else 0
 * @rank:	rank of the process for this sample: see wsmon_space.c
 * @kind:	enum wsmon_part_kind
 * @op:		what to do: enum wsmon_sample_op
 * @debt:	enum wsmon_debt
 * @found:	what the last look found
 * @own:	an earlier look found WSMON_PLACE_OWN
 * @skip:	leave this visit out of the pass
 * @done:	the pass has looked at the page
 * @seen:	the page was accessed
 * @absent:	the page was not mapped when armed, or went since; no check found it accessed since
 * @vague:	the access at @seen_ns is perhaps a fault on a nearby page
 * @times:	number of mappings of a page that KSM merged: each counts as an equal part; else 1
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
	struct wsmon_found found;
	bool own;
	bool skip;
	bool done;
	bool seen;
	bool absent;
	bool vague;
	u32 times;
};

/* wsmon_accessed.c */
int wsmon_accessed_init(void);
void wsmon_accessed_exit(void);

/* Between wsmon_walk.c and wsmon_accessed.c */

/**
 * struct wsmon_entry - the page-table entry of a sample page
 * @vma:	its mapping, under the mmap lock
 * @val:	the entry, present, with its page table locked; if several entries share an Accessed
 *		bit: the first of them
 * @span:	number of entries that share the Accessed bit
 * @pfn:	page frame number, if @has_folio
 * @has_folio:	an ordinary page, which reclaim may manage
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
 * @member:	the process; NULL if the pass changes no entry
 * @mm:		the address space, referenced
 * @session:	the session
 * @since:	a bit that another sampler cleared after this time counts as set; 0: none does
 * @shared:	other samplers look at this process, too: note which bits are cleared
 * @dirty_tlb:	processors may use translations without setting Accessed bits: flush at the end
 * @settle:	pay debts to reclaim where possible: the last pass of an interval, or of a second
 * @alone:	the entry maps an anonymous huge page that no other process maps
 * @returned:	the last entry whose bit was set again for reclaim
 * @kept:	the entry of the last sample that stays armed
 * @kept_debt:	the debt of this sample
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
 * @DEBT_NONE:	nothing
 * @DEBT_REPORTED: nothing: an access was reported since debts were last settled. Without
 *		CONFIG_PAGE_IDLE_FLAG the bit must still be set again when the sample is dropped
 * @DEBT_OWED:	an access
 * @DEBT_PAID:	nothing: the young flag of its huge page was set, and may still be
 */
enum wsmon_debt {
	DEBT_NONE,
	DEBT_REPORTED,
	DEBT_OWED,
	DEBT_PAID,
};

/*
 * Record one more access to a page whose bit the caller is about to clear, if an access was
 * reported in this interval: then @debt is all there is to change. Return: true if recorded.
 */
static inline bool wsmon_accessed_owe_again(u8 *debt)
{
	if (!IS_ENABLED(CONFIG_PAGE_IDLE_FLAG))
		return *debt == DEBT_REPORTED;
	if (*debt == DEBT_NONE)
		return false;
	*debt = DEBT_OWED;
	return true;
}

/*
 * Does the entry map memory of the process? Reading memory that was never written maps the zero
 * page, which belongs to no process. Its entries are marked as special.
 */
static inline bool wsmon_pte_has_memory(pte_t pte)
{
	return pte_present(pte) && !(pte_special(pte) && is_zero_pfn(pte_pfn(pte)));
}

bool wsmon_accessed_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			   enum wsmon_sample_op op, u8 *debt);
bool wsmon_accessed_seen_by_any(struct wsmon_session *ss, const pmd_t *pmdp,
				enum wsmon_sample_op op, bool seen);
void wsmon_tlb_finish(struct wsmon_pass *pass);

/**
 * struct wsmon_upper - where the search for a pmd ended
 * @size:	bytes that the last entry read covers
 * @none:	this entry is empty
 * @pudp:	this entry, if it is a pud; else NULL
 * @pud:	value of *@pudp
 */
struct wsmon_upper {
	unsigned long size;
	bool none;
	pud_t *pudp;
	pud_t pud;
};

/*
 * Find the pmd of an address. Context: the upper levels of page tables must stay: the mmap lock is
 * held and the address is mapped (wsmon_walk.c), or interrupts are off (hint_repair()).
 * Return: the pmd; NULL if there is none, with the reason in @u.
 */
static inline pmd_t *wsmon_find_pmd(struct mm_struct *mm, unsigned long addr, struct wsmon_upper *u)
{
	pgd_t *pgdp = pgd_offset(mm, addr), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;

	u->pudp = NULL;
	u->size = PGDIR_SIZE;
	u->none = pgd_none(pgd);
	if (u->none || unlikely(pgd_bad(pgd)))
		return NULL;
	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	u->size = P4D_SIZE;
	u->none = p4d_none(p4d);
	if (u->none || unlikely(p4d_bad(p4d)))
		return NULL;
	u->pudp = pud_offset_lockless(p4dp, p4d, addr);
	u->pud = READ_ONCE(*u->pudp);
	u->size = PUD_SIZE;
	u->none = pud_none(u->pud);
	if (u->none || !pud_present(u->pud) || pud_leaf(u->pud) || unlikely(pud_bad(u->pud)))
		return NULL;
	return pmd_offset_lockless(u->pudp, u->pud, addr);
}

/* Does a pud map a huge page? */
static inline bool wsmon_upper_is_huge(const struct wsmon_upper *u)
{
	return u->pudp && pud_present(u->pud) && pud_leaf(u->pud);
}

/* Does a pmd lead to a page table? */
static inline bool wsmon_pmd_has_table(pmd_t pmd)
{
	return pmd_present(pmd) && !pmd_leaf(pmd) && likely(!pmd_bad(pmd));
}

/* wsmon_walk.c: page tables */
pte_t *wsmon_lock_table(struct mm_struct *mm, pmd_t *pmdp, unsigned long addr,
			pmd_t *pmd, spinlock_t **ptl);

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

/* The aligned range of @size bytes around @addr; the last range of the address space ends at ~0 */
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
 * @switches:	context switches of the thread when the mmap lock was taken
 * @tries:	attempts at a busy mmap lock that this pass may still make
 * @steps:	regions until the clock is read again; 0 if not @locked
 * @vma:	mapping of the last sample; NULL if there is none, or it is not usable
 * @shared:	file of @vma, its i_mmap_rwsem held, if several processes may share the page tables
 *		of this mapping; else NULL
 * @found:	what the last look found
 * @maps_old:	wsmon_maps_old()
 * @frames:	set @found.anon, @found.exclusive and @delta at each look
 * @delta:	page frame number minus page number of the last sample page
 * @times:	mappings of the last sample page, if KSM merged it: each is a part of it; else 1
 * @reclaimed:	pages of the target come and go: look at clusters in each round
 * @busy:	the lock of a shared file was busy, or a page table could not be entered: sample
 *		this page again later
 * @mapping:	addresses for which @vma is the answer
 * @hole:	addresses without page tables, while the mmap lock is held
 * @leaf:	addresses of the last huge entry, or block of entries that share an Accessed bit
 * @leaf_seen:	@leaf was accessed: samples in it share the answer for a pass
 * @leaf_op:	what was done to @leaf
 * @leaf_found:	@found of @leaf
 * @table:	addresses of the page table that the cursor is in, clipped to @mapping
 * @pte:	first entry of this page table
 * @ptl:	lock of this page table, held; NULL if the cursor is in none
 * @quick:	first entry of @table
 * @quick_vpn:	page of @quick
 * @quick_nr:	entries of @table; 0 if notes of cleared bits matter, or KSM may merge pages here
 * @begin_ns:	when the pass began
 * @near_ns:	the last look is recent if it was at most this long before the pass
 * @recent_ns:	start of the shortest window
 * @notes_until: notes of cleared bits matter for samples last looked at before this time
 * @looks:	samples looked at
 * @missed:	regions not sampled because of @busy
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
	struct wsmon_found found;
	bool maps_old;
	bool frames;
	u64 delta;
	u32 times;
	bool reclaimed;
	bool busy;
	struct wsmon_range mapping;
	struct wsmon_range hole;
	struct wsmon_range leaf;
	bool leaf_seen;
	enum wsmon_sample_op leaf_op;
	struct wsmon_found leaf_found;
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
