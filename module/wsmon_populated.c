// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_populated.c - which parts of a mapping have page tables
 *
 * Called by the kthread with the mmap lock of the target held for reading; does
 * not sleep. Where there is no page table nothing has ever been accessed, so
 * there is nothing to sample: of a terabyte that is merely reserved, what is in
 * use remains. Looks at no leaf entry but huge ones, so the cost is one read for
 * 2 MiB at most, and one for a hole of any size.
 *
 * The upper levels of page tables of a range stay while the range is mapped: see
 * wsmon_walk.c. Shared page tables of hugetlb do not; those are not looked at.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "wsmon_internal.h"

/* End of the entry of @size that holds @addr, @end at most */
static unsigned long table_entry_end(unsigned long addr, unsigned long size,
			       unsigned long end)
{
	unsigned long next = (addr & ~(size - 1)) + size;

	return next && next < end ? next : end;
}

/*
 * Has the entry that holds an address anything in it?
 * @next:	where the entry ends, or @end
 */
static bool table_entry_populated(struct mm_struct *mm, unsigned long addr, unsigned long end,
		 unsigned long *next)
{
	pgd_t pgd = READ_ONCE(*pgd_offset(mm, addr));
	p4d_t p4d;
	pud_t pud;
	pmd_t pmd;

	*next = table_entry_end(addr, PGDIR_SIZE, end);
	if (pgd_none(pgd) || unlikely(pgd_bad(pgd)))
		return false;
	*next = table_entry_end(addr, P4D_SIZE, end);
	p4d = READ_ONCE(*p4d_offset(&pgd, addr));
	if (p4d_none(p4d) || unlikely(p4d_bad(p4d)))
		return false;
	*next = table_entry_end(addr, PUD_SIZE, end);
	pud = READ_ONCE(*pud_offset(&p4d, addr));
	if (pud_none(pud))
		return false;
	if (!pud_present(pud) || pud_leaf(pud) || unlikely(pud_bad(pud)))
		return true;
	*next = table_entry_end(addr, PMD_SIZE, end);
	pmd = READ_ONCE(*pmd_offset(&pud, addr));
	return !pmd_none(pmd);
}

/**
 * wsmon_populated - the next part of a range that has page tables
 * @mm:		the mm, its mmap lock held
 * @start:	where to begin; then where the part begins, or @end
 * @end:	end of the range, which is mapped
 * @left:	entries that may be looked at, counted down
 *
 * Return: where the part ends, which may be for lack of @left: then the next
 * call goes on from there.
 */
unsigned long wsmon_populated(struct mm_struct *mm, unsigned long *start,
			      unsigned long end, unsigned int *left)
{
	unsigned long addr = *start, next;

	while (addr < end && *left && !table_entry_populated(mm, addr, end, &next)) {
		addr = next;
		--*left;
	}
	*start = addr;
	while (addr < end && *left && table_entry_populated(mm, addr, end, &next)) {
		addr = next;
		--*left;
	}
	return addr;
}
