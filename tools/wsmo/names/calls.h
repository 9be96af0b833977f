/* SPDX-License-Identifier: GPL-2.0 */
/* calls.h - call stacks with names; equal stacks are stored once */
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
 * @function:	name of the function; NULL: unknown
 * @file:	source file of the function; NULL without debug information
 * @line:	line in @file
 * @inlined:	the function is inlined into the next one; both have the same @pc
 * @path:	file mapped at @pc; NULL: unknown
 * @offset:	offset of @pc from the address of the file's first byte
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
 * @number:	number from calls_number(), from 1; 0: none yet
 * @call:	@nr calls, innermost first
 * @cut:	the stack has more calls
 */
struct callstack {
	__u32 number;
	__u32 nr;
	bool cut;
	struct call call[];
};

struct calls;

/** calls_new() - allocate an empty set; exits if memory runs out */
struct calls *calls_new(void);

/** calls_symbols() - get the symbols of @cs, to name other addresses; @cs owns them */
struct symbols *calls_symbols(struct calls *cs);

/**
 * calls_take() - make a stack from a record, with names by the present mappings
 * Return: the stack, to be passed to calls_fold()
 */
struct callstack *calls_take(struct calls *cs, const struct mappings *ms,
			     const struct wsmon_rec_stack *rec);

/**
 * calls_fold() - get the stored stack equal to @stack, and free @stack; store @stack if there is
 * none
 *
 * Looks again for names that calls_take() did not find, as their mappings may have been recorded
 * later.
 */
struct callstack *calls_fold(struct calls *cs, const struct mappings *ms,
			     __u32 pid, struct callstack *stack);

/**
 * calls_number() - give a stack a number unless it has one
 * Return: true if the number is new
 */
bool calls_number(struct calls *cs, struct callstack *stack);

/** calls_numbered() - find the stack with a number; NULL if there is none */
const struct callstack *calls_numbered(const struct calls *cs, __u32 number);

/**
 * calls_text() - describe a call, safe to print: "function (file.c:12)", or the known parts
 * @buf: CALL_TEXT bytes
 * Return: @buf
 */
const char *calls_text(char *buf, const struct call *call);

/** calls_print_part() - print a part of a folded stack, without semicolons */
void calls_print_part(FILE *f, const char *text);

/** calls_print_folded() - print "outer;...;inner", for flame graphs */
void calls_print_folded(FILE *f, const struct callstack *stack);

/** calls_free() - report files without names, and free all stacks */
void calls_free(struct calls *cs);

#endif /* WSMO_CALLS_H */
