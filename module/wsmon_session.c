// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_session.c - starting, stopping and changing a session, and its memory
 *
 * A task that starts, stops or changes a session holds the monitor's ctl. wsmon_thread.c implements
 * the session's thread. No other task can see a session while it is created or freed, so creating
 * and freeing do not need the monitor's lock.
 */
#include <linux/idr.h>
#include <linux/kthread.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "wsmon_group.h"
#include "wsmon_hintfault.h"

/* Numbers of monitors; the monitor of debugfs has 0 */
static DEFINE_IDA(slots);

/**
 * wsmon_monitor_init - prepare a monitor
 * @mon:	the monitor, all zero
 * @slot:	a number that no other monitor has
 */
void wsmon_monitor_init(struct wsmon_monitor *mon, u32 slot)
{
	mutex_init(&mon->ctl);
	mutex_init(&mon->lock);
	mon->slot = slot;
	mon->attrs = wsmon_default_attrs;
	mon->stop_reason = -1;
	INIT_LIST_HEAD(&mon->buffers);
}

/** wsmon_session_free - free a session, or NULL, whose thread has ended or was never started */
void wsmon_session_free(struct wsmon_session *ss)
{
	u32 i;

	if (!ss)
		return;
	wsmon_who_free(ss);
	wsmon_group_free(ss);
	wsmon_members_unwatch(ss);
	for (i = 0; i < ss->nr_targets; i++) {
		put_pid(ss->targets[i].pid);
		wsmon_regions_free(&ss->targets[i].regions);
		wsmon_space_free(&ss->targets[i].space);
	}
	wsmon_space_free(&ss->space);
	if (ss->ns)
		put_pid_ns(ss->ns);
	wsmon_cgroup_end(ss);
	kvfree(ss->peaks);
	kvfree(ss->leaves);
	kvfree(ss->visits);
	kvfree(ss->files);
	kvfree(ss->scratch);
	kvfree(ss->targets);
	kvfree_rcu(ss, rcu);
}

/**
 * wsmon_monitor_create - allocate a monitor
 *
 * Return: the monitor; -EMFILE if there are too many; -ENOMEM.
 */
struct wsmon_monitor *wsmon_monitor_create(void)
{
	struct wsmon_monitor *mon = kzalloc(sizeof(*mon), GFP_KERNEL);
	int slot;

	if (!mon)
		return ERR_PTR(-ENOMEM);
	slot = ida_alloc_range(&slots, 1, WSMON_MONITORS - 1, GFP_KERNEL);
	if (slot < 0) {
		kfree(mon);
		return ERR_PTR(slot == -ENOSPC ? -EMFILE : slot);
	}
	wsmon_monitor_init(mon, slot);
	return mon;
}

/**
 * wsmon_monitor_free - free a monitor that runs no session
 * @mon:	the monitor, from wsmon_monitor_create()
 */
void wsmon_monitor_free(struct wsmon_monitor *mon)
{
	wsmon_session_free(mon->session);
	ida_free(&slots, mon->slot);
	kfree(mon);
}

static int target_init(struct wsmon_session *ss, u32 i, struct pid *pid)
{
	struct wsmon_target *t = &ss->targets[i];
	u32 j;

	t->session = ss;
	t->pid = get_pid(pid);
	t->salt = wsmon_hash64(pid_nr(pid));
	for (j = 0; j < i; j++) {
		if (ss->targets[j].pid == pid)
			return -EINVAL;
	}
	return wsmon_members_add(ss, t) ?:
	       wsmon_regions_alloc(&t->regions, t->regions.budget);
}

/*
 * Allocate a session. Context: the monitor's ctl held, may sleep.
 * Return: the session; -EINVAL if a process is named twice, or if max_regions is too small for
 * min_regions in each target; -ENOMEM.
 */
