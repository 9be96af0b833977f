// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_kept.c - the memory of a program that is kept, so that its end can be looked at
 *
 * When its last thread ends, a process has left its mm, and with it the page tables. So a
 * reference on mm_users keeps the mm of a program that began while it is monitored, for as long
 * as a window holds the program's whole life. If it ends within that time, a task work in the
 * process waits for kwsmond, which looks at it a last time, and then releases the mm, before the
 * parent is notified. So nothing of a process outlives wait(). exec releases the mm before it
 * leaves it. A process may hang before it comes to its task works, as it closes a file of a server
 * that does not answer: then a worker releases the mm a second later.
 *
 * A reference costs: the process looks for another owner of its mm when it ends, among all
 * processes (mm_update_next_owner()). So there are as many as 1 % of the time pays for. Other
 * programs that end have no last look.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "wsmon_members.h"

/* What one look at another process costs a process that ends */
#define WALK_NS		50U

/* All those may take this part of the time, and as much at once as in a second */
#define WALK_SHARE	100U
#define WALK_MAX_NS	(NSEC_PER_SEC / WALK_SHARE)

/* A process that ends waits for kwsmond so long; one that the user named, for longer */
#define WAIT_MS		50U
#define WAIT_TARGET_MS	100U
/* Others do not wait if kwsmond was called so long ago, and did not come */
#define WAIT_CALLED_MS	100U
/* A look that has begun is waited for so long: real-time tasks or other modules may hold it up */
#define WAIT_LOOK_MS	1000U
/* A process that does not come to its task works is waited for so long */
#define LATE_MS		1000U

/* Task works that have not ended; and were there any? */
static atomic_t works = ATOMIC_INIT(0);
static bool works_used;

/* Members that kwsmond knows no more, and whose task work has not run yet (members_lock) */
static LIST_HEAD(late_members);

static void members_release_late(struct work_struct *work);
static DECLARE_DELAYED_WORK(late_work, members_release_late);

/* What is left to be spent (members_lock) */
static u64 walk_credit_ns;

/* Pay for a reference on an mm. Return: the price; 0: too much. Context: members_lock held. */
static u64 walk_pay(u64 now)
{
	static u64 since_ns;
	/* threads count, too: it is too much rather than too little */
	u64 price = (u64)WALK_NS * (READ_ONCE(init_pid_ns.pid_allocated) & ~PIDNS_ADDING);

	walk_credit_ns = min_t(u64, walk_credit_ns + (now - since_ns) / WALK_SHARE, WALK_MAX_NS);
	since_ns = now;
	if (price > walk_credit_ns)
		return 0;
	walk_credit_ns -= price;
	return price;
}

/**
 * wsmon_member_begin - a member begins with an mm: keep that, if it is not too expensive
 * @m:		the member
 * @task:	current if it executed a program, else a child of it that does not run yet
 * @born_ns:	when it began
 *
 * Context: members_lock held.
 */
void wsmon_member_begin(struct wsmon_member *m, struct task_struct *task, u64 born_ns)
{
	/* nobody looks for an owner: the parent is it */
	bool shared = task != current && task->mm == current->mm;

	/* before 6.10: exec has left it already */
	if (m->kept)
		mmput_async(m->mm);
	m->mm = task->mm;
	m->forked_rss = task != current ? get_mm_rss(task->mm) : 0;
	WRITE_ONCE(m->fork_pages, task != current ? wsmon_mm_anon(task->mm) : 0);
	WRITE_ONCE(m->forks, m->forks + 1);
	m->born_ns = born_ns;
	m->exec_id = READ_ONCE(task->self_exec_id);
	memcpy(m->comm, task->comm, sizeof(m->comm));
	m->price_ns = shared ? 0 : walk_pay(ktime_get_ns());
	m->kept = shared || m->price_ns;
	if (m->kept)
		mmget(m->mm);
}

/**
 * wsmon_member_release - keep the mm of a member no longer, which has it, too
 * @m:	the member
 *
 * If the process has left the mm, it is about to say that it ends: then this does nothing.
 * Context: members_lock held.
 */
void wsmon_member_release(struct wsmon_member *m)
{
	if (m->ending || (m->kept && !atomic_add_unless(&m->mm->mm_users, -1, 1)))
		return;
	if (m->kept)
		walk_credit_ns += m->price_ns;
	m->kept = false;
	m->mm = NULL;
}

/** wsmon_member_forget - the same, if the mm is still @which. Context: may sleep. */
void wsmon_member_forget(struct wsmon_member *m, const struct mm_struct *which)
{
	raw_spin_lock(&wsmon_members_lock);
	if (m->mm == which)
		wsmon_member_release(m);
	raw_spin_unlock(&wsmon_members_lock);
}

