// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_member.c - members, the processes of a session: their fork, exec and exit
 *
 * Rounds are too rare for a program that lives for less than a second. So probes at
 * tracepoints of the scheduler wake kwsmond when a member has executed a program, and when
 * its last thread ends. If many members end, kwsmond is woken for several of them at once.
 *
 * With follow=1 a child of a member is a member from its first instruction on: the probe
 * at fork runs before the child does. A probe must not allocate memory, so it takes one
 * of the spare members that kwsmond has allocated, and wakes kwsmond if few are left.
 */
#include <linux/cgroup.h>
#include <linux/completion.h>
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
 * Keeping the mm of a program for a last look
 *
 * When the last thread of a process ends, the process leaves its mm, and with it the page tables.
 * So a member keeps the mm of a program that began while it was monitored, by a reference on
 * mm_users, as long as some window covers the whole life of the program. If the program ends
 * within that time, a task work in the process waits until kwsmond has looked at the mm a last
 * time, then releases the mm before the parent is notified. So no memory of the process outlives
 * wait(). A probe in exec releases the mm before exec leaves it. A process may hang before it runs
 * its task works, while it closes a file of a server that does not answer: then a worker releases
 * the mm a second later.
 *
 * A reference costs CPU time: when the process ends, it searches all processes for another owner
 * of its mm (mm_update_next_owner()). So references may cost at most 1 % of the time. A program
 * without a reference has no last look.
 */

/* CPU time of a search for an owner, per process or thread of the machine */
#define WALK_NS		50U

/* All searches together may take 1 / WALK_SHARE of one CPU; a single search, WALK_MAX_NS */
#define WALK_SHARE	100U
#define WALK_MAX_NS	(NSEC_PER_SEC / WALK_SHARE)

/* A process that ends waits this long for its last look to begin; a target waits longer */
#define WAIT_MS		50U
#define WAIT_TARGET_MS	100U
/* Other members stop waiting this long after an urgent call that kwsmond has not answered */
#define WAIT_CALLED_MS	100U
/* Wait this long for a look that has begun: real-time tasks or other modules may delay it */
#define WAIT_LOOK_MS	1000U
/* Wait this long for a process that does not run its task works */
#define LATE_MS		1000U
/* Release this many mms under one hold of members_lock */
#define LATE_AT_ONCE	256U

/* Number of task works that have not ended; and whether there ever was one */
static atomic_t works = ATOMIC_INIT(0);
static bool works_used;

/* Members that have left their session, and whose task work has not run yet (members_lock) */
static LIST_HEAD(late_members);

static void members_release_late(struct work_struct *work);
static DECLARE_DELAYED_WORK(late_work, members_release_late);

/* Time that references may still cost (members_lock) */
static u64 walk_credit_ns;

/*
 * Pay for a reference on an mm. Context: members_lock held.
 * Return: the price; 0 if it exceeds the credit.
 */
static u64 walk_pay(u64 now)
{
	static u64 since_ns;
	/* pid_allocated includes threads: the price is too high rather than too low */
	u64 price = (u64)WALK_NS * (READ_ONCE(init_pid_ns.pid_allocated) & ~PIDNS_ADDING);

	walk_credit_ns = min_t(u64, walk_credit_ns + (now - since_ns) / WALK_SHARE, WALK_MAX_NS);
	since_ns = now;
	if (price > walk_credit_ns)
		return 0;
	walk_credit_ns -= price;
	return price;
}

/*
 * Note that a member begins with an mm, and keep the mm if the credit pays for it.
 * @task:	current after exec; after fork the child, which does not run yet
 * Context: members_lock held.
 */
