// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_session.c - starting, stopping and changing a session
 *
 * A task that does this holds the monitor's ctl. wsmon_thread.c has the session's thread.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/task.h>

#include "wsmon_internal.h"

/* Stop the thread, if there is one. Context: the monitor's ctl held. */
static void session_stop_thread(struct wsmon_monitor *mon)
{
	struct wsmon_session *ss = mon->session;

	lockdep_assert_held(&mon->ctl);
	if (!ss || !ss->thread)
		return;
	kthread_stop(ss->thread);
	/* a thread that is stopped before it ever ran has not ended the session */
	mutex_lock(&mon->lock);
	if (mon->running)
		wsmon_session_end(ss, WSMON_END_STOPPED);
	mutex_unlock(&mon->lock);
	wsmon_who_end(ss);
	/* no probe wakes it any more */
	put_task_struct(ss->thread);
	ss->thread = NULL;
}

static int session_start(struct wsmon_monitor *mon, const struct wsmon_scope *scope)
{
	struct wsmon_session *ss, *old;
	struct task_struct *thread;
	int err;

	ss = wsmon_session_alloc(mon, scope, &mon->attrs);
	if (IS_ERR(ss))
		return PTR_ERR(ss);
	thread = kthread_create(wsmon_session_thread, ss, "kwsmond");
	if (IS_ERR(thread)) {
		wsmon_session_free(ss);
		return PTR_ERR(thread);
	}
	wsmon_members_follow(ss, mon->attrs.follow);
	wsmon_members_watch(ss);
	err = mon->attrs.who_rate ? wsmon_who_begin(ss) : 0;
	if (!err)
		err = wsmon_members_scan(ss);
	if (err) {
		/* it never ran: no probe wakes it before @thread is set */
		kthread_stop(thread);
		wsmon_session_free(ss);
		return err;
	}

	/* nothing fails from here on */
	session_stop_thread(mon);
	mutex_lock(&mon->lock);
	old = mon->session;
	mon->session = ss;
	/* hold a reference: it may end by itself before it is stopped */
	WRITE_ONCE(ss->thread, get_task_struct(thread));
	WRITE_ONCE(mon->running, true);
	wsmon_session_begin(ss);
	mutex_unlock(&mon->lock);
	wsmon_session_free(old);
	wake_up_process(thread);
	return 0;
}

/**
 * wsmon_set_targets - monitor some processes, and no others
 * @mon:	the monitor
 * @scope:	the processes; none stops monitoring; NULL stops it without fail
 *
 * Context: may sleep, no locks held.
 * Return: 0; on -ERESTARTSYS, or an error of wsmon_session_alloc(), nothing has changed.
 */
int wsmon_set_targets(struct wsmon_monitor *mon, const struct wsmon_scope *scope)
{
	int ret = 0;

	if (!scope)
		mutex_lock(&mon->ctl);
	else if (mutex_lock_interruptible(&mon->ctl))
		return -ERESTARTSYS;
	if (scope && (scope->nr || scope->cgroup))
		ret = session_start(mon, scope);
	else
		session_stop_thread(mon);
	mutex_unlock(&mon->ctl);
	return ret;
}

/**
 * wsmon_set_ids - monitor some processes by their ids
 * @mon:	the monitor
 * @ids:	the ids, or those of any of their threads
 * @nr:		number of them; 0 stops monitoring
 * @ns:		their pid namespace
 *
 * Context: may sleep, no locks held.
 * Return: as wsmon_set_targets(), or an error of wsmon_pids_find().
 */
int wsmon_set_ids(struct wsmon_monitor *mon, const u32 *ids, u32 nr, struct pid_namespace *ns)
{
	struct wsmon_scope scope = { .pids = wsmon_pids_find(ids, nr, ns), .nr = nr, .ns = ns };
	int ret;

	if (IS_ERR(scope.pids))
		return PTR_ERR(scope.pids);
	ret = wsmon_set_targets(mon, &scope);
	wsmon_pids_put(scope.pids, nr);
	return ret;
}

