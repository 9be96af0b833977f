// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_monitor.c - a monitor's lock, default attributes, share of the CPU budget, and the checks
 * of who may open its files
 */
#include <linux/capability.h>
#include <linux/delay.h>

#include "wsmon_session.h"

/* The attributes of a new monitor */
const struct wsmon_attrs wsmon_default_attrs = {
	.sample_us = WSMON_DEFAULT_SAMPLE_US,
	.aggr_us = WSMON_DEFAULT_AGGR_US,
	.update_us = WSMON_DEFAULT_AGGR_US,
	.windows_us = { WSMON_DEFAULT_AGGR_US },
	.min_regions = WSMON_DEFAULT_MIN_REGIONS,
	.max_regions = WSMON_DEFAULT_MAX_REGIONS,
	.nr_windows = 1,
	.flags = WSMON_ATTR_FLUSH_TLB,
	.cpu_permille = WSMON_DEFAULT_CPU_PERMILLE,
	.peak_detector = WSMON_PEAK_SIGMA,
	.peak_window = 30,
	.peak_gain = 5000,
	.peak_adapt = 250,
};

/* The monitor of debugfs */
struct wsmon_monitor wsmon;

/* kwsmond lets waiting tasks go first up to this many times, for YIELD_US to 2 * YIELD_US each */
#define YIELD_TRIES	10
#define YIELD_US	500

/**
 * wsmon_lock - take a monitor's lock, in any task but kwsmond
 * @mon:	the monitor
 *
 * Return: 0, or -EINTR if a signal came.
 */
int wsmon_lock(struct wsmon_monitor *mon)
{
	int ret;

	atomic_inc(&mon->waiters);
	ret = mutex_lock_interruptible(&mon->lock);
	atomic_dec(&mon->waiters);
	return ret;
}

/** wsmon_lock_anyway - take a monitor's lock, in any task but kwsmond, regardless of signals */
void wsmon_lock_anyway(struct wsmon_monitor *mon)
{
	atomic_inc(&mon->waiters);
	mutex_lock(&mon->lock);
	atomic_dec(&mon->waiters);
}

/**
 * wsmon_lock_round - take a monitor's lock for a round, for kwsmond
 * @mon:	the monitor
 *
 * If rounds are late, kwsmond takes the lock again at once. It could do so before a waiting task
 * has woken up, again and again. So it lets waiting tasks go first, up to a limit.
 */
void wsmon_lock_round(struct wsmon_monitor *mon)
{
	unsigned int i;

	for (i = 0; i < YIELD_TRIES && atomic_read(&mon->waiters); i++)
		usleep_range(YIELD_US, 2 * YIELD_US);
	mutex_lock(&mon->lock);
}

/* Set once, at the end of wsmon_init() */
bool wsmon_ready;

/**
 * wsmon_may_trace - check whether the present task may see which memory processes use
 *
 * A tracer may see this of its tracee. ptrace_may_access() is not exported, so check
 * CAP_SYS_PTRACE, with which it allows every process.
 *
 * Return: true if the task may.
 */
bool wsmon_may_trace(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_SYS_PTRACE);
}

/**
 * wsmon_may_open - check whether the present task may open one of the files
 * @trace:	the file shows which memory processes use, not only sums
 *
 * The modes of the files admit only root. This function also rejects root of a container that has
 * the host's debugfs: only a task with CAP_SYS_ADMIN in the initial user namespace may observe
 * processes of the host.
 *
 * Return: 0, -EPERM, or -ENODEV while the module is still being loaded.
 */
int wsmon_may_open(bool trace)
{
	/* pairs with wsmon_init(), which must not fail after a file was opened */
	if (!smp_load_acquire(&wsmon_ready))
		return -ENODEV;
	return capable(CAP_SYS_ADMIN) && (!trace || wsmon_may_trace()) ? 0 : -EPERM;
}

/* Number of running sessions: they share the CPU budget, unless it is a whole CPU */
static atomic_t running = ATOMIC_INIT(0);

/** wsmon_session_count - add @by to the number of running sessions */
void wsmon_session_count(int by)
{
	atomic_add(by, &running);
}

/** wsmon_session_several - tell whether more than one session runs */
bool wsmon_session_several(void)
{
	return atomic_read(&running) > 1;
}

/**
 * wsmon_session_share_budget - divide the CPU budget by the present number of running sessions
 * @ss:	the session; sets its @cpu_permille and @pace.sharers
 *
 * Context: the monitor's lock held.
 */
void wsmon_session_share_budget(struct wsmon_session *ss)
{
	u32 permille = ss->mon->attrs.cpu_permille;

	ss->pace.sharers = max(atomic_read(&running), 1);
	ss->cpu_permille = permille < 1000 ? max(permille / ss->pace.sharers, 1U) : permille;
}

/**
 * wsmon_session_begin_pace - begin pace and precision anew, without knowledge of costs
 * @ss:	the session
 *
 * Context: the monitor's lock held.
 */
void wsmon_session_begin_pace(struct wsmon_session *ss)
{
	wsmon_session_share_budget(ss);
	wsmon_pace_begin(&ss->pace, &ss->mon->attrs);
	wsmon_precision_begin(&ss->precision);
}
