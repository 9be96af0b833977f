// SPDX-License-Identifier: GPL-2.0
/*
 * wss.c - "wsmo report wss": each working set size, with its interval, and
 * what they were most of the time
 *
 * Rows in the order of the file are printed as they come. For bars, percentiles,
 * another order or a picture all of them have to be kept.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "libwsmon/names.h"
#include "libwsmon/numbers/events.h"
#include "report/plot/wss.h"

#define TARGETS_MAX	65536

/* What the other columns take, with the blanks between them */
#define BESIDE_BAR	70

enum { T, PID, CLASS, TAU, BYTES, LOW, HIGH, BAR };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0, "seconds since the recording began" },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of memory; all is the whole target" },
	[TAU]	= { "window_us", "WINDOW", COL_US, 6, 0, "the window, microseconds" },
	[BYTES]	= { "bytes", "WSS", COL_SIZE, 10, 0, "working set: bytes accessed within the window" },
	[LOW]	= { "low", "LOW", COL_SIZE, 10, 0, "lower end of its 95 % interval" },
	[HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0, "upper end" },
	[BAR]	= { "bar", "BAR", COL_TEXT, BAR_MIN, NOT_CSV | NOT_JSON | 1U << TABLE_RAW, "up to LOW, then up to HIGH; as wide as it gets for the target's greatest. Behind it peaks and marks of the interval" },
};

static const struct table_desc desc = {
	.type = "wss", .columns = columns, .nr = ARRAY_SIZE(columns),
};

enum { P_PID, P_CLASS, P_TAU, P_PERCENT, P_BYTES, P_LOW, P_HIGH, P_T, P_BAR };

