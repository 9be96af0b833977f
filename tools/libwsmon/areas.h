/* SPDX-License-Identifier: GPL-2.0 */
/*
 * areas.h - the mappings' names, as AREA records told them last
 */
#ifndef WSMO_AREAS_H
#define WSMO_AREAS_H

#include "wsmon.h"

struct areas;

/** areas_new() - Return: an empty set, NULL without memory */
struct areas *areas_new(void);

/**
 * areas_add() - take a record; one with index 0 begins the target's set anew
 *
 * What is kept is limited whatever a file holds: names beyond the limit are
 * forgotten.
 */
void areas_add(struct areas *as, const struct wsmon_rec_area *rec);

/** areas_path() - the name of a target's area, "" if it has none */
const char *areas_path(const struct areas *as, __u32 pid, __u32 index);

/** areas_free() - accepts NULL */
void areas_free(struct areas *as);

#endif /* WSMO_AREAS_H */
