// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_kept.c - the memory of a program that is kept, so that its end can be looked at
 *
 * When its last thread ends, a process has left its mm, and with it the page tables. So
 * the mm of a program executed while it is monitored is kept, by a reference on
 * mm_users taken in exec, for as long as a window holds the program's whole life. If
 * the program ends within that time, kwsmond immediately looks at it once more, and
 * releases the mm. If the process executes another program, the mm is released when
 * that has begun. With follow=1, one that is replaced waits for kwsmond instead.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "wsmon_members.h"

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

/*
 * wsmon_member_take - take over the mm that is kept for a member @m, or NULL: only @which,
 * as the member may have executed another program since; any, if @which is NULL
 */
struct mm_struct *wsmon_member_take(struct wsmon_member *m, const struct mm_struct *which)
{
	struct mm_struct *mm = NULL;

	raw_spin_lock(&wsmon_members_lock);
	if (!which || m->mm == which)
		swap(mm, m->mm);
	raw_spin_unlock(&wsmon_members_lock);
	return mm;
}

/** wsmon_member_put - release the mm that is kept for a member @m, if it is @which */
void wsmon_member_put(struct wsmon_member *m, const struct mm_struct *which)
{
	struct mm_struct *mm = wsmon_member_take(m, which);

	if (mm)
		mmput_async(mm);
}

/** wsmon_member_take_old - the same with the mm of the program before the last exec */
struct mm_struct *wsmon_member_take_old(struct wsmon_member *m)
{
	struct mm_struct *mm = NULL;

	raw_spin_lock(&wsmon_members_lock);
	swap(mm, m->old_mm);
	raw_spin_unlock(&wsmon_members_lock);
	return mm;
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
		nr += (other->mm == mm) + (other->old_mm == mm);
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
