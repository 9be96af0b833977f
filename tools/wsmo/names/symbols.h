/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols.h - names of functions and objects, and source lines, from ELF files
 * and their debug information
 *
 * A file's build ID must be the one that was recorded: a name from another file
 * is worse than none. Files are looked for on this machine only.
 */
#ifndef WSMO_SYMBOLS_H
#define WSMO_SYMBOLS_H

#include <stdbool.h>

#include "libwsmon/mappings.h"

/**
 * struct symbol - a function or object; what it points to lives as long as the
 *		   struct symbols
 * @name:	as in the symbol table: not demangled
 * @start:	its address in the target
 * @size:	bytes
 */
struct symbol {
	const char *name;
	__u64 start;
	__u64 size;
};

struct symbols;

/** symbols_new() - exits without memory */
struct symbols *symbols_new(void);

/**
 * symbols_find() - the function or object at an address
 * @m:		the file mapped there: mappings_module()
 * @addr:	the address, as in the target
 * @out:	gets it
 * Return: whether it is known
 */
bool symbols_find(struct symbols *s, const struct module *m, __u64 addr,
		  struct symbol *out);

/**
 * symbols_next() - find the first symbol that ends after an address
 *
 * To walk through a range, go on with the end of the symbol.
 *
 * Return: whether there is one
 */
bool symbols_next(struct symbols *s, const struct module *m, __u64 addr,
		  struct symbol *out);

/**
 * symbols_line() - the source line of the code at an address
 * @line: gets its number
 * Return: the source file as the compiler knew it, NULL without debug information
 */
const char *symbols_line(struct symbols *s, const struct module *m, __u64 addr,
			 int *line);

/**
 * struct inlined - a function that the compiler put into another one
 * @name:	the function
 * @file:	source file it was called in, NULL if that is not known
 * @line:	the line in it
 */
struct inlined {
	const char *name;
	const char *file;
	int line;
};

/**
 * symbols_inlined() - the inlined functions that an address is in
 * @out: gets at most @max of them, innermost first
 * Return: how many
 */
int symbols_inlined(struct symbols *s, const struct module *m, __u64 addr,
		    struct inlined *out, int max);

/**
 * symbols_jit() - the function at an address that a process compiled itself
 *
 * The name is from /tmp/perf-PID.map, which node and Java write, in the mount namespace of the
 * process. The process must still be running, as its pid may be reused. The file must belong to the
 * process's user or to root.
 *
 * Return: its name, or NULL
 */
const char *symbols_jit(struct symbols *s, __u32 pid, __u64 addr);

/** symbols_free() - report the files whose names were asked for but not found, and free */
void symbols_free(struct symbols *s);

#endif /* WSMO_SYMBOLS_H */
