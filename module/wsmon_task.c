// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_task.c - the threads of a target: whose memory it is, who runs
 *
 * A main thread may have ended before the others, so any thread will do where one
 * is asked for. Threads are looked at under RCU, without a lock: one that comes or
 * goes meanwhile is looked at or not.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "wsmon_internal.h"

/* Threads that are looked at each round; a process with more counts as running */
#define THREADS_MAX	256

/* The mm of a thread, referenced by mmgrab(), or NULL. Context: RCU. */
static struct mm_struct *thread_grab_mm(struct task_struct *thread)
{
	struct mm_struct *mm;

	task_lock(thread);
	mm = thread->flags & PF_KTHREAD ? NULL : thread->mm;
	if (mm)
		mmgrab(mm);
	task_unlock(thread);
	return mm;
}

/*
 * The mm of a process, referenced by mmgrab(), and which program it is; NULL if there
 * is none, or nobody is left to use it. Context: RCU.
 */
static struct mm_struct *task_grab_mm(struct task_struct *task, u64 *exec_id)
{
	struct task_struct *thread;

	if (!atomic_read(&task->signal->live))
		return NULL;
	for_each_thread(task, thread) {
		struct mm_struct *mm = thread_grab_mm(thread);

		if (mm) {
			*exec_id = READ_ONCE(thread->self_exec_id);
			return mm;
		}
	}
	return NULL;
}

/**
 * wsmon_task_resolve - the process a pid belongs to
 * @nr:	its id, or that of any of its threads
 * @ns:	the pid namespace of the id
 *
 * Context: may sleep.
 * Return: its struct pid, referenced; -ESRCH: there is none, or it has no memory
 * any more; -EINVAL: a kernel thread.
 */
struct pid *wsmon_task_resolve(u32 nr, struct pid_namespace *ns)
{
	struct pid *pid = ERR_PTR(-ESRCH);
	struct mm_struct *mm = NULL;
	struct task_struct *task;
	u64 exec_id;

	rcu_read_lock();
	task = pid_task(find_pid_ns(nr, ns), PIDTYPE_PID);
	if (task && READ_ONCE(task->flags) & PF_KTHREAD)
		pid = ERR_PTR(-EINVAL);
	else if (task)
		mm = task_grab_mm(task, &exec_id);
	/* it may have been reaped by now */
	if (mm)
		pid = get_pid(task_tgid(task)) ?: ERR_PTR(-ESRCH);
	rcu_read_unlock();
	if (mm)
		mmdrop(mm);
	return pid;
}

/**
 * wsmon_target_mm - the address space of a target, for one round
 * @t:		the target
 * @changed:	set if it is not the one the regions describe; they are its
 *		identity's now, and the name is that of the new program
 *
 * The reference keeps the structure, not the memory: a process that exits meanwhile
 * is not held up. Who looks at its memory takes wsmon_mm_lock().
 *
 * Return: the mm, to be given to mmdrop(); NULL if the process is gone, or about to
 * be: all of its threads are in exit.
 */
struct mm_struct *wsmon_target_mm(struct wsmon_target *t, bool *changed)
{
	struct mm_struct *mm = NULL;
	struct task_struct *leader;
	u64 exec_id = 0;

	rcu_read_lock();
	leader = pid_task(t->pid, PIDTYPE_TGID);
	if (leader)
		mm = task_grab_mm(leader, &exec_id);
	*changed = mm && (mm != t->mm || exec_id != t->exec_id);
	if (*changed) {
		t->mm = mm;
		t->exec_id = exec_id;
		get_task_comm(t->comm, leader);
	}
	rcu_read_unlock();
	return mm;
}

/**
 * wsmon_target_alive - is any of a target's threads not in exit?
 * @t:	the target
 */
bool wsmon_target_alive(const struct wsmon_target *t)
{
	struct task_struct *leader;
	bool alive;

	rcu_read_lock();
	leader = pid_task(t->pid, PIDTYPE_TGID);
	alive = leader && atomic_read(&leader->signal->live);
	rcu_read_unlock();
	return alive;
}

/* Does anybody but @nr threads and the monitor use it: a vfork child, a borrower? */
static bool mm_has_other_users(const struct wsmon_target *t, const struct mm_struct *mm,
			   unsigned int nr)
{
	return atomic_read(&mm->mm_users) != nr + wsmon_life_keeps(t, mm);
}

/**
 * wsmon_target_ran - may a target have accessed memory since the last call?
 * @t:	the target
 * @mm:	its mm
 *
 * Not if each of its threads sleeps and has used no CPU time, and nobody else
 * uses the mm.
 */
bool wsmon_target_ran(struct wsmon_target *t, struct mm_struct *mm)
{
	struct task_struct *leader, *thread;
	unsigned int nr = 0;
	bool ran = true;
	u64 sum = 0;

	rcu_read_lock();
	leader = pid_task(t->pid, PIDTYPE_TGID);
	if (leader && get_nr_threads(leader) <= THREADS_MAX) {
		ran = false;
		for_each_thread(leader, thread) {
			ran |= task_is_running(thread);
			/* pairs with finish_task(): then its time is known */
			ran |= smp_load_acquire(&thread->on_cpu);
			sum += READ_ONCE(thread->se.sum_exec_runtime);
			nr += READ_ONCE(thread->mm) == mm;
		}
		sum += READ_ONCE(leader->signal->sum_sched_runtime) +
		       READ_ONCE(leader->signal->nr_threads);
	}
	rcu_read_unlock();
	if (mm_has_other_users(t, mm, nr) || sum != t->ran)
		ran = true;
	t->ran = sum;
	return ran;
}

/**
 * wsmon_target_cpus - the processors that run a target at this moment, or are to
 * @t:		the target
 * @mm:		its mm
 * @cpus:	the result: all that ran it lately, if it has many threads or somebody
 *		else uses the mm
 *
 * mm_cpumask() alone also has processors that have long gone on to something else:
 * they leave it only now and then.
 */
void wsmon_target_cpus(const struct wsmon_target *t, struct mm_struct *mm,
		       struct cpumask *cpus)
{
	struct task_struct *leader, *thread;
	unsigned int nr = 0;

	cpumask_clear(cpus);
	rcu_read_lock();
	leader = pid_task(t->pid, PIDTYPE_TGID);
	if (leader && get_nr_threads(leader) <= THREADS_MAX) {
		for_each_thread(leader, thread) {
			/*
			 * It may have been switched with another one of these
			 * before that was looked at: between threads of one mm
			 * nobody looks at the generation.
			 */
			if (READ_ONCE(thread->on_cpu) || task_is_running(thread))
				cpumask_set_cpu(task_cpu(thread), cpus);
			nr += READ_ONCE(thread->mm) == mm;
		}
	}
	rcu_read_unlock();
	if (mm_has_other_users(t, mm, nr))
		cpumask_copy(cpus, mm_cpumask(mm));
}
