/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world.h - spaces and regions at random, for tests
 */
#ifndef WSMON_UNIT_WORLD_H
#define WSMON_UNIT_WORLD_H

#include "kunit/world.h"
#include "test.h"

void world_init(struct world *w, u32 budget);
void world_free(struct world *w);

/* Add a mapping, like wsmon_space_add(), but make room first */
int world_map(struct world *w, u64 start, u64 end, u32 class);
void world_unmap_all(struct world *w);
/* Random mappings: up to @nr of them, below @top */
void world_map_random(struct world *w, u32 nr, u64 top);
/* Group, fit, adapt and draw, as the kthread does */
void world_settle(struct world *w, u64 epoch);

/*
 * An interval is over: every sample was observed for the window, and touched()
 * tells for each page whether it was accessed.
 */
void world_observe(struct world *w, bool (*touched)(const void *what, u64 vpn),
		   const void *what);
/* Note observations and estimates in the past. */
void world_note(struct world *w);

#endif
