// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_hintfault.c - the second sampler: which threads access the pages of targets
 *
 * After a round, kwsmond reports the faults that were seen, restores pages that did not
 * fault for an aggregation interval, and arms others: at most who_rate a second. It draws pages
 * from the regions of the first sampler, at a higher rate from regions in use. A page drawn at a
 * lower rate stands for more pages, in inverse proportion.
 *
 * Called with the monitor's lock held, unless noted; may sleep.
 */
#include <linux/dax.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd_k.h>

#include "wsmon_hintfault.h"

/*
 * Page-table entries that cause a fault at the next access
 *
 * This file arms an entry as NUMA balancing does: the entry then permits no access
 * (pte_protnone()), although its mapping does. At the next access the probe restores the entry
 * (hint_repair()) before the kernel handles the fault. If the probe cannot, or is gone,
 * do_numa_page() makes the entry anew with the mapping's protection. So whatever happens to this
 * module, an armed entry costs one fault, and never data.
 *
 * Arming changes only the present bit, the PROT_NONE bit that replaces it, and the guard
 * against speculation (L1TF). All other bits stay: dirty, soft-dirty, userfaultfd's, write, the
 * protection key. NUMA balancing and mprotect(PROT_NONE) also clear the user bit. So an entry
 * that permits no access but has the user bit was armed here, and only such entries are restored.
 *
 * The following may happen to an armed entry, and does no harm (6.1 and later, unless a
 * version is named). This file holds the mmap lock for reading, as NUMA balancing does, and the
 * page table's lock while it changes an entry.
 *   - Stale translations. Until its TLB is flushed, a processor may use a page whose entry
 *     is armed. The kernel does not flush for entries that permit no access, except while
 *     tlb_flush_pending of the mm is raised. So this file raises it before the first entry
 *     changes, and lowers it after all processors have flushed, under the same hold of the
 *     mmap lock. mprotect, fork and mremap hold the mmap lock for writing, so they never see
 *     an armed entry with stale translations. Reclaim, migration and KSM do not hold it, but
 *     test tlb_flush_pending (pte_accessible()). munmap always flushes.
 *   - The processor sets the dirty bit at the same moment. So an atomic exchange takes the
 *     entry out, and the value taken out is changed and put back. Meanwhile the entry is none,
 *     as in change_pte_range(). Code that reads a none entry without the page table's lock
 *     looks again with the lock.
 *   - mprotect() makes an entry with the new protection, which is no longer armed.
 *   - fork() copies an armed entry to the child, where nobody restores it: the child's first
 *     access faults, and the probe repairs the copy. mremap() moves an armed entry likewise.
 *   - Reclaim, migration, KSM, THP and a write fault of another thread replace an armed
 *     entry as they do a present one, because pte_present() is true for both. The new entry
 *     is not armed.
 *   - GUP: gup_fast leaves armed entries to the slow path. The slow path uses the page as it
 *     is, but before 6.6, and for KVM, it has do_numa_page() repair the entry.
 *   - Code that may not fault (in an NMI, or probes that read a program's memory) cannot read
 *     an armed page; this may happen to it with any page. mlock() after a page was armed
 *     does not repair it: one more fault, within an aggregation interval.
 *   - NUMA balancing and sessions of other monitors do not change an armed entry, and this
 *     session does not change theirs (WSMON_HINT_TAKEN). Restoring an entry only permits more.
 *   - exit and munmap remove an armed entry as they do a present one. Page-table checking
 *     counts entries that become present or not, so this file uses the kernel's helpers.
 *   - do_numa_page() may migrate the page: on a machine with several NUMA nodes to the
 *     processor's node, even if numa_balancing is 0; with memory tiers to a faster tier. From
 *     6.8 on it also repairs all armed entries of a large folio. To keep armed entries from
 *     it, the probe repairs them first. do_numa_page() still sees entries that GUP finds before
 *     6.6, entries whose page table stays locked for longer than the probe tries, and entries
 *     that could not be restored at the end, such as copies of a fork and entries that mremap moved.
 *   - KVM and devices with translations of their own would need to be told (MMU notifiers), so
 *     an mm that has any is left alone. They register with the mmap lock held for writing, and
 *     find entries that are armed by then only through GUP.
 *
 * Restoring happens under the page table's lock. The entry is not present, so no processor
 * changes it; all other code that changes it holds this lock. A change from armed to present
 * needs no flush.
 */

