// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_cgroup.c - sessions of a cgroup: which processes belong to it
 *
 * A process that is forked into the cgroup, or executes a program in it, is a member from
 * then on (wsmon_member.c). One that moves there, or away, is noticed at the end of an
 * interval. This is the hierarchy of cgroup v2; its root has all processes.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../wsmon_internal.h"

/* Processes found by one pass over all of them, and passes at a time */
#define FOUND_AT_ONCE	512U
#define PASSES_MAX	160U

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

/** wsmon_cgroup_has - is a thread in the cgroup of a session, or below? */
bool wsmon_cgroup_has(const struct wsmon_session *ss, struct task_struct *task)
{
	bool has;

	rcu_read_lock();
	has = task_under_cgroup_hierarchy(task, ss->cgroup);
	rcu_read_unlock();
	return has;
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

bool wsmon_cgroup_has(const struct wsmon_session *ss, struct task_struct *task)
{
	return false;
}
#endif

/* Find processes of the cgroup that are not members. Return: how many, referenced. */
static u32 cgroup_find(const struct wsmon_session *ss, struct pid **found)
{
	struct task_struct *task;
	u32 nr = 0;

	rcu_read_lock();
	for_each_process(task) {
		if (READ_ONCE(task->flags) & PF_KTHREAD || !atomic_read(&task->signal->live) ||
		    !wsmon_cgroup_has(ss, task) || wsmon_members_have(ss, task))
			continue;
		found[nr] = get_pid(task_tgid(task));
		nr += !!found[nr];
		if (nr == FOUND_AT_ONCE)
			break;
	}
	rcu_read_unlock();
	return nr;
}

/**
 * wsmon_cgroup_scan - make members of the processes that a session's cgroup has
 * @ss:	the session, with a cgroup or without
 *
 * If there are too many, or more come all the time, some are left for the next time.
 * Context: the monitor's lock held, or the session does not run yet; may sleep.
 * Return: 0, -ENOMEM or -ENOSPC.
 */
int wsmon_cgroup_scan(struct wsmon_session *ss)
{
	struct pid **found;
	u32 nr, i, pass;
	int err = 0;

	if (!ss->cgroup)
		return 0;
	ss->scanned_ns = ktime_get_ns();
	found = kmalloc_array(FOUND_AT_ONCE, sizeof(*found), GFP_KERNEL);
	if (!found)
		return -ENOMEM;
	for (pass = 0; pass < PASSES_MAX && !err; pass++) {
		nr = cgroup_find(ss, found);
		for (i = 0; i < nr; i++) {
			if (!err)
				err = wsmon_members_take(ss, found[i]);
			put_pid(found[i]);
		}
		cond_resched();
		if (nr < FOUND_AT_ONCE)
			break;
	}
	if (err && ss->thread)
		WRITE_ONCE(ss->stats.unfollowed, ss->stats.unfollowed + 1);
	kfree(found);
	return err;
}
