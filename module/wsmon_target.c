// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_target.c - a round of one target, and the end of its aggregation interval
 *
 * kwsmond calls all functions with the monitor's lock held; they may sleep. A round checks all
 * sample pages if the target ran since the last round. A round at the end of an aggregation
 * interval has these steps:
 *
 *	drop	check all samples; do not clear the bits of samples that have served
 *	learn	from the accesses found; read the mappings if they changed; sample new
 *		memory; estimate; write the records
 *	adapt	the regions: follow the mappings, split and merge
 *	arm	new samples: draw positions, clear Accessed bits
 *
 * Memory that appeared since the mappings were last read was not accessed before, and its page
 * tables show all accesses since. So new memory is sampled when it is first seen, and the estimate
 * of an interval includes memory that was mapped during the interval.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "wsmon_group.h"

/* Reading mappings may take at most 1 / READ_SHARE of the time, */
#define READ_SHARE	64U
/* and at most half of the CPU budget: cpu_permille / READ_BUDGET of the time */
#define READ_BUDGET	2000U

/* A program is young for this many aggregation intervals */
#define YOUNG		3U

/* Tell whether @ns have passed since @since, give or take half a sampling interval. */
static bool interval_elapsed(const struct wsmon_session *ss, u64 since, u64 now, u64 ns)
{
	return now - since + wsmon_slack_ns(ss) >= ns;
}

/* Find the first window that covers a program's whole life. Return: nr_windows if none does. */
static u32 target_first_whole_window(const struct wsmon_target *t, u64 now)
{
	const struct wsmon_session *ss = t->session;
	u32 k;

	for (k = 0; k < ss->mon->attrs.nr_windows; k++) {
		if (t->born_ns &&
		    now - t->born_ns <= wsmon_window_ns(ss, k) + wsmon_slack_ns(ss))
			break;
	}
	return k;
}

static void interval_report(struct wsmon_session *ss, const struct wsmon_target *t,
			    u32 first_window, u64 now)
{
	u64 start = ktime_get_ns();

	wsmon_stream_snapshot(t, now);
	wsmon_stream_wss(t, first_window, now);
	ss->stats.emit_ns += ktime_get_ns() - start;
}

/*
 * Read the mappings into ss->space if they changed, or if update_us has passed, unless reading
 * would take too much of the time. If they cannot be read, the next boundary tries again. If the
 * target has not run since the last reading, they have not changed.
 * Return: true if they changed.
 */
static bool target_read_mappings(struct wsmon_session *ss, struct wsmon_target *t,
				 struct mm_struct *mm, u64 now)
{
	u32 share = max(READ_SHARE, READ_BUDGET / ss->cpu_permille);
	u64 began = ktime_get_ns(), stamp = wsmon_vaddr_stamp(mm), rss = get_mm_rss(mm);
	/* a young program maps most of its memory now, so reading is worth any time */
	bool young = t->born_ns && now - t->born_ns < YOUNG * wsmon_aggr_ns(ss);
	int ret = 0;

	t->blind = 0;
	if (t->updated_ns) {
		if (!young && !interval_elapsed(ss, t->updated_ns, now, share * t->read_ns)) {
			t->blind = stamp != t->stamp && rss > t->rss ? rss - t->rss : 0;
			return false;
		}
		if (!interval_elapsed(ss, t->updated_ns, now,
				      ss->mon->attrs.update_us * NSEC_PER_USEC) &&
		    stamp == t->stamp) {
			t->known_ns = now;
			t->mapped_ns = began;
			return false;
		}
	}
	if (t->ran_since_read || !t->updated_ns)
		ret = wsmon_vaddr_read(ss, t, mm);
	if (ret < 0) {
		t->blind = !t->updated_ns ? rss : rss > t->rss ? rss - t->rss : 0;
		return false;
	}
	t->mapped_ns = began;
	t->ran_since_read = false;
	/* read the mappings again if they changed meanwhile, perhaps back to the earlier state */
	t->stamp = wsmon_vaddr_stamp(mm) == stamp ? stamp : 0;
	t->rss = rss;
	if (ret)
		return true;
	/* unchanged mappings count as read, too: memory found later is new since now */
	t->updated_ns = now;
	t->known_ns = now;
	return false;
}

