// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_walk.c - the pass over a target's sample pages
 *
 * kwsmond calls this with wsmon.lock held and a reference on mm_count, which keeps the
 * mm but not its memory: the last user may exit at any time.
 *
 * Samples are taken in address order with a cursor, so that consecutive samples in one
 * page table cost one descent and one lock. The walk holds, for about HOLD_NS, the mmap lock for
 * reading. So mappings stay, and with them the upper levels of the page tables of mapped
 * ranges. Exit zaps entries meanwhile, as MADV_DONTNEED does, but frees no page tables
 * (wsmon_mm_lock() says why). But munmap() frees the page tables of what it has unmapped under a
 * downgraded lock, which does not exclude this walk. So the walk looks up each address among the
 * mappings under the same hold.
 *
 * The following may change nevertheless (on 6.1 and later, unless a version is named):
 *   - A leaf entry: by a fault, reclaim, migration or a split. So the walk samples it
 *     under its lock, and only if it has not changed since it was read.
 *   - A page table under a pmd. From 6.6 on, khugepaged frees page tables of files
 *     without the mmap lock (before, it takes the lock for writing). From 6.14 on,
 *     MADV_DONTNEED frees page tables that it emptied, with the mmap lock held for
 *     reading, or only the mapping's lock. Both clear the pmd with its lock and the page
 *     table's lock held, and free the table after an RCU grace period. So the walk
 *     compares the pmd again under rcu_read_lock, from when on the table is not freed,
 *     and under the table's lock, from when on it is not taken out.
 *   - A shared hugetlb page table of PMDs: another process may unshare it, with the
 *     file's i_mmap_rwsem held for writing. So the walk holds it for reading.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "wsmon_walk.h"

/* Pay debts to reclaim after this time, if intervals are longer */
#define SETTLE_NS	NSEC_PER_SEC

/* Take the mmap lock, or release it for a moment if others wait. Return: is it held? */
static __always_inline bool walk_keep_lock(struct wsmon_walk *w)
{
	if (likely(w->steps)) {
		w->steps--;
		return true;
	}
	return wsmon_walk_renew_lock(w);
}

/* Skipping regions takes time, too: do not hold the mmap lock too long. */
static __always_inline void walk_skip_region(struct wsmon_walk *w)
{
	if (w->locked)
		walk_keep_lock(w);
}

/*
 * Note whether an access is in doubt. If a page was mapped since the last check and its
 * bit is set, it was accessed, or a fault on a page near it mapped it and set the bit.
 * Pages of data files count as accessed: files are read page by page.
 */
static void walk_note_vague(struct wsmon_walk *w, struct wsmon_region *r, unsigned int h)
{
	if (r->absent & BIT(h) && w->around && (w->text || r->origin_ns))
		r->vague |= BIT(h);
	else
		r->vague &= ~BIT(h);
	r->absent &= ~BIT(h);
}

/*
 * The quick ways to sample pages in the cursor's table, if nobody else samples the process.
 * They need neither folio nor mapping, and do what wsmon_young_sample() does.
 */

/* Does a page have an entry of its own, and was it not accessed? */
static __always_inline bool walk_entry_quiet(const struct wsmon_walk *w, const pte_t *pte, u64 vpn)
{
	return !(WSMON_ENTRIES_SHARE && wsmon_range_holds(&w->leaf, vpn << PAGE_SHIFT)) &&
	       wsmon_pte_span(READ_ONCE(*pte)) == 1 && !wsmon_entry_young((unsigned long *)pte, 1);
}

/* The place of a page among the quick entries; it is no place if it is @quick_nr or more */
static __always_inline u64 walk_quick_place(const struct wsmon_walk *w, u64 vpn)
{
	return WSMON_ENTRIES_SHARE && wsmon_range_holds(&w->leaf, vpn << PAGE_SHIFT) ?
	       U64_MAX : vpn - w->quick_vpn;
}

/*
 * Check regions of the cursor's table in a row, as long as neither page was accessed, as most were
 * not. Return: how many of the next @nr
 */
static __always_inline u32 walk_quiet_regions(struct wsmon_walk *w, struct wsmon_region *r, u32 nr,
					      u64 now)
{
	/* copies, as any write to a region might change what is in memory */
	const u64 first = w->quick_vpn, entries = w->quick_nr;
	const pte_t *quick = w->quick;
	u32 i;

	nr = min(nr, w->steps);
	for (i = 0; i < nr; i++, r++) {
		u64 a = r->s[0].vpn - first, b = r->s[1].vpn - first;

		if (!r->armed_ns || !r->n[1] || a >= entries || b >= entries ||
		    !walk_entry_quiet(w, &quick[a], r->s[0].vpn) ||
		    !walk_entry_quiet(w, &quick[b], r->s[1].vpn))
			break;
		r->checks += 2;
		r->looked_ns = now;
		r->last = 0;
		r->own = 3;
		r->hit = 0;
		r->looked = 1;
	}
	w->steps -= i;
	return i;
}

