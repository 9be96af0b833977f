// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_walk.c - the pass over a target's sample pages
 *
 * kwsmond calls this with wsmon.lock held and a reference on mm_count, which keeps the
 * mm but not its memory: the last user may exit at any time.
 *
 * Samples are taken in address order with a cursor, so that consecutive samples in one
 * page table cost one descent and one lock. The walk holds, for about HOLD_NS:
 *   - A reference on mm_users. So exit does not free the page tables.
 *   - The mmap lock for reading. So mappings stay, and with them the upper levels of
 *     the page tables of mapped ranges. But munmap() frees the page tables of what it
 *     has unmapped under a downgraded lock, which does not exclude this walk. So the
 *     walk looks up each address among the mappings under the same hold.
 *
 * The following may change nevertheless (on 6.1 and later, unless a version is named):
 *   - A leaf entry: by a fault, reclaim, migration or a split. So the walk samples it
 *     under its lock, and only if it has not changed since it was read.
 *   - A page table under a pmd. From 6.6 on, khugepaged frees page tables of files
 *     without the mmap lock (before, it takes the lock for writing). From 6.14 on,
 *     MADV_DONTNEED frees page tables that it emptied, with the mmap lock held for
 *     reading, or only the mapping's lock. Both clear the pmd with its lock and the page
 *     table's lock held, and free the table after an RCU grace period. So the walk
 *     compares the pmd again under rcu_read_lock, from when on the table is not freed,
 *     and under the table's lock, from when on it is not taken out.
 *   - A shared hugetlb page table of PMDs: another process may unshare it, with the
 *     file's i_mmap_rwsem held for writing. So the walk holds it for reading.
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>

#include "wsmon_walk.h"

/* Read the clock once in this many regions */
#define HOLD_CHECK	16
/* Pay debts to reclaim after this time, if intervals are longer */
#define SETTLE_NS	NSEC_PER_SEC
/* Attempts to lock a page table: the pmd's Accessed bit may be set meanwhile */
#define PMD_TRIES	4

/* Take the mmap lock, or release it for a moment if others wait. Return: is it held? */
static __always_inline bool walk_keep_lock(struct wsmon_walk *w)
{
	if (likely(w->locked && ++w->steps % HOLD_CHECK))
		return true;
	return wsmon_walk_renew_lock(w);
}

/* Skipping regions takes time, too: do not hold the mmap lock too long. */
static __always_inline void walk_skip_region(struct wsmon_walk *w)
{
	if (w->locked && !(++w->steps % HOLD_CHECK))
		wsmon_walk_renew_lock(w);
}

/* Does the cursor's mapping map pages, unless an entry is marked as special? */
static bool walk_has_pages(const struct wsmon_walk *w)
{
	return !vma_is_dax(w->vma) && !(w->vma->vm_flags & VM_MIXEDMAP);
}

/*
 * Sample an entry that maps @pfn at @addr. @span: entries that share its Accessed bit, to
 * which this is aligned. @normal: it is not marked as special.
 * Context: its page table is locked.
 */
static bool walk_sample_entry(struct wsmon_walk *w, unsigned long *val, unsigned int span,
			      unsigned long addr, unsigned long pfn, bool normal,
			      enum wsmon_sample_op op, u8 *debt)
{
	bool has_page = normal && walk_has_pages(w);
	struct wsmon_entry e = {
		.vma = w->vma,
		.val = PTR_ALIGN_DOWN(val, span * sizeof(*val)),
		.span = span,
		.pfn = pfn,
		.has_folio = has_page && !is_vm_hugetlb_page(w->vma),
	};

	if (w->frames) {
		struct page *page = has_page ? pfn_to_page(pfn) : NULL;

		/* the first page of a huge page has the flags of all */
		if (page && is_vm_hugetlb_page(w->vma))
			page = compound_head(page);
		w->anon = page && PageAnon(page);
		w->exclusive = w->anon && PageAnonExclusive(page);
		w->delta = pfn - (addr >> PAGE_SHIFT);
	}
	return wsmon_young_sample(&w->pass, &e, op, debt);
}

static void walk_remember_leaf(struct wsmon_walk *w, struct wsmon_range leaf,
			       enum wsmon_sample_op op, bool seen)
{
	w->leaf = leaf;
	w->leaf_op = op;
	w->leaf_seen = seen;
	w->leaf_mapped = w->mapped;
	w->leaf_around = w->around;
	w->leaf_text = w->text;
}

