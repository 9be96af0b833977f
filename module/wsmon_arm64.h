/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_arm64.h - what differs between architectures, for arm64
 *
 * The processor sets the Access flag of an entry. Without FEAT_HAFDBS, it faults at the first
 * access instead, and the kernel sets the flag. The contiguous bit makes one translation of
 * a block of entries: contpte, which the kernel uses by itself for large folios, and some
 * sizes of hugetlb pages. An access sets the flag of any entry of the block. So only the block
 * as a whole is known to be accessed, and it counts in full, like a huge page.
 *
 * Clearing the flag has two side effects, which reclaim causes, too, but less often:
 *   - If another entry of the block has the flag, kernels before 7.0 do nothing when an access
 *     faults, unless they have the fix of contpte_ptep_set_access_flags(). So if one processor
 *     sets flags, but an SMMU or another processor that uses the same page tables does not, a
 *     fault of the latter may repeat until something else changes the block.
 *   - Without FEAT_HAFDBS, reads that must not fault (copy_from_user_nofault(): stacks for
 *     perf, BPF) fail where the flag is clear.
 */
#ifndef WSMON_ARM64_H
#define WSMON_ARM64_H

#include <linux/pgtable.h>
#include <asm/cpufeature.h>
#include <asm/tlbflush.h>

#define WSMON_ENTRIES_SHARE	true

static inline unsigned int wsmon_pte_span(pte_t pte)
{
	return pte_valid(pte) && pte_cont(pte) ? CONT_PTES : 1;
}

static inline unsigned int wsmon_pmd_span(pmd_t pmd)
{
	return pte_valid(pmd_pte(pmd)) && pmd_cont(pmd) ? CONT_PMDS : 1;
}

static inline bool wsmon_maps_old(void)
{
	return cpu_has_hw_af();
}

static inline bool wsmon_entry_young(const unsigned long *val, unsigned int span)
{
	unsigned int i;

	for (i = 0; i < span; i++) {
		if (READ_ONCE(val[i]) & PTE_AF)
			return true;
	}
	return false;
}

static inline bool wsmon_line_young(const pte_t *pte)
{
	pteval_t any = 0;
	unsigned int i;

	for (i = 0; i < 8; i++)
		any |= pte_val(READ_ONCE(pte[i]));
	return any & (PTE_AF | PTE_CONT);
}

/*
 * Set the Access flag of a present entry to @flag, which is PTE_AF or 0. The page table's lock
 * does not protect all kinds of hugetlb entries, so check each value that is replaced.
 * Return: true if the flag was changed.
 */
static inline bool wsmon_entry_change(unsigned long *val, unsigned long flag)
{
	unsigned long old = READ_ONCE(*val), was;

	while (pte_present(__pte(old)) && (old & PTE_AF) != flag) {
		was = cmpxchg_relaxed(val, old, old ^ PTE_AF);
		if (was == old)
			return true;
		old = was;
	}
	return false;
}

static inline bool wsmon_entry_clear_young(unsigned long *val, unsigned int span)
{
	bool changed = false;
	unsigned int i;

	for (i = 0; i < span; i++)
		changed |= wsmon_entry_change(&val[i], 0);
	return changed;
}

static inline void wsmon_entry_set_young(unsigned long *val, unsigned int span)
{
	unsigned int i;

	for (i = 0; i < span; i++)
		wsmon_entry_change(&val[i], PTE_AF);
}

static inline bool wsmon_tlb_can_flush(void)
{
	return true;
}

/*
 * Make all processors drop the translations of an mm. The instruction is broadcast, so no
 * processor is interrupted. This is flush_tlb_mm() without MMU notifiers, which are not exported,
 * and without the workarounds that some processors need before pages are freed: without them,
 * only accesses may be missed.
 */
static inline void wsmon_tlb_flush(struct wsmon_session *ss, const struct wsmon_member *m,
				   struct mm_struct *mm)
{
	unsigned long asid = __TLBI_VADDR(0, ASID(mm));

	dsb(ishst);
	__tlbi(aside1is, asid);
	__tlbi_user(aside1is, asid);
	dsb(ish);
}

static inline void wsmon_tlb_drain(void)
{
}

static inline u64 wsmon_tlb_remote_ns(const struct wsmon_monitor *mon)
{
	return 0;
}

#endif /* WSMON_ARM64_H */
