/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols.h - names of functions and objects, and source lines, from ELF files
 * and their debug information
 *
 * A file must have the recorded build ID, as a name from another file is worse than no name. Files
 * are searched on this machine only.
 */
#ifndef WSMO_SYMBOLS_H
#define WSMO_SYMBOLS_H

#include <stdbool.h>

#include "libwsmon/mappings.h"

/**
 * struct symbol - a function or object; @name is valid as long as the struct symbols
 * @name:	name as in the symbol table, not demangled
 * @start:	address in the target
 * @size:	bytes
 */
struct symbol {
	const char *name;
	__u64 start;
	__u64 size;
};

struct symbols;

/** symbols_new() - allocate an empty set; exits if memory runs out */
struct symbols *symbols_new(void);

/**
 * symbols_find() - find the function or object at an address
 * @m:		the file mapped there, from mappings_module()
 * @addr:	the address in the target
 * @out:	gets the symbol
 * Return: false if unknown
 */
bool symbols_find(struct symbols *s, const struct module *m, __u64 addr,
		  struct symbol *out);

/**
 * symbols_next() - find the first symbol that ends after an address
 *
 * To walk through a range, continue with the end of the symbol.
 *
 * Return: false if there is none
 */
bool symbols_next(struct symbols *s, const struct module *m, __u64 addr,
		  struct symbol *out);

/**
 * symbols_line() - find the source line of the code at an address
 * @line: gets the number of the line
 * Return: the source file as named to the compiler; NULL without debug information
 */
const char *symbols_line(struct symbols *s, const struct module *m, __u64 addr,
			 int *line);

/**
 * struct inlined - a function inlined into another one
 * @name:	the function
 * @file:	source file of the call; NULL: unknown
 * @line:	line of the call in @file
 */
struct inlined {
	const char *name;
	const char *file;
	int line;
};

/**
 * symbols_inlined() - find the inlined functions that contain an address
 * @out: gets at most @max functions, innermost first
 * Return: number of functions
 */
int symbols_inlined(struct symbols *s, const struct module *m, __u64 addr,
		    struct inlined *out, int max);

/**
 * symbols_jit() - find the function at an address in code that the process compiled itself
 *
 * The name is from /tmp/perf-PID.map in the process's mount namespace, written by node, Java, etc.
 * The process must still be running, as its pid may be reused. The file must belong to the
 * process's user or to root.
 *
 * Return: name of the function, or NULL
 */
const char *symbols_jit(struct symbols *s, __u32 pid, __u64 addr);

/** symbols_free() - report files whose names were requested but not found; free the set */
void symbols_free(struct symbols *s);

#endif /* WSMO_SYMBOLS_H */
