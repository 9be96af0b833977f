// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - the table of "wsmo top" without a screen
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "top.h"

enum { T, PID, COMM, CLASS, WINDOW, BYTES, LOW, HIGH, RSS, IDLE, SHARE, HOT, REGIONS, WHO, WHO_SHARE };

static struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0 },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[COMM]	= { "comm", "NAME", COL_TEXT, 15, 0 },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[WINDOW] = { "window_us", "WINDOW", COL_US, 6, 0 },
	[BYTES]	= { "bytes", "WSS", COL_SIZE, 10, 0 },
	[LOW]	= { "low", "LOW", COL_SIZE, 10, 0 },
	[HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0 },
	[RSS]	= { "rss", "RSS", COL_SIZE, 10, 0 },
	[IDLE]	= { "idle", "IDLE", COL_SIZE, 10, 0 },
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0 },
	[HOT]	= { "hot", "HOT", COL_SIZE, 10, 0 },
	[REGIONS] = { "regions", "REGIONS", COL_COUNT, 7, 0 },
	/* for people only if it is known */
	[WHO]	= { "who", "WHO", COL_TEXT, 24, NOT_HUMAN },
	[WHO_SHARE] = { "who_share", "OF IT", COL_RATIO, 7, NOT_HUMAN },
};

static const struct table_desc desc = {
	.type = "top", .columns = columns, .nr = ARRAY_SIZE(columns),
};

enum { G_T, G_NAME, G_SCOPE, G_PROCESSES, G_CLASS, G_WINDOW, G_BYTES, G_LOW, G_HIGH, G_RSS, G_IDLE, G_REGIONS, G_GUESTS };

static const struct column group_columns[] = {
	[G_T]	= { "t", "TIME", COL_T, 8, 0 },
	[G_NAME] = { "name", "NAME", COL_TEXT, 32, 0 },
	[G_SCOPE] = { "scope", "SCOPE", COL_TEXT, 6, NOT_HUMAN },
	[G_PROCESSES] = { "processes", "PROCS", COL_COUNT, 5, 0 },
	[G_CLASS] = { "class", "CLASS", COL_TEXT, 7, NOT_HUMAN },
	[G_WINDOW] = { "window_us", "WINDOW", COL_US, 6, 0 },
	[G_BYTES] = { "bytes", "WSS", COL_SIZE, 10, 0 },
	[G_LOW]	= { "low", "LOW", COL_SIZE, 10, 0 },
	[G_HIGH] = { "high", "HIGH", COL_SIZE, 10, 0 },
	[G_RSS]	= { "rss", "RSS", COL_SIZE, 10, 0 },
	[G_IDLE] = { "idle", "IDLE", COL_SIZE, 10, 0 },
	[G_REGIONS] = { "regions", "REGIONS", COL_COUNT, 7, 0 },
	[G_GUESTS] = { "guests", "GUESTS", COL_COUNT, 6, NOT_HUMAN },
};

static const struct table_desc group_desc = {
	.type = "cgroup", .columns = group_columns, .nr = ARRAY_SIZE(group_columns),
};

static struct table *table;

static double time_of(const struct top *top)
{
	return (double)(top->read_ns - top->start_ns) / NSEC_PER_SEC;
}

static void print_row(const struct top *top, const struct top_row *row)
{
	const struct wsmon_wss_row *w = &row->wss;
	struct cell cells[ARRAY_SIZE(columns)] = {
		[T]	= cell_d(time_of(top)),
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

	if (w->group)
		cells[COMM] = cell_s(top_name(top, row));
	if (row->have_rss) {
		cells[RSS] = cell_u(row->rss);
		cells[IDLE] = cell_u(row->idle);
	}
	if (w->mapped)
		cells[SHARE] = cell_d(row->share);
	if (row->who) {
		cells[WHO] = cell_s(row->who);
		cells[WHO_SHARE] = cell_d(row->who_share);
	}
	table_row(table, cells);
}

static void print_group(const struct top *top, const struct top_row *row)
{
	const struct wsmon_wss_row *w = &row->wss;
	char name[4096];
	struct cell cells[ARRAY_SIZE(group_columns)] = {
		[G_T]	= cell_d(time_of(top)),
		[G_NAME] = cell_s(top->format == TABLE_HUMAN ? name : row->path),
		[G_SCOPE] = cell_s(w->group ? "total" : "cgroup"),
		[G_PROCESSES] = cell_u(row->processes),
		[G_CLASS] = cell_s(class_name(w->class)),
		[G_WINDOW] = cell_u(w->window_us),
		[G_BYTES] = cell_u(w->bytes),
		[G_LOW]	= cell_u(w->low),
		[G_HIGH] = cell_u(w->high),
		[G_REGIONS] = cell_u(row->regions),
		[G_GUESTS] = cell_u(row->guests),
	};

	snprintf(name, sizeof(name), "%s%s", top_name(top, row), row->guests ? "*" : "");
	if (row->have_rss) {
		cells[G_RSS] = cell_u(row->rss);
		cells[G_IDLE] = cell_u(row->idle);
	}
	table_row(table, cells);
}

int top_text_print(const struct top *top)
{
	size_t i;

	if (!table && top_who_shown(top))
		columns[WHO].not_in = columns[WHO_SHARE].not_in = 0;
	if (!table)
		table = table_new(top_grouped(top) ? &group_desc : &desc, top->format);
	for (i = 0; i < top->nr_rows; i++)
		(top_grouped(top) ? print_group : print_row)(top, &top->rows[i]);
	table_flush(table);
	return output_error() ? -1 : 0;
}

void top_text_end(void)
{
	table_end(table);
	table = NULL;
}
