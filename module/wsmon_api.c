// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_api.c - sessions of other kernel modules
 *
 * Each session has a monitor of its own, and so attributes of its own, even if other sessions
 * watch the same processes. All sessions share the CPU budget, and tell each other which
 * Accessed bits they cleared.
 *
 * kwsmond passes records to a callback of the other module, with the monitor's lock held. The
 * other module cannot be unloaded while the callback runs: its exit must destroy the session,
 * which waits for kwsmond to end. This module cannot be unloaded while another module uses its
 * symbols.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "wsmon_process.h"

/**
 * struct wsmon_client - a session of another module
 * @lock:	serialises callers of this interface; taken before the monitor's locks
 * @mon:	the monitor
 * @pids:	the processes, referenced
 * @nr:		number of @pids
 */
struct wsmon_client {
	struct mutex lock;	/* taken before the monitor's locks */
	struct wsmon_monitor *mon;
	struct pid *pids[WSMON_MAX_TARGETS];
	u32 nr;
};

/*
 * Return: true in a callback that takes records. There, a call of this interface would
 * deadlock: it would wait for its own kwsmond or, for another session, for a kwsmond whose
 * callback may wait for this one.
 */
static bool api_in_callback(void)
{
	return kthread_func(current) == wsmon_session_thread;
}

/* Context: the client's lock held; waits for the rest of a round. */
static bool client_running(const struct wsmon_client *c)
{
	bool running;

	/*
	 * A session passes its END record before it clears @running, under one hold of the lock.
	 * So a caller that has seen the record finds that the session does not run.
	 */
	wsmon_lock_anyway(c->mon);
	running = c->mon->running;
	mutex_unlock(&c->mon->lock);
	return running;
}

/**
 * wsmon_session_create - create a session, which does nothing yet
 * @attrs:	attributes as for debugfs wsmon/attrs: "aggr_us=50000 follow=1". Attributes not
 *		named here have their defaults; NULL for all defaults
 * @record:	callback that gets each record
 * @private:	first argument of @record
 *
 * Context: may sleep.
 * Return: the session, to be freed by wsmon_session_destroy(); or an error pointer: -EINVAL
 * or -ERANGE for attributes, as wsmon_attrs_parse(); -EINVAL if @record is NULL; -EMFILE if
 * there are too many sessions; -ENOMEM.
 */
struct wsmon_client *wsmon_session_create(const char *attrs, wsmon_record_fn record,
					  void *private)
{
	struct wsmon_attrs parsed = wsmon_default_attrs;
	struct wsmon_client *c;
	int err;

	if (!record)
		return ERR_PTR(-EINVAL);
	err = attrs ? wsmon_attrs_parse(&parsed, attrs, strlen(attrs)) : 0;
	if (err)
		return ERR_PTR(err);
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->mon = wsmon_monitor_create();
	if (IS_ERR(c->mon)) {
		err = PTR_ERR(c->mon);
		kfree(c);
		return ERR_PTR(err);
	}
	c->mon->attrs = parsed;
	c->mon->record = record;
	c->mon->private = private;
	mutex_init(&c->lock);
	return c;
}
EXPORT_SYMBOL_GPL(wsmon_session_create);

static int client_add(struct wsmon_client *c, struct pid *pid)
{
	u32 i;

	if (client_running(c))
		return -EBUSY;
	/* processes that have ended make room */
	for (i = c->nr; i-- > 0;) {
		if (!wsmon_pid_alive(c->pids[i])) {
			put_pid(c->pids[i]);
			c->pids[i] = c->pids[--c->nr];
		}
	}
	if (c->nr == WSMON_MAX_TARGETS)
		return -ERANGE;
	pid = wsmon_task_resolve(pid);
	if (IS_ERR(pid))
		return PTR_ERR(pid);
	for (i = 0; i < c->nr; i++) {
		if (c->pids[i] == pid) {
			put_pid(pid);
			return -EINVAL;
		}
	}
	c->pids[c->nr++] = pid;
	return 0;
}

/**
 * wsmon_session_add - add a process to a session that does not run
 * @c:		the session
 * @pid:	any thread of the process; the caller keeps its reference
 *
 * Also removes processes that have ended.
 * Context: may sleep; waits for a running callback.
 * Return: 0; -EBUSY if the session runs; -EINVAL for a kernel thread, or a process that the
 * session has already; -ESRCH for a process that has ended; -ERANGE if the session has
 * WSMON_MAX_TARGETS processes; -EDEADLK in a callback.
 */
int wsmon_session_add(struct wsmon_client *c, struct pid *pid)
{
	int err;

	if (api_in_callback())
		return -EDEADLK;
	mutex_lock(&c->lock);
	err = client_add(c, pid);
	mutex_unlock(&c->lock);
	return err;
}
EXPORT_SYMBOL_GPL(wsmon_session_add);

static int client_start(struct wsmon_client *c)
{
	if (client_running(c))
		return -EBUSY;
	if (!c->nr)
		return -EINVAL;
	return wsmon_set_targets(c->mon, &(struct wsmon_scope){
		.pids = c->pids, .nr = c->nr, .ns = &init_pid_ns });
}

/**
 * wsmon_session_start - begin to watch the processes of a session
 * @c:	the session
 *
 * The session runs until it is stopped or all processes are gone. After that it may be started
 * again. A process that ended before the start gets its EXIT record.
 * Context: may sleep; waits for a running callback.
 * Return: 0; -EBUSY if the session runs; -EINVAL without processes, or if min_regions times
 * the number of processes exceeds max_regions; -ENOMEM; -EINTR, -ERESTARTSYS; -EDEADLK in a
 * callback.
 */
int wsmon_session_start(struct wsmon_client *c)
{
	int err;

	if (api_in_callback())
		return -EDEADLK;
	mutex_lock(&c->lock);
	err = client_start(c);
	mutex_unlock(&c->lock);
	return err;
}
EXPORT_SYMBOL_GPL(wsmon_session_start);

/**
 * wsmon_session_stop - stop a session, if it runs
 * @c:	the session
 *
 * Waits for a running callback; after it returned, there are no more calls.
 * Context: may sleep; not while kernel threads are frozen, as in a device's suspend().
 * Return: 0; -EDEADLK in a callback, which may schedule a work item that stops the session.
 */
int wsmon_session_stop(struct wsmon_client *c)
{
	if (api_in_callback())
		return -EDEADLK;
	mutex_lock(&c->lock);
	wsmon_set_targets(c->mon, NULL);
	mutex_unlock(&c->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(wsmon_session_stop);

/**
 * wsmon_session_destroy - stop a session, and free it
 * @c:	the session, which no other task uses any more; or NULL
 *
 * A module must destroy its sessions before it is unloaded. Waits as wsmon_session_stop().
 * Context: may sleep; not while kernel threads are frozen; not in a callback, where it warns
 * and does nothing.
 */
void wsmon_session_destroy(struct wsmon_client *c)
{
	u32 i;

	if (!c || WARN_ON_ONCE(api_in_callback()))
		return;
	wsmon_set_targets(c->mon, NULL);
	wsmon_monitor_free(c->mon);
	for (i = 0; i < c->nr; i++)
		put_pid(c->pids[i]);
	kfree(c);
}
EXPORT_SYMBOL_GPL(wsmon_session_destroy);
