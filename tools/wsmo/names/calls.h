/* SPDX-License-Identifier: GPL-2.0 */
/*
 * calls.h - call stacks with names, equal ones kept once
 */
#ifndef WSMO_CALLS_H
#define WSMO_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "libwsmon/mappings.h"
#include "libwsmon/wsmon_records.h"

#define CALL_TEXT	4096

/**
 * struct call - a frame of a stack
 * @pc:		the address
 * @function:	NULL if it is not known
 * @file:	its source file, NULL without debug information
 * @line:	the line in it
 * @inlined:	the function is part of the next one; both have the same @pc
 * @path:	the file that is mapped there; NULL if that is not known
 * @offset:	from where that begins in memory
 */
struct call {
	__u64 pc;
	const char *function;
	const char *file;
	int line;
	bool inlined;
	const char *path;
	__u64 offset;
};

/**
 * struct callstack - a stack
 * @number:	from 1, in the order in which calls_number() was called; 0 before
 * @call:	@nr of them, innermost first
 * @cut:	there were more
 */
struct callstack {
	__u32 number;
	__u32 nr;
	bool cut;
	struct call call[];
};

struct calls;

/** calls_new() - exits without memory */
struct calls *calls_new(void);

/** calls_symbols() - return what names the calls, to name other addresses; @cs frees it */
struct symbols *calls_symbols(struct calls *cs);

/**
 * calls_take() - make a stack of a record, with names by the present mappings
 * Return: it, to be given to calls_fold()
 */
struct callstack *calls_take(struct calls *cs, const struct mappings *ms,
			     const struct wsmon_rec_stack *rec);

/**
 * calls_fold() - return the first of equal stacks; frees @stack if it is another
 *
 * Looks again for names that were not known when it was taken: their mappings may have
 * been recorded later.
 */
struct callstack *calls_fold(struct calls *cs, const struct mappings *ms,
			     __u32 pid, struct callstack *stack);

/**
 * calls_number() - give a stack a number unless it has one
 * Return: is the number new?
 */
bool calls_number(struct calls *cs, struct callstack *stack);

/** calls_numbered() - the stack with a number, NULL if there is none */
const struct callstack *calls_numbered(const struct calls *cs, __u32 number);

/**
 * calls_text() - "function (file.c:12)", or what is known, safe to print
 * @buf: CALL_TEXT bytes
 * Return: @buf
 */
const char *calls_text(char *buf, const struct call *call);

/** calls_print_part() - print a part of a folded stack, which has no semicolon */
void calls_print_part(FILE *f, const char *text);

/** calls_print_folded() - print "outer;...;inner", for flame graphs */
void calls_print_folded(FILE *f, const struct callstack *stack);

/** calls_free() - reports which files had no names, frees all stacks */
void calls_free(struct calls *cs);

#endif /* WSMO_CALLS_H */
