// SPDX-License-Identifier: GPL-2.0
/*
 * wss.c - "wsmo report wss": each working set size with its interval, and
 * percentiles of them
 *
 * Of a group there are the total, and the processes that were named. JSON, CSV and --raw
 * rows are printed as they come. Bars, percentiles, another
 * order and pictures need all of them, so all are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "collect.h"
#include "libwsmon/events.h"
#include "libwsmon/names.h"
#include "plot/wss.h"
#include "report.h"

#define TARGETS_MAX	65536

#define PERCENTILES_MAX	32

/* Columns of a line beside the bar */
#define BESIDE_BAR	70

enum { T, SCOPE, PID, COMM, NAME, CLASS, WINDOW, BYTES, LOW, HIGH, BAR };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0 },
	[SCOPE]	= { "scope", "SCOPE", COL_TEXT, 7, NOT_HUMAN },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[COMM]	= { "comm", "COMM", COL_TEXT, 4, NOT_HUMAN },
	[NAME]	= { "name", "NAME", COL_TEXT, 4, NOT_HUMAN },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[WINDOW] = { "window_us", "WINDOW", COL_US, 6, 0 },
	[BYTES]	= { "bytes", "WSS", COL_SIZE, 10, 0 },
	[LOW]	= { "low", "LOW", COL_SIZE, 10, 0 },
	[HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0 },
	[BAR]	= { "bar", "BAR", COL_TEXT, BAR_MIN, NOT_CSV | NOT_JSON | 1U << TABLE_RAW },
};

static const struct table_desc desc = {
	.type = "wss", .columns = columns, .nr = ARRAY_SIZE(columns),
};

enum {
	P_SCOPE, P_PID, P_COMM, P_NAME, P_CLASS, P_WINDOW, P_PERCENT, P_BYTES, P_LOW, P_HIGH, P_T,
	P_BAR,
};

