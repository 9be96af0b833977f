// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_walk.c - the pass over a target's sample pages
 *
 * kwsmond calls this with the monitor's lock held and a reference on mm_count. The reference keeps
 * the mm but not its memory: the last user may exit at any time.
 *
 * The walk takes samples in address order with a cursor, so consecutive samples in one page
 * table cost one descent and one lock. It holds the mmap lock for reading, for about HOLD_NS at
 * a time. This lock keeps mappings in place, and with them the upper levels of the page tables
 * of mapped ranges. Exit may zap entries meanwhile, as MADV_DONTNEED may, but frees no page
 * tables (wsmon_mm_lock() says why). munmap() is different: it frees the page tables of a range
 * that it has unmapped under a downgraded mmap lock, which does not exclude this walk. So the
 * walk looks up each address among the mappings under the same hold of the lock.
 *
 * The following may still change (on 6.1 and later, unless a version is named):
 *   - A leaf entry: by a fault, reclaim, migration or a split. So the walk samples the entry
 *     under its lock, and only if it has not changed since it was read.
 *   - A page table under a pmd. From 6.6 on, khugepaged frees page tables of files
 *     without the mmap lock (earlier kernels take the lock for writing). From 6.14 on,
 *     MADV_DONTNEED frees page tables that it emptied, with the mmap lock held for
 *     reading, or only the mapping's lock. Both clear the pmd with its lock and the page
 *     table's lock held, and free the table after an RCU grace period. So the walk compares
 *     the pmd twice: after rcu_read_lock(), which keeps the table from being freed, and
 *     after taking the table's lock, which keeps it from being taken out.
 *   - A shared hugetlb page table of PMDs: another process may unshare it, with the
 *     file's i_mmap_rwsem held for writing. So the walk holds this lock for reading.
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched.h>

#include "wsmon_sampler.h"

/*
 * What the walk holds
 */

/* Release the mmap lock after this time, give or take one page table's samples */
#define HOLD_NS		(60 * NSEC_PER_USEC)
/* Read the clock once in this many regions */
#define HOLD_STEPS	16

/* Leave the page table that the cursor is in, if any. */
static void walk_leave_table(struct wsmon_walk *w)
{
	if (!w->ptl)
		return;
	/* for sparse: the cursor holds both since wsmon_lock_table() */
	__acquire(RCU);
	__acquire(w->ptl);
	spin_unlock(w->ptl);
	rcu_read_unlock();
	w->ptl = NULL;
	w->table.end = 0;
	w->quick_nr = 0;
}

/* Leave the mapping that the cursor is in, if any. */
static void walk_leave_mapping(struct wsmon_walk *w)
{
	walk_leave_table(w);
	if (w->shared)
		i_mmap_unlock_read(w->shared);
	w->shared = NULL;
	w->vma = NULL;
	w->mapping.end = 0;
}

/*
 * Find the mapping of @addr, and enter it.
 * Context: the mmap lock is held.
 * Return: the mapping, also in @w->vma; NULL if there is none that can be sampled now.
 */
static struct vm_area_struct *walk_find_mapping(struct wsmon_walk *w, unsigned long addr)
{
	struct vm_area_struct *vma;

