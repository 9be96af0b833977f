// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - the tables of "wsmo mem"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "libwsmon/util.h"
#include "mem.h"

/* Files whose text was copied that are named */
#define TEXTS_MAX	5

enum {
	PID, COMM, CLASS, PROCESSES, VIRTUAL, RESIDENT, PSS, PRIVATE, SHARED, SWAP, HUGE,
	COPIED, IN_USE, PATH, NR_COLUMNS,
};

static const struct column all_columns[NR_COLUMNS] = {
	[PID]	  = { "pid", "PID", COL_COUNT, 7, 0 },
	[COMM]	  = { "comm", "NAME", COL_TEXT, 12, 0 },
	[CLASS]	  = { "class", "CLASS", COL_TEXT, 7, 0 },
	[PROCESSES] = { "processes", "PROCS", COL_COUNT, 5, 0 },
	[VIRTUAL] = { "virtual", "VIRTUAL", COL_SIZE, 9, 0 },
	[RESIDENT] = { "resident", "RESIDENT", COL_SIZE, 9, 0 },
	[PSS]	  = { "pss", "PSS", COL_SIZE, 9, 0 },
	[PRIVATE] = { "private", "PRIVATE", COL_SIZE, 9, 0 },
	[SHARED]  = { "shared", "SHARED", COL_SIZE, 9, 0 },
	[SWAP]	  = { "swap", "SWAP", COL_SIZE, 9, 0 },
	[HUGE]	  = { "huge", "HUGE", COL_SIZE, 9, 0 },
	[COPIED]  = { "copied", "COPIED", COL_SIZE, 9, NOT_HUMAN },
	[IN_USE]  = { "in_use", "IN USE", COL_SIZE, 9, 0 },
	[PATH]	  = { "path", "FILE", COL_TEXT, 4, 0 },
};

const char *mem_path(const char *path)
{
	return *path ? path : "[anon]";
}

/* Is this the row of all, or of a class, of a group whose working set is known? */
static bool in_total(const struct mem *mem, const struct rows *rows, const struct row *row)
{
	return !(rows->by & (BY_PROCESS | BY_FILE)) && row->processes > 1 && !mem->classes &&
	       !mem->filter && mem->use.totals[row->class];
}

static struct cell in_use(const struct mem *mem, const struct rows *rows, const struct row *row)
{
	if (in_total(mem, rows, row))
		return cell_u(whole(mem->use.total[row->class] / mem->use.totals[row->class]));
	return row->known ? cell_u(row_in_use(row)) : (struct cell){ 0 };
}

static void print_row(const struct mem *mem, struct table *t, const struct rows *rows,
		      const struct row *row)
{
	table_row(t, (struct cell[]) {
		[PID]	  = row->pid ? cell_u(row->pid) : (struct cell){ 0 },
		[COMM]	  = row->pid ? cell_s(row->comm) : (struct cell){ 0 },
		[CLASS]	  = cell_s(class_name(row->class)),
		[PROCESSES] = cell_u(row->processes),
		[VIRTUAL] = cell_u(row_bytes(row, MEM_VIRTUAL)),
		[RESIDENT] = cell_u(row_bytes(row, MEM_RESIDENT)),
		[PSS]	  = cell_u(row_bytes(row, MEM_PSS)),
		[PRIVATE] = cell_u(row_bytes(row, MEM_PRIVATE)),
		[SHARED]  = cell_u(row_bytes(row, MEM_SHARED)),
		[SWAP]	  = cell_u(row_bytes(row, MEM_SWAP)),
		[HUGE]	  = cell_u(row_bytes(row, MEM_HUGE)),
		[COPIED]  = cell_u(row_bytes(row, MEM_COPIED)),
		[IN_USE]  = in_use(mem, rows, row),
		[PATH]	  = row->path ? cell_s(mem->format == TABLE_JSON || mem->format == TABLE_CSV ?
					       row->path : mem_path(row->path)) : (struct cell){ 0 },
	});
}

static double sort_key(const struct row *row, enum mem_sort sort)
{
	switch (sort) {
	case SORT_VIRTUAL:
		return row_bytes(row, MEM_VIRTUAL);
	case SORT_PRIVATE:
		return row_bytes(row, MEM_PRIVATE);
	case SORT_SHARED:
		return row_bytes(row, MEM_SHARED);
	case SORT_SWAP:
		return row_bytes(row, MEM_SWAP);
	case SORT_HUGE:
		return row_bytes(row, MEM_HUGE);
	case SORT_IN_USE:
		return row->known ? row_in_use(row) : -1.0;
	case SORT_IDLE:
		return row->known ? (double)row_bytes(row, MEM_RESIDENT) - row_in_use(row) : -1e30;
	default:
		return row_bytes(row, MEM_RESIDENT);
	}
}

