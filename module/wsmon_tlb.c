// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_tlb.c - one flush a round makes the processor set Accessed bits again
 *
 * A page whose translation sits in a TLB is used without its Accessed bit being
 * set again, so after a round cleared bits the translations have to go. Nothing
 * depends on when that happens: a flush that is late only makes accesses of
 * that moment invisible. So nobody waits for it.
 *
 * Called by the kthread with wsmon.lock held.
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
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <asm/cpufeature.h>
#include <asm/invpcid.h>
#include <asm/processor.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>

#include "compat.h"
#include "wsmon_internal.h"

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
 * wsmon_tlb_can_flush - is flushing possible on this machine?
 *
 * Not as a Xen PV guest: the hypervisor owns CR3 and CR4.
 */
bool wsmon_tlb_can_flush(void)
{
	return !boot_cpu_has(X86_FEATURE_XENPV);
}

/**
 * wsmon_tlb_flush - have all translations of an mm dropped soon
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
void wsmon_tlb_flush(const struct wsmon_target *t, struct mm_struct *mm)
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
