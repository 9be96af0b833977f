// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_accessed.c - reading and clearing an Accessed bit, debts to reclaim, when to flush TLBs
 *
 * The loop in wsmon_walk.c reads most bits itself; it calls this file if more is to be done.
 *
 * The walk calls this with the page table locked, and the mmap lock held for reading,
 * so nothing here sleeps. It calls wsmon_tlb_finish() with neither held.
 *
 * The bit is cleared by an atomic operation. A plain store could lose a Dirty bit that
 * the processor sets at the same moment, and with it data. No other bit is changed.
 *
 * A cleared bit hides an access from reclaim. This file calls it a debt to reclaim, and pays it
 *   - with the folio's young flag (CONFIG_PAGE_IDLE_FLAG): by setting the flag. The first
 *     access in an interval sets it at once. All further accesses together set it once more,
 *     when the interval ends or each second if that is sooner, because struct folio is seldom
 *     in a processor's cache.
 *   - without the flag: by setting the bit again when the sample is dropped. This is not
 *     enough if the next sample clears the bit a moment later, as in every huge page of most
 *     targets, and in every page of small targets. So the first access in an interval, or in
 *     a second, is also reported by folio_mark_accessed(). Only an access found by an armed
 *     sample is reported: a bit found when arming may have been set again here, and reporting
 *     it would keep an idle page active forever. If several samplers look at a process, each
 *     would take a bit that another set again for an access. So no bit is set again then, and
 *     each access is reported, also if the bit was found when arming.
 *
 * Accesses by KVM guests, in second-level page tables, are neither seen nor paid for.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/page_idle.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "wsmon_sampler.h"

#ifdef CONFIG_PAGE_IDLE_FLAG
/*
 * Has DAMON taken a set Accessed bit of a huge page since the page was armed? DAMON looks at one
 * page in each of its regions every few milliseconds. So it often takes the bit of a huge page,
 * but seldom the bit of a small page. It sets the folio's idle flag, clears the bit without a
 * flush, and sets the young flag if the bit was set. So if the young flag was clear before and is
 * set now, DAMON has found an access.
 *
 * Once DAMON has been noticed, the flag is kept clear: arming and checking clear it, which leaves
 * a debt to reclaim, and accessed_report() does not set it. A flag that may have been set before
 * does not count. If other processes map the page, too, its flag says nothing about this process.
 */
static bool accessed_taken(struct wsmon_pass *pass, const struct wsmon_entry *e,
			   enum wsmon_sample_op op, u8 *debt)
{
	bool before = *debt == DEBT_REPORTED || *debt == DEBT_PAID;
	struct wsmon_session *ss = pass->session;
	struct folio *folio;
	bool idle;

	if (!pass->alone || !e->has_folio || op == WSMON_SAMPLE_SETTLE)
		return false;
	folio = page_folio(pfn_to_page(e->pfn));
	idle = folio_test_idle(folio);
	if (idle)
		ss->damon = true;
	if (!ss->damon) {
		if (op == WSMON_SAMPLE_ARM && *debt == DEBT_NONE && folio_test_young(folio))
			*debt = DEBT_PAID;
		return false;
	}
	if (op != WSMON_SAMPLE_ARM && op != WSMON_SAMPLE_CHECK)
		return folio_test_young(folio) && !before;
	/* DAMON cleared the bit, and it may stay clear because of a translation in a TLB */
	if (idle)
		pass->dirty_tlb = true;
	if (folio_test_clear_young(folio)) {
		*debt = DEBT_OWED;
		return !before;
	}
	/* the flag that was set has been cleared: reclaim knows */
	if (before)
		*debt = DEBT_NONE;
	return false;
}

/* May accessed_report() set the folio's young flag? Not if accessed_taken() reads it. */
static bool accessed_may_flag(const struct wsmon_pass *pass)
{
	return !pass->alone || !pass->session->damon;
}

static void accessed_report(const struct wsmon_pass *pass, const struct wsmon_entry *e)
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
	if (!accessed_may_flag(pass)) {
		/* two marks: five at each report would make it a workingset folio for good */
		if (!folio_test_referenced(folio))
			folio_mark_accessed(folio);
		folio_mark_accessed(folio);
		return;
	}
	if (folio_test_idle(folio))
		folio_clear_idle(folio);
	if (!folio_test_young(folio))
		folio_set_young(folio);
}

/* Report a cleared Accessed bit if it is the first in this interval, else remember the debt. */
static void accessed_owe_access(const struct wsmon_pass *pass, const struct wsmon_entry *e,
				enum wsmon_sample_op op, u8 *debt)
{
	if (*debt == DEBT_REPORTED || *debt == DEBT_OWED) {
		*debt = DEBT_OWED;
		return;
	}
	/* accessed_taken() notes debts, too: pay all of them once, later */
	if (!accessed_may_flag(pass)) {
		*debt = DEBT_OWED;
		return;
	}
	accessed_report(pass, e);
	*debt = DEBT_REPORTED;
}

