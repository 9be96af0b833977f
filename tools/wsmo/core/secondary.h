/* SPDX-License-Identifier: GPL-2.0 */
/*
 * secondary.h - targets with a secondary MMU, such as virtual machines
 *
 * Accesses of a guest leave no trace in the process's page tables. So figures of such a target come
 * with a note: a line on stderr, and "secondary_mmu":true in JSON objects with its pid.
 */
#ifndef WSMO_SECONDARY_H
#define WSMO_SECONDARY_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

#define SECONDARY_TEXT	256

/**
 * secondary_add() - note that a target has a secondary MMU
 * Return: false if it was noted before
 */
bool secondary_add(__u32 pid);

/** secondary_forget() - forget all targets, before reading another recording */
void secondary_forget(void);

/** secondary_has() - tell whether a target was noted */
bool secondary_has(__u32 pid);

/**
 * secondary_text() - write the note about a target that has a secondary MMU
 * @buf:	SECONDARY_TEXT bytes
 * @comm:	name of the target, not necessarily terminated
 * Return: @buf
 */
const char *secondary_text(char *buf, __u32 pid, const char *comm);

/**
 * secondary_take() - take a TARGET record; ignore other records
 * @then:	advice to the user, appended to the note
 *
 * Prints a note when a target first has a secondary MMU.
 */
void secondary_take(const struct wsmon_record *rec, const char *then);

#endif /* WSMO_SECONDARY_H */
