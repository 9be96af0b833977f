/* SPDX-License-Identifier: GPL-2.0 */
/*
 * points.h - recently sampled pages of a target
 */
#ifndef WSMO_FINE_POINTS_H
#define WSMO_FINE_POINTS_H

#include "tree.h"
#include "wsmon.h"

/**
 * struct fine_points - pages in address order; zeroed is empty
 * @point:	the pages
 * @nr:		number of points
 * @room:	number of points there is memory for
 */
struct fine_points {
	struct fine_point *point;
	size_t nr, room;
};

/* Maximum for all targets: 64 MiB */
#define FINE_POINTS_ALL	(1 << 22)

/**
 * fine_points_room() - make room
 * @p:		the points
 * @more:	number of points to be added
 * @all:	number of points there is memory for in all targets
 *
 * Return: 0, or -1 if there is none
 */
int fine_points_room(struct fine_points *p, size_t more, size_t *all);

/**
 * fine_points_insert() - insert a point at its place
 * @p:		the points, with room for it
 * @first:	index from which on its place is
 * @point:	the new one
 */
void fine_points_insert(struct fine_points *p, size_t first,
			const struct fine_point *point);

/** fine_points_clear() - free all */
void fine_points_clear(struct fine_points *p, size_t *all);

/** fine_partial() - is a part of the region in use, and a part not? */
bool fine_partial(const struct wsmon_region_entry *e);

/**
 * fine_samples() - get the two pages sampled in a region of several pages
 * @e:		the region
 * @start:	first page
 * @end:	end page, exclusive
 * @time_ns:	of the snapshot
 * @point:	the pages
 *
 * Return: were there any?
 */
bool fine_samples(const struct wsmon_region_entry *e, __u64 start, __u64 end,
		  __u64 time_ns, struct fine_point point[2]);

#endif /* WSMO_FINE_POINTS_H */
