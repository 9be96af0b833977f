// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_hold.c - what the walk holds: wsmon_walk.c says why
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched.h>

#include "wsmon_walk.h"

/* Release the mmap lock after this time, give or take one page table's samples */
#define HOLD_NS		(60 * NSEC_PER_USEC)
/* Read the clock once in this many regions */
#define HOLD_STEPS	16

/** wsmon_walk_leave_table - leave the page table that the cursor is in, if any */
void wsmon_walk_leave_table(struct wsmon_walk *w)
{
	if (!w->ptl)
		return;
	/* for sparse: the cursor holds both since wsmon_walk_enter_table() */
	__acquire(RCU);
	__acquire(w->ptl);
	spin_unlock(w->ptl);
	rcu_read_unlock();
	w->ptl = NULL;
	w->table.end = 0;
	w->quick_nr = 0;
}

/** wsmon_walk_leave_mapping - leave the mapping that the cursor is in, if any */
void wsmon_walk_leave_mapping(struct wsmon_walk *w)
{
	wsmon_walk_leave_table(w);
	if (w->shared)
		i_mmap_unlock_read(w->shared);
	w->shared = NULL;
	w->vma = NULL;
	w->mapping.end = 0;
}

/**
 * wsmon_walk_find_mapping - look up an address among the mappings
 * @w:		the walk, the mmap lock held
 * @addr:	the address
 *
 * Return: its mapping, also in @vma; NULL if it has none that can be sampled.
 */
struct vm_area_struct *wsmon_walk_find_mapping(struct wsmon_walk *w, unsigned long addr)
{
	struct vm_area_struct *vma;

	if (wsmon_range_holds(&w->mapping, addr))
		return w->vma;
	wsmon_walk_leave_mapping(w);
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

/**
 * wsmon_walk_enter_table - have the cursor enter a page table
 * @w:		the walk, in the mapping of @addr
 * @pmdp:	where its entry is
 * @pmd:	its entry, as it was read
 * @addr:	an address that it has
 *
 * Return: true with the table's lock held; false if the table went away.
 */
bool wsmon_walk_enter_table(struct wsmon_walk *w, pmd_t *pmdp, pmd_t pmd, unsigned long addr)
{
	rcu_read_lock();
	/* after it was read the table may have been freed, and its lock with it */
	if (unlikely(!pmd_same(pmd, READ_ONCE(*pmdp)))) {
		rcu_read_unlock();
		return false;
	}
	w->pte = pte_offset_kernel(&pmd, addr & PMD_MASK);
	w->ptl = pte_lockptr(w->pass.mm, &pmd);
	spin_lock(w->ptl);
	w->table = wsmon_range_around(addr, PMD_SIZE);
	w->table.start = max(w->table.start, w->mapping.start);
	w->table.end = min(w->table.end, w->mapping.end);
	/* for sparse: the cursor holds both until wsmon_walk_leave_table() */
	__release(w->ptl);
	__release(RCU);
	if (likely(pmd_same(pmd, READ_ONCE(*pmdp)))) {
		w->quick = w->pte + pte_index(w->table.start);
		w->quick_vpn = w->table.start >> PAGE_SHIFT;
		/* of merged pages it is to be found out how often they are mapped */
		if (!w->notes_until && !(w->vma->vm_flags & VM_MERGEABLE))
			w->quick_nr = (w->table.end - w->table.start) >> PAGE_SHIFT;
		return true;
	}
	wsmon_walk_leave_table(w);
	return false;
}

/* How often was the thread switched out? */
static u64 hold_switches(void)
{
	return current->nvcsw + current->nivcsw;
}

/** wsmon_walk_unlock - release all that the walk holds */
void wsmon_walk_unlock(struct wsmon_walk *w)
{
	u64 held;

	wsmon_walk_leave_mapping(w);
	if (!w->locked)
		return;
	mmap_read_unlock(w->pass.mm);
	w->locked = false;
	w->steps = 0;
	held = ktime_get_ns() - w->since_ns;
	if (hold_switches() == w->switches)
		wsmon_stolen_note(&w->pass.session->stolen, held, HOLD_NS);
	wsmon_hist_add(&w->pass.session->hold, held);
	if (held > w->pass.session->stats.max_hold_ns)
		w->pass.session->stats.max_hold_ns = held;
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

/**
 * wsmon_walk_renew_lock - take the mmap lock, or release it for a moment
 * @w:	the walk
 *
 * It is released if others wait, or after HOLD_NS.
 * Return: is it held?
 */
bool wsmon_walk_renew_lock(struct wsmon_walk *w)
{
	if (w->locked) {
		if (!mmap_lock_is_contended(w->pass.mm) && !need_resched() &&
		    ktime_get_ns() - w->since_ns < HOLD_NS) {
			w->steps = HOLD_STEPS - 1;
			return true;
		}
		wsmon_walk_unlock(w);
		cond_resched();
	}
	return walk_lock(w);
}
