// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_member.c - members, the processes of a session: their fork, exec and exit
 *
 * Rounds are too rare for a program that lives for less than a second. So probes at
 * tracepoints of the scheduler wake kwsmond when a member has executed a program, and when
 * its last thread ends. If there are many, it is woken once in a while.
 *
 * With follow=1 a child of a member is a member from its first instruction on: the probe
 * at fork runs before the child does. A probe must not allocate memory, so it takes one
 * of the spare members that kwsmond has made, and wakes kwsmond only if few are left.
 */
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/pid_namespace.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include <trace/events/sched.h>

#include "wsmon_process.h"

/*
 * The memory of a program that is kept, so that its end can be looked at
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
 * member_begin - a member begins with an mm: keep that, if it is not too expensive
 * @m:		the member
 * @task:	current if it executed a program, else a child of it that does not run yet
 * @born_ns:	when it began
 *
 * Context: members_lock held.
 */
static void member_begin(struct wsmon_member *m, struct task_struct *task, u64 born_ns)
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
 * member_release - keep the mm of a member no longer, which has it, too
 * @m:	the member
 *
 * If the process has left the mm, it is about to say that it ends: then this does nothing.
 * Context: members_lock held.
 */
static void member_release(struct wsmon_member *m)
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
		member_release(m);
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
	/* else member_free() releases it, when the look has ended */
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
 * member_end - the process of a member ends: prepare to release its mm
 * @m:		the member
 * @wait:	kwsmond is to look at it before
 *
 * Context: members_lock held.
 * Return: give its task work to member_work()?
 */
static bool member_end(struct wsmon_member *m, bool wait)
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
	/* else member_free() releases it */
	if (m->kept && !m->looking) {
		m->kept = false;
		mmput_async(m->mm);
	}
	raw_spin_unlock(&wsmon_members_lock);
	member_put(m);
	atomic_dec(&works);
}

/**
 * member_work - have the present thread, which ends, release the mm of a member
 * @m:		the member, after member_end()
 * @task:	the thread
 *
 * Context: without members_lock, as task_work_add() may allocate memory for KASAN.
 */
static void member_work(struct wsmon_member *m, struct task_struct *task)
{
	if (task_work_add(task, &m->work, TWA_RESUME))
		member_work_failed(m);
}

/**
 * wsmon_member_look - have a last look at the mm of a member that has ended
 * @m:	the member; member_free() ends the look
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

/** member_alloc - make a member of a session @ss. Return: it, or NULL. */
static struct wsmon_member *member_alloc(struct wsmon_session *ss)
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
 * threads release the mm, after member_end().
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
 * member_free - free a member
 * @m:	the member, which no probe can find
 *
 * Context: may sleep.
 */