/* Make the regions follow the mappings in ss->space. */
static void target_adopt_mappings(struct wsmon_session *ss, struct wsmon_target *t, u64 now)
{
	u64 origin = t->updated_ns ? t->known_ns : t->born_ns;
	u32 i;

	t->updated_ns = now;
	t->known_ns = now;
	swap(t->space, ss->space);
	wsmon_regions_fit(&t->regions, &t->space, now, origin);
	wsmon_stream_areas(t);
	for (i = 0; i < ss->nr_targets; i++) {
		if (&ss->targets[i] != t && wsmon_target_data(&ss->targets[i]) == t)
			wsmon_stream_areas(&ss->targets[i]);
	}
}

/* Adapt the regions; draw and arm samples. */
static void interval_place_samples(struct wsmon_session *ss, struct wsmon_target *t,
				   struct mm_struct *mm, u64 now)
{
	u64 start = ktime_get_ns(), round = now;

	wsmon_regions_adapt(&t->regions, &t->space, &ss->adapt);
	wsmon_regions_draw(&t->regions, &t->space, &ss->mon->attrs, t->salt, ss->epoch);
	/* samples serve from here on; on a busy machine the work above may have taken long */
	now = ktime_get_ns();
	ss->stats.adapt_ns += now - start;
	wsmon_walk_pass(ss, t, mm, WSMON_SAMPLE_ARM, now);
	t->arming_ns = ktime_get_ns() - now;
	t->interval_ns = now;
	ss->armed_ns = now;
	/* mappings that were read in this round count as read when samples are armed */
	if (t->updated_ns == round)
		t->updated_ns = now;
	if (t->known_ns == round)
		t->known_ns = now;
	t->rounds = 0;
	t->idle = 0;
}

/*
 * Estimate working set sizes. @changed: @ss->space may have pages that @t->space lacks; they
 * appeared after @since
 */
static void interval_estimate(struct wsmon_session *ss, struct wsmon_target *t,
			      struct mm_struct *mm, bool changed, u64 since,
			      const struct wsmon_interval *iv)
{
	u64 now = iv->now, start, guest = wsmon_mm_unseen_pages(mm), before[WSMON_NR_WSS];
	u64 age = ktime_get_ns() - since;
	struct wsmon_fresh *f = NULL;
	u32 k, c;

	if (changed) {
		f = &ss->fresh;
		wsmon_fresh_draw(f, &ss->space, &t->space,
				 wsmon_hash64(ss->mon->attrs.seed ^ t->salt ^ ss->epoch),
				 WSMON_FRESH_MAX);
		wsmon_visit_new(ss, mm, f, since);
	} else if (t->blind) {
		f = &ss->fresh;
		memset(f, 0, sizeof(*f));
		f->pages[WSMON_CLASS_MIXED] = t->blind;
	}
	t->went.late = wsmon_counts_late(&t->balance, mm);
	wsmon_gone_add(&t->gone_past, iv, t->went, &t->regions, &t->space);
	/* do not pass NULL: that would take the sum of all members, which is the group's */
	if (t->member)
		wsmon_gone_left(&t->gone_past, wsmon_members_left(ss, t->member));
	start = ktime_get_ns();
	for (k = 0; k < ss->mon->attrs.nr_windows; k++) {
		/* in a window that covers the target's whole life, all of its memory is new */
		if (f) {
			bool part = k < target_first_whole_window(t, now);

			f->late = part && now - t->known_ns >
				  wsmon_window_ns(ss, k) + wsmon_slack_ns(ss);
			f->early = part ? wsmon_part_before(age, wsmon_window_ns(ss, k)) : 0;
		}
		for (c = 0; c < WSMON_NR_WSS; c++)
			before[c] = t->wss[k][c].pages;
		wsmon_wss_estimate(&t->regions, &t->space, f, k, t->wss[k]);
		if (!k)
			t->half = (t->wss[0]->high - t->wss[0]->low) / 2;
		for (c = 0; c < WSMON_NR_WSS; c++) {
			wsmon_wss_moved(&t->wss[k][c], before[c], t->regions.late);
			wsmon_wss_widen(&t->wss[k][c], guest,
					wsmon_class_is_anon(c) ? 0 : t->twice);
		}
		wsmon_wss_add_blind(t->wss[k], t->blind);
		wsmon_wss_add_went(t->wss[k], wsmon_gone_within(&t->gone_past, iv, k));
		cond_resched();
	}
	ss->stats.adapt_ns += ktime_get_ns() - start;
}

