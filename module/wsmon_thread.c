// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_thread.c - kwsmond: rounds and aggregation intervals
 *
 * One kernel thread observes all targets. It holds wsmon.lock during a round
 * and sleeps without it. Every sample_us a round checks all sample pages, of
 * targets that ran since the last one; less often to keep within the CPU budget
 * (wsmon_pace.c) and while targets sleep. A round at the end of an aggregation
 * interval also, in this order:
 *
 *	drop	samples that have served: last check, page left as found
 *	learn	what the samples saw; read the mappings if it is time, look at
 *		what is new; estimate, write the records
 *	adapt	follow the mappings, split and merge
 *	arm	draw new positions, clear their Accessed bits
 */
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>

#include "compat.h"
#include "wsmon_internal.h"

/* Reading mappings may take one in so many parts of the time */
#define READ_SHARE	64U
/* and half of the CPU budget */
#define READ_BUDGET	2000U

/* Rounds a target slept through double the time to the next, so often at most */
#define ASLEEP_MAX	8

static u64 sample_ns(void)
{
	return wsmon.attrs.sample_us * NSEC_PER_USEC;
}

static u64 aggr_ns(void)
{
	return wsmon.attrs.aggr_us * NSEC_PER_USEC;
}

static u64 window_ns(u32 k)
{
	return wsmon_attrs_window(&wsmon.attrs, k) * NSEC_PER_USEC;
}

/* Samples stay for as long as the longest window */
static u64 longest_ns(void)
{
	return window_ns(wsmon.attrs.nr_windows - 1);
}

/*
 * Has it been this long? Rounds come at multiples of the sampling interval,
 * give or take: half of one is allowed for.
 */
static bool elapsed(u64 since, u64 now, u64 ns)
{
	return now - since + sample_ns() / 2 >= ns;
}

/* Was it within the last ns? A round at @at saw accesses since the one before. */
static bool lately(u64 at, u64 now, u64 ns)
{
	return at && now - at + sample_ns() / 2 < ns;
}

/*
 * Samples are dropped, to be drawn afresh, when they have served the window.
 * A window longer than an interval spreads that over as many as it takes, of those
 * the target ran in: one that runs once a window would else have the same turn always.
 */
static bool is_due(const struct wsmon_target *t, const struct wsmon_region *r,
		   u64 now)
{
	u64 phases = div64_u64(longest_ns() + aggr_ns() - 1, aggr_ns());

	if (t->drop_all || phases <= 1)
		return true;
	return elapsed(r->armed_ns, now, longest_ns()) &&
	       (r->start * 0x9e3779b97f4a7c15ULL >> 32) % phases ==
	       t->turns % phases;
}

static void learn_region(const struct wsmon_target *t, struct wsmon_region *r,
			 u64 now)
{
	bool x[2];
	u32 h, k;

	/* nothing was accessed at rounds the target slept through */
	r->checks += t->idle * (r->n[1] ? 2 : 1);
	if (!r->checks)
		return;
	for (h = 0; h < 2; h++)
		x[h] = r->n[h] && r->s[h].seen_ns > t->interval_ns;
	wsmon_region_observe(r, x, r->armed_ns >= t->interval_ns, now);

	for (k = 0; k < wsmon.attrs.nr_windows; k++) {
		/* as long as none has served a whole window, tell what is known */
		if (elapsed(r->armed_ns, now, window_ns(k)))
			r->whole |= BIT(k);
		else if (r->whole & BIT(k))
			continue;
		r->known |= BIT(k);
		r->guess &= ~BIT(k);
		for (h = 0; h < 2; h++)
			r->out[k][h] = r->n[h] &&
				       lately(r->s[h].seen_ns, now, window_ns(k)) ?
				       WSMON_ONE : 0;
	}
}

/*
 * Of regions that could not be looked at, as somebody sat on the mmap lock, the last
 * figures stand, and count as quite uncertain.
 */
static void learn(const struct wsmon_target *t, bool slept, u64 now)
{
	u32 i;

	for (i = 0; i < t->regions.nr; i++) {
		struct wsmon_region *r = &t->regions.r[i];

		r->stale = !r->armed_ns || !(r->last || slept);
		if (r->stale)
			r->whole = 0;
		else
			learn_region(t, r, now);
	}
}

