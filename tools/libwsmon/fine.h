/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fine.h - where within regions memory was accessed
 *
 * The number of regions is limited, so a region may have parts that are accessed and
 * others that are not. Each interval samples two other pages of the region, and its snapshot
 * names them: many intervals together show the parts.
 */
#ifndef WSMO_FINE_H
#define WSMO_FINE_H

#include <stdbool.h>

#include "wsmon.h"

struct fine;

/**
 * fine_new() - allocate an empty state
 * @page_size:	of the recording
 *
 * Return: NULL without memory
 */
struct fine *fine_new(__u32 page_size);

/** fine_free() - free it */
void fine_free(struct fine *f);

/** fine_part() - handle a part of a region; its share and freq are estimates */
typedef void fine_part(void *arg, const struct wsmon_region_entry *part);

/**
 * fine_snapshot() - learn from a snapshot, and divide its regions
 * @f:		the state
 * @s:		the snapshot
 * @part:	called for each part in address order; a region that cannot be divided is
 *		one part
 * @arg:	its first argument
 */
void fine_snapshot(struct fine *f, const struct wsmon_rec_snapshot *s, fine_part *part,
		   void *arg);

/** fine_note() - take any other record: targets and mappings may change */
void fine_note(struct fine *f, const struct wsmon_record *rec);

/** fine_full() - were regions left undivided for lack of memory? */
bool fine_full(const struct fine *f);

#endif /* WSMO_FINE_H */