static struct wsmon_session *session_alloc(struct wsmon_monitor *mon,
					   const struct wsmon_scope *scope,
					   const struct wsmon_attrs *attrs)
{
	struct wsmon_session *ss;
	u32 nr = scope->nr;
	int err = -ENOMEM;
	u32 i;

	if (wsmon_target_budget(attrs, nr) < attrs->min_regions)
		return ERR_PTR(-EINVAL);
	ss = kvzalloc(sizeof(*ss), GFP_KERNEL);
	if (!ss)
		return ERR_PTR(-ENOMEM);
	ss->mon = mon;
	wsmon_members_init(ss);
	ss->targets = kvcalloc(nr, sizeof(*ss->targets), GFP_KERNEL);
	ss->leaves = kvcalloc(BIT(WSMON_LEAVES_BITS), sizeof(*ss->leaves), GFP_KERNEL);
	ss->peaks = kvcalloc(WSMON_PEAKS_KEPT, sizeof(*ss->peaks), GFP_KERNEL);
	ss->visits = kvcalloc(WSMON_FRESH_MAX, sizeof(*ss->visits), GFP_KERNEL);
	ss->scratch = kvmalloc(WSMON_RECORD_MAX, GFP_KERNEL);
	ss->files = kvcalloc(nr ? WSMON_FILES_MAX : 0, sizeof(*ss->files), GFP_KERNEL);
	if (!ss->targets || !ss->leaves || !ss->peaks || !ss->visits || !ss->scratch ||
	    !ss->files)
		goto err_free;
	for (i = 0; i < nr; i++) {
		ss->nr_targets = i + 1;
		ss->targets[i].regions.budget = wsmon_target_budget(attrs, nr);
		ss->targets[i].regions.limit = wsmon_target_budget(attrs, nr);
		err = target_init(ss, i, scope->pids[i]);
		if (err)
			goto err_free;
	}
	ss->nr_alive = nr;
	ss->ns = get_pid_ns(scope->ns);
	wsmon_cgroup_begin(ss, scope->cgroup);
	return ss;

err_free:
	wsmon_session_free(ss);
	return ERR_PTR(err);
}

/* Give @rs the larger arrays, and copy its regions to them. @larger gets the old arrays. */
static void regions_enlarge(struct wsmon_regions *rs, struct wsmon_regions *larger)
{
	memcpy(larger->r, rs->r, sizeof(*rs->r) * rs->nr);
	swap(rs->r, larger->r);
	swap(rs->spare, larger->spare);
	rs->cap = larger->cap;
}

/* Free the arrays of session_make_room(), or NULL. */
static void session_free_room(const struct wsmon_session *ss, struct wsmon_regions *room)
{
	u32 i;

	if (!room)
		return;
	for (i = 0; i < ss->nr_targets; i++)
		wsmon_regions_free(&room[i]);
	kvfree(room);
}

/*
 * Allocate the larger arrays of regions that new attributes need.
 * Context: the monitor's ctl held, may sleep.
 * Return: the arrays for session_resize(), to be freed by session_free_room();
 * -EINVAL as in session_alloc(), or -ENOMEM.
 */
static struct wsmon_regions *session_make_room(const struct wsmon_session *ss,
					       const struct wsmon_attrs *attrs)
{
	u32 budget = wsmon_target_budget(attrs, ss->nr_targets), i;
	struct wsmon_regions *larger;
	int err;

	if (budget < attrs->min_regions)
		return ERR_PTR(-EINVAL);
	larger = kvcalloc(ss->nr_targets, sizeof(*larger), GFP_KERNEL);
	if (!larger)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < ss->nr_targets; i++) {
		if (wsmon_regions_cap(budget) <= ss->targets[i].regions.cap)
			continue;
		err = wsmon_regions_alloc(&larger[i], budget);
		if (err) {
			session_free_room(ss, larger);
			return ERR_PTR(err);
		}
	}
	return larger;
}

/*
 * Give the targets the regions that new attributes allow.
 * @room:	arrays from session_make_room(); has the replaced arrays afterwards
 * Arrays only grow. If the budget is smaller, regions are merged at the end of the aggregation
 * interval.
 * Context: the monitor's ctl and lock held.
 */
static void session_resize(struct wsmon_session *ss, const struct wsmon_attrs *attrs,
			   struct wsmon_regions *room)
{
	u32 i;

	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];

		if (room[i].r)
			regions_enlarge(&t->regions, &room[i]);
		t->regions.limit = wsmon_target_budget(attrs, ss->nr_targets);
		t->drop_all = true;
	}
	ss->regroup |= attrs->max_regions != ss->mon->attrs.max_regions;
	wsmon_session_share(ss, attrs, WSMON_ONE);
}

/*
 * Discard estimates and observations for windows that change.
 * @first:	the first of these: 1 if the shortest window stays, so that peaks go on; else 0
 * Context: the monitor's lock held.
 */
static void session_forget(struct wsmon_session *ss, u32 first)
{
	u32 i, j;

	ss->regroup = true;
	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];

		memset(&t->wss[first], 0, sizeof(t->wss) - first * sizeof(t->wss[0]));
		for (j = 0; j < t->regions.nr; j++) {
			wsmon_loop_resched(j);
			t->regions.r[j].known &= BIT(first) - 1;
			t->regions.r[j].whole &= BIT(first) - 1;
			t->regions.r[j].times = 0;
		}
	}
}

/* Take the monitor's lock like wsmon_lock(), but return -EINTR only after a fatal signal. */
static int lock_killable(struct wsmon_monitor *mon)
{
	int ret;

	atomic_inc(&mon->waiters);
	ret = mutex_lock_killable(&mon->lock);
	atomic_dec(&mon->waiters);
	return ret;
}

