// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_young.c - the sampler that reads Accessed bits
 *
 * Called by the walk with the lock of the page-table entry held, and the mmap
 * lock for reading; may not sleep. The finish callback runs without locks.
 *
 * The bit is cleared by an atomic operation: a plain store would race with the
 * processor setting the Dirty bit and lose data. No other bit is touched.
 *
 * A cleared bit hides a reference from reclaim, so it is given back. Where the
 * kernel has the folio's young flag (CONFIG_PAGE_IDLE_FLAG) that is set: for the
 * first access an interval at once and for all further ones when it ends, or each
 * second if that is sooner, since the folio's memory is seldom in a cache.
 *
 * Other kernels get the bit set again when the sample is dropped. That does not
 * suffice where the next sample clears it a moment later, as it does for every huge
 * page of most targets and every page of small ones. So they are also told of the
 * first access an interval, or a second, by folio_mark_accessed(). Only accesses
 * found by an armed sample count for that: a bit found when arming may be one that
 * was set here, and would keep what is idle active for ever.
 *
 * What cannot be seen or given back: the ages KVM guests keep in their second-level
 * tables.
 */
#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/page_idle.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/swap.h>
#include <asm/cpufeature.h>
#include <asm/invpcid.h>
#include <asm/processor.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>

#include "compat.h"
#include "wsmon_internal.h"
#include "wsmon_walk.h"

/**
 * enum young_debt - what reclaim does not know of a sample page
 * @DEBT_NONE:	nothing
 * @DEBT_REPORTED:	nothing, but it was told of an access since debts were settled.
 *		Without the young flag: the bit is to be set again nevertheless
 * @DEBT_OWED:	an access
 */
enum young_debt {
	DEBT_NONE,
	DEBT_REPORTED,
	DEBT_OWED,
};

#ifdef CONFIG_PAGE_IDLE_FLAG
static void young_report(const struct wsmon_entry *e)
{
	struct folio *folio;

	if (!e->has_folio)
		return;
	folio = page_folio(pfn_to_page(e->pfn));
	/*
	 * Nobody's, as the zero page. Not on a list says nothing: reclaim takes
	 * folios off theirs before it looks at Accessed bits and this flag.
	 */
	if (!folio->mapping)
		return;
	if (folio_test_idle(folio))
		folio_clear_idle(folio);
	if (!folio_test_young(folio))
		folio_set_young(folio);
}

/* An Accessed bit was cleared. */
static void young_owe_access(const struct wsmon_pass *pass, const struct wsmon_entry *e,
			     enum wsmon_sample_op op, u8 *debt)
{
	if (*debt != DEBT_NONE) {
		*debt = DEBT_OWED;
		return;
	}
	young_report(e);
	*debt = DEBT_REPORTED;
}

/* The interval ends, or has lasted for a while. */
static void young_settle_debt(const struct wsmon_entry *e, u8 *debt)
{
	if (*debt == DEBT_OWED)
		young_report(e);
	*debt = DEBT_NONE;
}

/* The sample is dropped, and its bit left as it is. */
static void young_drop_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			      bool young, u8 *debt)
{
	if (!young)
		young_settle_debt(e, debt);
	*debt = DEBT_NONE;
}

static void young_keep_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			      u8 *debt)
{
}
#else
/*
 * The first two make a folio active. The multi-gen LRU keeps one for a further
 * generation that has four beyond PG_referenced (LRU_REFS_WIDTH is 2).
 */
#define REPORT_MARKS	5

static void young_report(const struct wsmon_entry *e, u8 *debt)
{
	struct folio *folio = page_folio(pfn_to_page(e->pfn));
	unsigned int i;

	*debt = DEBT_REPORTED;
	/* nobody's, or reclaim does not count accesses here either */
	if (!folio->mapping || (e->vma->vm_flags & VM_SEQ_READ))
		return;
	for (i = 0; i < REPORT_MARKS; i++)
		folio_mark_accessed(folio);
}

static void young_owe_access(const struct wsmon_pass *pass, const struct wsmon_entry *e,
			     enum wsmon_sample_op op, u8 *debt)
{
	/* is there anybody to tell? */
	if (!e->has_folio || *debt == DEBT_REPORTED)
		return;
	*debt = DEBT_OWED;
	if (op == WSMON_SAMPLE_CHECK && e->val != pass->returned)
		young_report(e, debt);
}

