/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_x86.h - what differs between architectures, for x86-64
 *
 * Each present entry has an Accessed bit of its own, which the processor sets. Faults mark
 * all pages that they map accessed.
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
 * From 6.15 on, on processors with INVLPGB, an mm that runs on four of them at once gets a
 * global ASID. Then processors that switch to it do not check its TLB generation. Instead
 * this flushes the ASID on all of them, as the kernel's broadcast_tlb_flush() does, but
 * without waiting. Return: is that all, as none uses another ASID for it any more?
 */
#ifdef CONFIG_BROADCAST_TLB_FLUSH
/* Flush all but global entries of a PCID: 2 and 4 say that PCID and ASID are compared. */
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
	/* kern_pcid() and user_pcid(); asm/tlb.h is for built-in code only */
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

static inline unsigned int wsmon_pte_span(pte_t pte)
{
	return 1;
}

static inline unsigned int wsmon_pmd_span(pmd_t pmd)
{
	return 1;
}

/* Are pages that a fault maps around the folio of its own not marked accessed? */
static inline bool wsmon_maps_old(void)
{
	return false;
}

static inline bool wsmon_entry_young(const unsigned long *val, unsigned int span)
{
	return test_bit(_PAGE_BIT_ACCESSED, val);
}

/* Is one of eight entries young, or may share its bit? Mostly they are a processor's cache line. */
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
 * Hint faults: entries that cause a fault at the next access, see who/wsmon_hintfault.c.
 * do_numa_page() repairs them only with CONFIG_NUMA_BALANCING.
 */
#ifdef CONFIG_NUMA_BALANCING
#define WSMON_HINTS

/* An ordinary entry of user memory; user memory has no global ones */
static inline bool wsmon_pte_can_hint(pte_t pte)
{
	return (pte_flags(pte) & (_PAGE_PRESENT | _PAGE_USER | _PAGE_GLOBAL)) ==
	       (_PAGE_PRESENT | _PAGE_USER);
}

/* Others that permit nothing do not have the user bit: see pte_modify(), PAGE_NONE */
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

/* Did a fault find no present entry? */
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
