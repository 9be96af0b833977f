/* SPDX-License-Identifier: GPL-2.0 */
/*
 * map.h - who touched memory, as a map of threads and objects
 */
#ifndef WSMO_WHO_MAP_H
#define WSMO_WHO_MAP_H

#include "model.h"
#include "report/plot/plot.h"

#define WHO_MAP_NAME	256

/**
 * struct who_part - a thread or an object, or the sum of those that are too small
 * @pid, @tid, @comm: of a thread
 * @object:	of an object, NULL for a thread
 * @more:	number of those that are summed up here, 0 if it is one
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
 * struct who_map - the map
 * @thread:	@threads of them, the largest first, what was summed up last
 * @object:	@objects of them, likewise
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
 * Names are as they were recorded: of unknown origin.
 *
 * Return: @buf
 */
const char *who_map_name(char *buf, const struct who_part *p);

/** who_map_free() - free what who_map_make() made */
void who_map_free(struct who_map *m);

/**
 * who_picture() - draw the map
 * @top:	max. number of threads, and of objects
 * @title:	what it is of
 *
 * Return: 0, or -1 after a message
 */
int who_picture(const struct picture *picture, const struct who *w, size_t top, const char *title);

#endif /* WSMO_WHO_MAP_H */