static void young_settle_debt(const struct wsmon_entry *e, u8 *debt)
{
	if (*debt == DEBT_REPORTED)
		*debt = DEBT_OWED;
}

/* Several samples of one huge page are visited one after the other. */
static void young_drop_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			      bool young, u8 *debt)
{
	if (young) {
		/* it is cleared again when the next sample is armed */
		if (e->has_folio && *debt != DEBT_REPORTED &&
		    e->val != pass->returned)
			young_report(e, debt);
	} else if (*debt != DEBT_NONE) {
		if (e->val == pass->kept) {
			/* a set bit would read as an access there */
			if (*pass->kept_debt == DEBT_NONE)
				*pass->kept_debt = DEBT_OWED;
		} else {
			set_bit(_PAGE_BIT_ACCESSED, e->val);
			pass->returned = e->val;
		}
	}
	*debt = DEBT_NONE;
}

/* The sample stays armed. */
static void young_keep_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			      u8 *debt)
{
	pass->kept = e->val;
	pass->kept_debt = debt;
}
#endif

/*
 * One flush a round makes the processor set Accessed bits again
 *
 * A page whose translation sits in a TLB is used without its Accessed bit being
 * set again, so after a round cleared bits the translations have to go. Nothing
 * depends on when that happens: a flush that is late only makes accesses of
 * that moment invisible. So nobody waits for it.
 *
 * Which processors hold translations of an mm, on x86:
 * - those that run it, or have a thread of it waiting, get an interrupt that
 *   flushes all non-global entries of all address spaces (PTI's user half has a PCID
 *   of its own, so flushing the present one would not do), unless they run
 *   something else;
 * - those that ran it before and kept entries under its PCID, those that run a kernel
 *   thread on top of it, or nothing, and this one: context.tlb_gen is raised first,
 *   and switch_mm_irqs_off() flushes an address space whose generation is behind,
 *   also one that was only borrowed in between. Raising it without a flush is
 *   harmless: the kernel only compares generations, and flushes more than it would
 *   have to.
 */

/* Calls that were sent out and have not been answered */
static atomic_t tlb_pending = ATOMIC_INIT(0);
/* Time all processors have spent in them, nanoseconds */
static atomic64_t tlb_spent_ns = ATOMIC64_INIT(0);
/* Where they go; under wsmon.lock */
static struct cpumask tlb_cpus;

/* CR4.PGE off and on again flushes everything, global entries included. */
static void tlb_flush_by_cr4(void)
{
	unsigned long cr4 = __read_cr4();

	/* native_write_cr4() is not exported; no pinned bit changes */
	asm volatile("mov %0, %%cr4" : : "r" (cr4 ^ X86_CR4_PGE) : "memory");
	asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
}

/*
 * Runs on each processor of the mask, interrupts off.
 * @pgd:	physical address of the mm's page tables; the mm may be gone
 */
static void tlb_flush_local(void *pgd)
{
	u64 start = local_clock();

	if (native_read_cr3_pa() != (unsigned long)pgd)
		; /* it runs something else by now */
	else if (boot_cpu_has(X86_FEATURE_INVPCID))
		invpcid_flush_all_nonglobals();
	else if (boot_cpu_has(X86_FEATURE_PCID))
		tlb_flush_by_cr4();
	else
		native_write_cr3(__native_read_cr3());
	atomic64_add(local_clock() - start, &tlb_spent_ns);
	atomic_dec(&tlb_pending);
}

/*
 * Leave out processors that run a kernel thread on top of the mm, or nothing: they
 * look at the generation before they run the mm again. Which they are is read after
 * the generation was raised, as native_flush_tlb_multi() does.
 */
static void tlb_leave_out_lazy(struct cpumask *cpus)
{
	int cpu;

	if (!wsmon_generation_seen())
		return;
	for_each_cpu(cpu, cpus) {
		if (per_cpu(cpu_tlbstate_shared.is_lazy, cpu))
			cpumask_clear_cpu(cpu, cpus);
	}
}

/**
 * tlb_can_flush - is flushing possible on this machine?
 *
 * Not as a Xen PV guest: the hypervisor owns CR3 and CR4.
 */
static bool tlb_can_flush(void)
{
	return !boot_cpu_has(X86_FEATURE_XENPV);
}

