/* SPDX-License-Identifier: GPL-2.0 */
/*
 * secondary.h - targets with a secondary MMU, as virtual machines have
 *
 * What their guests access leaves no trace in the process's page tables, so every
 * figure of such a target comes with a note: one line on stderr, and
 * "secondary_mmu":true in the JSON objects that have its pid.
 */
#ifndef WSMO_SECONDARY_H
#define WSMO_SECONDARY_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

#define SECONDARY_TEXT	256

/** secondary_add() - note that a target has a secondary MMU; Return: is that new? */
bool secondary_add(__u32 pid);

/** secondary_forget() - forget all: another recording is read */
void secondary_forget(void);

/** secondary_has() - was that noted? */
bool secondary_has(__u32 pid);

/**
 * secondary_text() - write the note about a target that has a secondary MMU
 * @buf:	SECONDARY_TEXT bytes
 * @comm:	its name, not necessarily terminated
 * Return: @buf
 */
const char *secondary_text(char *buf, __u32 pid, const char *comm);

/**
 * secondary_take() - take a TARGET record; other records are ignored
 * @then:	what the user should do, appended to the note
 *
 * Prints a note the first time that a target has a secondary MMU.
 */
void secondary_take(const struct wsmon_record *rec, const char *then);

#endif /* WSMO_SECONDARY_H */
