// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_walk.c - the pass over a target's sample pages
 *
 * Called by the kthread with wsmon.lock held and the mm grabbed (mm_count): its
 * users may leave at any time.
 *
 * Samples are visited in address order with a cursor, so that consecutive
 * samples in one page table cost one descent and one lock. A hold, of HOLD_NS at
 * most, has a reference on mm_users, so that exit does not free the page tables, and
 * the mmap lock for reading: it keeps mappings, and with them the upper levels of the
 * page tables of mapped ranges, where they are. munmap() frees page tables of what
 * it unmapped under a downgraded lock, so every address is looked up among the
 * mappings under the same hold.
 *
 * What may change nevertheless, from 6.1 on if nothing else is said:
 * - a leaf entry (fault, reclaim, migration, split): visited under its lock,
 *   and only if it is what it was;
 * - a page table under a pmd: from 6.6 on khugepaged retracts those of files without
 *   the mmap lock (before, it takes that for writing), from 6.14 on MADV_DONTNEED
 *   frees those it emptied, with the mmap lock for reading. Both clear the pmd with
 *   its lock and the page table's held, and free the table after an RCU grace period:
 *   so rcu_read_lock, then its lock, then the pmd is compared again;
 * - a shared hugetlb page table of PMDs, unshared from another process: that takes
 *   i_mmap_rwsem of the file for writing, so it is taken for reading.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hugetlb.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>

#include "wsmon_walk.h"

/* Longest the mmap lock is held, give or take one page table's samples */
#define HOLD_NS		(60 * NSEC_PER_USEC)
/* How often the clock is looked at, in visits */
#define HOLD_CHECK	16
/* Reclaim waits no longer for what it is owed, if intervals are longer */
#define SETTLE_NS	NSEC_PER_SEC
/* A pmd may gain its Accessed bit between reading it and locking its table */
#define PMD_TRIES	4

/**
 * struct wsmon_range - addresses [start, end)
 * @start:	first
 * @end:	behind the last; 0 for none
 */
struct wsmon_range {
	unsigned long start;
	unsigned long end;
};

/**
 * struct wsmon_walk - state of a pass
 * @round:	what the sampler sees
 * @session:	whose pass it is
 * @hold:	how long the mmap lock was held
 * @locked:	the mmap lock is held
 * @since_ns:	since when
 * @tries:	attempts at a busy mmap lock this pass may still make
 * @steps:	visits since the clock was looked at
 * @vma:	mapping of the last sample, in @mapping; NULL if not usable
 * @shared:	the file of @vma whose page tables several processes may share, its
 *		i_mmap_rwsem held; or NULL
 * @mapped:	the page last visited was there
 * @around:	and may merely have been mapped around a fault: it was not written
 * @text:	and is text
 * @busy:	that could not be had: the last visit is to be made again
 * @mapping:	addresses for which @vma is the answer
 * @hole:	addresses without page tables, during this hold
 * @leaf:	addresses of the last huge entry
 * @leaf_seen:	what its visit found: samples in it share one answer a round
 * @leaf_visit:	what was done to it
 * @table:	addresses of the page table the cursor is in
 * @pte:	its first entry
 * @ptl:	its lock, held; NULL if the cursor is in none
 */
struct wsmon_walk {
	struct wsmon_pass round;
	struct wsmon_session *session;
	struct wsmon_hist *hold;
	bool locked;
	u64 since_ns;
	unsigned int tries;
	unsigned int steps;
	struct vm_area_struct *vma;
	struct address_space *shared;
	bool mapped;
	bool around;
	bool text;
	bool busy;
	struct wsmon_range mapping;
	struct wsmon_range hole;
	struct wsmon_range leaf;
	bool leaf_seen;
	enum wsmon_sample_op leaf_visit;
	struct wsmon_range table;
	pte_t *pte;
	spinlock_t *ptl;	/* of the page table */
};

static bool wsmon_range_holds(const struct wsmon_range *r, unsigned long addr)
{
	return addr >= r->start && addr < r->end;
}

