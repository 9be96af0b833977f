// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - the table of "wsmo top" without a screen
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "top.h"

enum { T, PID, COMM, CLASS, WINDOW, BYTES, LOW, HIGH, RSS, SHARE, HOT, REGIONS };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0 },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[COMM]	= { "comm", "NAME", COL_TEXT, 15, 0 },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[WINDOW] = { "window_us", "WINDOW", COL_US, 6, 0 },
	[BYTES]	= { "bytes", "WSS", COL_SIZE, 10, 0 },
	[LOW]	= { "low", "LOW", COL_SIZE, 10, 0 },
	[HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0 },
	[RSS]	= { "rss", "RSS", COL_SIZE, 10, 0 },
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0 },
	[HOT]	= { "hot", "HOT", COL_SIZE, 10, 0 },
	[REGIONS] = { "regions", "REGIONS", COL_COUNT, 7, 0 },
};

static const struct table_desc desc = {
	.type = "top", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static struct table *table;

static void print_row(const struct top *top, const struct top_row *row)
{
	const struct wsmon_wss_row *w = &row->wss;
	struct cell cells[ARRAY_SIZE(columns)] = {
		[T]	= cell_d((double)(top->read_ns - top->start_ns) /
				 NSEC_PER_SEC),
		[PID]	= cell_u(w->pid),
		[COMM]	= cell_s(row->comm),
		[CLASS]	= cell_s(class_name(w->class)),
		[WINDOW] = cell_u(w->window_us),
		[BYTES]	= cell_u(w->bytes),
		[LOW]	= cell_u(w->low),
		[HIGH]	= cell_u(w->high),
		[HOT]	= cell_u(row->hot),
		[REGIONS] = cell_u(row->regions),
	};

	if (row->have_rss)
		cells[RSS] = cell_u(row->rss);
	if (w->mapped)
		cells[SHARE] = cell_d(row->share);
	table_row(table, cells);
}

int top_text_print(const struct top *top)
{
	size_t i;

	if (!table)
		table = table_new(&desc, top->format);
	for (i = 0; i < top->nr_rows; i++)
		print_row(top, &top->rows[i]);
	table_flush(table);
	return output_error() ? -1 : 0;
}

void top_text_end(void)
{
	table_end(table);
	table = NULL;
}