/**
 * wsmon_set_attrs - change attributes, also while monitoring
 * @mon:	the monitor
 * @text:	attributes, as debugfs wsmon/attrs has them
 * @len:	its length in bytes
 *
 * New intervals apply from the present round on, a new number of regions applies at the
 * end of the aggregation interval.
 * Context: may sleep, no locks held.
 * Return: 0, or -EINVAL, -ERANGE, -ENOMEM, -ERESTARTSYS with nothing changed.
 */
int wsmon_set_attrs(struct wsmon_monitor *mon, const char *text, size_t len)
{
	struct wsmon_regions *room = NULL;
	struct wsmon_attrs attrs;
	int ret;

	if (mutex_lock_interruptible(&mon->ctl))
		return -ERESTARTSYS;
	attrs = mon->attrs;
	ret = wsmon_attrs_parse(&attrs, text, len);
	if (ret)
		goto out;
	/* without ctl, @running can only become false */
	if (READ_ONCE(mon->running))
		room = wsmon_session_make_room(mon->session, &attrs);
	if (IS_ERR(room)) {
		ret = PTR_ERR(room);
		goto out;
	}
	if (attrs.who_rate && READ_ONCE(mon->running))
		ret = wsmon_who_begin(mon->session);
	else if (attrs.who_rate && !wsmon_who_possible())
		ret = -EOPNOTSUPP;
	if (ret)
		goto out_free;
	/* no round may see half of the change */
	if (wsmon_lock(mon)) {
		ret = -ERESTARTSYS;
		goto out_free;
	}
	if (mon->running) {
		struct wsmon_session *ss = mon->session;

		wsmon_session_resize(ss, &attrs, room);
		wsmon_members_follow(ss, attrs.follow);
		if (attrs.follow && !mon->attrs.follow && !ss->cgroup)
			wsmon_members_scan(ss);
		/* the present interval gets the new length */
		ss->boundary_ns += (attrs.aggr_us - mon->attrs.aggr_us) *
				   NSEC_PER_USEC;
		/* the thread may be about to sleep for the old interval */
		WRITE_ONCE(ss->poked, true);
	}
	/* end peaks before the estimates that they end with are cleared */
	if (mon->running && !wsmon_attrs_same_peaks(&attrs, &mon->attrs))
		wsmon_events_restart_all(mon->session);
	/* do this also if the session has ended: its results can still be read */
	if (mon->session && !wsmon_attrs_same_windows(&attrs, &mon->attrs))
		wsmon_session_forget(mon->session,
				     attrs.windows_us[0] == mon->attrs.windows_us[0]);
	mon->attrs = attrs;
	if (mon->running) {
		wsmon_session_begin_pace(mon->session);
		wsmon_stream_attrs(mon->session);
	}
	mutex_unlock(&mon->lock);
	/* or it may sleep already */
	if (mon->session && mon->session->thread)
		wake_up_process(mon->session->thread);
out_free:
	if (mon->session && !mon->attrs.who_rate)
		wsmon_who_end(mon->session);
	wsmon_session_free_room(mon->session, room);
out:
	mutex_unlock(&mon->ctl);
	return ret;
}

/**
 * wsmon_set_mark - mark this moment in the stream of the session
 * @mon:	the monitor
 * @text:	the mark's name, perhaps with a newline at its end
 * @len:	bytes of @text
 *
 * Context: may sleep, no locks held.
 * Return: 0; -EINVAL if the name is empty, has WSMON_MARK_TEXT bytes or more, or has a NUL;
 *	   -ESRCH if nothing is monitored; -EINTR if the task is killed.
 */
int wsmon_set_mark(struct wsmon_monitor *mon, const char *text, size_t len)
{
	int ret = -ESRCH;

	if (len && text[len - 1] == '\n')
		len--;
	if (!len || len >= WSMON_MARK_TEXT || memchr(text, '\0', len))
		return -EINVAL;
	/* or some sessions would have a mark twice, or not at all */
	if (wsmon_lock_killable(mon))
		return -EINTR;
	if (mon->running) {
		wsmon_stream_mark(mon->session, ++mon->session->nr_marks, text, len);
		ret = 0;
	}
	mutex_unlock(&mon->lock);
	return ret;
}