/* The table of @size that holds @addr; at the top of the space it ends at ~0. */
static struct wsmon_range wsmon_range_around(unsigned long addr, unsigned long size)
{
	unsigned long start = addr & ~(size - 1);
	struct wsmon_range r = { start, start + size ? start + size : ULONG_MAX };

	return r;
}

static void walk_leave_table(struct wsmon_walk *w)
{
	if (!w->ptl)
		return;
	/* for sparse: the cursor has held them since walk_enter_table() */
	__acquire(RCU);
	__acquire(w->ptl);
	spin_unlock(w->ptl);
	rcu_read_unlock();
	w->ptl = NULL;
	w->table.end = 0;
}

static void wsmon_walk_leave_mapping(struct wsmon_walk *w)
{
	walk_leave_table(w);
	if (w->shared)
		i_mmap_unlock_read(w->shared);
	w->shared = NULL;
	w->vma = NULL;
	w->mapping.end = 0;
}

static void walk_unlock(struct wsmon_walk *w)
{
	u64 held;

	wsmon_walk_leave_mapping(w);
	if (!w->locked)
		return;
	wsmon_mm_unlock(w->round.mm);
	w->locked = false;
	held = ktime_get_ns() - w->since_ns;
	wsmon_hist_add(w->hold, held);
	if (held > w->round.stats->max_hold_ns)
		w->round.stats->max_hold_ns = held;
}

/**
 * wsmon_mm_lock - keep the page tables of a process, if that can be had soon
 * @mm:		its mm, grabbed
 * @tries:	attempts that may fail; counted down
 *
 * Takes a reference on mm_users, which is not waited with, and the mmap lock for
 * reading. A target that sits on its lock, or fights for it, delays others only by as
 * much as @tries allow for a whole pass. To be undone soon: the process's memory
 * outlives it until then.
 * Context: may sleep.
 */
bool wsmon_mm_lock(struct mm_struct *mm, unsigned int *tries)
{
	for (;;) {
		if (!mmget_not_zero(mm))
			return false;
		if (mmap_read_trylock(mm))
			return true;
		mmput_async(mm);
		if (!*tries)
			return false;
		--*tries;
		usleep_range(WSMON_LOCK_WAIT_US / 2, WSMON_LOCK_WAIT_US);
	}
}

/**
 * wsmon_mm_unlock - undo wsmon_mm_lock()
 * @mm:	the mm
 *
 * The last user's work is not for this thread to do.
 */
void wsmon_mm_unlock(struct mm_struct *mm)
{
	mmap_read_unlock(mm);
	mmput_async(mm);
}

/**
 * wsmon_mm_busy - if wsmon_mm_lock() failed, was it for the lock?
 * @mm:	the mm, grabbed
 *
 * Return: false if the mm has no users any more.
 */
bool wsmon_mm_busy(const struct mm_struct *mm)
{
	return atomic_read(&mm->mm_users);
}

static bool walk_lock(struct wsmon_walk *w)
{
	if (!wsmon_mm_lock(w->round.mm, &w->tries))
		return false;
	w->locked = true;
	w->since_ns = ktime_get_ns();
	w->steps = 0;
	w->hole.end = 0;
	return true;
}

static noinline bool walk_renew_lock(struct wsmon_walk *w)
{
	if (w->locked) {
		if (!mmap_lock_is_contended(w->round.mm) && !need_resched() &&
		    ktime_get_ns() - w->since_ns < HOLD_NS)
			return true;
		walk_unlock(w);
		cond_resched();
	}
	return walk_lock(w);
}

/* Return: whether the lock is held, after a pause if others want something */
static __always_inline bool walk_keep_lock(struct wsmon_walk *w)
{
	if (likely(w->locked && ++w->steps % HOLD_CHECK))
		return true;
	return walk_renew_lock(w);
}

/* A region that is not visited: no lock is to be held for long on its way */
static __always_inline void walk_skip_region(struct wsmon_walk *w)
{
	if (w->locked && !(++w->steps % HOLD_CHECK))
		walk_renew_lock(w);
}

/**
 * wsmon_vma_usable - may the page tables of a mapping be walked?
 * @vma:	the mapping, under the mmap lock
 *
 * Accessed bits of devices' memory mean nothing.
 */
