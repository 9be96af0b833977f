// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_thread.c - kwsmond, the thread of a session, and the schedule of its rounds
 *
 * One kernel thread, kwsmond, observes all targets of a session. It holds the monitor's lock
 * during a round, and sleeps without it. Every sample_us, a round checks the sample pages of all
 * targets that ran since the last round. Rounds are rarer if the CPU budget requires it
 * (wsmon_pace.c), and while targets sleep. Between rounds the thread looks at members that
 * executed a program, or ended (wsmon_member.c). wsmon_target.c implements a target's part of
 * a round.
 */
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "wsmon_group.h"
#include "wsmon_hintfault.h"

/**
 * wsmon_session_share - give group and targets a share of the regions that attributes allow
 * @ss:		the session
 * @attrs:	the attributes
 * @share:	the share of max_regions (Q15)
 *
 * A target never gets less than min_regions. The arrays are large enough for any share.
 * Context: the monitor's lock held.
 */
void wsmon_session_share(struct wsmon_session *ss,
			 const struct wsmon_attrs *attrs, u32 share)
{
	u64 budget = (u64)wsmon_target_budget(attrs, ss->nr_targets) * share / WSMON_ONE;
	u32 i;

	wsmon_group_budget(ss, (u64)attrs->max_regions * share / WSMON_ONE);
	budget = max_t(u64, wsmon_group_leaves(ss, budget), attrs->min_regions);
	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];

		if (t->regions.budget == budget)
			continue;
		t->regions.budget = budget;
		/* areas may take at most half of the budget: have the mappings grouped anew */
		if (t->space.coalesced || t->space.nr_area > budget / 2)
			t->updated_ns = 0;
	}
}

/**
 * wsmon_session_limit_crowd - let a group of many members, or of many new ones, have few regions
 * @ss:	the session; call it before regions are armed, after the members or the pace changed
 *
 * Context: the monitor's lock held.
 */
void wsmon_session_limit_crowd(struct wsmon_session *ss)
{
	if (!ss->group)
		return;
	wsmon_pace_crowd(&ss->pace, &ss->mon->attrs, READ_ONCE(ss->nr_members));
	wsmon_session_share(ss, &ss->mon->attrs, ss->pace.share);
}

/**
 * wsmon_session_begin - begin a session and its records, before its thread runs
 * @ss:	the session
 *
 * Context: the monitor's lock held.
 */
void wsmon_session_begin(struct wsmon_session *ss)
{
	wsmon_session_count(1);
	wsmon_session_begin_pace(ss);
	ss->may_look = true;
	wsmon_session_share(ss, &ss->mon->attrs, ss->pace.share);
	ss->start_ns = ktime_get_ns();
	ss->remote_start_ns = wsmon_tlb_remote_ns(ss->mon);
	wsmon_buffers_begin(ss);
	wsmon_stream_attrs(ss);
}

/**
 * wsmon_session_end - end a session, and write its last records
 * @ss:		the session
 * @reason:	WSMON_END_*
 *
 * Context: the monitor's lock held.
 */
void wsmon_session_end(struct wsmon_session *ss, u32 reason)
{
	struct wsmon_monitor *mon = ss->mon;

	wsmon_group_free(ss);
	wsmon_members_unwatch(ss);
	wsmon_events_restart_all(ss);
	wsmon_stream_stats(ss);
	wsmon_stream_end(ss, reason);
	wsmon_buffers_end(mon);
	mon->stop_reason = reason;
	ss->ended = true;
	WRITE_ONCE(mon->running, false);
	wsmon_session_count(-1);
}

/* Each round that finds all targets asleep doubles the time to the next, up to 2^ASLEEP_MAX */
#define ASLEEP_MAX	8

/* Report attributes, targets and mappings again if a reader came late, or has lost some. */
static void session_report_again(const struct wsmon_session *ss, bool boundary)
{
	u32 i;

	if (!wsmon_buffers_attached(ss->mon, boundary))
		return;
	wsmon_stream_attrs(ss);
	for (i = 0; i < ss->nr_targets; i++) {
		if (ss->targets[i].gone || !ss->targets[i].interval_ns)
			continue;
		wsmon_stream_target(&ss->targets[i], WSMON_TARGET_AGAIN);
		wsmon_stream_areas(&ss->targets[i]);
	}
}

/*
 * Tell whether a hypervisor reports stolen time. If so, the scheduler charges it to no task
 * (update_rq_clock_task(), 6.1 to 7.3). False until the hypervisor has stolen some.
 */
static bool steal_is_seen(void)
{
	int cpu;

	if (!IS_ENABLED(CONFIG_PARAVIRT_TIME_ACCOUNTING))
		return false;
	for_each_possible_cpu(cpu) {
		if (READ_ONCE(kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL]))
			return true;
	}
	return false;
}

