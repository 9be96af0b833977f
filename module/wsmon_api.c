// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_api.c - sessions of other kernel modules
 *
 * A session has a monitor of its own: its attributes are its own, whoever else watches the
 * same processes. It shares the CPU budget with all others, and Accessed bits that one
 * clears are seen by all.
 *
 * Records go to a function of the other module, in kwsmond with the monitor's lock held.
 * That module cannot go while this function runs: its exit has to destroy the session, which
 * waits for kwsmond to end. This module cannot go while the other uses its symbols.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "wsmon_process.h"

/**
 * struct wsmon_client - a session of another module
 * @lock:	serialises its callers; outside of the monitor's locks
 * @mon:	the monitor
 * @pids:	the processes, referenced
 * @nr:		number of @pids
 */
struct wsmon_client {
	struct mutex lock;	/* see above */
	struct wsmon_monitor *mon;
	struct pid *pids[WSMON_MAX_TARGETS];
	u32 nr;
};

/*
 * Is this a call of a function that takes records? It would wait for kwsmond to end, or, if
 * it acts on another session, for one that may wait for this one.
 */
static bool api_in_callback(void)
{
	return kthread_func(current) == wsmon_session_thread;
}

/* Context: the client's lock held. */
static bool client_running(const struct wsmon_client *c)
{
	bool running;

	/* one that is ending right now tells of it before it has ended */
	wsmon_lock_anyway(c->mon);
	running = c->mon->running;
	mutex_unlock(&c->mon->lock);
	return running;
}

/**
 * wsmon_session_create - create a session, which does nothing yet
 * @attrs:	its attributes, as written to debugfs wsmon/attrs: "aggr_us=50000 follow=1";
 *		those that are not named, or all if it is NULL, have their defaults
 * @record:	gets each record
 * @private:	its first argument
 *
 * Context: may sleep.
 * Return: the session, for wsmon_session_destroy(); or an error pointer: -EINVAL, -ERANGE for
 * attributes, -EMFILE if there are too many sessions, -ENOMEM.
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
	/* what has ended makes room */
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
 * @pid:	the process, by any of its threads; the caller keeps its reference
 *
 * Those that have ended are forgotten.
 * Context: may sleep; waits for a call of the function that takes records.
 * Return: 0; -EBUSY if the session runs; -EINVAL for a kernel thread, or a process that it
 * has already; -ESRCH for one that has ended; -ERANGE if there are too many; -EDEADLK in a
 * function that takes records.
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
 * It runs until it is stopped, or all processes are gone. After that it may be started
 * again. A process that has ended by then gets its EXIT record.
 * Context: may sleep; waits for a call of the function that takes records.
 * Return: 0; -EBUSY if it runs; -EINVAL without processes, or if min_regions for each is
 * more than max_regions; -ENOMEM, -EINTR, -ERESTARTSYS; -EDEADLK in a function that takes
 * records.
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
 * Waits for a call of the function that takes records; there is none after it returned.
 * Context: may sleep; not while kernel threads are frozen, as in a device's suspend().
 * Return: 0; -EDEADLK in a function that takes records, which may have a work item do it.
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
 * @c:	the session, which nobody else uses any more; or NULL
 *
 * A module that created a session must call it before it is unloaded. Waits as
 * wsmon_session_stop() does.
 * Context: may sleep; not in a function that takes records, where it does nothing but warn.
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
