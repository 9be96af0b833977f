/* SPDX-License-Identifier: GPL-2.0 */
/*
 * origin.h - what the divisions of a mapping are aligned to
 *
 * Huge pages and some allocators align to addresses; data that a program lays out in a
 * mapping of its own is aligned to the mapping's start. For each mapping it is learned
 * which of the two explains the samples better.
 */
#ifndef WSMO_FINE_ORIGIN_H
#define WSMO_FINE_ORIGIN_H

#include <stdbool.h>

#include "wsmon.h"

struct fine_origin;

/**
 * struct fine_origins - those of a target, by area; zeroed is empty
 * @area:	the areas known
 * @nr:		number of areas
 * @room:	number of areas there is memory for
 * @faded:	how often they were faded
 */
struct fine_origins {
	struct fine_origin *area;
	__u32 nr, room;
	__u64 faded;
};

/**
 * fine_origins_add() - add an area; one that is known keeps its state
 * @o:		those of the target
 * @rec:	the area
 * @page_size:	bytes
 *
 * Return: 0, or -1 without memory
 */
int fine_origins_add(struct fine_origins *o, const struct wsmon_rec_area *rec,
		     __u32 page_size);

/**
 * fine_origins_get() - get the origin of divisions other than address 0
 * @o:		those of the target
 * @index:	the area
 * @page:	first page of a region of it
 *
 * Return: the area's first page, or 0 if that is not known
 */
__u64 fine_origins_get(const struct fine_origins *o, __u32 index, __u64 page);

/** fine_origins_best() - is that origin the more likely one? */
bool fine_origins_best(const struct fine_origins *o, __u32 index);

/** fine_origins_learn() - add evidence for it: @log_odds */
void fine_origins_learn(struct fine_origins *o, __u32 index, double log_odds);

/** fine_origins_fade() - give less weight to the past, after a snapshot */
void fine_origins_fade(struct fine_origins *o);

/** fine_origins_clear() - free what is in it */
void fine_origins_clear(struct fine_origins *o);

#endif /* WSMO_FINE_ORIGIN_H */