/* Account for the last round: the scheduler updated the thread's CPU time when it slept. */
static void session_account(struct wsmon_session *ss)
{
	u64 remote = wsmon_tlb_remote_ns(ss->mon) - ss->remote_start_ns;
	u64 cost, spent;

	ss->stats.cpu_ns = current->se.sum_exec_runtime - ss->cpu_start_ns;
	cost = ss->stats.cpu_ns + remote;
	spent = wsmon_stolen_spent(&ss->stolen, cost - ss->cost_ns,
				   ss->stolen.stolen_ns && steal_is_seen());
	wsmon_pace_spent(&ss->pace, spent, ss->first);
	ss->cost_ns = cost;
	ss->looks_ns = 0;
}

/* Return how many regions there may be: up to @limit, and one for each mapped page if known. */
static u64 regions_most(u64 limit, const struct wsmon_wss *w)
{
	return w->mapped ? min(limit, w->mapped) : limit;
}

/*
 * Return the number of regions as a share of the possible number (Q15). That is not the share of
 * max_regions: regions of targets that ended, or have a twin, are not given to others.
 */
static u32 session_regions(const struct wsmon_session *ss)
{
	const struct wsmon_group *g = ss->group;
	u64 nr = 0, most = 0;
	u32 i;

	if (g) {
		nr = g->regions.nr;
		most = regions_most(g->regions.limit, g->wss[0]);
	}
	for (i = 0; i < ss->nr_targets; i++) {
		const struct wsmon_target *t = &ss->targets[i];

		if (t->gone || wsmon_target_data(t) != t)
			continue;
		nr += t->regions.nr;
		most += regions_most(wsmon_group_leaves(ss, t->regions.limit), t->wss[0]);
	}
	return min_t(u64, div64_u64(nr * WSMON_ONE, max_t(u64, most, 1)), WSMON_ONE);
}

/* Half-widths are squared in units of this many pages */
#define HALF_UNIT	16U

/*
 * Compute how many regions the wanted precision needs. @used: regions that the last estimates are
 * based on, as a share (Q15)
 */
static void session_judge_precision(struct wsmon_session *ss, u32 used)
{
	const struct wsmon_wss *w = ss->group ? ss->group->wss[0] : NULL;
	u64 pages = 0, sum = 0, half = 0;
	u32 i;

	if (w) {
		if (!w->mapped)
			return;
		half = ss->group->half;
		pages = w->pages;
	}
	for (i = 0; !w && i < ss->nr_targets; i++) {
		const struct wsmon_target *t = &ss->targets[i];
		const struct wsmon_wss *part = t->wss[0];

		if (t->gone || wsmon_target_data(t) != t)
			continue;
		/* nothing is estimated yet */
		if (!part->mapped)
			return;
		/* at most 2^54 for each of up to 2^8 targets: the sum does not overflow */
		half = min_t(u64, t->half / HALF_UNIT + 1, BIT(27));
		sum += half * half;
		pages += part->pages;
	}
	if (!w)
		half = wsmon_sqrt_up(sum) * HALF_UNIT;
	wsmon_precision_next(&ss->precision, &ss->mon->attrs, used, pages, half);
	ss->pace.wanted = ss->precision.share;
}

/*
 * Begin an interval: set budgets, regions, and the next boundary. @used: share of regions in use
 * before the boundary (Q15); @length: how long the last interval was, nanoseconds
 */
static void session_begin_interval(struct wsmon_session *ss, u32 used, u64 length)
{
	u32 i;

	wsmon_session_share_budget(ss);
	session_judge_precision(ss, used);
	ss->pace.reclaims = ss->group && ss->group->reclaimed;
	for (i = 0; i < ss->nr_targets; i++)
		ss->pace.reclaims |= !ss->targets[i].gone && ss->targets[i].reclaimed;
	/* rounds must not become rare: nothing else shows that members of a group run */
	if (ss->pace.reclaims)
		ss->asleep = 0;
	wsmon_pace_next(&ss->pace, &ss->mon->attrs, length);
	wsmon_session_share(ss, &ss->mon->attrs, ss->pace.share);
	/*
	 * The interval begins when arming the last target, or the group, began. If the work of
	 * this boundary took longer than the interval, let others have the processor first.
	 */
	ss->boundary_ns = max(max(ss->boundary_ns, ss->armed_ns) + wsmon_aggr_ns(ss),
			      ktime_get_ns() + wsmon_sample_ns(ss));
	wsmon_stream_stats(ss);
}

/* Tell whether a busy mmap lock prevented work that must still be done within the interval. */
static bool session_owes(const struct wsmon_session *ss)
{
	u32 i;

	for (i = 0; i < ss->nr_targets; i++) {
		const struct wsmon_target *t = &ss->targets[i];

		if (!t->gone && !t->twin && (t->arm_again || !t->regions.nr))
			return true;
	}
	return false;
}