	if (wsmon_range_holds(&w->mapping, addr))
		return w->vma;
	walk_leave_mapping(w);
	vma = find_vma(w->pass.mm, addr);
	w->mapping = (struct wsmon_range){ addr, addr + 1 };
	if (!vma || addr < vma->vm_start)
		return NULL;
	w->mapping = (struct wsmon_range){ vma->vm_start, vma->vm_end };
	if (!wsmon_vma_usable(vma))
		return NULL;
	if (wsmon_vma_may_share_tables(vma)) {
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

/* Attempts to enter a page table: each fails if the processor sets the pmd's Accessed bit */
#define PMD_TRIES	4

/**
 * wsmon_lock_table - enter a page table: the first comment of this file has the reasons
 * @mm:		the mm, its mmap lock held; @addr is mapped
 * @pmdp:	pmd of @addr
 * @addr:	the address
 * @pmd:	set to the value of the pmd
 * @ptl:	set to the table's lock
 *
 * Return: the entry of @addr, with RCU and the table's lock held; NULL if there is no page table.
 */
pte_t *wsmon_lock_table(struct mm_struct *mm, pmd_t *pmdp, unsigned long addr, pmd_t *pmd,
			spinlock_t **ptl)
{
	unsigned int tries;

	for (tries = 0; tries < PMD_TRIES; tries++) {
		*pmd = READ_ONCE(*pmdp);
		if (!wsmon_pmd_has_table(*pmd))
			return NULL;
		rcu_read_lock();
		/* until here the table may have been freed, and its lock with it */
		if (likely(pmd_same(*pmd, READ_ONCE(*pmdp)))) {
			*ptl = pte_lockptr(mm, pmd);
			spin_lock(*ptl);
			if (likely(pmd_same(*pmd, READ_ONCE(*pmdp)))) {
				/* for sparse: the caller holds both */
				__release(*ptl);
				__release(RCU);
				return pte_offset_kernel(pmd, addr);
			}
			spin_unlock(*ptl);
		}
		rcu_read_unlock();
	}
	return NULL;
}

/* Move the cursor, which is in the mapping of @addr, to the page table that has entry @ptep. */
static void walk_enter_table(struct wsmon_walk *w, pte_t *ptep, unsigned long addr)
{
	w->pte = ptep - pte_index(addr);
	w->table = wsmon_range_around(addr, PMD_SIZE);
	w->table.start = max(w->table.start, w->mapping.start);
	w->table.end = min(w->table.end, w->mapping.end);
	w->quick = w->pte + pte_index(w->table.start);
	w->quick_vpn = w->table.start >> PAGE_SHIFT;
	/* the quick ways do not count the mappings of a page that KSM merged */
	if (!w->notes_until && !(w->vma->vm_flags & VM_MERGEABLE))
		w->quick_nr = (w->table.end - w->table.start) >> PAGE_SHIFT;
}

/* Return: how often this thread has been switched out. */
static u64 hold_switches(void)
{
	return current->nvcsw + current->nivcsw;
}

/* Release all locks that the walk holds. */
static void walk_unlock(struct wsmon_walk *w)
{
	u64 held;

	walk_leave_mapping(w);
	if (!w->locked)
		return;
	held = wsmon_mm_unlock(w->pass.session, w->pass.mm, w->since_ns);
	w->locked = false;
	w->steps = 0;
	if (hold_switches() == w->switches)
		wsmon_stolen_note(&w->pass.session->stolen, held, HOLD_NS);
}

static bool walk_lock(struct wsmon_walk *w)
{
	if (!wsmon_mm_lock(w->pass.mm, &w->tries))
		return false;
	w->locked = true;
	w->since_ns = ktime_get_ns();
	w->switches = hold_switches();
	w->steps = HOLD_STEPS - 1;
	w->hole.end = 0;
	return true;
}

/*
 * Take the mmap lock. If the walk holds it already, release it for a moment if others wait for
 * the lock or the processor, or after HOLD_NS.
 * Return: true with the lock held.
 */
static bool walk_renew_lock(struct wsmon_walk *w)
{
	if (w->locked) {
		if (!mmap_lock_is_contended(w->pass.mm) && !need_resched() &&
		    ktime_get_ns() - w->since_ns < HOLD_NS) {
			w->steps = HOLD_STEPS - 1;
			return true;
		}
		walk_unlock(w);
		cond_resched();
	}
	return walk_lock(w);
}

/*
 * Find the entry of a sample page, and sample it
 */

/* Do all entries of the cursor's mapping that are not special map a struct page? */
static bool walk_has_pages(const struct wsmon_walk *w)
{
	return !vma_is_dax(w->vma) && !(w->vma->vm_flags & VM_MIXEDMAP);
}

/*
 * Return: the number of mappings of a page that KSM merged; 1 for any other page. Nothing tells
 * which of these mappings belong to one process, or which were accessed. So each mapping counts
 * as an equal part. The number may change at any time.
 */
static u32 walk_mappings(const struct wsmon_walk *w, struct page *page)
{
	struct folio *folio;

	if (!page || !(w->vma->vm_flags & VM_MERGEABLE))
		return 1;
	folio = page_folio(page);
	return folio_test_ksm(folio) ? max(atomic_read(&folio->_mapcount) + 1, 1) : 1;
}

/*
 * Sample the entry *@val, which maps @pfn at @addr. @span: number of entries in the aligned block
 * that shares its Accessed bit. @normal: the entry is not marked as special.
 * Context: the page table is locked.
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
	struct page *page = has_page ? pfn_to_page(pfn) : NULL;

	w->times = walk_mappings(w, page);
	if (w->frames) {
		/* the first page of a huge page has the flags of all */
		if (page && is_vm_hugetlb_page(w->vma))
			page = compound_head(page);
		w->found.anon = page && PageAnon(page);
		w->found.exclusive = w->found.anon && PageAnonExclusive(page);
		w->delta = pfn - (addr >> PAGE_SHIFT);
	}
	return wsmon_accessed_sample(&w->pass, &e, op, debt);
}

/*
 * Arm a page whose Accessed bit is set.
 * @w:		its cursor is in the page table; nobody else samples the process
 * @ptep:	the page's entry, which is present and shares its bit with no other entry
 * @debt:	enum wsmon_debt of the page
 */
static void walk_clear_young(struct wsmon_walk *w, pte_t *ptep, u64 vpn, u8 *debt)
{
	pte_t pte = READ_ONCE(*ptep);

	w->pass.since = 0;
	walk_sample_entry(w, (unsigned long *)ptep, 1, vpn << PAGE_SHIFT, pte_pfn(pte),
			  !pte_special(pte), WSMON_SAMPLE_ARM, debt);
}

static void walk_remember_leaf(struct wsmon_walk *w, struct wsmon_range leaf,
			       enum wsmon_sample_op op, bool seen)
{
	w->leaf = leaf;
	w->leaf_op = op;
	w->leaf_seen = seen;
	w->leaf_found = w->found;
}

