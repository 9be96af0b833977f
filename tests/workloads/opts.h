/* SPDX-License-Identifier: GPL-2.0 */
/* The options of the workloads: a table of options, and parse_options() */
#ifndef WSMON_OPTS_H
#define WSMON_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_MSEC	1000000LL
#define NSEC_PER_SEC	1000000000LL

/**
 * struct opt - an option; a table of them ends with one that has no name
 * @name:  without the two dashes before it
 * @kind:  of its value
 * @value: where it goes: 64 bits, a double, a const char * or a bool
 * @min:   minimum, before @unit is applied
 * @max:   maximum
 * @unit:  numbers are multiplied by it; 0 is 1
 * @parse: for OPT_OTHER
 */
struct opt {
	const char *name;
	enum { OPT_NUMBER, OPT_SIZE, OPT_DECIMAL, OPT_TEXT, OPT_SET, OPT_CLEAR, OPT_OTHER } kind;
	void *value;
	uint64_t min;
	uint64_t max;
	uint64_t unit;
	void (*parse)(const char *name, char *text, void *value);
};

#define OPT_MS(name, value, min, max)	\
	{ name, OPT_NUMBER, value, min, max, NSEC_PER_MSEC, NULL }
#define OPT_SECONDS(name, value, min, max) \
	{ name, OPT_NUMBER, value, min, max, NSEC_PER_SEC, NULL }

/**
 * parse_options() - read the command line, or end with a usage error
 * @argc:    as in main()
 * @argv:    as in main()
 * @table:   the options; --help always exists
 * @help:    prints the help text
 * @allowed: checks whether an option may be used, or NULL
 */
void parse_options(int argc, char **argv, const struct opt *table, void (*help)(void),
		   void (*allowed)(const char *name));

/**
 * parse_number() - the value of an option, or a usage error
 * @option: its name, for the message
 * @text:   digits, and K, M, G or T for powers of 1024 if @sizes
 * @min:    minimum
 * @max:    maximum
 * @sizes:  are suffixes allowed?
 */
uint64_t parse_number(const char *option, const char *text, uint64_t min, uint64_t max,
		      bool sizes);

/* Prints the message and a pointer to --help, exits with 2. */
void usage_error(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