/* Move a round that is due near the end of the interval, or after it, to that end. */
static u64 session_snap(const struct wsmon_session *ss, u64 due)
{
	return due + wsmon_sample_ns(ss) / 2 >= ss->boundary_ns ? ss->boundary_ns : due;
}

/*
 * Compute when the next round is due. If no CPU time is left, only rounds at the beginning of a
 * window or at the end of an interval remain. While no target runs, rounds become rarer, too, but
 * these are never left out.
 */
static u64 session_next_round(struct wsmon_session *ss, u64 due)
{
	u64 step = session_owes(ss) ? wsmon_sample_ns(ss) : ss->pace.step_ns;
	u64 now = ktime_get_ns(), late, needed;

	/* if attributes made the interval shorter, the thread was woken before @due */
	due = min(due, now) + step;
	if (now > due) {
		late = div64_u64(now - due, step) + 1;
		ss->stats.late_rounds += late;
		due += late * step;
	}
	if (step == wsmon_sample_ns(ss) && !ss->asleep &&
	    wsmon_pace_may_check(&ss->pace))
		return session_snap(ss, due);
	if (now >= ss->boundary_ns)
		return now;
	needed = ss->boundary_ns -
		 wsmon_pace_needed(&ss->mon->attrs, ss->boundary_ns - now);
	if (!wsmon_pace_may_check(&ss->pace) || step >= wsmon_aggr_ns(ss))
		return needed;
	due += (step << min(ss->asleep, ASLEEP_MAX)) - step;
	return session_snap(ss, min(due, needed));
}

/* Return the time, less the slack, at which the longest window that ends now begins. */
static u64 session_horizon(const struct wsmon_session *ss, u64 now)
{
	u64 longest = ss->mon->attrs.windows_us[ss->mon->attrs.nr_windows - 1] * NSEC_PER_USEC;

	return now - min(now, longest + wsmon_slack_ns(ss));
}

/* Look at up to this many members, enough for all targets; then others may take the lock */
#define CALLS_AT_ONCE	WSMON_MAX_TARGETS

/* After a look, rest this long to collect calls of members that are no targets */
#define REST_NS		(4 * NSEC_PER_MSEC)

/* Begin a pass over targets. @first: this is the first round of an interval */
static void session_begin_look(struct wsmon_session *ss, bool first)
{
	session_account(ss);
	ss->passes++;
	ss->first = first;
}

/*
 * Look at members that executed a program, or ended. If a round of all targets follows (@round),
 * targets have their look there. If no CPU time is left, new programs wait. Targets that ended do
 * not wait: that happens once, and their memory cannot be freed before the look.
 * Return: true if targets were called; a round may have looked at them since.
 */
static bool session_look(struct wsmon_session *ss, bool round, u64 now)
{
	bool targets = wsmon_members_update(ss);
	u32 events, left = CALLS_AT_ONCE;
	struct wsmon_member *m;

	wsmon_group_begin(ss);
	if ((targets || !ss->nr_targets) && !round)
		session_begin_look(ss, false);
	for (; left && (m = wsmon_members_next(ss, &events)); left--) {
		struct wsmon_target *t = m->target;

		if (t && !round && READ_ONCE(t->called)) {
			if (wsmon_pace_may_check(&ss->pace) || !wsmon_pid_alive(t->pid))
				wsmon_target_round(ss, t, now, false);
		} else if (!t && events & WSMON_MEMBER_EXIT) {
			wsmon_group_exit(ss, m, now);
			wsmon_members_remove(ss, m);
		}
		cond_resched();
	}
	ss->looks_ns += ktime_get_ns() - now;
	WRITE_ONCE(ss->may_look, wsmon_pace_may_look(&ss->pace, ss->looks_ns));
	/* come back at once for the rest */
	if (!left)
		WRITE_ONCE(ss->called, true);
	return targets;
}

/* Tell whether there is still something to watch. A cgroup may be empty for a while. */
static bool session_goes_on(const struct wsmon_session *ss)
{
	return READ_ONCE(ss->nr_members) || wsmon_cgroup_exists(ss);
}

