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

/* Are pages that a fault maps around its own not marked accessed? */
static inline bool wsmon_maps_old(void)
{
	return false;
}

static inline bool wsmon_entry_young(const unsigned long *val, unsigned int span)
{
	return test_bit(_PAGE_BIT_ACCESSED, val);
}

static inline bool wsmon_entry_clear_young(unsigned long *val, unsigned int span)
{
	return test_and_clear_bit(_PAGE_BIT_ACCESSED, val);
}

static inline void wsmon_entry_set_young(unsigned long *val, unsigned int span)
{
	set_bit(_PAGE_BIT_ACCESSED, val);
}

/* wsmon_x86.c */
bool wsmon_tlb_can_flush(void);
void wsmon_tlb_flush(struct wsmon_session *ss, const struct wsmon_member *m,
		     struct mm_struct *mm);
void wsmon_tlb_drain(void);
u64 wsmon_tlb_remote_ns(const struct wsmon_monitor *mon);

#endif /* WSMON_X86_H */