static void member_free(struct wsmon_member *m)
{
	bool left, late;

	if (m->target)
		m->target->member = NULL;
	raw_spin_lock(&wsmon_members_lock);
	m->looking = false;
	member_release(m);
	left = member_end(m, false);
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
static void member_stop_sharing(const struct wsmon_member *m)
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

/* Max. number of members */
#define MEMBERS_MAX	65536U

/* Spare members: enough for all forks until kwsmond makes more. More if that was not so. */
#define SPARES		512U
#define SPARES_MAX	4096U
#define BUCKETS_BITS	12

/* Members whose age is looked at in an interval: so many, or this part of them */
#define AGE_AT_ONCE	256U
#define AGE_TURNS	4U

DEFINE_RAW_SPINLOCK(wsmon_members_lock);
/* Number of sessions that are watched (wsmon_members_lock) */
static unsigned int watched;

/* Those of them that watch a cgroup (changed under members_lock, read under RCU) */
static LIST_HEAD(by_cgroup);

/* Members of sessions that are watched, by thread group (likewise) */
static struct hlist_head buckets[BIT(BUCKETS_BITS)];

static struct hlist_head *member_bucket(const struct pid *tgid)
{
	return &buckets[hash_ptr(tgid, BUCKETS_BITS)];
}

/**
 * members_known - tell, without the lock, whether a process is a member of a session
 * @task:	a thread of it
 *
 * So fork, exec and exit of other processes write to nothing that processors share. The present
 * process became a member, if it is, before it began to run, or when monitoring started. The
 * answer may be out of date: whoever takes the lock then looks into the bucket.
 */
static bool members_known(struct task_struct *task)
{
	const struct pid *tgid = task_tgid(task);
	const struct wsmon_member *m;
	bool known = false;

	if (!READ_ONCE(watched))
		return false;
	rcu_read_lock();
	hlist_for_each_entry_rcu(m, member_bucket(tgid), hash) {
		known = m->pid == tgid;
		if (known)
			break;
	}
	rcu_read_unlock();
	return known;
}

/** wsmon_pid_alive - tell whether any thread of a thread group is not in exit */
bool wsmon_pid_alive(struct pid *pid)
{
	struct task_struct *leader;
	bool alive;

	rcu_read_lock();
	leader = pid_task(pid, PIDTYPE_TGID);
	alive = leader && atomic_read(&leader->signal->live);
	rcu_read_unlock();
	return alive;
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

/** member_belongs - does a member run, and is it still in the cgroup of its session? */
static bool member_belongs(const struct wsmon_member *m)
{
	struct task_struct *leader;
	bool belongs = true;

	if (!wsmon_pid_alive(m->pid))
		return false;
	if (!m->session->cgroup)
		return true;
	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	if (leader)
		belongs = wsmon_cgroup_has(m->session, leader);
	rcu_read_unlock();
	return belongs;
}

/** members_in_cgroups - likewise: is a process in the cgroup of a session? */
static bool members_in_cgroups(struct task_struct *task)
{
	const struct wsmon_session *ss;
	bool in = false;

	if (!READ_ONCE(watched))
		return false;
	rcu_read_lock();
	list_for_each_entry_rcu(ss, &by_cgroup, by_cgroup) {
		in = wsmon_cgroup_has(ss, task);
		if (in)
			break;
	}
	rcu_read_unlock();
	return in;
}

/* The member after @m, or the first, with a thread group: see wsmon_process.h */
struct wsmon_member *wsmon_member_after(const struct wsmon_member *m, const struct pid *tgid)
{
	struct hlist_node *at = m ? m->hash.next : member_bucket(tgid)->first;

	for (; at; at = at->next) {
		struct wsmon_member *next = hlist_entry(at, struct wsmon_member, hash);

		if (next->pid == tgid)
			return next;
	}
	return NULL;
}

/* Is a process a member of a session? Context: wsmon_members_lock held. */
static bool member_exists(const struct wsmon_session *ss, const struct pid *tgid)
{
	struct wsmon_member *m;

	for_each_member_of(m, tgid) {
		if (m->session == ss)
			return true;
	}
	return false;
}

/* Have kwsmond run soon; at once if @now. Context: wsmon_members_lock held. */
static void members_call_thread(struct wsmon_session *ss, bool now)
{
	struct task_struct *thread = READ_ONCE(ss->thread);

	if (now && !ss->hurry) {
		ss->hurry_at = jiffies;
		WRITE_ONCE(ss->hurry, true);
	}
	if (READ_ONCE(ss->called) && !(now && ss->resting))
		return;
	WRITE_ONCE(ss->called, true);
	/* before it has one, it finds @called when it begins */
	if (thread && (now || !ss->resting))
		wake_up_process(thread);
}

/* Have kwsmond look at a member now, and at targets first. Context: wsmon_members_lock held. */
static void member_call(struct wsmon_member *m, u32 event)
{
	struct wsmon_session *ss = m->session;

	if (!m->events)
		list_add(&m->call, m->target ? &ss->calls : ss->calls.prev);
	m->events |= event;
	if (m->target) {
		WRITE_ONCE(m->target->called, true);
		ss->target_called = true;
	}
	members_call_thread(ss, m->target || m->waits);
}

/* Make a child of a member a member, too. Context: wsmon_members_lock held. */
static void member_born(struct wsmon_session *ss, struct task_struct *child, u64 now)
{
	struct wsmon_member *m;

	/* a target, if its pid was written before the end of this fork */
	if (member_exists(ss, task_tgid(child)))
		return;
	if (ss->nr_spares < READ_ONCE(ss->want_spares) / 2)
		members_call_thread(ss, true);
	m = list_first_entry_or_null(&ss->spares, struct wsmon_member, node);
	if (!m || ss->nr_members >= MEMBERS_MAX) {
		/* the next look at the cgroup finds it */
		if (!ss->cgroup)
			WRITE_ONCE(ss->stats.unfollowed, ss->stats.unfollowed + 1);
		return;
	}
	WRITE_ONCE(ss->nr_spares, ss->nr_spares - 1);
	m->pid = get_pid(task_tgid(child));
	member_begin(m, child, now);
	hlist_add_head_rcu(&m->hash, member_bucket(m->pid));
	list_move_tail(&m->node, &ss->born);
	WRITE_ONCE(ss->nr_members, ss->nr_members + 1);
	WRITE_ONCE(ss->nr_born, ss->nr_born + 1);
}

/* A process begins, or begins with a program: it may be in a cgroup. Context: members_lock held. */
static void members_born_in_cgroups(struct task_struct *task, u64 now)
{
	struct wsmon_session *ss;

	list_for_each_entry(ss, &by_cgroup, by_cgroup) {
		if (wsmon_cgroup_has(ss, task))
			member_born(ss, task, now);
	}
}

/**
 * members_forked - a process has forked: the child may be a member
 * @parent:	a thread of the process
 * @child:	the child, complete, but not running yet
 *
 * This and what follows is called by probes, if members_known() or
 * members_in_cgroups() says so.
 */
static void members_forked(struct task_struct *parent, struct task_struct *child)
{
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(parent)) {
		/* not of vfork(): each write to one of these pages may copy it */
		if (child->mm != parent->mm && parent->mm) {
			WRITE_ONCE(m->fork_pages, wsmon_mm_anon(parent->mm));
			WRITE_ONCE(m->forks, m->forks + 1);
		}
		if (m->session->follow && !m->session->cgroup)
			member_born(m->session, child, child->start_time);
	}
	members_born_in_cgroups(child, child->start_time);
	raw_spin_unlock(&wsmon_members_lock);
}

/** members_leaving - the present process @task is about to leave its mm, in exec */
static void members_leaving(struct task_struct *task)
{
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(task))
		member_release(m);
	raw_spin_unlock(&wsmon_members_lock);
}

