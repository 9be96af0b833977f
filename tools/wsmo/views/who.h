/* SPDX-License-Identifier: GPL-2.0 */
/*
 * who.h - threads and functions that accessed memory, for the views who and html: the WHO records,
 * their sums, and a map of threads and objects
 */
#ifndef WSMO_REPORT_WHO_H
#define WSMO_REPORT_WHO_H

#include <stdbool.h>
#include <stdio.h>

#include "core/table.h"
#include "libwsmon/filter.h"

/* Keys of a row beside the process. ALL: thread, function and object */
enum who_by { WHO_BY_ALL, WHO_BY_FUNCTION, WHO_BY_THREAD, WHO_BY_OBJECT, WHO_BY_NODE };

struct who;

/** who_new() - allocate an empty set; exits if memory runs out */
struct who *who_new(void);

/**
 * who_record() - take a record of any type
 * @filter:	the wanted WHO records
 * @first:	take only records of pages without an entry in the page table
 */
void who_record(struct who *w, const struct filter *filter, bool first,
		const struct wsmon_record *rec);

/** who_sum_up() - add up records with equal keys of @by, and sort the sums. Call it once */
void who_sum_up(struct who *w, enum who_by by);

/**
 * who_table() - print the sums
 * @by:		as for who_sum_up()
 * @top:	maximum number of rows
 * @code:	print the places of functions without a name, in JSON, too
 */
void who_table(FILE *f, enum table_format format, const struct who *w, enum who_by by, size_t top,
	       bool code);

/** who_free() - free a set; prints messages about records left out and pages that were not seen */
void who_free(struct who *w);

#define WHO_MAP_NAME	256

/**
 * struct who_part - a thread or an object of a map, or the sum of all small ones
 * @pid, @tid, @comm: the thread
 * @object:	name of the object; NULL for a thread
 * @more:	number of threads or objects in a sum; 0: this is one thread or object
 * @share:	share of all memory in the map
 */
struct who_part {
	__u32 pid;
	__u32 tid;
	char comm[WSMON_COMM_LEN];
	const char *object;
	size_t more;
	double share;
};

/** struct who_cell - shares of all memory in the map: read and written by a thread in an object */
struct who_cell {
	double read;
	double written;
};

/**
 * struct who_map - a map of threads and objects
 * @thread:	@threads threads, largest first, the sum of the small ones last
 * @object:	@objects objects, in the same order
 * @cell:	@threads lines of @objects cells
 */
struct who_map {
	struct who_part *thread;
	struct who_part *object;
	size_t threads;
	size_t objects;
	struct who_cell *cell;
};

/**
 * who_map_make() - make the map from rows added up by WHO_BY_ALL
 * @threads:	maximum number of threads, at least 1
 * @objects:	maximum number of objects, at least 1
 *
 * Memory with one name in several processes is one object. Exits if memory runs out.
 */
void who_map_make(struct who_map *m, const struct who *w, size_t threads, size_t objects);

/** who_map_max() - get the largest share of a cell */
double who_map_max(const struct who_map *m);

/**
 * who_map_name() - name a thread or an object
 * @buf: WHO_MAP_NAME bytes
 *
 * The name comes from the recording: do not trust it.
 *
 * Return: @buf
 */
const char *who_map_name(char *buf, const struct who_part *p);

/** who_map_free() - free a map made by who_map_make() */
void who_map_free(struct who_map *m);

#endif /* WSMO_REPORT_WHO_H */
