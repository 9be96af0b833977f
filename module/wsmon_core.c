// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_core.c - the monitor and its session, init and exit of the module
 */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/idr.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "wsmon_group.h"
#include "wsmon_hintfault.h"

/*
 * The monitor's state: lock, attributes, and the memory of a session
 *
 * No other task can see a session while it is created or freed, so neither needs the monitor's
 * lock.
 */

/* The attributes of a new monitor */
const struct wsmon_attrs wsmon_default_attrs = {
	.sample_us = 100 * USEC_PER_MSEC,
	.aggr_us = USEC_PER_SEC,
	.update_us = USEC_PER_SEC,
	.windows_us = { USEC_PER_SEC },
	.min_regions = 10,
	.max_regions = 2000,
	.nr_windows = 1,
	.flags = WSMON_ATTR_FLUSH_TLB,
	.cpu_permille = 30,
	.peak_detector = WSMON_PEAK_SIGMA,
	.peak_window = 30,
	.peak_gain = 5000,
	.peak_adapt = 250,
};

/* The monitor of debugfs */
struct wsmon_monitor wsmon;

/**
 * monitor_init - prepare a monitor
 * @mon:	the monitor, all zero
 * @slot:	a number that no other monitor has
 */
static void monitor_init(struct wsmon_monitor *mon, u32 slot)
{
	mutex_init(&mon->ctl);
	mutex_init(&mon->lock);
	mon->slot = slot;
	mon->attrs = wsmon_default_attrs;
	mon->stop_reason = -1;
	INIT_LIST_HEAD(&mon->buffers);
}

/* Numbers of monitors; that of debugfs is 0 */
static DEFINE_IDA(slots);

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
	monitor_init(mon, slot);
	return mon;
}

/**
 * session_free - free a session that has no thread any more, or never had one
 * @ss:	the session, or NULL
 */
static void session_free(struct wsmon_session *ss)
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
 * wsmon_monitor_free - free a monitor whose session, if it had one, was stopped
 * @mon:	the monitor, of wsmon_monitor_create()
 */
void wsmon_monitor_free(struct wsmon_monitor *mon)
{
	session_free(mon->session);
	ida_free(&slots, mon->slot);
	kfree(mon);
}

/* kwsmond lets others go first this many times, for YIELD_US to twice that each time */
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

/** lock_killable - the same, but -EINTR only if a fatal signal came */
static int lock_killable(struct wsmon_monitor *mon)
{
	int ret;

	atomic_inc(&mon->waiters);
	ret = mutex_lock_killable(&mon->lock);
	atomic_dec(&mon->waiters);
	return ret;
}

/** wsmon_lock_anyway - the same without regard to signals */
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
 * If rounds are late, kwsmond takes the lock again at once, before a waiting task has
 * woken up, and could do so again and again. So waiting tasks go first, up to a limit.
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
 * wsmon_may_trace - check whether the present task may see which memory a process uses
 *
 * That is what a tracer may see. ptrace_may_access() is not exported: this is the right that
 * makes it allow every process.
 */
bool wsmon_may_trace(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_SYS_PTRACE);
}

/**
 * wsmon_may_open - check whether the present task may open one of the files
 * @trace:	the file shows which memory processes use, not only sums
 *
 * The modes of the files admit only root. This function also rejects root of a
 * container that has the host's debugfs: only a task with CAP_SYS_ADMIN in the initial
 * user namespace may see what processes of the host do.
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

/* Sessions that run: they share the CPU budget, unless it is a whole CPU */
static atomic_t running = ATOMIC_INIT(0);

/** wsmon_session_count - one session more runs (1), or one less (-1) */
void wsmon_session_count(int by)
{
	atomic_add(by, &running);
}

/** wsmon_session_several - tell whether several sessions run */
bool wsmon_session_several(void)
{
	return atomic_read(&running) > 1;
}