/** members_executed - the present process @task has a new mm, and its new name */
static void members_executed(struct task_struct *task)
{
	struct wsmon_member *m;
	u64 now = ktime_get_ns();

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(task)) {
		/* the maximum of all programs so far; what it has from a fork is its parent's, mostly */
		if (!m->forked_rss) {
			m->left_rss += task->signal->maxrss;
			m->session->left_rss += task->signal->maxrss;
		}
		member_begin(m, task, now);
		if (m->target)
			member_call(m, WSMON_MEMBER_EXEC);
	}
	members_born_in_cgroups(task, now);
	raw_spin_unlock(&wsmon_members_lock);
}

/*
 * Note how many pages the program of a member had at most, as @task ends: it may get no last
 * look. A child has pages from its parent, which count once. A page that it made itself took a
 * fault, or, as a part of a huge page, made its resident memory larger than at its fork. A huge
 * page in the place of unmapped memory counts as one page. Context: members_lock held.
 */
static void member_note_rss(struct wsmon_member *m, const struct task_struct *task)
{
	const struct signal_struct *sig = task->signal;
	struct mm_struct *mm = task->mm;
	u64 made;

	/*
	 * Before 6.16 it has left its mm. If that was not kept, the maximum is that of the
	 * process, with the programs before this one.
	 */
	if (!mm && m->kept)
		mm = m->mm;
	m->rss = mm ? get_mm_hiwater_rss(mm) : sig->maxrss;
	m->made_rss = m->rss;
	if (!m->forked_rss)
		return;
	made = sig->min_flt + sig->maj_flt + task->min_flt + task->maj_flt;
	made += m->rss - min(m->rss, m->forked_rss);
	m->made_rss = min(m->rss, made);
}

