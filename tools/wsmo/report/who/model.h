/* SPDX-License-Identifier: GPL-2.0 */
/*
 * model.h - who touched memory: the records of a recording, and their sums
 */
#ifndef WSMO_WHO_MODEL_H
#define WSMO_WHO_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "evidence.h"
#include "libwsmon/filter.h"
#include "symbols/calls.h"
#include "wsmon.h"

/* What a row is of, beside the process. ALL: thread, function and object */
enum who_by { WHO_BY_ALL, WHO_BY_FUNCTION, WHO_BY_THREAD, WHO_BY_OBJECT, WHO_BY_NODE };

/**
 * struct who_row - a record, or the sum of several
 * @pid:	the target
 * @tid:	the thread; 0 in a row of something else
 * @comm:	its name
 * @stack:	the instruction, with its function; NULL in a row of something else
 * @address:	what was accessed, the lowest
 * @object:	what that is; kept once, so equal ones are at equal addresses. "" if it is
 *		not known, NULL in a row of something else
 * @cpu_node:	NUMA node of the processor; -1 if it is not known, or in a row of
 *		something else
 * @node:	NUMA node of the memory, likewise
 * @reads:	records that were reads
 * @writes:	records that were writes
 * @first:	records of both of pages without an entry in the page table
 * @bytes:	memory they stand for
 * @written:	that of the writes
 * @placed:	that of records of which both nodes are known
 * @remote:	that of @placed whose nodes differ
 * @of:		how sure @bytes are, of a sum
 * @armed_ns:	when the page was drawn; of a sum that of its last record
 */
struct who_row {
	__u32 pid;
	__u32 tid;
	char comm[WSMON_COMM_LEN];
	struct callstack *stack;
	__u64 address;
	const char *object;
	__s32 cpu_node;
	__s32 node;
	__u64 reads;
	__u64 writes;
	__u64 first;
	double bytes;
	double written;
	double placed;
	double remote;
	struct evidence of;
	__u64 armed_ns;
};

/**
 * struct who - the records, later their sums
 * @row:	@nr of them
 * @bytes:	memory that all stand for
 * @all:	how sure @bytes are
 * @draws:	moments at which the pages of the records were drawn
 * @nodes:	there are several NUMA nodes
 * @private:	for model.c
 */
struct who {
	struct who_row *row;
	size_t nr;
	double bytes;
	struct evidence all;
	size_t draws;
	bool nodes;
	struct who_private *private;
};

/** who_new() - no records; exits without memory */
struct who *who_new(void);

/**
 * who_record() - take a record of any type
 * @filter:	which WHO records are wanted
 * @first:	only those of pages without an entry in the page table
 */
void who_record(struct who *w, const struct filter *filter, bool first, const struct wsmon_record *rec);

/** who_sum_up() - add up what @by does not tell apart, the largest sums first; once */
void who_sum_up(struct who *w, enum who_by by);

/** who_free() - also print a message about what could not be named, and what is not seen */
void who_free(struct who *w);

#endif /* WSMO_WHO_MODEL_H */
