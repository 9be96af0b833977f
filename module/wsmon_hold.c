// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_hold.c - what the walk holds: wsmon_walk.c says why
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>

#include "wsmon_walk.h"

/* Release the mmap lock after this time, give or take one page table's samples */
#define HOLD_NS		(60 * NSEC_PER_USEC)

/** wsmon_walk_leave_table - leave the page table that the cursor is in, if any */
void wsmon_walk_leave_table(struct wsmon_walk *w)
{
	if (!w->ptl)
		return;
	/* for sparse: the cursor holds both since walk_enter_table() */
	__acquire(RCU);
	__acquire(w->ptl);
	spin_unlock(w->ptl);
	rcu_read_unlock();
	w->ptl = NULL;
	w->table.end = 0;
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

/** wsmon_walk_unlock - release all that the walk holds */
void wsmon_walk_unlock(struct wsmon_walk *w)
{
	u64 held;

	wsmon_walk_leave_mapping(w);
	if (!w->locked)
		return;
	wsmon_mm_unlock(w->pass.mm);
	w->locked = false;
	held = ktime_get_ns() - w->since_ns;
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
	w->steps = 0;
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
		    ktime_get_ns() - w->since_ns < HOLD_NS)
			return true;
		wsmon_walk_unlock(w);
		cond_resched();
	}
	return walk_lock(w);
}