bool wsmon_vma_usable(struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_IO | VM_PFNMAP));
}

/*
 * Page tables of shared hugetlb mappings that span a whole PUD may belong to several
 * processes, and be taken away by any of them.
 */
static bool vma_may_share_tables(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_HUGETLB && vma->vm_flags & VM_MAYSHARE &&
	       ALIGN(vma->vm_start, PUD_SIZE) + PUD_SIZE <= vma->vm_end;
}

static struct vm_area_struct *walk_find_mapping(struct wsmon_walk *w, unsigned long addr)
{
	struct vm_area_struct *vma;

	if (wsmon_range_holds(&w->mapping, addr))
		return w->vma;
	wsmon_walk_leave_mapping(w);
	vma = find_vma(w->round.mm, addr);
	w->mapping.start = addr;
	w->mapping.end = addr + 1;
	if (!vma || addr < vma->vm_start)
		return NULL;
	w->mapping.start = vma->vm_start;
	w->mapping.end = vma->vm_end;
	if (!wsmon_vma_usable(vma))
		return NULL;
	if (vma_may_share_tables(vma)) {
		if (!i_mmap_trylock_read(vma->vm_file->f_mapping)) {
			w->busy = true;
			w->mapping.end = 0;
			return NULL;
		}
		w->shared = vma->vm_file->f_mapping;
	}
	w->vma = vma;
	return vma;
}

/* Visit an entry whose lock is held. */
static bool wsmon_walk_sample_entry(struct wsmon_walk *w, unsigned long *val, unsigned long pfn,
			bool normal, enum wsmon_sample_op op, u8 *debt)
{
	struct wsmon_entry e = {
		.vma = w->vma,
		.val = val,
		.pfn = pfn,
		.has_folio = normal && !is_vm_hugetlb_page(w->vma) &&
			     !vma_is_dax(w->vma) &&
			     !(w->vma->vm_flags & VM_MIXEDMAP),
	};

	return wsmon_sampler_young.visit(&w->round, &e, op, debt);
}

static __always_inline bool wsmon_walk_sample_pte(struct wsmon_walk *w, unsigned long addr,
				      enum wsmon_sample_op op, u8 *debt)
{
	pte_t *ptep = w->pte + pte_index(addr);
	pte_t pte = READ_ONCE(*ptep);

	if (!pte_present(pte))
		return false;
	w->mapped = true;
	if (op == WSMON_SAMPLE_CHECK && !w->round.settle &&
	    !(pte_val(pte) & wsmon_sampler_young.idle_mask))
		return false;
	/* faults that write map nothing around them */
	w->around = !pte_dirty(pte) && w->vma->vm_ops && w->vma->vm_ops->map_pages;
	w->text = w->vma->vm_flags & VM_EXEC;
	return wsmon_walk_sample_entry(w, (unsigned long *)ptep, pte_pfn(pte),
			   !pte_special(pte), op, debt);
}

static void walk_remember_leaf(struct wsmon_walk *w, struct wsmon_range leaf,
			  enum wsmon_sample_op op, bool seen)
{
	w->leaf = leaf;
	w->leaf_visit = op;
	w->leaf_seen = seen;
}

/*
 * Targets that share a page table take the bit from each other. Which of them found an
 * entry accessed in this round is remembered, and told to those that come later. What
 * happens in the milliseconds between two of them is lost for the first.
 */
static bool walk_seen_by_any(struct wsmon_walk *w, const pmd_t *pmdp, enum wsmon_sample_op op,
			bool seen)
{
	u64 round = w->session->passes;
	struct wsmon_leaf *leaf;

	if (!w->shared)
		return seen;
	leaf = &w->session->leaves[hash_ptr(pmdp, WSMON_LEAVES_BITS)];
	if (op == WSMON_SAMPLE_LOOK)
		return seen || (leaf->entry == pmdp && leaf->round == round && leaf->seen);
	if (leaf->entry != pmdp || leaf->round != round) {
		leaf->entry = pmdp;
		leaf->round = round;
		leaf->seen = false;
	}
	leaf->seen |= seen;
	return op == WSMON_SAMPLE_ARM ? seen : leaf->seen;
}

