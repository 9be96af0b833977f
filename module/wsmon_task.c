// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_task.c - a target as a process: its mm and its threads
 *
 * The main thread may end before the others, so this file does not rely on it: any live thread
 * will do. The list of threads is read under RCU, without a lock, so a thread that starts or ends
 * meanwhile may be missed.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "wsmon_process.h"

/* A process with more threads than this counts as running: its threads are not looked at */
#define THREADS_MAX	256

/* Get the mm of a thread, with a reference on mm_count, or NULL. Context: RCU. */
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
 * Get the mm of a process, with a reference on mm_count, and the program's exec_id.
 * Context: RCU. Return: NULL if the process has no mm, or no live thread.
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
 * wsmon_task_resolve - find the process that a pid belongs to
 * @any:	pid of any of its threads, or NULL
 *
 * Context: may sleep.
 * Return: pid of the thread group, referenced; -ESRCH if there is no such process, or it has
 * lost its mm; -EINVAL for a kernel thread.
 */
struct pid *wsmon_task_resolve(struct pid *any)
{
	struct pid *pid = ERR_PTR(-ESRCH);
	struct mm_struct *mm = NULL;
	struct task_struct *task;
	u64 exec_id;

	rcu_read_lock();
	task = pid_task(any, PIDTYPE_PID);
	if (task && READ_ONCE(task->flags) & PF_KTHREAD)
		pid = ERR_PTR(-EINVAL);
	else if (task)
		mm = task_grab_mm(task, &exec_id);
	/* the process may have been reaped by now */
	if (mm)
		pid = get_pid(task_tgid(task)) ?: ERR_PTR(-ESRCH);
	rcu_read_unlock();
	if (mm)
		mmdrop(mm);
	return pid;
}

/** wsmon_pids_put - drop the references that wsmon_pids_find() took, and free its array */
void wsmon_pids_put(struct pid **pids, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		put_pid(pids[i]);
	kfree(pids);
}

/**
 * wsmon_pids_find - find processes by their ids
 * @ids:	ids of the processes, or of any of their threads
 * @nr:		number of ids
 * @ns:		pid namespace of the ids
 *
 * Context: may sleep.
 * Return: array for wsmon_pids_put(), in the order of @ids; -ENOMEM, or an error of
 * wsmon_task_resolve().
 */
struct pid **wsmon_pids_find(const u32 *ids, u32 nr, struct pid_namespace *ns)
{
	struct pid **pids = kcalloc(nr, sizeof(*pids), GFP_KERNEL);
	struct pid *any;
	u32 i;

	if (!pids)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < nr; i++) {
		rcu_read_lock();
		any = get_pid(find_pid_ns(ids[i], ns));
		rcu_read_unlock();
		pids[i] = wsmon_task_resolve(any);
		put_pid(any);
		if (IS_ERR(pids[i])) {
			any = pids[i];
			wsmon_pids_put(pids, i);
			return ERR_CAST(any);
		}
	}
	return pids;
}

/**
 * wsmon_target_mm - get the address space of a target for one round
 * @t:		the target
 * @changed:	set to true if the target has another address space or program than at the last
 *		call; @t gets the identity of the new mm and the name of the new program
 *
 * The reference keeps struct mm_struct, not the memory, so it does not delay a process that
 * exits meanwhile. wsmon_mm_lock() keeps the page tables for a moment.
 *
 * Return: the mm, for mmdrop(); NULL if the process is gone, or all of its threads are in exit.
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
 * wsmon_member_mm - get the address space of a member
 * @m:		the member
 * @exec_id:	set to a number that distinguishes programs whose mm has the same address
 *
 * Return: the mm, for mmdrop(); NULL if the process is gone, or all of its threads are in exit.
 */
struct mm_struct *wsmon_member_mm(const struct wsmon_member *m, u64 *exec_id)
{
	struct mm_struct *mm = NULL;
	struct task_struct *leader;

	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	if (leader)
		mm = task_grab_mm(leader, exec_id);
	rcu_read_unlock();
	return mm;
}

/**
 * struct threads_look - what the threads of a process show
 * @known:	there are at most THREADS_MAX threads; else only @minors is set
 * @run:	a thread runs, or is about to
 * @sum:	CPU time and number of threads
 * @majors:	number of major faults
 * @minors:	number of minor faults; U64_MAX: unknown
 * @nr:		number of threads that have the mm
 * @users:	users of the mm
 */