/*
 * May a fault on another page have mapped this page and set its bit? A write fault maps only its
 * own page. With @maps_old, a fault sets the bits of other pages only in the folio of its own
 * page. A block of entries that share one bit is not in doubt then: it counts in full, whichever
 * of its pages was accessed.
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

/* Does an entry map a page that KSM merged? KSM makes such entries anew, with the bit set. */
static bool walk_is_merged(const struct wsmon_walk *w, pte_t pte)
{
	return w->vma->vm_flags & VM_MERGEABLE && !pte_special(pte) && walk_has_pages(w) &&
	       folio_test_ksm(page_folio(pfn_to_page(pte_pfn(pte))));
}

static bool walk_sample_pte(struct wsmon_walk *w, unsigned long addr, enum wsmon_sample_op op,
			    u8 *debt)
{
	pte_t *ptep = w->pte + pte_index(addr);
	pte_t pte = READ_ONCE(*ptep);
	unsigned int span = wsmon_pte_span(pte);
	bool seen;

	w->found.place = WSMON_PLACE_OWN;
	w->found.none = pte_none(pte);
	if (!wsmon_pte_has_memory(pte))
		return false;
	w->found.mapped = true;
	if (walk_is_merged(w, pte))
		w->found.place = WSMON_PLACE_MADE;
	if (op == WSMON_SAMPLE_CHECK && !w->pass.settle && !w->pass.since &&
	    span == 1 && !pte_young(pte))
		return false;
	w->found.around = walk_mapped_around(w, pte, span);
	w->found.text = w->vma->vm_flags & VM_EXEC;
	seen = walk_sample_entry(w, (unsigned long *)ptep, span, addr, pte_pfn(pte),
				 !pte_special(pte), op, debt);
	if (span > 1)
		walk_remember_leaf(w, wsmon_range_around(addr, span * PAGE_SIZE), op, seen);
	return seen;
}

/* Is it the huge zero page? All other pages that anonymous memory maps are anonymous. */
static bool walk_is_huge_zero(const struct wsmon_walk *w, pmd_t pmd)
{
	return vma_is_anonymous(w->vma) && !PageAnon(pmd_page(pmd));
}

/* Sample a transparent or hugetlb huge page of PMD size. */
static bool walk_sample_pmd(struct wsmon_walk *w, pmd_t *pmdp, pmd_t pmd,
			    unsigned long addr, enum wsmon_sample_op op, u8 *debt)
{
	spinlock_t *ptl = pmd_lock(w->pass.mm, pmdp);
	pmd_t now = READ_ONCE(*pmdp);
	unsigned int span = wsmon_pmd_span(now);
	bool seen = false;

	/* skip the entry if it maps another page by now */
	if (pmd_leaf(now) && pmd_present(now) && pmd_pfn(now) == pmd_pfn(pmd) &&
	    !walk_is_huge_zero(w, now)) {
		w->pass.alone = vma_is_anonymous(w->vma) && PageAnonExclusive(pmd_page(now));
		seen = walk_sample_entry(w, (unsigned long *)pmdp, span, addr & PMD_MASK,
					 pmd_pfn(pmd), true, op, debt);
		w->pass.alone = false;
		if (w->shared)
			seen = wsmon_accessed_seen_by_any(w->pass.session, pmdp, op, seen);
		w->found.mapped = true;
		w->found.place = WSMON_PLACE_MADE;
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
		w->found.mapped = true;
		walk_remember_leaf(w, wsmon_range_around(addr, PUD_SIZE), op, seen);
	}
	spin_unlock(ptl);
	return seen;
}

/*
 * Note that no page table covers the sample page. In anonymous memory only a fault can make an
 * entry then. In shared memory, MADV_COLLAPSE may have taken the page table out, and may be about
 * to install a huge entry.
 */
static bool walk_note_hole(struct wsmon_walk *w)
{
	w->found.none = true;
	if (vma_is_anonymous(w->vma))
		w->found.place = WSMON_PLACE_NONE;
	return false;
}

static bool walk_hole(struct wsmon_walk *w, unsigned long addr, unsigned long size)
{
	w->hole = wsmon_range_around(addr, size);
	return walk_note_hole(w);
}

static bool walk_sample_below_pmd(struct wsmon_walk *w, pmd_t *pmdp, unsigned long addr,
				  enum wsmon_sample_op op, u8 *debt)
{
	pmd_t pmd;
	pte_t *ptep = wsmon_lock_table(w->pass.mm, pmdp, addr, &pmd, &w->ptl);

	if (ptep) {
		walk_enter_table(w, ptep, addr);
		return walk_sample_pte(w, addr, op, debt);
	}
	w->ptl = NULL;
	/* each attempt to enter the table failed */
	w->busy |= wsmon_pmd_has_table(pmd);
	if (pmd_none(pmd))
		return walk_hole(w, addr, PMD_SIZE);
	return pmd_present(pmd) && pmd_leaf(pmd) && walk_sample_pmd(w, pmdp, pmd, addr, op, debt);
}