/* The largest first, then those mapped most, then in order of their names */
static int compare_rows(const void *x, const void *y, void *sort)
{
	const struct row *a = *(struct row * const *)x, *b = *(struct row * const *)y;
	const enum mem_sort by = *(const enum mem_sort *)sort;

	return COMPARE(sort_key(b, by), sort_key(a, by)) ?:
	       COMPARE(b->sum[MEM_VIRTUAL], a->sum[MEM_VIRTUAL]) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->class, b->class) ?: (a->path ? strcmp(a->path, b->path) : 0);
}

void mem_sort(const struct mem *mem, struct rows *rows)
{
	enum mem_sort sort = mem->sort;

	if (rows->nr)
		qsort_r(rows->row, rows->nr, sizeof(struct row *), compare_rows, &sort);
}

/* The columns a table for people has */
static unsigned int hidden(const struct mem *mem, const struct rows *rows, int column)
{
	const bool used = mem->input || mem->live;

	switch (column) {
	case PID:
	case COMM:
	case PSS:
		return rows->by & BY_PROCESS ? 0 : NOT_HUMAN;
	case CLASS:
		return rows->by & BY_CLASS || !rows->by ? 0 : NOT_HUMAN;
	case PROCESSES:
		return rows->by & BY_PROCESS ? NOT_HUMAN : 0;
	case PATH:
		return rows->by & BY_FILE ? 0 : NOT_HUMAN;
	case IN_USE:
		return used ? 0 : NOT_HUMAN;
	default:
		return 0;
	}
}

/* @total: a first row for all, or NULL */
static void print_table(struct mem *mem, struct rows *rows, const struct rows *total)
{
	struct column columns[NR_COLUMNS];
	const struct table_desc desc = { .type = "mem", .columns = columns, .nr = NR_COLUMNS };
	struct table *t;
	size_t i;

	for (i = 0; i < NR_COLUMNS; i++) {
		columns[i] = all_columns[i];
		columns[i].not_in |= hidden(mem, rows, i);
	}
	t = table_new(&desc, mem->format);
	mem_sort(mem, rows);
	if (total && total->nr)
		print_row(mem, t, total, total->row[0]);
	for (i = 0; i < rows->nr && (!mem->top || i < mem->top); i++)
		print_row(mem, t, rows, rows->row[i]);
	table_end(t);
}

/* What people see first: the sum, and how pages of several processes are counted */
static void print_total(const struct mem *mem)
{
	const struct rows *all = &mem->table[MEM_TOTAL];
	char virtual[UNITS_LEN], resident[UNITS_LEN], swap[UNITS_LEN];
	const struct row *row = all->row[0];

	printf("%llu process%s: %s mapped, %s resident, %s in swap", row->processes,
	       row->processes == 1 ? "" : "es", units_size(virtual, row_bytes(row, MEM_VIRTUAL)),
	       units_size(resident, row_bytes(row, MEM_RESIDENT)),
	       units_size(swap, row_bytes(row, MEM_SWAP)));
	if (row->processes < 2)
		puts("");
	else if (mem->seen.known)
		puts("; each page once, by its frame");
	else
		puts("; each page once, by PSS");
}

/* Text is not written, so there are no copies of it, unless relocations are in it */
static void print_texts(struct mem *mem)
{
	struct rows *texts = &mem->table[MEM_TEXT];
	char size[UNITS_LEN], name[4096];
	size_t i;

	mem_sort(mem, texts);
	for (i = 0; i < texts->nr && i < TEXTS_MAX; i++) {
		const struct row *row = texts->row[i];

		printf("%s%s of the text of %s are private copies, in %llu process%s\n", i ? "" : "\n",
		       units_size(size, row->sum[MEM_COPIED]),
		       text_clean(name, sizeof(name), row->path), row->processes,
		       row->processes == 1 ? "" : "es");
	}
	if (texts->nr > TEXTS_MAX)
		printf("and of %zu more files\n", texts->nr - TEXTS_MAX);
	if (texts->nr)
		puts("Text is copied if it is written: it was built without -fPIC, or patched at run time.");
}

void mem_print(struct mem *mem)
{
	const bool people = mem->format == TABLE_HUMAN || mem->format == TABLE_RAW;
	struct rows *t = mem->table;

	if (people && !t[MEM_TOTAL].nr) {
		if (mem->read)
			msg("nothing matches");
		return;
	}
	if (mem->format == TABLE_HUMAN) {
		print_total(mem);
		puts("");
	}
	print_table(mem, &t[0], t[0].by == BY_CLASS ? &t[MEM_TOTAL] : NULL);
	if (people && !mem->by) {
		puts("");
		print_table(mem, &t[MEM_FILES], NULL);
		puts("");
		print_table(mem, &t[MEM_PROCESSES], NULL);
	}
	if (mem->format == TABLE_HUMAN)
		print_texts(mem);
}
