// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_task.c - a target as a process: its mm, its threads, its exec and exit
 *
 * The main thread may have ended before the others, so where a thread is needed, any
 * will do. The list of threads is read under RCU, without a lock: a thread that comes
 * or goes meanwhile may be missed.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "compat.h"
#include "wsmon_internal.h"

/* A process with more threads counts as running: its threads are not looked at */
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
 * Get the mm of a process, with a reference on mm_count, and the program's exec_id; NULL
 * if there is no mm, or no live thread. Context: RCU.
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
 * @nr:	its id, or that of any of its threads
 * @ns:	the pid namespace of the id
 *
 * Context: may sleep.
 * Return: its struct pid, referenced; -ESRCH if there is none, or it has lost its
 * memory; -EINVAL for a kernel thread.
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
 * wsmon_target_mm - get the address space of a target for one round
 * @t:		the target
 * @changed:	set if the regions describe another address space; then @t gets the identity
 *		of the new one, and the name of the new program
 *
 * The reference keeps the structure, not the memory, so that a process that exits
 * meanwhile is not held up. wsmon_mm_lock() keeps the memory for a moment.
 *
 * Return: the mm, to be given to mmdrop(); NULL if the process is gone, or all of its
 * threads are in exit.
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
 * wsmon_target_alive - tell whether any thread of a target is not in exit
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

/* Does anyone use the mm but @nr threads and the monitor, such as a vfork() child? */
static bool mm_has_other_users(const struct wsmon_target *t, const struct mm_struct *mm,
			       unsigned int nr)
{
	return atomic_read(&mm->mm_users) != nr + (READ_ONCE(t->life.mm) == mm);
}

/**
 * wsmon_target_ran - tell whether a target may have accessed memory since the last call
 * @t:	the target
 * @mm:	its mm
 *
 * It has not if each of its threads sleeps and has used no CPU time, and no other process
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
			/* pairs with finish_task(): if it is 0, the runtime is up to date */
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
 * wsmon_target_cpus - find the processors that run a target now, or are about to
 * @t:		the target
 * @mm:		its mm
 * @cpus:	the result: mm_cpumask() if it has many threads, or another process uses
 *		the mm
 *
 * mm_cpumask() also has processors that left the mm long ago: they are removed from it
 * only now and then.
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
			 * Include threads that wait to run (task_is_running()): one may
			 * replace a running thread before on_cpu of that thread is
			 * read, and a switch within an mm does not check the
			 * generation.
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

/*
 * Programs that targets execute, and their ends, as they happen
 *
 * Rounds are too rare for a program that lives for less than a second. So probes at
 * tracepoints of the scheduler wake kwsmond when a target has executed a program, and
 * when its last thread ends.
 *
 * When its last thread ends, a process has left its mm, and with it the page tables. So
 * the mm of a program executed while it is monitored is kept, by a reference on
 * mm_users taken in exec, for as long as a window holds the program's whole life. If
 * the program ends within that time, kwsmond immediately looks at it once more, and
 * releases the mm. If the process executes another program, the mm is released when
 * that has begun. The mm of an older program is not kept.
 *
 * Probes run in the context of the process, in exec and exit, and do not sleep. Without
 * these tracepoints (no CONFIG_TRACEPOINTS), only rounds notice such programs.
 */

/* Protects life_session, and life of its targets */
static DEFINE_RAW_SPINLOCK(life_lock);
static struct wsmon_session *life_session;

/* Find the target with a thread group. Context: life_lock held. */
static struct wsmon_target *life_find_target(struct wsmon_session *ss, const struct pid *tgid)
{
	u32 i;

	for (i = 0; ss && i < ss->nr_targets; i++) {
		if (ss->tgids[i] == tgid)
			return &ss->targets[i];
	}
	return NULL;
}

/* Have kwsmond look at a target now. Context: life_lock held. */
static void life_call_thread(struct wsmon_target *t)
{
	t->life.called = true;
	WRITE_ONCE(life_session->called, true);
	wake_up_process(life_session->thread);
}

/* Handle exec. Runs at its end: current has its new mm, and its new name. */
static void life_exec_probe(void *data, struct task_struct *task, pid_t old_pid,
			    struct linux_binprm *bprm)
{
	struct mm_struct *old = NULL;
	struct wsmon_target *t;

	if (!READ_ONCE(life_session))
		return;
	raw_spin_lock(&life_lock);
	t = life_find_target(life_session, task_tgid(task));
	if (t) {
		old = t->life.mm;
		mmget(task->mm);
		t->life.mm = task->mm;
		t->life.born_ns = ktime_get_ns();
		memcpy(t->life.comm, task->comm, sizeof(t->life.comm));
		life_call_thread(t);
	}
	raw_spin_unlock(&life_lock);
	if (old)
		mmput_async(old);
}

