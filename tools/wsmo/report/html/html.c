// SPDX-License-Identifier: GPL-2.0
/*
 * html.c - "wsmo report html": one page with everything, which needs nothing
 * else
 *
 * The page's script draws what is in here as JSON. Long series are thinned out
 * before: however long a recording is, a page has so many points.
 */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assets.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "html.h"
#include "libwsmon/names.h"
#include "libwsmon/numbers/series.h"
#include "report/heatmap/maps.h"
#include "report/heatmap/view.h"
#include "sizing.h"

#define TARGETS_MAX	4096
#define MAPS_MAX	16	/* processes with a map in a page */
#define MAP_COLUMNS	300
#define MAP_LINES	36
#define MAP_FINE	3

/* Points of all curves together, and of one */
#define POINTS_ALL	60000
#define POINTS_MAX	1500
#define POINTS_MIN	50

/* Rows of hot regions in all, as long as each target's class has one */
#define HOT_ROWS	600
#define HOT_TOP		10

/**
 * struct html - state of the view
 * @maps:	heatmaps
 * @rows:	working set sizes
 * @rss:	resident sizes
 * @names:	struct wss_name
 * @curves:	working sets against windows
 * @summary:	the summary, a view of its own
 * @peaks:	peaks, marks and stacks, another one
 * @hot:	hot regions, another one
 */
struct html {
	struct maps *maps;
	struct wss_rows rows;
	struct wss_rows rss;
	struct sorted names;
	struct curves curves;
	struct report summary;
	struct report peaks;
	struct report hot;
};

static void html_begin(struct report *rp)
{
	struct html *h = calloc(1, sizeof(*h));

	if (!h) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	h->maps = maps_new(rp);
	curves_begin(&h->curves);
	h->names = (struct sorted) {
		.size = sizeof(struct wss_name), .max = TARGETS_MAX,
		.compare = wss_name_compare,
	};
	h->summary = *rp;
	h->summary.format = TABLE_JSON;
	h->summary.view = &report_summary;
	report_summary.begin(&h->summary);
	h->peaks = *rp;
	h->peaks.view = &report_peaks;
	report_peaks.begin(&h->peaks);
	h->hot = *rp;
	h->hot.format = TABLE_JSON;
	h->hot.view = &report_hot;
	report_hot.begin(&h->hot);
	rp->data = h;
}

static void take_name(struct html *h, const struct wsmon_rec_target *rec)
{
	const struct wss_name key = { .pid = rec->pid };
	struct wss_name *name = sorted_get(&h->names, &key);

	if (name)
		memcpy(name->comm, rec->comm, sizeof(name->comm));
}

static void take_wss(const struct report *rp, struct html *h,
		     const struct wsmon_rec_wss *w)
{
	if (filter_wants_class(&rp->filter, w->class) && filter_wants_window(&rp->filter, w->tau_us))
		wss_rows_add(&h->rows, &(struct wss_row) {
			.time_ns = w->rec.time_ns, .tau_us = w->tau_us,
			.bytes = w->bytes, .low = w->low, .high = w->high,
			.mapped = w->mapped, .pid = w->pid, .class = w->class,
		});
}

static void html_scan(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_proc *proc = (const void *)rec;
	struct html *h = rp->data;

	maps_scan(h->maps, rp, rec);
	curves_record(&h->curves, &rp->filter, rec);
	report_summary.record(&h->summary, rec);
	report_peaks.record(&h->peaks, rec);
	report_hot.record(&h->hot, rec);
	if (rec->type == WSMON_REC_TARGET)
		take_name(h, (const void *)rec);
	if (!filter_wants(&rp->filter, rec))
		return;
	if (rec->type == WSMON_REC_WSS)
		take_wss(rp, h, (const void *)rec);
	else if (rec->type == WSMON_REC_PROC)
		wss_rows_add(&h->rss, &(struct wss_row) {
			.time_ns = rec->time_ns, .pid = proc->pid,
			.bytes = proc->rss, .low = proc->rss, .high = proc->rss,
		});
}

static void html_scanned(struct report *rp)
{
	struct html *h = rp->data;

	if (maps_scanned(h->maps, rp) > MAPS_MAX)
		msg("heatmaps of the first %d processes only; choose with --pid",
		    MAPS_MAX);
	maps_layout(h->maps, rp, MAP_COLUMNS, MAP_LINES, MAP_FINE);
}

