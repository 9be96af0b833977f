// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_young.c - the sampler that reads Accessed bits
 *
 * Called by the walk with the lock of the page-table entry held, and the mmap
 * lock for reading; may not sleep. The finish callback runs without locks.
 *
 * The bit is cleared by an atomic operation: a plain store would race with the
 * processor setting the Dirty bit and lose data. No other bit is touched.
 *
 * A cleared bit hides a reference from reclaim, so it is given back. Where the
 * kernel has the folio's young flag (CONFIG_PAGE_IDLE_FLAG) that is set: for the
 * first access an interval at once and for all further ones when it ends, or each
 * second if that is sooner, since the folio's memory is seldom in a cache.
 *
 * Other kernels get the bit set again when the sample is dropped. That does not
 * suffice where the next sample clears it a moment later, as it does for every huge
 * page of most targets and every page of small ones. So they are also told of the
 * first access an interval, or a second, by folio_mark_accessed(). Only accesses
 * found by an armed sample count for that: a bit found when arming may be one that
 * was set here, and would keep what is idle active for ever.
 *
 * What cannot be seen or given back: the ages KVM guests keep in their second-level
 * tables.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/page_idle.h>
#include <linux/pgtable.h>
#include <linux/swap.h>

#include "wsmon_internal.h"
#include "wsmon_walk.h"

/**
 * enum young_debt - what reclaim does not know of a sample page
 * @DEBT_NONE:	nothing
 * @DEBT_REPORTED:	nothing, but it was told of an access since debts were settled.
 *		Without the young flag: the bit is to be set again nevertheless
 * @DEBT_OWED:	an access
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
	 * Nobody's, as the zero page. Not on a list says nothing: reclaim takes
	 * folios off theirs before it looks at Accessed bits and this flag.
	 */
	if (!folio->mapping)
		return;
	if (folio_test_idle(folio))
		folio_clear_idle(folio);
	if (!folio_test_young(folio))
		folio_set_young(folio);
}

/* An Accessed bit was cleared. */
static void young_owe_access(const struct wsmon_pass *round, const struct wsmon_entry *e,
		enum wsmon_sample_op op, u8 *debt)
{
	if (*debt != DEBT_NONE) {
		*debt = DEBT_OWED;
		return;
	}
	young_report(e);
	*debt = DEBT_REPORTED;
}

/* The interval ends, or has lasted for a while. */
static void young_settle_debt(const struct wsmon_entry *e, u8 *debt)
{
	if (*debt == DEBT_OWED)
		young_report(e);
	*debt = DEBT_NONE;
}

/* The sample is dropped, and its bit left as it is. */
static void young_drop_sample(struct wsmon_pass *round, const struct wsmon_entry *e,
		 bool young, u8 *debt)
{
	if (!young)
		young_settle_debt(e, debt);
	*debt = DEBT_NONE;
}

static void young_keep_sample(struct wsmon_pass *round, const struct wsmon_entry *e,
		 u8 *debt)
{
}
#else
/*
 * The first two make a folio active. The multi-gen LRU keeps one for a further
 * generation that has four beyond PG_referenced (LRU_REFS_WIDTH is 2).
 */
#define REPORT_MARKS	5

static void young_report(const struct wsmon_entry *e, u8 *debt)
{
	struct folio *folio = page_folio(pfn_to_page(e->pfn));
	unsigned int i;

	*debt = DEBT_REPORTED;
	/* nobody's, or reclaim does not count accesses here either */
	if (!folio->mapping || (e->vma->vm_flags & VM_SEQ_READ))
		return;
	for (i = 0; i < REPORT_MARKS; i++)
		folio_mark_accessed(folio);
}

static void young_owe_access(const struct wsmon_pass *round, const struct wsmon_entry *e,
		enum wsmon_sample_op op, u8 *debt)
{
	/* is there anybody to tell? */
	if (!e->has_folio || *debt == DEBT_REPORTED)
		return;
	*debt = DEBT_OWED;
	if (op == WSMON_SAMPLE_CHECK && e->val != round->returned)
		young_report(e, debt);
}

static void young_settle_debt(const struct wsmon_entry *e, u8 *debt)
{
	if (*debt == DEBT_REPORTED)
		*debt = DEBT_OWED;
}

/* Several samples of one huge page are visited one after the other. */
static void young_drop_sample(struct wsmon_pass *round, const struct wsmon_entry *e,
		 bool young, u8 *debt)
{
	if (young) {
		/* it is cleared again when the next sample is armed */
		if (e->has_folio && *debt != DEBT_REPORTED &&
		    e->val != round->returned)
			young_report(e, debt);
	} else if (*debt != DEBT_NONE) {
		if (e->val == round->kept) {
			/* a set bit would read as an access there */
			if (*round->kept_debt == DEBT_NONE)
				*round->kept_debt = DEBT_OWED;
		} else {
			set_bit(_PAGE_BIT_ACCESSED, e->val);
			round->returned = e->val;
		}
	}
	*debt = DEBT_NONE;
}

/* The sample stays armed. */
static void young_keep_sample(struct wsmon_pass *round, const struct wsmon_entry *e,
		 u8 *debt)
{
	round->kept = e->val;
	round->kept_debt = debt;
}
#endif

static bool wsmon_young_sample(struct wsmon_pass *round, const struct wsmon_entry *e,
			enum wsmon_sample_op op, u8 *debt)
{
	bool young = test_bit(_PAGE_BIT_ACCESSED, e->val);

	if (op == WSMON_SAMPLE_LOOK)
		return young;
	if (op == WSMON_SAMPLE_SETTLE) {
		young_settle_debt(e, debt);
		return young;
	}
	if (op == WSMON_SAMPLE_DROP) {
		young_drop_sample(round, e, young, debt);
		return young;
	}
	if (young && test_and_clear_bit(_PAGE_BIT_ACCESSED, e->val)) {
		round->dirty_tlb = true;
		young_owe_access(round, e, op, debt);
	}
	if (round->settle)
		young_settle_debt(e, debt);
	young_keep_sample(round, e, debt);
	/*
	 * A bit that is clear already says nothing of the TLB: reclaim and
	 * clear_refs clear bits and do not flush.
	 */
	if (op == WSMON_SAMPLE_ARM)
		round->dirty_tlb = true;
	return young;
}

static void young_prepare(struct wsmon_pass *round)
{
	round->dirty_tlb = false;
}

static void wsmon_young_finish(struct wsmon_pass *round)
{
	u64 start = ktime_get_ns();

	if (!round->dirty_tlb || !(wsmon.attrs.flags & WSMON_ATTR_FLUSH_TLB) ||
	    !wsmon_tlb_can_flush())
		return;
	wsmon_tlb_flush(round->target, round->mm);
	round->stats->flushes++;
	round->stats->flush_ns += ktime_get_ns() - start;
}

const struct wsmon_sampler wsmon_sampler_young = {
	.prepare = young_prepare,
	.visit = wsmon_young_sample,
	.finish = wsmon_young_finish,
	.idle_mask = _PAGE_ACCESSED,
};