static bool walk_descend(struct wsmon_walk *w, unsigned long addr,
			 enum wsmon_sample_op op, u8 *debt)
{
	struct wsmon_upper u;
	pmd_t *pmdp = wsmon_find_pmd(w->pass.mm, addr, &u);

	if (pmdp)
		return walk_sample_below_pmd(w, pmdp, addr, op, debt);
	if (u.none)
		return walk_hole(w, addr, u.size);
	return wsmon_upper_is_huge(&u) && walk_sample_pud(w, u.pudp, u.pud, addr, op, debt);
}

/* Return: the operation still due on a leaf that this pass has sampled; LOOK if none is. */
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
 * Sample a huge page, or a block of entries that share a bit, for the second time in a pass. The
 * first time cleared the bit, so return the remembered answer. Visit the entry only if some
 * operation is still due, or if @frames asks about the page: each page of a block has its own
 * flags. If the bit was set again since the first time, the next round will find it.
 */
static bool walk_sample_leaf_again(struct wsmon_walk *w, unsigned long addr,
				   enum wsmon_sample_op op, u8 *debt)
{
	bool seen = w->leaf_seen, block = w->leaf.end - w->leaf.start < PMD_SIZE;
	enum wsmon_sample_op todo = walk_leaf_op(w, op, *debt);

	if (todo != WSMON_SAMPLE_LOOK || (w->frames && block)) {
		walk_leave_table(w);
		if (walk_find_mapping(w, addr))
			walk_descend(w, addr, todo, debt);
		walk_remember_leaf(w, w->leaf, op, seen);
	} else {
		w->found = w->leaf_found;
	}
	return seen;
}

/*
 * Sample a page, mostly in the cursor's page table; the mmap lock is held.
 * @addr:	address of the page, not below the address of the last call
 * @debt:	enum wsmon_debt of the page
 * Sets @w->found and @w->times, and with @w->frames what the entry maps.
 * Return: true if the page was accessed since the last time.
 */
static bool walk_sample(struct wsmon_walk *w, unsigned long addr, enum wsmon_sample_op op,
			u8 *debt)
{
	w->found = (struct wsmon_found){ .place = WSMON_PLACE_UNKNOWN };
	w->times = 1;
	if (wsmon_range_holds(&w->table, addr) &&
	    !(WSMON_ENTRIES_SHARE && wsmon_range_holds(&w->leaf, addr)))
		return walk_sample_pte(w, addr, op, debt);
	if (wsmon_range_holds(&w->leaf, addr))
		return walk_sample_leaf_again(w, addr, op, debt);
	walk_leave_table(w);
	if (!walk_find_mapping(w, addr)) {
		w->found.none = !w->busy;
		return false;
	}
	if (wsmon_range_holds(&w->hole, addr))
		return walk_note_hole(w);
	return walk_descend(w, addr, op, debt);
}

/* Pay debts to reclaim after this time, if intervals are longer */
#define SETTLE_NS	NSEC_PER_SEC

/* walk_renew_lock(), once in HOLD_STEPS regions. Return: true with the lock held. */
static __always_inline bool walk_keep_lock(struct wsmon_walk *w)
{
	if (likely(w->steps)) {
		w->steps--;
		return true;
	}
	return walk_renew_lock(w);
}

/* Skip a region or a visit. That takes time, too: do not hold the mmap lock too long. */
static __always_inline void walk_skip_region(struct wsmon_walk *w)
{
	if (w->locked)
		walk_keep_lock(w);
}

/*
 * Note whether an access is in doubt. If a page was not mapped at the last check, and is mapped
 * now with its bit set, then either the page was accessed, or a fault on a nearby page mapped it
 * and set the bit. Pages of data files count as accessed, because files are read page by page;
 * in new memory (@origin_ns) they are in doubt as well.
 */
static void walk_note_vague(struct wsmon_walk *w, struct wsmon_region *r, unsigned int h)
{
	if (r->absent & BIT(h) && w->found.around && (w->found.text || r->origin_ns))
		r->vague |= BIT(h);
	else
		r->vague &= ~BIT(h);
	r->absent &= ~BIT(h);
}

/*
 * Quick ways to sample pages in the cursor's page table, if nobody else samples the process.
 * They do what wsmon_accessed_sample() does, but need neither folio nor mapping.
 */

/* Does a page have an Accessed bit of its own, which is clear? */
static __always_inline bool walk_entry_quiet(const struct wsmon_walk *w, const pte_t *pte, u64 vpn)
{
	return !(WSMON_ENTRIES_SHARE && wsmon_range_holds(&w->leaf, vpn << PAGE_SHIFT)) &&
	       wsmon_pte_span(READ_ONCE(*pte)) == 1 && !wsmon_entry_young((unsigned long *)pte, 1);
}

