// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_cgroup.c - which processes that run already belong to a session: those of a cgroup, and
 * descendants of targets
 *
 * A process that is forked into the cgroup, or executes a program in it, is a member from
 * then on (wsmon_member.c). One that moves there, or away, is noticed at the end of an
 * interval. This is the hierarchy of cgroup v2; its root has all processes.
 *
 * Descendants of targets are looked for once, when the session begins or is told to follow them.
 * The probe at fork is there before: a child of a member is a member. So a process is missed only
 * if its parent became a member after the process was looked at, and one look more finds it. That
 * could go on while members fork, as there are no spare members left: after SCAN_TURNS looks the
 * rest is left out. Whose parent has ended is no descendant any more.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "wsmon_process.h"

/* Ids that are looked at without a pause, and share of the CPU budget that this may take */
#define AT_ONCE		256U
#define SHARE		8U

/* Looks for descendants, at most; some with ids below those of their parents may be left out */
#define SCAN_TURNS	16U

#ifdef CONFIG_CGROUPS
/**
 * wsmon_cgroup_get - find a cgroup
 * @path:	its path below the mount point of cgroup v2
 * @len:	its length in bytes
 *
 * Return: the cgroup, referenced; -ENOENT if there is none; -ENOMEM; -EOPNOTSUPP.
 */
struct cgroup *wsmon_cgroup_get(const char *path, size_t len)
{
	char *copy = kmemdup_nul(path, len, GFP_KERNEL);
	struct cgroup *cgroup;

	if (!copy)
		return ERR_PTR(-ENOMEM);
	cgroup = cgroup_get_from_path(copy);
	kfree(copy);
	/* a file of a cgroup */
	return cgroup == ERR_PTR(-ENOTDIR) ? ERR_PTR(-ENOENT) : cgroup;
}

/** wsmon_cgroup_put - drop the reference of wsmon_cgroup_get() */
void wsmon_cgroup_put(struct cgroup *cgroup)
{
	cgroup_put(cgroup);
}

/** wsmon_cgroup_begin - have a session watch a cgroup, or NULL. Context: nobody knows it yet. */
void wsmon_cgroup_begin(struct wsmon_session *ss, struct cgroup *cgroup)
{
	ss->cgroup = cgroup;
	if (cgroup)
		cgroup_get(cgroup);
}

/** wsmon_cgroup_end - the opposite. Context: nobody knows the session any more. */
void wsmon_cgroup_end(struct wsmon_session *ss)
{
	if (ss->cgroup)
		cgroup_put(ss->cgroup);
}

/** wsmon_cgroup_exists - has a session a cgroup that was not removed? */
bool wsmon_cgroup_exists(const struct wsmon_session *ss)
{
	return ss->cgroup && READ_ONCE(ss->cgroup->self.flags) & CSS_ONLINE;
}

#else
struct cgroup *wsmon_cgroup_get(const char *path, size_t len)
{
	return ERR_PTR(-EOPNOTSUPP);
}

void wsmon_cgroup_put(struct cgroup *cgroup)
{
}

void wsmon_cgroup_begin(struct wsmon_session *ss, struct cgroup *cgroup)
{
}

void wsmon_cgroup_end(struct wsmon_session *ss)
{
}

bool wsmon_cgroup_exists(const struct wsmon_session *ss)
{
	return false;
}

#endif

/* Does a process belong to a session that may not have it yet? Context: RCU. */
static bool scan_wants(const struct wsmon_session *ss, struct task_struct *task)
{
	if (ss->cgroup)
		return wsmon_cgroup_has(ss, task);
	return wsmon_members_have(ss, rcu_dereference(task->real_parent));
}

/*
 * Find processes of a session that are not members, among the next AT_ONCE ids from @at on.
 * @at: set to where to go on; 0: those were the last. Return: how many, referenced.
 */
static u32 scan_find(const struct wsmon_session *ss, u32 *at, struct pid **found)
{
	u32 nr = 0, i;

	rcu_read_lock();
	for (i = 0; i < AT_ONCE; i++) {
		struct pid *pid = find_ge_pid(*at, &init_pid_ns);
		struct task_struct *task;

		*at = pid ? pid_nr(pid) + 1 : 0;
		if (!pid)
			break;
		task = pid_task(pid, PIDTYPE_TGID);
		if (task && !(READ_ONCE(task->flags) & PF_KTHREAD) &&
		    atomic_read(&task->signal->live) && scan_wants(ss, task) &&
		    !wsmon_members_have(ss, task))
			found[nr++] = get_pid(pid);
	}
	rcu_read_unlock();
	return nr;
}

/**
 * wsmon_members_scan - make members of processes of a session's cgroup, or descendants
 * @ss:	the session; nothing is done if it neither has a cgroup nor follows
 *
 * While a session of a cgroup runs that takes an eighth of its CPU budget or so at a time:
 * @scan_at says where the next call goes on.
 * Context: the monitor's lock held, or the session does not run yet; may sleep.
 * Return: 0, -ENOMEM or, of a cgroup, -ENOSPC.
 */
int wsmon_members_scan(struct wsmon_session *ss)
{
	u64 start = ktime_get_ns(), most = U64_MAX;
	u32 nr, i, more = 0, turns = SCAN_TURNS;
	struct pid **found;
	int err = 0;

	if (!ss->follow)
		return 0;
	if (ss->thread && ss->cgroup)
		most = div64_u64(wsmon_aggr_ns(ss) * ss->cpu_permille, 1000 * SHARE);
	if (!ss->scan_at)
		ss->scanned_ns = start;
	found = kmalloc_array(AT_ONCE, sizeof(*found), GFP_KERNEL);
	if (!found)
		return -ENOMEM;
	do {
		nr = scan_find(ss, &ss->scan_at, found);
		more += nr;
		for (i = 0; i < nr; i++) {
			if (!err)
				err = wsmon_members_take(ss, found[i]);
			put_pid(found[i]);
		}
		cond_resched();
		/* children of those that were found may have been looked at before */
		if (!ss->scan_at && !ss->cgroup && more && --turns) {
			ss->scan_at = 1;
			more = 0;
		}
	} while (ss->scan_at && !err && ktime_get_ns() - start < most);
	if (err)
		ss->scan_at = 0;
	if (!turns || (err && (ss->thread || !ss->cgroup)))
		WRITE_ONCE(ss->stats.unfollowed, ss->stats.unfollowed + 1);
	kfree(found);
	return err == -ENOSPC && !ss->cgroup ? 0 : err;
}