/* Handle exit. Before 6.16 the thread has left its mm; from 6.16 on it is about to. */
wsmon_exit_probe(life_exit_probe)
{
	struct wsmon_target *t;

	if (!READ_ONCE(life_session) || atomic_read(&task->signal->live))
		return;
	raw_spin_lock(&life_lock);
	t = life_find_target(life_session, task_tgid(task));
	if (t)
		life_call_thread(t);
	raw_spin_unlock(&life_lock);
}

/**
 * wsmon_life_watch - begin to watch the targets of a session
 * @ss:	the session, its thread not woken yet
 *
 * Context: wsmon.lock held, no other session is watched.
 */
void wsmon_life_watch(struct wsmon_session *ss)
{
	raw_spin_lock(&life_lock);
	life_session = ss;
	raw_spin_unlock(&life_lock);
}

/**
 * wsmon_life_unwatch - stop watching a session's targets, and release what is kept
 * @ss:	the session
 *
 * Context: wsmon.lock held.
 */
void wsmon_life_unwatch(struct wsmon_session *ss)
{
	u32 i;

	raw_spin_lock(&life_lock);
	life_session = NULL;
	raw_spin_unlock(&life_lock);
	/* from here on, no probe uses the targets */
	for (i = 0; i < ss->nr_targets; i++) {
		if (ss->targets[i].life.mm)
			mmput_async(ss->targets[i].life.mm);
		ss->targets[i].life.mm = NULL;
	}
}

/**
 * wsmon_life_called - tell whether a probe asked for a look at a target, and reset that
 * @t:	the target
 *
 * Context: wsmon.lock held.
 */
bool wsmon_life_called(struct wsmon_target *t)
{
	return xchg(&t->life.called, false);
}

/**
 * wsmon_life_born - return when a target executed the program it runs
 * @t:	the target
 * @mm:	its mm
 *
 * Context: wsmon.lock held.
 * Return: the time; 0 if that was before it was monitored, or before all windows.
 */
u64 wsmon_life_born(const struct wsmon_target *t, const struct mm_struct *mm)
{
	u64 born;

	raw_spin_lock(&life_lock);
	born = t->life.mm == mm ? t->life.born_ns : 0;
	raw_spin_unlock(&life_lock);
	return born;
}

/**
 * wsmon_life_take - take over the mm that is kept for a target
 * @t:		the target
 * @which:	take it only if it is this one, as the target may have executed another
 *		program since; NULL: any
 *
 * Context: wsmon.lock held.
 * Return: the mm, to be given to mmput_async(), or NULL.
 */
struct mm_struct *wsmon_life_take(struct wsmon_target *t,
				  const struct mm_struct *which)
{
	struct mm_struct *mm = NULL;

	raw_spin_lock(&life_lock);
	if (!which || t->life.mm == which)
		swap(mm, t->life.mm);
	raw_spin_unlock(&life_lock);
	return mm;
}

/* The tracepoints */
static struct life_probe {
	const char *name;
	void *function;
	struct tracepoint *tp;
} life_probes[] = {
	{ "sched_process_exec", life_exec_probe },
	{ "sched_process_exit", life_exit_probe },
};

static void life_find_tracepoint(struct tracepoint *tp, void *data)
{
	struct life_probe *p = data;

	if (!strcmp(tp->name, p->name))
		p->tp = tp;
}

static void life_detach(unsigned int nr)
{
	while (nr--) {
		if (life_probes[nr].tp)
			tracepoint_probe_unregister(life_probes[nr].tp,
						    life_probes[nr].function, NULL);
	}
	tracepoint_synchronize_unregister();
}

/**
 * wsmon_life_init - attach the probes
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_life_init(void)
{
	unsigned int i;
	int err;

	/* check the arguments against those of this kernel at compile time */
	check_trace_callback_type_sched_process_exec(life_exec_probe);
	check_trace_callback_type_sched_process_exit(life_exit_probe);
	for (i = 0; i < ARRAY_SIZE(life_probes); i++) {
		for_each_kernel_tracepoint(life_find_tracepoint, &life_probes[i]);
		if (!life_probes[i].tp)
			continue;
		err = tracepoint_probe_register(life_probes[i].tp,
						life_probes[i].function, NULL);
		if (err) {
			life_detach(i);
			return err;
		}
	}
	return 0;
}

/** wsmon_life_exit - detach the probes, and wait for those that run */
void wsmon_life_exit(void)
{
	life_detach(ARRAY_SIZE(life_probes));
}