/* Return: index of a page among the quick entries; @quick_nr or more if it has none. */
static __always_inline u64 walk_quick_place(const struct wsmon_walk *w, u64 vpn)
{
	return WSMON_ENTRIES_SHARE && wsmon_range_holds(&w->leaf, vpn << PAGE_SHIFT) ?
	       U64_MAX : vpn - w->quick_vpn;
}

/*
 * Check consecutive regions in the cursor's page table, up to the first one with an accessed
 * sample page. Most have none. Return: the number of regions checked, at most @nr.
 */
static __always_inline u32 walk_quiet_regions(struct wsmon_walk *w, struct wsmon_region *r, u32 nr,
					      u64 now)
{
	/* local copies: to the compiler, any write to a region might change @w */
	const u64 first = w->quick_vpn, entries = w->quick_nr;
	const pte_t *quick = w->quick;
	u32 i;

	nr = min(nr, w->steps);
	for (i = 0; i < nr; i++, r++) {
		u64 a = r->s[0].vpn - first, b = r->s[1].vpn - first;

		if (!r->armed_ns || !r->n[1] || a >= entries || b >= entries ||
		    !walk_entry_quiet(w, &quick[a], r->s[0].vpn) ||
		    !walk_entry_quiet(w, &quick[b], r->s[1].vpn))
			break;
		r->checks += 2;
		r->looked_ns = now;
		r->last = 0;
		r->own = 3;
		r->hit = 0;
		r->looked = 1;
	}
	w->steps -= i;
	return i;
}

/* Note that a look found the sample page of half @h accessed. */
static __always_inline void walk_note_hit(const struct wsmon_walk *w, struct wsmon_region *r,
					  unsigned int h, u64 now)
{
	struct wsmon_sample *s = &r->s[h];

	if (s->seen_ns && s->seen_ns >= w->recent_ns)
		r->again |= BIT(h);
	else
		r->again &= ~BIT(h);
	r->hit |= BIT(h);
	s->seen_ns = now;
	r->hits++;
}

/*
 * Note the kind of entry of half @h's sample page. Return: true if the kernel has made this entry
 * since the last look, so that its bit means nothing yet: see wsmon_regions.c.
 */
static bool walk_note_place(const struct wsmon_walk *w, struct wsmon_region *r, unsigned int h,
			    u64 now)
{
	if (w->found.place == WSMON_PLACE_OWN) {
		r->own |= BIT(h);
		return false;
	}
	if (w->found.place == WSMON_PLACE_UNKNOWN)
		return false;
	if (w->found.place == WSMON_PLACE_NONE) {
		/* a fault may make it huge: that is new memory */
		r->own &= ~BIT(h);
		r->made &= ~BIT(h);
		r->was_own &= ~BIT(h);
		r->was_made &= ~BIT(h);
		return false;
	}
	r->made |= BIT(h);
	if (!(r->own & BIT(h)))
		return false;
	r->own &= ~BIT(h);
	r->made_ns[h] = now;
	if (!r->looked || w->begin_ns - r->looked_ns > w->near_ns)
		r->blind |= BIT(h);
	else if (r->hit & ~r->again & BIT(h))
		r->recent |= BIT(h);
	return true;
}

/*
 * Try to sample the page of half @h in the quick way. Four common cases need nothing more:
 *   - The page was not accessed, and no debt is to be paid.
 *   - Reclaim was told of an access in this interval already.
 *   - The sample is dropped, so its bit may stay set.
 *   - The page is armed, in memory that is not new: earlier accesses do not count.
 * Return: false if the page needs walk_sample_slowly().
 */
static __always_inline bool walk_sample_quickly(struct wsmon_walk *w, struct wsmon_region *r,
						unsigned int h, enum wsmon_sample_op op, u64 now)
{
	u64 i = walk_quick_place(w, r->s[h].vpn);
	pte_t pte;

	if (i >= w->quick_nr)
		return false;
	pte = READ_ONCE(w->quick[i]);
	if (wsmon_pte_span(pte) > 1 || (op == WSMON_SAMPLE_ARM && !wsmon_pte_has_memory(pte)))
		return false;
	if (!pte_young(pte)) {
		r->own |= BIT(h);
		r->hit &= ~BIT(h);
		/* a translation may be in a TLB although the bit is clear */
		if (op == WSMON_SAMPLE_ARM)
			w->pass.dirty_tlb = true;
		return op == WSMON_SAMPLE_ARM || r->debt[h] == DEBT_NONE ||
		       (op == WSMON_SAMPLE_CHECK && !w->pass.settle);
	}
	if (op == WSMON_SAMPLE_ARM) {
		r->own |= BIT(h);
		/* in new memory, the bit was set by an access that counts */
		if (!r->origin_ns)
			walk_clear_young(w, &w->quick[i], r->s[h].vpn, &r->debt[h]);
		return !r->origin_ns;
	}
	if (r->absent & BIT(h) || !wsmon_pte_has_memory(pte))
		return false;
	if (op == WSMON_SAMPLE_DROP && IS_ENABLED(CONFIG_PAGE_IDLE_FLAG))
		r->debt[h] = DEBT_NONE;
	else if (op != WSMON_SAMPLE_CHECK || w->pass.settle ||
		 !wsmon_accessed_owe_again(&r->debt[h]))
		return false;
	else if (wsmon_entry_clear_young((unsigned long *)&w->quick[i], 1))
		w->pass.dirty_tlb = true;
	r->vague &= ~BIT(h);
	r->own |= BIT(h);
	walk_note_hit(w, r, h, now);
	return true;
}

