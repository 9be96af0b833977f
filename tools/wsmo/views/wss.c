// SPDX-License-Identifier: GPL-2.0
/*
 * wss.c - "wsmo report wss": each working set size with its interval, and percentiles
 *
 * A group has rows of its total and of its targets. Rows in JSON, CSV and --raw are printed as they
 * are read. For bars, percentiles, --sort and pictures all rows are kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "core/term.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/events.h"
#include "libwsmon/filter.h"
#include "libwsmon/names.h"
#include "libwsmon/series.h"
#include "plot.h"
#include "report.h"

/** struct scale - the largest size of a target, which has the longest bar */
struct scale {
	__u32 pid;
	__u64 max;
};

/**
 * struct wss - state of the view
 * @table:	table for rows printed as they are read; NULL if rows are kept
 * @kept:	kept rows, and names
 * @scales:	struct scale
 * @events:	peaks and marks
 * @window_us:	the shortest window of @kept
 * @bar:	length of the longest bar, in characters
 */
struct wss {
	struct table *table;
	struct collected kept;
	struct sorted scales;
	struct events events;
	__u64 window_us;
	unsigned int bar;
};

/*
 * The picture
 *
 * The estimate is a line, its 95 % interval a band around it. RSS is a dashed line.
 */

#define SERIES_MAX	PLOT_COLORS

/**
 * struct axes - units of the axes
 * @zero_ns:	when the recording began
 * @per_time:	nanoseconds in a unit of time
 * @time:	name of the unit of time
 * @per_size:	bytes in a unit of size
 * @size:	name of the unit of size
 */
struct axes {
	__u64 zero_ns;
	double per_time;
	const char *time;
	double per_size;
	const char *size;
};

static __u64 shortest(const struct wsmon_wss_rows *rows)
{
	__u64 window = ~0ULL;
	size_t i;

	for (i = 0; i < rows->nr; i++)
		if (rows->row[i].window_us < window)
			window = rows->row[i].window_us;
	return window;
}

/* Leave out parts of memory and longer windows, unless options name them */
static void choose(const struct filter *filter, struct wsmon_wss_rows *rows)
{
	__u64 window = shortest(rows);
	size_t i, n = 0;

	for (i = 0; i < rows->nr; i++) {
		const struct wsmon_wss_row *row = &rows->row[i];

		if ((filter->classes || row->class == WSMON_CLASS_ALL) &&
		    (filter->nr_windows || row->window_us == window))
			rows->row[n++] = *row;
	}
	rows->nr = n;
}

static size_t count_series(const struct wsmon_wss_rows *rows)
{
	size_t i, n = 0;

	for (i = 0; i < rows->nr; i = wsmon_wss_series(rows, i))
		n++;
	return n;
}

static void choose_axes(struct axes *ax, const struct wsmon_wss_rows *rows,
			const struct wsmon_wss_rows *rss)
{
	__u64 max = 0, first = ~0ULL, last = 0;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		const struct wsmon_wss_row *row = &rows->row[i];

		max = row->high > max ? row->high : max;
		first = row->time_ns < first ? row->time_ns : first;
		last = row->time_ns > last ? row->time_ns : last;
	}
	for (i = 0; i < rss->nr; i++)
		max = rss->row[i].bytes > max ? rss->row[i].bytes : max;
	ax->per_size = plot_size_unit(max, &ax->size);
	ax->per_time = plot_time_unit(last - first, &ax->time);
}

static void plot_data(struct plot *p, const struct axes *ax, const char *name,
		      size_t nr, const struct wsmon_wss_rows *rows, size_t first,
		      size_t end)
{
	size_t i;

	plot_printf(p, "$%s%zu << END\n", name, nr);
	for (i = first; i < end; i++) {
		const struct wsmon_wss_row *row = &rows->row[i];

		plot_printf(p, "%.9g %.9g %.9g %.9g\n",
			    (__s64)(row->time_ns - ax->zero_ns) / ax->per_time,
			    row->bytes / ax->per_size, row->low / ax->per_size,
			    row->high / ax->per_size);
	}
	plot_printf(p, "END\n");
}

/* Names a series, such as "redis-server (123) heap, 10 s" */
static void series_name(char *buf, size_t size, const struct collected *kept,
			const struct wsmon_wss_row *row)
{
	char window[UNITS_LEN], who[64], name[GROUP_NAME];
	const char *group = collect_group(kept, name);

	/* if the path of a cgroup is too long, keep its end, which is the most specific part */
	if (row->group)
		snprintf(who, sizeof(who), "%s (total)",
			 strlen(group) > 48 ? group + strlen(group) - 48 : group);
	else
		snprintf(who, sizeof(who), "%s (%u)", collect_comm(kept, row->pid), row->pid);
	snprintf(buf, size, "%s %s, window %s", who,
		 row->class == WSMON_CLASS_ALL ? "working set" : class_name(row->class),
		 units_time(window, row->window_us * NSEC_PER_USEC));
}