/* A transparent or hugetlb huge page of PMD size */
static bool walk_sample_pmd(struct wsmon_walk *w, pmd_t *pmdp, pmd_t pmd,
		      unsigned long addr, enum wsmon_sample_op op, u8 *debt)
{
	spinlock_t *ptl = pmd_lock(w->round.mm, pmdp);
	pmd_t now = READ_ONCE(*pmdp);
	bool seen = false;

	/* anything else than the same page: too late for this visit */
	if (pmd_leaf(now) && pmd_present(now) && pmd_pfn(now) == pmd_pfn(pmd)) {
		seen = wsmon_walk_sample_entry(w, (unsigned long *)pmdp, pmd_pfn(pmd), true,
				   op, debt);
		seen = walk_seen_by_any(w, pmdp, op, seen);
		walk_remember_leaf(w, wsmon_range_around(addr, PMD_SIZE), op, seen);
	}
	spin_unlock(ptl);
	return seen;
}

/* A hugetlb page of PUD size */
static bool walk_sample_pud(struct wsmon_walk *w, pud_t *pudp, pud_t pud,
		      unsigned long addr, enum wsmon_sample_op op, u8 *debt)
{
	spinlock_t *ptl = pud_lock(w->round.mm, pudp);
	pud_t now = READ_ONCE(*pudp);
	bool seen = false;

	if (pud_leaf(now) && pud_present(now) && pud_pfn(now) == pud_pfn(pud)) {
		seen = wsmon_walk_sample_entry(w, (unsigned long *)pudp, pud_pfn(pud), true,
				   op, debt);
		walk_remember_leaf(w, wsmon_range_around(addr, PUD_SIZE), op, seen);
	}
	spin_unlock(ptl);
	return seen;
}

/* Return: true with the table's lock held, or false: it went away */
static bool walk_enter_table(struct wsmon_walk *w, pmd_t *pmdp, pmd_t pmd,
			unsigned long addr)
{
	rcu_read_lock();
	w->pte = pte_offset_kernel(&pmd, addr & PMD_MASK);
	w->ptl = pte_lockptr(w->round.mm, &pmd);
	spin_lock(w->ptl);
	w->table = wsmon_range_around(addr, PMD_SIZE);
	/* for sparse: the cursor holds them until walk_leave_table() */
	__release(w->ptl);
	__release(RCU);
	if (likely(pmd_same(pmd, READ_ONCE(*pmdp))))
		return true;
	walk_leave_table(w);
	return false;
}

static bool walk_sample_below_pmd(struct wsmon_walk *w, pmd_t *pmdp, unsigned long addr,
			 enum wsmon_sample_op op, u8 *debt)
{
	unsigned int tries;

	for (tries = 0; tries < PMD_TRIES; tries++) {
		pmd_t pmd = READ_ONCE(*pmdp);

		if (pmd_none(pmd)) {
			w->hole = wsmon_range_around(addr, PMD_SIZE);
			return false;
		}
		if (!pmd_present(pmd))
			return false;
		if (pmd_leaf(pmd))
			return walk_sample_pmd(w, pmdp, pmd, addr, op, debt);
		if (unlikely(pmd_bad(pmd)))
			return false;
		if (walk_enter_table(w, pmdp, pmd, addr))
			return wsmon_walk_sample_pte(w, addr, op, debt);
	}
	return false;
}

static bool walk_descend(struct wsmon_walk *w, unsigned long addr,
		    enum wsmon_sample_op op, u8 *debt)
{
	pgd_t pgd = READ_ONCE(*pgd_offset(w->round.mm, addr));
	p4d_t p4d;
	pud_t *pudp, pud;

