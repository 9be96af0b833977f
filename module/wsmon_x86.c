// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_x86.c - flushing TLBs of x86-64 processors
 *
 * Which processors have translations of an mm:
 *   - Processors that run it, or on which a thread of it waits to run. They are
 *     interrupted, and flush the address space's PCID, unless they run something else by
 *     then. A processor has an address space under one PCID at a time: one that it had
 *     before is flushed before another gets it (choose_new_asid()). With PTI the user half
 *     has another PCID, which differs in one bit.
 *   - Processors that ran it earlier and kept entries under its PCID, those that now
 *     borrow it for a kernel thread or for idling, and this one. They are not
 *     interrupted. Instead context.tlb_gen is incremented first: on kernels from 6.1
 *     on, switch_mm_irqs_off() flushes an address space whose generation is old, even
 *     if the processor only borrowed it. Incrementing it without a flush is harmless:
 *     the kernel only compares generations, and flushes more than it has to.
 *   - Where the mm has the same PCID on all processors, they do not look at its
 *     generation. One instruction flushes it on all: see wsmon_flush_global_asid().
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

#include "wsmon_sampler.h"

/* Number of interrupts that were sent and are not handled yet */
static atomic_t tlb_pending = ATOMIC_INIT(0);
/* Time that all processors spent on handling them, nanoseconds, by slot of the monitor */
static atomic64_t tlb_spent_ns[WSMON_MONITORS];

/*
 * Flush the address space that this processor runs. The kernel half is loaded here, as in any
 * interrupt. Without PCIDs both halves are flushed on each way out and in.
 */
static void tlb_flush_present(void)
{
	unsigned long pcid = __native_read_cr3() & X86_CR3_PCID_MASK;

	/* a PCID other than 0 faults then */
	if (!(__read_cr4() & X86_CR4_PCIDE))
		pcid = 0;
	invpcid_flush_single_context(pcid);
	/* without PTI in the kernel there is no such bit */
#ifdef X86_CR3_PTI_PCID_USER_BIT
	if (pcid && boot_cpu_has(X86_FEATURE_PTI))
		invpcid_flush_single_context(pcid | BIT(X86_CR3_PTI_PCID_USER_BIT));
#endif
}

/* Flush everything, including global entries, by turning CR4.PGE off and on again. */
static void tlb_flush_by_cr4(void)
{
	unsigned long cr4 = __read_cr4();

	/* native_write_cr4() is not exported; no pinned bit changes */
	asm volatile("mov %0, %%cr4" : : "r" (cr4 ^ X86_CR4_PGE) : "memory");
	asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
}

/*
 * Flush this processor, unless it runs another address space.
 * @pgd:	physical address of the mm's page tables; the mm may be gone
 */
static void tlb_flush_this_cpu(unsigned long pgd)
{
	if (native_read_cr3_pa() != pgd)
		; /* it runs something else by now */
	else if (boot_cpu_has(X86_FEATURE_INVPCID))
		tlb_flush_present();
	else if (boot_cpu_has(X86_FEATURE_PCID))
		tlb_flush_by_cr4();
	else
		native_write_cr3(__native_read_cr3());
}

/*
 * Flush this processor. Runs on each processor of the mask with interrupts off.
 * @info:	physical address of the mm's page tables, aligned to pages, plus the monitor's
 *		slot; both the mm and the monitor may be gone
 */
static void tlb_flush_local(void *info)
{
	unsigned long slot = (unsigned long)info & ~PAGE_MASK;
	unsigned long pgd = (unsigned long)info & PAGE_MASK;
	u64 start = local_clock();

	tlb_flush_this_cpu(pgd);
	atomic64_add(local_clock() - start, &tlb_spent_ns[slot]);
	atomic_dec(&tlb_pending);
}

/*
 * Leave out processors that only borrow the mm, for a kernel thread or for idling: they
 * check the generation before they run the mm again. is_lazy is read after the
 * generation was incremented, as in native_flush_tlb_multi().
 */
static void tlb_leave_out_lazy(struct cpumask *cpus)
{
	int cpu;

	for_each_cpu(cpu, cpus) {
		if (per_cpu(cpu_tlbstate_shared.is_lazy, cpu))
			cpumask_clear_cpu(cpu, cpus);
	}
}

/* Have processors that do not run an mm now flush when they do. */
static void tlb_new_generation(struct mm_struct *mm)
{
	atomic64_inc(&mm->context.tlb_gen);
	/*
	 * Order the increment before reading which processors run the mm: from here on,
	 * a processor that switches to it from another mm, or from idling, checks the
	 * generation.
	 */
	smp_mb__after_atomic();
}

