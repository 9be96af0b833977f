// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_hint.c - page-table entries that cause a fault at the next access
 *
 * An entry is armed as NUMA balancing does it: it becomes one that permits nothing
 * (pte_protnone()), in a mapping that permits accesses. At the next access the probe makes it
 * as it was (wsmon_hint_repair()), before the kernel handles the fault. Where the probe cannot,
 * or is gone, do_numa_page() makes it as the mapping says. So whatever happens to this module,
 * an armed entry costs one fault, and no data.
 *
 * Only the present bit, its stand-in and the guard against speculation change. All other
 * bits stay: dirty, soft-dirty, userfaultfd's, write, the protection key. NUMA balancing
 * and mprotect(PROT_NONE) also clear the user bit. So an entry that permits nothing but has
 * the user bit is one that was armed here, and no other is restored.
 *
 * What else may happen to an armed entry, and why it does no harm (6.1 and later, unless a
 * version is named). The mmap lock is held for reading here, as by NUMA balancing, and the
 * page table's lock while an entry is changed.
 *   - Stale translations. Until its TLB is flushed, a processor may use a page whose entry
 *     is armed. The kernel does not flush for entries that permit nothing, except while
 *     tlb_flush_pending of the mm is raised. So it is raised before the first entry
 *     changes, and lowered after all processors have flushed, under the same hold of the
 *     mmap lock. mprotect, fork and mremap hold that for writing: they never see an armed
 *     entry with stale translations. Reclaim, migration and KSM do not hold it: they test
 *     tlb_flush_pending (pte_accessible()), and munmap always flushes.
 *   - The processor sets the dirty bit at the same moment: the entry is taken out by an
 *     atomic exchange, and what was taken out is changed and put back. Meanwhile there is
 *     none, as in change_pte_range(), and who finds none without the lock looks again with it.
 *   - mprotect() makes an entry with the new protection, which is not armed any more.
 *   - fork() copies an armed entry to the child. Nobody restores it there: its first access
 *     in the child faults, and the probe repairs it. mremap() moves one likewise.
 *   - Reclaim, migration, KSM, a write fault of another and THP replace the entry, as they
 *     do a present one: pte_present() is true for both. What replaces it is not armed.
 *   - GUP: gup_fast leaves such entries to the slow way. That uses the page as it is, but
 *     before 6.6, and for KVM, it has do_numa_page() repair the entry.
 *   - Code that may not fault (in an NMI, or probes that read a program's memory) finds such
 *     a page not there, as it may find any page that is in use. mlock() after a page was armed
 *     does not repair it: one more fault, within an aggregation interval.
 *   - NUMA balancing and sessions of other monitors leave an armed entry as it is, and this
 *     one leaves theirs (WSMON_HINT_TAKEN). What restores an entry only permits more.
 *   - exit and munmap: the entry goes as a present one does. Page-table checking counts
 *     entries as they become present or not, so they are changed by the kernel's helpers.
 *   - do_numa_page() may move the page to the processor's node if NUMA has several, even
 *     if numa_balancing is 0; where memory has tiers, to a faster one. From 6.8 on it repairs
 *     all armed entries of a large folio. So it must not see one: that is what the probe
 *     repairs for. It still sees those that GUP finds before 6.6, those whose table stays
 *     locked for longer than the probe tries, and what could not be restored at the end.
 *   - KVM and devices with translations of their own would have to be told
 *     (MMU notifiers): such an mm is left alone. They register with the mmap lock held for
 *     writing, and find armed entries by GUP only.
 *
 * An entry is restored under the page table's lock. It is not present, so no processor
 * changes it, and all others hold that lock. From armed to present needs no flush.
 */
#include <linux/dax.h>
#include <linux/hugetlb.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/userfaultfd_k.h>

#include "wsmon_who.h"

#ifdef WSMON_HINTS
/* Entries that are changed under one hold of the mmap lock, with one flush */
#define HINT_BATCH	256U
/*
 * or as many as take this time, but not fewer than HINT_BATCH_MIN. Where a flush takes
 * longer, as in a virtual machine whose other processors wait to run, entries are armed
 * for as long as the last flush took: the hold is twice as long, the flushes are fewer.
 */
#define HINT_HOLD_NS	(60 * NSEC_PER_USEC)
#define HINT_BATCH_MIN	32U

/* Kernels before 6.6 have no shadow stacks */
#ifndef VM_SHADOW_STACK
#define VM_SHADOW_STACK	VM_NONE
#endif

/* Memory of devices and of the kernel, and what has entries of its own kind */
#define HINT_NEVER	(VM_SPECIAL | VM_HUGETLB | VM_SHADOW_STACK)

/* mlock() asks for memory that does not fault, and userfaultfd handles faults itself. */
static bool hint_vma_allowed(struct vm_area_struct *vma)
{
	return vma_is_accessible(vma) && !(vma->vm_flags & (HINT_NEVER | VM_LOCKED)) &&
	       !userfaultfd_armed(vma) && !vma_is_dax(vma);
}

/*
 * Find the entry that has the table of a page.
 * @huge:	set if the page is part of a gigantic one
 * Return: the entry, or NULL.
 */
static pmd_t *hint_find_pmd(struct mm_struct *mm, unsigned long addr, bool *huge)
{
	pgd_t *pgdp = pgd_offset(mm, addr);
	p4d_t *p4dp;
	pud_t *pudp;

	*huge = false;
	if (pgd_none(READ_ONCE(*pgdp)) || pgd_bad(READ_ONCE(*pgdp)))
		return NULL;
	p4dp = p4d_offset(pgdp, addr);
	if (p4d_none(READ_ONCE(*p4dp)) || p4d_bad(READ_ONCE(*p4dp)))
		return NULL;
	pudp = pud_offset(p4dp, addr);
	*huge = pud_leaf(READ_ONCE(*pudp));
	if (pud_none(READ_ONCE(*pudp)) || *huge || pud_bad(READ_ONCE(*pudp)))
		return NULL;
	return pmd_offset(pudp, addr);
}

/*
 * Find the entry of a page, and lock its table: wsmon_walk.c has the reasons.
 * @huge:	set if it is part of a huge page
 * Return: the entry, with RCU and @ptl held; NULL if there is no table.
 */
static pte_t *hint_lock_entry(struct mm_struct *mm, unsigned long addr, spinlock_t **ptl,
			      bool *huge)
{
	pmd_t *pmdp = hint_find_pmd(mm, addr, huge), pmd;

	if (!pmdp)
		return NULL;
	rcu_read_lock();
	pmd = READ_ONCE(*pmdp);
	/* one that is being moved is not present, but there */
	*huge = !pmd_none(pmd) && (!pmd_present(pmd) || pmd_leaf(pmd));
	if (!pmd_present(pmd) || *huge || pmd_bad(pmd))
		goto out;
	*ptl = pte_lockptr(mm, &pmd);
	spin_lock(*ptl);
	if (pmd_same(pmd, READ_ONCE(*pmdp)))
		return pte_offset_kernel(&pmd, addr);
	spin_unlock(*ptl);
out:
	rcu_read_unlock();
	return NULL;
}

static void hint_unlock_entry(spinlock_t *ptl)
{
	spin_unlock(ptl);
	rcu_read_unlock();
}

/* Is it a page of memory that reclaim may manage? */
static bool hint_page_allowed(pte_t pte)
{
	struct page *page;

	if (pte_special(pte) || is_zero_pfn(pte_pfn(pte)) || !pfn_valid(pte_pfn(pte)))
		return false;
	page = pfn_to_page(pte_pfn(pte));
	return !PageReserved(page) && page_folio(page)->mapping;
}

/* Arm an entry that is present. From then on the slot may be filled in. */
static void hint_set(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
		     struct wsmon_who_slot *s)
{
	pte_t pte;

	s->hint = WSMON_HINT_SET;
	s->node = page_to_nid(pfn_to_page(pte_pfn(*ptep)));
	atomic_set_release(&s->state, WSMON_WHO_ARMED);
	/* the next access faults after this lock is released, and finds the slot */
	pte = ptep_get_and_clear(mm, addr, ptep);
	set_pte_at(mm, addr, ptep, wsmon_pte_to_hint(pte));
}

/* The next access faults anyway: wait for it. */
static void hint_await(struct wsmon_who_slot *s, enum wsmon_hint hint)
{
	s->hint = hint;
	s->node = U32_MAX;
	atomic_set_release(&s->state, WSMON_WHO_ARMED);
}

static void hint_arm_one(struct mm_struct *mm, struct wsmon_who_slot *s)
{
	unsigned long addr = s->vpn << PAGE_SHIFT;
	struct vm_area_struct *vma = find_vma(mm, addr);
	spinlock_t *ptl;	/* of the page table */
	pte_t *ptep, pte;
	bool huge;

	s->hint = WSMON_HINT_BARRED;
	if (!vma || addr < vma->vm_start || !hint_vma_allowed(vma))
		return;
	ptep = hint_lock_entry(mm, addr, &ptl, &huge);
	if (!ptep) {
		if (huge)
			s->hint = WSMON_HINT_HUGE;
		else
			hint_await(s, WSMON_HINT_ABSENT);
		return;
	}
	pte = READ_ONCE(*ptep);
	if (!wsmon_pte_can_hint(pte))
		hint_await(s, pte_none(pte) ? WSMON_HINT_ABSENT : WSMON_HINT_TAKEN);
	else if (hint_page_allowed(pte))
		hint_set(mm, addr, ptep, s);
	hint_unlock_entry(ptl);
}

/* What was armed by others is left to them, and what has faulted to the kernel. */
static void hint_restore_one(struct wsmon_session *ss, struct mm_struct *mm,
			     const struct wsmon_who_slot *s)
{
	unsigned long addr = s->vpn << PAGE_SHIFT;
	struct vm_area_struct *vma = find_vma(mm, addr);
	spinlock_t *ptl;	/* of the page table */
	pte_t *ptep, pte;
	bool huge;

	if (s->hint != WSMON_HINT_SET || !vma || addr < vma->vm_start ||
	    !vma_is_accessible(vma) || vma->vm_flags & HINT_NEVER)
		return;
	ptep = hint_lock_entry(mm, addr, &ptl, &huge);
	if (!ptep)
		return;
	pte = READ_ONCE(*ptep);
	if (wsmon_pte_is_hint(pte) && atomic_read(&s->state) != WSMON_WHO_SEEN) {
		set_pte_at(mm, addr, ptep, wsmon_hint_to_pte(pte));
		ss->stats.who_restored++;
	}
	hint_unlock_entry(ptl);
}

/* Attempts at a busy table in a fault: a few microseconds. Its holder may wait for us. */
#define HINT_REPAIR_TRIES	100U

/*
 * Before 6.14 the lock of a table that is unmapped is freed at once if it is not a part of
 * the page's structure, as with lockdep. Then the mapping has to stay.
 */
static bool hint_hold_lock(struct mm_struct *mm, unsigned long addr)
{
#if ALLOC_SPLIT_PTLOCKS
	struct vm_area_struct *vma;

	if (!mmap_read_trylock(mm))
		return false;
	vma = find_vma(mm, addr);
	if (vma && addr >= vma->vm_start)
		return true;
	mmap_read_unlock(mm);
	return false;
#else
	return true;
#endif
}

static void hint_release_lock(struct mm_struct *mm)
{
#if ALLOC_SPLIT_PTLOCKS
	mmap_read_unlock(mm);
#endif
}

/* The kernel's own lock holders may need an interrupt to be handled here: do not wait for long */
static bool hint_trylock(spinlock_t *ptl)
{
	unsigned int tries = HINT_REPAIR_TRIES;

	while (!spin_trylock(ptl)) {
		if (!--tries)
			return false;
		cpu_relax();
	}
	return true;
}

static void hint_repair_locked(struct mm_struct *mm, unsigned long addr, pmd_t *pmdp)
{
	pmd_t pmd = READ_ONCE(*pmdp);
	spinlock_t *ptl;	/* of the page table */
	pte_t *ptep, pte;

	if (!pmd_present(pmd) || pmd_leaf(pmd) || pmd_bad(pmd))
		return;
	ptep = pte_offset_kernel(&pmd, addr);
	ptl = pte_lockptr(mm, &pmd);
	if (!hint_trylock(ptl))
		return;
	pte = READ_ONCE(*ptep);
	if (pmd_same(pmd, READ_ONCE(*pmdp)) && wsmon_pte_is_hint(pte))
		set_pte_at(mm, addr, ptep, wsmon_hint_to_pte(pte));
	spin_unlock(ptl);
}

/* Does a page have an armed entry? It may change at once. */
static bool hint_peek(pmd_t *pmdp, unsigned long addr)
{
	pmd_t pmd = READ_ONCE(*pmdp);

	return pmd_present(pmd) && !pmd_leaf(pmd) && !pmd_bad(pmd) &&
	       wsmon_pte_is_hint(READ_ONCE(*pte_offset_kernel(&pmd, addr)));
}

/**
 * wsmon_hint_repair - make an armed entry as it was, in the thread whose access faults
 * @mm:		its mm
 * @addr:	the address
 *
 * The mmap lock is not held. Three things stand in for it, on kernels 6.1 to 7.3:
 *   - Tables stay while interrupts are off, as for gup_fast: who frees one waits for an
 *     interrupt of each processor that runs the mm, or for RCU. khugepaged, which takes a
 *     table away and then copies its pages, waits likewise (tlb_remove_table_sync_one()).
 *   - The table is still the address's after its lock was taken, or nothing is done. mremap
 *     may move it just then. Then the entry is restored at its new address, and the flush
 *     that follows takes what the old one had.
 *   - Who holds the mmap lock for writing (mprotect, fork, mremap) changes entries under the
 *     table's lock, and flushes for what it finds present there.
 * With PREEMPT_RT that lock sleeps, so do_numa_page() repairs the entry.
 * Context: a fault of @mm's own thread, where the kernel may handle it; may not sleep.
 */
void wsmon_hint_repair(struct mm_struct *mm, unsigned long addr)
{
	unsigned long flags;
	pmd_t *pmdp;
	bool huge;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	local_irq_save(flags);
	pmdp = hint_find_pmd(mm, addr, &huge);
	if (pmdp && hint_peek(pmdp, addr) && hint_hold_lock(mm, addr)) {
		hint_repair_locked(mm, addr, pmdp);
		hint_release_lock(mm);
	}
	local_irq_restore(flags);
}

static void hint_unlock_mm(struct wsmon_session *ss, struct mm_struct *mm, u64 since)
{
	u64 held = ktime_get_ns() - since;

	mmap_read_unlock(mm);
	wsmon_hist_add(&ss->hold, held);
	ss->stats.max_hold_ns = max(ss->stats.max_hold_ns, held);
	cond_resched();
}

/* May another entry be changed, after @nr since the mmap lock was taken? */
static bool hint_goes_on(u32 nr, u64 since, u64 hold_ns)
{
	return nr < HINT_BATCH_MIN || (nr < HINT_BATCH && ktime_get_ns() - since < hold_ns);
}

/*
 * Arm some pages, and wait until all processors know.
 * Return: how many pages were looked at.
 */
static u32 hint_arm_batch(struct wsmon_session *ss, struct mm_struct *mm, const u32 *order,
			  u32 nr, u64 since)
{
	struct wsmon_who *w = ss->who;
	u64 hold = max_t(u64, HINT_HOLD_NS, w->flush_ns), start;
	bool set = false;
	u32 i;

	if (wsmon_mm_has_secondary(mm)) {
		for (i = 0; i < nr; i++)
			w->slots[order[i]].hint = WSMON_HINT_BARRED;
		return nr;
	}
	inc_tlb_flush_pending(mm);
	for (i = 0; i < nr && hint_goes_on(i, since, hold); i++) {
		hint_arm_one(mm, &w->slots[order[i]]);
		set |= w->slots[order[i]].hint == WSMON_HINT_SET;
	}
	if (set) {
		start = ktime_get_ns();
		wsmon_tlb_flush_wait(ss, mm);
		w->flush_ns = ktime_get_ns() - start;
		ss->stats.flushes++;
		ss->stats.flush_ns += w->flush_ns;
	}
	dec_tlb_flush_pending(mm);
	return i;
}
#endif

/**
 * wsmon_hint_possible - tell whether this kernel on this machine has hint faults
 *
 * With PREEMPT_RT the lock of a table is not for faults, so that pages would move between nodes.
 */
bool wsmon_hint_possible(void)
{
#ifdef WSMON_HINTS
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && num_possible_nodes() > 1)
		return false;
	return wsmon_tlb_can_wait();
#else
	return false;
#endif
}