/* Note that a look found the page of a half accessed. */
static __always_inline void walk_note_hit(const struct wsmon_walk *w, struct wsmon_region *r,
					  unsigned int h, u64 now)
{
	struct wsmon_sample *s = &r->s[h];

	if (s->seen_ns && s->seen_ns >= w->recent_ns)
		r->again |= BIT(h);
	else
		r->again &= ~BIT(h);
	r->hit |= BIT(h);
	s->seen_ns = now;
	r->hits++;
}

/*
 * Note in what entry the page of a half is. Return: has the kernel made that since the last look?
 * Then its bit means nothing yet: see wsmon_regions.c.
 */
static bool walk_note_place(const struct wsmon_walk *w, struct wsmon_region *r, unsigned int h,
			    u64 now)
{
	if (w->place == WSMON_PLACE_OWN) {
		r->own |= BIT(h);
		return false;
	}
	if (w->place == WSMON_PLACE_UNKNOWN || !(r->own & BIT(h)))
		return false;
	r->own &= ~BIT(h);
	if (w->place == WSMON_PLACE_NONE)
		return false;
	r->made_ns[h] = now;
	if (!r->looked || w->begin_ns - r->looked_ns > w->near_ns)
		r->blind |= BIT(h);
	else if (r->hit & ~r->again & BIT(h))
		r->recent |= BIT(h);
	return true;
}

/*
 * Sample a page that was not accessed, or was before in this interval, so that reclaim
 * knows, or whose bit may stay set, as its sample is dropped; or arm one whose accesses do not
 * count yet. Return: was it one of these?
 */
static __always_inline bool walk_sample_quickly(struct wsmon_walk *w, struct wsmon_region *r,
						unsigned int h, enum wsmon_sample_op op, u64 now)
{
	u64 i = walk_quick_place(w, r->s[h].vpn);
	pte_t pte;

	if (i >= w->quick_nr)
		return false;
	pte = READ_ONCE(w->quick[i]);
	if (wsmon_pte_span(pte) > 1 || (op == WSMON_SAMPLE_ARM && !wsmon_pte_has_memory(pte)))
		return false;
	if (!pte_young(pte)) {
		r->own |= BIT(h);
		r->hit &= ~BIT(h);
		/* flush for what is in a TLB although the bit is clear */
		if (op == WSMON_SAMPLE_ARM)
			w->pass.dirty_tlb = true;
		return op == WSMON_SAMPLE_ARM || r->debt[h] == DEBT_NONE ||
		       (op == WSMON_SAMPLE_CHECK && !w->pass.settle);
	}
	if (op == WSMON_SAMPLE_ARM) {
		r->own |= BIT(h);
		/* in new memory, it was set by an access that counts */
		if (!r->origin_ns)
			wsmon_walk_clear_young(w, &w->quick[i], r->s[h].vpn, &r->debt[h]);
		return !r->origin_ns;
	}
	if (r->absent & BIT(h) || !wsmon_pte_has_memory(pte))
		return false;
	if (op == WSMON_SAMPLE_DROP && IS_ENABLED(CONFIG_PAGE_IDLE_FLAG))
		r->debt[h] = DEBT_NONE;
	else if (op != WSMON_SAMPLE_CHECK || w->pass.settle || !wsmon_young_owe_again(&r->debt[h]))
		return false;
	else if (wsmon_entry_clear_young((unsigned long *)&w->quick[i], 1))
		w->pass.dirty_tlb = true;
	r->vague &= ~BIT(h);
	r->own |= BIT(h);
	walk_note_hit(w, r, h, now);
	return true;
}

static noinline void walk_sample_slowly(struct wsmon_walk *w, struct wsmon_region *r,
					unsigned int h, enum wsmon_sample_op op, u64 now)
{
	struct wsmon_sample *s = &r->s[h];
	bool arm = op == WSMON_SAMPLE_ARM, seen;

	/* new memory was accessed if others cleared a bit in it */
	w->pass.since = arm ? r->origin_ns : r->looked_ns;
	if (w->pass.since >= w->notes_until)
		w->pass.since = 0;
	seen = wsmon_walk_sample(w, s->vpn << PAGE_SHIFT, op, &r->debt[h]);
	/* an entry that is armed is as it is */
	if (arm)
		r->own &= ~BIT(h);
	if (walk_note_place(w, r, h, now))
		seen = false;
	if (arm)
		r->absent |= !w->mapped << h;
	r->hit &= ~BIT(h);
	if (!seen)
		return;
	s->times = w->times;
	if (!arm) {
		walk_note_vague(w, r, h);
		walk_note_hit(w, r, h, now);
	} else if (r->origin_ns) {
		/* a bit in new memory was set after that appeared, and before the interval began */
		s->seen_ns = wsmon_looks_last(&w->pass.session->looks);
		r->vague |= w->around << h;
	}
}