/*
 * Evaluate the interval that ends: drop samples, learn, estimate.
 * Return: true if the mappings changed; then the new ones are in ss->space.
 */
static bool interval_observe(struct wsmon_session *ss, struct wsmon_target *t,
			     struct mm_struct *mm, u64 now)
{
	/* a target that slept all the time keeps its samples, and its mappings have not changed */
	bool slept = t->idle == t->rounds && !t->drop_all && t->updated_ns;
	struct wsmon_interval iv;
	u64 since = t->updated_ns ? t->mapped_ns : t->born_ns;
	bool changed;
	u32 i;

	t->active_intervals += !slept;
	t->ran_since_read |= !slept;
	iv = wsmon_interval_describe(ss, t->interval_ns, now);
	iv.idle = t->idle;
	iv.active = t->active_intervals;
	iv.drop_all = t->drop_all;
	if (!slept) {
		for (i = 0; i < t->regions.nr; i++) {
			wsmon_loop_resched(i);
			t->regions.r[i].due = wsmon_region_due(&t->regions, i, &iv);
		}
		wsmon_walk_pass(ss, t, mm, WSMON_SAMPLE_DROP, now);
		wsmon_regions_edge(&t->regions, &iv, t->arming_ns, ktime_get_ns() - now);
	}
	wsmon_regions_learn(&t->regions, &iv, slept);
	wsmon_runs_learn(&t->regions, &t->space);
	changed = target_read_mappings(ss, t, mm, now);
	interval_estimate(ss, t, mm, changed, since, &iv);
	wsmon_regions_note(&t->regions, &iv);
	if (changed)
		wsmon_gone_drop(&t->gone_past, &iv, &t->regions, &ss->space);
	return changed;
}

static void target_check_secondary_mmu(struct wsmon_target *t, struct mm_struct *mm)
{
	if (t->secondary_mmu || !wsmon_mm_has_secondary(mm))
		return;
	t->secondary_mmu = true;
	wsmon_stream_target(t, WSMON_TARGET_AGAIN);
}

static void interval_end(struct wsmon_session *ss, struct wsmon_target *t,
			 struct mm_struct *mm, u64 now)
{
	bool changed = interval_observe(ss, t, mm, now);
	u32 i;

	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *also = &ss->targets[i];

		if (also->gone || wsmon_target_data(also) != t)
			continue;
		target_check_secondary_mmu(also, mm);
		wsmon_events_interval(ss, also, now);
		interval_report(ss, also, 0, now);
	}
	if (target_first_whole_window(t, now) == ss->mon->attrs.nr_windows)
		wsmon_member_forget(t->member, mm);
	wsmon_regions_rest(&t->regions);
	t->drop_all = false;
	if (changed)
		target_adopt_mappings(ss, t, now);
	interval_place_samples(ss, t, mm, now);
}

/* Make the first regions. If the mmap lock is busy, the next round tries again. */
static void target_begin_regions(struct wsmon_session *ss, struct wsmon_target *t,
				 struct mm_struct *mm, u64 now)
{
	if (target_read_mappings(ss, t, mm, now))
		target_adopt_mappings(ss, t, now);
	interval_place_samples(ss, t, mm, now);
}

/*
 * Note how much anonymous memory a target has; at the end of an interval (@end), also how much
 * disappeared in it.
 */
static void target_count(struct wsmon_session *ss, struct wsmon_target *t, struct mm_struct *mm,
			 bool end)
{
	struct wsmon_counts counts;

	if (!end) {
		wsmon_balance_look(&t->balance, wsmon_mm_anon(mm));
		return;
	}
	wsmon_counts_read(ss, t->member, mm, t->minors, t->wss[0], &counts);
	t->went = wsmon_balance_end(&t->balance, &counts);
}