static void member_put(struct wsmon_member *m)
{
	if (!refcount_dec_and_test(&m->refs))
		return;
	put_pid(m->pid);
	kfree_rcu(m, rcu);
}

/* Context: members_lock held */
static void member_not_late(struct wsmon_member *m)
{
	if (!m->late)
		return;
	list_del(&m->node);
	m->late = 0;
}

/* Release what members keep whose process hangs. The work of one that is listed references it. */
static void members_release_late(struct work_struct *work)
{
	unsigned long now = jiffies, next = 0;
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	while (!next && !list_empty(&late_members)) {
		m = list_first_entry(&late_members, struct wsmon_member, node);
		if (time_before(now, m->late)) {
			next = m->late - now;
		} else {
			/* one may wait for a server, too: the others do not wait for that */
			if (m->kept)
				mmput_async(m->mm);
			m->kept = false;
			member_not_late(m);
		}
	}
	raw_spin_unlock(&wsmon_members_lock);
	if (next)
		schedule_delayed_work(&late_work, next);
}

/* Runs in a process that has left its mm, before its parent is notified. */
static void member_release_work(struct callback_head *work)
{
	struct wsmon_member *m = container_of(work, struct wsmon_member, work);
	/* whose memory others wait for does not wait */
	bool waits = !tsk_is_oom_victim(current);
	unsigned long now = jiffies;
	struct mm_struct *mm = NULL;

	if (waits && m->waits && time_before(now, m->until))
		wait_for_completion_timeout(&m->looked, m->until - now);
	raw_spin_lock(&wsmon_members_lock);
	if (m->looking && waits) {
		raw_spin_unlock(&wsmon_members_lock);
		wait_for_completion_timeout(&m->looked, msecs_to_jiffies(WAIT_LOOK_MS));
		raw_spin_lock(&wsmon_members_lock);
	}
	/* else wsmon_member_free() releases it, when the look has ended */
	m->ending = !m->looking;
	member_not_late(m);
	if (m->ending && m->kept) {
		mm = m->mm;
		m->kept = false;
	}
	raw_spin_unlock(&wsmon_members_lock);
	if (mm)
		mmput(mm);
	member_put(m);
	atomic_dec(&works);
}

/**
 * wsmon_member_end - the process of a member ends: prepare to release its mm
 * @m:		the member
 * @wait:	kwsmond is to look at it before
 *
 * Context: members_lock held.
 * Return: give its task work to wsmon_member_work()?
 */
bool wsmon_member_end(struct wsmon_member *m, bool wait)
{
	const struct wsmon_session *ss = m->session;
	unsigned long limit = ss->hurry_at + msecs_to_jiffies(WAIT_CALLED_MS);

	if (!m->kept || m->ending)
		return false;
	m->ending = true;
	m->waits = wait;
	m->until = jiffies + msecs_to_jiffies(m->target ? WAIT_TARGET_MS : WAIT_MS);
	/* one with a busy mmap lock may hold it up, and what others run does not pay for that */
	if (!m->target && ss->hurry && time_before(limit, m->until))
		m->until = limit;
	refcount_inc(&m->refs);
	atomic_inc(&works);
	WRITE_ONCE(works_used, true);
	return true;
}

/* No thread can release the mm any more. */
static void member_work_failed(struct wsmon_member *m)
{
	raw_spin_lock(&wsmon_members_lock);
	m->ending = false;
	member_not_late(m);
	/* else wsmon_member_free() releases it */
	if (m->kept && !m->looking) {
		m->kept = false;
		mmput_async(m->mm);
	}
	raw_spin_unlock(&wsmon_members_lock);
	member_put(m);
	atomic_dec(&works);
}

/**
 * wsmon_member_work - have the present thread, which ends, release the mm of a member
 * @m:		the member, after wsmon_member_end()
 * @task:	the thread
 *
 * Context: without members_lock, as task_work_add() may allocate memory for KASAN.
 */
void wsmon_member_work(struct wsmon_member *m, struct task_struct *task)
{
	if (task_work_add(task, &m->work, TWA_RESUME))
		member_work_failed(m);
}

/**
 * wsmon_member_look - have a last look at the mm of a member that has ended
 * @m:	the member; wsmon_member_free() ends the look
 *
 * Context: the monitor's lock held.
 * Return: the mm; NULL if it was not kept, or the process no longer waits.
 */
struct mm_struct *wsmon_member_look(struct wsmon_member *m)
{
	struct mm_struct *mm;

	raw_spin_lock(&wsmon_members_lock);
	m->looking = m->kept;
	mm = m->kept ? m->mm : NULL;
	raw_spin_unlock(&wsmon_members_lock);
	return mm;
}