/**
 * wsmon_hint_arm - arm pages of an address space
 * @ss:		the session
 * @mm:		the address space, with a reference on mm_count
 * @order:	slots of the pages, FREE, in address order
 * @nr:		number of them
 *
 * Those that are armed become ARMED. If the mmap lock stays busy, the rest is left out.
 * Context: the monitor's lock held, may sleep.
 * Return: number of @order that were looked at; their @hint is set.
 */
u32 wsmon_hint_arm(struct wsmon_session *ss, struct mm_struct *mm, const u32 *order, u32 nr)
{
#ifdef WSMON_HINTS
	unsigned int tries = WSMON_LOCK_TRIES;
	u32 done = 0;
	u64 since;

	while (done < nr) {
		if (!wsmon_mm_lock(mm, &tries))
			break;
		since = ktime_get_ns();
		done += hint_arm_batch(ss, mm, order + done, nr - done, since);
		hint_unlock_mm(ss, mm, since);
	}
	return done;
#else
	return 0;
#endif
}

/**
 * wsmon_hint_restore - restore pages that did not fault
 * @ss:		the session
 * @mm:		the address space, with a reference on mm_count
 * @order:	their slots
 * @nr:		number of them
 * @tries:	attempts at a busy mmap lock, counted down
 *
 * Context: the monitor's lock held, may sleep.
 * Return: how many need nothing more; fewer than @nr if the mmap lock stays busy.
 */
u32 wsmon_hint_restore(struct wsmon_session *ss, struct mm_struct *mm, const u32 *order, u32 nr,
		       unsigned int *tries)
{
#ifdef WSMON_HINTS
	u32 i = 0, first;
	u64 since;

	while (i < nr) {
		if (!wsmon_mm_lock(mm, tries))
			return wsmon_mm_busy(mm) ? i : nr;
		since = ktime_get_ns();
		for (first = i; i < nr && hint_goes_on(i - first, since, HINT_HOLD_NS); i++)
			hint_restore_one(ss, mm, &ss->who->slots[order[i]]);
		hint_unlock_mm(ss, mm, since);
	}
#endif
	return nr;
}