	if (pgd_none(pgd)) {
		w->hole = wsmon_range_around(addr, PGDIR_SIZE);
		return false;
	}
	if (unlikely(pgd_bad(pgd)))
		return false;
	p4d = READ_ONCE(*p4d_offset(&pgd, addr));
	if (p4d_none(p4d)) {
		w->hole = wsmon_range_around(addr, P4D_SIZE);
		return false;
	}
	if (unlikely(p4d_bad(p4d)))
		return false;
	pudp = pud_offset(&p4d, addr);
	pud = READ_ONCE(*pudp);
	if (pud_none(pud)) {
		w->hole = wsmon_range_around(addr, PUD_SIZE);
		return false;
	}
	if (!pud_present(pud))
		return false;
	if (pud_leaf(pud))
		return walk_sample_pud(w, pudp, pud, addr, op, debt);
	if (unlikely(pud_bad(pud)))
		return false;
	return walk_sample_below_pmd(w, pmd_offset(&pud, addr), addr, op, debt);
}

/*
 * A huge page that was visited this round already: its bit is gone, the answer
 * is remembered. Visit it again only for what is to be done to it. A bit that is
 * set again after a check is for the next round to find.
 */
static bool walk_sample_leaf_again(struct wsmon_walk *w, unsigned long addr,
			     enum wsmon_sample_op op, u8 *debt)
{
	bool seen = w->leaf_seen, same = op == w->leaf_visit;

	if (!same || (w->round.settle && *debt)) {
		walk_leave_table(w);
		if (walk_find_mapping(w, addr))
			walk_descend(w, addr, same && op == WSMON_SAMPLE_CHECK ?
				WSMON_SAMPLE_SETTLE : op, debt);
		walk_remember_leaf(w, w->leaf, op, seen);
	}
	return seen;
}

static noinline bool wsmon_walk_sample_elsewhere(struct wsmon_walk *w, unsigned long addr,
				     enum wsmon_sample_op op, u8 *debt)
{
	if (wsmon_range_holds(&w->leaf, addr))
		return walk_sample_leaf_again(w, addr, op, debt);
	walk_leave_table(w);
	if (!walk_find_mapping(w, addr) || wsmon_range_holds(&w->hole, addr))
		return false;
	return walk_descend(w, addr, op, debt);
}

/*
 * Return: was the page accessed since the last visit? Inline, as there is little
 * else to do for a page of the table the cursor is in.
 */
static __always_inline bool walk_sample_addr(struct wsmon_walk *w, unsigned long addr,
				       enum wsmon_sample_op op, u8 *debt)
{
	if (likely(wsmon_range_holds(&w->table, addr) && wsmon_range_holds(&w->mapping, addr)))
		return wsmon_walk_sample_pte(w, addr, op, debt);
	return wsmon_walk_sample_elsewhere(w, addr, op, debt);
}

/*
 * A page found accessed: was it, if it was not there at the last visit? Of files that
 * are data the answer is yes: they are read page by page.
 */
static void walk_note_vague(struct wsmon_walk *w, struct wsmon_region *r, unsigned int h)
{
	if (r->absent & BIT(h) && w->around && (w->text || r->origin_ns))
		r->vague |= BIT(h);
	else
		r->vague &= ~BIT(h);
	r->absent &= ~BIT(h);
}

static __always_inline void walk_sample_region(struct wsmon_walk *w, struct wsmon_region *r,
					 enum wsmon_sample_op op, u64 now)
{
	unsigned int h;

	for (h = 0; h < 2 && r->n[h]; h++) {
		struct wsmon_sample *s = &r->s[h];
		bool seen;

		w->mapped = false;
		w->around = false;
		seen = walk_sample_addr(w, s->vpn << PAGE_SHIFT, op, &r->debt[h]);
		if (op == WSMON_SAMPLE_ARM) {
			w->round.stats->arms++;
			r->absent |= !w->mapped << h;
			/* memory that is new was accessed since it is there */
			if (seen && r->origin_ns) {
				s->seen_ns = now;
				r->vague |= w->around << h;
			}
			continue;
		}
		w->round.stats->checks++;
		r->checks++;
		if (seen) {
			s->seen_ns = now;
			walk_note_vague(w, r, h);
			r->hits++;
		}
	}
}

