// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_descend.c - find the entry of a sample page, and sample it
 *
 * Called by the passes of wsmon_walk.c, which says what is held, and why.
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "wsmon_walk.h"

/* Attempts to lock a page table: the pmd's Accessed bit may be set meanwhile */
#define PMD_TRIES	4

/* Does the cursor's mapping map pages, unless an entry is marked as special? */
static bool walk_has_pages(const struct wsmon_walk *w)
{
	return !vma_is_dax(w->vma) && !(w->vma->vm_flags & VM_MIXEDMAP);
}

/*
 * Nothing tells which mappings of a page that KSM merged are of one process, or were accessed. So
 * each counts as an equal part. Others may come and go meanwhile.
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
	struct page *page = has_page ? pfn_to_page(pfn) : NULL;

	w->times = walk_mappings(w, page);
	if (w->frames) {
		/* the first page of a huge page has the flags of all */
		if (page && is_vm_hugetlb_page(w->vma))
			page = compound_head(page);
		w->anon = page && PageAnon(page);
		w->exclusive = w->anon && PageAnonExclusive(page);
		w->delta = pfn - (addr >> PAGE_SHIFT);
	}
	return wsmon_young_sample(&w->pass, &e, op, debt);
}

/**
 * wsmon_walk_clear_young - arm a sample page whose Accessed bit is set
 * @w:		the walk, its cursor in the page table, of a process that nobody else samples
 * @ptep:	the page's entry, which is present and shares its bit with no other
 * @vpn:	the page
 * @debt:	what reclaim does not know of it
 */
void wsmon_walk_clear_young(struct wsmon_walk *w, pte_t *ptep, u64 vpn, u8 *debt)
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
	w->leaf_mapped = w->mapped;
	w->leaf_around = w->around;
	w->leaf_text = w->text;
	w->leaf_place = w->place;
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

/* Is it a page that KSM has merged with others? It makes the entries anew, marked accessed. */
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

	w->place = WSMON_PLACE_OWN;
	w->none = pte_none(pte);
	if (!wsmon_pte_has_memory(pte))
		return false;
	w->mapped = true;
	if (walk_is_merged(w, pte))
		w->place = WSMON_PLACE_MADE;
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

/* Is it the huge zero page? Whatever else anonymous memory maps is an anonymous page. */
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

	/* skip it if another page has replaced it since it was read */
	if (pmd_leaf(now) && pmd_present(now) && pmd_pfn(now) == pmd_pfn(pmd) &&
	    !walk_is_huge_zero(w, now)) {
		w->pass.alone = vma_is_anonymous(w->vma) && PageAnonExclusive(pmd_page(now));
		seen = walk_sample_entry(w, (unsigned long *)pmdp, span, addr & PMD_MASK,
					 pmd_pfn(pmd), true, op, debt);
		w->pass.alone = false;
		if (w->shared)
			seen = wsmon_young_seen_by_any(w->pass.session, pmdp, op, seen);
		w->mapped = true;
		w->place = WSMON_PLACE_MADE;
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
		w->mapped = true;
		walk_remember_leaf(w, wsmon_range_around(addr, PUD_SIZE), op, seen);
	}
	spin_unlock(ptl);
	return seen;
}

/*
 * There is no page table. Anonymous memory gets an entry by a fault only, of shared memory
 * MADV_COLLAPSE may have taken the table out, to put in a huge entry next.
 */
static bool walk_note_hole(struct wsmon_walk *w)
{
	w->none = true;
	if (vma_is_anonymous(w->vma))
		w->place = WSMON_PLACE_NONE;
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
		w->place = w->leaf_place;
	}
	return seen;
}

/**
 * wsmon_walk_sample - sample a page, mostly in the cursor's page table
 * @w:		the walk, the mmap lock held
 * @addr:	the page, not below that of the last call
 * @op:		what to do
 * @debt:	what reclaim does not know of it
 *
 * Return: was it accessed since the last time? @w->mapped, @around, @place and, if asked for,
 * what the entry maps are set.
 */
bool wsmon_walk_sample(struct wsmon_walk *w, unsigned long addr, enum wsmon_sample_op op,
		       u8 *debt)
{
	w->mapped = false;
	w->none = false;
	w->around = false;
	w->place = WSMON_PLACE_UNKNOWN;
	w->times = 1;
	if (wsmon_range_holds(&w->table, addr) &&
	    !(WSMON_ENTRIES_SHARE && wsmon_range_holds(&w->leaf, addr)))
		return walk_sample_pte(w, addr, op, debt);
	if (wsmon_range_holds(&w->leaf, addr))
		return walk_sample_leaf_again(w, addr, op, debt);
	wsmon_walk_leave_table(w);
	if (!wsmon_walk_find_mapping(w, addr)) {
		w->none = !w->busy;
		return false;
	}
	if (wsmon_range_holds(&w->hole, addr))
		return walk_note_hole(w);
	return walk_descend(w, addr, op, debt);
}
