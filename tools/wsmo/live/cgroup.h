/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroup.h - cgroups of version 2: names, processes, memory
 */
#ifndef WSMO_CGROUP_H
#define WSMO_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/options.h"
#include "wsmon.h"

/**
 * cgroup_path() - cut the mount point of cgroup v2 off a path
 * @path: as the user typed it, or as text_clean() printed it
 * Return: malloc()ed
 */
char *cgroup_path(const char *path);

/**
 * cgroup_put() - write a path as one word, with blanks escaped, as the module takes it
 * @f: NULL only counts
 * Return: number of bytes
 */
size_t cgroup_put(FILE *f, const char *path);

/** cgroup_file() - Return: the path of a file of a cgroup, of its directory with ""; malloc()ed */
char *cgroup_file(const char *path, const char *name);

/* --cgroup and --all, which set a char * to the path, malloc()ed */
#define CGROUP_OPTIONS(help, ...) \
	{ "cgroup", 0, "CGROUP", help, OPT_CALL, __VA_ARGS__, .call = cgroup_option }, \
	{ "all", 0, NULL, NULL, OPT_CALL, __VA_ARGS__, .call = cgroup_option }
void cgroup_option(struct argp_state *state, char *arg, const struct option_desc *o, void *at);

/**
 * cgroup_read() - read /proc/PID/cgroup, and close it
 * @f:	NULL if the process is gone
 * Return: the path of its cgroup of version 2, malloc()ed; NULL without one
 */
char *cgroup_read(FILE *f);

/** struct cgroup_below - a cgroup that was found */
struct cgroup_below {
	char *path;
	__u64 bytes;		/* cgroup_memory(), 0 if not known */
};

/**
 * cgroup_list() - list the services and containers below a cgroup
 * @list:	result, malloc()ed like its paths: @nr cgroups that have processes
 *
 * These are the services and scopes of systemd, and elsewhere the cgroups that have
 * processes of their own. None of them is below another.
 * Return: 0, or -1 if there is no such cgroup
 */
int cgroup_list(const char *path, struct cgroup_below **list, size_t *nr);

/**
 * cgroup_memory() - read how much memory of a cgroup is in RAM and mapped
 *
 * That is anonymous memory and mapped pages of files, as far as they are charged to the
 * cgroup, and memory of hugetlbfs: what a working set can be compared with. File cache that nobody
 * maps does not count.
 * Return: 0, or -1 without the memory controller: then @bytes stays as it is
 */
int cgroup_memory(const char *path, __u64 *bytes);

/** cgroup_key() - Return: NUMBER of the line "KEY NUMBER" in a file of a cgroup, 0 without it */
__u64 cgroup_key(const char *path, const char *name, const char *key);

/**
 * cgroup_swap_forbidden() - does the cgroup of a process, or one above, forbid swapping?
 *
 * That is swapping at all (memory.swap.max), or to a disk (memory.zswap.writeback). If the cgroup
 * is unknown, it counts as forbidden.
 */
bool cgroup_swap_forbidden(__u32 pid);

/**
 * cgroup_swap_left() - may memory of a cgroup still be swapped out?
 * @path:	cut off at the cgroup that does not allow it, if there is one
 *
 * It may not if the cgroup or one above it has used up its memory.swap.max. A cgroup without the
 * memory controller may.
 */
bool cgroup_swap_left(char *path);

/**
 * cgroup_protected() - add up what memory.min protects in the cgroups directly below one
 *
 * A cgroup's own memory.min does not protect it from its own limits.
 * @dir:	its directory
 */
__u64 cgroup_protected(const char *dir);

/**
 * cgroup_pids() - list the processes of a cgroup and of those below it
 * @pids:	gets up to @max of them, ascending
 * Return: how many there are, maybe more than @max; -1 if there is no such cgroup
 */
long cgroup_pids(const char *path, __u32 *pids, size_t max);

/*
 * Virtual machines. What a guest accesses leaves no trace in page tables of processes. The stream
 * of a cgroup does not say that one of its processes has such a secondary MMU, but KVM lists its
 * virtual machines in debugfs.
 */

/** guests_read() - list the virtual machines anew; without debugfs or KVM there are none */
void guests_read(void);

/** guests_of() - Return: how many there are in a cgroup and below it, as of guests_read() */
size_t guests_of(const char *cgroup);

/** guests_text() - describe the virtual machines of a cgroup; Return: are there any? */
bool guests_text(char *buf, size_t size, const char *cgroup);

#endif /* WSMO_CGROUP_H */
