/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_x86.h - what differs between architectures, for x86-64
 *
 * Each present entry has an Accessed bit of its own, which the processor sets. A fault sets the
 * bits of all entries that it makes, including the entries around its own page.
 */
#ifndef WSMON_X86_H
#define WSMON_X86_H

#include <linux/bitops.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>
#include <asm/cpufeature.h>
#include <asm/trap_pf.h>

/*
 * The kernel exports this variable, but asm/tlbflush.h declares it for built-in code
 * only. The declaration is correct from 5.13 on.
 */
struct tlb_state_shared {
	bool is_lazy;
};
DECLARE_PER_CPU_SHARED_ALIGNED(struct tlb_state_shared, cpu_tlbstate_shared);

/*
 * wsmon_flush_global_asid(): flush an mm that has a global ASID. From 6.15 on, with INVLPGB, an mm
 * that runs on four processors at once gets one, the same on all processors. Processors that
 * switch to the mm do not check its TLB generation then. So this flushes the ASID on all
 * processors, as the kernel's broadcast_tlb_flush() does, but without waiting.
 * Return: true if this was enough, because no processor uses another ASID for the mm any more.
 */
#ifdef CONFIG_BROADCAST_TLB_FLUSH
/*
 * Flush all but global translations of a PCID. In EAX, 2 and 4 say that the PCID and the ASID in
 * EDX are compared. This ASID is SVM's: 0 is the host.
 */
static inline void wsmon_invlpgb(unsigned long pcid)
{
	asm volatile(".byte 0x0f, 0x01, 0xfe"
		     : : "a" (2UL | 4UL), "c" (0), "d" (pcid << 16) : "memory");
}

static inline bool wsmon_flush_global_asid(struct mm_struct *mm)
{
	unsigned long pcid;
	u16 asid;

	if (!boot_cpu_has(X86_FEATURE_INVLPGB))
		return false;
	/* pairs with mm_assign_global_asid() */
	asid = smp_load_acquire(&mm->context.global_asid);
	if (!asid)
		return false;
	/* the same as kern_pcid() and user_pcid(); asm/tlb.h is for built-in code only */
	pcid = asid + 1;
	wsmon_invlpgb(pcid);
#ifdef CONFIG_MITIGATION_PAGE_TABLE_ISOLATION
	if (boot_cpu_has(X86_FEATURE_PTI))
		wsmon_invlpgb(pcid | BIT(X86_CR3_PTI_PCID_USER_BIT));
#endif
	return !READ_ONCE(mm->context.asid_transition);
}
#else
static inline bool wsmon_flush_global_asid(struct mm_struct *mm)
{
	return false;
}
#endif

/* Can several entries of one table share an Accessed bit? Here each has its own. */
#define WSMON_ENTRIES_SHARE	false

/* Number of entries that share an Accessed bit with this one, including itself */
static inline unsigned int wsmon_pte_span(pte_t pte)
{
	return 1;
}

static inline unsigned int wsmon_pmd_span(pmd_t pmd)
{
	return 1;
}

/* Are Accessed bits left clear when a fault maps pages around the folio of its own page? */
static inline bool wsmon_maps_old(void)
{
	return false;
}

static inline bool wsmon_entry_young(const unsigned long *val, unsigned int span)
{
	return test_bit(_PAGE_BIT_ACCESSED, val);
}

/*
 * Is any of eight entries young, or may it share its Accessed bit with others? Eight aligned
 * entries are a cache line.
 */
static inline bool wsmon_line_young(const pte_t *pte)
{
	const unsigned long *val = (const unsigned long *)pte;

	return (READ_ONCE(val[0]) | READ_ONCE(val[1]) | READ_ONCE(val[2]) | READ_ONCE(val[3]) |
		READ_ONCE(val[4]) | READ_ONCE(val[5]) | READ_ONCE(val[6]) | READ_ONCE(val[7])) &
	       _PAGE_ACCESSED;
}

static inline bool wsmon_entry_clear_young(unsigned long *val, unsigned int span)
{
	return test_and_clear_bit(_PAGE_BIT_ACCESSED, val);
}

static inline void wsmon_entry_set_young(unsigned long *val, unsigned int span)
{
	set_bit(_PAGE_BIT_ACCESSED, val);
}

/*
 * Hint faults: armed entries, which fault at the next access, see wsmon_hintfault.c.
 * do_numa_page() repairs them only with CONFIG_NUMA_BALANCING.
 */
#ifdef CONFIG_NUMA_BALANCING
#define WSMON_HINTS

/*
 * Is it an ordinary present entry of user memory? User memory has no global entries: the global
 * bit of an entry that is not present is _PAGE_PROTNONE.
 */
static inline bool wsmon_pte_can_hint(pte_t pte)
{
	return (pte_flags(pte) & (_PAGE_PRESENT | _PAGE_USER | _PAGE_GLOBAL)) ==
	       (_PAGE_PRESENT | _PAGE_USER);
}

/* Was it armed here? Other PROT_NONE entries lack the user bit: see pte_modify(), PAGE_NONE */
static inline bool wsmon_pte_is_hint(pte_t pte)
{
	return pte_protnone(pte) && pte_flags(pte) & _PAGE_USER;
}

static inline pte_t wsmon_pte_to_hint(pte_t pte)
{
	u64 old = pte_val(pte), val = (old & ~_PAGE_PRESENT) | _PAGE_PROTNONE;

	return __pte(flip_protnone_guard(old, val, PTE_PFN_MASK));
}

static inline pte_t wsmon_hint_to_pte(pte_t pte)
{
	u64 old = pte_val(pte), val = (old & ~_PAGE_PROTNONE) | _PAGE_PRESENT;

	return __pte(flip_protnone_guard(old, val, PTE_PFN_MASK));
}

/* Did a fault happen because the entry was not present? */
static inline bool wsmon_fault_absent(unsigned long error)
{
	return !(error & X86_PF_PROT);
}

static inline u32 wsmon_fault_flags(unsigned long error)
{
	return (error & X86_PF_WRITE ? WSMON_WHO_WRITE : 0) |
	       (error & X86_PF_INSTR ? WSMON_WHO_EXEC : 0);
}
#endif

/* wsmon_x86.c */
bool wsmon_tlb_can_wait(void);
void wsmon_tlb_flush_wait(struct wsmon_session *ss, struct mm_struct *mm);
bool wsmon_tlb_can_flush(void);
void wsmon_tlb_flush(struct wsmon_session *ss, const struct wsmon_member *m,
		     struct mm_struct *mm);
void wsmon_tlb_drain(void);
u64 wsmon_tlb_remote_ns(const struct wsmon_monitor *mon);

#endif /* WSMON_X86_H */
