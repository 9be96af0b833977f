/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fine.h - where within regions memory was accessed
 *
 * The module has so many regions and no more, so a region may have parts that are
 * accessed and others that are not. Each interval looks at two other pages of it, and
 * snapshots tell which they were: what many intervals saw shows the parts.
 *
 * Pure: no files, no clock.
 */
#ifndef WSMO_FINE_H
#define WSMO_FINE_H

#include <stdbool.h>

#include "wsmon.h"

struct fine;

/**
 * fine_new() - nothing is known yet
 * @page_size:	of the recording
 *
 * Return: NULL without memory
 */
struct fine *fine_new(__u32 page_size);

/** fine_free() - fine_new() undone */
void fine_free(struct fine *f);

/** fine_part() - takes a part of a region; its share and freq are estimates */
typedef void fine_part(void *arg, const struct wsmon_region_entry *part);

/**
 * fine_snapshot() - learn from a snapshot, tell its regions in parts
 * @f:		what is known
 * @s:		the snapshot
 * @part:	called for each, in address order; a region that cannot be divided is one
 *		part, as it is
 * @arg:	its first argument
 */
void fine_snapshot(struct fine *f, const struct wsmon_rec_snapshot *s, fine_part *part,
		   void *arg);

/** fine_note() - any other record: a target may begin anew or end, mappings may be told */
void fine_note(struct fine *f, const struct wsmon_record *rec);

/** fine_full() - were regions told as they are for want of room? */
bool fine_full(const struct fine *f);

#endif /* WSMO_FINE_H */