/* Entries that wsmon_line_young() looks at */
#define LINE		8

/*
 * Find the other pages of a cluster whose bits are set; the cursor was at its sample page, @own.
 * A cluster of which not all entries can be read in the quick way is forgotten.
 */
static __always_inline u64 walk_cluster_young(const struct wsmon_walk *w, struct wsmon_cluster *c,
					      u64 own)
{
	u64 at = walk_quick_place(w, c->first), bits, young = 0;
	const pte_t *pte;
	u32 i, end;

	if (at >= w->quick_nr || at + c->nr > w->quick_nr) {
		c->nr = 0;
		return 0;
	}
	pte = w->quick + at;
	for (i = 0; i < c->nr; i = end) {
		/* most have none */
		while (i + LINE <= c->nr && !wsmon_line_young(pte + i))
			i += LINE;
		end = min_t(u32, i + LINE, c->nr);
		for (; i < end; i++) {
			if (wsmon_pte_span(READ_ONCE(pte[i])) > 1) {
				c->nr = 0;
				return 0;
			}
			young |= (u64)!!pte_young(READ_ONCE(pte[i])) << i;
		}
	}
	young &= ~BIT_ULL(own - c->first);
	/* where a page is not mapped, the entry has other things, or nobody's memory */
	for (bits = young; bits; bits &= bits - 1) {
		i = __ffs64(bits);
		if (!wsmon_pte_has_memory(READ_ONCE(pte[i])))
			young &= ~BIT_ULL(i);
	}
	return young;
}

static void walk_cluster_page(struct wsmon_walk *w, struct wsmon_cluster *c, u32 i,
			      enum wsmon_sample_op op)
{
	u64 bit = BIT_ULL(i);
	u8 debt = c->owed & bit ? DEBT_OWED : c->reported & bit ? DEBT_REPORTED : DEBT_NONE;
	u8 *kept_debt = w->pass.kept_debt;
	const unsigned long *kept = w->pass.kept;
	u64 vpn = c->first + i;

	if (op == WSMON_SAMPLE_ARM)
		wsmon_walk_clear_young(w, &w->quick[vpn - w->quick_vpn], vpn, &debt);
	else
		wsmon_walk_sample(w, vpn << PAGE_SHIFT, op, &debt);
	/* not this entry: its debt is elsewhere */
	w->pass.kept = kept;
	w->pass.kept_debt = kept_debt;
	c->owed = debt == DEBT_OWED ? c->owed | bit : c->owed & ~bit;
	c->reported = debt == DEBT_REPORTED ? c->reported | bit : c->reported & ~bit;
}

/*
 * Look at the other pages of a cluster: when an interval begins or ends, each second, and in each
 * round if reclaim takes pages. Bits are only cleared when an interval begins: until it ends,
 * reclaim sees them, and nothing is owed. @last: the interval ends
 */
static __always_inline void walk_sample_cluster(struct wsmon_walk *w, struct wsmon_region *r,
						unsigned int h, enum wsmon_sample_op op,
						bool last)
{
	struct wsmon_cluster *c = &r->c[h];
	u64 young = walk_cluster_young(w, c, r->s[h].vpn), bits;

	if (op != WSMON_SAMPLE_ARM)
		c->seen |= young;
	if (last)
		wsmon_cluster_note(c, c->seen, w->pass.session->epoch);
	else if (op == WSMON_SAMPLE_ARM && r->origin_ns)
		wsmon_cluster_note(c, young, w->pass.session->epoch);
	else if (op == WSMON_SAMPLE_CHECK)
		return;
	/* a bit that is still set tells reclaim itself */
	bits = op == WSMON_SAMPLE_DROP && IS_ENABLED(CONFIG_PAGE_IDLE_FLAG) ? 0 : young;
	/* what is owed since an attempt to arm the region that failed stays so */
	if (op != WSMON_SAMPLE_ARM)
		bits |= IS_ENABLED(CONFIG_PAGE_IDLE_FLAG) ? c->owed : c->owed | c->reported;
	/* it takes as long as some regions: read the clock sooner */
	w->steps -= min_t(u32, w->steps, hweight64(bits) / 8 + 1);
	for (; bits; bits &= bits - 1)
		walk_cluster_page(w, c, __ffs64(bits), op);
}

