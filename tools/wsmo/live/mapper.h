/* SPDX-License-Identifier: GPL-2.0 */
/* mapper.h - makes MAPPING records of changes in /proc/PID/maps */
#ifndef WSMO_MAPPER_H
#define WSMO_MAPPER_H

#include <stdbool.h>

#include "libwsmon/sorted.h"
#include "libwsmon/wsmon_records.h"
#include "procfs.h"

/*
 * Maximum number of mappings written of a target, and of all targets together. If a target has
 * more, mappings without a name are left out first, then the last mappings.
 */
#define MAPPER_TARGET	4096
#define MAPPER_ALL	16384

/**
 * struct mapper - mappings written of each target; all zero but @write and @data is empty
 * @write:	called with each record and @data
 * @targets:	targets by pid
 * @maps:	walk through a target's mappings
 * @written:	number of mappings remembered
 * @left_out:	sum over targets: the maximum number of mappings that one reading left out
 */
struct mapper {
	void (*write)(void *data, const struct wsmon_record *rec);
	void *data;
	struct sorted targets;
	struct maps maps;
	unsigned int written;
	unsigned int left_out;
};

/** mapper_forget() - forget a target's mappings, because it ended or executed a program */
void mapper_forget(struct mapper *m, __u32 pid);

/** mapper_changed() - write a target's new mappings, now or in mapper_tick() */
void mapper_changed(struct mapper *m, __u32 pid);

/** mapper_tick() - write mappings that are due; call it about once a second */
void mapper_tick(struct mapper *m);

/** mapper_free() - free everything */
void mapper_free(struct mapper *m);

#endif /* WSMO_MAPPER_H */
