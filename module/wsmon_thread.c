// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_thread.c - kwsmond: when rounds and aggregation intervals are
 *
 * One kernel thread observes all targets. It holds wsmon.lock during a round
 * and sleeps without it. Every sample_us a round checks all sample pages, of
 * targets that ran since the last one; less often to keep within the CPU budget
 * (wsmon_pace.c) and while targets sleep. Between rounds it looks at targets that
 * executed a program, or ended (wsmon_life.c). What a round does is in
 * wsmon_interval.c.
 */
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "wsmon_internal.h"

/* Rounds a target slept through double the time to the next, so often at most */
#define ASLEEP_MAX	8

/* Targets and mappings are told again to a reader who came late. */
static void session_report_again(const struct wsmon_session *ss)
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
static void session_account(struct wsmon_session *ss)
{
	u64 remote = wsmon_tlb_remote_ns() - ss->remote_start_ns;
	u64 cost;

	ss->stats.cpu_ns = current->se.sum_exec_runtime - ss->cpu_start_ns;
	cost = ss->stats.cpu_ns + remote;
	wsmon_pace_spent(&ss->pace, cost - ss->cost_ns, ss->first);
	ss->cost_ns = cost;
}

static void session_begin_interval(struct wsmon_session *ss, u64 length)
{
	wsmon_pace_next(&ss->pace, &wsmon.attrs, length);
	wsmon_session_share(ss, &wsmon.attrs, ss->pace.share);
	/*
	 * Samples serve from now on, and for an interval at least: a round up
	 * to half a sampling interval before counts as that.
	 */
	ss->boundary_ns = max(ss->boundary_ns, ktime_get_ns()) + wsmon_aggr_ns();
	if (wsmon_buffer_attached())
		session_report_again(ss);
	wsmon_stream_stats(ss);
}

/*
 * When the next round is due: not before the end of the interval if there is no
 * CPU time left, later and later while nobody runs, but never after a window
 * begins or an interval ends.
 */
static u64 session_next_round(struct wsmon_session *ss, u64 due)
{
	u64 step = ss->pace.step_ns, now = ktime_get_ns(), late, needed;

	/* woken before it was due if the interval became shorter */
	due = min(due, now) + step;
	if (now > due) {
		late = div64_u64(now - due, step) + 1;
		ss->stats.late_rounds += late;
		due += late * step;
	}
	if (step == wsmon_sample_ns() && !ss->asleep &&
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
static u64 session_round(struct wsmon_session *ss, u64 due)
{
	u64 now = ktime_get_ns(), began = ss->boundary_ns - wsmon_aggr_ns();
	bool boundary = now + wsmon_sample_ns() / 2 >= ss->boundary_ns, ran = false;
	u32 i;

	session_account(ss);
	ss->passes++;
	wsmon_hist_add(&ss->late, now > due ? now - due : 0);
	ss->poked = false;
	WRITE_ONCE(ss->called, false);
	ss->first = boundary;
	if (boundary)
		ss->epoch++;
	for (i = 0; i < ss->nr_targets; i++) {
		if (!ss->targets[i].gone)
			ran |= wsmon_target_round(ss, &ss->targets[i], now,
						  boundary);
		cond_resched();
	}
	/* the first interval begins when its samples are there, too */
	if (!ss->stats.rounds++)
		ss->boundary_ns = ktime_get_ns() + wsmon_aggr_ns();
	ss->asleep = ran ? 0 : ss->asleep + 1;
	if (boundary)
		session_begin_interval(ss, now - began);
	return ss->nr_alive ? session_next_round(ss, due) : 0;
}

/*
 * Look at targets that executed a program, or ended, before it is their turn. If there
 * is no CPU time left programs have to wait; an end comes once, and memory is waiting.
 * Return: when the next round is due; 0 if there is nobody left to observe
 */
static u64 session_answer_calls(struct wsmon_session *ss, u64 due)
{
	u64 now = ktime_get_ns();
	u32 i;

	session_account(ss);
	ss->passes++;
	ss->first = false;
	WRITE_ONCE(ss->called, false);
	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];

		if (t->gone || !wsmon_life_called(t))
			continue;
		if (wsmon_pace_may_check(&ss->pace) || !wsmon_target_alive(t))
			wsmon_target_round(ss, t, now, false);
	}
	if (!ss->nr_alive)
		return 0;
	if (!wsmon_pace_may_check(&ss->pace))
		return due;
	ss->asleep = 0;
	return min(due, now + ss->pace.step_ns);
}

/* Not at all if attributes changed since @ns was worked out, or somebody calls. */
static void session_sleep_until(const struct wsmon_session *ss, u64 ns, u64 slack)
{
	ktime_t expires = ns_to_ktime(ns);

	set_current_state(TASK_IDLE | TASK_FREEZABLE);
	if (!kthread_should_stop() && !READ_ONCE(ss->poked) &&
	    !READ_ONCE(ss->called))
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
	u32 i;

	set_freezable();

	mutex_lock(&wsmon.lock);
	ss->cpu_start_ns = current->se.sum_exec_runtime;
	ss->remote_start_ns = wsmon_tlb_remote_ns();
	due = ktime_get_ns();
	ss->boundary_ns = due + wsmon_aggr_ns();
	mutex_unlock(&wsmon.lock);

	while (due && !kthread_should_stop()) {
		wsmon_lock_round();
		slack = wsmon_sample_ns() / 64;
		if (READ_ONCE(ss->called) && !READ_ONCE(ss->poked) &&
		    ktime_get_ns() + slack < due)
			due = session_answer_calls(ss, due);
		else
			due = session_round(ss, due);
		slack = wsmon_sample_ns() / 64;
		mutex_unlock(&wsmon.lock);
		if (due)
			session_sleep_until(ss, due, slack);
	}

	mutex_lock(&wsmon.lock);
	for (i = 0; i < ss->nr_targets; i++) {
		wsmon_target_leave(ss, &ss->targets[i]);
		cond_resched();
	}
	wsmon_session_end(due ? WSMON_END_STOPPED : WSMON_END_TARGETS_GONE);
	mutex_unlock(&wsmon.lock);
	return 0;
}
