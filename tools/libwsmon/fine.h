/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fine.h - divides regions into parts that were accessed and parts that were not
 *
 * The number of regions is limited, so one region may have parts of both kinds. Each interval
 * samples two new pages of the region, and its snapshot has their positions. Many intervals
 * together show the parts.
 */
#ifndef WSMO_FINE_H
#define WSMO_FINE_H

#include <stdbool.h>

#include "wsmon.h"

struct fine;

/**
 * fine_new() - allocate an empty state
 * @page_size:	bytes of a page, from the header of the recording
 *
 * Return: NULL if memory ran out
 */
struct fine *fine_new(__u32 page_size);

/** fine_free() - free a state; ignores NULL */
void fine_free(struct fine *f);

/** typedef fine_part - takes a part of a region; @share and @freq of the part are estimates */
typedef void fine_part(void *arg, const struct wsmon_region_entry *part);

/**
 * fine_snapshot() - learn from a snapshot, and divide its regions
 * @f:		the state
 * @s:		the snapshot
 * @part:	called for each part in address order; a region that cannot be divided is one part
 * @arg:	first argument of @part
 */
void fine_snapshot(struct fine *f, const struct wsmon_rec_snapshot *s, fine_part *part,
		   void *arg);

/** fine_note() - take any record but a snapshot: notes changes of targets and mappings */
void fine_note(struct fine *f, const struct wsmon_record *rec);

/** fine_full() - tell whether regions were left undivided for lack of memory */
bool fine_full(const struct fine *f);

#endif /* WSMO_FINE_H */
