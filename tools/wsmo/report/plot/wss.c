// SPDX-License-Identifier: GPL-2.0
/*
 * wss.c - the working set over time as a picture
 *
 * The estimate is a line, its 95 % interval a band around it, RSS is dashed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "events.h"
#include "libwsmon/names.h"
#include "plot.h"
#include "wss.h"

#define SERIES_MAX	PLOT_COLORS

/**
 * struct axes - what the numbers are in
 * @zero_ns:	when the recording began
 * @per_time:	nanoseconds of a unit of time
 * @time:	its name
 * @per_size:	bytes of a unit of size
 * @size:	its name
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

/* Leave out what was not asked for by name */
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
	static const char * const names[] = { "KiB", "MiB", "GiB", "TiB" };
	__u64 max = 0, first = ~0ULL, last = 0;
	size_t i, unit = 0;

	for (i = 0; i < rows->nr; i++) {
		const struct wsmon_wss_row *row = &rows->row[i];

		max = row->high > max ? row->high : max;
		first = row->time_ns < first ? row->time_ns : first;
		last = row->time_ns > last ? row->time_ns : last;
	}
	for (i = 0; i < rss->nr; i++)
		max = rss->row[i].bytes > max ? rss->row[i].bytes : max;
	while (unit + 1 < ARRAY_SIZE(names) && max >> (10 * (unit + 2)))
		unit++;
	ax->per_size = 1ULL << (10 * (unit + 1));
	ax->size = names[unit];
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

/* "redis-server (123) heap, 10 s": enough to distinguish the series */
static void series_name(char *buf, size_t size, const struct wsmon_wss_row *row,
			const struct sorted *names, const char *group)
{
	const struct wss_name key = { .pid = row->pid };
	const struct wss_name *name = sorted_find(names, &key);
	char window[UNITS_LEN], who[64];

	/* the end of a path says most */
	if (row->group)
		snprintf(who, sizeof(who), "%s (total)",
			 strlen(group) > 48 ? group + strlen(group) - 48 : group);
	else
		snprintf(who, sizeof(who), "%s (%u)", name ? name->comm : "", row->pid);
	snprintf(buf, size, "%s %s, window %s", who,
		 row->class == WSMON_CLASS_ALL ? "working set" : class_name(row->class),
		 units_time(window, row->window_us * NSEC_PER_USEC));
}

static void plot_curves(struct plot *p, const struct wsmon_wss_rows *rows,
			const struct wsmon_wss_rows *rss, const struct sorted *names,
			const char *group)
{
	char title[128], text[PLOT_TEXT];
	const char *comma = "plot";
	size_t i, n = 0;

	for (i = 0; i < rows->nr; i = wsmon_wss_series(rows, i), n++) {
		series_name(title, sizeof(title), &rows->row[i], names, group);
		plot_printf(p, "%s $wss%zu using 1:3:4 with filledcurves fc rgb '#b0%s' notitle, $wss%zu using 1:2 with lines lw 1.5 lc rgb '#%s' title %s",
			    comma, n, plot_colors[n], n, plot_colors[n],
			    plot_text(text, title));
		comma = ",";
	}
	for (i = 0, n = 0; i < rss->nr; i = wsmon_wss_series(rss, i), n++) {
		snprintf(title, sizeof(title), "resident (%u)", rss->row[i].pid);
		plot_printf(p, ", $rss%zu using 1:2 with lines dt 2 lw 1.5 lc rgb '#444444' title %s",
			    n, plot_text(text, title));
	}
	plot_printf(p, "\n");
}

int wss_plot(const struct picture *picture, const struct filter *filter,
	     struct wsmon_wss_rows *rows, struct wsmon_wss_rows *rss,
	     const struct sorted *names, const char *group, const struct events *events)
{
	struct axes ax = { .zero_ns = filter->zero_ns };
	struct plot p;
	size_t i, n;

	choose(filter, rows);
	wsmon_wss_sort(rows, false);
	wsmon_wss_sort(rss, false);
	if (!rows->nr) {
		msg("there is nothing to draw: --time, --pid, --class and --window leave no working set over");
		return -1;
	}
	if (count_series(rows) > SERIES_MAX) {
		msg("%s: no room for %zu curves; choose with --pid, --class and --window",
		    picture->file, count_series(rows));
		return -1;
	}
	choose_axes(&ax, rows, rss);
	if (plot_open(&p, picture))
		return -1;
	for (i = 0, n = 0; i < rows->nr; i = wsmon_wss_series(rows, i))
		plot_data(&p, &ax, "wss", n++, rows, i, wsmon_wss_series(rows, i));
	for (i = 0, n = 0; i < rss->nr; i = wsmon_wss_series(rss, i))
		plot_data(&p, &ax, "rss", n++, rss, i, wsmon_wss_series(rss, i));
	plot_printf(&p, "set yrange [0:*]\nset grid lc rgb '#d0d0d0' lt 1\n");
	plot_printf(&p, "set xlabel 'time, %s'\nset ylabel 'size, %s (band: 95 %% interval)'\n",
		    ax.time, ax.size);
	plot_printf(&p, "set key above Left reverse\nset border 3\nset tics nomirror\nset autoscale xfix\n");
	plot_events(&p, events, ax.zero_ns, ax.per_time);
	plot_curves(&p, rows, rss, names, group);
	return plot_close(&p);
}
