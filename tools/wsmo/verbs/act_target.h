/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_target.h - a process to act on: its mappings, its page tables, advice
 *
 * File descriptors of the process are opened before monitoring starts: if it ends and
 * another process gets its pid, everything after that fails.
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
 * @class:	bit of its class, 0 if it must not be acted on
 * @locked:	mlock()ed
 */
struct mapping {
	__u64 start, end;
	__u32 class;
	bool locked;
};

/**
 * struct act_process - a process
 * @pid:	its id
 * @pidfd:	the process, -1 if there is none
 * @proc:	its directory in /proc
 * @pagemap:	/proc/PID/pagemap of its current address space, NULL if not open
 * @ahead:	bytes of memory whose pages are read at once, if that is more than asked for
 * @claim:	a file of which a byte is locked while this run acts on the process; -1 if not open
 * @no_swap:	its cgroup may not swap
 * @swap_said:	a message said so
 * @swap_ns:	when to look @no_swap up again
 * @mapping:	@nr mappings
 * @stale_ns:	when to read them again
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

/* Actions are cut at multiples of a huge page: none is cut */
#define ACT_HUGE	(2ULL << 20)
#define ACT_BLOCK	ACT_HUGE
#define ACT_BLOCK_WORDS	(ACT_BLOCK / 4096 / 64)

/** struct resident - bytes of a range */
struct resident {
	__u64 bytes;	/* mapped to memory */
	__u64 swapped;
	__u64 huge;	/* of @bytes, in huge pages; if asked for */
	/* which pages of the first ACT_BLOCK bytes are swapped, a bit each */
	__u64 out[ACT_BLOCK_WORDS];
};

/** process_open() - Return: 0, or -errno, -ESRCH if it is gone; process_close() either way */
int process_open(struct act_process *p, __u32 pid);

/**
 * process_claim() - keep other runs from acting on it, until process_close() or this run ends
 *
 * A run knows only its own refaults, quotas and pauses.
 * Return: 0, or -errno, -EWOULDBLOCK if another run acts on it
 */
int process_claim(struct act_process *p);

/** process_cgroup() - Return: the path of its cgroup of version 2, malloc()ed; NULL without one */
char *process_cgroup(const struct act_process *p);

/**
 * process_swap() - do its cgroups allow that its memory is paged out to swap?
 * @cgroup:	gets the path of the cgroup that has no swap left; malloc()ed, or NULL
 */
bool process_swap(const struct act_process *p, char **cgroup);

/** process_close() - close its descriptors, free its mappings */
void process_close(struct act_process *p);

/** process_exec() - forget its address space, as it has a new one */
void process_exec(struct act_process *p);

/** process_alive() - is it still running? */
bool process_alive(const struct act_process *p);

/**
 * process_maps() - read its mappings, unless they were just read
 *
 * "Just" is within 10 ms, or the time reading took.
 * Return: 0, or -errno; -ESRCH if it is gone
 */
int process_maps(struct act_process *p);

/**
 * process_mapping() - find the first mapping that ends after an address
 * Return: NULL if there is none
 */
const struct mapping *process_mapping(const struct act_process *p, __u64 addr);

/**
 * process_resident() - count the bytes of a range that are in memory and in swap
 * @huge:	count huge pages, too; needs /proc/kpageflags
 * Return: 0, or -errno
 */
int process_resident(struct act_process *p, __u64 start, __u64 end, bool huge,
		     struct resident *r);

/**
 * process_may() - may an action be applied to the process?
 * Return: 0, or -errno
 */
int process_may(const struct act_process *p, enum wsmon_action action);

/**
 * process_advise() - apply an action to a range of one mapping, of at most ACT_BLOCK bytes
 * @keep:	pages to leave alone, a bit each from the block's first page on; or NULL
 * Return: 0 if it was applied to some of it, or -errno
 */
int process_advise(const struct act_process *p, enum wsmon_action action,
		   __u64 start, __u64 end, const __u64 *keep);

#endif /* WSMO_ACT_TARGET_H */
