/* SPDX-License-Identifier: GPL-2.0 */
/*
 * options.h - command lines, described by tables
 */
#ifndef WSMO_OPTIONS_H
#define WSMO_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "table.h"

/*
 * The only argument of a verb: print its options, one a line, for completion.sh.
 * The only argument of wsmo: print the verbs.
 */
#define LIST_OPTIONS	"--list-options"
#define LIST_COLUMNS	"--list-columns"	/* for tests: table_list() */

/**
 * usage_error() - print what is wrong with the command line and exit(2)
 * @state: argp's
 */
void usage_error(struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* What an option does with its argument, and the type of what it sets */
enum option_kind {
	OPT_FLAG,	/* bool: true */
	OPT_CLEAR,	/* bool: false */
	OPT_TEXT,	/* const char *: the argument */
	OPT_TIME,	/* __u64: nanoseconds, from @min to @max or without end */
	OPT_COUNT,	/* __u32 or __u64: a number from @min to @max */
	OPT_SIZE,	/* __u64: bytes, from @min to @max or without end */
	OPT_PERCENT,	/* double: 0 to 1 */
	OPT_PERMILLE,	/* __u32: a percentage, in 1/1000, at least 1 */
	OPT_PRECISION,	/* likewise, or "max", which is 0 */
	OPT_CHOICE,	/* bool or enum: which of the words in @arg */
	OPT_PIDS,	/* struct pids: these are added */
	OPT_CLASSES,	/* __u32: their bits are set */
	OPT_FORMAT,	/* enum table_format: @min; a different one before is an error */
	OPT_CALL,	/* @call is called with the address of what it sets */
	OPT_DOC,	/* no option: a line for --help */
};

/**
 * struct option_desc - an option; a table of them ends with { 0 }
 * @name:	"--name"
 * @key:	its letter, or 0
 * @arg:	name of its argument, or NULL: FILE, DIR, PID,..., CLASS,... or words
 *		separated by | are completed by the shell
 * @help:	a few words, or NULL: only the manual page has it
 * @kind:	what it does
 * @offset, @size: what it sets
 * @min, @max:	bounds
 * @call:	for OPT_CALL; @arg may be changed
 * @set:	gets the number, which is not stored then; @to is the structure
 * @data:	for @call and @set
 * @optional:	the argument can be left out: the number is @otherwise
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

/* @offset and @size of a member */
#define OPT_AT(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/**
 * struct option_group - options that set members of one structure
 * @options:	the table
 * @to:		the structure
 * @hidden:	leave them out of --help
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
 * @args:	arguments, for the usage; several forms are lines
 * @doc:	the text above the options and, after a \v, below
 * @groups:	its options, up to one without a table; @to of the last one may be NULL
 * @to:		for what follows
 * @arg:	takes an argument, or NULL
 * @command:	takes all arguments that are left as a command, or NULL
 * @check:	called at the end, or NULL
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

/** options_parse() - parse a command line; exits if it is wrong */
void options_parse(const struct command_line *cl, int argc, char **argv);

/* --json, --csv and --raw, for an enum table_format */
extern const struct option_desc format_options[];

/** option_time() - parse a time; Return: nanoseconds, at least 1000 */
__u64 option_time(struct argp_state *state, const char *arg);

/** option_time_within() - likewise, from @min to @max; 0 is no limit */
__u64 option_time_within(struct argp_state *state, const char *arg, __u64 min, __u64 max);

/** option_percent() - parse "5%" or "5"; Return: 0 to 1 */
double option_percent(struct argp_state *state, const char *arg);

/** option_count() - parse a number from @min to @max */
__u64 option_count(struct argp_state *state, const char *arg, __u64 min, __u64 max);

/** option_size() - parse "64M"; Return: bytes */
__u64 option_size(struct argp_state *state, const char *arg);

/** option_choice() - find a word in "ONE|TWO|..."; Return: its number, from 0 */
unsigned int option_choice(struct argp_state *state, const char *arg, const char *words);

/**
 * option_pair() - split "A,B", either of which may be empty
 * @what: "times", for the message
 *
 * Return: B; @arg becomes A
 */
char *option_pair(struct argp_state *state, char *arg, const char *what);

#endif /* WSMO_OPTIONS_H */