/** members_ended - the last thread of a process, @task, ends */
static void members_ended(struct task_struct *task)
{
	struct callback_head *ending = NULL;
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(task)) {
		if (member_end(m, m->target || READ_ONCE(m->session->may_look))) {
			m->work.next = ending;
			ending = &m->work;
		}
		member_note_rss(m, task);
		member_call(m, WSMON_MEMBER_EXIT);
	}
	raw_spin_unlock(&wsmon_members_lock);
	while (ending) {
		m = container_of(ending, struct wsmon_member, work);
		ending = ending->next;
		member_work(m, task);
	}
}

/*
 * Make spare members, as long as there is memory. Probes only take some meanwhile. If most of
 * them were taken since the last time, there are to be more.
 */
static void members_refill(struct wsmon_session *ss)
{
	u32 left = READ_ONCE(ss->nr_spares), nr;
	struct wsmon_member *m;

	if (!ss->want_spares)
		WRITE_ONCE(ss->want_spares, SPARES);
	else if (left < ss->want_spares / 2)
		WRITE_ONCE(ss->want_spares, min(2 * ss->want_spares, SPARES_MAX));
	nr = ss->want_spares - left;
	for (; nr; nr--) {
		m = member_alloc(ss);
		if (!m)
			break;
		raw_spin_lock(&wsmon_members_lock);
		list_add(&m->node, &ss->spares);
		WRITE_ONCE(ss->nr_spares, ss->nr_spares + 1);
		raw_spin_unlock(&wsmon_members_lock);
	}
}

/** wsmon_members_init - prepare the lists of a session */
void wsmon_members_init(struct wsmon_session *ss)
{
	INIT_LIST_HEAD(&ss->members);
	INIT_LIST_HEAD(&ss->born);
	INIT_LIST_HEAD(&ss->spares);
	INIT_LIST_HEAD(&ss->calls);
	INIT_LIST_HEAD(&ss->answers);
}

/** wsmon_members_add - make @t a member of @ss, not watched yet. Return: 0 or -ENOMEM. */
int wsmon_members_add(struct wsmon_session *ss, struct wsmon_target *t)
{
	struct wsmon_member *m = member_alloc(ss);

	if (!m)
		return -ENOMEM;
	m->pid = get_pid(t->pid);
	m->target = t;
	t->member = m;
	list_add_tail(&m->node, &ss->members);
	ss->nr_members++;
	return 0;
}

/**
 * wsmon_members_take - make a process that runs already a member
 * @ss:		the session
 * @pid:	its thread group
 *
 * Context: as wsmon_members_scan().
 * Return: 0, also if it is one; -ENOSPC if there are too many; -ENOMEM.
 */
int wsmon_members_take(struct wsmon_session *ss, struct pid *pid)
{
	struct wsmon_member *m = member_alloc(ss);
	int err = 0;

	if (!m)
		return -ENOMEM;
	raw_spin_lock(&wsmon_members_lock);
	if (ss->nr_members >= MEMBERS_MAX) {
		err = -ENOSPC;
	} else if (!member_exists(ss, pid)) {
		m->pid = get_pid(pid);
		/* of a session that has begun, it comes now */
		m->moved = !!ss->thread;
		hlist_add_head_rcu(&m->hash, member_bucket(pid));
		list_add_tail(&m->node, &ss->members);
		WRITE_ONCE(ss->nr_members, ss->nr_members + 1);
		WRITE_ONCE(ss->nr_born, ss->nr_born + m->moved);
		m = NULL;
	}
	raw_spin_unlock(&wsmon_members_lock);
	kfree(m);
	return err;
}

/** wsmon_members_remove - free a member @m that is gone. Context: the monitor's lock held. */
void wsmon_members_remove(struct wsmon_session *ss, struct wsmon_member *m)
{
	raw_spin_lock(&wsmon_members_lock);
	hlist_del_rcu(&m->hash);
	member_stop_sharing(m);
	list_del(&m->node);
	if (m->events)
		list_del(&m->call);
	WRITE_ONCE(ss->nr_members, ss->nr_members - 1);
	raw_spin_unlock(&wsmon_members_lock);
	member_free(m);
}