/* Forget regions, mappings and estimates of a target, and end its peaks. */
static void target_forget(struct wsmon_session *ss, struct wsmon_target *t)
{
	wsmon_events_restart(ss, t);
	t->regions.nr = 0;
	t->space.nr_ext = 0;
	t->space.nr_area = 0;
	t->updated_ns = 0;
	memset(t->wss, 0, sizeof(t->wss));
	memset(&t->balance, 0, sizeof(t->balance));
}

/* Begin with a target, or with a new program in it. */
static void target_begin(struct wsmon_session *ss, struct wsmon_target *t,
			 struct mm_struct *mm, u64 born_ns, u64 now)
{
	u32 flags = t->interval_ns ? WSMON_TARGET_EXEC : WSMON_TARGET_START;

	target_forget(ss, t);
	t->twin = NULL;
	t->majors_before = t->majors;
	t->ran_since_read = true;
	t->read_ns = 0;
	/* exec may be later than the beginning of this round */
	t->born_ns = min(born_ns, now);
	t->secondary_mmu = wsmon_mm_has_secondary(mm);
	target_count(ss, t, mm, true);
	wsmon_stream_target(t, flags);
	target_begin_regions(ss, t, mm, now);
}

/*
 * Note when a program began. A round in the middle of exec finds the new mm, of which little was
 * accessed yet, before the probe at the end of exec reports the time.
 */
static void target_learn_birth(struct wsmon_target *t, u64 born_ns, u64 now)
{
	u32 i;

	if (t->born_ns || !born_ns)
		return;
	t->born_ns = min(born_ns, now);
	for (i = 0; i < t->regions.nr; i++) {
		wsmon_loop_resched(i);
		t->regions.r[i].origin_ns = t->born_ns;
	}
}

/* Let a target follow another one with the same mm, which is then sampled for both. */
static void target_follow_twin(struct wsmon_session *ss, struct wsmon_target *t,
			       struct wsmon_target *twin, struct mm_struct *mm, u64 now)
{
	u32 flags = t->interval_ns ? WSMON_TARGET_EXEC : WSMON_TARGET_START;

	target_forget(ss, t);
	wsmon_member_forget(t->member, mm);
	t->twin = twin;
	t->secondary_mmu = wsmon_mm_has_secondary(mm);
	t->interval_ns = now;
	wsmon_stream_target(t, flags);
	wsmon_stream_areas(t);
}

/*
 * Estimate the working set of a program that has ended, for the windows that cover its whole life.
 * @mm was kept since the program began, and no thread runs in it any more.
 */
static void target_last_look(struct wsmon_session *ss, struct wsmon_target *t,
			     struct mm_struct *mm, u64 now)
{
	u32 first;

	if (t->mm != mm || t->exec_id != t->member->exec_id) {
		/* it ended before a round could notice that it began */
		t->mm = mm;
		t->exec_id = t->member->exec_id;
		memcpy(t->comm, t->member->comm, sizeof(t->comm));
		target_begin(ss, t, mm, t->member->born_ns, now);
		now = ktime_get_ns();
	}
	target_learn_birth(t, t->member->born_ns, now);
	first = target_first_whole_window(t, now);
	if (t->twin || first == ss->mon->attrs.nr_windows)
		return;
	t->drop_all = true;
	/* the fault counts of its threads are gone */
	t->minors = U64_MAX;
	target_count(ss, t, mm, true);
	/* read the mappings at any cost: this is the last chance */
	t->read_ns = 0;
	interval_observe(ss, t, mm, now);
	interval_report(ss, t, first, now);
}

static void target_gone(struct wsmon_session *ss, struct wsmon_target *t, u64 now)
{
	struct mm_struct *kept;

	wsmon_group_exit(ss, t->member, now);
	kept = wsmon_member_look(t->member);
	if (kept)
		target_last_look(ss, t, kept, now);
	target_forget(ss, t);
	t->twin = NULL;
	t->gone = true;
	ss->nr_alive--;
	wsmon_members_remove(ss, t->member);
	wsmon_stream_exited(t);
}