/* Samples the pass dropped may be drawn again; counters begin anew. */
static void rest(struct wsmon_target *t)
{
	u32 i;

	for (i = 0; i < t->regions.nr; i++) {
		struct wsmon_region *r = &t->regions.r[i];

		if (r->dropped)
			r->armed_ns = 0;
		r->dropped = 0;
		r->due = 0;
		r->last = 0;
		r->hits = 0;
		r->checks = 0;
	}
	t->drop_all = false;
}

static void emit(const struct wsmon_target *t, u64 now)
{
	u64 start = ktime_get_ns();

	wsmon_stream_snapshot(t, now);
	wsmon_stream_wss(t, now);
	wsmon.session->stats.emit_ns += ktime_get_ns() - start;
}

/*
 * Read the mappings into ss->space if it is time; that may not take more than a
 * small part of it. What could not be had is tried again at the next boundary.
 * If the target has not run since the last time they are as they were.
 * Return: whether they changed.
 */
static bool read_mappings(struct wsmon_session *ss, struct wsmon_target *t,
			  struct mm_struct *mm, u64 now)
{
	u32 share = max(READ_SHARE, READ_BUDGET / wsmon.attrs.cpu_permille);
	u64 every = max(wsmon.attrs.update_us * NSEC_PER_USEC,
			share * t->read_ns);
	int ret;

	if (t->updated_ns && !elapsed(t->updated_ns, now, every))
		return false;
	ret = t->moved || !t->updated_ns ? wsmon_vaddr_read(ss, t, mm) : 0;
	if (ret >= 0)
		t->moved = false;
	/* what is new is new since then: unchanged counts as read, too */
	if (ret == 0)
		t->updated_ns = now;
	return ret > 0;
}

/* Make the regions follow the mappings in ss->space. */
static void adopt(struct wsmon_session *ss, struct wsmon_target *t, u64 now)
{
	t->fresh_ns = t->updated_ns ? now : 0;
	t->updated_ns = now;
	wsmon_vaddr_adopt(ss, t, now);
	wsmon_stream_areas(t);
}

/* Put regions and samples where they belong. */
static void settle(struct wsmon_session *ss, struct wsmon_target *t,
		   struct mm_struct *mm, u64 now)
{
	u64 start = ktime_get_ns(), round = now;
	u32 i;

	wsmon_regions_adapt(&t->regions, &t->space, &ss->adapt);
	for (i = 0; i < t->regions.nr; i++) {
		struct wsmon_region *r = &t->regions.r[i];

		if (!r->armed_ns)
			wsmon_region_draw(&t->space, r, wsmon.attrs.seed,
					  ss->epoch);
	}
	/* on a busy machine all this may have taken long: samples serve from here on */
	now = ktime_get_ns();
	ss->stats.adapt_ns += now - start;
	wsmon_walk_pass(ss, t, mm, WSMON_VISIT_ARM, now);
	t->interval_ns = now;
	/* mappings that were read this round are as old as the samples */
	if (t->updated_ns == round)
		t->updated_ns = now;
	t->rounds = 0;
	t->idle = 0;
}

/* @changed: ss->space has pages that @t->space has not */
static void estimate(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, bool changed, u64 now)
{
	struct wsmon_fresh *f = NULL;
	u64 start;
	u32 k;

	if (changed) {
		f = &ss->fresh;
		wsmon_fresh_draw(f, &ss->space, &t->space,
				 wsmon_hash64(wsmon.attrs.seed ^ ss->epoch));
		wsmon_walk_look(ss, mm, f);
	}
	start = ktime_get_ns();
	for (k = 0; k < wsmon.attrs.nr_windows; k++) {
		if (f)
			f->late = now - t->updated_ns >
				  window_ns(k) + sample_ns() / 2;
		wsmon_wss_estimate(&t->regions, &t->space, f, k,
				   k ? t->wss[k - 1] : NULL, t->wss[k]);
		cond_resched();
	}
	ss->stats.adapt_ns += ktime_get_ns() - start;
}

static void end_interval(struct wsmon_session *ss, struct wsmon_target *t,
			 struct mm_struct *mm, u64 now)
{
	/* if it slept all the time, samples stay, and so did the mappings */
	bool slept = t->idle == t->rounds && !t->drop_all && t->updated_ns;
	bool changed;
	u32 i;

	t->turns += !slept;
	t->moved |= !slept;
	for (i = 0; i < t->regions.nr && !slept; i++)
		t->regions.r[i].due = is_due(t, &t->regions.r[i], now);
	if (!slept)
		wsmon_walk_pass(ss, t, mm, WSMON_VISIT_DROP, now);