static const struct column percentile_columns[] = {
	[P_PID]		= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[P_CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of memory; all is the whole target" },
	[P_TAU]		= { "window_us", "WINDOW", COL_US, 6, 0, "the window, microseconds" },
	[P_PERCENT]	= { "percentile", "%", COL_COUNT, 3, 0, "per cent of the intervals have at most this working set" },
	[P_BYTES]	= { "bytes", "WSS", COL_SIZE, 10, 0, "that working set" },
	[P_LOW]		= { "low", "LOW", COL_SIZE, 10, 0, "lower end of its 95 % interval" },
	[P_HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0, "upper end" },
	[P_T]		= { "t", "AT", COL_T, 8, 0, "when that was" },
	[P_BAR]		= { "bar", "BAR", COL_TEXT, BAR_MIN, NOT_CSV | NOT_JSON | 1U << TABLE_RAW, "up to LOW, then up to HIGH; as wide as it gets for the target's greatest" },
};

static const struct table_desc percentile_desc = {
	.type = "wss_percentile", .columns = percentile_columns,
	.nr = ARRAY_SIZE(percentile_columns),
};

static const struct table_desc * const tables[] = { &desc, &percentile_desc };

/** struct scale - what a target's bars are measured by */
struct scale {
	__u32 pid;
	__u64 most;
};

/**
 * struct wss - state of the view
 * @table:	rows are printed there as they come; NULL if they are kept
 * @rows:	the rows kept
 * @rss:	resident sizes, for a picture
 * @names:	struct wss_name, for a picture
 * @scales:	struct scale
 * @events:	peaks and marks
 * @tau_us:	the shortest window of @rows
 * @bar:	columns of a bar
 */
struct wss {
	struct table *table;
	struct wss_rows rows;
	struct wss_rows rss;
	struct sorted names;
	struct sorted scales;
	struct events events;
	__u64 tau_us;
	unsigned int bar;
};

static int compare_scales(const void *a, const void *b)
{
	const struct scale *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void wss_begin(struct report *rp)
{
	struct wss *w = calloc(1, sizeof(*w));

	if (!w) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	w->names = (struct sorted) {
		.size = sizeof(struct wss_name), .max = TARGETS_MAX,
		.compare = wss_name_compare,
	};
	w->scales = (struct sorted) {
		.size = sizeof(struct scale), .max = TARGETS_MAX,
		.compare = compare_scales,
	};
	w->bar = bar_width(BESIDE_BAR);
	if (rp->format != TABLE_HUMAN && !rp->wss.by_size &&
	    !rp->wss.only_percentiles)
		w->table = table_new(&desc, rp->format);
	rp->data = w;
}

static const char *bar(char *text, const struct wss *w, const struct wss_row *row)
{
	const struct scale key = { .pid = row->pid };
	const struct scale *scale = sorted_find(&w->scales, &key);

	return bar_text(text, row->low, row->high, scale ? scale->most : 0,
			w->bar);
}

/* What happened is told once for an interval: beside the whole target */
static void add_events(const struct report *rp, char *text, size_t size,
		       const struct wss_row *row)
{
	const struct wsmon_attrs *attrs = &rp->reader.header.attrs;
	const struct wss *w = rp->data;
	size_t len = strlen(text);
	char label[EVENTS_LABEL];

	if (row->class != WSMON_CLASS_ALL || row->tau_us != w->tau_us)
		return;
	events_label(label, &w->events, row->pid, row->time_ns,
		     attrs->aggr_us * 1000);
	snprintf(text + len, size - len, "%s%s", *label ? " " : "", label);
}

static void print_row(const struct report *rp, struct table *t,
		      const struct wss_row *row)
{
	char text[BAR_TEXT + EVENTS_LABEL];

	bar(text, rp->data, row);
	add_events(rp, text, sizeof(text), row);
	table_row(t, (struct cell[]) {
		[T]	= cell_d(filter_time(&rp->filter, row->time_ns)),
		[PID]	= cell_u(row->pid),
		[CLASS]	= cell_s(class_name(row->class)),
		[TAU]	= cell_u(row->tau_us),
		[BYTES]	= cell_u(row->bytes),
		[LOW]	= cell_u(row->low),
		[HIGH]	= cell_u(row->high),
		[BAR]	= cell_s(text),
	});
}

static void keep(struct wss *w, const struct wss_row *row)
{
	const struct scale key = { .pid = row->pid };
	struct scale *scale = sorted_get(&w->scales, &key);

	if (scale && row->high > scale->most)
		scale->most = row->high;
	if (!w->tau_us || row->tau_us < w->tau_us)
		w->tau_us = row->tau_us;
	wss_rows_add(&w->rows, row);
}

static void take_wss(const struct report *rp, const struct wsmon_rec_wss *rec)
{
	struct wss *w = rp->data;
	const struct wss_row row = {
		.time_ns = rec->rec.time_ns, .tau_us = rec->tau_us,
		.bytes = rec->bytes, .low = rec->low, .high = rec->high,
		.pid = rec->pid, .class = rec->class,
	};

	if (!filter_wants_class(&rp->filter, row.class) ||
	    !filter_wants_window(&rp->filter, row.tau_us))
		return;
	if (w->table)
		print_row(rp, w->table, &row);
	else
		keep(w, &row);
}

static void take_name(struct wss *w, const struct wsmon_rec_target *rec)
{
	const struct wss_name key = { .pid = rec->pid };
	struct wss_name *name = sorted_get(&w->names, &key);

	if (name)
		memcpy(name->comm, rec->comm, sizeof(name->comm));
}

static void wss_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_proc *proc = (const void *)rec;
	struct wss *w = rp->data;

	if (rec->type == WSMON_REC_TARGET && rp->output)
		take_name(w, (const void *)rec);
	if (!filter_wants(&rp->filter, rec))
		return;
	events_add(&w->events, rec);
	if (rec->type == WSMON_REC_WSS)
		take_wss(rp, (const void *)rec);
	else if (rec->type == WSMON_REC_PROC && rp->output)
		wss_rows_add(&w->rss, &(struct wss_row) {
			.time_ns = rec->time_ns, .pid = proc->pid,
			.bytes = proc->rss,
		});
}

static void print_percentile(const struct report *rp, struct table *t,
			     const struct wss_row *row, unsigned int percent)
{
	char text[BAR_TEXT];

	table_row(t, (struct cell[]) {
		[P_PID]		= cell_u(row->pid),
		[P_CLASS]	= cell_s(class_name(row->class)),
		[P_TAU]		= cell_u(row->tau_us),
		[P_PERCENT]	= cell_u(percent),
		[P_BYTES]	= cell_u(row->bytes),
		[P_LOW]		= cell_u(row->low),
		[P_HIGH]	= cell_u(row->high),
		[P_T]		= cell_d(filter_time(&rp->filter, row->time_ns)),
		[P_BAR]		= cell_s(bar(text, rp->data, row)),
	});
}

/* @rows are sorted by size */
static void print_percentiles(const struct report *rp,
			      const struct wss_rows *rows)
{
	const struct wss_options *opt = &rp->wss;
	struct table *t = table_new(&percentile_desc, rp->format);
	size_t first, end, i;

	for (first = 0; first < rows->nr; first = end) {
		end = wss_series(rows, first);
		for (i = 0; i < opt->nr_percentiles; i++)
			print_percentile(rp, t,
				wss_percentile(&rows->row[first], end - first,
					       opt->percentiles[i]),
				opt->percentiles[i]);
	}
	table_end(t);
}

static void print_rows(const struct report *rp, const struct wss_rows *rows)
{
	struct table *t = table_new(&desc, rp->format);
	size_t i;

	for (i = 0; i < rows->nr; i++)
		print_row(rp, t, &rows->row[i]);
	table_end(t);
}

static void print_kept(const struct report *rp, struct wss_rows *rows)
{
	if (rp->wss.by_size)
		wss_rows_sort(rows, true);
	if (!rp->wss.only_percentiles)
		print_rows(rp, rows);
	if (!rp->wss.only_percentiles && rp->format != TABLE_HUMAN)
		return;
	if (!rp->wss.only_percentiles && rows->nr)
		putchar('\n');
	wss_rows_sort(rows, true);
	print_percentiles(rp, rows);
}

static void wss_end(struct report *rp)
{
	struct wss *w = rp->data;

	if (rp->output)
		rp->failed = wss_plot(rp, &w->rows, &w->rss, &w->names,
				      &w->events) != 0;
	else if (w->table)
		table_end(w->table);
	else
		print_kept(rp, &w->rows);
	events_free(&w->events);
	free(w->rows.row);
	free(w->rss.row);
	free(w->names.base);
	free(w->scales.base);
	free(w);
}

const struct report_view report_wss = {
	.name = "wss",
	.help = "the working set size of each target and class, each interval, and percentiles of it",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.no_snapshots = true,
	.plots = true,
	.begin = wss_begin,
	.record = wss_record,
	.end = wss_end,
};