static void plot_curves(struct plot *p, const struct collected *kept)
{
	const struct wsmon_wss_rows *rows = &kept->rows, *rss = &kept->rss;
	char title[128], text[PLOT_TEXT];
	size_t i, lines = 0, others = 0;

	for (i = 0; i < rows->nr; i = wsmon_wss_series(rows, i)) {
		series_name(title, sizeof(title), kept, &rows->row[i]);
		plot_printf(p, "title%zu = %s\n", lines++, plot_text(text, title));
	}
	for (i = 0; i < rss->nr; i = wsmon_wss_series(rss, i))
		plot_printf(p, "other_title%zu = 'resident (%u)'\n", others++, rss->row[i].pid);
	plot_lines(p, lines, "", others);
}

/* Draw working sets over time. Return: 0, or -1 after a message */
static int draw(const struct report *rp)
{
	struct wss *w = rp->data;
	struct wsmon_wss_rows *rows = &w->kept.rows, *rss = &w->kept.rss;
	struct axes ax = { .zero_ns = rp->filter.zero_ns };
	struct plot p;
	size_t i, n;

	choose(&rp->filter, rows);
	wsmon_wss_sort(rows, false);
	wsmon_wss_sort(rss, false);
	if (!rows->nr) {
		msg("there is nothing to draw: --time, --pid, --class or --window leave no working set");
		return -1;
	}
	if (count_series(rows) > SERIES_MAX) {
		msg("%s: no room for %zu curves; choose with --pid, --class and --window",
		    rp->out.picture.file, count_series(rows));
		return -1;
	}
	choose_axes(&ax, rows, rss);
	if (plot_open(&p, &rp->out.picture))
		return -1;
	for (i = 0, n = 0; i < rows->nr; i = wsmon_wss_series(rows, i))
		plot_data(&p, &ax, "line", n++, rows, i, wsmon_wss_series(rows, i));
	for (i = 0, n = 0; i < rss->nr; i = wsmon_wss_series(rss, i))
		plot_data(&p, &ax, "other", n++, rss, i, wsmon_wss_series(rss, i));
	plot_printf(&p, "set yrange [0:*]\nset autoscale xfix\n");
	plot_printf(&p, "set xlabel 'time, %s'\nset ylabel 'size, %s (band: 95 %% interval)'\n",
		    ax.time, ax.size);
	plot_events(&p, &w->events, ax.zero_ns, ax.per_time);
	plot_curves(&p, &w->kept);
	return plot_close(&p);
}

/*
 * The view
 */

#define PERCENTILES_MAX	32

/* Characters of a line before the bar */
#define BESIDE_BAR	70

struct size_row {
	double t;
	const char *scope;
	__u64 pid;
	const char *comm, *name, *class;
	__u64 window_us, percentile, bytes, low, high;
	const char *bar;
};

#define ROW struct size_row

#define WHOSE									\
	COL(scope, TEXT, 7, "SCOPE", NOT_HUMAN,					\
	    "``process``; or ``group``: all members together, each page counted once"), \
	COL(pid, COUNT, 7, "PID", OR_NULL, "the process; null for a group"),	\
	COL(comm, TEXT, 4, "COMM", NOT_HUMAN | OR_NULL, "its name; null for a group"), \
	COL(name, TEXT, 4, "NAME", NOT_HUMAN | OR_NULL,				\
	    "the group, as in ``group``; null for a process"),			\
	COL(class, TEXT, 7, "CLASS", 0, "class of memory; ``all`` is the whole process"), \
	COL(window_us, US, 6, "WINDOW", 0, "the window")

#define BAR	COL(bar, TEXT, BAR_MIN, "BAR", NOT_CSV | NOT_JSON | 1U << TABLE_RAW, "")

TABLE(wss_table, "wss",
	COL(t, T, 8, "TIME", 0, "end of the aggregation interval"),
	WHOSE,
	COL(bytes, SIZE, 10, "WSS", 0, "the working set: memory accessed within the window"),
	COL(low, SIZE, 10, "LOW", 0, "lower end of the 95 % interval"),
	COL(high, SIZE, 10, "HIGH", 0, "upper end"),
	BAR);