/*
 * May a fault on another page have mapped this one and set its bit? A fault that writes maps
 * nothing around its page. Where others are mapped old, those of the same folio are not.
 * But a block of entries with one bit counts in full whichever of its pages was accessed.
 */
static bool walk_mapped_around(const struct wsmon_walk *w, pte_t pte, unsigned int span)
{
	if (pte_dirty(pte) || !w->vma->vm_ops || !w->vma->vm_ops->map_pages)
		return false;
	if (!w->maps_old)
		return true;
	return span == 1 && !pte_special(pte) && walk_has_pages(w) &&
	       folio_test_large(page_folio(pfn_to_page(pte_pfn(pte))));
}

static __always_inline bool walk_sample_pte(struct wsmon_walk *w, unsigned long addr,
					    enum wsmon_sample_op op, u8 *debt)
{
	pte_t *ptep = w->pte + pte_index(addr);
	pte_t pte = READ_ONCE(*ptep);
	unsigned int span = wsmon_pte_span(pte);
	bool seen;

	if (!pte_present(pte))
		return false;
	w->mapped = true;
	if (op == WSMON_SAMPLE_CHECK && !w->pass.settle && !w->pass.since &&
	    span == 1 && !pte_young(pte))
		return false;
	w->around = walk_mapped_around(w, pte, span);
	w->text = w->vma->vm_flags & VM_EXEC;
	seen = walk_sample_entry(w, (unsigned long *)ptep, span, addr, pte_pfn(pte),
				 !pte_special(pte), op, debt);
	if (span > 1)
		walk_remember_leaf(w, wsmon_range_around(addr, span * PAGE_SIZE), op, seen);
	return seen;
}

/* Sample a transparent or hugetlb huge page of PMD size. */
static bool walk_sample_pmd(struct wsmon_walk *w, pmd_t *pmdp, pmd_t pmd,
			    unsigned long addr, enum wsmon_sample_op op, u8 *debt)
{
	spinlock_t *ptl = pmd_lock(w->pass.mm, pmdp);
	pmd_t now = READ_ONCE(*pmdp);
	unsigned int span = wsmon_pmd_span(now);
	bool seen = false;

	/* skip it if another page has replaced it since it was read */
	if (pmd_leaf(now) && pmd_present(now) && pmd_pfn(now) == pmd_pfn(pmd)) {
		seen = walk_sample_entry(w, (unsigned long *)pmdp, span, addr & PMD_MASK,
					 pmd_pfn(pmd), true, op, debt);
		if (w->shared)
			seen = wsmon_young_seen_by_any(w->pass.session, pmdp, op, seen);
		walk_remember_leaf(w, wsmon_range_around(addr, span * PMD_SIZE), op, seen);
	}
	spin_unlock(ptl);
	return seen;
}

/* Sample a hugetlb page of PUD size. */
static bool walk_sample_pud(struct wsmon_walk *w, pud_t *pudp, pud_t pud,
			    unsigned long addr, enum wsmon_sample_op op, u8 *debt)
{
	spinlock_t *ptl = pud_lock(w->pass.mm, pudp);
	pud_t now = READ_ONCE(*pudp);
	bool seen = false;

	if (pud_leaf(now) && pud_present(now) && pud_pfn(now) == pud_pfn(pud)) {
		seen = walk_sample_entry(w, (unsigned long *)pudp, 1, addr & PUD_MASK,
					 pud_pfn(pud), true, op, debt);
		walk_remember_leaf(w, wsmon_range_around(addr, PUD_SIZE), op, seen);
	}
	spin_unlock(ptl);
	return seen;
}

static bool walk_hole(struct wsmon_walk *w, unsigned long addr, unsigned long size)
{
	w->hole = wsmon_range_around(addr, size);
	return false;
}

static bool walk_sample_below_pmd(struct wsmon_walk *w, pmd_t *pmdp, unsigned long addr,
				  enum wsmon_sample_op op, u8 *debt)
{
	unsigned int tries;

	for (tries = 0; tries < PMD_TRIES; tries++) {
		pmd_t pmd = READ_ONCE(*pmdp);

		if (pmd_none(pmd))
			return walk_hole(w, addr, PMD_SIZE);
		if (!pmd_present(pmd))
			return false;
		if (pmd_leaf(pmd))
			return walk_sample_pmd(w, pmdp, pmd, addr, op, debt);
		if (unlikely(pmd_bad(pmd)))
			return false;
		if (wsmon_walk_enter_table(w, pmdp, pmd, addr))
			return walk_sample_pte(w, addr, op, debt);
	}
	return false;
}