/**
 * wsmon_members_follow - have children of members belong to the session, or no longer
 * @ss:		the session
 * @follow:	from the next fork on?
 *
 * Context: the monitor's lock held.
 */
void wsmon_members_follow(struct wsmon_session *ss, bool follow)
{
	if (follow || ss->cgroup)
		members_refill(ss);
	raw_spin_lock(&wsmon_members_lock);
	ss->follow = follow || ss->cgroup;
	raw_spin_unlock(&wsmon_members_lock);
}

/**
 * wsmon_members_watch - begin to watch the members of a session, before its thread runs
 * @ss:	the session
 *
 * Context: the monitor's ctl held.
 */
void wsmon_members_watch(struct wsmon_session *ss)
{
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	WRITE_ONCE(watched, watched + 1);
	ss->watched = true;
	if (ss->cgroup)
		list_add_tail_rcu(&ss->by_cgroup, &by_cgroup);
	list_for_each_entry(m, &ss->members, node)
		hlist_add_head_rcu(&m->hash, member_bucket(m->pid));
	raw_spin_unlock(&wsmon_members_lock);
}

/**
 * wsmon_members_unwatch - stop watching a session's members, and free them
 * @ss:	the session; @nr_members stays for those who read the counters
 *
 * Context: the monitor's lock held, or the session was never watched.
 */
void wsmon_members_unwatch(struct wsmon_session *ss)
{
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	if (ss->watched)
		WRITE_ONCE(watched, watched - 1);
	if (ss->watched && ss->cgroup)
		list_del_rcu(&ss->by_cgroup);
	ss->watched = false;
	/* a probe that still finds a member makes no new one, and its call is of no use */
	ss->follow = false;
	list_splice_init(&ss->born, &ss->members);
	list_splice_init(&ss->spares, &ss->members);
	while (!list_empty(&ss->members)) {
		m = list_first_entry(&ss->members, struct wsmon_member, node);
		hlist_del_init_rcu(&m->hash);
		if (m->pid)
			member_stop_sharing(m);
		list_del(&m->node);
		if (m->events)
			list_del(&m->call);
		raw_spin_unlock(&wsmon_members_lock);
		member_free(m);
		cond_resched();
		raw_spin_lock(&wsmon_members_lock);
	}
	raw_spin_unlock(&wsmon_members_lock);
}

/**
 * wsmon_members_update - take over what probes have left for kwsmond
 * @ss:	the session
 *
 * wsmon_members_next() returns the members that were called up to now, targets first. If
 * it still has some from the last time, nothing is taken over, and no spare member is
 * made: so those that have ended, whose memory waits to be freed, are not too many.
 * Context: the monitor's lock held, may sleep.
 * Return: are targets called?
 */
bool wsmon_members_update(struct wsmon_session *ss)
{
	bool targets = false;

	if (!list_empty(&ss->answers))
		return false;
	raw_spin_lock(&wsmon_members_lock);
	WRITE_ONCE(ss->called, false);
	WRITE_ONCE(ss->hurry, false);
	swap(targets, ss->target_called);
	list_splice_tail_init(&ss->born, &ss->members);
	list_splice_tail_init(&ss->calls, &ss->answers);
	raw_spin_unlock(&wsmon_members_lock);
	if (ss->follow)
		members_refill(ss);
	return targets;
}

/**
 * wsmon_members_rest - say whether kwsmond is to be woken
 * @ss:		the session
 * @rest:	not for a moment
 *
 * Calls of members that are no targets can wait, those of many together. Targets, and a lack
 * of spare members, wake it nevertheless.
 */
void wsmon_members_rest(struct wsmon_session *ss, bool rest)
{
	raw_spin_lock(&wsmon_members_lock);
	ss->resting = rest;
	raw_spin_unlock(&wsmon_members_lock);
}

/**
 * wsmon_members_next - return the next member that a probe asked to look at
 * @ss:		the session
 * @events:	set to what happened to it: WSMON_MEMBER_EXEC, _EXIT
 *
 * Context: the monitor's lock held.
 * Return: the member, or NULL.
 */