/**
 * tlb_flush - have all translations of an mm dropped soon
 * @t:	the target whose it is
 * @mm:	the mm; the caller holds a reference
 *
 * Does not wait. While a processor comes or goes none is interrupted: those that
 * run the mm go on with what they have until they switch to it again or the next
 * flush, an interval later at most. Accesses that stay invisible so long make the
 * estimate of one interval too low; nothing else depends on it.
 * Before the module's text goes away wsmon_tlb_drain() must run.
 * Context: wsmon.lock held, may sleep.
 */
static void tlb_flush(const struct wsmon_target *t, struct mm_struct *mm)
{
	unsigned int nr;

	/* of a program that has ended */
	if (!wsmon_target_alive(t))
		return;
	atomic64_inc(&mm->context.tlb_gen);
	/*
	 * Before who runs: whoever comes to it from another mm, or from idling,
	 * looks at the generation from here on.
	 */
	smp_mb__after_atomic();
	/* a processor that goes away now would not answer */
	if (!cpus_read_trylock())
		return;
	wsmon_target_cpus(t, mm, &tlb_cpus);
	cpumask_and(&tlb_cpus, &tlb_cpus, cpu_online_mask);
	cpumask_clear_cpu(raw_smp_processor_id(), &tlb_cpus);
	tlb_leave_out_lazy(&tlb_cpus);
	nr = cpumask_weight(&tlb_cpus);
	if (nr) {
		atomic_add(nr, &tlb_pending);
		on_each_cpu_mask(&tlb_cpus, tlb_flush_local,
				 (void *)__pa(mm->pgd), false);
	}
	cpus_read_unlock();
}

/** wsmon_tlb_remote_ns - time spent in flushing on all processors, ever */
u64 wsmon_tlb_remote_ns(void)
{
	return atomic64_read(&tlb_spent_ns);
}

/**
 * wsmon_tlb_drain - wait until no processor is about to run this file's code
 *
 * Context: may sleep; nothing is flushed any more.
 */
void wsmon_tlb_drain(void)
{
	while (atomic_read(&tlb_pending))
		usleep_range(100, 1000);
	/* flush_local() runs with interrupts off: let it return as well */
	synchronize_rcu();
}

/*
 * Targets that share a page table take the bit from each other. Which of them found an
 * entry accessed in this round is remembered, and told to those that come later. What
 * happens in the milliseconds between two of them is lost for the first.
 */
bool wsmon_young_seen_by_any(struct wsmon_session *ss, const pmd_t *pmdp,
			     enum wsmon_sample_op op, bool seen)
{
	u64 pass = ss->passes;
	struct wsmon_leaf *leaf;

	leaf = &ss->leaves[hash_ptr(pmdp, WSMON_LEAVES_BITS)];
	if (op == WSMON_SAMPLE_LOOK)
		return seen || (leaf->entry == pmdp && leaf->pass == pass && leaf->seen);
	if (leaf->entry != pmdp || leaf->pass != pass) {
		leaf->entry = pmdp;
		leaf->pass = pass;
		leaf->seen = false;
	}
	leaf->seen |= seen;
	return op == WSMON_SAMPLE_ARM ? seen : leaf->seen;
}

bool wsmon_young_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			enum wsmon_sample_op op, u8 *debt)
{
	bool young = test_bit(_PAGE_BIT_ACCESSED, e->val);

	if (op == WSMON_SAMPLE_LOOK)
		return young;
	if (op == WSMON_SAMPLE_SETTLE) {
		young_settle_debt(e, debt);
		return young;
	}
	if (op == WSMON_SAMPLE_DROP) {
		young_drop_sample(pass, e, young, debt);
		return young;
	}
	if (young && test_and_clear_bit(_PAGE_BIT_ACCESSED, e->val)) {
		pass->dirty_tlb = true;
		young_owe_access(pass, e, op, debt);
	}
	if (pass->settle)
		young_settle_debt(e, debt);
	young_keep_sample(pass, e, debt);
	/*
	 * A bit that is clear already says nothing of the TLB: reclaim and
	 * clear_refs clear bits and do not flush.
	 */
	if (op == WSMON_SAMPLE_ARM)
		pass->dirty_tlb = true;
	return young;
}

void wsmon_young_finish(struct wsmon_pass *pass)
{
	u64 start = ktime_get_ns();

	if (!pass->dirty_tlb || !(wsmon.attrs.flags & WSMON_ATTR_FLUSH_TLB) ||
	    !tlb_can_flush())
		return;
	tlb_flush(pass->target, pass->mm);
	pass->stats->flushes++;
	pass->stats->flush_ns += ktime_get_ns() - start;
}