/* The interval ends: note whether the page of a half went since it was there. */
static __always_inline void walk_note_went(struct wsmon_walk *w, struct wsmon_region *r,
					   unsigned int h, bool quick)
{
	bool none = quick ? pte_none(READ_ONCE(w->quick[walk_quick_place(w, r->s[h].vpn)])) :
			    w->none;

	if (!none || r->absent & BIT(h))
		return;
	r->went |= BIT(h);
	r->absent |= BIT(h);
}

static __always_inline void walk_sample_region(struct wsmon_walk *w, struct wsmon_region *r,
					       enum wsmon_sample_op op, bool last, u64 now)
{
	bool rest = op != WSMON_SAMPLE_CHECK || w->pass.settle || w->reclaimed;
	unsigned int h, nr = r->n[1] ? 2 : 1;

	if (op != WSMON_SAMPLE_ARM)
		r->checks += nr;
	for (h = 0; h < nr; h++) {
		bool quick = walk_sample_quickly(w, r, h, op, now);

		if (!quick)
			walk_sample_slowly(w, r, h, op, now);
		if (last)
			walk_note_went(w, r, h, quick);
		if (rest && wsmon_cluster_matters(&r->c[h]) && !w->busy)
			walk_sample_cluster(w, r, h, op, last);
	}
}

/*
 * Find out whether others sample the process, or may sample another one with its mm, after
 * clone(CLONE_VM) or vfork(). Return: a time; notes of cleared bits matter
 * for what was looked at before: others may have stopped since.
 */
static u64 walk_notes_until(struct wsmon_pass *pass)
{
	if (!pass->member)
		return U64_MAX;
	pass->shared = wsmon_member_shared(pass->member) ||
		       (wsmon_session_several() &&
			wsmon_member_mm_shared(pass->member, pass->mm));
	return pass->shared ? U64_MAX : READ_ONCE(pass->member->shared_ns);
}

/*
 * Sample the regions that @op is for, from the @at-th on. @op is a constant.
 * Return: the first that was not sampled, as the mmap lock is busy; their number if there
 * is none.
 */
static __always_inline u32 walk_regions(struct wsmon_walk *w, struct wsmon_regions *rs, u32 at,
					enum wsmon_sample_op op, u64 begin, u64 now)
{
	struct wsmon_region *r = rs->r + at, *end = rs->r + rs->nr;
	bool arm = op == WSMON_SAMPLE_ARM;
	/* only bits of sample pages are looked at, and no notes of bits that others cleared */
	bool bits = op == WSMON_SAMPLE_CHECK && !w->pass.settle && !w->reclaimed && !w->notes_until;
	u32 i, looks = 0;

	for (i = 0; i < rs->nr; i++, r = r + 1 < end ? r + 1 : rs->r) {
		enum wsmon_sample_op v = op;
		u32 quiet = 0;

		if (bits)
			quiet = walk_quiet_regions(w, r, min_t(u32, rs->nr - i, end - r), begin);
		if (quiet) {
			looks += 2 * quiet;
			i += quiet - 1;
			r += quiet - 1;
			continue;
		}
		if (arm == !!r->armed_ns) {
			walk_skip_region(w);
			continue;
		}
		if (op == WSMON_SAMPLE_DROP && !r->due)
			v = WSMON_SAMPLE_CHECK;
		if (!walk_keep_lock(w))
			break;
		looks += r->n[1] ? 2 : 1;
		walk_sample_region(w, r, v, op == WSMON_SAMPLE_DROP, now);
		if (unlikely(w->busy)) {
			w->busy = false;
			w->missed++;
			continue;
		}
		r->looked_ns = w->notes_until ? ktime_get_ns() : begin;
		r->looked = v != WSMON_SAMPLE_ARM;
		if (v == WSMON_SAMPLE_ARM)
			r->armed_ns = now;
		else if (v == WSMON_SAMPLE_DROP)
			r->dropped = 1;
		r->last = op == WSMON_SAMPLE_DROP;
	}
	w->looks = looks;
	return i < rs->nr ? r - rs->r : rs->nr;
}