static void html_record(struct report *rp, const struct wsmon_record *rec)
{
	maps_record(((struct html *)rp->data)->maps, rp, rec);
}

void html_put_safely(const char *json)
{
	for (; *json; json++) {
		if (*json == '<')
			fputs("\\u003c", stdout);
		else
			putchar(*json);
	}
}

void html_put_text(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *utf8 = malloc(size);
	struct json_object *o = utf8 ?
		json_object_new_string(text_utf8(utf8, size, text)) : NULL;

	html_put_safely(o ? json_object_to_json_string_ext(o,
				JSON_C_TO_STRING_NOSLASHESCAPE) : "\"\"");
	json_object_put(o);
	free(utf8);
}

/* The JSON lines of a view of its own as an array */
static void put_lines(const char *key, struct report *view)
{
	char *text = html_capture(view), *line, *rest;
	const char *comma = "";

	printf("\"%s\":[", key);
	for (rest = text; (line = strsep(&rest, "\n")) && *line; comma = ",\n") {
		fputs(comma, stdout);
		html_put_safely(line);
	}
	puts("],");
	free(text);
}

static void put_hot(struct html *h)
{
	size_t each = HOT_ROWS / (h->names.nr * WSMON_NR_CLASSES + 1);

	h->hot.hot.top = each > HOT_TOP ? HOT_TOP : each ? each : 1;
	put_lines("hot", &h->hot);
}

/**
 * struct point - rows of a curve that are drawn as one
 * @t:		when the last of them was
 * @bytes:	their mean
 * @low:	the lowest lower end
 * @high:	the highest upper end
 */
struct point {
	double t, bytes;
	__u64 low, high;
};

static struct point join(const struct report *rp, const struct wss_row *row,
			 size_t nr)
{
	struct point p = { .low = row->low, .high = row->high };
	size_t i;

	for (i = 0; i < nr; i++) {
		p.bytes += (double)row[i].bytes / nr;
		p.low = row[i].low < p.low ? row[i].low : p.low;
		p.high = row[i].high > p.high ? row[i].high : p.high;
	}
	p.t = filter_time(&rp->filter, row[nr - 1].time_ns);
	return p;
}

/* [[t, bytes, low, high], ...] */
static void put_points(const struct report *rp, const struct wss_row *row,
		       size_t nr, size_t most)
{
	size_t each = (nr + most - 1) / most, i;

	putchar('[');
	for (i = 0; i < nr; i += each) {
		struct point p = join(rp, row + i,
				      nr - i < each ? nr - i : each);

		printf("%s[%.3f,%.0f,%llu,%llu]", i ? "," : "", p.t, p.bytes,
		       p.low, p.high);
	}
	putchar(']');
}

static size_t points_each(const struct html *h)
{
	size_t i, n = 1;

	for (i = 0; i < h->rows.nr; i = wss_series(&h->rows, i))
		n++;
	if (POINTS_ALL / n > POINTS_MAX)
		return POINTS_MAX;
	return POINTS_ALL / n > POINTS_MIN ? POINTS_ALL / n : POINTS_MIN;
}

static void put_series(const struct report *rp, const char *key,
		       struct wss_rows *rows, size_t most)
{
	size_t i, end;

	printf("\"%s\":[", key);
	wss_rows_sort(rows, false);
	for (i = 0; i < rows->nr; i = end) {
		end = wss_series(rows, i);
		printf("%s{\"pid\":%u,\"class\":\"%s\",\"window_us\":%llu,\"points\":",
		       i ? ",\n" : "", rows->row[i].pid,
		       class_name(rows->row[i].class), rows->row[i].tau_us);
		put_points(rp, &rows->row[i], end - i, most);
		putchar('}');
	}
	puts("],");
}

/* Of all rows, which are sorted by size: not of what is left for the curves */
static void put_percentiles(const struct wss_rows *rows)
{
	static const unsigned int percent[] = { 0, 25, 50, 75, 95, 100 };
	size_t i, j, end;

	fputs("\"percentiles\":[", stdout);
	for (i = 0; i < rows->nr; i = end) {
		end = wss_series(rows, i);
		printf("%s{\"pid\":%u,\"class\":\"%s\",\"window_us\":%llu,\"of\":[",
		       i ? ",\n" : "", rows->row[i].pid,
		       class_name(rows->row[i].class), rows->row[i].tau_us);
		for (j = 0; j < ARRAY_SIZE(percent); j++) {
			const struct wss_row *row =
				wss_percentile(&rows->row[i], end - i,
					       percent[j]);

			printf("%s[%u,%llu,%llu]", j ? "," : "", percent[j],
			       row->bytes, row->high);
		}
		fputs("]}", stdout);
	}
	puts("],");
}

