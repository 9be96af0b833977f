// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_young.c - the sampler that reads Accessed bits
 *
 * The walk calls this with the page table locked, and the mmap lock held for reading,
 * so nothing here sleeps. It calls wsmon_young_finish() with neither held.
 *
 * The bit is cleared by an atomic operation. A plain store could lose a Dirty bit that
 * the processor sets at the same moment, and with it data. No other bit is changed.
 *
 * A cleared bit hides an access from reclaim. That is a debt to reclaim. It is paid
 *   - with the folio's young flag (CONFIG_PAGE_IDLE_FLAG): by setting the flag. For the
 *     first access in an interval this is done at once. For all further ones it is done
 *     once, when the interval ends or each second if that is sooner, because struct
 *     folio is seldom in a processor's cache.
 *   - without it: by setting the bit again when the sample is dropped. That is not
 *     enough where the next sample clears it a moment later, as in every huge page of
 *     most targets, and in every page of small ones. So the first access in an
 *     interval, or in a second, is also reported by folio_mark_accessed(). Only
 *     accesses found by an armed sample are reported: a bit found when arming may be
 *     one that was set here, and reporting it would keep an idle page active forever.
 *
 * Accesses by KVM guests, in second-level page tables, are neither seen nor paid for.
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
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/swap.h>
#include <asm/cpufeature.h>
#include <asm/invpcid.h>
#include <asm/processor.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>

#include "wsmon_internal.h"
#include "wsmon_walk.h"

/**
 * enum young_debt - what reclaim does not know of a sample page
 * @DEBT_NONE:	reclaim knows everything
 * @DEBT_REPORTED: reclaim knows everything: an access was reported since debts were
 *		last settled. Without the young flag: the bit is still to be set again
 * @DEBT_OWED:	reclaim does not know of an access
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
	 * Reclaim does not manage folios without a mapping, like the zero page. Do not
	 * test whether the folio is on an LRU list: reclaim isolates folios before it
	 * reads Accessed bits and this flag.
	 */
	if (!folio->mapping)
		return;
	if (folio_test_idle(folio))
		folio_clear_idle(folio);
	if (!folio_test_young(folio))
		folio_set_young(folio);
}

/* Report a cleared Accessed bit if it is the first, else remember the debt. */
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

/* Pay the debt of a sample that stays: the interval ends, or has lasted for a while. */
static void young_settle_debt(const struct wsmon_entry *e, u8 *debt)
{
	if (*debt == DEBT_OWED)
		young_report(e);
	*debt = DEBT_NONE;
}

/* Pay the debt of a sample that is dropped. If its bit is set, reclaim sees that. */
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
 * How often a folio is marked accessed: two marks make it active on the classic LRU.
 * The multi-gen LRU keeps a folio for one more generation after four marks beyond
 * PG_referenced (LRU_REFS_WIDTH is 2).
 */
#define REPORT_MARKS	5

static void young_report(const struct wsmon_entry *e, u8 *debt)
{
	struct folio *folio = page_folio(pfn_to_page(e->pfn));
	unsigned int i;

	*debt = DEBT_REPORTED;
	/* reclaim does not manage it, or ignores accesses in this mapping, too */
	if (!folio->mapping || (e->vma->vm_flags & VM_SEQ_READ))
		return;
	for (i = 0; i < REPORT_MARKS; i++)
		folio_mark_accessed(folio);
}

static void young_owe_access(const struct wsmon_pass *pass, const struct wsmon_entry *e,
			     enum wsmon_sample_op op, u8 *debt)
{
	/* it cannot be reported, or already was */
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

/* Pay the debt of a sample that is dropped. Samples in one huge page are consecutive. */
static void young_drop_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			      bool young, u8 *debt)
{
	if (young) {
		/* the next sample clears it again when it is armed */
		if (e->has_folio && *debt != DEBT_REPORTED &&
		    e->val != pass->returned)
			young_report(e, debt);
	} else if (*debt != DEBT_NONE) {
		if (e->val == pass->kept) {
			/* the sample of @kept would read a bit set here as an access */
			if (*pass->kept_debt == DEBT_NONE)
				*pass->kept_debt = DEBT_OWED;
		} else {
			set_bit(_PAGE_BIT_ACCESSED, e->val);
			pass->returned = e->val;
		}
	}
	*debt = DEBT_NONE;
}

/* Remember a sample that stays armed. */
static void young_keep_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			      u8 *debt)
{
	pass->kept = e->val;
	pass->kept_debt = debt;
}
#endif

