/* SPDX-License-Identifier: GPL-2.0 */
/*
 * marks.h - marks in the record file, set by --mark-at and by "wsmo mark"
 */
#ifndef WSMO_RECORD_MARKS_H
#define WSMO_RECORD_MARKS_H

#include <argp.h>
#include <stddef.h>

#include "output.h"
#include "stacks.h"
#include "targets.h"

#define MARKS_AT	64

/**
 * struct marks - the marks of a recording
 * @at_ns:	times of --mark-at since @start_ns, @nr_at of them, ascending
 * @next:	the next of them
 * @start_ns:	when the recording began
 * @number:	of the last mark
 * @fd:		socket for "wsmo mark"; -1 if there is none
 * @output:	marks are written there
 * @stacks:	takes stacks of @targets at each mark
 */
struct marks {
	__u64 at_ns[MARKS_AT];
	size_t nr_at;
	size_t next;
	__u64 start_ns;
	__u32 number;
	int fd;
	struct output *output;
	struct stacks *stacks;
	const struct targets *targets;
};

/** marks_parse() - parse the argument of --mark-at; @list is changed */
void marks_parse(struct argp_state *state, char *list, struct marks *m);

/** marks_open() - listen for "wsmo mark" */
void marks_open(struct marks *m);

/** marks_due() - Return: when the next mark is due (CLOCK_MONOTONIC), 0 is never */
__u64 marks_due(const struct marks *m);

/** marks_tick() - set the marks that are due */
void marks_tick(struct marks *m);

/** marks_take() - set the marks "wsmo mark" asked for */
void marks_take(struct marks *m);

/** marks_close() - stop listening, warn of times of --mark-at that did not come */
void marks_close(struct marks *m);

#endif /* WSMO_RECORD_MARKS_H */
