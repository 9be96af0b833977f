/* SPDX-License-Identifier: GPL-2.0 */
/*
 * who.h - who touched memory: the records of a recording, their sums, and their map of
 * threads and objects. For the view who, and for the page of the view html.
 */
#ifndef WSMO_REPORT_WHO_H
#define WSMO_REPORT_WHO_H

#include <stdbool.h>
#include <stdio.h>

#include "core/table.h"
#include "libwsmon/filter.h"

/* What a row is of, beside the process. ALL: thread, function and object */
enum who_by { WHO_BY_ALL, WHO_BY_FUNCTION, WHO_BY_THREAD, WHO_BY_OBJECT, WHO_BY_NODE };

struct who;

/** who_new() - no records; exits without memory */
struct who *who_new(void);

/**
 * who_record() - take a record of any type
 * @filter:	which WHO records are wanted
 * @first:	take only records of pages without an entry in the page table
 */
void who_record(struct who *w, const struct filter *filter, bool first,
		const struct wsmon_record *rec);

/** who_sum_up() - add up what @by does not tell apart, the largest sums first. Call it once */
void who_sum_up(struct who *w, enum who_by by);

/**
 * who_table() - print the sums
 * @by:		what rows are of, as for who_sum_up()
 * @top:	max. number of rows
 * @code:	also in JSON, say where functions without a name are
 */
void who_table(FILE *f, enum table_format format, const struct who *w, enum who_by by, size_t top,
	       bool code);

/** who_free() - free it; prints a message about records that were not used or seen */
void who_free(struct who *w);

#define WHO_MAP_NAME	256

/**
 * struct who_part - a thread or an object of a map, or the sum of all that are too small
 * @pid, @tid, @comm: of a thread
 * @object:	of an object; NULL for a thread
 * @more:	number of threads or objects in the sum; 0 if it is one
 * @share:	of all memory in the map
 */
struct who_part {
	__u32 pid;
	__u32 tid;
	char comm[WSMON_COMM_LEN];
	const char *object;
	size_t more;
	double share;
};

/** struct who_cell - shares of all memory in the map that a thread read and wrote of an object */
struct who_cell {
	double read;
	double written;
};

/**
 * struct who_map - a map of threads and objects
 * @thread:	@threads of them, the largest first, the sum of the small ones last
 * @object:	@objects of them, in the same order
 * @cell:	@threads lines of @objects
 */
struct who_map {
	struct who_part *thread;
	struct who_part *object;
	size_t threads;
	size_t objects;
	struct who_cell *cell;
};

/**
 * who_map_make() - make the map of rows that were added up by WHO_BY_ALL
 * @threads:	max. number of threads, at least 1
 * @objects:	max. number of objects, at least 1
 *
 * Memory of one name in several processes is one object. Exits without memory.
 */
void who_map_make(struct who_map *m, const struct who *w, size_t threads, size_t objects);

/** who_map_max() - the largest share of a cell */
double who_map_max(const struct who_map *m);

/**
 * who_map_name() - what to call a thread or an object
 * @buf: WHO_MAP_NAME bytes
 *
 * The name is as it was recorded: of unknown origin.
 *
 * Return: @buf
 */
const char *who_map_name(char *buf, const struct who_part *p);

/** who_map_free() - free what who_map_make() made */
void who_map_free(struct who_map *m);

#endif /* WSMO_REPORT_WHO_H */
