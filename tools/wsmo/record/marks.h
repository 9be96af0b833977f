/* SPDX-License-Identifier: GPL-2.0 */
/*
 * marks.h - marks at given times of a recording: --mark-at
 */
#ifndef WSMO_RECORD_MARKS_H
#define WSMO_RECORD_MARKS_H

#include <argp.h>
#include <linux/types.h>
#include <stddef.h>

struct session;

#define MARKS_AT	64

/**
 * struct marks - the times of --mark-at
 * @at_ns:	times since @start_ns, @nr of them, ascending
 * @next:	the next of them
 * @start_ns:	when the recording began
 */
struct marks {
	__u64 at_ns[MARKS_AT];
	size_t nr;
	size_t next;
	__u64 start_ns;
};

/** marks_parse() - parse the argument of --mark-at; @list is changed */
void marks_parse(struct argp_state *state, char *list, struct marks *m);

/** marks_due() - Return: when the next mark is due (CLOCK_MONOTONIC), 0 is never */
__u64 marks_due(const struct marks *m);

/** marks_tick() - set the marks that are due */
void marks_tick(struct marks *m, const struct session *s);

/** marks_report() - warn of times that were not reached */
void marks_report(const struct marks *m);

#endif /* WSMO_RECORD_MARKS_H */