static noinline void walk_sample_slowly(struct wsmon_walk *w, struct wsmon_region *r,
					unsigned int h, enum wsmon_sample_op op, u64 now)
{
	struct wsmon_sample *s = &r->s[h];
	bool arm = op == WSMON_SAMPLE_ARM, seen;

	/* in new memory, any bit that others cleared was an access */
	w->pass.since = arm ? r->origin_ns : r->looked_ns;
	if (w->pass.since >= w->notes_until)
		w->pass.since = 0;
	seen = walk_sample(w, s->vpn << PAGE_SHIFT, op, &r->debt[h]);
	/* when arming, the kinds of earlier entries do not matter */
	if (arm) {
		r->own &= ~BIT(h);
		r->made &= ~BIT(h);
	}
	if (walk_note_place(w, r, h, now))
		seen = false;
	if (arm && !w->busy)
		r->absent |= !w->found.mapped << h;
	r->hit &= ~BIT(h);
	if (!seen)
		return;
	s->times = w->times;
	if (!arm) {
		walk_note_vague(w, r, h);
		walk_note_hit(w, r, h, now);
	} else if (r->origin_ns) {
		/* the access was after the new memory appeared and before the interval began */
		s->seen_ns = wsmon_looks_last(&w->pass.session->looks);
		r->vague |= w->found.around << h;
	}
}

/* Number of entries that wsmon_line_young() reads */
#define LINE		8

/*
 * Return: a bitmap of the pages of a cluster whose Accessed bits are set, without its sample page
 * @own, where the cursor is. If not all entries can be read in the quick way, the cluster is
 * emptied: only its sample page is looked at from then on.
 */
static __always_inline u64 walk_cluster_young(const struct wsmon_walk *w, struct wsmon_cluster *c,
					      u64 own)
{
	u64 at = walk_quick_place(w, c->first), bits, young = 0;
	const pte_t *pte;
	u32 i, end;

	if (at >= w->quick_nr || at + c->nr > w->quick_nr) {
		c->nr = 0;
		return 0;
	}
	pte = w->quick + at;
	for (i = 0; i < c->nr; i = end) {
		/* most lines have no young entry */
		while (i + LINE <= c->nr && !wsmon_line_young(pte + i))
			i += LINE;
		end = min_t(u32, i + LINE, c->nr);
		for (; i < end; i++) {
			if (wsmon_pte_span(READ_ONCE(pte[i])) > 1) {
				c->nr = 0;
				return 0;
			}
			young |= (u64)!!pte_young(READ_ONCE(pte[i])) << i;
		}
	}
	young &= ~BIT_ULL(own - c->first);
	/* the bit means nothing in an entry that is not present, or maps the zero page */
	for (bits = young; bits; bits &= bits - 1) {
		i = __ffs64(bits);
		if (!wsmon_pte_has_memory(READ_ONCE(pte[i])))
			young &= ~BIT_ULL(i);
	}
	return young;
}

static void walk_cluster_page(struct wsmon_walk *w, struct wsmon_cluster *c, u32 i,
			      enum wsmon_sample_op op)
{
	u64 bit = BIT_ULL(i);
	u8 debt = c->owed & bit ? DEBT_OWED : c->reported & bit ? DEBT_REPORTED : DEBT_NONE;
	u8 *kept_debt = w->pass.kept_debt;
	const unsigned long *kept = w->pass.kept;
	u64 vpn = c->first + i;

	if (op == WSMON_SAMPLE_ARM)
		walk_clear_young(w, &w->quick[vpn - w->quick_vpn], vpn, &debt);
	else
		walk_sample(w, vpn << PAGE_SHIFT, op, &debt);
	/* @kept stays at a sample page: this page's debt is in the cluster's bitmaps */
	w->pass.kept = kept;
	w->pass.kept_debt = kept_debt;
	c->owed = debt == DEBT_OWED ? c->owed | bit : c->owed & ~bit;
	c->reported = debt == DEBT_REPORTED ? c->reported | bit : c->reported & ~bit;
}

/*
 * Look at the other pages of a cluster: when an interval begins or ends, each second, and in each
 * round if reclaim takes pages. Bits are cleared only between intervals. Within an interval they
 * stay set for reclaim, so nothing is owed. @last: the interval ends.
 */
