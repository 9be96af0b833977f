/* SPDX-License-Identifier: GPL-2.0 */
/*
 * targets.h - the targets of a recording, and their PROC records
 */
#ifndef WSMO_RECORD_TARGETS_H
#define WSMO_RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "libwsmon/sorted.h"
#include "record/file/output.h"

/**
 * struct targets - the targets; all zero is none
 * @list:	struct target
 * @first:	pid of the first one
 */
struct targets {
	struct sorted list;
	__u32 first;
};

/** targets_note() - note that a target came, or (@gone) that it ended */
void targets_note(struct targets *t, __u32 pid, bool gone);

/**
 * targets_next() - walk through the targets that have not ended
 * @i: 0 at first
 * Return: a pid, 0 at the end
 */
__u32 targets_next(const struct targets *t, size_t *i);

/**
 * targets_memory() - write PROC records, each target's about once a second
 * @pid: of this target only; 0 for all
 */
void targets_memory(struct targets *t, __u32 pid, struct output *o);

/** targets_free() - free everything */
void targets_free(struct targets *t);

#endif /* WSMO_RECORD_TARGETS_H */
