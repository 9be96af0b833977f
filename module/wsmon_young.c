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
 * A cleared bit hides a reference from reclaim, so it is given back: as the
 * folio's young flag where the kernel has it (CONFIG_PAGE_IDLE_FLAG), else by
 * setting the bit again when the sample is dropped. What cannot be seen or
 * given back: the ages KVM guests keep in their second-level tables.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/page_idle.h>
#include <linux/pgtable.h>

#include "wsmon_internal.h"
#include "wsmon_walk.h"

#ifdef CONFIG_PAGE_IDLE_FLAG
/* Return: true, reclaim will know */
static bool give_back(const struct wsmon_entry *e)
{
	struct folio *folio;

	if (!e->has_folio)
		return true;
	folio = page_folio(pfn_to_page(e->pfn));
	if (!folio_test_lru(folio))
		return true;
	if (folio_test_idle(folio))
		folio_clear_idle(folio);
	if (!folio_test_young(folio))
		folio_set_young(folio);
	return true;
}
#else
/* Return: whether there is nobody to tell; otherwise keep the bit in mind */
static bool give_back(const struct wsmon_entry *e)
{
	return !e->has_folio;
}
#endif

static bool young_visit(struct wsmon_round *round, const struct wsmon_entry *e,
			enum wsmon_visit visit, bool *stolen)
{
	bool young = test_bit(_PAGE_BIT_ACCESSED, e->val);

	if (visit == WSMON_VISIT_LOOK)
		return young;
	if (visit == WSMON_VISIT_DROP) {
		if (*stolen && !young)
			set_bit(_PAGE_BIT_ACCESSED, e->val);
		*stolen = false;
		return young;
	}
	if (young && test_and_clear_bit(_PAGE_BIT_ACCESSED, e->val)) {
		round->dirty_tlb = true;
		if (!give_back(e))
			*stolen = true;
	}
	/*
	 * A bit that is clear already says nothing of the TLB: reclaim and
	 * clear_refs clear bits and do not flush.
	 */
	if (visit == WSMON_VISIT_ARM)
		round->dirty_tlb = true;
	return young;
}

static void young_prepare(struct wsmon_round *round)
{
	round->dirty_tlb = false;
}

static void young_finish(struct wsmon_round *round)
{
	u64 start = ktime_get_ns();

	if (!round->dirty_tlb || !(wsmon.attrs.flags & WSMON_ATTR_FLUSH_TLB) ||
	    !wsmon_tlb_can_flush())
		return;
	wsmon_tlb_flush(round->mm);
	round->stats->flushes++;
	round->stats->flush_ns += ktime_get_ns() - start;
}

const struct wsmon_sampler wsmon_sampler_young = {
	.prepare = young_prepare,
	.visit = young_visit,
	.finish = young_finish,
};
