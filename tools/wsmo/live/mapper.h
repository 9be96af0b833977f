/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mapper.h - makes MAPPING records of changes in /proc/PID/maps
 */
#ifndef WSMO_MAPPER_H
#define WSMO_MAPPER_H

#include <stdbool.h>

#include "libwsmon/sorted.h"
#include "libwsmon/wsmon_records.h"
#include "procfs.h"

/*
 * Max. mappings written of a target, and of all targets together. Of a target with more, those
 * without a name are left out, then the last ones.
 */
#define MAPPER_TARGET	4096
#define MAPPER_ALL	16384

/** struct mapper_writer - the function that gets each record */
struct mapper_writer {
	void (*write)(void *data, const struct wsmon_rec_mapping *rec);
	void *data;
};

/**
 * struct mapper - the mappings written of each target; all zero is none
 * @targets:	by pid
 * @maps:	the walk
 * @written:	number of mappings remembered
 * @left_out:	sum of each target's max. number of mappings left out
 */
struct mapper {
	struct sorted targets;
	struct maps maps;
	unsigned int written;
	unsigned int left_out;
};

/** mapper_forget() - forget a target's mappings: a new address space, or its end */
void mapper_forget(struct mapper *m, __u32 pid);

/** mapper_changed() - write a target's new mappings, now or at mapper_tick() */
void mapper_changed(struct mapper *m, __u32 pid, const struct mapper_writer *w);

/** mapper_tick() - write mappings that are due; called about once a second */
void mapper_tick(struct mapper *m, const struct mapper_writer *w);

/** mapper_free() - free everything */
void mapper_free(struct mapper *m);

#endif /* WSMO_MAPPER_H */
