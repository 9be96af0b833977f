// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_core.c - module init and exit, starting and stopping, attributes
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>

#include "wsmon_internal.h"

struct wsmon wsmon = {
	.ctl = __MUTEX_INITIALIZER(wsmon.ctl),
	.lock = __MUTEX_INITIALIZER(wsmon.lock),
	.attrs = {
		.sample_us = 100 * USEC_PER_MSEC,
		.aggr_us = USEC_PER_SEC,
		.update_us = USEC_PER_SEC,
		.window_us = USEC_PER_SEC,
		.min_regions = 10,
		.max_regions = 2000,
		.nr_windows = 1,
		.flags = WSMON_ATTR_FLUSH_TLB,
		.cpu_permille = 30,
		.peak_detector = WSMON_PEAK_SIGMA,
		.peak_window = 30,
		.peak_gain = 5000,
		.peak_adapt = 250,
	},
	.stop_reason = -1,
};

/* How often the thread lets others go first, FIRST_US to twice as long each time */
#define YIELD_TRIES	10
#define YIELD_US	500

/* Those who wait in wsmon_lock() */
static atomic_t lock_waiters = ATOMIC_INIT(0);

/**
 * wsmon_lock - take wsmon.lock, for who is not the thread
 *
 * Return: 0, or -EINTR: a signal came.
 */
int wsmon_lock(void)
{
	int ret;

	atomic_inc(&lock_waiters);
	ret = mutex_lock_interruptible(&wsmon.lock);
	atomic_dec(&lock_waiters);
	return ret;
}

/**
 * wsmon_lock_round - take wsmon.lock for a round
 *
 * A thread that is late comes back at once, before somebody who waits has woken
 * up, and could take the lock from each of several in turn: they go first, within
 * limits.
 */
void wsmon_lock_round(void)
{
	unsigned int i;

	for (i = 0; i < YIELD_TRIES && atomic_read(&lock_waiters); i++)
		usleep_range(YIELD_US, 2 * YIELD_US);
	mutex_lock(&wsmon.lock);
}

/**
 * wsmon_session_end - the session ends: tell everybody
 * @reason:	WSMON_END_*
 *
 * Context: wsmon.lock held.
 */
void wsmon_session_end(u32 reason)
{
	wsmon_life_unwatch(wsmon.session);
	wsmon_events_restart_all(wsmon.session);
	wsmon_stream_stats(wsmon.session);
	wsmon_stream_end(reason);
	wsmon_buffer_end();
	wsmon.stop_reason = reason;
	WRITE_ONCE(wsmon.running, false);
}

/* Have the thread end, if there is one. Context: wsmon.ctl held. */
static void session_stop_thread(void)
{
	struct wsmon_session *ss = wsmon.session;

	lockdep_assert_held(&wsmon.ctl);
	if (!ss || !ss->thread)
		return;
	kthread_stop(ss->thread);
	/* a thread stopped before it ever ran has not said so */
	mutex_lock(&wsmon.lock);
	if (wsmon.running)
		wsmon_session_end(WSMON_END_STOPPED);
	mutex_unlock(&wsmon.lock);
	/* nobody wakes it any more */
	put_task_struct(ss->thread);
	ss->thread = NULL;
}

static int session_start(const u32 *pids, unsigned int nr,
			 struct pid_namespace *ns)
{
	struct wsmon_session *ss, *old;
	struct task_struct *thread;

	ss = wsmon_session_create(pids, nr, ns, &wsmon.attrs);
	if (IS_ERR(ss))
		return PTR_ERR(ss);
	thread = kthread_create(wsmon_thread, ss, "kwsmond");
	if (IS_ERR(thread)) {
		wsmon_session_free(ss);
		return PTR_ERR(thread);
	}
	/* it may end by itself before it is stopped */
	get_task_struct(thread);
	ss->thread = thread;

	/* nothing fails from here on */
	session_stop_thread();
	mutex_lock(&wsmon.lock);
	old = wsmon.session;
	ss->start_ns = ktime_get_ns();
	wsmon.session = ss;
	WRITE_ONCE(wsmon.running, true);
	wsmon_life_watch(ss);
	wsmon_buffer_begin();
	wsmon_stream_attrs();
	mutex_unlock(&wsmon.lock);
	wsmon_session_free(old);
	wake_up_process(thread);
	return 0;
}

/**
 * wsmon_set_targets - monitor these processes, and no others
 * @pids:	their ids
 * @nr:		how many; 0 stops monitoring
 * @ns:		pid namespace of the ids
 *
 * Context: may sleep, no locks held.
 * Return: 0, or -ERESTARTSYS or an error of wsmon_session_create() with nothing
 * changed.
 */
int wsmon_set_targets(const u32 *pids, unsigned int nr,
		      struct pid_namespace *ns)
{
	int ret = 0;

