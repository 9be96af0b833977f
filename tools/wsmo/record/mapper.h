/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mapper.h - makes MAPPING records of what changed in /proc/PID/maps
 */
#ifndef WSMO_MAPPER_H
#define WSMO_MAPPER_H

#include <stdbool.h>

#include "libwsmon/sorted.h"
#include "session/procfs.h"
#include "wsmon.h"

/*
 * Mappings of a target that are told at most, and of all targets together. A
 * target that has more is told without those that have no name; if that is not
 * enough, without the last.
 */
#define MAPPER_TARGET	4096
#define MAPPER_ALL	16384

/** struct mapper_writer - where records go: called with each of them */
struct mapper_writer {
	void (*write)(void *data, const struct wsmon_rec_mapping *rec);
	void *data;
};

/**
 * struct mapper - what was told of each target; zeroed is nothing
 * @targets:	by pid
 * @maps:	the walk
 * @told:	mappings remembered, of all targets
 * @left_out:	of each target the most that were left out at any time, summed up
 */
struct mapper {
	struct sorted targets;
	struct maps maps;
	unsigned int told;
	unsigned int left_out;
};

/** mapper_forget() - the target has a new address space, or is gone */
void mapper_forget(struct mapper *m, __u32 pid);

/**
 * mapper_changed() - the target's mappings changed: tell what is new, now or
 * at mapper_tick()
 */
void mapper_changed(struct mapper *m, __u32 pid, const struct mapper_writer *w);

/** mapper_tick() - tell what waits; to be called about once a second */
void mapper_tick(struct mapper *m, const struct mapper_writer *w);

/** mapper_free() - free everything */
void mapper_free(struct mapper *m);

#endif /* WSMO_MAPPER_H */