/* Pay the debt of a sample that stays, because the interval ends or a second has passed. */
static void accessed_settle_debt(const struct wsmon_pass *pass, const struct wsmon_entry *e,
				 u8 *debt)
{
	if (*debt == DEBT_OWED)
		accessed_report(pass, e);
	*debt = *debt != DEBT_NONE && pass->alone && accessed_may_flag(pass) ? DEBT_PAID :
									       DEBT_NONE;
}

/* Pay the debt of a sample that is dropped. Reclaim sees a bit that is set. */
static void accessed_drop_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
				 bool young, u8 *debt)
{
	if (!young)
		accessed_settle_debt(pass, e, debt);
	*debt = DEBT_NONE;
}

static void accessed_keep_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
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

static void accessed_mark(struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < REPORT_MARKS; i++)
		folio_mark_accessed(folio);
}

/* Nothing to find: wherever DAMON takes Accessed bits, it selects CONFIG_PAGE_IDLE_FLAG. */
static bool accessed_taken(struct wsmon_pass *pass, const struct wsmon_entry *e,
			   enum wsmon_sample_op op, u8 *debt)
{
	return false;
}

static void accessed_report(const struct wsmon_entry *e, u8 *debt)
{
	struct folio *folio = page_folio(pfn_to_page(e->pfn));

	*debt = DEBT_REPORTED;
	/* reclaim does not manage this folio, or ignores accesses through this mapping, too */
	if (!folio->mapping || (e->vma->vm_flags & VM_SEQ_READ))
		return;
	accessed_mark(folio);
}

static void accessed_owe_access(const struct wsmon_pass *pass, const struct wsmon_entry *e,
				enum wsmon_sample_op op, u8 *debt)
{
	/* an access cannot be reported, or already was */
	if (!e->has_folio || *debt == DEBT_REPORTED)
		return;
	*debt = DEBT_OWED;
	if (op == WSMON_SAMPLE_CHECK && e->val != pass->returned)
		accessed_report(e, debt);
}

static void accessed_settle_debt(const struct wsmon_pass *pass, const struct wsmon_entry *e,
				 u8 *debt)
{
	/* the bit must still be set again, except in a shared process */
	if (*debt == DEBT_REPORTED)
		*debt = pass->shared ? DEBT_NONE : DEBT_OWED;
}

/*
 * Pay the debt of a sample that is dropped. Several samples may be in one huge page, and thus have
 * the same entry. These samples are consecutive, so it is enough to remember the last entry.
 */
static void accessed_drop_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
				 bool young, u8 *debt)
{
	if (young) {
		/* the next sample may clear the bit when it is armed, before reclaim sees it */
		if (e->has_folio && *debt != DEBT_REPORTED &&
		    e->val != pass->returned)
			accessed_report(e, debt);
	} else if (pass->shared) {
		/* by now the entry may map another page, or none that reclaim manages */
		if (*debt == DEBT_OWED && e->has_folio)
			accessed_report(e, debt);
	} else if (*debt != DEBT_NONE) {
		if (e->val == pass->kept) {
			/*
			 * A sample that stays armed has the same entry, and would take the bit for
			 * an access: let this sample inherit the debt.
			 */
			if (*pass->kept_debt == DEBT_NONE)
				*pass->kept_debt = DEBT_OWED;
		} else {
			wsmon_entry_set_young(e->val, e->span);
			pass->returned = e->val;
		}
	}
	*debt = DEBT_NONE;
}

/* Remember the entry of a sample that stays armed: see accessed_drop_sample(). */
static void accessed_keep_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
				 u8 *debt)
{
	pass->kept = e->val;
	pass->kept_debt = debt;
}
#endif

/**
 * wsmon_accessed_seen_by_any - combine what targets that share a page table find in one pass
 * @ss:		the session
 * @pmdp:	the entry, its lock held
 * @op:		what this target did to the entry
 * @seen:	this target found the entry accessed
 *
 * Targets that share a page table clear bits that the others have not seen. So a target
 * that comes later in a pass also gets what an earlier target found. The earlier target
 * misses accesses in the milliseconds between the two.
 * Return: true if this target, or one before it in this pass, found the entry accessed; when
 * arming, only what this target found.
 */