/**
 * wsmon_session_share_budget - learn how many sessions share the CPU budget for now
 * @ss:	the session; sets @cpu_permille and @pace.sharers
 *
 * Context: the monitor's lock held.
 */
void wsmon_session_share_budget(struct wsmon_session *ss)
{
	u32 permille = ss->mon->attrs.cpu_permille;

	ss->pace.sharers = max(atomic_read(&running), 1);
	ss->cpu_permille = permille < 1000 ? max(permille / ss->pace.sharers, 1U) : permille;
}

/** wsmon_session_begin_pace - begin without knowledge of costs. Context: as above. */
void wsmon_session_begin_pace(struct wsmon_session *ss)
{
	wsmon_session_share_budget(ss);
	wsmon_pace_begin(&ss->pace, &ss->mon->attrs);
	wsmon_precision_begin(&ss->precision);
}

/* Divide max_regions equally among the targets. */
static u32 target_budget(const struct wsmon_attrs *attrs, u32 nr_targets)
{
	return attrs->max_regions / max(nr_targets, 1U);
}

/* Leave room for a quarter more than the budget, for mappings that change. */
static u32 regions_cap(u32 budget)
{
	return budget + budget / 4 + 64;
}

static int regions_alloc(struct wsmon_regions *rs, u32 cap)
{
	rs->r = kvcalloc(cap, sizeof(*rs->r), GFP_KERNEL);
	rs->spare = kvcalloc(cap, sizeof(*rs->spare), GFP_KERNEL);
	if (!rs->r || !rs->spare) {
		kvfree(rs->r);
		kvfree(rs->spare);
		rs->r = NULL;
		rs->spare = NULL;
		return -ENOMEM;
	}
	rs->cap = cap;
	return 0;
}

/**
 * wsmon_regions_alloc - allocate room for @limit regions
 * @rs:	the regions
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_regions_alloc(struct wsmon_regions *rs)
{
	return regions_alloc(rs, regions_cap(rs->limit));
}

/** wsmon_regions_free - free what wsmon_regions_alloc() allocated */
void wsmon_regions_free(struct wsmon_regions *rs)
{
	kvfree(rs->r);
	kvfree(rs->spare);
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
	       regions_alloc(&t->regions, regions_cap(t->regions.budget));
}

/**
 * session_alloc - allocate a session that monitors some processes
 * @mon:	the monitor that is to run it
 * @scope:	the processes
 * @attrs:	the attributes
 *
 * Context: the monitor's ctl held, may sleep.
 * Return: the session; -EINVAL for the same process twice, or if min_regions for each
 * target is more than max_regions; -ENOMEM.
 */
static struct wsmon_session *session_alloc(struct wsmon_monitor *mon,
					   const struct wsmon_scope *scope,
					   const struct wsmon_attrs *attrs)
{
	struct wsmon_session *ss;
	u32 nr = scope->nr;
	int err = -ENOMEM;
	u32 i;

	if (target_budget(attrs, nr) < attrs->min_regions)
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
		ss->targets[i].regions.budget = target_budget(attrs, nr);
		ss->targets[i].regions.limit = target_budget(attrs, nr);
		err = target_init(ss, i, scope->pids[i]);
		if (err)
			goto err_free;
	}
	ss->nr_alive = nr;
	ss->ns = get_pid_ns(scope->ns);
	wsmon_cgroup_begin(ss, scope->cgroup);
	return ss;

err_free:
	session_free(ss);
	return ERR_PTR(err);
}

/* Swap in larger arrays; keep the regions. */
static void regions_enlarge(struct wsmon_regions *rs, struct wsmon_regions *larger)
{
	memcpy(larger->r, rs->r, sizeof(*rs->r) * rs->nr);
	swap(rs->r, larger->r);
	swap(rs->spare, larger->spare);
	rs->cap = larger->cap;
}

/**
 * session_free_room - free what session_make_room() returned
 * @ss:		the session
 * @room:	the arrays, or NULL
 */