static void member_begin(struct wsmon_member *m, struct task_struct *task, u64 born_ns)
{
	/* the child never searches for an owner of this mm: the parent owns it */
	bool shared = task != current && task->mm == current->mm;

	/* before 6.10 no probe runs before exec leaves the mm */
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

/*
 * Drop the reference on the mm of a member. If the process has left the mm already, the reference
 * is the last one. Then this does nothing: the process is about to end, and member_end() follows.
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

/** wsmon_member_forget - drop the reference on the mm if it is still @which. Context: may sleep. */
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

/*
 * Release the mms of members whose process does not run its task works. The task work holds a
 * reference on the member, so a listed member cannot be freed.
 */
static void members_release_late(struct work_struct *work)
{
	unsigned long now = jiffies, next = 0;
	u32 left = LATE_AT_ONCE;
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	while (!next && !list_empty(&late_members)) {
		m = list_first_entry(&late_members, struct wsmon_member, node);
		if (time_before(now, m->late)) {
			next = m->late - now;
		} else if (!left--) {
			next = 1;
		} else {
			/* freeing an mm may block on a server, too; mmput_async() does not wait */
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
	/* an OOM victim does not wait: others wait for its memory */
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
	/* if the look still goes on, member_free() releases the mm after it */
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

/*
 * Prepare to release the mm of a member whose process ends.
 * @wait:	kwsmond is to look at the mm before
 * Context: members_lock held.
 * Return: true if the caller must add the task work to a thread, after it has released the lock.
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
	/*
	 * A process with a busy mmap lock may hold kwsmond up: do not make every other process
	 * that ends wait for that.
	 */
	if (!m->target && ss->hurry && time_before(limit, m->until))
		m->until = limit;
	refcount_inc(&m->refs);
	atomic_inc(&works);
	WRITE_ONCE(works_used, true);
	return true;
}

/* Release the mm here: no thread of the process can run the task work any more. */
static void member_work_failed(struct wsmon_member *m)
{
	raw_spin_lock(&wsmon_members_lock);
	m->ending = false;
	member_not_late(m);
	/* after a look that goes on now, member_free() releases the mm */
	if (m->kept && !m->looking) {
		m->kept = false;
		mmput_async(m->mm);
	}
	raw_spin_unlock(&wsmon_members_lock);
	member_put(m);
	atomic_dec(&works);
}

/**
 * wsmon_member_look - begin the last look at the mm of a member that has ended
 * @m:	the member; member_free() ends the look
 *
 * Context: the monitor's lock held.
 * Return: the mm; NULL if it was not kept, or the process has stopped waiting.
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

/* Allocate a member of a session. Return: the member, or NULL. */
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
 * Have any thread of the process release the mm, after member_end(). This is needed if the process
 * has left its mm and the probe at exit has not run yet, or if it has stopped waiting for a look.
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

/* Free a member, which no probe can find. Context: may sleep. */
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

/** wsmon_kept_exit - wait for task works before the module goes. Context: no probe is left. */
void wsmon_kept_exit(void)
{
	while (atomic_read(&works))
		schedule_timeout_idle(1);
	cancel_delayed_work_sync(&late_work);
	/* the last task work may be preempted before it returns from the module's code */
	if (works_used)
		synchronize_rcu_tasks();
}

/**
 * wsmon_member_born - return when a member began with its program
 * @m:	the member
 * @mm:	mm of the program
 *
 * Context: the monitor's lock held.
 * Return: the time; 0 if the program began before it was monitored, or before all windows.
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
 * wsmon_members_left - return and reset the memory of programs that were left by exec
 * @ss:	the session
 * @m:	a member of the session; NULL for the sum of all members
 *
 * It is unknown what these programs accessed since the last interval ended.
 * Return: upper bound of their resident pages.
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
 * wsmon_members_keeping - count the references on an mm that members of all sessions keep
 * @m:	a member: only members with the same process count
 * @mm:	the mm
 *
 * Return: the number of references.
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

/** wsmon_member_shared - return whether other sessions, or the group, sample a member, too */
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
 * Note in members of other sessions with the same process that @m is sampled no more. These
 * sessions may not have read yet what its session noted about Accessed bits that it cleared.
 * Context: members_lock held.
 */
static void member_stop_sharing(const struct wsmon_member *m)
{
	struct wsmon_member *other;

	for_each_member_of(other, m->pid)
		WRITE_ONCE(other->shared_ns, ktime_get_ns());
}

/** wsmon_members_have - return whether the process of a task is a member of session @ss */
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

/* Number of spares: enough for all forks until kwsmond makes more; doubled if it was not */
#define SPARES		512U
#define SPARES_MAX	4096U
#define BUCKETS_BITS	12

/* wsmon_members_age() looks at this many members, or at 1 / AGE_TURNS of them if that is more */
#define AGE_AT_ONCE	256U
#define AGE_TURNS	4U

DEFINE_RAW_SPINLOCK(wsmon_members_lock);
/* Number of sessions that are watched (wsmon_members_lock) */
static unsigned int watched;

/* Watched sessions that have a cgroup (changed under members_lock, read under RCU) */
static LIST_HEAD(by_cgroup);

/* Members of watched sessions, by thread group (changed under members_lock, read under RCU) */
static struct hlist_head buckets[BIT(BUCKETS_BITS)];

static struct hlist_head *member_bucket(const struct pid *tgid)
{
	return &buckets[hash_ptr(tgid, BUCKETS_BITS)];
}

/*
 * Tell, without the lock, whether a process is a member of a session.
 *
 * Without the lock, fork, exec and exit of processes that are no members write to no cache line
 * that processors share. A member became one before it began to run, when the session started, or
 * in a scan, so its own probes find it. The answer may be out of date: the caller takes the lock
 * and searches the bucket again.
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

/** wsmon_pid_alive - return whether any thread of a thread group is not in exit */
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

/** wsmon_cgroup_has - return whether a thread is in the cgroup of a session, or in a descendant */
bool wsmon_cgroup_has(const struct wsmon_session *ss, struct task_struct *task)
{
	bool has;

	rcu_read_lock();
	has = task_under_cgroup_hierarchy(task, ss->cgroup);
	rcu_read_unlock();
	return has;
}

/* Return whether a member runs, and is still in the cgroup of its session, if that has one. */
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

/* Return, without the lock as well, whether a process is in the cgroup of any session. */
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

/* wsmon_process.h describes this function. */
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

/* Return whether a process is a member of a session. Context: members_lock held. */
static bool member_exists(const struct wsmon_session *ss, const struct pid *tgid)
{
	struct wsmon_member *m;

	for_each_member_of(m, tgid) {
		if (m->session == ss)
			return true;
	}
	return false;
}

/* Have kwsmond run soon; at once if @now is set. Context: members_lock held. */
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
	/* a thread that has not begun yet checks @called when it does */
	if (thread && (now || !ss->resting))
		wake_up_process(thread);
}

/* Have kwsmond look at a member soon, and at targets first. Context: members_lock held. */
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

/* Make a process that begins a member of a session. Context: members_lock held. */
static void member_born(struct wsmon_session *ss, struct task_struct *child, u64 now)
{
	struct wsmon_member *m;

	/* it may be a target already, if its pid was named before this fork ended */
	if (member_exists(ss, task_tgid(child)))
		return;
	if (ss->nr_spares < READ_ONCE(ss->want_spares) / 2)
		members_call_thread(ss, true);
	m = list_first_entry_or_null(&ss->spares, struct wsmon_member, node);
	if (!m || ss->nr_members >= MEMBERS_MAX) {
		/* the next scan of the cgroup finds it */
		if (!ss->cgroup)
			WRITE_ONCE(ss->unfollowed, ss->unfollowed + 1);
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

/*
 * After fork or exec, make a process a member of the sessions whose cgroup it is in.
 * Context: members_lock held.
 */
static void members_born_in_cgroups(struct task_struct *task, u64 now)
{
	struct wsmon_session *ss;

	list_for_each_entry(ss, &by_cgroup, by_cgroup) {
		if (wsmon_cgroup_has(ss, task))
			member_born(ss, task, now);
	}
}

/*
 * Handle a fork: the child, complete but not running yet, may become a member. Probes call this and
 * the next functions if members_known() or members_in_cgroups() returns true.
 */
static void members_forked(struct task_struct *parent, struct task_struct *child)
{
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(parent)) {
		/* after vfork() nothing is copied; else each write to a shared page may copy it */
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

/* Handle an exec that is about to leave the old mm; @task is current. */
static void members_leaving(struct task_struct *task)
{
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(task))
		member_release(m);
	raw_spin_unlock(&wsmon_members_lock);
}

/* Handle the end of an exec: @task, current, has its new mm and its new name. */
static void members_executed(struct task_struct *task)
{
	struct wsmon_member *m;
	u64 now = ktime_get_ns();

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(task)) {
		/*
		 * maxrss is the peak of all programs so far. Memory of a forked program is not
		 * added: most of it is its parent's.
		 */
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
 * Note the peak of resident pages of a member whose last thread @task ends, in case the member gets
 * no last look. A forked child also has pages of its parent, which must not count a second time. So
 * set @made_rss, an upper bound of the child's own pages: the number of its faults, plus the growth
 * of its resident memory since the fork. The growth is added because one fault may add a huge page.
 * The bound is too low only if a huge page replaces memory that was unmapped since the fork: then
 * the growth lacks this huge page, which counts as one page.
 * Context: members_lock held.
 */
static void member_note_rss(struct wsmon_member *m, const struct task_struct *task)
{
	const struct signal_struct *sig = task->signal;
	struct mm_struct *mm = task->mm;
	u64 made;

	/*
	 * Before 6.16 the thread has left its mm. If the mm was not kept, use the peak of the
	 * process, which includes its earlier programs.
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

/* Handle the end of a process, whose last thread is @task. */
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
		/* without members_lock, as this may allocate memory for KASAN */
		if (task_work_add(task, &m->work, TWA_RESUME))
			member_work_failed(m);
	}
}

/*
 * Make spare members while there is memory. Meanwhile probes only take spares, so the number
 * wanted is never exceeded. If probes took more than half since the last call, double that number.
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

/** wsmon_members_add - make @t a member of @ss, which is not watched yet. Return: 0 or -ENOMEM. */
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
 * @pid:	thread group of the process
 *
 * Context: as wsmon_members_scan().
 * Return: 0, also if the process is a member already; -ENOSPC if there are MEMBERS_MAX; -ENOMEM.
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
		/* if the session runs, the process used its memory before it joined */
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

/** wsmon_members_remove - remove and free a member @m. Context: the monitor's lock held. */
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
 * wsmon_members_follow - set whether children of members become members
 * @ss:		the session; one with a cgroup always follows
 * @follow:	children that are forked from now on become members
 *
 * Context: the monitor's lock held, or nobody knows the session yet.
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
 * wsmon_members_watch - let probes find the members of a session, before its thread runs
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
 * wsmon_members_unwatch - hide a session's members from probes, and free them
 * @ss:	the session; @nr_members keeps its value, for readers of the counters
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
	/* a probe that still finds a member now must add no child; a call it makes has no effect */
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
 * wsmon_members_update - take over the new members and calls that probes left for kwsmond
 * @ss:	the session
 *
 * Afterwards wsmon_members_next() returns the members that were called up to now, targets first.
 * While it still has members of the last update, this function does nothing and makes no spare
 * member: that limits the number of ended members whose memory waits to be freed.
 * Context: the monitor's lock held, may sleep.
 * Return: true if a target was called since the last update.
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
 * wsmon_members_rest - set whether kwsmond rests, so that calls which can wait do not wake it
 * @ss:		the session
 * @rest:	it rests
 *
 * While it rests, calls of other members are collected. A call by a target, a call by a process
 * that waits for its last look, and a lack of spare members wake kwsmond nevertheless.
 */
void wsmon_members_rest(struct wsmon_session *ss, bool rest)
{
	raw_spin_lock(&wsmon_members_lock);
	ss->resting = rest;
	raw_spin_unlock(&wsmon_members_lock);
}

/**
 * wsmon_members_next - return the next member that a probe called for a look
 * @ss:		the session
 * @events:	set to the reasons of the call: WSMON_MEMBER_EXEC, _EXIT
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
 * @before:	programs that began before this time are; for targets, rounds do this
 *
 * Also calls members that left the cgroup, or whose end no probe has reported because a thread
 * faulted in exit. If there are many members, each call looks at a quarter of them.
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
 * Probes run in the context of the process, and must not sleep. Without CONFIG_TRACEPOINTS only
 * rounds notice new programs, and no child is followed.
 */

/* Runs at the end of fork: the child is complete, but has not begun to run. */
static void fork_probe(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (!same_thread_group(parent, child) && child->mm &&
	    (members_known(parent) || members_in_cgroups(child)))
		members_forked(parent, child);
}

/* Runs in exec, before it leaves the old mm: from here on a failure kills the process. */
static void prepare_exec_probe(void *data, struct task_struct *task, struct linux_binprm *bprm)
{
	if (members_known(task))
		members_leaving(task);
}

/* Runs at the end of exec: @task is current, and has its new mm and its new name. */
static void exec_probe(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	if (members_known(task) || members_in_cgroups(task))
		members_executed(task);
}

/* Runs in exit: before 6.16 the thread has left its mm, from 6.16 on it is about to leave it. */
wsmon_exit_probe(exit_probe)
{
	if (!atomic_read(&task->signal->live) && members_known(task))
		members_ended(task);
}

static struct wsmon_probe probes[] = {
	{ "sched_process_fork", fork_probe },
	{ "sched_prepare_exec", prepare_exec_probe },
	{ "sched_process_exec", exec_probe },
	{ "sched_process_exit", exit_probe },
};

static void probe_find(struct tracepoint *tp, void *data)
{
	struct wsmon_probe *p = data;

	if (!strcmp(tp->name, p->name))
		p->tp = tp;
}

/** wsmon_probes_find - find the tracepoints of @nr probes. Return: true if the kernel has all. */
bool wsmon_probes_find(struct wsmon_probe *p, u32 nr)
{
	bool all = true;

	for (; nr; nr--, p++) {
		for_each_kernel_tracepoint(probe_find, p);
		all &= !!p->tp;
	}
	return all;
}

/** wsmon_probes_detach - detach @nr probes, and wait until running ones have returned */
void wsmon_probes_detach(struct wsmon_probe *p, u32 nr)
{
	for (; nr; nr--, p++) {
		if (p->attached)
			tracepoint_probe_unregister(p->tp, p->function, NULL);
		p->attached = false;
	}
	tracepoint_synchronize_unregister();
}

/**
 * wsmon_probes_attach - attach the probes whose tracepoints were found
 * @p:	the probes
 * @nr:	number of probes
 *
 * Context: may sleep; one call for @p at a time.
 * Return: 0, or an error of tracepoint_probe_register(), with none attached.
 */
int wsmon_probes_attach(struct wsmon_probe *p, u32 nr)
{
	u32 i;
	int err;

	for (i = 0; i < nr; i++) {
		if (!p[i].tp)
			continue;
		err = tracepoint_probe_register(p[i].tp, p[i].function, NULL);
		if (err) {
			wsmon_probes_detach(p, nr);
			return err;
		}
		p[i].attached = true;
	}
	return 0;
}

/** wsmon_probes_exit - undo wsmon_probes_init(); no probe runs any more */
void wsmon_probes_exit(void)
{
	wsmon_probes_detach(probes, ARRAY_SIZE(probes));
}

/** wsmon_probes_init - attach the probes. Return: 0 or -ENOMEM. */
int wsmon_probes_init(void)
{
	/* check at compile time that this kernel passes the arguments that the probes expect */
	check_trace_callback_type_sched_process_fork(fork_probe);
	wsmon_check_prepare_exec(prepare_exec_probe);
	check_trace_callback_type_sched_process_exec(exec_probe);
	check_trace_callback_type_sched_process_exit(exit_probe);
	wsmon_probes_find(probes, ARRAY_SIZE(probes));
	return wsmon_probes_attach(probes, ARRAY_SIZE(probes));
}
