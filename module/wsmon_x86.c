// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_x86.c - flushing TLBs of x86-64 processors
 *
 * Three kinds of processors have translations of an mm:
 *   - Processors that run the mm, or on which a thread that has it waits to run. They are
 *     interrupted, and flush the mm's PCID, unless they run something else by then. A
 *     processor has an mm under one PCID at a time: before it uses a PCID for another mm,
 *     it flushes the PCID (choose_new_asid()). With PTI the user half has another PCID,
 *     which differs in one bit.
 *   - Processors that ran the mm earlier and kept entries under its PCID, processors that
 *     borrow the mm for a kernel thread or for idling, and the processor that runs this code.
 *     They are not interrupted. Instead context.tlb_gen is incremented first: from 6.1 on,
 *     switch_mm_irqs_off() flushes an mm whose generation is old, even if the processor
 *     only borrowed it. Incrementing the generation without a flush is harmless: the kernel
 *     only compares generations, and flushes more than it needs to.
 *   - Any processor, if the mm has the same PCID on all processors. They do not check its
 *     generation then. One instruction flushes the PCID on all of them: see
 *     wsmon_flush_global_asid().
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

/* Number of interrupts sent but not handled yet */
static atomic_t tlb_pending = ATOMIC_INIT(0);
/* By slot of the monitor: time in nanoseconds that all processors spent on these interrupts */
static atomic64_t tlb_spent_ns[WSMON_MONITORS];

/*
 * Flush the address space that this processor runs. CR3 holds the kernel half's page tables, as in
 * any interrupt. Without PCIDs, each switch between the halves flushes both.
 */
static void tlb_flush_present(void)
{
	unsigned long pcid = __native_read_cr3() & X86_CR3_PCID_MASK;

	/* without CR4.PCIDE, INVPCID faults for a PCID other than 0 */
	if (!(__read_cr4() & X86_CR4_PCIDE))
		pcid = 0;
	invpcid_flush_single_context(pcid);
	/* kernels built without PTI do not define this bit */
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
		; /* this processor runs something else by now */
	else if (boot_cpu_has(X86_FEATURE_INVPCID))
		tlb_flush_present();
	else if (boot_cpu_has(X86_FEATURE_PCID))
		tlb_flush_by_cr4();
	else
		native_write_cr3(__native_read_cr3());
}

/*
 * Interrupt handler: flush this processor, for a sender that waits. Interrupts are off.
 * @info:	physical address of the mm's page tables, aligned to pages, plus the monitor's
 *		slot; both the mm and the monitor may be gone
 */
static void tlb_flush_awaited(void *info)
{
	unsigned long slot = (unsigned long)info & ~PAGE_MASK;
	unsigned long pgd = (unsigned long)info & PAGE_MASK;
	u64 start = local_clock();

	tlb_flush_this_cpu(pgd);
	atomic64_add(local_clock() - start, &tlb_spent_ns[slot]);
}

/* The same for a sender that does not wait */
static void tlb_flush_local(void *info)
{
	tlb_flush_awaited(info);
	atomic_dec(&tlb_pending);
}

/*
 * Leave out processors in lazy TLB mode, which run a kernel thread or idle on this mm: they check
 * the generation before they run the mm again. As in native_flush_tlb_multi(), is_lazy must be read
 * after the generation was incremented.
 */
static void tlb_leave_out_lazy(struct cpumask *cpus)
{
	int cpu;

	for_each_cpu(cpu, cpus) {
		if (per_cpu(cpu_tlbstate_shared.is_lazy, cpu))
			cpumask_clear_cpu(cpu, cpus);
	}
}

/* Make processors that do not run an mm now flush when they switch to it. */
static void tlb_new_generation(struct mm_struct *mm)
{
	atomic64_inc(&mm->context.tlb_gen);
	/*
	 * Order the increment before reading which processors run the mm: from here on, a
	 * processor that switches to the mm from another mm, or from idling, sees the new
	 * generation.
	 */
	smp_mb__after_atomic();
}

/**
 * wsmon_tlb_can_flush - tell whether flushing is possible
 *
 * Return: false in a Xen PV guest, where the hypervisor owns CR3 and CR4.
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
 * While a processor is plugged or unplugged, no processor is interrupted. Processors that run
 * the mm then keep their translations until they switch to it again, or until the next flush,
 * at most an interval later. Accesses missed meanwhile make the estimate of one interval too
 * low; nothing else depends on the flush. wsmon_tlb_drain() must run before the module is
 * unloaded.
 * Context: the monitor's lock held, may sleep.
 */
void wsmon_tlb_flush(struct wsmon_session *ss, const struct wsmon_member *m,
		     struct mm_struct *mm)
{
	struct cpumask *cpus = &ss->tlb_cpus;
	unsigned int nr;

	tlb_new_generation(mm);
	/* with a global ASID, processors that switch to the mm do not check its generation */
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

/**
 * wsmon_tlb_can_wait - tell whether wsmon_tlb_flush_wait() works
 *
 * Return: false with INVLPGB: translations of an mm with a global ASID stay on processors that
 * do not run it. The functions that flush these and wait are not exported.
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
 * This does what flush_tlb_mm() does, which is not exported, except for MMU notifiers:
 *   - Processors that run the mm are interrupted.
 *   - Others flush when they switch to the mm, because its generation is new: a processor that
 *     switches to the mm enters mm_cpumask() before it reads the generation, and this reads
 *     mm_cpumask() after incrementing the generation.
 *   - Processors in lazy TLB mode are mostly idle, and would have to wake up. They use no
 *     translations of user memory, and check the generation before they run the mm. So they are
 *     left out, as by native_flush_tlb_multi() if no page tables are freed.
 *   - From 6.14 on, processors stay in mm_cpumask() for up to a second after they left the mm.
 *     The kernel recognizes them by a variable that it does not export. Here they are
 *     interrupted, and flush nothing.
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

/** wsmon_tlb_remote_ns - return the time in ns that processors spent on flushes sent for @mon */
u64 wsmon_tlb_remote_ns(const struct wsmon_monitor *mon)
{
	return atomic64_read(&tlb_spent_ns[mon->slot]);
}

/**
 * wsmon_tlb_drain - wait until no processor runs an interrupt handler of this file, or will
 *
 * Context: may sleep; after the last flush.
 */
void wsmon_tlb_drain(void)
{
	while (atomic_read(&tlb_pending))
		usleep_range(100, 1000);
	/* tlb_flush_local() runs with interrupts off: wait until it has returned */
	synchronize_rcu();
}