/* Do a round. Return: when the next one is due; 0 if no member is left. */
static u64 session_round(struct wsmon_session *ss, u64 due)
{
	u64 now = ktime_get_ns(), began = ss->boundary_ns - wsmon_aggr_ns(ss);
	bool boundary = now + wsmon_sample_ns(ss) / 2 >= ss->boundary_ns, ran = false;
	u32 used = session_regions(ss), i;

	session_report_again(ss, boundary);
	session_begin_look(ss, boundary);
	wsmon_hist_add(&ss->late, now > due ? now - due : 0);
	ss->poked = false;
	session_look(ss, true, now);
	wsmon_looks_add(&ss->looks, now);
	if (boundary) {
		wsmon_looks_add(&ss->ends, now);
		ss->epoch++;
	}
	for (i = 0; i < ss->nr_targets; i++) {
		if (!ss->targets[i].gone)
			ran |= wsmon_target_round(ss, &ss->targets[i], now,
						  boundary);
		cond_resched();
	}
	/* like all others, the first interval begins when its samples are armed */
	if (!ss->stats.rounds++)
		ss->boundary_ns = max(now, ss->armed_ns) + wsmon_aggr_ns(ss);
	ss->asleep = ran || wsmon_group_has_rounds(ss) ? 0 : ss->asleep + 1;
	wsmon_who_round(ss, ktime_get_ns());
	if (!boundary)
		wsmon_group_round(ss, now);
	if (boundary) {
		if (ss->cgroup &&
		    (ss->scan_at || now - ss->scanned_ns + wsmon_slack_ns(ss) >=
		     ss->mon->attrs.update_us * NSEC_PER_USEC))
			wsmon_members_scan(ss);
		wsmon_session_limit_crowd(ss);
		wsmon_group_interval(ss, now);
		/* a program that outlived all windows by less than an interval gets a look */
		wsmon_members_age(ss, session_horizon(ss, now - min(now, wsmon_aggr_ns(ss))));
		session_begin_interval(ss, used, now - began);
		/* the round dropped samples of old regions, and armed samples of new ones */
		ss->pace.used = (used + session_regions(ss)) / 2;
	}
	return session_goes_on(ss) ? session_next_round(ss, due) : 0;
}

/*
 * Look at members that a probe called, without waiting for the next round.
 * Return: when the next round is due; 0 if no member is left.
 */
static u64 session_answer_calls(struct wsmon_session *ss, u64 due)
{
	u64 now = ktime_get_ns();
	bool targets;

	session_report_again(ss, false);
	targets = session_look(ss, false, now);
	if (!session_goes_on(ss))
		return 0;
	if (!targets || !wsmon_pace_may_check(&ss->pace))
		return due;
	ss->asleep = 0;
	return session_snap(ss, min(due, now + ss->pace.step_ns));
}

/*
 * Sleep until @ns. Return at once if attributes changed since @ns was computed, or if a member
 * needs a look; while resting (@rest), only if that look cannot wait.
 */
static void session_sleep_until(struct wsmon_session *ss, u64 ns, u64 slack, bool rest)
{
	const bool *called = rest ? &ss->hurry : &ss->called;
	ktime_t expires = ns_to_ktime(ns);

	wsmon_members_rest(ss, rest);
	set_current_state(TASK_IDLE | TASK_FREEZABLE);
	if (!kthread_should_stop() && !READ_ONCE(ss->poked) &&
	    !READ_ONCE(*called))
		schedule_hrtimeout_range(&expires, slack,
					 HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
	try_to_freeze();
}

/**
 * wsmon_session_thread - run rounds until asked to stop, or until nothing is left to watch
 * @data:	the session
 *
 * Return: 0.
 */
int wsmon_session_thread(void *data)
{
	struct wsmon_session *ss = data;
	u64 due, slack, rest;
	u32 i;

	set_freezable();

	mutex_lock(&ss->mon->lock);
	ss->cpu_start_ns = current->se.sum_exec_runtime;
	due = ktime_get_ns();
	ss->boundary_ns = due + wsmon_aggr_ns(ss);
	mutex_unlock(&ss->mon->lock);

	while (due && !kthread_should_stop()) {
		wsmon_lock_round(ss->mon);
		slack = wsmon_sample_ns(ss) / 64;
		rest = 0;
		if (READ_ONCE(ss->called) && !READ_ONCE(ss->poked) &&
		    ktime_get_ns() + slack < due) {
			due = session_answer_calls(ss, due);
			if (list_empty(&ss->answers))
				rest = min(REST_NS, wsmon_sample_ns(ss) / 4);
		} else {
			due = session_round(ss, due);
		}
		slack = wsmon_sample_ns(ss) / 64;
		mutex_unlock(&ss->mon->lock);
		if (due && rest)
			session_sleep_until(ss, min(due, ktime_get_ns() + rest), rest / 4, true);
		if (due)
			session_sleep_until(ss, due, slack, false);
	}

	mutex_lock(&ss->mon->lock);
	wsmon_who_leave(ss);
	for (i = 0; i < ss->nr_targets; i++) {
		wsmon_target_leave(ss, &ss->targets[i]);
		cond_resched();
	}
	wsmon_group_leave(ss);
	wsmon_session_end(ss, due ? WSMON_END_STOPPED : WSMON_END_TARGETS_GONE);
	mutex_unlock(&ss->mon->lock);
	wsmon_who_end(ss);
	return 0;
}
