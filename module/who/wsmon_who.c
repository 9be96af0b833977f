// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_who.c - the second sampler: who touches the pages of targets
 *
 * After a round, kwsmond reports the faults that were seen, restores pages that did not
 * fault for an aggregation interval, and arms others: at most who_rate a second. A page is
 * drawn by the regions of the first sampler, more often where these are in use, and stands
 * for so many pages more where it is drawn less often.
 *
 * Called with the monitor's lock held, if nothing else is said; may sleep.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "wsmon_who.h"

/* Attempts at busy mmap locks, together, when the session ends: about two seconds */
#define WHO_LAST_TRIES	20000U
/* Pages that are drawn in a round: a tenth of a second's at the highest rate */
#define WHO_ROUND	1000U
/* The same if no CPU time is left */
#define WHO_ROUND_SHORT	64U
/* A region that seems not to be in use is drawn at this share of the rate of one that is */
#define WHO_IDLE	(WSMON_ONE / 16)

/** wsmon_who_possible - tell whether there are hint faults on this kernel and machine */
bool wsmon_who_possible(void)
{
	return wsmon_hint_possible() && wsmon_fault_possible();
}

/**
 * wsmon_who_begin - make a session ready for hint faults
 * @ss:	the session
 *
 * Context: the monitor's ctl held, but not its lock.
 * Return: 0; -EOPNOTSUPP if there are none on this kernel or machine; -ENOMEM.
 */
int wsmon_who_begin(struct wsmon_session *ss)
{
	struct wsmon_who *w = ss->who;
	bool ended;
	int err;

	if (!w) {
		if (!wsmon_who_possible())
			return -EOPNOTSUPP;
		w = kvzalloc(sizeof(*w), GFP_KERNEL);
		if (!w)
			return -ENOMEM;
		w->ns = ss->ns;
	}
	err = wsmon_fault_begin(w);
	if (err) {
		if (!ss->who)
			kvfree(w);
		return err;
	}
	/* kwsmond may run, and may end the session meanwhile: one of the two ends the probe */
	mutex_lock(&ss->mon->lock);
	WRITE_ONCE(ss->who, w);
	ended = ss->ended;
	mutex_unlock(&ss->mon->lock);
	if (ended)
		wsmon_fault_end(w);
	return 0;
}

/**
 * wsmon_who_end - undo wsmon_who_begin(): no probe is attached for the session any more
 * @ss:	the session; it has ended, or has no who_rate
 *
 * Context: the monitor's ctl held, or its thread; but not its lock.
 */
void wsmon_who_end(struct wsmon_session *ss)
{
	struct wsmon_who *w = READ_ONCE(ss->who);

	if (!w)
		return;
	mutex_lock(&ss->mon->lock);
	if (!ss->ended)
		wsmon_who_leave(ss);
	mutex_unlock(&ss->mon->lock);
	wsmon_fault_end(w);
}

/**
 * wsmon_who_free - free what wsmon_who_begin() allocated
 * @ss:	the session; its thread has called wsmon_who_leave(), or never ran
 *
 * Context: the monitor's lock not held.
 */
void wsmon_who_free(struct wsmon_session *ss)
{
	if (!ss->who)
		return;
	wsmon_fault_end(ss->who);
	kvfree(ss->who);
	ss->who = NULL;
}

static void who_free_slot(struct wsmon_who *w, u32 i)
{
	WRITE_ONCE(w->keys[i], 0);
	atomic_set(&w->slots[i].state, WSMON_WHO_FREE);
	w->live--;
}

/* End the wait of a slot. A probe writes for a moment only. Return: was a fault seen? */
static bool who_end(struct wsmon_who_slot *s)
{
	int state;

	while ((state = atomic_read_acquire(&s->state)) == WSMON_WHO_ARMED ||
	       state == WSMON_WHO_BUSY) {
		if (state == WSMON_WHO_ARMED &&
		    atomic_cmpxchg(&s->state, state, WSMON_WHO_FREE) == state)
			return false;
		cpu_relax();
		cond_resched();
	}
	return state == WSMON_WHO_SEEN;
}

/* If no fault was seen, the entry was restored before: later accesses do not fault. */
static void who_finish(struct wsmon_session *ss, u32 i)
{
	struct wsmon_who_slot *s = &ss->who->slots[i];

	if (who_end(s)) {
		ss->stats.who_seen++;
		wsmon_stream_who(&ss->targets[s->target], s);
	}
	who_free_slot(ss->who, i);
}

static int who_compare(const void *a, const void *b, const void *private)
{
	const struct wsmon_who_slot *slots = private;
	const struct wsmon_who_slot *s = &slots[*(const u32 *)a], *t = &slots[*(const u32 *)b];

	if (s->target != t->target)
		return s->target < t->target ? -1 : 1;
	return s->vpn < t->vpn ? -1 : s->vpn > t->vpn;
}