/*
 * One flush a pass makes the processor set Accessed bits again
 *
 * A processor that has a translation in its TLB uses the page without setting the
 * Accessed bit again. So after bits were cleared, the translations have to go. Until
 * the flush, accesses are not seen; nothing else depends on it, so nobody waits for it.
 *
 * Which processors have translations of an mm, on x86:
 *   - Processors that run it, or on which a thread of it waits to run. They are
 *     interrupted, and flush all non-global entries of all address spaces, unless they
 *     run something else by then. (PTI's user half has a PCID of its own, so flushing
 *     the present PCID is not enough.)
 *   - Processors that ran it earlier and kept entries under its PCID, those that now
 *     borrow it for a kernel thread or for idling, and this one. They are not
 *     interrupted. Instead context.tlb_gen is incremented first: on kernels from 6.1
 *     on, switch_mm_irqs_off() flushes an address space whose generation is old, even
 *     if the processor only borrowed it. (See wsmon_generation_seen() for an
 *     exception.) Incrementing it without a flush is harmless: the kernel only compares
 *     generations, and flushes more than it has to.
 */

/* Number of interrupts that were sent and are not handled yet */
static atomic_t tlb_pending = ATOMIC_INIT(0);
/* Time that all processors spent on handling them, nanoseconds, by slot of the monitor */
static atomic64_t tlb_spent_ns[WSMON_MONITORS];

/* Flush everything, including global entries, by turning CR4.PGE off and on again. */
static void tlb_flush_by_cr4(void)
{
	unsigned long cr4 = __read_cr4();

	/* native_write_cr4() is not exported; no pinned bit changes */
	asm volatile("mov %0, %%cr4" : : "r" (cr4 ^ X86_CR4_PGE) : "memory");
	asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
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

	if (native_read_cr3_pa() != pgd)
		; /* it runs something else by now */
	else if (boot_cpu_has(X86_FEATURE_INVPCID))
		invpcid_flush_all_nonglobals();
	else if (boot_cpu_has(X86_FEATURE_PCID))
		tlb_flush_by_cr4();
	else
		native_write_cr3(__native_read_cr3());
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

	if (!wsmon_generation_seen())
		return;
	for_each_cpu(cpu, cpus) {
		if (per_cpu(cpu_tlbstate_shared.is_lazy, cpu))
			cpumask_clear_cpu(cpu, cpus);
	}
}

/* A Xen PV guest cannot flush: the hypervisor owns CR3 and CR4. */
static bool tlb_can_flush(void)
{
	return !boot_cpu_has(X86_FEATURE_XENPV);
}

/*
 * Have all processors drop the translations of a target's mm soon, without waiting.
 *
 * While a processor is plugged or unplugged, none is interrupted. Those that run the mm
 * then keep their translations until they switch to it again, or until the next flush,
 * an interval later at most. Accesses that are not seen meanwhile make the estimate of
 * one interval too low; nothing else depends on the flush. wsmon_young_exit() waits
 * for it.
 * Context: the monitor's lock held, may sleep; the caller has a reference on the mm.
 */
static void tlb_flush(struct wsmon_session *ss, const struct wsmon_member *m,
		      struct mm_struct *mm)
{
	struct cpumask *cpus = &ss->tlb_cpus;
	unsigned int nr;

