/* SPDX-License-Identifier: GPL-2.0 */
/*
 * origin.h - what the divisions of a mapping are aligned to
 *
 * Huge pages and some allocators align to addresses; what a program lays out in a
 * mapping of its own begins where that begins. Which of the two explains better what
 * was seen is found out for each mapping.
 */
#ifndef WSMO_FINE_ORIGIN_H
#define WSMO_FINE_ORIGIN_H

#include <stdbool.h>

#include "wsmon.h"

struct fine_origin;

/**
 * struct fine_origins - of a target, by area; all 0 is empty
 * @area:	the areas known
 * @nr:		how many
 * @room:	for how many there is room
 */
struct fine_origins {
	struct fine_origin *area;
	__u32 nr, room;
};

/**
 * fine_origins_add() - an area is there; what is known of it stays if it was before
 * @o:		where to
 * @rec:	the area
 * @page_size:	bytes
 *
 * Return: 0, or -1 without memory
 */
int fine_origins_add(struct fine_origins *o, const struct wsmon_rec_area *rec,
		     __u32 page_size);

/**
 * fine_origins_get() - where divisions may count from but from address 0
 * @o:		of the target
 * @index:	the area
 * @page:	first page of a region of it
 *
 * Return: the area's first page, or 0 if that is not known
 */
__u64 fine_origins_get(const struct fine_origins *o, __u32 index, __u64 page);

/** fine_origins_best() - do they count from there, as far as is known? */
bool fine_origins_best(const struct fine_origins *o, __u32 index);

/** fine_origins_learn() - @log_odds speak for that */
void fine_origins_learn(struct fine_origins *o, __u32 index, double log_odds);

/** fine_origins_fade() - a snapshot is over: what was learnt counts for less */
void fine_origins_fade(struct fine_origins *o);

/** fine_origins_clear() - forget all */
void fine_origins_clear(struct fine_origins *o);

#endif /* WSMO_FINE_ORIGIN_H */