static const struct column percentile_columns[] = {
	[P_SCOPE]	= { "scope", "SCOPE", COL_TEXT, 7, NOT_HUMAN },
	[P_PID]		= { "pid", "PID", COL_COUNT, 7, 0 },
	[P_COMM]	= { "comm", "COMM", COL_TEXT, 4, NOT_HUMAN },
	[P_NAME]	= { "name", "NAME", COL_TEXT, 4, NOT_HUMAN },
	[P_CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[P_WINDOW]	= { "window_us", "WINDOW", COL_US, 6, 0 },
	[P_PERCENT]	= { "percentile", "%", COL_COUNT, 3, 0 },
	[P_BYTES]	= { "bytes", "WSS", COL_SIZE, 10, 0 },
	[P_LOW]		= { "low", "LOW", COL_SIZE, 10, 0 },
	[P_HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0 },
	[P_T]		= { "t", "AT", COL_T, 8, 0 },
	[P_BAR]		= { "bar", "BAR", COL_TEXT, BAR_MIN, NOT_CSV | NOT_JSON | 1U << TABLE_RAW },
};

static const struct table_desc percentile_desc = {
	.type = "wss_percentile", .columns = percentile_columns,
	.nr = ARRAY_SIZE(percentile_columns),
};

/**
 * struct wss_options - the command line
 * @by_size:	sort rows by size
 * @only_percentiles: no rows but percentiles
 * @percentiles: which, @nr_percentiles of them
 */
static struct wss_options {
	bool by_size;
	bool only_percentiles;
	unsigned int percentiles[PERCENTILES_MAX];
	size_t nr_percentiles;
} options = {
	.percentiles = { 0, 25, 50, 75, 100 }, .nr_percentiles = 5,
};

/** struct scale - the longest bar of a target */
struct scale {
	__u32 pid;
	__u64 max;
};

/**
 * struct wss - state of the view
 * @table:	prints rows as they come; NULL if they are kept
 * @kept:	rows and names
 * @scales:	struct scale
 * @events:	peaks and marks
 * @window_us:	the shortest window of @kept
 * @bar:	columns of a bar
 */
struct wss {
	struct table *table;
	struct collected kept;
	struct sorted scales;
	struct events events;
	__u64 window_us;
	unsigned int bar;
};

static void wss_begin(struct report *rp)
{
	struct wss *w = need(calloc(1, sizeof(*w)));

	collect_init(&w->kept);
	w->scales = (struct sorted) {
		.size = sizeof(struct scale), .max = TARGETS_MAX,
		.compare = compare_pids,
	};
	w->bar = bar_width(BESIDE_BAR);
	if (rp->out.format != TABLE_HUMAN && !options.by_size &&
	    !options.only_percentiles)
		w->table = report_table(rp, &desc);
	rp->data = w;
}

static const char *bar(char *text, const struct wss *w, const struct wsmon_wss_row *row)
{
	const struct scale key = { .pid = row->pid };
	const struct scale *scale = sorted_find(&w->scales, &key);

	return bar_text(text, row->low, row->high, scale ? scale->max : 0,
			w->bar);
}

/* Once for an interval: beside the whole target */
static void add_events(const struct report *rp, char *text, size_t size,
		       const struct wsmon_wss_row *row)
{
	const struct wsmon_attrs *attrs = &rp->reader.header.attrs;
	const struct wss *w = rp->data;
	size_t len = strlen(text);
	char label[EVENTS_LABEL];

	if (row->class != WSMON_CLASS_ALL || row->window_us != w->window_us)
		return;
	events_label(label, &w->events, row->pid, row->time_ns,
		     attrs->aggr_us * 1000);
	snprintf(text + len, size - len, "%s%s", *label ? " " : "", label);
}

static struct cell scope_cell(const struct wsmon_wss_row *row)
{
	return cell_s(row->group ? "group" : "process");
}

static struct cell pid_cell(const struct wsmon_wss_row *row)
{
	return row->group ? (struct cell){ 0 } : cell_u(row->pid);
}

static struct cell comm_cell(const struct wss *w, const struct wsmon_wss_row *row)
{
	return row->group ? (struct cell){ 0 } : cell_s(collect_comm(&w->kept, row->pid));
}

/* @name: room for it */
static struct cell name_cell(const struct wss *w, const struct wsmon_wss_row *row, char *name)
{
	return row->group ? cell_s(group_name(&w->kept.group, w->kept.names.nr, name)) :
			    (struct cell){ 0 };
}

static void print_row(const struct report *rp, struct table *t,
		      const struct wsmon_wss_row *row)
{
	char text[BAR_TEXT + EVENTS_LABEL], name[GROUP_NAME];
	const struct wss *w = rp->data;

	bar(text, w, row);
	add_events(rp, text, sizeof(text), row);
	table_row(t, (struct cell[]) {
		[T]	= cell_d(filter_time(&rp->filter, row->time_ns)),
		[SCOPE]	= scope_cell(row),
		[PID]	= pid_cell(row),
		[COMM]	= comm_cell(w, row),
		[NAME]	= name_cell(w, row, name),
		[CLASS]	= cell_s(class_name(row->class)),
		[WINDOW] = cell_u(row->window_us),
		[BYTES]	= cell_u(row->bytes),
		[LOW]	= cell_u(row->low),
		[HIGH]	= cell_u(row->high),
		[BAR]	= cell_s(text),
	});
}

static void scale(struct wss *w, const struct wsmon_wss_row *row)
{
	const struct scale key = { .pid = row->pid };
	struct scale *scale = sorted_get(&w->scales, &key);

	if (scale && row->high > scale->max)
		scale->max = row->high;
	if (!w->window_us || row->window_us < w->window_us)
		w->window_us = row->window_us;
}

static void wss_record(struct report *rp, const struct wsmon_record *rec)
{
	struct wss *w = rp->data;
	struct wsmon_wss_rows *rows = &w->kept.rows;
	size_t i, before = rows->nr;

	collect_record(&w->kept, &rp->filter, rec);
	if (filter_wants(&rp->filter, rec))
		events_add(&w->events, rec);
	w->events.interval_ns = rp->reader.header.attrs.aggr_us * 1000;
	for (i = before; i < rows->nr; i++) {
		if (w->table)
			print_row(rp, w->table, &rows->row[i]);
		else
			scale(w, &rows->row[i]);
	}
	if (w->table)
		rows->nr = 0;
	if (!rp->out.picture.file)
		w->kept.rss.nr = 0;
}

static void print_percentile(const struct report *rp, struct table *t,
			     const struct wsmon_wss_row *row, unsigned int percent)
{
	char text[BAR_TEXT], name[GROUP_NAME];
	const struct wss *w = rp->data;

	table_row(t, (struct cell[]) {
		[P_SCOPE]	= scope_cell(row),
		[P_PID]		= pid_cell(row),
		[P_COMM]	= comm_cell(w, row),
		[P_NAME]	= name_cell(w, row, name),
		[P_CLASS]	= cell_s(class_name(row->class)),
		[P_WINDOW]	= cell_u(row->window_us),
		[P_PERCENT]	= cell_u(percent),
		[P_BYTES]	= cell_u(row->bytes),
		[P_LOW]		= cell_u(row->low),
		[P_HIGH]	= cell_u(row->high),
		[P_T]		= cell_d(filter_time(&rp->filter, row->time_ns)),
		[P_BAR]		= cell_s(bar(text, w, row)),
	});
}

/* @rows are sorted by size */
static void print_percentiles(const struct report *rp,
			      const struct wsmon_wss_rows *rows)
{
	struct table *t = report_table(rp, &percentile_desc);
	size_t first, end, i;

	for (first = 0; first < rows->nr; first = end) {
		end = wsmon_wss_series(rows, first);
		for (i = 0; i < options.nr_percentiles; i++)
			print_percentile(rp, t,
				wsmon_wss_percentile(&rows->row[first], end - first,
					       options.percentiles[i]),
				options.percentiles[i]);
	}
	table_end(t);
}

static void print_rows(const struct report *rp, const struct wsmon_wss_rows *rows)
{
	struct table *t = report_table(rp, &desc);
	size_t i;

	for (i = 0; i < rows->nr; i++)
		if (rows->row[i].group)
			print_row(rp, t, &rows->row[i]);
	for (i = 0; i < rows->nr; i++)
		if (!rows->row[i].group)
			print_row(rp, t, &rows->row[i]);
	table_end(t);
}

/* What a table has no column for */
static void print_group(const struct report *rp)
{
	const struct wss *w = rp->data;
	const struct group *g = &w->kept.group;
	char name[GROUP_NAME], clean[GROUP_PATH], min[32] = "";

	if (!g->intervals || rp->out.format != TABLE_HUMAN)
		return;
	if (g->min < g->max)
		snprintf(min, sizeof(min), "%u to ", g->min);
	text_clean(clean, sizeof(clean), group_name(g, w->kept.names.nr, name));
	fprintf(rp->out.f, "PID -: total of %s%u processes (%s), each page once\n", min, g->max,
		clean);
	group_explain(g, rp->out.f);
	fputc('\n', rp->out.f);
}

static void print_kept(const struct report *rp, struct wsmon_wss_rows *rows)
{
	print_group(rp);
	if (options.by_size)
		wsmon_wss_sort(rows, true);
	if (!options.only_percentiles) {
		print_rows(rp, rows);
		if (rp->out.format != TABLE_HUMAN)
			return;
		if (rows->nr)
			fputc('\n', rp->out.f);
	}
	wsmon_wss_sort(rows, true);
	print_percentiles(rp, rows);
}

static void wss_end(struct report *rp)
{
	struct wss *w = rp->data;
	char name[GROUP_NAME];

	if (rp->out.picture.file)
		rp->failed = wss_plot(&rp->out.picture, &rp->filter,
				      &w->kept.rows, &w->kept.rss, &w->kept.names,
				      group_name(&w->kept.group, w->kept.names.nr, name),
				      &w->events) != 0;
	else if (w->table)
		table_end(w->table);
	else
		print_kept(rp, &w->kept.rows);
	events_free(&w->events);
	collect_free(&w->kept);
	free(w->scales.base);
	free(w);
}

static void set_percentiles(struct argp_state *state, char *list,
			    const struct option_desc *o __attribute__((unused)),
			    void *to __attribute__((unused)))
{
	char *text;

	options.only_percentiles = true;
	if (!list)
		return;
	options.nr_percentiles = 0;
	while ((text = strsep(&list, ","))) {
		if (options.nr_percentiles == PERCENTILES_MAX)
			usage_error(state, "at most %d percentiles", PERCENTILES_MAX);
		options.percentiles[options.nr_percentiles++] = option_count(state, text, 0, 100);
	}
}

static const struct option_desc own[] = {
	{ "sort", 0, "time|size", "Order of rows (time); size: smallest first, class by class", OPT_CHOICE,
	  OPT_AT(struct wss_options, by_size) },
	{ "percentiles", 0, "P,...", "Percentiles instead of rows: these (0,25,50,75,100)", OPT_CALL,
	  .call = set_percentiles, .optional = true },
	{ 0 }
};

const struct report_view report_wss = {
	.name = "wss",
	.help = "Working set sizes of each interval, process and class; percentiles",
	.takes = TAKES_CLASS | TAKES_WINDOW | TAKES_FORMAT | TAKES_PICTURE,
	.own = own,
	.options = &options,
	.no_snapshots = true,
	.begin = wss_begin,
	.record = wss_record,
	.end = wss_end,
};