static bool walk_descend(struct wsmon_walk *w, unsigned long addr,
			 enum wsmon_sample_op op, u8 *debt)
{
	pgd_t *pgdp = pgd_offset(w->pass.mm, addr), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;

	if (pgd_none(pgd))
		return walk_hole(w, addr, PGDIR_SIZE);
	if (unlikely(pgd_bad(pgd)))
		return false;
	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (p4d_none(p4d))
		return walk_hole(w, addr, P4D_SIZE);
	if (unlikely(p4d_bad(p4d)))
		return false;
	pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud = READ_ONCE(*pudp);
	if (pud_none(pud))
		return walk_hole(w, addr, PUD_SIZE);
	if (!pud_present(pud))
		return false;
	if (pud_leaf(pud))
		return walk_sample_pud(w, pudp, pud, addr, op, debt);
	if (unlikely(pud_bad(pud)))
		return false;
	return walk_sample_below_pmd(w, pmd_offset_lockless(pudp, pud, addr), addr, op, debt);
}

/* What is to be done to a leaf that was sampled already: LOOK, if nothing is */
static enum wsmon_sample_op walk_leaf_op(const struct wsmon_walk *w, enum wsmon_sample_op op,
					 u8 debt)
{
	if (op != w->leaf_op)
		return op;
	if (!w->pass.settle || !debt)
		return WSMON_SAMPLE_LOOK;
	return op == WSMON_SAMPLE_CHECK ? WSMON_SAMPLE_SETTLE : op;
}

/*
 * Sample a huge page, or entries that share a bit, for the second time in a pass. The bit is
 * cleared, so return the remembered answer, and visit the entry only if something is to be
 * done to it still, or to find out about the page: in a block each has flags of its own.
 * A bit that was set since the check is for the next round to find.
 */
static bool walk_sample_leaf_again(struct wsmon_walk *w, unsigned long addr,
				   enum wsmon_sample_op op, u8 *debt)
{
	bool seen = w->leaf_seen, block = w->leaf.end - w->leaf.start < PMD_SIZE;
	enum wsmon_sample_op todo = walk_leaf_op(w, op, *debt);

	if (todo != WSMON_SAMPLE_LOOK || (w->frames && block)) {
		wsmon_walk_leave_table(w);
		if (wsmon_walk_find_mapping(w, addr))
			walk_descend(w, addr, todo, debt);
		walk_remember_leaf(w, w->leaf, op, seen);
	} else {
		w->mapped = w->leaf_mapped;
		w->around = w->leaf_around;
		w->text = w->leaf_text;
	}
	return seen;
}

static noinline bool walk_sample_elsewhere(struct wsmon_walk *w, unsigned long addr,
					   enum wsmon_sample_op op, u8 *debt)
{
	if (wsmon_range_holds(&w->leaf, addr))
		return walk_sample_leaf_again(w, addr, op, debt);
	wsmon_walk_leave_table(w);
	if (!wsmon_walk_find_mapping(w, addr) || wsmon_range_holds(&w->hole, addr))
		return false;
	return walk_descend(w, addr, op, debt);
}

/* Sample a page, mostly in the cursor's page table. Return: was it accessed since last time? */
static __always_inline bool walk_sample_addr(struct wsmon_walk *w, unsigned long addr,
					     enum wsmon_sample_op op, u8 *debt)
{
	if (likely(wsmon_range_holds(&w->table, addr) && wsmon_range_holds(&w->mapping, addr) &&
		   !(WSMON_ENTRIES_SHARE && wsmon_range_holds(&w->leaf, addr))))
		return walk_sample_pte(w, addr, op, debt);
	return walk_sample_elsewhere(w, addr, op, debt);
}

/*
 * Note whether an access is in doubt. If a page was mapped since the last check and its
 * bit is set, it was accessed, or a fault on a page near it mapped it and set the bit.
 * Pages of data files count as accessed: files are read page by page.
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
			w->pass.session->stats.arms++;
			r->absent |= !w->mapped << h;
			/* a bit in new memory was set after the memory appeared */
			if (seen && r->origin_ns) {
				s->seen_ns = now;
				r->vague |= w->around << h;
			}
			continue;
		}
		w->pass.session->stats.checks++;
		r->checks++;
		if (seen) {
			s->seen_ns = now;
			walk_note_vague(w, r, h);
			r->hits++;
		}
	}
}

/*
 * Find out whether others sample the process. Return: a time; notes of cleared bits matter
 * for what was looked at before: others may have stopped since.
 */