/* Do a round within an interval, and make up for what a busy mmap lock prevented before. */
static void target_check_samples(struct wsmon_session *ss, struct wsmon_target *t,
				 struct mm_struct *mm, bool ran, u64 now)
{
	/* check before arming: samples armed in this round have nothing to report */
	if (ran)
		wsmon_walk_pass(ss, t, mm, WSMON_SAMPLE_CHECK, now);
	if (!t->updated_ns) {
		target_begin_regions(ss, t, mm, now);
		ss->first = true;
	} else if (t->arm_again) {
		wsmon_walk_pass(ss, t, mm, WSMON_SAMPLE_ARM, now);
	}
}

/*
 * Tell whether another target uses an mm now, and its regions describe this mm. The target may have
 * left the mm since its last look: then another program may have an mm at the same address.
 */
static bool target_has_mm(const struct wsmon_target *other, const struct mm_struct *mm)
{
	struct mm_struct *present;
	u64 exec_id = 0;

	if (other->mm != mm || !other->member)
		return false;
	present = wsmon_member_mm(other->member, &exec_id);
	if (present)
		mmdrop(present);
	return present == mm && exec_id == other->exec_id;
}

/* Find an earlier target with the same mm, after clone(CLONE_VM) or vfork(). */
static struct wsmon_target *target_find_twin(struct wsmon_session *ss,
					     const struct wsmon_target *t,
					     const struct mm_struct *mm)
{
	struct wsmon_target *other;

	for (other = ss->targets; other < t; other++) {
		if (!other->gone && !other->twin && target_has_mm(other, mm))
			return other;
	}
	return NULL;
}

/* Do a round of a target that has an mm. Return: false if it has not run since the last round. */
static bool target_sample(struct wsmon_session *ss, struct wsmon_target *t,
			  struct mm_struct *mm, bool changed, bool boundary, u64 now)
{
	struct wsmon_target *twin = target_find_twin(ss, t, mm);
	bool ran;

	if (twin) {
		if (changed || t->twin != twin)
			target_follow_twin(ss, t, twin, mm, now);
		return false;
	}
	changed |= !!t->twin;
	if (!changed)
		target_learn_birth(t, wsmon_member_born(t->member, mm), now);
	/* ask before samples are checked: the next round finds accesses that happen meanwhile */
	ran = wsmon_target_ran(t, mm) || t->check_again;
	if (!changed && (ran || boundary))
		target_count(ss, t, mm, boundary);
	t->rounds++;
	if (!ran && !changed) {
		t->idle++;
		ss->stats.idle_rounds++;
	}
	if (changed) {
		target_begin(ss, t, mm, wsmon_member_born(t->member, mm), now);
		ss->first = true;
	} else if (boundary) {
		t->reclaimed = wsmon_target_reclaimed(t);
		interval_end(ss, t, mm, now);
	} else {
		target_check_samples(ss, t, mm, ran, now);
	}
	return ran;
}

/**
 * wsmon_target_round - do a round of a target
 * @ss:		the session
 * @t:		the target, not gone
 * @now:	the time
 * @boundary:	an aggregation interval ends
 *
 * Context: the monitor's lock held, may sleep.
 * Return: false if the target has not run since the last round, or needs no look of its own.
 */
bool wsmon_target_round(struct wsmon_session *ss, struct wsmon_target *t, u64 now, bool boundary)
{
	struct mm_struct *mm;
	bool changed, ran;

	/* clear this before the look: a later call needs another look */
	xchg(&t->called, false);
	mm = wsmon_target_mm(t, &changed);
	if (!mm) {
		target_gone(ss, t, now);
		return false;
	}
	ran = target_sample(ss, t, mm, changed, boundary, now);
	mmdrop(mm);
	return ran;
}

/**
 * wsmon_target_leave - drop all samples of a target, and pay their debts to reclaim
 * @ss:	the session
 * @t:	the target
 *
 * Context: the monitor's lock held, may sleep.
 */
void wsmon_target_leave(struct wsmon_session *ss, struct wsmon_target *t)
{
	struct mm_struct *mm;
	bool changed;
	u32 i;

	if (t->gone)
		return;
	mm = wsmon_target_mm(t, &changed);
	if (!mm)
		return;
	for (i = 0; i < t->regions.nr; i++) {
		wsmon_loop_resched(i);
		t->regions.r[i].due = 1;
	}
	if (!changed)
		wsmon_walk_pass(ss, t, mm, WSMON_SAMPLE_DROP, ktime_get_ns());
	mmdrop(mm);
}