/**
 * wsmon_walk_pass - sample the pages of a target once
 * @ss:		the session
 * @t:		the target
 * @mm:		its mm, with a reference on mm_count
 * @op:		WSMON_SAMPLE_ARM: arm regions at rest;
 *		WSMON_SAMPLE_CHECK: check armed regions;
 *		WSMON_SAMPLE_DROP: check armed regions for the last time in the
 *		interval, which sets @last, and drop the samples of those with @due,
 *		which sets @dropped
 * @now:	the time that accesses found are given
 *
 * If the mmap lock stays busy, the pass ends early and is counted as missed. The next
 * pass begins with the first region that was not sampled.
 * Context: may sleep, wsmon.lock held.
 */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now)
{
	struct wsmon_walk w = {
		.pass = { .member = t->member, .mm = mm, .session = ss },
		.reclaimed = t->reclaimed,
		.tries = WSMON_LOCK_TRIES,
		.maps_old = wsmon_maps_old(),
	};
	u32 nr = t->regions.nr, at = t->resume < nr ? t->resume : 0;
	bool arm = op == WSMON_SAMPLE_ARM;
	u64 begin = ktime_get_ns();

	w.pass.settle = op == WSMON_SAMPLE_DROP ||
			 (!arm && now - t->settled_ns >= SETTLE_NS);
	if (w.pass.settle)
		t->settled_ns = now;
	w.begin_ns = begin;
	/* rounds that are left out, or late, leave a gap */
	w.near_ns = 2 * wsmon_sample_ns(ss);
	w.recent_ns = now - min(now, ss->mon->attrs.windows_us[0] * NSEC_PER_USEC);
	w.notes_until = walk_notes_until(&w.pass);
	if (arm)
		at = walk_regions(&w, &t->regions, at, WSMON_SAMPLE_ARM, begin, now);
	else if (op == WSMON_SAMPLE_DROP)
		at = walk_regions(&w, &t->regions, at, WSMON_SAMPLE_DROP, begin, now);
	else
		at = walk_regions(&w, &t->regions, at, WSMON_SAMPLE_CHECK, begin, now);
	t->resume = at < nr ? at : 0;
	ss->stats.missed += w.missed + (at < nr && wsmon_mm_busy(mm));
	*(arm ? &t->arm_again : &t->check_again) = w.missed || at < nr;
	wsmon_walk_unlock(&w);
	if (arm)
		ss->stats.arms += w.looks;
	else
		ss->stats.checks += w.looks;
	ss->stats.walk_ns += ktime_get_ns() - begin;
	wsmon_tlb_finish(&w.pass);
}

/**
 * wsmon_walk_visits - look at pages of a process, each as its visit says
 * @ss:		the session
 * @m:		the process; NULL if it has ended: then nothing is changed
 * @mm:		its mm, with a reference on mm_count
 * @v:		the visits, by ascending address; @looked_ns, @seen, @done, @around, @place and
 *		@frame are set
 * @nr:		number of visits
 * @settle:	an interval ends: pay debts to reclaim
 *
 * If the mmap lock stays busy, the remaining visits are not done.
 * Context: may sleep, wsmon.lock held.
 */
void wsmon_walk_visits(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, struct wsmon_visit *v, u32 nr, bool settle)
{
	struct wsmon_walk w = {
		.pass = { .member = m, .mm = mm, .session = ss, .settle = settle },
		.tries = WSMON_LOCK_TRIES,
		.frames = true,
		.maps_old = wsmon_maps_old(),
	};
	u64 begin = ktime_get_ns();
	u32 i;

	/* groups find out what each entry maps: the quick way does not */
	w.notes_until = walk_notes_until(&w.pass);
	for (i = 0; i < nr; i++)
		v[i].done = false;
	for (i = 0; i < nr; i++, v++) {
		if (v->skip)
			continue;
		if (!walk_keep_lock(&w))
			break;
		w.text = false;
		w.pass.since = v->looked_ns < w.notes_until ? v->looked_ns : 0;
		v->seen = wsmon_walk_sample(&w, v->vpn << PAGE_SHIFT, v->op, &v->debt);
		v->done = !w.busy;
		if (v->done)
			v->looked_ns = w.notes_until ? ktime_get_ns() : begin;
		ss->stats.missed += w.busy;
		w.busy = false;
		v->mapped = w.mapped;
		v->none = w.none;
		v->around = w.around;
		v->text = w.text;
		v->place = w.place;
		v->anon = w.anon;
		v->exclusive = w.exclusive;
		if (v->seen)
			v->times = w.times;
		v->pfn = w.delta + v->vpn;
		if (v->op == WSMON_SAMPLE_ARM)
			ss->stats.arms++;
		else
			ss->stats.checks++;
	}
	wsmon_walk_unlock(&w);
	if (i < nr)
		ss->stats.missed += wsmon_mm_busy(mm);
	ss->stats.walk_ns += ktime_get_ns() - begin;
	wsmon_tlb_finish(&w.pass);
}
