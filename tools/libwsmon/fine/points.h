/* SPDX-License-Identifier: GPL-2.0 */
/*
 * points.h - which pages of a target were looked at lately, and were they accessed?
 */
#ifndef WSMO_FINE_POINTS_H
#define WSMO_FINE_POINTS_H

#include "tree.h"
#include "wsmon.h"

/**
 * struct fine_points - pages in address order; all 0 is none
 * @point:	the pages
 * @nr:		how many
 * @room:	for how many there is room
 */
struct fine_points {
	struct fine_point *point;
	size_t nr, room;
};

/* Points of all targets there may be memory for: 64 MiB */
#define FINE_POINTS_ALL	(1 << 22)

/**
 * fine_points_room() - make room
 * @p:		the points
 * @more:	for so many more of them
 * @all:	points there is room for in all of them, FINE_POINTS_ALL at most
 *
 * Return: 0, or -1 if there is none
 */
int fine_points_room(struct fine_points *p, size_t more, size_t *all);

/**
 * fine_points_insert() - into its place
 * @p:		the points; there is room
 * @first:	among those from that one on
 * @point:	the new one
 */
void fine_points_insert(struct fine_points *p, size_t first,
			const struct fine_point *point);

/** fine_points_clear() - forget all */
void fine_points_clear(struct fine_points *p, size_t *all);

/** fine_partial() - is some of the region in use, and some not? */
bool fine_partial(const struct wsmon_region_entry *e);

/**
 * fine_samples() - the two pages that were looked at in a region of several pages
 * @e:		the region
 * @start:	first page
 * @end:	page behind the last one
 * @time_ns:	of the snapshot
 * @point:	the pages
 *
 * Return: were there any?
 */
bool fine_samples(const struct wsmon_region_entry *e, __u64 start, __u64 end,
		  __u64 time_ns, struct fine_point point[2]);

#endif /* WSMO_FINE_POINTS_H */
