/* SPDX-License-Identifier: GPL-2.0 */
/*
 * table.h - one description of columns, four ways to print it
 *
 * A report describes its columns once: the table for people, --raw, --csv and
 * --json come from that description. Documentation/reference/json.rst says what
 * the columns mean. Rows are printed as they come, so memory does not grow with
 * their number.
 */
#ifndef WSMO_TABLE_H
#define WSMO_TABLE_H

#include <stdbool.h>
#include <stdio.h>

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
 * enum column_type - what the cells of a column are, and so how they print
 * @COL_COUNT:	u, a plain number
 * @COL_SIZE:	u, bytes
 * @COL_ADDR:	u, an address: hexadecimal except in JSON and CSV
 * @COL_NS:	u, a duration in nanoseconds
 * @COL_US:	u, a duration in microseconds
 * @COL_MS:	u, a duration in milliseconds
 * @COL_T:	d, seconds since the recording began
 * @COL_RATIO:	d, 0 to 1: percent for people
 * @COL_RATE:	d, number per second
 * @COL_CHANGE:	d, bytes more, or less
 * @COL_TEXT:	s
 * @COL_LIST:	s, a text on each line: an array in JSON, with semicolons between them in CSV
 */
enum column_type {
	COL_COUNT,
	COL_SIZE,
	COL_ADDR,
	COL_NS,
	COL_US,
	COL_MS,
	COL_T,
	COL_RATIO,
	COL_RATE,
	COL_CHANGE,
	COL_TEXT,
	COL_LIST,
};

/* In struct column.not_in: formats that leave a column out */
#define NOT_HUMAN	(1U << TABLE_HUMAN | 1U << TABLE_RAW)
#define NOT_CSV		(1U << TABLE_CSV)
#define NOT_JSON	(1U << TABLE_JSON)

/**
 * struct column - one column
 * @key:	name in JSON and CSV
 * @head:	heading for people
 * @type:	what its cells are
 * @width:	minimum width for people, so that a long table, printed in
 *		blocks, stays aligned
 * @not_in:	NOT_*
 */
struct column {
	const char *key;
	const char *head;
	enum column_type type;
	unsigned int width;
	unsigned int not_in;
};

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

/** struct cell - a value, or nothing if not @set */
struct cell {
	bool set;
	union {
		__u64 u;
		double d;
		const char *s;
	};
};

static inline struct cell cell_u(__u64 u)
{
	return (struct cell){ .set = true, .u = u };
}

static inline struct cell cell_d(double d)
{
	return (struct cell){ .set = true, .d = d };
}

static inline struct cell cell_s(const char *s)
{
	return (struct cell){ .set = true, .s = s };
}

struct table;

/** table_new() - begin a table on stdout; exits if there is no memory */
struct table *table_new(const struct table_desc *desc,
			enum table_format format);

/** table_new_on() - the same, printed to @f */
struct table *table_new_on(FILE *f, const struct table_desc *desc,
			   enum table_format format);

/**
 * table_row() - print a row
 * @cells: one for each column, with the member its type wants
 */
void table_row(struct table *t, const struct cell *cells);

/** table_flush() - print pending rows now; accepts NULL */
void table_flush(struct table *t);

/** table_end() - print pending rows and free the table; accepts NULL */
void table_end(struct table *t);

#endif /* WSMO_TABLE_H */