static __always_inline void walk_sample_cluster(struct wsmon_walk *w, struct wsmon_region *r,
						unsigned int h, enum wsmon_sample_op op,
						bool last)
{
	struct wsmon_cluster *c = &r->c[h];
	u64 young = walk_cluster_young(w, c, r->s[h].vpn), bits;

	if (op != WSMON_SAMPLE_ARM)
		c->seen |= young;
	if (last)
		wsmon_cluster_note(c, c->seen, w->pass.session->epoch);
	else if (op == WSMON_SAMPLE_ARM && r->origin_ns)
		wsmon_cluster_note(c, young, w->pass.session->epoch);
	else if (op == WSMON_SAMPLE_CHECK)
		return;
	/* reclaim sees a bit that stays set */
	bits = op == WSMON_SAMPLE_DROP && IS_ENABLED(CONFIG_PAGE_IDLE_FLAG) ? 0 : young;
	/* when arming, keep debts from an earlier attempt that failed */
	if (op != WSMON_SAMPLE_ARM)
		bits |= IS_ENABLED(CONFIG_PAGE_IDLE_FLAG) ? c->owed : c->owed | c->reported;
	/* these pages take as long as some regions: read the clock sooner */
	w->steps -= min_t(u32, w->steps, hweight64(bits) / 8 + 1);
	for (; bits; bits &= bits - 1)
		walk_cluster_page(w, c, __ffs64(bits), op);
}

/* The interval ends: note whether half @h's sample page, which was mapped before, is gone. */
static __always_inline void walk_note_went(struct wsmon_walk *w, struct wsmon_region *r,
					   unsigned int h, bool quick)
{
	bool none = quick ? pte_none(READ_ONCE(w->quick[walk_quick_place(w, r->s[h].vpn)])) :
			    w->found.none;

	if (!none || r->absent & BIT(h))
		return;
	r->went |= BIT(h);
	r->absent |= BIT(h);
}

static __always_inline void walk_sample_region(struct wsmon_walk *w, struct wsmon_region *r,
					       enum wsmon_sample_op op, bool last, u64 now)
{
	bool rest = op != WSMON_SAMPLE_CHECK || w->pass.settle || w->reclaimed;
	unsigned int h, nr = r->n[1] ? 2 : 1;

	if (op != WSMON_SAMPLE_ARM)
		r->checks += nr;
	for (h = 0; h < nr; h++) {
		bool quick = walk_sample_quickly(w, r, h, op, now);

		if (!quick)
			walk_sample_slowly(w, r, h, op, now);
		if (last)
			walk_note_went(w, r, h, quick);
		if (rest && wsmon_cluster_matters(&r->c[h]) && !w->busy)
			walk_sample_cluster(w, r, h, op, last);
	}
}

/*
 * Find out whether other samplers look at the process, or may look at another process that has
 * the same mm after clone(CLONE_VM) or vfork().
 * Return: a time: notes of cleared bits matter for samples last looked at before it. If the last
 * other sampler has stopped, this is the time when it stopped; 0 once that time is before all
 * windows, because the accesses that the notes show are, too.
 */
static u64 walk_notes_until(struct wsmon_pass *pass)
{
	const struct wsmon_session *ss = pass->session;
	u64 stopped, longest = wsmon_window_ns(ss, ss->mon->attrs.nr_windows - 1);

	if (!pass->member)
		return U64_MAX;
	pass->shared = wsmon_member_shared(pass->member) ||
		       (wsmon_session_several() &&
			wsmon_member_mm_shared(pass->member, pass->mm));
	if (pass->shared)
		return U64_MAX;
	stopped = READ_ONCE(pass->member->shared_ns);
	return stopped + longest + wsmon_slack_ns(ss) < ktime_get_ns() ? 0 : stopped;
}

/*
 * Sample the regions that @op applies to, from the @at-th on and then from the first. @op is a
 * constant in each call, so that the compiler makes one function for each.
 * Return: index of the region at which the pass ended because the mmap lock was busy; the number
 * of regions if it did not.
 */
static __always_inline u32 walk_regions(struct wsmon_walk *w, struct wsmon_regions *rs, u32 at,
					enum wsmon_sample_op op, u64 begin, u64 now)
{
	struct wsmon_region *r = rs->r + at, *end = rs->r + rs->nr;
	bool arm = op == WSMON_SAMPLE_ARM;
	/* this pass needs only the bits of sample pages: no clusters, no notes, no debts */
	bool bits = op == WSMON_SAMPLE_CHECK && !w->pass.settle && !w->reclaimed && !w->notes_until;
	u32 i, looks = 0;

	for (i = 0; i < rs->nr; i++, r = r + 1 < end ? r + 1 : rs->r) {
		enum wsmon_sample_op v = op;
		u32 quiet = 0;

		if (bits)
			quiet = walk_quiet_regions(w, r, min_t(u32, rs->nr - i, end - r), begin);
		if (quiet) {
			looks += 2 * quiet;
			i += quiet - 1;
			r += quiet - 1;
			continue;
		}
		if (arm == !!r->armed_ns) {
			walk_skip_region(w);
			continue;
		}
		if (op == WSMON_SAMPLE_DROP && !r->due)
			v = WSMON_SAMPLE_CHECK;
		if (!walk_keep_lock(w))
			break;
		looks += r->n[1] ? 2 : 1;
		walk_sample_region(w, r, v, op == WSMON_SAMPLE_DROP, now);
		if (unlikely(w->busy)) {
			w->busy = false;
			w->missed++;
			continue;
		}
		r->looked_ns = w->notes_until ? ktime_get_ns() : begin;
		r->looked = v != WSMON_SAMPLE_ARM;
		if (v == WSMON_SAMPLE_ARM)
			r->armed_ns = now;
		else if (v == WSMON_SAMPLE_DROP)
			r->dropped = 1;
		r->last = op == WSMON_SAMPLE_DROP;
	}
	w->looks = looks;
	return i < rs->nr ? r - rs->r : rs->nr;
}