/*
 * Report faults that were seen, and restore pages whose time is over. The kernel repairs an
 * entry whose fault was seen; not if the thread was killed before, then the next fault does.
 * @target:	of this target, or, if it is nr_targets, of all
 * @now:	pages that were armed an aggregation interval before are over; U64_MAX: all are
 * @tries:	attempts at busy mmap locks, counted down; what is left then waits on
 */
static void who_collect(struct wsmon_session *ss, u32 target, u64 now, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u32 i, nr = 0, end, done;

	for (i = 0; i < WSMON_WHO_SLOTS; i++) {
		struct wsmon_who_slot *s = &w->slots[i];

		if (!w->keys[i] || (target < ss->nr_targets && s->target != target))
			continue;
		if (atomic_read(&s->state) == WSMON_WHO_SEEN)
			who_finish(ss, i);
		else if (now == U64_MAX || now - s->armed_ns >= wsmon_aggr_ns(ss))
			w->order[nr++] = i;
	}
	sort_r(w->order, nr, sizeof(*w->order), who_compare, NULL, w->slots);
	for (i = 0; i < nr; i = end) {
		u32 t = w->slots[w->order[i]].target;

		for (end = i; end < nr && w->slots[w->order[end]].target == t; end++)
			;
		done = wsmon_hint_restore(ss, w->mm[t], w->order + i, end - i, tries);
		for (; done; done--, i++)
			who_finish(ss, w->order[i]);
	}
}

/* Leave the address space of a target. What cannot be restored now repairs itself. */
static void who_leave_mm(struct wsmon_session *ss, u32 target, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u32 i;

	if (!w->mm[target])
		return;
	who_collect(ss, target, U64_MAX, tries);
	for (i = 0; i < WSMON_WHO_SLOTS; i++) {
		if (w->keys[i] && w->slots[i].target == target)
			who_finish(ss, i);
	}
	mmdrop(w->mm[target]);
	w->mm[target] = NULL;
}

/* Notice targets that ended, or executed another program. */
static void who_follow(struct wsmon_session *ss, unsigned int *tries)
{
	struct wsmon_who *w = ss->who;
	u32 i;

	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];
		struct mm_struct *mm = NULL;
		u64 exec_id;

		if (!t->gone && !t->twin && t->member)
			mm = wsmon_member_mm(t->member, &exec_id);
		if (mm != w->mm[i])
			who_leave_mm(ss, i, tries);
		/* its regions are of this address space from the next round on */
		if (mm && !w->mm[i] && mm == t->mm)
			w->mm[i] = mm;
		else if (mm)
			mmdrop(mm);
	}
}

static u64 who_region_pages(const struct wsmon_region *r)
{
	return r->n[0] + r->n[1];
}

/* How often a page of a region is drawn, in relation to others */
static u32 who_region_rate(const struct wsmon_region *r)
{
	return max_t(u32, wsmon_region_share(r), WHO_IDLE);
}

static u64 who_measure(const struct wsmon_session *ss)
{
	u64 sum = 0;
	u32 i, j;

	for (i = 0; i < ss->nr_targets; i++) {
		const struct wsmon_regions *rs = &ss->targets[i].regions;

		if (!ss->who->mm[i])
			continue;
		for (j = 0; j < rs->nr; j++)
			sum += who_region_pages(&rs->r[j]) * who_region_rate(&rs->r[j]);
	}
	return sum;
}

/* A page that waits already: who touches it first is the answer to this draw, too. */
static void who_draw_again(struct wsmon_who_slot *s, u64 pages)
{
	int state = atomic_read(&s->state);

	if (state == WSMON_WHO_FREE || state == WSMON_WHO_ARMED)
		s->pages += pages;
}

/*
 * Reserve a slot for a page that stands for @pages, in 1/256.
 * Return: its number; WSMON_WHO_SLOTS if there is none, or the page has one.
 */
static u32 who_reserve(struct wsmon_who *w, u32 target, u64 vpn, u64 pages, u64 now)
{
	u64 key = wsmon_who_key(w->mm[target], vpn);
	u32 place = wsmon_who_place(key), found = WSMON_WHO_SLOTS, i;

	for (i = place; i < place + WSMON_WHO_WAYS; i++) {
		if (w->keys[i] == key) {
			who_draw_again(&w->slots[i], pages);
			return WSMON_WHO_SLOTS;
		}
		if (!w->keys[i])
			found = i;
	}
	if (found == WSMON_WHO_SLOTS)
		return found;
	w->slots[found].mm = w->mm[target];
	w->slots[found].vpn = vpn;
	w->slots[found].target = target;
	w->slots[found].pages = pages;
	w->slots[found].armed_ns = now;
	/* the state is FREE: no probe writes to it yet */
	WRITE_ONCE(w->keys[found], key);
	w->live++;
	return found;
}