	/* the program has ended: nobody uses the mm */
	if (!m || !wsmon_pid_alive(m->pid))
		return;
	atomic64_inc(&mm->context.tlb_gen);
	/*
	 * Order the increment before reading which processors run the mm: from here on,
	 * a processor that switches to it from another mm, or from idling, checks the
	 * generation.
	 */
	smp_mb__after_atomic();
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

/** wsmon_tlb_remote_ns - return the time other processors have spent in flushing for @mon */
u64 wsmon_tlb_remote_ns(const struct wsmon_monitor *mon)
{
	return atomic64_read(&tlb_spent_ns[mon->slot]);
}

/*
 * Wait until no processor runs this file's code or is about to. Context: may sleep, after
 * the last flush.
 */
static void tlb_drain(void)
{
	while (atomic_read(&tlb_pending))
		usleep_range(100, 1000);
	/* tlb_flush_local() runs with interrupts off: wait until it has returned */
	synchronize_rcu();
}

/**
 * wsmon_young_seen_by_any - share what targets find in a page table they share
 * @ss:		the session
 * @pmdp:	the entry, its lock held
 * @op:		what was done to it
 * @seen:	this target found it accessed
 *
 * Targets that share a page table clear bits that the others have not seen. So a target
 * that comes later in a pass gets what an earlier one found. Accesses in the
 * milliseconds between the two are lost for the earlier one.
 * Return: was it found accessed in this pass?
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

/*
 * Notes of cleared bits
 *
 * Several samplers may look at the same pages: the targets of a session and its group, and
 * other sessions. What one clears, another would miss. So where there are several, each
 * notes which entries it cleared, and when; one that finds a bit clear looks there. A note
 * may be overwritten by another with the same hash. Samplers write notes at the same time,
 * so a note is one word:
 *
 *	63 to 48	more of the hash
 *	47 to 40	whose samples
 *	39 to 0		when, in 1024 ns: it repeats after 13 days
 */

/* log2 of the number of notes */
#define NOTES_BITS	16

#define NOTE_TIME_BITS	40
#define NOTE_TIME_MASK	(BIT_ULL(NOTE_TIME_BITS) - 1)
#define NOTE_TICK_BITS	10

static u64 *notes;

/* How many samplers there are: sessions that run, and groups */
static atomic_t samplers = ATOMIC_INIT(0);

/**
 * wsmon_young_init - allocate what the sampler needs
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_young_init(void)
{
	notes = kvcalloc(BIT(NOTES_BITS), sizeof(*notes), GFP_KERNEL);
	return notes ? 0 : -ENOMEM;
}

/** wsmon_young_exit - wait for the last flush, and free what the sampler needed */
void wsmon_young_exit(void)
{
	tlb_drain();
	kvfree(notes);
}

/** wsmon_young_join - one more samples from now on: a session, or its group */
void wsmon_young_join(void)
{
	atomic_inc(&samplers);
}

/** wsmon_young_leave - one that joined has ended */
void wsmon_young_leave(void)
{
	atomic_dec(&samplers);
}

/* The note's place; *@tag is the rest of the hash, where the note has it */
static u64 *young_find_note(const void *entry, u64 *tag)
{
	u64 hash = (u64)(unsigned long)entry * GOLDEN_RATIO_64;

	*tag = hash << NOTES_BITS >> (NOTE_TIME_BITS + 8) << (NOTE_TIME_BITS + 8);
	return &notes[hash >> (64 - NOTES_BITS)];
}

/* Has another sampler cleared the bit since @since of the pass? */
static bool young_cleared_since(const struct wsmon_pass *pass, const void *entry)
{
	u64 note, tag, since, now;

	if (!pass->since || atomic_read(&samplers) < 2)
		return false;
	note = READ_ONCE(*young_find_note(entry, &tag));
	if ((note ^ tag) >> (NOTE_TIME_BITS + 8) ||
	    (u8)(note >> NOTE_TIME_BITS) == pass->owner)
		return false;
	since = pass->since >> NOTE_TICK_BITS;
	now = ktime_get_ns() >> NOTE_TICK_BITS;
	return ((note - since) & NOTE_TIME_MASK) <= now - since;
}

static void young_note_cleared(const struct wsmon_pass *pass, const void *entry)
{
	u64 *note, tag;

	if (atomic_read(&samplers) < 2)
		return;
	note = young_find_note(entry, &tag);
	WRITE_ONCE(*note, tag | (u64)pass->owner << NOTE_TIME_BITS |
			  (ktime_get_ns() >> NOTE_TICK_BITS & NOTE_TIME_MASK));
}

/**
 * wsmon_young_sample - read the Accessed bit of a sample page, and clear it if asked to
 * @pass:	the pass
 * @e:		the page's entry, its lock held
 * @op:		what to do
 * @debt:	enum young_debt of the sample, kept for its next check
 *
 * Return: was the page accessed since the last time?
 */
bool wsmon_young_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			enum wsmon_sample_op op, u8 *debt)
{
	bool young = test_bit(_PAGE_BIT_ACCESSED, e->val);
	bool seen = young || young_cleared_since(pass, e->val);

	if (op == WSMON_SAMPLE_LOOK)
		return seen;
	if (op == WSMON_SAMPLE_SETTLE) {
		young_settle_debt(e, debt);
		return seen;
	}
	if (op == WSMON_SAMPLE_DROP) {
		young_drop_sample(pass, e, young, debt);
		return seen;
	}
	if (young && test_and_clear_bit(_PAGE_BIT_ACCESSED, e->val)) {
		young_note_cleared(pass, e->val);
		pass->dirty_tlb = true;
		young_owe_access(pass, e, op, debt);
	}
	if (pass->settle)
		young_settle_debt(e, debt);
	young_keep_sample(pass, e, debt);
	/*
	 * Flush even if the bit was clear: a translation may still be in a TLB, because
	 * reclaim and clear_refs clear bits without flushing.
	 */
	if (op == WSMON_SAMPLE_ARM)
		pass->dirty_tlb = true;
	return seen;
}

/**
 * wsmon_young_finish - flush the TLBs after a pass that cleared bits
 * @pass:	the pass
 *
 * Context: no locks but the monitor's, may sleep.
 */
void wsmon_young_finish(struct wsmon_pass *pass)
{
	struct wsmon_session *ss = pass->session;
	u64 start = ktime_get_ns();

	if (!pass->dirty_tlb || !(ss->mon->attrs.flags & WSMON_ATTR_FLUSH_TLB) ||
	    !tlb_can_flush())
		return;
	tlb_flush(ss, pass->member, pass->mm);
	ss->stats.flushes++;
	ss->stats.flush_ns += ktime_get_ns() - start;
}