/**
 * wsmon_walk_pass - sample the pages of a target once
 * @ss:		the session
 * @t:		the target
 * @mm:		its mm, with a reference on mm_count
 * @op:		WSMON_SAMPLE_ARM: arm regions at rest;
 *		WSMON_SAMPLE_CHECK: check armed regions;
 *		WSMON_SAMPLE_DROP: check armed regions for the last time in the interval and
 *		set their @last; if @due is set, drop the samples and set @dropped
 * @now:	time to record for the accesses found
 *
 * If the mmap lock stays busy, the pass ends early and is counted as missed. The next
 * pass begins with the first region that was not sampled.
 * Context: may sleep, the monitor's lock held.
 */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now)
{
	struct wsmon_walk w = {
		.pass = { .member = t->member, .mm = mm, .session = ss },
		.reclaimed = t->reclaimed,
		.tries = WSMON_LOCK_TRIES,
		.maps_old = wsmon_maps_old(),
	};
	u32 nr = t->regions.nr, at = t->resume < nr ? t->resume : 0;
	bool arm = op == WSMON_SAMPLE_ARM;
	u64 begin = ktime_get_ns();

	w.pass.settle = op == WSMON_SAMPLE_DROP ||
			 (!arm && now - t->settled_ns >= SETTLE_NS);
	if (w.pass.settle)
		t->settled_ns = now;
	w.begin_ns = begin;
	/* a round that was left out, or late, leaves a gap */
	w.near_ns = 2 * wsmon_sample_ns(ss);
	w.recent_ns = now - min(now, ss->mon->attrs.windows_us[0] * NSEC_PER_USEC);
	w.notes_until = walk_notes_until(&w.pass);
	if (arm)
		at = walk_regions(&w, &t->regions, at, WSMON_SAMPLE_ARM, begin, now);
	else if (op == WSMON_SAMPLE_DROP)
		at = walk_regions(&w, &t->regions, at, WSMON_SAMPLE_DROP, begin, now);
	else
		at = walk_regions(&w, &t->regions, at, WSMON_SAMPLE_CHECK, begin, now);
	t->resume = at < nr ? at : 0;
	ss->stats.missed += w.missed + (at < nr && wsmon_mm_busy(mm));
	*(arm ? &t->arm_again : &t->check_again) = w.missed || at < nr;
	walk_unlock(&w);
	if (arm)
		ss->stats.arms += w.looks;
	else
		ss->stats.checks += w.looks;
	ss->stats.walk_ns += ktime_get_ns() - begin;
	wsmon_tlb_finish(&w.pass);
}

/**
 * wsmon_walk_visits - look at pages of a process, each as its visit says
 * @ss:		the session
 * @m:		the process; NULL if all visits are only looks, as when it has ended
 * @mm:		its mm, with a reference on mm_count
 * @v:		the visits, by ascending address. Sets @done in each, and the results in those
 *		with @done: @looked_ns, @debt, @pfn, @found, @seen, @times
 * @nr:		number of visits
 * @settle:	an interval ends: pay debts to reclaim
 *
 * If the mmap lock stays busy, the remaining visits are not done.
 * Context: may sleep, the monitor's lock held.
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
	u64 begin = ktime_get_ns();
	u32 i;

	/* a group needs @frames, which the quick ways do not set */
	w.notes_until = walk_notes_until(&w.pass);
	for (i = 0; i < nr; i++)
		v[i].done = false;
	for (i = 0; i < nr; i++, v++) {
		if (v->skip) {
			walk_skip_region(&w);
			continue;
		}
		if (!walk_keep_lock(&w))
			break;
		w.pass.since = v->looked_ns < w.notes_until ? v->looked_ns : 0;
		v->seen = walk_sample(&w, v->vpn << PAGE_SHIFT, v->op, &v->debt);
		v->done = !w.busy;
		if (v->done)
			v->looked_ns = w.notes_until ? ktime_get_ns() : begin;
		ss->stats.missed += w.busy;
		w.busy = false;
		v->found = w.found;
		if (v->seen)
			v->times = w.times;
		v->pfn = w.delta + v->vpn;
		if (v->op == WSMON_SAMPLE_ARM)
			ss->stats.arms++;
		else
			ss->stats.checks++;
	}
	walk_unlock(&w);
	if (i < nr)
		ss->stats.missed += wsmon_mm_busy(mm);
	ss->stats.walk_ns += ktime_get_ns() - begin;
	wsmon_tlb_finish(&w.pass);
}