#ifdef WSMON_HINTS
/* Maximum number of entries to change under one hold of the mmap lock, with one flush */
#define HINT_BATCH	256U
/*
 * Stop changing entries after this time, but not before HINT_BATCH_MIN. If the last flush took
 * longer, as in a virtual machine whose other processors wait to run, go on arming for as long as
 * it took: the hold is then about twice as long as a flush, and there are fewer flushes.
 */
#define HINT_HOLD_NS	(60 * NSEC_PER_USEC)
#define HINT_BATCH_MIN	32U

/* Kernels before 6.6 have no shadow stacks */
#ifndef VM_SHADOW_STACK
#define VM_SHADOW_STACK	VM_NONE
#endif

/* Memory of devices and of the kernel, and mappings whose entries are of another kind */
#define HINT_NEVER	(VM_SPECIAL | VM_HUGETLB | VM_SHADOW_STACK)

/*
 * May pages of a mapping be armed? mlock() asks for memory that does not fault, and userfaultfd
 * handles faults itself.
 */
static bool hint_vma_allowed(struct vm_area_struct *vma)
{
	return vma_is_accessible(vma) && !(vma->vm_flags & (HINT_NEVER | VM_LOCKED)) &&
	       !userfaultfd_armed(vma) && !vma_is_dax(vma);
}

/*
 * Find the entry of an address, and lock its page table.
 * @why:	why there is none: HUGE, ABSENT, or BARRED if the table changed at each attempt
 * Return: the entry, with RCU and @ptl held; NULL if there is none, or it could not be entered.
 */
static pte_t *hint_lock_entry(struct mm_struct *mm, unsigned long addr, spinlock_t **ptl,
			      enum wsmon_hint *why)
{
	struct wsmon_upper u;
	pmd_t *pmdp = wsmon_find_pmd(mm, addr, &u), pmd;
	pte_t *ptep;

	*why = wsmon_upper_is_huge(&u) ? WSMON_HINT_HUGE : WSMON_HINT_ABSENT;
	if (!pmdp)
		return NULL;
	ptep = wsmon_lock_table(mm, pmdp, addr, &pmd, ptl);
	if (wsmon_pmd_has_table(pmd))
		*why = WSMON_HINT_BARRED;
	/* a huge page in migration is not present, but not none either */
	else if (!pmd_none(pmd))
		*why = WSMON_HINT_HUGE;
	return ptep;
}

static void hint_unlock_entry(spinlock_t *ptl)
{
	/* for sparse: held since wsmon_lock_table() */
	__acquire(RCU);
	__acquire(ptl);
	spin_unlock(ptl);
	rcu_read_unlock();
}

/* Does an entry map a page that reclaim may manage? */
static bool hint_page_allowed(pte_t pte)
{
	struct page *page;

	if (pte_special(pte) || is_zero_pfn(pte_pfn(pte)) || !pfn_valid(pte_pfn(pte)))
		return false;
	page = pfn_to_page(pte_pfn(pte));
	return !PageReserved(page) && page_folio(page)->mapping;
}

/* Arm an entry that is present. A probe may write to the slot as soon as it is ARMED. */
static void hint_set(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
		     struct wsmon_who_slot *s)
{
	pte_t pte;

	s->hint = WSMON_HINT_SET;
	s->node = page_to_nid(pfn_to_page(pte_pfn(*ptep)));
	atomic_set_release(&s->state, WSMON_WHO_ARMED);
	/* the slot is ARMED before the entry changes, so that the next fault finds it */
	pte = ptep_get_and_clear(mm, addr, ptep);
	set_pte_at(mm, addr, ptep, wsmon_pte_to_hint(pte));
}

/* Wait for the next access to a page, which faults without being armed. */
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
	enum wsmon_hint why;
	pte_t *ptep, pte;

	s->hint = WSMON_HINT_BARRED;
	if (!vma || addr < vma->vm_start || !hint_vma_allowed(vma))
		return;
	ptep = hint_lock_entry(mm, addr, &ptl, &why);
	if (!ptep) {
		if (why == WSMON_HINT_ABSENT)
			hint_await(s, why);
		else
			s->hint = why;
		return;
	}
	pte = READ_ONCE(*ptep);
	if (!wsmon_pte_can_hint(pte))
		hint_await(s, pte_none(pte) ? WSMON_HINT_ABSENT : WSMON_HINT_TAKEN);
	else if (hint_page_allowed(pte))
		hint_set(mm, addr, ptep, s);
	hint_unlock_entry(ptl);
}