static void session_free_room(const struct wsmon_session *ss, struct wsmon_regions *room)
{
	u32 i;

	if (!room)
		return;
	for (i = 0; i < ss->nr_targets; i++)
		wsmon_regions_free(&room[i]);
	kvfree(room);
}

/**
 * session_make_room - allocate larger arrays that new attributes need
 * @ss:		the session
 * @attrs:	the attributes
 *
 * Context: the monitor's ctl held, may sleep.
 * Return: the arrays for session_resize(), to be freed by session_free_room();
 * -EINVAL as in session_alloc(), or -ENOMEM.
 */
static struct wsmon_regions *session_make_room(const struct wsmon_session *ss,
					       const struct wsmon_attrs *attrs)
{
	u32 budget = target_budget(attrs, ss->nr_targets), i;
	struct wsmon_regions *larger;
	int err;

	if (budget < attrs->min_regions)
		return ERR_PTR(-EINVAL);
	larger = kvcalloc(ss->nr_targets, sizeof(*larger), GFP_KERNEL);
	if (!larger)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < ss->nr_targets; i++) {
		if (regions_cap(budget) <= ss->targets[i].regions.cap)
			continue;
		err = regions_alloc(&larger[i], regions_cap(budget));
		if (err) {
			session_free_room(ss, larger);
			return ERR_PTR(err);
		}
	}
	return larger;
}

/**
 * session_resize - give the targets the regions that new attributes allow
 * @ss:		the session
 * @attrs:	the attributes
 * @room:	what session_make_room() returned; has the old arrays afterwards
 *
 * Arrays only grow; regions above a smaller budget
 * are merged at the end of the aggregation interval.
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
		t->regions.limit = target_budget(attrs, ss->nr_targets);
		t->drop_all = true;
	}
	ss->regroup |= attrs->max_regions != ss->mon->attrs.max_regions;
	wsmon_session_share(ss, attrs, WSMON_ONE);
}

/**
 * wsmon_session_share - give the targets a share of the regions that attributes allow
 * @ss:		the session
 * @attrs:	the attributes
 * @share:	the share (Q15)
 *
 * A target never gets less than min_regions. The arrays are large enough for any share.
 * Context: the monitor's lock held.
 */
void wsmon_session_share(struct wsmon_session *ss,
			 const struct wsmon_attrs *attrs, u32 share)
{
	u64 budget = (u64)target_budget(attrs, ss->nr_targets) * share / WSMON_ONE;
	u32 i;

	wsmon_group_budget(ss, (u64)attrs->max_regions * share / WSMON_ONE);
	budget = max_t(u64, wsmon_group_leaves(ss, budget), attrs->min_regions);
	for (i = 0; i < ss->nr_targets; i++) {
		struct wsmon_target *t = &ss->targets[i];

		if (t->regions.budget == budget)
			continue;
		t->regions.budget = budget;
		/* at most half of the budget may be areas: group the mappings anew */
		if (t->space.coalesced || t->space.nr_area > budget / 2)
			t->updated_ns = 0;
	}
}

/**
 * session_forget - forget what was observed for windows that change
 * @ss:		the session
 * @first:	the first window that changes: 1 if the shortest one stays, so that peaks go
 *		on; else 0
 *
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

/*
 * Starting, stopping and changing a session
 *
 * A task that does this holds the monitor's ctl. wsmon_thread.c has the session's thread.
 */

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

	ss = session_alloc(mon, scope, &mon->attrs);
	if (IS_ERR(ss))
		return PTR_ERR(ss);
	thread = kthread_create(wsmon_session_thread, ss, "kwsmond");
	if (IS_ERR(thread)) {
		session_free(ss);
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
		session_free(ss);
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
	session_free(old);
	wake_up_process(thread);
	return 0;
}

