/* SPDX-License-Identifier: GPL-2.0 */
/*
 * target.h - a process that is acted on: held fast, looked at, advised
 *
 * It is held by descriptors of the process itself, opened before monitoring
 * starts: if it ends and another one gets its id, all that follows fails.
 */
#ifndef WSMO_ACT_TARGET_H
#define WSMO_ACT_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "scheme.h"
#include "wsmon.h"

/**
 * struct mapping - a line of /proc/PID/maps
 * @start:	first address
 * @end:	address behind the last one
 * @class:	bit of its class, 0 if it must never be acted on
 * @locked:	it is mlock()ed
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
 * @pagemap:	/proc/PID/pagemap of its address space of now, -1 if not open
 * @mapping:	its mappings, @nr of them
 * @stale_ns:	when they are to be read again
 */
struct act_process {
	__u32 pid;
	int pidfd;
	int proc;
	int pagemap;
	struct mapping *mapping;
	size_t nr;
	size_t room;
	__u64 stale_ns;
};

/** struct resident - of a range, bytes */
struct resident {
	__u64 bytes;	/* mapped to memory */
	__u64 swapped;
	__u64 huge;	/* of @bytes, in huge pages; if asked for */
};

/** process_open() - Return: 0, or -1 after a message; process_close() either way */
int process_open(struct act_process *p, __u32 pid);

/** process_close() - let it go */
void process_close(struct act_process *p);

/** process_exec() - it has a new address space */
void process_exec(struct act_process *p);

/** process_alive() - is it still there? */
bool process_alive(const struct act_process *p);

/**
 * process_maps() - read its mappings, if they were not read a moment ago
 *
 * A moment is 10 ms, or as long as reading them took.
 * Return: 0, or -errno; -ESRCH if it is gone
 */
int process_maps(struct act_process *p);

/**
 * process_mapping() - the first mapping that reaches beyond an address
 * Return: NULL if there is none
 */
const struct mapping *process_mapping(const struct act_process *p, __u64 addr);

/**
 * process_resident() - what of a range is in memory
 * @huge:	count huge pages, too; needs /proc/kpageflags
 * Return: 0, or -errno
 */
int process_resident(struct act_process *p, __u64 start, __u64 end, bool huge,
		     struct resident *r);

/**
 * process_may() - may that action be applied to the process at all?
 * Return: 0, or -errno
 */
int process_may(const struct act_process *p, enum act_action action);

/**
 * process_advise() - apply an action to a range of one mapping
 * Return: 0, or -errno
 */
int process_advise(const struct act_process *p, enum act_action action,
		   __u64 start, __u64 end);

#endif /* WSMO_ACT_TARGET_H */