/**
 * wsmon_tlb_can_flush - tell whether flushing is possible
 *
 * Return: false for a Xen PV guest: the hypervisor owns CR3 and CR4.
 */
bool wsmon_tlb_can_flush(void)
{
	return !boot_cpu_has(X86_FEATURE_XENPV);
}

/**
 * wsmon_tlb_flush - have all processors drop the translations of an mm soon, without waiting
 * @ss:	the session
 * @m:	the process
 * @mm:	its mm, with a reference
 *
 * While a processor is plugged or unplugged, none is interrupted. Those that run the mm
 * then keep their translations until they switch to it again, or until the next flush,
 * an interval later at most. Accesses that are not seen meanwhile make the estimate of
 * one interval too low; nothing else depends on the flush. wsmon_tlb_drain() must run
 * before the module is unloaded.
 * Context: the monitor's lock held, may sleep.
 */
void wsmon_tlb_flush(struct wsmon_session *ss, const struct wsmon_member *m,
		     struct mm_struct *mm)
{
	struct cpumask *cpus = &ss->tlb_cpus;
	unsigned int nr;

	tlb_new_generation(mm);
	/* those that switch to it check the generation, unless it has a global ASID */
	if (wsmon_flush_global_asid(mm))
		return;
	/* a processor that is being unplugged would not handle the interrupt */
	if (!cpus_read_trylock())
		return;
	wsmon_member_cpus(m, mm, cpus);
	cpumask_and(cpus, cpus, cpu_online_mask);
	cpumask_clear_cpu(raw_smp_processor_id(), cpus);
	tlb_leave_out_lazy(cpus);
	nr = cpumask_weight(cpus);
	if (nr) {
		atomic_add(nr, &tlb_pending);
		on_each_cpu_mask(cpus, tlb_flush_local,
				 (void *)(__pa(mm->pgd) + ss->mon->slot), false);
	}
	cpus_read_unlock();
}

/* As tlb_flush_local(), for a sender that waits */
static void tlb_flush_awaited(void *info)
{
	u64 start = local_clock();

	tlb_flush_this_cpu((unsigned long)info & PAGE_MASK);
	atomic64_add(local_clock() - start, &tlb_spent_ns[(unsigned long)info & ~PAGE_MASK]);
}

/**
 * wsmon_tlb_can_wait - tell whether wsmon_tlb_flush_wait() works
 *
 * Return: false with INVLPGB: entries of an mm with a global ASID stay on processors that
 * do not run it, and only instructions that the kernel keeps to itself wait for them.
 */
bool wsmon_tlb_can_wait(void)
{
#ifdef CONFIG_BROADCAST_TLB_FLUSH
	if (boot_cpu_has(X86_FEATURE_INVLPGB))
		return false;
#endif
	return wsmon_tlb_can_flush();
}

/**
 * wsmon_tlb_flush_wait - have all processors drop the translations of an mm, and wait
 * @ss:	the session
 * @mm:	its mm, with a reference
 *
 * This is flush_tlb_mm(), which is not exported, without MMU notifiers. Processors that
 * run the mm are interrupted. Others flush when they switch to it, as its generation is new:
 * mm_cpumask() is read after that was incremented, and a processor that switches to the mm
 * enters the mask before it reads the generation. Those that borrow it, mostly idle ones that
 * would have to wake up, use no translations of user memory, and look at the generation before
 * they run it: native_flush_tlb_multi() leaves them out, too, where no tables are freed. From
 * 6.14 on the mask has processors for up to a second after they left the mm. The kernel knows
 * them by a variable that it does not export. They are interrupted, and flush nothing.
 * Context: the monitor's lock held, interrupts on; may hold the mmap lock for reading.
 */
void wsmon_tlb_flush_wait(struct wsmon_session *ss, struct mm_struct *mm)
{
	struct cpumask *cpus = &ss->tlb_cpus;

	tlb_new_generation(mm);
	cpumask_copy(cpus, mm_cpumask(mm));
	tlb_leave_out_lazy(cpus);
	on_each_cpu_mask(cpus, tlb_flush_awaited, (void *)(__pa(mm->pgd) + ss->mon->slot), true);
}

/** wsmon_tlb_remote_ns - return the time other processors have spent in flushing for @mon */
u64 wsmon_tlb_remote_ns(const struct wsmon_monitor *mon)
{
	return atomic64_read(&tlb_spent_ns[mon->slot]);
}

/**
 * wsmon_tlb_drain - wait until no processor runs this file's code or is about to
 *
 * Context: may sleep, after the last flush.
 */
void wsmon_tlb_drain(void)
{
	while (atomic_read(&tlb_pending))
		usleep_range(100, 1000);
	/* tlb_flush_local() runs with interrupts off: wait until it has returned */
	synchronize_rcu();
}