struct threads_look {
	bool known;
	bool run;
	u64 sum;
	u64 majors;
	u64 minors;
	unsigned int nr;
	unsigned int users;
};

/*
 * Look at the threads of a process.
 * @mm:		only an identity
 * @users:	count the users of @mm, too
 */
static struct threads_look threads_look(struct pid *pid, const struct mm_struct *mm, bool users)
{
	struct threads_look l = { .minors = U64_MAX };
	struct task_struct *leader, *thread;

	rcu_read_lock();
	leader = pid_task(pid, PIDTYPE_TGID);
	if (!leader || get_nr_threads(leader) > THREADS_MAX)
		goto out;
	l.known = true;
	l.majors = READ_ONCE(leader->signal->maj_flt);
	l.minors = READ_ONCE(leader->signal->min_flt);
	for_each_thread(leader, thread) {
		l.run |= task_is_running(thread);
		/* pairs with finish_task(): if on_cpu is 0, the runtime is up to date */
		l.run |= smp_load_acquire(&thread->on_cpu);
		l.sum += READ_ONCE(thread->se.sum_exec_runtime);
		l.majors += READ_ONCE(thread->maj_flt);
		l.minors += READ_ONCE(thread->min_flt);
		if (READ_ONCE(thread->mm) != mm)
			continue;
		l.nr++;
		if (!users)
			continue;
		task_lock(thread);
		if (thread->mm == mm)
			l.users = atomic_read(&thread->mm->mm_users);
		task_unlock(thread);
	}
	l.sum += READ_ONCE(leader->signal->sum_sched_runtime) +
		 READ_ONCE(leader->signal->nr_threads);
out:
	rcu_read_unlock();
	return l;
}

/**
 * wsmon_member_slept - tell whether a member cannot have accessed memory since the last call
 * @m:		the member
 * @mm:		its mm at the last call: only an identity
 * @ran:	a sum of CPU time and number of threads: from the last call; set for the next
 * @majors:	its major faults: at the last call; set to the number now
 * @minors:	set to its minor faults now; U64_MAX: unknown
 *
 * Like wsmon_target_ran(), but without a reference on the mm.
 */
bool wsmon_member_slept(const struct wsmon_member *m, const struct mm_struct *mm, u64 *ran,
			u64 *majors, u64 *minors)
{
	struct threads_look l = threads_look(m->pid, mm, true);
	bool slept = l.known && !l.run && l.nr && l.sum == *ran &&
		     l.users == l.nr + wsmon_members_keeping(m, mm);

	*ran = l.sum;
	*minors = l.minors;
	/* with too many threads, faults are unknown: as if there were no new major faults */
	if (l.known)
		*majors = l.majors;
	return slept;
}

/** wsmon_member_minors - count a member's minor faults; U64_MAX: unknown */
u64 wsmon_member_minors(const struct wsmon_member *m, const struct mm_struct *mm)
{
	return threads_look(m->pid, mm, false).minors;
}

/*
 * Does anyone use the mm, such as a vfork() child, besides the @nr threads and the references
 * that sessions keep for this process? References that sessions keep for such a child count.
 */
static bool mm_has_other_users(const struct wsmon_member *m, const struct mm_struct *mm,
			       unsigned int nr)
{
	return atomic_read(&mm->mm_users) != nr + wsmon_members_keeping(m, mm);
}

/**
 * wsmon_member_mm_shared - tell whether another process may use the mm of a member, too
 * @m:	the member
 * @mm:	its mm, with a reference
 *
 * Return: true also if the answer is unknown, because the process has more than THREADS_MAX
 * threads, or is gone.
 */
bool wsmon_member_mm_shared(const struct wsmon_member *m, const struct mm_struct *mm)
{
	struct threads_look l = threads_look(m->pid, mm, false);

	return !l.known || mm_has_other_users(m, mm, l.nr);
}

/**
 * wsmon_target_ran - tell whether a target may have accessed memory since the last call
 * @t:	the target
 * @mm:	its mm
 *
 * Also updates the target's counts of major and minor faults.
 * Return: false if all threads of the target sleep and have used no CPU time, and no other
 * process uses the mm.
 */
