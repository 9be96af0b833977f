/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table.h - tables, described once, printed in four formats
 *
 * A row is a structure, a column one of its fields. The tables for people, --raw, --csv, --json and
 * Documentation/reference/json.rst are made from one description. Rows are printed as they come, so
 * memory does not grow with their number.
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
 * enum column_type - types of the fields of a column, which decide how they print
 * @COL_COUNT:	__u64, a plain number
 * @COL_SIZE:	__u64, bytes
 * @COL_ADDR:	__u64, an address: hexadecimal except in JSON and CSV
 * @COL_NS:	__u64, a duration in nanoseconds
 * @COL_US:	__u64, a duration in microseconds
 * @COL_MS:	__u64, a duration in milliseconds
 * @COL_TEXT:	const char *
 * @COL_LIST:	const char *, lines of texts: an array in JSON, separated by semicolons in CSV
 * @COL_T:	double, seconds since the recording began
 * @COL_RATIO:	double, 0 to 1: percent for people
 * @COL_RATE:	double, number per second
 * @COL_CHANGE:	double, difference in bytes
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

/* struct column.flags: formats without the column; whether a value may be unknown */
#define NOT_HUMAN	(1U << TABLE_HUMAN | 1U << TABLE_RAW)
#define NOT_CSV		(1U << TABLE_CSV)
#define NOT_JSON	(1U << TABLE_JSON)
#define OR_NULL		0x100

/* An unknown __u64 in a column with OR_NULL; unknown doubles are NAN, texts NULL */
#define UNKNOWN_U64		(~0ULL)

/**
 * struct column - one column
 * @key:	name in JSON and CSV
 * @head:	heading for people
 * @help:	meaning of the values, for Documentation/reference/json.rst
 * @type:	type of the values
 * @width:	minimum width for people, which keeps long tables, printed in blocks, aligned
 * @flags:	NOT_*, OR_NULL
 * @offset:	offset of the field in the row
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
 * COL() - define a column by a field of struct ROW, a macro to be defined before each table
 * @field:	the field; its name is the key
 * @what:	end of the type's name: T for COL_T, etc.
 */
#define COL(field, what, width, head, flags, help)					\
	COL_AS(#field, field, what, width, head, flags, help)

/** COL_AS() - define a column with another key, for a member of a field */
#define COL_AS(key, field, what, width, head, flags, help)				\
	{ key, head, help, COL_##what, width, flags,					\
	  offsetof(ROW, field) + COL_IS(what, __typeof__(((ROW *)0)->field)) }

/* 0 if the type of a field matches its column; else does not compile */
#define COL_IS(what, c_type)								\
	(0 * sizeof(struct { int none; _Static_assert(					\
		COL_##what >= COL_T ? __builtin_types_compatible_p(c_type, double) :	\
		COL_##what >= COL_TEXT ? __builtin_types_compatible_p(c_type, const char *) : \
		__builtin_types_compatible_p(c_type, __u64), "the type of the field"); }))

/**
 * struct table_desc - a table
 * @type:	value of "type" in JSON
 * @columns:	the columns
 * @nr:		number of columns, at most TABLE_COLUMNS
 * @list:	for people, print one column a line; for tables of one row
 */
struct table_desc {
	const char *type;
	const struct column *columns;
	size_t nr;
	bool list;
};

#define TABLE_COLUMNS	32

/**
 * TABLE() - define a table of the columns in the last arguments
 * @var:	name of the variable
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

/** table_list() - print all fields of JSON, one a line; NULL in a program without tables */
void table_list(void) __attribute__((weak));

struct table;

/** table_new() - begin a table on stdout; exits if memory runs out */
struct table *table_new(const struct table_desc *desc,
			enum table_format format);

/** table_new_on() - begin a table on @f; exits if memory runs out */
struct table *table_new_on(FILE *f, const struct table_desc *desc,
			   enum table_format format);

/**
 * table_show() - show or hide a column of a table that has no row yet
 * @offset:	offset of the column's field
 * @formats:	the formats to change, NOT_*
 */
void table_show(struct table *t, size_t offset, unsigned int formats, bool yes);

/**
 * table_row() - print a row
 * @row: the structure with the fields
 */
void table_row(struct table *t, const void *row);

/** table_flush() - print pending rows now; accepts NULL */
void table_flush(struct table *t);

/** table_end() - print pending rows and free the table; accepts NULL */
void table_end(struct table *t);

#endif /* WSMO_TABLE_H */