/*
 * Restore an entry that was armed here, unless its fault was seen: then the probe or the kernel
 * repairs it.
 */
static void hint_restore_one(struct wsmon_session *ss, struct mm_struct *mm,
			     const struct wsmon_who_slot *s)
{
	unsigned long addr = s->vpn << PAGE_SHIFT;
	struct vm_area_struct *vma = find_vma(mm, addr);
	spinlock_t *ptl;	/* of the page table */
	enum wsmon_hint why;
	pte_t *ptep, pte;

	if (s->hint != WSMON_HINT_SET || !vma || addr < vma->vm_start ||
	    !vma_is_accessible(vma) || vma->vm_flags & HINT_NEVER)
		return;
	ptep = hint_lock_entry(mm, addr, &ptl, &why);
	if (!ptep)
		return;
	pte = READ_ONCE(*ptep);
	if (wsmon_pte_is_hint(pte) && atomic_read(&s->state) != WSMON_WHO_SEEN) {
		set_pte_at(mm, addr, ptep, wsmon_hint_to_pte(pte));
		ss->stats.who_restored++;
	}
	hint_unlock_entry(ptl);
}

/* Attempts at a busy page-table lock in a fault, a few microseconds: its holder may wait for us */
#define HINT_REPAIR_TRIES	100U

/*
 * Keep the page table's lock from being freed. If the lock is not part of struct page, as with
 * lockdep, kernels before 6.14 free it as soon as the table is taken out. Then the mapping must
 * stay, so this takes the mmap lock if it is free.
 * Return: true if the lock stays until hint_release_lock().
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

/*
 * Try to take a page table's lock for a few microseconds. Do not wait for longer: interrupts are
 * off, and the holder may wait until this processor handles one.
 */
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

	if (!wsmon_pmd_has_table(pmd))
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

/* Is the entry of an address armed? No lock is held, so it may change at any time. */
static bool hint_peek(pmd_t *pmdp, unsigned long addr)
{
	pmd_t pmd = READ_ONCE(*pmdp);

	return wsmon_pmd_has_table(pmd) &&
	       wsmon_pte_is_hint(READ_ONCE(*pte_offset_kernel(&pmd, addr)));
}

/*
 * Restore an armed entry, in the thread whose access faults.
 *
 * The mmap lock is not held. On kernels 6.1 to 7.3, three facts make up for it:
 *   - Page tables stay while interrupts are off, as for gup_fast: before one is freed, each
 *     processor that runs the mm handles an interrupt, or an RCU grace period ends. khugepaged,
 *     which takes a table out and then copies its pages, waits likewise
 *     (tlb_remove_table_sync_one()).
 *   - After taking the table's lock, this checks that the table still belongs to the address,
 *     and else does nothing. mremap may move the table just after. Then the entry is restored at
 *     its new address, and mremap's flush drops any translation of the old address.
 *   - Holders of the mmap lock for writing (mprotect, fork, mremap) change entries under the
 *     table's lock, and flush translations of the entries that they find present.
 * With PREEMPT_RT the table's lock sleeps, so this does nothing: do_numa_page() repairs the entry.
 * Context: a fault of @mm's own thread, where the kernel may handle it; may not sleep.
 */
static void hint_repair(struct mm_struct *mm, unsigned long addr)
{
	struct wsmon_upper u;
	unsigned long flags;
	pmd_t *pmdp;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	local_irq_save(flags);
	pmdp = wsmon_find_pmd(mm, addr, &u);
	if (pmdp && hint_peek(pmdp, addr) && hint_hold_lock(mm, addr)) {
		hint_repair_locked(mm, addr, pmdp);
		hint_release_lock(mm);
	}
	local_irq_restore(flags);
}

/* May another entry be changed under this hold of the mmap lock, after @nr of them? */
static bool hint_goes_on(u32 nr, u64 since, u64 hold_ns)
{
	return nr < HINT_BATCH_MIN || (nr < HINT_BATCH && ktime_get_ns() - since < hold_ns);
}

/*
 * Arm some pages, and wait until all processors have flushed stale translations.
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

/*
 * Does this kernel on this machine have hint faults? Not with PREEMPT_RT and several NUMA nodes:
 * hint_repair() cannot work there, so do_numa_page() would migrate pages between nodes.
 */
