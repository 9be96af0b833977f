/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table.h - one description of columns, four ways to print it
 *
 * A row is a structure, a column one of its fields. A table is described once: the table for
 * people, --raw, --csv, --json and Documentation/reference/json.rst come from that description.
 * Rows are printed as they come, so memory does not grow with their number.
 */
#ifndef WSMO_TABLE_H
#define WSMO_TABLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "libwsmon/util.h"
#include "wsmon.h"

/**
 * enum table_format - how a table is printed
 * @TABLE_HUMAN: aligned, in units for people
 * @TABLE_RAW:	 aligned, exact numbers
 * @TABLE_CSV:	 comma separated, exact numbers
 * @TABLE_JSON:	 one object a line, exact numbers
 */
enum table_format {
	TABLE_HUMAN,
	TABLE_RAW,
	TABLE_CSV,
	TABLE_JSON,
};

/**
 * enum column_type - what the fields of a column are, and so how they print
 * @COL_COUNT:	__u64, a plain number
 * @COL_SIZE:	__u64, bytes
 * @COL_ADDR:	__u64, an address: hexadecimal except in JSON and CSV
 * @COL_NS:	__u64, a duration in nanoseconds
 * @COL_US:	__u64, a duration in microseconds
 * @COL_MS:	__u64, a duration in milliseconds
 * @COL_TEXT:	const char *
 * @COL_LIST:	const char *, a text on each line: an array in JSON, with semicolons between them
 *		in CSV
 * @COL_T:	double, seconds since the recording began
 * @COL_RATIO:	double, 0 to 1: percent for people
 * @COL_RATE:	double, number per second
 * @COL_CHANGE:	double, bytes more, or less
 */
enum column_type {
	COL_COUNT,
	COL_SIZE,
	COL_ADDR,
	COL_NS,
	COL_US,
	COL_MS,
	COL_TEXT,
	COL_LIST,
	COL_T,
	COL_RATIO,
	COL_RATE,
	COL_CHANGE,
};

/* In struct column.flags: formats that leave a column out; whether a value may be unknown */
#define NOT_HUMAN	(1U << TABLE_HUMAN | 1U << TABLE_RAW)
#define NOT_CSV		(1U << TABLE_CSV)
#define NOT_JSON	(1U << TABLE_JSON)
#define OR_NULL		0x100

/* A __u64 that is not known, in a column with OR_NULL; doubles are NAN, texts NULL */
#define UNKNOWN_U64		(~0ULL)

/**
 * struct column - one column
 * @key:	name in JSON and CSV
 * @head:	heading for people
 * @help:	what its values mean, for Documentation/reference/json.rst
 * @type:	what they are
 * @width:	minimum width for people, so that a long table, printed in
 *		blocks, stays aligned
 * @flags:	NOT_*, OR_NULL
 * @offset:	of the field in the row
 */
struct column {
	const char *key;
	const char *head;
	const char *help;
	enum column_type type;
	unsigned int width;
	unsigned int flags;
	size_t offset;
};

/**
 * COL() - a column that is a field of struct ROW, a macro that is defined before each table
 * @field:	the field, whose name is the key
 * @what:	T for COL_T, and so on
 */
#define COL(field, what, width, head, flags, help)					\
	COL_AS(#field, field, what, width, head, flags, help)

/** COL_AS() - the same with another key, for a member of a field */
#define COL_AS(key, field, what, width, head, flags, help)				\
	{ key, head, help, COL_##what, width, flags,					\
	  offsetof(ROW, field) + COL_IS(what, __typeof__(((ROW *)0)->field)) }

/* 0, if the type of a field is that of its column */
#define COL_IS(what, c_type)								\
	(0 * sizeof(struct { int none; _Static_assert(					\
		COL_##what >= COL_T ? __builtin_types_compatible_p(c_type, double) :	\
		COL_##what >= COL_TEXT ? __builtin_types_compatible_p(c_type, const char *) : \
		__builtin_types_compatible_p(c_type, __u64), "the type of the field"); }))

/**
 * struct table_desc - a table
 * @type:	value of "type" in JSON
 * @columns:	@nr of them
 * @nr:		at most TABLE_COLUMNS
 * @list:	for people: one line a column, for a table of one row
 */
struct table_desc {
	const char *type;
	const struct column *columns;
	size_t nr;
	bool list;
};

#define TABLE_COLUMNS	32

/**
 * TABLE() - define a table of these columns
 * @var:	its name in the file
 * @kind:	value of "type" in JSON
 *
 * The linker collects pointers to all tables of a program in a section, for --list-columns.
 */
#define TABLE(var, kind, ...)	TABLE_AS(var, kind, false, __VA_ARGS__)
#define TABLE_LIST(var, kind, ...)	TABLE_AS(var, kind, true, __VA_ARGS__)
#define TABLE_AS(var, kind, is_list, ...)						\
	static const struct column var##_columns[] = { __VA_ARGS__ };			\
	static const struct table_desc var = {						\
		.type = kind, .columns = var##_columns, .nr = ARRAY_SIZE(var##_columns), \
		.list = is_list,							\
	};										\
	static const struct table_desc * const var##_entry				\
		__attribute__((used, section("table_descs"))) = &var

/** table_list() - print all fields of JSON, a line each; NULL in a program without tables */
void table_list(void) __attribute__((weak));

struct table;

/** table_new() - begin a table on stdout; exits if there is no memory */
struct table *table_new(const struct table_desc *desc,
			enum table_format format);

/** table_new_on() - the same, printed to @f */
struct table *table_new_on(FILE *f, const struct table_desc *desc,
			   enum table_format format);

/**
 * table_show() - show a column of a table that has no row yet, or leave it out
 * @offset:	of the column's field
 * @formats:	in these formats, NOT_*
 */
void table_show(struct table *t, size_t offset, unsigned int formats, bool yes);

/**
 * table_row() - print a row
 * @row: the structure that the columns are fields of
 */
void table_row(struct table *t, const void *row);

/** table_flush() - print pending rows now; accepts NULL */
void table_flush(struct table *t);

/** table_end() - print pending rows and free the table; accepts NULL */
void table_end(struct table *t);

#endif /* WSMO_TABLE_H */
