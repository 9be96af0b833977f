/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroups.h - sessions for a cgroup and for each service or container below it
 *
 * A caller that chooses the cgroups itself uses only cgroup_session_*().
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

/* Maximum number of cgroups below: the module has 63 sessions */
#define CGROUPS_MAX	60

/* Bytes of RAM needed for each session, which takes 7 MiB in the kernel */
#define CGROUPS_RAM	(256ULL << 20)

/**
 * struct cgroup_session - a cgroup and its session
 * @number:	unique number
 * @session:	session; @cgroup in it is the path, and @fd is -1 while no session runs
 * @live:	figures of this or the last session
 * @resident:	cgroup_memory(); without the memory controller the PSS of the processes
 * @has_resident: @resident is valid
 * @pss_ns:	when to read PSS again
 * @keep:	the cgroup is still to be watched
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

/** cgroup_session_init() - prepare a zeroed session with the attributes in @how */
void cgroup_session_init(struct cgroup_session *s, const struct session *how, const char *path);

/**
 * cgroup_session_begin() - start a session, and add its stream to @epoll with @s as data
 * Return: 0; -errno of the cgroup or the device, without a message; 1 after a message
 */
int cgroup_session_begin(struct cgroup_session *s, int epoll);

/** cgroup_session_take() - take all records in the stream. Return: 0, or -1 after a message */
int cgroup_session_take(struct cgroup_session *s);

/** cgroup_session_end() - end the session, if it runs; keep the figures */
void cgroup_session_end(struct cgroup_session *s);

/** cgroup_session_free() - end the session, and free all memory */
void cgroup_session_free(struct cgroup_session *s);

/**
 * cgroup_sessions_ready() - get sessions with records in @ready
 * Return: number, max. CGROUPS_MAX + 1
 */
size_t cgroup_sessions_ready(int epoll, struct cgroup_session **ready);

/** cgroup_sessions_max() - get the number of sessions for which this machine has memory */
size_t cgroup_sessions_max(void);

/**
 * struct cgroups - the sessions
 * @list:	@nr sessions; the first one is of the named cgroup, the others are of cgroups below
 *		that cgroup_list() finds: the largest, if there are too many
 * @max:	maximum number of sessions of cgroups below
 * @left_out:	number of cgroups left out because of @max
 * @refused:	number of cgroups that could not be watched for another reason
 * @fd:		readable when there is something to take
 * @ended:	the session of the named cgroup ended because the cgroup was removed
 * @held:	do not update the figures
 * @numbers:	last @number given to a session
 * @list_ns:	when to list the cgroups again
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
 * @how:	a session that is not open, with the cgroup and the attributes
 * Return: 0, or -1 after a message
 */
int cgroups_begin(struct cgroups *c, const struct session *how);

/** cgroups_take() - take all records in the streams. Return: 0, or -1 after a message */
int cgroups_take(struct cgroups *c);

/**
 * cgroups_refresh() - list the cgroups, at most every five seconds, and read their memory
 * Return: 0, or -1 after a message
 */
int cgroups_refresh(struct cgroups *c);

/** cgroups_end() - end the sessions */
void cgroups_end(struct cgroups *c);

#endif /* WSMO_CGROUPS_H */
