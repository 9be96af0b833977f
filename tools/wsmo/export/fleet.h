/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fleet.h - many cgroups, watched in turns
 *
 * A session costs kernel memory, and all sessions share one CPU budget. So not more than some
 * cgroups are watched at once. If there are more, each is watched for one turn, and keeps the last
 * figures of it until its next turn.
 */
#ifndef WSMO_EXPORT_FLEET_H
#define WSMO_EXPORT_FLEET_H

#include "session/live.h"
#include "session/session.h"

#define FLEET_MAX	500	/* max. cgroups, by default */
#define FLEET_AT_ONCE	32	/* max. sessions, by default; the module has 63 for all */
#define FLEET_CPU	30	/* 1/1000 of one CPU, by default; the module's, too */

/**
 * struct watched - a cgroup and its figures
 * @session:	@session.cgroup is its path, @session.fd is -1 while it waits for its turn
 * @live:	what this turn, or the last one, found
 * @rows:	last working set sizes that cover the longest window
 * @processes:	how many the cgroup had then
 * @time_ms:	when that was, since 1970; 0: there are no figures yet
 * @resident:	memory in RAM that its processes map, 0 if it is not known
 * @guests:	number of virtual machines
 * @began_ns:	beginning of the turn
 * @ended_ns:	end of the last turn, 0 before there was one
 * @there:	the cgroup is one of those to watch
 * @refused:	it could not be, the last time
 * @again:	that is tried again, as cgroups were looked for
 */
struct watched {
	struct session session;
	struct live live;
	struct wsmon_wss_rows rows;
	__u32 processes;
	__u64 time_ms;
	__u64 resident;
	size_t guests;
	__u64 began_ns;
	__u64 ended_ns;
	bool there;
	bool refused;
	bool again;
};

/**
 * struct fleet - the cgroups
 * @root:	set by the caller: the path of the cgroup above them
 * @alone:	the same: watch @root itself
 * @max:	the same: max. cgroups; beyond it the largest
 * @at_once:	the same: max. sessions
 * @cpu_permille: the same: CPU time, in 1/1000 of one CPU
 * @precision:	1 + the precision wanted, in 1/1000; 0: none was named
 * @how:	the same: the attributes; has no session
 * @list:	struct watched *, by path
 * @found:	number of cgroups with processes, @list.nr or more
 * @refused:	number of those in @list that could not be watched
 * @open:	number of those that are watched now
 * @fd:		readable when there is something to take
 * @cpu_ns:	CPU time of the turns that ended
 * @ended:	number of them
 * @lost:	records lost in them
 * @allowed_ns:	CPU time that turns could take so far
 * @allowed_at_ns: that was then
 * @look_ns:	when to look for cgroups again
 */
struct fleet {
	const char *root;
	bool alone;
	__u32 max;
	__u32 at_once;
	__u32 cpu_permille;
	__u32 precision;
	struct session how;
	struct sorted list;
	size_t found;
	size_t refused;
	size_t open;
	int fd;
	__u64 cpu_ns;
	__u64 ended;
	__u64 lost;
	__u64 allowed_ns;
	__u64 allowed_at_ns;
	__u64 look_ns;
};

/** fleet_begin() - begin to watch; Return: 0, or -1 after a message */
int fleet_begin(struct fleet *f);

/** fleet_take() - take what is in the streams now; Return: 0, or -1 after a message */
int fleet_take(struct fleet *f);

/**
 * fleet_turn() - look for cgroups, end and begin turns; to be called each second or so
 * Return: 0, or -1 after a message
 */
int fleet_turn(struct fleet *f);

/** fleet_sum() - CPU time of all turns so far, and records lost in them */
void fleet_sum(const struct fleet *f, __u64 *cpu_ns, __u64 *lost);

/** fleet_end() - end all sessions */
void fleet_end(struct fleet *f);

#endif /* WSMO_EXPORT_FLEET_H */