bool wsmon_accessed_seen_by_any(struct wsmon_session *ss, const pmd_t *pmdp,
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
 * Several samplers may look at the same page: the targets of a session and its group, and
 * other sessions. Each would miss accesses whose bits another has cleared. So if a process has
 * several samplers, each notes which entries it cleared, and when, and reads the notes where it
 * finds a bit clear. A note may overwrite another one with the same hash. Samplers write notes
 * at the same time, so a note is one word:
 *
 *	63 to 40	more bits of the hash
 *	39 to 0		time of clearing, in units of 1024 ns: repeats after 13 days
 *
 * A sampler does not take its own note for another's: it compares the time of the note with the
 * time of its last look at the page, and its own note is not later.
 */

/* log2 of the number of notes */
#define NOTES_BITS	16

#define NOTE_TIME_BITS	40
#define NOTE_TIME_MASK	(BIT_ULL(NOTE_TIME_BITS) - 1)
#define NOTE_TICK_BITS	10

static u64 *notes;

/** wsmon_accessed_init - allocate what the sampler needs. Return: 0 or -ENOMEM. */
int wsmon_accessed_init(void)
{
	notes = kvcalloc(BIT(NOTES_BITS), sizeof(*notes), GFP_KERNEL);
	return notes ? 0 : -ENOMEM;
}

/** wsmon_accessed_exit - free what wsmon_accessed_init() allocated */
void wsmon_accessed_exit(void)
{
	kvfree(notes);
}

/* Find the note of an entry. *@tag: the bits of the hash that the note contains, in place */
static u64 *accessed_find_note(const void *entry, u64 *tag)
{
	u64 hash = (u64)(unsigned long)entry * GOLDEN_RATIO_64;

	*tag = hash << NOTES_BITS >> NOTE_TIME_BITS << NOTE_TIME_BITS;
	return &notes[hash >> (64 - NOTES_BITS)];
}

/* Has another sampler cleared the entry's bit after @pass->since? */
static bool accessed_cleared_since(const struct wsmon_pass *pass, const void *entry)
{
	u64 note, tag, since, now;

	if (!pass->since)
		return false;
	note = READ_ONCE(*accessed_find_note(entry, &tag));
	if ((note ^ tag) >> NOTE_TIME_BITS)
		return false;
	since = (pass->since >> NOTE_TICK_BITS) + 1;
	now = ktime_get_ns() >> NOTE_TICK_BITS;
	return now >= since && ((note - since) & NOTE_TIME_MASK) <= now - since;
}

static void accessed_note_cleared(const struct wsmon_pass *pass, const void *entry)
{
	u64 *note, tag;

	if (!pass->shared)
		return;
	note = accessed_find_note(entry, &tag);
	WRITE_ONCE(*note, tag | (ktime_get_ns() >> NOTE_TICK_BITS & NOTE_TIME_MASK));
}

/**
 * wsmon_accessed_sample - read the Accessed bit of a sample page, and clear it if asked to
 * @pass:	the pass
 * @e:		the page's entry, its lock held
 * @op:		what to do
 * @debt:	enum wsmon_debt of the sample, kept by the caller until the next call
 *
 * Return: true if the page was accessed since the last time.
 */
bool wsmon_accessed_sample(struct wsmon_pass *pass, const struct wsmon_entry *e,
			   enum wsmon_sample_op op, u8 *debt)
{
	bool young = wsmon_entry_young(e->val, e->span);
	bool taken = accessed_taken(pass, e, op, debt);
	bool seen = young || taken || accessed_cleared_since(pass, e->val);

	/* whoever cleared the bit may not flush: the bit is only set again if this pass does */
	if (seen && !young && op != WSMON_SAMPLE_LOOK)
		pass->dirty_tlb = true;
	if (op == WSMON_SAMPLE_LOOK)
		return seen;
	if (op == WSMON_SAMPLE_SETTLE) {
		accessed_settle_debt(pass, e, debt);
		return seen;
	}
	if (op == WSMON_SAMPLE_DROP) {
		accessed_drop_sample(pass, e, young, debt);
		return seen;
	}
	if (taken)
		accessed_note_cleared(pass, e->val);
	if (young && wsmon_entry_clear_young(e->val, e->span)) {
		accessed_note_cleared(pass, e->val);
		pass->dirty_tlb = true;
		accessed_owe_access(pass, e, op, debt);
	}
	if (pass->settle)
		accessed_settle_debt(pass, e, debt);
	accessed_keep_sample(pass, e, debt);
	/*
	 * Flush even if the bit was clear: a translation may still be in a TLB, because
	 * reclaim and clear_refs clear bits without flushing.
	 */
	if (op == WSMON_SAMPLE_ARM)
		pass->dirty_tlb = true;
	return seen;
}

/*
 * One flush a pass makes the processor set Accessed bits again
 *
 * A processor that has a translation in its TLB uses the page without setting the Accessed bit
 * again. So these translations must go after bits were cleared. Accesses before the flush are not
 * seen. Nothing else depends on the flush, so nobody waits for it.
 */

/**
 * wsmon_tlb_finish - flush the TLBs after a pass that cleared bits
 * @pass:	the pass
 *
 * Context: holds no lock but the monitor's; may sleep.
 */
void wsmon_tlb_finish(struct wsmon_pass *pass)
{
	struct wsmon_session *ss = pass->session;
	u64 start = ktime_get_ns();

	if (!pass->dirty_tlb || !(ss->mon->attrs.flags & WSMON_ATTR_FLUSH_TLB) ||
	    !wsmon_tlb_can_flush())
		return;
	/* if the process has ended, nobody uses the mm */
	if (pass->member && wsmon_pid_alive(pass->member->pid))
		wsmon_tlb_flush(ss, pass->member, pass->mm);
	ss->stats.flushes++;
	ss->stats.flush_ns += ktime_get_ns() - start;
}