bool wsmon_target_ran(struct wsmon_target *t, struct mm_struct *mm)
{
	struct threads_look l = threads_look(t->pid, mm, false);
	bool ran = !l.known || l.run || l.sum != t->ran || mm_has_other_users(t->member, mm, l.nr);

	t->ran = l.sum;
	t->minors = l.minors;
	/* with too many threads, faults are unknown: as if each call found many major faults */
	t->majors = l.known ? l.majors : t->majors + WSMON_MAJORS_FEW + 1;
	return ran;
}

/**
 * wsmon_target_reclaimed - tell whether a target had many major faults in its interval
 * @t:	the target, whose interval ends
 *
 * If reclaim takes pages that are in use, they come back by major faults. So do pages of files
 * that are read for the first time.
 */
bool wsmon_target_reclaimed(struct wsmon_target *t)
{
	/*
	 * The faults of an exiting thread may be missing from the sum for a moment: then the
	 * difference is negative, and counts as many faults.
	 */
	u64 nr = t->majors - t->majors_before;

	t->majors_before = t->majors;
	return nr > WSMON_MAJORS_FEW;
}

/* Attempts to look at the threads while none is switched out */
#define CPUS_TRIES	3

/*
 * Return: the sum over all threads of how often each was switched out; the upper bits are the
 * number of threads, so that the end of a thread changes the result, too. Context: RCU.
 */
static u64 threads_switches(struct task_struct *leader)
{
	u64 sum = (u64)get_nr_threads(leader) << 48;
	struct task_struct *thread;

	for_each_thread(leader, thread)
		sum += READ_ONCE(thread->nvcsw) + READ_ONCE(thread->nivcsw);
	return sum;
}

/*
 * Find the processors on which threads of a process run, or wait to run.
 * Context: RCU. Return: the number of its threads that have @mm.
 */
static unsigned int threads_cpus(struct task_struct *leader, const struct mm_struct *mm,
				 struct cpumask *cpus)
{
	struct task_struct *thread;
	unsigned int nr = 0;

	cpumask_clear(cpus);
	for_each_thread(leader, thread) {
		if (READ_ONCE(thread->on_cpu) || READ_ONCE(thread->on_rq))
			cpumask_set_cpu(task_cpu(thread), cpus);
		nr += READ_ONCE(thread->mm) == mm;
	}
	return nr;
}

/**
 * wsmon_member_cpus - find the processors that must be interrupted to flush an mm, for x86
 * @m:		the member
 * @mm:		its mm; the caller has incremented its TLB generation, with a full barrier after
 * @cpus:	the result: all processors that have run the mm since before the increment, and
 *		perhaps others
 *
 * A processor that switches to an mm checks the generation, unless it comes from another thread
 * of the same mm (switch_mm_irqs_off(), 6.1 to 7.3). So @cpus needs only the processors that ran
 * the mm before the increment and have run nothing else since.
 *
 * Looking at the threads one by one may miss such a processor: thread A, not looked at yet, gives
 * it to thread B, which slept when it was looked at. Then neither seems to run. But this counts
 * as a switch of A (nvcsw, nivcsw), before A stops being on_cpu. So if the sum of switches is the
 * same before and after the look, each thread that ran at the end of the first count ran all the
 * time, and was seen. A thread that was picked to run has on_rq set until on_cpu is set. A new
 * thread begins on the processor of a thread that was seen, or where something else ran.
 *
 * If each attempt saw a switch, if there are more than THREADS_MAX threads, or if another process
 * uses the mm, the result is mm_cpumask(): a processor enters it before it checks the generation.
 * This mask also contains processors that left the mm long ago, because the kernel removes them
 * only now and then.
 *
 * On arm64 there is no caller, because the flush is broadcast.
 */
void wsmon_member_cpus(const struct wsmon_member *m, struct mm_struct *mm,
		       struct cpumask *cpus)
{
	unsigned int nr = 0, tries = CPUS_TRIES;
	struct task_struct *leader;
	bool found = false;
	u64 switches;

	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	while (!found && tries-- && leader && get_nr_threads(leader) <= THREADS_MAX) {
		switches = threads_switches(leader);
		smp_rmb();	/* see above: finish_task() releases on_cpu after counting */
		nr = threads_cpus(leader, mm, cpus);
		smp_rmb();	/* on_cpu before the second count */
		found = threads_switches(leader) == switches;
	}
	rcu_read_unlock();
	if (!found || mm_has_other_users(m, mm, nr))
		cpumask_copy(cpus, mm_cpumask(mm));
}
