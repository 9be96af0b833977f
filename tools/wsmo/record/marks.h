/* SPDX-License-Identifier: GPL-2.0 */
/*
 * marks.h - marks in the record file: of --mark-at, and of "wsmo mark"
 */
#ifndef WSMO_RECORD_MARKS_H
#define WSMO_RECORD_MARKS_H

#include <argp.h>
#include <stddef.h>

#include "wsmon.h"

struct record;

#define MARKS_AT	64

/**
 * struct marks - state of it
 * @at_ns:	times of --mark-at since the beginning, @nr_at of them, ascending
 * @next:	the first one that is not over
 * @number:	of the last mark
 * @fd:		"wsmo mark" says it here; -1 if it cannot
 */
struct marks {
	__u64 at_ns[MARKS_AT];
	size_t nr_at;
	size_t next;
	__u32 number;
	int fd;
};

/** marks_parse() - the argument of --mark-at; it is changed */
void marks_parse(struct argp_state *state, char *list, struct marks *m);

/** marks_open() - "wsmo mark" can say something from now on */
void marks_open(struct record *r);

/** marks_due() - Return: when the next mark is due (CLOCK_MONOTONIC), 0 is never */
__u64 marks_due(const struct record *r);

/** marks_tick() - set the marks that are due */
void marks_tick(struct record *r);

/** marks_take() - "wsmo mark" said something */
void marks_take(struct record *r);

/** marks_close() - no more marks */
void marks_close(struct record *r);

#endif /* WSMO_RECORD_MARKS_H */
