// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_cgroup.c - find processes that run already and belong to a session: processes of its
 * cgroup, or descendants of its targets
 *
 * A process that is forked into the cgroup, or executes a program in it, becomes a member at that
 * moment (wsmon_member.c). At the end of an interval, a scan finds processes that moved into the
 * cgroup, and wsmon_members_age() finds members that moved out of it. The hierarchy is that of
 * cgroup v2; its root has all processes.
 *
 * The scan for descendants of targets runs once, when the session begins, or when it is told to
 * follow them. The probe at fork is attached before: each child of a member becomes a member. So a
 * scan can miss a process only if the parent became a member after the scan had passed the process.
 * Another scan finds it. While members fork and no spare members are left, scans could go on
 * forever: after SCAN_TURNS scans the rest is left out. A process whose parent has ended is no
 * descendant any more.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "wsmon_process.h"

/* Look at this many ids without a pause */
#define AT_ONCE		256U
/* A scan of a running session's cgroup may take 1 / SHARE of an interval's CPU budget */
#define SHARE		8U

/*
 * Maximum number of scans for descendants. A scan goes by ascending ids, so a process whose id is
 * lower than its parent's is found only by the next scan.
 */
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
	/* the path may be that of a file in a cgroup */
	return cgroup == ERR_PTR(-ENOTDIR) ? ERR_PTR(-ENOENT) : cgroup;
}

/** wsmon_cgroup_put - drop the reference of wsmon_cgroup_get() */
void wsmon_cgroup_put(struct cgroup *cgroup)
{
	cgroup_put(cgroup);
}

/** wsmon_cgroup_begin - set the cgroup of a new session, or NULL. Context: nobody knows it yet. */
void wsmon_cgroup_begin(struct wsmon_session *ss, struct cgroup *cgroup)
{
	ss->cgroup = cgroup;
	if (cgroup)
		cgroup_get(cgroup);
}

/** wsmon_cgroup_end - release a session's cgroup. Context: nobody knows the session any more. */
void wsmon_cgroup_end(struct wsmon_session *ss)
{
	if (ss->cgroup)
		cgroup_put(ss->cgroup);
}

/** wsmon_cgroup_exists - return whether a session has a cgroup that was not removed */
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

/* Tell whether a process, member or not, belongs to a session. Context: RCU. */
static bool scan_wants(const struct wsmon_session *ss, struct task_struct *task)
{
	if (ss->cgroup)
		return wsmon_cgroup_has(ss, task);
	return wsmon_members_have(ss, rcu_dereference(task->real_parent));
}

/*
 * Find processes that belong to a session and are not members yet, among AT_ONCE ids from @at on.
 * @at:		set to the id where to go on; 0: there are no more ids
 * @found:	set to the processes, referenced
 * Return: number of @found.
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
 * wsmon_members_scan - make processes of a session's cgroup, or descendants of targets, members
 * @ss:	the session; nothing is done if it neither has a cgroup nor follows
 *
 * While a session of a cgroup runs, a call takes about an eighth of the CPU budget of an interval;
 * the next call goes on at @scan_at.
 * Context: the monitor's lock held, or the session does not run yet; may sleep.
 * Return: 0; -ENOMEM; -ENOSPC if a cgroup has too many processes.
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
		/* this scan may have passed children of processes that it found later */
		if (!ss->scan_at && !ss->cgroup && more && --turns) {
			ss->scan_at = 1;
			more = 0;
		}
	} while (ss->scan_at && !err && ktime_get_ns() - start < most);
	if (err)
		ss->scan_at = 0;
	if (!turns || (err && (ss->thread || !ss->cgroup)))
		WRITE_ONCE(ss->unfollowed, ss->unfollowed + 1);
	kfree(found);
	return err == -ENOSPC && !ss->cgroup ? 0 : err;
}
