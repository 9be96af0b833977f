// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - who touched memory, as rows
 *
 * The share of a row is what its records stand for, of all of it.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "table.h"

enum {
	SHARE, LOW, HIGH, READS, WRITES, FIRST, REMOTE, PID, TID, COMM, CODE, FUNCTION, FILENAME,
	LINE, OBJECT, CPU_NODE, NODE,
};

static const struct column columns[] = {
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0 },
	[LOW]	= { "low", "LOW", COL_RATIO, 7, 0 },
	[HIGH]	= { "high", "HIGH", COL_RATIO, 7, 0 },
	[READS]	= { "reads", "READS", COL_COUNT, 6, 0 },
	[WRITES] = { "writes", "WRITES", COL_COUNT, 6, 0 },
	[FIRST]	= { "first", "FIRST", COL_COUNT, 5, 0 },
	[REMOTE] = { "remote", "REMOTE", COL_RATIO, 7, 0 },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[TID]	= { "tid", "TID", COL_COUNT, 7, 0 },
	[COMM]	= { "comm", "THREAD", COL_TEXT, 15, 0 },
	[CODE]	= { "code", "FUNCTION", COL_TEXT, 8, NOT_JSON | NOT_CSV },
	[FUNCTION] = { "function", "FUNCTION", COL_TEXT, 8, NOT_HUMAN },
	[FILENAME] = { "file", "FILE", COL_TEXT, 8, NOT_HUMAN },
	[LINE]	= { "line", "LINE", COL_COUNT, 5, NOT_HUMAN },
	[OBJECT] = { "object", "OBJECT", COL_TEXT, 8, 0 },
	[CPU_NODE] = { "cpu_node", "CPU-NODE", COL_COUNT, 8, 0 },
	[NODE]	= { "node", "NODE", COL_COUNT, 4, 0 },
};

/* The columns without values, by what rows are of */
static const bool empty[][ARRAY_SIZE(columns)] = {
	[WHO_BY_ALL]	= { [CPU_NODE] = true, [NODE] = true },
	[WHO_BY_FUNCTION] = { [TID] = true, [COMM] = true, [OBJECT] = true, [CPU_NODE] = true,
			      [NODE] = true },
	[WHO_BY_THREAD]	= { [CODE] = true, [OBJECT] = true, [CPU_NODE] = true, [NODE] = true },
	[WHO_BY_OBJECT]	= { [TID] = true, [COMM] = true, [CODE] = true, [CPU_NODE] = true,
			    [NODE] = true },
	/* what is remote has another node */
	[WHO_BY_NODE]	= { [REMOTE] = true, [TID] = true, [COMM] = true, [CODE] = true,
			    [OBJECT] = true },
};

static struct cell text_or_none(const char *s)
{
	return s && *s ? cell_s(s) : (struct cell){ 0 };
}

static struct cell node_or_none(__s32 node)
{
	return node >= 0 ? cell_u(node) : (struct cell){ 0 };
}

static void print_row(struct table *table, const struct who *w, const struct who_row *row)
{
	const struct call *c = row->stack ? &row->stack->call[0] : NULL;
	char text[CALL_TEXT], comm[4 * WSMON_COMM_LEN + 1];
	double low, high, share = row->bytes / w->bytes;

	evidence_interval(&row->of, &w->all, w->draws, &low, &high);
	table_row(table, (struct cell[]) {
		[SHARE]	= cell_d(share),
		[LOW]	= cell_d(low),
		[HIGH]	= cell_d(high),
		[READS]	= cell_u(row->reads),
		[WRITES] = cell_u(row->writes),
		[FIRST]	= cell_u(row->first),
		[REMOTE] = row->placed > 0 ? cell_d(row->remote / row->placed) : (struct cell){ 0 },
		[PID]	= cell_u(row->pid),
		[TID]	= row->tid ? cell_u(row->tid) : (struct cell){ 0 },
		[COMM]	= text_or_none(text_clean(comm, sizeof(comm), row->comm)),
		[CODE]	= c ? cell_s(calls_text(text, c)) : (struct cell){ 0 },
		[FUNCTION] = text_or_none(c ? c->function : NULL),
		[FILENAME] = text_or_none(c ? c->file : NULL),
		[LINE]	= c && c->file ? cell_u(c->line) : (struct cell){ 0 },
		[OBJECT] = text_or_none(row->object),
		[CPU_NODE] = node_or_none(row->cpu_node),
		[NODE]	= node_or_none(row->node),
	});
}

void who_table(FILE *f, enum table_format format, const struct who *w, enum who_by by, size_t top,
	       bool code)
{
	struct column filled[ARRAY_SIZE(columns)];
	const struct table_desc desc = { .type = "who", .columns = filled, .nr = ARRAY_SIZE(columns) };
	struct table *table;
	size_t i;

	memcpy(filled, columns, sizeof(filled));
	for (i = 0; i < desc.nr; i++) {
		if (empty[by][i] || (i == REMOTE && !w->nodes))
			filled[i].not_in |= NOT_HUMAN;
	}
	if (code)
		filled[CODE].not_in = 0;
	table = table_new_on(f, &desc, format);
	for (i = 0; i < w->nr && i < top; i++)
		print_row(table, w, &w->row[i]);
	table_end(table);
}

static void print_folded(FILE *f, const struct who_row *row, const char *how, __u64 nr)
{
	char text[CALL_TEXT];

	if (!nr)
		return;
	calls_print_part(f, *row->comm ? text_clean(text, sizeof(text), row->comm) : "all");
	if (row->stack) {
		fputc(';', f);
		calls_print_part(f, calls_text(text, &row->stack->call[0]));
	}
	if (row->object) {
		fputc(';', f);
		calls_print_part(f, text_clean(text, sizeof(text), row->object));
	}
	fprintf(f, ";%s %llu\n", how, nr);
}

void who_folded(FILE *f, const struct who *w)
{
	size_t i;

	for (i = 0; i < w->nr; i++) {
		print_folded(f, &w->row[i], "read", w->row[i].reads);
		print_folded(f, &w->row[i], "write", w->row[i].writes);
	}
}
