/* SPDX-License-Identifier: GPL-2.0 */
/* options.h - parses command lines as described by tables */
#ifndef WSMO_OPTIONS_H
#define WSMO_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "table.h"

/*
 * As the only argument of a verb: print its options, one a line, for completion.sh. As the only
 * argument of wsmo: print the verbs.
 */
#define LIST_OPTIONS	"--list-options"
#define LIST_COLUMNS	"--list-columns"	/* for tests: table_list() */

/**
 * usage_error() - print an error in the command line, and exit(2)
 * @state: state of argp
 */
void usage_error(struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Kinds of options: the type that an option sets, and the value */
enum option_kind {
	OPT_FLAG,	/* bool: true */
	OPT_CLEAR,	/* bool: false */
	OPT_TEXT,	/* const char *: the argument */
	OPT_TIME,	/* __u64: nanoseconds, from @min to @max or without limit */
	OPT_COUNT,	/* __u32 or __u64: a number from @min to @max */
	OPT_SIZE,	/* __u64: bytes, from @min to @max or without limit */
	OPT_PERCENT,	/* double: 0 to 1 */
	OPT_PERMILLE,	/* __u32: a percentage, in 1/1000, at least 1 */
	OPT_PRECISION,	/* __u32: as OPT_PERMILLE, or 0 for "max" */
	OPT_CHOICE,	/* bool or enum: index of the word in @arg */
	OPT_PIDS,	/* struct pids: adds these */
	OPT_CLASSES,	/* __u32: sets their bits */
	OPT_FORMAT,	/* enum table_format: @min; a second, different format is an error */
	OPT_CALL,	/* calls @call with the address of the member */
	OPT_DOC,	/* no option, but a line for --help */
};

/**
 * struct option_desc - an option; a table of them ends with { 0 }
 * @name:	"--name"
 * @key:	letter of the option, or 0
 * @arg:	name of the argument, or NULL. The shell completes FILE, DIR, PID,..., CLASS,... and
 *		words separated by |
 * @help:	a few words; NULL: only the manual page describes the option
 * @kind:	kind of the option
 * @offset, @size: the member that it sets
 * @min, @max:	bounds of the number
 * @call:	function of OPT_CALL; may change @arg
 * @set:	called with the number, instead of storing it; @to is the structure
 * @data:	data for @call and @set
 * @optional:	the argument is optional; without it the number is @otherwise
 */
struct option_desc {
	const char *name;
	int key;
	const char *arg;
	const char *help;
	enum option_kind kind;
	size_t offset, size;
	__u64 min, max;
	void (*call)(struct argp_state *state, char *arg, const struct option_desc *o, void *at);
	void (*set)(void *to, const struct option_desc *o, __u64 value);
	const char *data;
	bool optional;
	__u64 otherwise;
};

/* Sets @offset and @size to a member */
#define OPT_AT(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/**
 * struct option_group - options that set members of one structure
 * @options:	the table
 * @to:		the structure
 * @hidden:	leave these options out of --help
 */
struct option_group {
	const struct option_desc *options;
	void *to;
	bool hidden;
};

#define OPTION_GROUPS	8
#define OPT_GROUP(table, ...)	{ .options = table, .to = __VA_ARGS__ }

/**
 * struct command_line - the command line of a verb or view
 * @name:	"wsmo record"
 * @args:	arguments, for the usage; one line for each form
 * @doc:	text above the options and, after a \v, below the options
 * @groups:	groups of options; the first group without a table ends the list. @to of the last
 *		group may be NULL
 * @to:		passed to the functions below
 * @arg:	takes an argument; or NULL
 * @command:	takes all remaining arguments as a command; or NULL
 * @check:	called at the end; or NULL
 */
struct command_line {
	const char *name;
	const char *args;
	const char *doc;
	struct option_group groups[OPTION_GROUPS];
	void *to;
	void (*arg)(struct argp_state *state, const char *arg, void *to);
	void (*command)(char **argv, void *to);
	void (*check)(struct argp_state *state, void *to);
};

/** options_parse() - parse a command line; exits on an error */
void options_parse(const struct command_line *cl, int argc, char **argv);

/* Options --json, --csv and --raw, which set an enum table_format */
extern const struct option_desc format_options[];

/** option_time() - parse a time. Return: nanoseconds, at least 1000 */
__u64 option_time(struct argp_state *state, const char *arg);

/** option_time_within() - parse a time from @min to @max; 0: no limit */
__u64 option_time_within(struct argp_state *state, const char *arg, __u64 min, __u64 max);

/** option_percent() - parse "5%" or "5". Return: 0 to 1 */
double option_percent(struct argp_state *state, const char *arg);

/** option_count() - parse a number from @min to @max */
__u64 option_count(struct argp_state *state, const char *arg, __u64 min, __u64 max);

/** option_size() - parse "64M". Return: bytes */
__u64 option_size(struct argp_state *state, const char *arg);

/** option_choice() - find a word in "ONE|TWO|...". Return: index, from 0 */
unsigned int option_choice(struct argp_state *state, const char *arg, const char *words);

/**
 * option_pair() - split "A,B"; A or B may be empty
 * @what: "times", for the message
 *
 * Return: B; @arg becomes A
 */
char *option_pair(struct argp_state *state, char *arg, const char *what);

#endif /* WSMO_OPTIONS_H */