static bool hint_possible(void)
{
#ifdef WSMON_HINTS
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && num_possible_nodes() > 1)
		return false;
	return wsmon_tlb_can_wait();
#else
	return false;
#endif
}

/*
 * Arm the pages of @nr slots in @order: FREE slots of one address space, in address order. Slots
 * whose next access will fault become ARMED. If the mmap lock stays busy, the rest is left out.
 * @tries:	attempts at a busy mmap lock, counted down
 * Return: number of slots in @order that were looked at; their @hint is set.
 */
static u32 hint_arm(struct wsmon_session *ss, struct mm_struct *mm, const u32 *order, u32 nr,
		    unsigned int *tries)
{
#ifdef WSMON_HINTS
	u32 done = 0;
	u64 since;

	while (done < nr) {
		if (!wsmon_mm_lock(mm, tries))
			break;
		since = ktime_get_ns();
		done += hint_arm_batch(ss, mm, order + done, nr - done, since);
		wsmon_mm_unlock(ss, mm, since);
		cond_resched();
	}
	return done;
#else
	return 0;
#endif
}

/*
 * Restore the pages of @nr slots in @order, which did not fault.
 * @tries:	attempts at a busy mmap lock, counted down
 * Return: number of slots in @order that are done; fewer than @nr if the mmap lock stays busy.
 */
static u32 hint_restore(struct wsmon_session *ss, struct mm_struct *mm, const u32 *order, u32 nr,
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
		wsmon_mm_unlock(ss, mm, since);
		cond_resched();
	}
#endif
	return nr;
}

/*
 * The probe at page faults: which thread accessed an armed page
 *
 * The probe runs in the thread that faults, before the kernel handles the fault. It allocates
 * nothing, does not sleep, and waits at most a few microseconds for the lock of a page table. In
 * each session that has hint faults it reads WSMON_WHO_WAYS keys, one cache line, and writes to
 * the slot of the page if there is one. Only the probe that made a slot BUSY writes to it. Then
 * the probe repairs the entry if it is armed, even for a process that nobody watches, because a
 * child has copies of armed entries.
 *
 * The probe is attached while at least one session has hint faults, that is, runs with a who_rate.
 */

/* Sessions with hint faults; the probe reads the list under RCU */
static LIST_HEAD(fault_sessions);
/* Protects changes of the list, and attaching and detaching the probes */
static DEFINE_MUTEX(fault_lock);

#ifdef WSMON_HINTS
/* Write a fault to its slot. For a fault in the kernel, note the instruction of its caller. */
static void fault_note(struct wsmon_who *w, struct wsmon_who_slot *s, unsigned long address,
		       struct pt_regs *regs, unsigned long error)
{
	bool user = user_mode(regs);

	s->address = address;
	s->ip = instruction_pointer(user ? regs : task_pt_regs(current));
	s->seen_ns = ktime_get_ns();
	s->tid = task_pid_nr_ns(current, w->ns);
	s->cpu = raw_smp_processor_id();
	s->flags = wsmon_fault_flags(error) | (user ? 0 : WSMON_WHO_KERNEL);
	/* another thread may be changing the name */
	data_race(memcpy(s->comm, current->comm, sizeof(s->comm)));
	s->comm[sizeof(s->comm) - 1] = '\0';
}

static void fault_find(struct wsmon_who *w, struct mm_struct *mm, unsigned long address,
		       struct pt_regs *regs, unsigned long error)
{
	u64 vpn = address >> PAGE_SHIFT, key = wsmon_who_key(mm, vpn);
	u32 i = wsmon_who_place(key), end = i + WSMON_WHO_WAYS;

	for (; i < end; i++) {
		struct wsmon_who_slot *s = &w->slots[i];

		if (READ_ONCE(w->keys[i]) != key ||
		    atomic_cmpxchg(&s->state, WSMON_WHO_ARMED, WSMON_WHO_BUSY) !=
		    WSMON_WHO_ARMED)
			continue;
		/* kwsmond may have given the slot to another page since the key was read */
		if (s->mm != mm || s->vpn != vpn) {
			atomic_set_release(&s->state, WSMON_WHO_ARMED);
			continue;
		}
		fault_note(w, s, address, regs, error);
		atomic_set_release(&s->state, WSMON_WHO_SEEN);
		return;
	}
}

