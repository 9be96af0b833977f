// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_limit.c - how fast the Accessed bits of pages can be read at all
 *
 * Reads the bits of one page in each of as many equal parts of a range as there are
 * samples, in address order, with the mmap lock held once and one descent for each page
 * table: every walk has to do as much. Between samples it locks, clears and remembers
 * nothing.
 *
 * Parameters: pid, start, pages, samples. Results after loading: ns, of the fastest of 20
 * passes, and young, the number of set bits.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/pid.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

static int pid;
module_param(pid, int, 0400);
static unsigned long start;
module_param(start, ulong, 0400);
static unsigned long pages;
module_param(pages, ulong, 0400);
static unsigned int samples = 10000;
module_param(samples, uint, 0400);
static unsigned long ns = ULONG_MAX;
module_param(ns, ulong, 0400);
static unsigned long young;
module_param(young, ulong, 0400);

static pte_t *limit_table(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d = pgd_none(*pgd) ? NULL : p4d_offset(pgd, addr);
	pud_t *pud = !p4d || p4d_none(*p4d) ? NULL : pud_offset(p4d, addr);
	pmd_t *pmd = !pud || pud_none(*pud) || pud_leaf(*pud) ? NULL : pmd_offset(pud, addr);

	if (!pmd || pmd_none(*pmd) || pmd_leaf(*pmd))
		return NULL;
	return pte_offset_kernel(pmd, addr & PMD_MASK);
}

static void limit_pass(struct mm_struct *mm, const unsigned long *at)
{
	unsigned long end = 0, count = 0;
	u64 began = ktime_get_ns();
	pte_t *table = NULL;
	unsigned int i;

	mmap_read_lock(mm);
	for (i = 0; i < samples; i++) {
		pte_t pte;

		if (at[i] >= end) {
			table = limit_table(mm, at[i]);
			end = (at[i] & PMD_MASK) + PMD_SIZE;
		}
		if (!table)
			continue;
		pte = READ_ONCE(table[pte_index(at[i])]);
		count += pte_present(pte) && pte_young(pte);
	}
	mmap_read_unlock(mm);
	ns = min_t(unsigned long, ns, ktime_get_ns() - began);
	young = count;
}

static int __init limit_init(void)
{
	struct task_struct *task;
	struct mm_struct *mm = NULL;
	unsigned long *at, part;
	unsigned int i;

	if (!samples || samples > 1000000 || pages < samples)
		return -EINVAL;
	part = pages / samples;
	at = kvcalloc(samples, sizeof(*at), GFP_KERNEL);
	if (!at)
		return -ENOMEM;
	for (i = 0; i < samples; i++)
		at[i] = start + (i * part + get_random_u32() % part) * PAGE_SIZE;
	task = get_pid_task(find_vpid(pid), PIDTYPE_PID);
	if (task) {
		mm = get_task_mm(task);
		put_task_struct(task);
	}
	for (i = 0; mm && i < 20; i++) {
		limit_pass(mm, at);
		cond_resched();
	}
	kvfree(at);
	if (!mm)
		return -ESRCH;
	mmput(mm);
	return 0;
}
module_init(limit_init);

static void __exit limit_exit(void)
{
}
module_exit(limit_exit);

MODULE_DESCRIPTION("How fast Accessed bits can be read");
MODULE_LICENSE("GPL");