static void put_band(const struct heatmap *m, const struct band *b)
{
	char name[HEATMAP_NAME];
	unsigned int i;

	printf("{\"line\":%u,\"lines\":%u,\"class\":\"%s\",\"bytes\":%llu,\"fold\":%llu,\"end\":\"%#llx\",\"name\":",
	       b->line, b->lines, class_name(m->spans.span[b->label].class),
	       b->bytes, b->fold ? b->gap : 0, m->spans.span[b->last].end);
	html_put_text(heatmap_name(name, m, b));
	fputs(",\"at\":[", stdout);
	for (i = 0; i < b->lines * m->fine; i++)
		printf("%s\"%#llx\"", i ? "," : "", heatmap_address(m, b, i));
	fputs("]}", stdout);
}

/* A character a cell: the square root of its share, or '.' for not mapped */
static void put_cells(const struct heatmap *m)
{
	static const char level[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+";
	unsigned int row, c;

	putchar('"');
	for (row = 0; row < m->lines * m->fine; row++) {
		for (c = 0; c < m->columns; c++) {
			double share = heatmap_share(m, row, c);

			putchar(share < 0 ? '.' :
				level[(size_t)(sqrt(share) * (sizeof(level) - 2) + 0.5)]);
		}
	}
	putchar('"');
}

static void put_maps(const struct report *rp, const struct html *h)
{
	const struct heatmap *m = h->maps->targets.base;
	size_t i, j;

	fputs("\"maps\":[", stdout);
	for (i = 0; i < h->maps->targets.nr && i < MAPS_MAX; i++, m++) {
		printf("%s{\"pid\":%u,\"from\":%.3f,\"to\":%.3f,\"columns\":%u,\"rows\":%u,\"fine\":%u,\"bands\":[",
		       i ? ",\n" : "", m->pid, filter_time(&rp->filter, m->from_ns),
		       filter_time(&rp->filter, m->to_ns), m->columns,
		       m->lines * m->fine, m->fine);
		for (j = 0; j < m->nr_bands; j++) {
			fputs(j ? ",\n" : "", stdout);
			put_band(m, &m->bands[j]);
		}
		fputs("],\"cells\":", stdout);
		put_cells(m);
		putchar('}');
	}
	puts("],");
}

static void put_names(const struct html *h)
{
	const struct wss_name *name = h->names.base;
	size_t i;

	fputs("\"names\":{", stdout);
	for (i = 0; i < h->names.nr; i++) {
		printf("%s\"%u\":", i ? "," : "", name[i].pid);
		html_put_text(name[i].comm);
	}
	puts("}}");
}

static void html_end(struct report *rp)
{
	struct html *h = rp->data;
	size_t most;

	wss_rows_sort(&h->rows, true);
	most = points_each(h);
	puts("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	     "<title>wsmon: working sets</title>");
	printf("<style>\n%s\n%s</style>\n", html_uplot_style, html_style);
	fputs(html_body, stdout);
	puts("<script type=\"application/json\" id=\"data\">{");
	h->summary.cut = rp->cut;
	put_lines("summary", &h->summary);
	put_percentiles(&h->rows);
	put_series(rp, "wss", &h->rows, most);
	put_series(rp, "rss", &h->rss, most);
	put_maps(rp, h);
	html_put_events(rp, &h->maps->events, &h->peaks);
	html_put_sizing(rp, &h->curves);
	put_hot(h);
	put_names(h);
	printf("</script>\n<!-- uPlot:\n%s-->\n<script>\n%s\n</script>\n<script>\n%s</script>\n<script>\n%s</script>\n</html>\n",
	       html_uplot_licence, html_uplot_script, html_heatmap_script,
	       html_script);
	maps_free(h->maps);
	curves_end(&h->curves);
	free(h->rows.row);
	free(h->rss.row);
	free(h->names.base);
	free(h);
}

const struct report_view report_html = {
	.name = "html",
	.help = "a page of charts that explain themselves, for a browser",
	.begin = html_begin,
	.scan = html_scan,
	.scanned = html_scanned,
	.record = html_record,
	.end = html_end,
};
