/* SPDX-License-Identifier: GPL-2.0 */
/*
 * areas.h - names of areas, from the last AREA records
 */
#ifndef WSMO_AREAS_H
#define WSMO_AREAS_H

#include "wsmon.h"

struct areas;

/** areas_new() - allocate an empty set. Return: NULL without memory */
struct areas *areas_new(void);

/**
 * areas_add() - add a record; one with index 0 replaces the target's set
 *
 * Memory is limited: names beyond the limit are left out.
 */
void areas_add(struct areas *as, const struct wsmon_rec_area *rec);

/** areas_path() - get the name of a target's area, "" if it has none */
const char *areas_path(const struct areas *as, __u32 pid, __u32 index);

/** areas_free() - free a set; ignores NULL */
void areas_free(struct areas *as);

#endif /* WSMO_AREAS_H */