	learn(t, slept, now);
	changed = read_mappings(ss, t, mm, now);
	estimate(ss, t, mm, changed, now);
	wsmon_events(ss, t, now);
	emit(t, now);
	rest(t);
	if (changed)
		adopt(ss, t, now);
	settle(ss, t, mm, now);
}

/* The first regions; if the mmap lock is busy there are none yet. */
static void begin_regions(struct wsmon_session *ss, struct wsmon_target *t,
			  struct mm_struct *mm, u64 now)
{
	if (read_mappings(ss, t, mm, now))
		adopt(ss, t, now);
	settle(ss, t, mm, now);
}

/* The first round of a target, and of a new program in it */
static void begin_target(struct wsmon_session *ss, struct wsmon_target *t,
			 struct mm_struct *mm, u64 now)
{
	u32 flags = t->interval_ns ? WSMON_TARGET_EXEC : WSMON_TARGET_START;

	wsmon_events_restart(ss, t);
	t->regions.nr = 0;
	t->space.nr_ext = 0;
	t->space.nr_area = 0;
	t->updated_ns = 0;
	t->moved = true;
	memset(t->wss, 0, sizeof(t->wss));
	t->read_ns = 0;
	wsmon_stream_target(t, flags);
	begin_regions(ss, t, mm, now);
}

static void target_gone(struct wsmon_session *ss, struct wsmon_target *t)
{
	wsmon_events_restart(ss, t);
	t->gone = true;
	t->regions.nr = 0;
	memset(t->wss, 0, sizeof(t->wss));
	ss->nr_alive--;
	wsmon_stream_exited(t);
}

/* A round within an interval; also for what the mmap lock was too busy for before */
static void go_on(struct wsmon_session *ss, struct wsmon_target *t,
		  struct mm_struct *mm, bool ran, u64 now)
{
	if (!t->updated_ns) {
		begin_regions(ss, t, mm, now);
		ss->first = true;
	}
	if (t->arm_again)
		wsmon_walk_pass(ss, t, mm, WSMON_VISIT_ARM, now);
	if (ran)
		wsmon_walk_pass(ss, t, mm, WSMON_VISIT_CHECK, now);
}

/* Return: whether the target may have run since the last round */
static bool round_of(struct wsmon_session *ss, struct wsmon_target *t,
		     u64 now, bool boundary)
{
	struct mm_struct *mm;
	bool changed, ran;

	mm = wsmon_target_mm(t, &changed);
	if (!mm) {
		target_gone(ss, t);
		return false;
	}
	/* before samples are looked at: what it does meanwhile counts next time */
	ran = wsmon_target_ran(t, mm) || t->check_again;
	t->rounds++;
	if (!ran && !changed) {
		t->idle++;
		ss->stats.idle_rounds++;
	}
	if (changed) {
		begin_target(ss, t, mm, now);
		ss->first = true;
	} else if (boundary) {
		end_interval(ss, t, mm, now);
	} else {
		go_on(ss, t, mm, ran, now);
	}
	/* the last user's work is not for this thread to do */
	mmput_async(mm);
	return ran;
}

/* Targets and mappings are told again to a reader who came late. */
static void tell_again(const struct wsmon_session *ss)
{
	u32 i;

	wsmon_stream_attrs();
	for (i = 0; i < ss->nr_targets; i++) {
		if (ss->targets[i].gone)
			continue;
		wsmon_stream_target(&ss->targets[i], WSMON_TARGET_AGAIN);
		wsmon_stream_areas(&ss->targets[i]);
	}
}

/* What the last round took: known only now, as the scheduler counts at switches */
static void account(struct wsmon_session *ss, u64 due, u64 now)
{
	u64 remote = wsmon_tlb_remote_ns() - ss->remote_start_ns;
	u64 cost;

	ss->stats.cpu_ns = current->se.sum_exec_runtime - ss->cpu_start_ns;
	cost = ss->stats.cpu_ns + remote;
	wsmon_pace_spent(&ss->pace, cost - ss->cost_ns, ss->first);
	ss->cost_ns = cost;
	if (now > due)
		wsmon_hist_add(&ss->late, now - due);
	else
		wsmon_hist_add(&ss->late, 0);
}

static void begin_interval(struct wsmon_session *ss, u64 length)
{
	wsmon_pace_next(&ss->pace, &wsmon.attrs, length);
	wsmon_session_share(ss, &wsmon.attrs, ss->pace.share);
	/*
	 * Samples serve from now on, and for an interval at least: a round up
	 * to half a sampling interval before counts as that.
	 */
	ss->boundary_ns = max(ss->boundary_ns, ktime_get_ns()) + aggr_ns();
	if (wsmon_buffer_attached())
		tell_again(ss);
	wsmon_stream_stats(ss);
}

