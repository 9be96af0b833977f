/* SPDX-License-Identifier: GPL-2.0 */
/* cgroup.h - cgroups v2: names, processes, memory */
#ifndef WSMO_CGROUP_H
#define WSMO_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/options.h"
#include "wsmon.h"

/**
 * cgroup_path() - cut the mount point of cgroup v2 off a path
 * @path: path as typed by the user, or as printed by text_clean()
 * Return: the rest of the path, malloc()ed
 */
char *cgroup_path(const char *path);

/**
 * cgroup_put() - write a path for the module: as one word, with blanks escaped
 * @f: NULL: only count
 * Return: number of bytes
 */
size_t cgroup_put(FILE *f, const char *path);

/** cgroup_file() - get the path of a cgroup's file, malloc()ed; with @name "" of its directory */
char *cgroup_file(const char *path, const char *name);

/* Options --cgroup and --all, which set a char * to the malloc()ed path */
#define CGROUP_OPTIONS(help, ...) \
	{ "cgroup", 0, "CGROUP", help, OPT_CALL, __VA_ARGS__, .call = cgroup_option }, \
	{ "all", 0, NULL, NULL, OPT_CALL, __VA_ARGS__, .call = cgroup_option }
void cgroup_option(struct argp_state *state, char *arg, const struct option_desc *o, void *at);

/**
 * cgroup_read() - read /proc/PID/cgroup, and close it
 * @f:	NULL if the process is gone
 * Return: path of the process's cgroup v2, malloc()ed; NULL without
 */
char *cgroup_read(FILE *f);

/** struct cgroup_below - an element of cgroup_list() */
struct cgroup_below {
	char *path;
	__u64 bytes;		/* cgroup_memory(); 0: unknown */
};

/**
 * cgroup_list() - list the services and containers below a cgroup
 * @list:	gets @nr cgroups with processes; the list and its paths are malloc()ed
 *
 * Lists the services and scopes of systemd and, outside of these, the cgroups with processes of
 * their own. No listed cgroup is below another.
 * Return: 0, or -1 if there is no such cgroup
 */
int cgroup_list(const char *path, struct cgroup_below **list, size_t *nr);

/**
 * cgroup_memory() - read the memory of a cgroup that is in RAM and mapped
 *
 * Counts anonymous memory and mapped file pages charged to the cgroup, and memory of hugetlbfs, so
 * that the sum is comparable with a working set. Unmapped file cache does not count.
 * Return: 0; -1 without the memory controller, with @bytes unchanged
 */
int cgroup_memory(const char *path, __u64 *bytes);

/** cgroup_key() - get NUMBER of the line "KEY NUMBER" in a file of a cgroup; 0 without the line */
__u64 cgroup_key(const char *path, const char *name, const char *key);

/**
 * cgroup_swap_forbidden() - tell whether the cgroup of a process, or an ancestor, forbids swapping
 *
 * It may forbid all swapping (memory.swap.max), or swapping to disk (memory.zswap.writeback). An
 * unknown cgroup counts as forbidding.
 */
bool cgroup_swap_forbidden(__u32 pid);

/**
 * cgroup_swap_left() - tell whether memory of a cgroup can still be swapped out
 * @path:	path of the cgroup; if swap is used up, cut after the cgroup whose limit is reached
 * @bytes:	bytes to swap out
 * @slows:	set to whether a memory.swap.high was found: ask again before more is swapped out
 *
 * False if the cgroup or an ancestor has used up its memory.swap.max. Also false if swapping out
 * @bytes would exceed a memory.swap.high: then the kernel makes the processes wait for seconds,
 * again and again. Without the memory controller there is no limit.
 */
bool cgroup_swap_left(char *path, __u64 bytes, bool *slows);

/**
 * cgroup_protected() - sum up memory.min of the cgroups directly below a cgroup
 *
 * A cgroup's own memory.min does not protect it from its own limits.
 * @dir:	directory of the cgroup
 */
__u64 cgroup_protected(const char *dir);

/**
 * cgroup_pids() - list the processes of a cgroup and its descendants
 * @pids:	gets at most @max process ids, ascending
 * Return: number of processes, maybe more than @max; -1 if there is no such cgroup
 */
long cgroup_pids(const char *path, __u32 *pids, size_t max);

/*
 * Virtual machines. A guest's accesses leave no trace in page tables of processes. The stream of a
 * cgroup does not show that a process has such a secondary MMU, but KVM lists its virtual machines
 * in debugfs.
 */

/** guests_read() - update the list of virtual machines; it is empty without debugfs or KVM */
void guests_read(void);

/** guests_of() - count the virtual machines in a cgroup and below, as of guests_read() */
size_t guests_of(const char *cgroup);

/** guests_text() - describe the virtual machines of a cgroup. Return: false if there are none */
bool guests_text(char *buf, size_t size, const char *cgroup);

#endif /* WSMO_CGROUP_H */