/*
 * Note a fault, and repair the entry. Ignore faults that the kernel does not handle, in interrupts
 * or where page faults are disabled: the code that faulted does without the page, or tries again.
 */
static void fault_probe(void *data, unsigned long address, struct pt_regs *regs,
			unsigned long error)
{
	struct mm_struct *mm = current->mm;
	struct wsmon_who *w;

	if (!mm || !wsmon_fault_absent(error) || address >= TASK_SIZE_MAX)
		return;
	if (!user_mode(regs) && (in_nmi() || in_hardirq() || in_serving_softirq() ||
				 pagefault_disabled() || current->flags & PF_KTHREAD))
		return;
	/* newer kernels may preempt a probe, but kwsmond spins while a slot is BUSY */
	preempt_disable();
	rcu_read_lock();
	list_for_each_entry_rcu(w, &fault_sessions, node)
		fault_find(w, mm, address, regs, error);
	rcu_read_unlock();
	preempt_enable();
	hint_repair(mm, address);
}
#else
static void fault_probe(void *data, unsigned long address, struct pt_regs *regs,
			unsigned long error)
{
}
#endif

static struct wsmon_probe faults[] = {
	{ "page_fault_user", fault_probe },
	{ "page_fault_kernel", fault_probe },
};

/* Does the kernel have the tracepoints? */
static bool fault_possible(void)
{
	bool found;

	mutex_lock(&fault_lock);
	found = wsmon_probes_find(faults, ARRAY_SIZE(faults));
	mutex_unlock(&fault_lock);
	return found;
}

/*
 * Have the probe look at the slots of a session, if it does not yet.
 * Context: may sleep; fault_possible() has returned true.
 * Return: 0, or an error of tracepoint_probe_register().
 */
static int fault_begin(struct wsmon_who *w)
{
	int err = 0;

	mutex_lock(&fault_lock);
	if (w->watched)
		goto out;
	if (list_empty(&fault_sessions))
		err = wsmon_probes_attach(faults, ARRAY_SIZE(faults));
	if (err)
		goto out;
	list_add_rcu(&w->node, &fault_sessions);
	w->watched = true;
out:
	mutex_unlock(&fault_lock);
	return err;
}

/*
 * Undo fault_begin(), if it was called. After this, no probe looks at @w.
 * Context: may sleep. Waits for all processors, so the caller holds no monitor's lock.
 */
static void fault_end(struct wsmon_who *w)
{
	mutex_lock(&fault_lock);
	if (!w->watched)
		goto out;
	w->watched = false;
	list_del_rcu(&w->node);
	if (list_empty(&fault_sessions))
		wsmon_probes_detach(faults, ARRAY_SIZE(faults));
	/* wait for probes that look at @w */
	synchronize_rcu();
out:
	mutex_unlock(&fault_lock);
}

/* Total of attempts at busy mmap locks when the session ends: about two seconds */
#define WHO_LAST_TRIES	20000U
/* Maximum number of pages to draw in a round: the number for 100 ms at the highest rate */
#define WHO_ROUND	1000U
/* Maximum number of pages to draw in a round if no CPU time is left */
#define WHO_ROUND_SHORT	64U
/* Minimum rate of a region, relative to a region that is fully in use */
#define WHO_IDLE	(WSMON_ONE / 16)

/** wsmon_who_possible - tell whether hint faults work on this kernel and machine */
bool wsmon_who_possible(void)
{
	return hint_possible() && fault_possible();
}

/**
 * wsmon_who_begin - make a session ready for hint faults
 * @ss:	the session
 *
 * Context: the monitor's ctl held, but not its lock.
 * Return: 0; -EOPNOTSUPP if hint faults do not work on this kernel or machine; -ENOMEM.
 */
int wsmon_who_begin(struct wsmon_session *ss)
{
	struct wsmon_who *w = ss->who;
	bool ended;
	int err;

	/* faults are of targets: a session of a cgroup has none */
	if (ss->cgroup)
		return 0;
	if (!w) {
		if (!wsmon_who_possible())
			return -EOPNOTSUPP;
		w = kvzalloc(sizeof(*w), GFP_KERNEL);
		if (!w)
			return -ENOMEM;
		w->ns = ss->ns;
	}
	err = fault_begin(w);
	if (err) {
		if (!ss->who)
			kvfree(w);
		return err;
	}
	/* kwsmond may end the session meanwhile: then this thread or kwsmond calls fault_end() */
	mutex_lock(&ss->mon->lock);
	WRITE_ONCE(ss->who, w);
	ended = ss->ended;
	mutex_unlock(&ss->mon->lock);
	if (ended)
		fault_end(w);
	return 0;
}