	/* ns is NULL at unload: then it must not fail */
	if (!ns)
		mutex_lock(&wsmon.ctl);
	else if (mutex_lock_interruptible(&wsmon.ctl))
		return -ERESTARTSYS;
	if (nr)
		ret = session_start(pids, nr, ns);
	else
		session_stop_thread();
	mutex_unlock(&wsmon.ctl);
	return ret;
}

/**
 * wsmon_set_attrs - change attributes, also while monitoring
 * @text:	what was written to debugfs wsmon/attrs
 * @len:	bytes of it
 *
 * Intervals count from the present round on; the number of regions follows at
 * the end of the aggregation interval.
 * Context: may sleep, no locks held.
 * Return: 0, or -EINVAL, -ERANGE, -ENOMEM, -ERESTARTSYS with nothing changed.
 */
int wsmon_set_attrs(const char *text, size_t len)
{
	struct wsmon_regions *room = NULL;
	struct wsmon_attrs attrs;
	int ret;

	if (mutex_lock_interruptible(&wsmon.ctl))
		return -ERESTARTSYS;
	attrs = wsmon.attrs;
	ret = wsmon_attrs_parse(&attrs, text, len);
	if (ret)
		goto out;
	/* wsmon.running only turns false without wsmon.ctl */
	if (READ_ONCE(wsmon.running))
		room = wsmon_session_make_room(wsmon.session, &attrs);
	if (IS_ERR(room)) {
		ret = PTR_ERR(room);
		goto out;
	}
	/* no round may see one half of the change */
	if (wsmon_lock()) {
		ret = -ERESTARTSYS;
		goto out_free;
	}
	if (wsmon.running) {
		struct wsmon_session *ss = wsmon.session;

		wsmon_session_resize(ss, &attrs, room);
		/* the present interval ends when it would have begun now */
		ss->boundary_ns += (attrs.aggr_us - wsmon.attrs.aggr_us) *
				   NSEC_PER_USEC;
		/* the thread may be about to sleep for longer than it now should */
		WRITE_ONCE(ss->poked, true);
	}
	/* peaks end with their last estimates, so before these are forgotten */
	if (wsmon.running && !wsmon_attrs_same_peaks(&attrs, &wsmon.attrs))
		wsmon_events_restart_all(wsmon.session);
	/* also what the last session left to be read */
	if (wsmon.session && !wsmon_attrs_same_windows(&attrs, &wsmon.attrs))
		wsmon_session_forget(wsmon.session,
				     attrs.window_us == wsmon.attrs.window_us);
	wsmon.attrs = attrs;
	if (wsmon.running)
		wsmon_stream_attrs();
	mutex_unlock(&wsmon.lock);
	/* or does so already */
	if (wsmon.session && wsmon.session->thread)
		wake_up_process(wsmon.session->thread);
out_free:
	wsmon_session_free_room(wsmon.session, room);
out:
	mutex_unlock(&wsmon.ctl);
	return ret;
}

/* Everything is there: set once, at the end of wsmon_init() */
static bool ready;

/**
 * wsmon_may_open - may the present task open one of the files?
 *
 * Their modes keep everybody but root out. Root of a container that was given
 * the host's debugfs is kept out here: what processes of the host do is for
 * who has CAP_SYS_ADMIN in the initial user namespace.
 *
 * Return: 0, -EPERM, or -ENODEV: the module is still being loaded.
 */
int wsmon_may_open(void)
{
	/* pairs with wsmon_init(), which must not fail once it was used */
	if (!smp_load_acquire(&ready))
		return -ENODEV;
	return capable(CAP_SYS_ADMIN) ? 0 : -EPERM;
}

static int __init wsmon_init(void)
{
	int err;

	err = wsmon_buffer_init();
	if (err)
		return err;
	err = wsmon_stream_init();
	if (err)
		goto err_buffer_exit;
	err = wsmon_life_init();
	if (err)
		goto err_stream_exit;
	err = wsmon_debugfs_init();
	if (err)
		goto err_life_exit;
	/* pairs with wsmon_may_open() */
	smp_store_release(&ready, true);
	return 0;

err_life_exit:
	wsmon_life_exit();
err_stream_exit:
	wsmon_stream_exit();
err_buffer_exit:
	wsmon_buffer_exit();
	return err;
}

static void __exit wsmon_exit(void)
{
	/* nobody can start anything from here on */
	wsmon_debugfs_exit();
	wsmon_set_targets(NULL, 0, NULL);
	wsmon_life_exit();
	wsmon_tlb_drain();
	wsmon_session_free(wsmon.session);
	wsmon_stream_exit();
	wsmon_buffer_exit();
}

module_init(wsmon_init);
module_exit(wsmon_exit);

MODULE_DESCRIPTION("Working set monitor");
MODULE_AUTHOR("The wsmon authors");
MODULE_LICENSE("GPL");