/**
 * wsmon_set_targets - monitor some processes, and no others
 * @mon:	the monitor
 * @scope:	the processes; none stops monitoring; NULL stops it without fail
 *
 * Context: may sleep, no locks held.
 * Return: 0; on -ERESTARTSYS, or an error of session_alloc(), nothing has changed.
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
	/* no round may see half of the change */
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
	/* do this also if the session has ended: its results can still be read */
	if (mon->session && !wsmon_attrs_same_windows(&attrs, &mon->attrs))
		session_forget(mon->session,
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
	if (lock_killable(mon))
		return -EINTR;
	if (mon->running) {
		wsmon_stream_mark(mon->session, ++mon->session->nr_marks, text, len);
		ret = 0;
	}
	mutex_unlock(&mon->lock);
	return ret;
}

/*
 * Module init and exit, and the files in debugfs wsmon/
 */

static struct dentry *wsmon_dir;

static const struct {
	const char *name;
	umode_t mode;
	const struct file_operations *fops;
} files[] = {
	{ "attrs", 0600, &wsmon_attrs_fops },
	{ "target", 0600, &wsmon_target_fops },
	{ "mark", 0600, &wsmon_mark_fops },
	{ "status", 0400, &wsmon_status_fops },
	{ "wss", 0400, &wsmon_wss_fops },
	{ "regions", 0400, &wsmon_regions_fops },
	{ "peaks", 0400, &wsmon_peaks_fops },
	{ "stats", 0400, &wsmon_stats_fops },
	{ "buffer", 0400, &wsmon_buffer_fops },
};

/* Create the files. If one cannot be created, the module must not load. */
static int __init create_files(void)
{
	struct dentry *file;
	unsigned int i;

	wsmon_dir = debugfs_create_dir("wsmon", NULL);
	if (IS_ERR(wsmon_dir))
		return PTR_ERR(wsmon_dir);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = debugfs_create_file(files[i].name, files[i].mode,
					   wsmon_dir, NULL, files[i].fops);
		if (IS_ERR(file)) {
			debugfs_remove(wsmon_dir);
			return PTR_ERR(file);
		}
	}
	return 0;
}

static int __init wsmon_init(void)
{
	int err;

	if (PAGE_SIZE != SZ_4K) {
		pr_err("wsmon: only kernels with pages of 4 KiB are supported\n");
		return -EOPNOTSUPP;
	}
	monitor_init(&wsmon, 0);
	err = wsmon_young_init();
	if (err)
		return err;
	err = wsmon_debugfs_buffer_init();
	if (err)
		goto err_young_exit;
	err = wsmon_probes_init();
	if (err)
		goto err_buffer_exit;
	err = create_files();
	if (err)
		goto err_probes_exit;
	/* the last one: a file that is open when it is removed would stay */
	err = wsmon_device_init();
	if (err)
		goto err_remove_files;
	/* pairs with wsmon_may_open() */
	smp_store_release(&wsmon_ready, true);
	return 0;

err_remove_files:
	debugfs_remove(wsmon_dir);
err_probes_exit:
	wsmon_probes_exit();
err_buffer_exit:
	wsmon_debugfs_buffer_exit();
err_young_exit:
	wsmon_young_exit();
	return err;
}

static void __exit wsmon_exit(void)
{
	/* no file can be used from here on, so no session can be started */
	debugfs_remove(wsmon_dir);
	wsmon_device_exit();
	wsmon_set_targets(&wsmon, NULL);
	wsmon_probes_exit();
	wsmon_kept_exit();
	wsmon_tlb_drain();
	wsmon_young_exit();
	session_free(wsmon.session);
	wsmon_debugfs_buffer_exit();
}

module_init(wsmon_init);
module_exit(wsmon_exit);

MODULE_DESCRIPTION("Working set monitor");
MODULE_AUTHOR("The wsmon authors");
MODULE_LICENSE("GPL");
/* that of debian/changelog; with it modules have a srcversion, which wsmo check compares */
MODULE_VERSION("0.1");