/**
 * wsmon_who_end - undo wsmon_who_begin(): detach the probe from the session
 * @ss:	the session, which has ended, or has no who_rate
 *
 * Context: the monitor's ctl held, or in the monitor's thread; the monitor's lock not held.
 */
void wsmon_who_end(struct wsmon_session *ss)
{
	struct wsmon_who *w = READ_ONCE(ss->who);

	if (!w)
		return;
	mutex_lock(&ss->mon->lock);
	if (!ss->ended)
		wsmon_who_leave(ss);
	mutex_unlock(&ss->mon->lock);
	fault_end(w);
}

/**
 * wsmon_who_free - free what wsmon_who_begin() allocated
 * @ss:	the session; its thread has called wsmon_who_leave(), or never ran
 *
 * Context: the monitor's lock not held.
 */
void wsmon_who_free(struct wsmon_session *ss)
{
	if (!ss->who)
		return;
	fault_end(ss->who);
	kvfree(ss->who);
	ss->who = NULL;
}

static void who_free_slot(struct wsmon_who *w, u32 i)
{
	WRITE_ONCE(w->keys[i], 0);
	atomic_set(&w->slots[i].state, WSMON_WHO_FREE);
	w->live--;
}

/*
 * End the wait of a slot. A probe keeps a slot BUSY only for a moment.
 * Return: true if a fault was seen.
 */
static bool who_end(struct wsmon_who_slot *s)
{
	int state;

	while ((state = atomic_read_acquire(&s->state)) == WSMON_WHO_ARMED ||
	       state == WSMON_WHO_BUSY) {
		if (state == WSMON_WHO_ARMED &&
		    atomic_cmpxchg(&s->state, state, WSMON_WHO_FREE) == state)
			return false;
		cpu_relax();
		cond_resched();
	}
	return state == WSMON_WHO_SEEN;
}

/*
 * Report the fault of a slot, if one was seen, and free the slot. If no fault was seen, the caller
 * has restored the entry before, if it could.
 */
static void who_finish(struct wsmon_session *ss, u32 i)
{
	struct wsmon_who_slot *s = &ss->who->slots[i];

	if (who_end(s)) {
		ss->stats.who_seen++;
		wsmon_stream_who(&ss->targets[s->target], s);
	}
	who_free_slot(ss->who, i);
}

static int who_compare(const void *a, const void *b, const void *private)
{
	const struct wsmon_who_slot *slots = private;
	const struct wsmon_who_slot *s = &slots[*(const u32 *)a], *t = &slots[*(const u32 *)b];

	if (s->target != t->target)
		return s->target < t->target ? -1 : 1;
	return s->vpn < t->vpn ? -1 : s->vpn > t->vpn;
}

/*
 * Report faults that were seen, and restore pages that have waited for an aggregation interval.
 * The probe or the kernel repairs an entry whose fault was seen. If neither does, because the
 * thread was killed first, the next fault does.
 * @target:	index of a target; nr_targets: all targets
 * @now:	the time; U64_MAX: restore all pages
 * @tries:	attempts at busy mmap locks, counted down; at 0, the remaining pages go on waiting
 */
static void who_collect(struct wsmon_session *ss, u32 target, u64 now, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u32 i, nr = 0, end, done;

	for (i = 0; i < WSMON_WHO_SLOTS; i++) {
		struct wsmon_who_slot *s = &w->slots[i];

		wsmon_loop_resched(i);
		if (!w->keys[i] || (target < ss->nr_targets && s->target != target))
			continue;
		if (atomic_read(&s->state) == WSMON_WHO_SEEN)
			who_finish(ss, i);
		else if (now == U64_MAX || now - s->armed_ns >= wsmon_aggr_ns(ss))
			w->order[nr++] = i;
	}
	sort_r(w->order, nr, sizeof(*w->order), who_compare, NULL, w->slots);
	for (i = 0; i < nr; i = end) {
		u32 t = w->slots[w->order[i]].target;

		for (end = i; end < nr && w->slots[w->order[end]].target == t; end++)
			;
		done = hint_restore(ss, w->mm[t], w->order + i, end - i, tries);
		for (; done; done--, i++)
			who_finish(ss, w->order[i]);
	}
}