TABLE(percentile_table, "wss_percentile",
	WHOSE,
	COL(percentile, COUNT, 3, "%", 0, "percent of the intervals with at most this working set"),
	COL(bytes, SIZE, 10, "WSS", 0, "the working set, by the nearest rank"),
	COL(low, SIZE, 10, "LOW", 0, "lower end of its 95 % interval"),
	COL(high, SIZE, 10, "HIGH", 0, "upper end"),
	COL(t, T, 8, "AT", 0, "time of this working set"),
	BAR);

/**
 * struct wss_options - the command line
 * @by_size:	sort rows by size
 * @only_percentiles: no rows but percentiles
 * @percentiles: @nr_percentiles percentiles to print
 */
static struct wss_options {
	bool by_size;
	bool only_percentiles;
	unsigned int percentiles[PERCENTILES_MAX];
	size_t nr_percentiles;
} options = {
	.percentiles = { 0, 25, 50, 75, 100 }, .nr_percentiles = 5,
};

static void wss_begin(struct report *rp)
{
	struct wss *w = need(calloc(1, sizeof(*w)));

	collect_init(&w->kept);
	w->scales = SORTED(struct scale, TARGETS_MAX, order_u32);
	w->bar = bar_width(BESIDE_BAR);
	if (rp->out.format != TABLE_HUMAN && !options.by_size &&
	    !options.only_percentiles)
		w->table = report_table(rp, &wss_table);
	rp->data = w;
}

/* Add peaks and marks to a row. Only rows of all memory have them, so each is printed once */
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

/* @percent: the percentile that the row is; NULL: none */
static void print_row(const struct report *rp, struct table *t,
		      const struct wsmon_wss_row *row, const unsigned int *percent)
{
	char text[BAR_TEXT + EVENTS_LABEL], name[GROUP_NAME];
	const struct wss *w = rp->data;
	const struct scale *scale = sorted_find(&w->scales, &(struct scale){ .pid = row->pid });

	bar_text(text, row->low, row->high, scale ? scale->max : 0, w->bar);
	if (!percent)
		add_events(rp, text, sizeof(text), row);
	table_row(t, &(struct size_row) {
		.t = filter_time(&rp->filter, row->time_ns),
		.scope = row->group ? "group" : "process",
		.pid = row->group ? UNKNOWN_U64 : row->pid,
		.comm = row->group ? NULL : collect_comm(&w->kept, row->pid),
		.name = row->group ? collect_group(&w->kept, name) : NULL,
		.class = class_name(row->class),
		.window_us = row->window_us,
		.percentile = percent ? *percent : 0,
		.bytes = row->bytes, .low = row->low, .high = row->high,
		.bar = text,
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
			print_row(rp, w->table, &rows->row[i], NULL);
		else
			scale(w, &rows->row[i]);
	}
	if (w->table)
		rows->nr = 0;
	if (!rp->out.picture.file)
		w->kept.rss.nr = 0;
}

/* @rows are sorted by size */
static void print_percentiles(const struct report *rp,
			      const struct wsmon_wss_rows *rows)
{
	struct table *t = report_table(rp, &percentile_table);
	size_t first, end, i;

	for (first = 0; first < rows->nr; first = end) {
		end = wsmon_wss_series(rows, first);
		for (i = 0; i < options.nr_percentiles; i++)
			print_row(rp, t,
				  wsmon_wss_percentile(&rows->row[first], end - first,
						       options.percentiles[i]),
				  &options.percentiles[i]);
	}
	table_end(t);
}

static void print_rows(const struct report *rp, const struct wsmon_wss_rows *rows)
{
	struct table *t = report_table(rp, &wss_table);
	size_t i;

	for (i = 0; i < rows->nr; i++)
		if (rows->row[i].group)
			print_row(rp, t, &rows->row[i], NULL);
	for (i = 0; i < rows->nr; i++)
		if (!rows->row[i].group)
			print_row(rp, t, &rows->row[i], NULL);
	table_end(t);
}

/* Describe the group, for which the table has no column */
static void print_group(const struct report *rp)
{
	const struct wss *w = rp->data;
	const struct group *g = &w->kept.group;
	char name[GROUP_NAME], clean[GROUP_PATH], min[32] = "";

	if (!g->intervals || rp->out.format != TABLE_HUMAN)
		return;
	if (g->min < g->max)
		snprintf(min, sizeof(min), "%u to ", g->min);
	text_clean(clean, sizeof(clean), collect_group(&w->kept, name));
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

	if (rp->out.picture.file)
		rp->failed = draw(rp) != 0;
	else if (w->table)
		table_end(w->table);
	else
		print_kept(rp, &w->kept.rows);
	collect_events_free(&w->events);
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

REPORT_VIEW(wss_view) = {
	.order = 1,
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
