/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_target.h - a process to act on: its mappings, its page tables, advice
 *
 * File descriptors of the process are opened before monitoring starts. So all accesses fail if the
 * process ends, even if another process gets its pid.
 */
#ifndef WSMO_ACT_TARGET_H
#define WSMO_ACT_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "libwsmon/wsmon_records.h"

/**
 * struct mapping - a line of /proc/PID/maps
 * @start:	start address
 * @end:	end, exclusive
 * @class:	bit of its class; 0: it must not be acted on
 * @locked:	the mapping is mlock()ed
 */
struct mapping {
	__u64 start, end;
	__u32 class;
	bool locked;
};

/**
 * struct act_process - a process
 * @pid:	its process id
 * @pidfd:	file descriptor of the process; -1 without
 * @proc:	descriptor of its directory in /proc
 * @pagemap:	/proc/PID/pagemap of its current address space; NULL: not open
 * @ahead:	minimum bytes of memory whose pagemap is read at once
 * @claim:	file with a byte that is locked while this run acts on the process; -1: not open
 * @no_swap:	the cgroup of the process may not swap
 * @swap_said:	a message about @no_swap was printed
 * @swap_ns:	when to update @no_swap
 * @mapping:	@nr mappings
 * @stale_ns:	when to read the mappings again
 */
struct act_process {
	__u32 pid;
	int pidfd;
	int proc;
	struct patient *pagemap;
	__u64 ahead;
	int claim;
	bool no_swap;
	bool swap_said;
	__u64 swap_ns;
	struct mapping *mapping;
	size_t nr;
	__u64 stale_ns;
};

/* Actions are cut at multiples of the huge page size, so that no huge page is split */
#define ACT_HUGE	(2ULL << 20)
#define ACT_BLOCK	ACT_HUGE
#define ACT_BLOCK_WORDS	(ACT_BLOCK / 4096 / 64)

/** struct resident - bytes of a range */
struct resident {
	__u64 bytes;	/* resident */
	__u64 swapped;
	__u64 huge;	/* part of @bytes in huge pages, if requested */
	/* bit n: page n of the first ACT_BLOCK bytes is in swap */
	__u64 out[ACT_BLOCK_WORDS];
};

/**
 * process_open() - open a process; call process_close() even after an error
 * Return: 0, or -errno: -ESRCH if it is gone
 */
int process_open(struct act_process *p, __u32 pid);

/**
 * process_claim() - keep other runs from acting on a process until process_close() or our end
 *
 * Two runs would not know each other's refaults, quotas and pauses.
 * Return: 0, or -errno, -EWOULDBLOCK if another run acts on it
 */
int process_claim(struct act_process *p);

/** process_cgroup() - get the path of a process's cgroup v2, malloc()ed; NULL without one */
char *process_cgroup(const struct act_process *p);

/**
 * process_swap() - tell whether the cgroups of a process allow paging out to swap
 * @bytes, @slows: as for cgroup_swap_left()
 * @cgroup:	gets the path of the cgroup that has no swap left; malloc()ed, or NULL
 */
bool process_swap(const struct act_process *p, __u64 bytes, bool *slows, char **cgroup);

/** process_close() - close the descriptors of a process and free its mappings */
void process_close(struct act_process *p);

/**
 * process_rest() - close the page tables of a process until they are read again
 *
 * Each open file has a helper process (patience.h), and there are fewer helpers than processes.
 */
void process_rest(struct act_process *p);

/** process_exec() - forget the address space of a process that executed a program */
void process_exec(struct act_process *p);

/** process_alive() - tell whether a process is still running */
bool process_alive(const struct act_process *p);

/**
 * process_maps() - read the mappings of a process, unless they were just read
 *
 * "Just" means within 10 ms, or within the time that reading took if that is longer.
 * Return: 0, or -errno; -ESRCH if it is gone
 */
int process_maps(struct act_process *p);

/**
 * process_mapping() - find the first mapping that ends after an address
 * Return: NULL if there is none
 */
const struct mapping *process_mapping(const struct act_process *p, __u64 addr);

/**
 * process_resident() - count the bytes of a range in memory and in swap
 * @huge:	count huge pages, too, which needs /proc/kpageflags
 * Return: 0, or -errno
 */
int process_resident(struct act_process *p, __u64 start, __u64 end, bool huge,
		     struct resident *r);

/**
 * process_may() - check that an action may be applied to a process
 * Return: 0, or -errno
 */
int process_may(const struct act_process *p, enum wsmon_action action);

/**
 * process_advise() - apply an action to a range of at most ACT_BLOCK bytes in one mapping
 * @keep:	bit n: leave page n of the block alone; NULL: leave none alone
 * Return: 0 if the action was applied to a part of the range, or -errno
 */
int process_advise(const struct act_process *p, enum wsmon_action action,
		   __u64 start, __u64 end, const __u64 *keep);

#endif /* WSMO_ACT_TARGET_H */