/* Leave the address space of a target. An entry not restored now is repaired at its next fault. */
static void who_leave_mm(struct wsmon_session *ss, u32 target, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u32 i;

	if (!w->mm[target])
		return;
	who_collect(ss, target, U64_MAX, tries);
	for (i = 0; i < WSMON_WHO_SLOTS; i++) {
		wsmon_loop_resched(i);
		if (w->keys[i] && w->slots[i].target == target)
			who_finish(ss, i);
	}
	mmdrop(w->mm[target]);
	w->mm[target] = NULL;
}

/* Leave the address spaces of targets that ended or executed another program; take the new ones. */
static void who_follow(struct wsmon_session *ss, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u32 i;

	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];
		struct mm_struct *mm = NULL;
		u64 exec_id;

		if (!t->gone && !t->twin && t->member)
			mm = wsmon_member_mm(t->member, &exec_id);
		if (mm != w->mm[i])
			who_leave_mm(ss, i, tries);
		/* else the regions still describe the old address space: wait for the next round */
		if (mm && !w->mm[i] && mm == t->mm)
			w->mm[i] = mm;
		else if (mm)
			mmdrop(mm);
	}
}

static u64 who_region_pages(const struct wsmon_region *r)
{
	return r->n[0] + r->n[1];
}

/* Return: the rate at which pages of a region are drawn, relative to other regions (Q15). */
static u32 who_region_rate(const struct wsmon_region *r)
{
	return max_t(u32, wsmon_region_share(r), WHO_IDLE);
}

static u64 who_measure(const struct wsmon_session *ss)
{
	u64 sum = 0;
	u32 i, j;

	for (i = 0; i < ss->nr_targets; i++) {
		const struct wsmon_regions *rs = &ss->targets[i].regions;

		if (!ss->who->mm[i])
			continue;
		for (j = 0; j < rs->nr; j++) {
			wsmon_loop_resched(j);
			sum += who_region_pages(&rs->r[j]) * who_region_rate(&rs->r[j]);
		}
	}
	return sum;
}

/* A page was drawn that waits already: the first access to it will answer this draw, too. */
static void who_draw_again(struct wsmon_who_slot *s, u64 pages)
{
	int state = atomic_read(&s->state);

	if (state == WSMON_WHO_FREE || state == WSMON_WHO_ARMED)
		s->pages += pages;
}

/*
 * Reserve a slot for a page that stands for @pages, in 1/256.
 * Return: index of the slot; WSMON_WHO_SLOTS if none is free, or the page has one already.
 */
static u32 who_reserve(struct wsmon_who *w, u32 target, u64 vpn, u64 pages, u64 now)
{
	u64 key = wsmon_who_key(w->mm[target], vpn);
	u32 place = wsmon_who_place(key), found = WSMON_WHO_SLOTS, i;

	for (i = place; i < place + WSMON_WHO_WAYS; i++) {
		if (w->keys[i] == key) {
			who_draw_again(&w->slots[i], pages);
			return WSMON_WHO_SLOTS;
		}
		if (!w->keys[i])
			found = i;
	}
	if (found == WSMON_WHO_SLOTS)
		return found;
	w->slots[found].mm = w->mm[target];
	w->slots[found].vpn = vpn;
	w->slots[found].target = target;
	w->slots[found].pages = pages;
	w->slots[found].armed_ns = now;
	/* the state is FREE: no probe writes to the slot yet */
	WRITE_ONCE(w->keys[found], key);
	w->live++;
	return found;
}

/* Arm the pages of a target whose slots, in @order, are reserved. */
static void who_arm(struct wsmon_session *ss, u32 target, u32 nr, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u32 done, i;

	done = hint_arm(ss, w->mm[target], w->order, nr, tries);
	for (i = 0; i < nr; i++) {
		struct wsmon_who_slot *s = &w->slots[w->order[i]];

		if (i < done && s->hint == WSMON_HINT_SET) {
			ss->stats.who_armed++;
			continue;
		}
		if (i < done && (s->hint == WSMON_HINT_ABSENT || s->hint == WSMON_HINT_TAKEN)) {
			ss->stats.who_absent++;
			continue;
		}
		ss->stats.who_huge += i < done && s->hint == WSMON_HINT_HUGE;
		ss->stats.who_skipped += i >= done || s->hint == WSMON_HINT_BARRED;
		who_free_slot(w, w->order[i]);
	}
}