/*
 * When the next round is due: not before the end of the interval if there is no
 * CPU time left, later and later while nobody runs, but never after a window
 * begins or an interval ends.
 */
static u64 next_due(struct wsmon_session *ss, u64 due)
{
	u64 step = ss->pace.step_ns, now = ktime_get_ns(), late, needed;

	/* woken before it was due if the interval became shorter */
	due = min(due, now) + step;
	if (now > due) {
		late = div64_u64(now - due, step) + 1;
		ss->stats.late_rounds += late;
		due += late * step;
	}
	if (step == sample_ns() && !ss->asleep &&
	    wsmon_pace_may_check(&ss->pace))
		return due;
	if (now >= ss->boundary_ns)
		return now;
	needed = ss->boundary_ns -
		 wsmon_pace_needed(&wsmon.attrs, ss->boundary_ns - now);
	if (!wsmon_pace_may_check(&ss->pace))
		return needed;
	due += (step << min(ss->asleep, ASLEEP_MAX)) - step;
	return min(due, needed);
}

/* Return: when the next round is due; 0 if there is nobody left to observe */
static u64 do_round(struct wsmon_session *ss, u64 due)
{
	u64 now = ktime_get_ns(), began = ss->boundary_ns - aggr_ns();
	bool boundary = now + sample_ns() / 2 >= ss->boundary_ns, ran = false;
	u32 i;

	account(ss, due, now);
	ss->poked = false;
	ss->first = boundary;
	if (boundary)
		ss->epoch++;
	for (i = 0; i < ss->nr_targets; i++) {
		if (!ss->targets[i].gone)
			ran |= round_of(ss, &ss->targets[i], now, boundary);
		cond_resched();
	}
	/* the first interval begins when its samples are there, too */
	if (!ss->stats.rounds++)
		ss->boundary_ns = ktime_get_ns() + aggr_ns();
	ss->asleep = ran ? 0 : ss->asleep + 1;
	if (boundary)
		begin_interval(ss, now - began);
	return ss->nr_alive ? next_due(ss, due) : 0;
}

/* Give back what the samples took. */
static void leave_as_found(struct wsmon_session *ss)
{
	u32 i, j;

	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];
		struct mm_struct *mm;
		bool changed;

		if (t->gone)
			continue;
		mm = wsmon_target_mm(t, &changed);
		if (!mm)
			continue;
		for (j = 0; j < t->regions.nr; j++)
			t->regions.r[j].due = 1;
		if (!changed)
			wsmon_walk_pass(ss, t, mm, WSMON_VISIT_DROP,
					ktime_get_ns());
		mmput_async(mm);
		cond_resched();
	}
}

/* Not at all if attributes changed since @ns was worked out. */
static void sleep_until(const struct wsmon_session *ss, u64 ns, u64 slack)
{
	ktime_t expires = ns_to_ktime(ns);

	set_current_state(TASK_IDLE | TASK_FREEZABLE);
	if (!kthread_should_stop() && !READ_ONCE(ss->poked))
		schedule_hrtimeout_range(&expires, slack,
					 HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
	try_to_freeze();
}

/**
 * wsmon_thread - kwsmond
 * @data:	the session
 *
 * Ends when it is told to, or by itself when every target is gone.
 */
int wsmon_thread(void *data)
{
	struct wsmon_session *ss = data;
	u64 due, slack;

	set_freezable();

	mutex_lock(&wsmon.lock);
	ss->cpu_start_ns = current->se.sum_exec_runtime;
	ss->remote_start_ns = wsmon_tlb_remote_ns();
	due = ktime_get_ns();
	ss->boundary_ns = due + aggr_ns();
	mutex_unlock(&wsmon.lock);

	while (due && !kthread_should_stop()) {
		mutex_lock(&wsmon.lock);
		due = do_round(ss, due);
		slack = sample_ns() / 64;
		mutex_unlock(&wsmon.lock);
		if (due)
			sleep_until(ss, due, slack);
	}

	mutex_lock(&wsmon.lock);
	leave_as_found(ss);
	wsmon_end(due ? WSMON_END_STOPPED : WSMON_END_TARGETS_GONE);
	mutex_unlock(&wsmon.lock);
	return 0;
}
