/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_members.h - what the files about members share
 */
#ifndef WSMON_MEMBERS_H
#define WSMON_MEMBERS_H

#include "wsmon_internal.h"

/*
 * Protects what is marked "members_lock" in struct wsmon_session and struct wsmon_member.
 * Nothing but locks of the scheduler and of workqueues is taken inside.
 */
extern raw_spinlock_t wsmon_members_lock;

/* The member after @m, or the first, with a thread group. Context: members_lock held. */
struct wsmon_member *wsmon_member_after(const struct wsmon_member *m, const struct pid *tgid);

/* For each member @m of a thread group, one a session. Context: members_lock held. */
#define for_each_member_of(m, tgid)					\
	for ((m) = wsmon_member_after(NULL, tgid); (m);			\
	     (m) = wsmon_member_after(m, tgid))

/* wsmon_mm.c */
void wsmon_member_stop_sharing(const struct wsmon_member *m);
struct wsmon_member *wsmon_member_alloc(struct wsmon_session *ss);
void wsmon_member_free(struct wsmon_member *m);
void wsmon_member_begin(struct wsmon_member *m, struct task_struct *task, u64 born_ns);
void wsmon_member_release(struct wsmon_member *m);
bool wsmon_member_end(struct wsmon_member *m, bool wait);
void wsmon_member_work(struct wsmon_member *m, struct task_struct *task);

#endif /* WSMON_MEMBERS_H */