/* Return: number of pages, in 1/256, that a page stands for if it is drawn at @rate every @step. */
static u64 who_weight(u64 step, u64 rate)
{
	return step >> 56 ? div64_u64(step, rate) << 8 : div64_u64(step << 8, rate);
}

/*
 * Draw pages and arm them. Regions are laid end to end, each as long as its number of pages times
 * its rate. From a random start on, a page is drawn every @step (systematic sampling).
 */
static void who_draw(struct wsmon_session *ss, u64 step, u64 now, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u64 seed = wsmon_hash64(ss->mon->attrs.seed ^ ss->start_ns);
	u64 next = mul_u64_u64_shr(wsmon_hash64(seed ^ w->draws++), step, 64), at = 0;
	u32 i, j, nr;

	for (i = 0; i < ss->nr_targets; i++) {
		const struct wsmon_target *t = &ss->targets[i];

		if (!w->mm[i])
			continue;
		for (j = 0, nr = 0; j < t->regions.nr; j++) {
			const struct wsmon_region *r = &t->regions.r[j];
			const struct wsmon_area *a = &t->space.area[r->area];
			u64 pages = who_region_pages(r), rate = who_region_rate(r), k;

			wsmon_loop_resched(j);
			for (at += pages * rate; next < at; next += step) {
				u32 slot;

				k = mul_u64_u64_shr(wsmon_hash64(seed ^ w->draws++), pages, 64);
				k += wsmon_area_rank(&t->space, a, r->start);
				slot = who_reserve(w, i, wsmon_area_select(&t->space, a, k),
						   who_weight(step, rate), now);
				if (slot < WSMON_WHO_SLOTS && w->live <= WSMON_WHO_SLOTS / 2)
					w->order[nr++] = slot;
				else if (slot < WSMON_WHO_SLOTS)
					who_free_slot(w, slot);
			}
		}
		who_arm(ss, i, nr, tries);
	}
}

static void who_round(struct wsmon_session *ss, u64 now)
{
	u64 rate = ss->mon->attrs.who_rate, past, due, measure;
	unsigned int tries = WSMON_LOCK_TRIES;
	struct wsmon_who *w = ss->who;

	who_follow(ss, &tries);
	who_collect(ss, ss->nr_targets, now, &tries);
	if (!w->last_ns)
		w->last_ns = now;
	past = min_t(u64, now - w->last_ns, NSEC_PER_SEC);
	due = min_t(u64, div_u64(rate * past, NSEC_PER_SEC), WSMON_WHO_SLOTS / 2 - w->live);
	if (!due)
		return;
	w->last_ns = now;
	due = min_t(u64, due, wsmon_pace_may_check(&ss->pace) ? WHO_ROUND : WHO_ROUND_SHORT);
	measure = who_measure(ss);
	if (measure)
		who_draw(ss, div64_u64(measure, due) + 1, now, &tries);
}

/**
 * wsmon_who_round - report faults, restore pages and arm others
 * @ss:		the session
 * @now:	the time
 *
 * Takes at most a quarter of the time, so that the first sampler's rounds go on even if
 * processors are slow to flush their TLBs.
 */
void wsmon_who_round(struct wsmon_session *ss, u64 now)
{
	struct wsmon_who *w = ss->who;
	u64 end;

	/* without a rate, the probe is not attached, or about to be detached */
	if (!w || !ss->mon->attrs.who_rate || now < w->rest_ns)
		return;
	who_round(ss, now);
	end = ktime_get_ns();
	w->rest_ns = end + 3 * (end - now);
}

/**
 * wsmon_who_leave - restore all pages, and report the last faults
 * @ss:	the session, which ends or has no who_rate any more
 *
 * Context: the monitor's lock held, may sleep.
 */
void wsmon_who_leave(struct wsmon_session *ss)
{
	unsigned int tries = WHO_LAST_TRIES, few;
	u32 i;

	if (!ss->who)
		return;
	/* first a few attempts for each target: one busy lock must not use up those of all */
	for (i = 0; i < ss->nr_targets; i++) {
		few = WSMON_LOCK_TRIES;
		if (ss->who->mm[i])
			who_collect(ss, i, U64_MAX, &few);
	}
	for (i = 0; i < ss->nr_targets; i++)
		who_leave_mm(ss, i, &tries);
	ss->who->last_ns = 0;
}