/* Stop the thread, if there is one. Context: the monitor's ctl held. */
static void session_stop_thread(struct wsmon_monitor *mon)
{
	struct wsmon_session *ss = mon->session;

	lockdep_assert_held(&mon->ctl);
	if (!ss || !ss->thread)
		return;
	kthread_stop(ss->thread);
	/* a thread that was stopped before it ran has not ended the session */
	mutex_lock(&mon->lock);
	if (mon->running)
		wsmon_session_end(ss, WSMON_END_STOPPED);
	mutex_unlock(&mon->lock);
	wsmon_who_end(ss);
	/* no probe wakes the thread any more */
	put_task_struct(ss->thread);
	ss->thread = NULL;
}

static int session_start(struct wsmon_monitor *mon, const struct wsmon_scope *scope)
{
	struct wsmon_session *ss, *old;
	struct task_struct *thread;
	int err;

	ss = session_alloc(mon, scope, &mon->attrs);
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
		/* the thread never ran: no probe wakes it before @thread is set */
		kthread_stop(thread);
		wsmon_session_free(ss);
		return err;
	}

	/* nothing fails from here on */
	session_stop_thread(mon);
	mutex_lock(&mon->lock);
	old = mon->session;
	mon->session = ss;
	/* hold a reference: the thread may end by itself before it is stopped */
	WRITE_ONCE(ss->thread, get_task_struct(thread));
	WRITE_ONCE(mon->running, true);
	wsmon_session_begin(ss);
	mutex_unlock(&mon->lock);
	wsmon_session_free(old);
	wake_up_process(thread);
	return 0;
}

/**
 * wsmon_set_targets - replace the present session by one that monitors some processes
 * @mon:	the monitor
 * @scope:	the processes; an empty scope only stops the present session; NULL does so, too,
 *		and cannot fail
 *
 * Context: may sleep, no locks held.
 * Return: 0. After an error nothing has changed: -ERESTARTSYS if a signal came, or an error of
 * session_alloc(), kthread_create(), wsmon_who_begin() or wsmon_members_scan().
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
 * @ids:	the ids of the processes, or of any of their threads
 * @nr:		number of @ids; 0 stops monitoring
 * @ns:		pid namespace of @ids
 *
 * Context: may sleep, no locks held.
 * Return: as for wsmon_set_targets(), or an error of wsmon_pids_find().
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
 * @text:	attributes in the format of debugfs wsmon/attrs
 * @len:	length of @text in bytes
 *
 * New intervals apply from the present round on. A new number of regions applies from the end of
 * the aggregation interval on.
 * Context: may sleep, no locks held.
 * Return: 0. After an error nothing has changed: -EINVAL, -ERANGE, -ENOMEM, -ERESTARTSYS, or,
 * with who_rate, an error of wsmon_who_begin().
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
	/* while ctl is held, @running can only become false */
	if (READ_ONCE(mon->running))
		room = session_make_room(mon->session, &attrs);
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
	/* take the lock: no round may see half of the change */
	if (wsmon_lock(mon)) {
		ret = -ERESTARTSYS;
		goto out_free;
	}
	if (mon->running) {
		struct wsmon_session *ss = mon->session;

		session_resize(ss, &attrs, room);
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
	/* results of a session that has ended can still be read: forget them, too */
	if (mon->session && !wsmon_attrs_same_windows(&attrs, &mon->attrs))
		session_forget(mon->session,
			       attrs.windows_us[0] == mon->attrs.windows_us[0]);
	mon->attrs = attrs;
	if (mon->running) {
		wsmon_session_begin_pace(mon->session);
		wsmon_session_limit_crowd(mon->session);
		wsmon_stream_attrs(mon->session);
	}
	mutex_unlock(&mon->lock);
	/* the thread may sleep already */
	if (mon->session && mon->session->thread)
		wake_up_process(mon->session->thread);
out_free:
	if (mon->session && !mon->attrs.who_rate)
		wsmon_who_end(mon->session);
	session_free_room(mon->session, room);
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
 * Return: 0; -EINVAL if the name is empty, has WSMON_MARK_TEXT bytes or more, or contains a NUL;
 *	   -ESRCH if nothing is monitored; -EINTR if the task is killed.
 */
int wsmon_set_mark(struct wsmon_monitor *mon, const char *text, size_t len)
{
	int ret = -ESRCH;

	if (len && text[len - 1] == '\n')
		len--;
	if (!len || len >= WSMON_MARK_TEXT || memchr(text, '\0', len))
		return -EINVAL;
	/*
	 * A signal that does not kill must not interrupt this: some of the caller's sessions would
	 * miss the mark, or get it twice when the call is repeated.
	 */
	if (lock_killable(mon))
		return -EINTR;
	if (mon->running) {
		wsmon_stream_mark(mon->session, ++mon->session->nr_marks, text, len);
		ret = 0;
	}
	mutex_unlock(&mon->lock);
	return ret;
}