/** wsmon_member_alloc - make a member of a session @ss. Return: it, or NULL. */
struct wsmon_member *wsmon_member_alloc(struct wsmon_session *ss)
{
	struct wsmon_member *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	m->session = ss;
	refcount_set(&m->refs, 1);
	init_completion(&m->looked);
	init_task_work(&m->work, member_release_work);
	return m;
}

/*
 * A process has left its mm, and no probe has noticed yet, or it no longer waits: have any of its
 * threads release the mm, after wsmon_member_end().
 */
static void member_hand_over(struct wsmon_member *m)
{
	struct task_struct *leader, *thread;
	bool done = false;

	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, thread) {
			done = !task_work_add(thread, &m->work, TWA_RESUME);
			if (done)
				break;
		}
	}
	rcu_read_unlock();
	if (!done)
		member_work_failed(m);
}

/**
 * wsmon_member_free - free a member
 * @m:	the member, which no probe can find
 *
 * Context: may sleep.
 */
void wsmon_member_free(struct wsmon_member *m)
{
	bool left, late;

	if (m->target)
		m->target->member = NULL;
	raw_spin_lock(&wsmon_members_lock);
	m->looking = false;
	wsmon_member_release(m);
	left = wsmon_member_end(m, false);
	late = m->ending && m->kept;
	if (late) {
		m->late = (jiffies + msecs_to_jiffies(LATE_MS)) | 1;
		list_add_tail(&m->node, &late_members);
	}
	raw_spin_unlock(&wsmon_members_lock);
	complete_all(&m->looked);
	if (late)
		schedule_delayed_work(&late_work, msecs_to_jiffies(LATE_MS) + 1);
	if (left)
		member_hand_over(m);
	member_put(m);
}

/** wsmon_kept_exit - wait for task works: then the module may go. Context: no probe is left. */
void wsmon_kept_exit(void)
{
	while (atomic_read(&works))
		schedule_timeout_idle(1);
	cancel_delayed_work_sync(&late_work);
	/* the last one may be preempted on its way out of the module */
	if (works_used)
		synchronize_rcu_tasks();
}

/**
 * wsmon_member_born - return when a member began with a program
 * @m:	the member
 * @mm:	its mm
 *
 * Context: the monitor's lock held.
 * Return: the time; 0 if that was before it was monitored, or before all windows.
 */
u64 wsmon_member_born(const struct wsmon_member *m, const struct mm_struct *mm)
{
	u64 born;

	raw_spin_lock(&wsmon_members_lock);
	born = m->mm == mm ? m->born_ns : 0;
	raw_spin_unlock(&wsmon_members_lock);
	return born;
}

/**
 * wsmon_members_left - tell what programs had that were left by exec, and begin anew
 * @ss:	the session
 * @m:	a member of it; NULL for all together
 *
 * Nobody knows what they accessed since the last interval.
 * Return: resident pages, at most.
 */
u64 wsmon_members_left(struct wsmon_session *ss, struct wsmon_member *m)
{
	u64 *left_rss = m ? &m->left_rss : &ss->left_rss, left;

	raw_spin_lock(&wsmon_members_lock);
	left = *left_rss;
	*left_rss = 0;
	raw_spin_unlock(&wsmon_members_lock);
	return left;
}

/**
 * wsmon_members_keeping - count the references that members of all sessions keep on an mm
 * @m:	a member; only those that are the same process count
 * @mm:	the mm
 */
u32 wsmon_members_keeping(const struct wsmon_member *m, const struct mm_struct *mm)
{
	const struct wsmon_member *other;
	u32 nr = 0;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(other, m->pid)
		nr += other->kept && other->mm == mm;
	raw_spin_unlock(&wsmon_members_lock);
	return nr;
}

/** wsmon_member_shared - is a member sampled by other sessions, too, or by the group? */
bool wsmon_member_shared(const struct wsmon_member *m)
{
	const struct wsmon_member *other;
	bool shared = m->target && m->session->group;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(other, m->pid)
		shared |= other != m;
	raw_spin_unlock(&wsmon_members_lock);
	return shared;
}

/*
 * A member is sampled no more: tell those of other sessions, which may not have looked at
 * its notes yet. Context: members_lock held.
 */
void wsmon_member_stop_sharing(const struct wsmon_member *m)
{
	struct wsmon_member *other;

	for_each_member_of(other, m->pid)
		WRITE_ONCE(other->shared_ns, ktime_get_ns());
}

/** wsmon_members_have - is the process of a task a member of a session @ss? */
bool wsmon_members_have(const struct wsmon_session *ss, struct task_struct *task)
{
	const struct wsmon_member *m;
	bool have = false;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(task))
		have |= m->session == ss;
	raw_spin_unlock(&wsmon_members_lock);
	return have;
}
