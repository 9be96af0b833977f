/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroups.h - a session for a cgroup, and one for each service or container below it
 *
 * Who chooses the cgroups otherwise uses the sessions alone, cgroup_session_*().
 *
 *	cgroups_begin(&c, &how);
 *	wait until c.fd is readable: cgroups_take(&c);
 *	now and then: cgroups_refresh(&c), which sets c.list;
 *	cgroups_end(&c);
 */
#ifndef WSMO_CGROUPS_H
#define WSMO_CGROUPS_H

#include "live.h"
#include "session.h"

/* Max. cgroups below: the module has 63 sessions */
#define CGROUPS_MAX	60

/* Bytes of RAM for each session: in the kernel one takes 7 MiB */
#define CGROUPS_RAM	(256ULL << 20)

/**
 * struct cgroup_session - a cgroup and its session
 * @number:	unique
 * @session:	its session; @session.cgroup is the path, @session.fd is -1 without one
 * @live:	its figures, or those of its last session
 * @resident:	memory in RAM that is mapped, see cgroup_memory(); without the memory
 *		controller the PSS of its processes
 * @has_resident: @resident is known
 * @pss_ns:	when to read PSS again
 * @keep:	it is still one of those to watch
 * @guests:	number of virtual machines
 */
struct cgroup_session {
	__u32 number;
	struct session session;
	struct live live;
	__u64 resident;
	bool has_resident;
	__u64 pss_ns;
	bool keep;
	size_t guests;
};

/** cgroup_session_init() - prepare a session, which is zeroed; @how has the attributes */
void cgroup_session_init(struct cgroup_session *s, const struct session *how, const char *path);

/**
 * cgroup_session_begin() - start it, and add it to @epoll with @s as data
 * Return: 0; -errno of the cgroup or the device, without a message; 1 after a message
 */
int cgroup_session_begin(struct cgroup_session *s, int epoll);

/** cgroup_session_take() - take the records now in its stream; Return: 0, or -1 after a message */
int cgroup_session_take(struct cgroup_session *s);

/** cgroup_session_end() - end the session, if there is one; the figures stay */
void cgroup_session_end(struct cgroup_session *s);

/** cgroup_session_free() - end it, and free everything */
void cgroup_session_free(struct cgroup_session *s);

/** cgroup_sessions_ready() - Return: number of @ready sessions, of CGROUPS_MAX + 1 at most */
size_t cgroup_sessions_ready(int epoll, struct cgroup_session **ready);

/** cgroup_sessions_max() - Return: how many there may be at once, for the memory they take */
size_t cgroup_sessions_max(void);

/**
 * struct cgroups - the sessions
 * @list:	@nr of them; the first is of the cgroup that was named, the others are of those
 *		below it that cgroup_list() finds, the largest if there are too many
 * @max:	max. sessions of cgroups below
 * @left_out:	number of cgroups beyond that
 * @refused:	how many could not be watched for another reason
 * @fd:		readable when there is something to take
 * @ended:	the session of the cgroup that was named has ended: it was removed
 * @held:	do not update the figures
 * @numbers:	the last @number
 * @list_ns:	when to look for them
 */
struct cgroups {
	struct cgroup_session **list;
	size_t nr;
	size_t max;
	size_t left_out;
	size_t refused;
	int fd;
	bool ended;
	bool held;
	__u32 numbers;
	__u64 list_ns;
};

/**
 * cgroups_begin() - start the sessions
 * @how:	the cgroup, and the attributes; it is not open
 * Return: 0, or -1 after a message
 */
int cgroups_begin(struct cgroups *c, const struct session *how);

/** cgroups_take() - take the records now in the streams; Return: 0, or -1 after a message */
int cgroups_take(struct cgroups *c);

/**
 * cgroups_refresh() - look for new cgroups, at most each five seconds, and at their memory
 * Return: 0, or -1 after a message
 */
int cgroups_refresh(struct cgroups *c);

/** cgroups_end() - end the sessions */
void cgroups_end(struct cgroups *c);

#endif /* WSMO_CGROUPS_H */