/* Arm pages of a target whose slots are reserved. */
static void who_arm(struct wsmon_session *ss, u32 target, u32 nr)
{
	struct wsmon_who *w = ss->who;
	u32 done, i;

	done = wsmon_hint_arm(ss, w->mm[target], w->order, nr);
	for (i = 0; i < nr; i++) {
		struct wsmon_who_slot *s = &w->slots[w->order[i]];

		if (i < done && s->hint == WSMON_HINT_SET) {
			ss->stats.who_armed++;
			continue;
		}
		if (i < done && (s->hint == WSMON_HINT_ABSENT || s->hint == WSMON_HINT_TAKEN)) {
			ss->stats.who_absent++;
			continue;
		}
		ss->stats.who_huge += i < done && s->hint == WSMON_HINT_HUGE;
		ss->stats.who_skipped += i >= done || s->hint == WSMON_HINT_BARRED;
		who_free_slot(w, w->order[i]);
	}
}

/* Pages that one drawn at each @step stands for, in 1/256 */
static u64 who_weight(u64 step, u64 rate)
{
	return step >> 56 ? div64_u64(step, rate) << 8 : div64_u64(step << 8, rate);
}

/*
 * Draw pages: regions are laid end to end, each as long as its pages times its rate, and
 * a page is drawn at each @step, from a random start on.
 */
static void who_draw(struct wsmon_session *ss, u64 step, u64 now)
{
	struct wsmon_who *w = ss->who;
	u64 seed = wsmon_hash64(ss->mon->attrs.seed ^ ss->start_ns);
	u64 next = mul_u64_u64_shr(wsmon_hash64(seed ^ w->draws++), step, 64), at = 0;
	u32 i, j, nr;

	for (i = 0; i < ss->nr_targets; i++) {
		const struct wsmon_target *t = &ss->targets[i];

		if (!w->mm[i])
			continue;
		for (j = 0, nr = 0; j < t->regions.nr; j++) {
			const struct wsmon_region *r = &t->regions.r[j];
			const struct wsmon_area *a = &t->space.area[r->area];
			u64 pages = who_region_pages(r), rate = who_region_rate(r), k;

			for (at += pages * rate; next < at; next += step) {
				u32 slot;

				k = mul_u64_u64_shr(wsmon_hash64(seed ^ w->draws++), pages, 64);
				k += wsmon_area_rank(&t->space, a, r->start);
				slot = who_reserve(w, i, wsmon_area_select(&t->space, a, k),
						   who_weight(step, rate), now);
				if (slot < WSMON_WHO_SLOTS && w->live <= WSMON_WHO_SLOTS / 2)
					w->order[nr++] = slot;
				else if (slot < WSMON_WHO_SLOTS)
					who_free_slot(w, slot);
			}
		}
		who_arm(ss, i, nr);
	}
}

static void who_round(struct wsmon_session *ss, u64 now)
{
	u64 rate = ss->mon->attrs.who_rate, past, due, measure;
	unsigned int tries = WSMON_LOCK_TRIES;
	struct wsmon_who *w = ss->who;

	who_follow(ss, &tries);
	who_collect(ss, ss->nr_targets, now, &tries);
	if (!w->last_ns)
		w->last_ns = now;
	past = min_t(u64, now - w->last_ns, NSEC_PER_SEC);
	due = min_t(u64, div_u64(rate * past, NSEC_PER_SEC), WSMON_WHO_SLOTS / 2 - w->live);
	if (!due)
		return;
	w->last_ns = now;
	due = min_t(u64, due, wsmon_pace_may_check(&ss->pace) ? WHO_ROUND : WHO_ROUND_SHORT);
	measure = who_measure(ss);
	if (measure)
		who_draw(ss, div64_u64(measure, due) + 1, now);
}

/**
 * wsmon_who_round - report, restore and arm
 * @ss:		the session
 * @now:	the time
 *
 * Takes at most a quarter of the time, so that the rounds of the first sampler go on where
 * processors are slow to flush their TLBs.
 */
void wsmon_who_round(struct wsmon_session *ss, u64 now)
{
	struct wsmon_who *w = ss->who;
	u64 end;

	/* without a rate no probe is attached, or soon */
	if (!w || !ss->mon->attrs.who_rate || now < w->rest_ns)
		return;
	who_round(ss, now);
	end = ktime_get_ns();
	w->rest_ns = end + 3 * (end - now);
}

/**
 * wsmon_who_leave - restore all pages, and report the last faults
 * @ss:	the session, at its end, or without a who_rate from here on
 *
 * Context: the monitor's lock held, may sleep.
 */
void wsmon_who_leave(struct wsmon_session *ss)
{
	unsigned int tries = WHO_LAST_TRIES;
	u32 i;

	if (!ss->who)
		return;
	for (i = 0; i < ss->nr_targets; i++)
		who_leave_mm(ss, i, &tries);
	ss->who->last_ns = 0;
}