struct wsmon_member *wsmon_members_next(struct wsmon_session *ss, u32 *events)
{
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	m = list_first_entry_or_null(&ss->answers, struct wsmon_member, call);
	if (m) {
		list_del(&m->call);
		*events = m->events;
		m->events = 0;
	}
	raw_spin_unlock(&wsmon_members_lock);
	return m;
}

/**
 * wsmon_members_age - release the mms of programs that are older than all windows
 * @ss:		the session
 * @before:	those that began before this time; rounds do this for targets
 *
 * Also finds members that left the cgroup, or whose end no probe has reported, as a thread
 * faulted in exit. If there are many members, a call looks at a quarter of them.
 * Context: the monitor's lock held, may sleep.
 */
void wsmon_members_age(struct wsmon_session *ss, u64 before)
{
	u32 nr = READ_ONCE(ss->nr_members), left = min(nr, max(AGE_AT_ONCE, nr / AGE_TURNS + 1));

	for (; left && !list_empty(&ss->members); left--) {
		struct wsmon_member *m = list_first_entry(&ss->members, struct wsmon_member, node);
		bool gone = !m->target && !member_belongs(m);

		list_move_tail(&m->node, &ss->members);
		raw_spin_lock(&wsmon_members_lock);
		if (gone)
			member_call(m, WSMON_MEMBER_EXIT);
		else if (!m->target && m->born_ns < before)
			member_release(m);
		raw_spin_unlock(&wsmon_members_lock);
		cond_resched();
	}
}

/*
 * Probes at fork, exec and exit
 *
 * They run in the context of the process, and do not sleep. Without CONFIG_TRACEPOINTS only
 * rounds notice new programs, and no child is followed.
 */

/* Runs at the end of fork: the child is complete, but has not begun to run. */
static void fork_probe(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (!same_thread_group(parent, child) && child->mm &&
	    (members_known(parent) || members_in_cgroups(child)))
		members_forked(parent, child);
}

/* Runs in exec, before it leaves the old mm: it cannot fail any more, or kills the process. */
static void prepare_exec_probe(void *data, struct task_struct *task, struct linux_binprm *bprm)
{
	if (members_known(task))
		members_leaving(task);
}

/* Runs at the end of exec: current has its new mm, and its new name. */
static void exec_probe(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	if (members_known(task) || members_in_cgroups(task))
		members_executed(task);
}

/* Before 6.16 the thread has left its mm; from 6.16 on it is about to. */
wsmon_exit_probe(exit_probe)
{
	if (!atomic_read(&task->signal->live) && members_known(task))
		members_ended(task);
}

/* The tracepoints */
static struct probe {
	const char *name;
	void *function;
	struct tracepoint *tp;
} probes[] = {
	{ "sched_process_fork", fork_probe },
	{ "sched_prepare_exec", prepare_exec_probe },
	{ "sched_process_exec", exec_probe },
	{ "sched_process_exit", exit_probe },
};

static void probes_find_tracepoint(struct tracepoint *tp, void *data)
{
	struct probe *p = data;

	if (!strcmp(tp->name, p->name))
		p->tp = tp;
}

/** wsmon_probes_exit - detach the probes, and wait for those that run */
void wsmon_probes_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].tp)
			tracepoint_probe_unregister(probes[i].tp, probes[i].function, NULL);
	}
	tracepoint_synchronize_unregister();
}

/**
 * wsmon_probes_init - attach the probes
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_probes_init(void)
{
	unsigned int i;
	int err;

	/* check the arguments against those of this kernel at compile time */
	check_trace_callback_type_sched_process_fork(fork_probe);
	wsmon_check_prepare_exec(prepare_exec_probe);
	check_trace_callback_type_sched_process_exec(exec_probe);
	check_trace_callback_type_sched_process_exit(exit_probe);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		for_each_kernel_tracepoint(probes_find_tracepoint, &probes[i]);
		if (!probes[i].tp)
			continue;
		err = tracepoint_probe_register(probes[i].tp, probes[i].function, NULL);
		if (err) {
			probes[i].tp = NULL;
			wsmon_probes_exit();
			return err;
		}
	}
	return 0;
}