static u64 walk_notes_until(struct wsmon_pass *pass)
{
	if (!pass->member)
		return U64_MAX;
	pass->shared = wsmon_member_shared(pass->member);
	return pass->shared ? U64_MAX : READ_ONCE(pass->member->shared_ns);
}

/**
 * wsmon_walk_pass - sample the pages of a target once
 * @ss:		the session
 * @t:		the target
 * @mm:		its mm, with a reference on mm_count
 * @op:		WSMON_SAMPLE_ARM: arm regions at rest;
 *		WSMON_SAMPLE_CHECK: check armed regions;
 *		WSMON_SAMPLE_DROP: check armed regions for the last time in the
 *		interval, which sets @last, and drop the samples of those with @due,
 *		which sets @dropped
 * @now:	the time that accesses found are given
 *
 * If the mmap lock stays busy, the pass ends early and is counted as missed. The next
 * pass begins with the first region that was not sampled.
 * Context: may sleep, wsmon.lock held.
 */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now)
{
	struct wsmon_walk w = {
		.pass = { .member = t->member, .mm = mm, .session = ss },
		.tries = WSMON_LOCK_TRIES,
		.maps_old = wsmon_maps_old(),
	};
	u32 nr = t->regions.nr, at = t->resume < nr ? t->resume : 0;
	bool arm = op == WSMON_SAMPLE_ARM;
	bool *again = arm ? &t->arm_again : &t->check_again;
	u64 begin = ktime_get_ns(), notes_until;
	u32 i;

	w.pass.settle = op == WSMON_SAMPLE_DROP ||
			 (!arm && now - t->settled_ns >= SETTLE_NS);
	if (w.pass.settle)
		t->settled_ns = now;
	notes_until = walk_notes_until(&w.pass);
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
		/* new memory was accessed if others cleared a bit in it */
		w.pass.since = arm ? r->origin_ns : r->looked_ns;
		if (w.pass.since >= notes_until)
			w.pass.since = 0;
		walk_sample_region(&w, r, v, now);
		if (!w.busy)
			r->looked_ns = notes_until ? ktime_get_ns() : begin;
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
	wsmon_walk_unlock(&w);
	ss->stats.walk_ns += ktime_get_ns() - begin;
	wsmon_tlb_finish(&w.pass);
}

/**
 * wsmon_walk_visits - look at pages of a process, each as its visit says
 * @ss:		the session
 * @m:		the process; NULL if it has ended: then nothing is changed
 * @mm:		its mm, with a reference on mm_count
 * @v:		the visits, by ascending address; @looked_ns, @seen, @done, @around and @frame
 *		are set
 * @nr:		number of visits
 * @settle:	an interval ends: pay debts to reclaim
 *
 * If the mmap lock stays busy, the remaining visits are not done.
 * Context: may sleep, wsmon.lock held.
 */
void wsmon_walk_visits(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, struct wsmon_visit *v, u32 nr, bool settle)
{
	struct wsmon_walk w = {
		.pass = { .member = m, .mm = mm, .session = ss, .settle = settle },
		.tries = WSMON_LOCK_TRIES,
		.frames = true,
		.maps_old = wsmon_maps_old(),
	};
	u64 begin = ktime_get_ns(), notes_until = walk_notes_until(&w.pass);
	u32 i;

	for (i = 0; i < nr; i++)
		v[i].done = false;
	for (i = 0; i < nr; i++, v++) {
		if (v->skip)
			continue;
		if (!walk_keep_lock(&w))
			break;
		w.mapped = false;
		w.around = false;
		w.text = false;
		w.pass.since = v->looked_ns < notes_until ? v->looked_ns : 0;
		v->seen = walk_sample_addr(&w, v->vpn << PAGE_SHIFT, v->op, &v->debt);
		v->done = !w.busy;
		if (v->done)
			v->looked_ns = notes_until ? ktime_get_ns() : begin;
		ss->stats.missed += w.busy;
		w.busy = false;
		v->mapped = w.mapped;
		v->around = w.around;
		v->text = w.text;
		v->anon = w.anon;
		v->exclusive = w.exclusive;
		v->pfn = w.delta + v->vpn;
		if (v->op == WSMON_SAMPLE_ARM)
			ss->stats.arms++;
		else
			ss->stats.checks++;
	}
	wsmon_walk_unlock(&w);
	if (i < nr)
		ss->stats.missed += wsmon_mm_busy(mm);
	ss->stats.walk_ns += ktime_get_ns() - begin;
	wsmon_tlb_finish(&w.pass);
}