/**
 * wsmon_walk_pass - visit the sample pages of a target once
 * @ss:		the session
 * @t:		the target
 * @mm:		its mm, grabbed
 * @op:		WSMON_SAMPLE_ARM: regions not armed yet, which are then;
 *		WSMON_SAMPLE_CHECK: armed regions;
 *		WSMON_SAMPLE_DROP: the same, which sets @last, and samples of regions
 *		with @due are dropped, which sets @dropped
 * @now:	what counts as the time of accesses found
 *
 * Stops early, and counts it, if the mmap lock cannot be had for a while: what
 * was not visited is as it was, and first in the next pass. Visits at most two
 * pages a region.
 * Context: may sleep, wsmon.lock held.
 */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now)
{
	struct wsmon_walk w = {
		.round = { .target = t, .mm = mm, .stats = &ss->stats },
		.session = ss,
		.hold = &ss->hold,
		.tries = WSMON_LOCK_TRIES,
	};
	u32 nr = t->regions.nr, at = t->resume < nr ? t->resume : 0;
	bool arm = op == WSMON_SAMPLE_ARM;
	bool *again = arm ? &t->arm_again : &t->check_again;
	u64 begin = ktime_get_ns();
	u32 i;

	w.round.settle = op == WSMON_SAMPLE_DROP ||
			 (!arm && now - t->settled_ns >= SETTLE_NS);
	if (w.round.settle)
		t->settled_ns = now;
	wsmon_sampler_young.prepare(&w.round);
	t->resume = 0;
	*again = false;
	for (i = 0; i < nr; i++, at = at + 1 < nr ? at + 1 : 0) {
		struct wsmon_region *r = &t->regions.r[at];
		enum wsmon_sample_op v = op;

		if (arm == !!r->armed_ns) {
			walk_skip_region(&w);
			continue;
		}
		if (op == WSMON_SAMPLE_DROP && !r->due)
			v = WSMON_SAMPLE_CHECK;
		if (!walk_keep_lock(&w)) {
			ss->stats.missed += wsmon_mm_busy(mm);
			t->resume = at;
			*again = true;
			break;
		}
		walk_sample_region(&w, r, v, now);
		if (w.busy) {
			w.busy = false;
			ss->stats.missed++;
			*again = true;
			continue;
		}
		if (v == WSMON_SAMPLE_ARM)
			r->armed_ns = now;
		else if (v == WSMON_SAMPLE_DROP)
			r->dropped = 1;
		r->last = op == WSMON_SAMPLE_DROP;
	}
	walk_unlock(&w);
	ss->stats.walk_ns += ktime_get_ns() - begin;
	wsmon_sampler_young.finish(&w.round);
}

/**
 * wsmon_walk_fresh - which of some pages were accessed, ever?
 * @ss:	the session
 * @mm:	the target's mm, grabbed
 * @f:	the pages; says what was seen afterwards
 *
 * Changes nothing. If the mmap lock cannot be had, no page counts as drawn of the
 * classes of those that are left.
 * Context: may sleep, wsmon.lock held.
 */
void wsmon_walk_fresh(struct wsmon_session *ss, struct mm_struct *mm,
		     struct wsmon_fresh *f)
{
	struct wsmon_walk w = {
		.round = { .mm = mm, .stats = &ss->stats },
		.session = ss,
		.hold = &ss->hold,
		.tries = WSMON_LOCK_TRIES,
	};
	u64 begin = ktime_get_ns();
	u8 debt = 0;
	u32 i;

	for (i = 0; i < f->nr && walk_keep_lock(&w); i++) {
		ss->stats.checks++;
		w.around = false;
		if (walk_sample_addr(&w, f->vpn[i] << PAGE_SHIFT, WSMON_SAMPLE_LOOK,
			       &debt)) {
			f->seen[f->class[i]]++;
			f->vague[f->class[i]] += w.around;
		}
		if (w.busy)
			f->drawn[f->class[i]] = 0;
		w.busy = false;
	}
	walk_unlock(&w);
	if (i < f->nr)
		ss->stats.missed += wsmon_mm_busy(mm);
	/* the pages come in order: the first ones are no sample of all */
	for (; i < f->nr; i++)
		f->drawn[f->class[i]] = 0;
	ss->stats.walk_ns += ktime_get_ns() - begin;
}
