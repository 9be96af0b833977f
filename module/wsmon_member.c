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
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "wsmon_process.h"

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
	wsmon_member_begin(m, child, now);
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
		wsmon_member_release(m);
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
		wsmon_member_begin(m, task, now);
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
		if (wsmon_member_end(m, m->target || READ_ONCE(m->session->may_look))) {
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
		wsmon_member_work(m, task);
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
		m = wsmon_member_alloc(ss);
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
	struct wsmon_member *m = wsmon_member_alloc(ss);

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
 * members_take - make a process that runs already a member
 * @ss:		the session
 * @pid:	its thread group
 *
 * Context: as wsmon_members_scan().
 * Return: 0, also if it is one; -ENOSPC if there are too many; -ENOMEM.
 */
static int members_take(struct wsmon_session *ss, struct pid *pid)
{
	struct wsmon_member *m = wsmon_member_alloc(ss);
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
	wsmon_member_stop_sharing(m);
	list_del(&m->node);
	if (m->events)
		list_del(&m->call);
	WRITE_ONCE(ss->nr_members, ss->nr_members - 1);
	raw_spin_unlock(&wsmon_members_lock);
	wsmon_member_free(m);
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
			wsmon_member_stop_sharing(m);
		list_del(&m->node);
		if (m->events)
			list_del(&m->call);
		raw_spin_unlock(&wsmon_members_lock);
		wsmon_member_free(m);
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
		bool gone = !m->target && !wsmon_member_belongs(m);

		list_move_tail(&m->node, &ss->members);
		raw_spin_lock(&wsmon_members_lock);
		if (gone)
			member_call(m, WSMON_MEMBER_EXIT);
		else if (!m->target && m->born_ns < before)
			wsmon_member_release(m);
		raw_spin_unlock(&wsmon_members_lock);
		cond_resched();
	}
}

/*
 * Which processes that run already belong to a session: those of a cgroup, and
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
				err = members_take(ss, found[i]);
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
