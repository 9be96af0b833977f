// SPDX-License-Identifier: GPL-2.0
/*
 * html.c - "wsmo report html": one page with all reports, which loads no other file
 *
 * A script in the page draws the JSON in the page. Long series are thinned out, so that the page
 * does not grow with the recording.
 */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asset.h"
#include "collect.h"
#include "core/cli.h"
#include "core/text.h"
#include "grid.h"
#include "hot.h"
#include "libwsmon/curve.h"
#include "libwsmon/names.h"
#include "libwsmon/sizing.h"
#include "who.h"

/*
 * The files that go into the page
 */

ASSET(html_body, "tools/wsmo/views/html/page.html");
ASSET(html_style, "tools/wsmo/views/html/page.css");
ASSET(html_heatmap_script, "tools/wsmo/views/html/heatmap.js");
ASSET(html_script, "tools/wsmo/views/html/page.js");
ASSET(html_uplot_style, "third_party/uplot/uPlot.min.css");
ASSET(html_uplot_script, "third_party/uplot/uPlot.iife.min.js");
ASSET(html_uplot_licence, "third_party/uplot/LICENSE");

/*
 * JSON for the page
 */

/* Prints JSON inside a page; escapes it, so that no part looks like a tag */
static void put_safely(const char *json)
{
	for (; *json; json++) {
		if (*json == '<') {
			fputs("\\u003c", stdout);
		} else if (*json == '\\' && json[1]) {
			/* the page shows escaped characters as \u... */
			printf(json[1] == 'u' ? "\\\\%c" : "\\%c", json[1]);
			json++;
		} else {
			putchar(*json);
		}
	}
}

/** put_text() - print an untrusted text */
static void put_text(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *utf8 = need(malloc(size)), *json = NULL;
	struct json_object *o =
		need(json_object_new_string(text_utf8(utf8, size, text)));
	FILE *f = need(open_memstream(&json, &size));

	text_put_json(f, json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	fclose(f);
	put_safely(json);
	json_object_put(o);
	free(json);
	free(utf8);
}

/**
 * put_lines() - print a member of the page's JSON, an array of objects, and a comma
 * @lines: one object on each line; modified
 */
static void put_lines(const char *key, char *lines)
{
	const char *comma = "";
	char *line;

	printf("\"%s\":[", key);
	for (; (line = strsep(&lines, "\n")) && *line; comma = ",\n") {
		fputs(comma, stdout);
		put_safely(line);
	}
	puts("],");
}

/*
 * Working-set curves and limits
 */

/* Points of a line */
#define CURVE_STEPS	60

/* JSON has no infinity */
static void put_number(double x)
{
	if (isfinite(x))
		printf("%.3f", x);
	else
		fputs("null", stdout);
}

static void put_limit(const struct wsmon_limit *at, bool knee)
{
	const double number[] = {
		at->bytes, at->window, at->refaults, at->low, at->high, at->missed,
	};
	size_t i;

	printf("{\"bound\":%u,\"knee\":%s,\"of\":[", at->bound,
	       knee ? "true" : "false");
	for (i = 0; i < ARRAY_SIZE(number); i++) {
		fputs(i ? "," : "", stdout);
		put_number(number[i]);
	}
	fputs("]}", stdout);
}

static void put_curve(const struct wsmon_curve *c, const struct slowdown *s)
{
	static const struct sizing_choice choice = { .max_refaults = SIZING_REFAULTS };
	struct sizing_row row[SIZING_ROWS];
	size_t n = sizing_rows(&choice, s, c, row), i;

	printf("{\"pid\":%u,\"class\":\"%s\",\"rss\":%.0f,\"growth\":%.0f,\"points\":[",
	       c->pid, class_name(c->class), c->rss, c->growth);
	for (i = 0; i < c->nr; i++)
		printf("%s[%.6f,%.0f,%.0f,%.0f]", i ? "," : "", c->point[i].window,
		       c->point[i].size, c->point[i].low, c->point[i].high);
	fputs("],\"line\":[", stdout);
	for (i = 0; i <= CURVE_STEPS; i++) {
		double size = c->size[1] + (c->size[c->nr] - c->size[1]) * i / CURVE_STEPS;
		struct wsmon_limit at = slowdown_limit(s, c, size);

		fputs(i ? "," : "", stdout);
		put_limit(&at, false);
	}
	fputs("],\"rows\":[", stdout);
	for (i = 0; i < n; i++) {
		fputs(i ? "," : "", stdout);
		put_limit(&row[i].at, row[i].knee);
	}
	fputs("]}", stdout);
}

/** put_sizing() - fit the curves, print the member "sizing" and a comma */
static void put_sizing(struct wsmon_curves *cs, const struct slowdown *s)
{
	const struct wsmon_curve *c;
	size_t i;

	if (wsmon_curves_fit(cs) < 0 || wsmon_curves_fit(s->files) < 0)
		need(NULL);
	fputs("\"sizing\":[", stdout);
	for (i = 0; (c = wsmon_curves_get(cs, i)); i++) {
		fputs(i ? ",\n" : "", stdout);
		put_curve(c, s);
	}
	puts("],");
}

/*
 * Threads and functions that accessed memory
 */

#define WHO_ROWS		30
/* Size of the map of threads and objects */
#define WHO_THREADS		20
#define WHO_OBJECTS		12

static void put_who_rows(const struct who *w)
{
	char *text = NULL;
	size_t size;
	FILE *f = need(open_memstream(&text, &size));

	who_table(f, TABLE_JSON, w, WHO_BY_ALL, WHO_ROWS, true);
	fclose(f);
	put_lines("who", text);
	free(text);
}

static void put_parts(const char *key, const struct who_part *p, size_t nr)
{
	char name[WHO_MAP_NAME];
	size_t i;

	printf("\"%s\":[", key);
	for (i = 0; i < nr; i++) {
		printf("%s{\"share\":%.6f,\"name\":", i ? ",\n" : "", p[i].share);
		put_text(who_map_name(name, &p[i]));
		putchar('}');
	}
	fputs("],", stdout);
}

/* Prints the map: shares read and written, line by line */
static void put_touched(const struct who *w)
{
	struct who_map m;
	size_t i;

	who_map_make(&m, w, WHO_THREADS, WHO_OBJECTS);
	fputs("\"touched\":{", stdout);
	put_parts("threads", m.thread, m.threads);
	put_parts("objects", m.object, m.objects);
	printf("\"max\":%.6f,\"cells\":[", who_map_max(&m));
	for (i = 0; i < m.threads * m.objects; i++)
		printf("%s[%.6f,%.6f]", i ? "," : "", m.cell[i].read, m.cell[i].written);
	puts("]},");
	who_map_free(&m);
}

/** put_who() - print the members "who" and "touched" and a comma */
static void put_who(struct who *w)
{
	who_sum_up(w, WHO_BY_ALL);
	put_who_rows(w);
	put_touched(w);
}

/*
 * The view
 */

#define MAPS_MAX	16	/* maximum number of maps in a page */
#define MAP_COLUMNS	300
#define MAP_LINES	36
#define MAP_FINE	3

/* Maximum number of points of all series, and of one series */
#define POINTS_ALL	60000
#define POINTS_MAX	1500
#define POINTS_MIN	50

/* Maximum number of rows of hot regions, but at least one for each target and class */
#define HOT_ROWS	600

/**
 * struct html - state of the view
 * @maps:	heatmaps
 * @kept:	sizes and names
 * @curves:	working sets by window
 * @slowdown:	cost of refaults
 * @summary:	the view summary
 * @peaks:	the view peaks
 * @hot:	the view hot
 * @hot_options: options of the view hot
 * @who:	threads and functions that accessed memory
 */
struct html {
	struct maps *maps;
	struct collected kept;
	struct wsmon_curves *curves;
	struct slowdown slowdown;
	struct report summary;
	struct report peaks;
	struct report hot;
	struct hot_options hot_options;
	struct who *who;
};

static void begin_view(struct report *view, const struct report *rp, const char *name,
		       enum table_format format)
{
	const struct report_view *as = report_find(name);

	*view = *rp;
	view->view = as;
	view->options = as->options;
	view->out.format = format;
	as->begin(view);
}

static void html_begin(struct report *rp)
{
	static const struct maps_options everywhere = { .to = ~0ULL };
	struct html *h = need(calloc(1, sizeof(*h)));

	h->maps = maps_new(rp, &everywhere);
	collect_init(&h->kept);
	h->curves = need(wsmon_curves_new(&rp->reader.header));
	h->slowdown.files = need(wsmon_curves_new(&rp->reader.header));
	begin_view(&h->summary, rp, "summary", TABLE_JSON);
	begin_view(&h->peaks, rp, "peaks", TABLE_HUMAN);
	begin_view(&h->hot, rp, "hot", TABLE_JSON);
	h->hot.options = &h->hot_options;
	h->who = who_new();
	rp->data = h;
}

static void html_scan(struct report *rp, const struct wsmon_record *rec)
{
	struct html *h = rp->data;

	maps_scan(h->maps, rp, rec);
	collect_record(&h->kept, &rp->filter, rec);
	collect_curves(h->curves, &rp->filter, rec);
	collect_slowdown(&h->slowdown, &rp->filter, rec);
	h->summary.view->record(&h->summary, rec);
	h->peaks.view->record(&h->peaks, rec);
	h->hot.view->record(&h->hot, rec);
	who_record(h->who, &rp->filter, false, rec);
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

/* Ends a view. Return: its output, malloc()ed */
static char *end_view(struct report *view)
{
	char *text = NULL;
	size_t size;

	view->out.f = need(open_memstream(&text, &size));
	view->view->end(view);
	fclose(view->out.f);
	return text;
}

/* Ends a view that prints lines of JSON */
static void put_view(const char *key, struct report *view)
{
	char *text = end_view(view);

	put_lines(key, text);
	free(text);
}

static void put_hot(struct html *h)
{
	size_t each = HOT_ROWS / (h->kept.names.nr * WSMON_NR_CLASSES + 1);

	h->hot_options.top = each > HOT_TOP ? HOT_TOP : each ? each : 1;
	put_view("hot", &h->hot);
}

static void put_peaks(const struct report *rp, const struct events *ev)
{
	__u64 half = ev->interval_ns / 2;
	const struct peak *p;
	size_t i;

	fputs("\"peaks\":[", stdout);
	for (i = 0; (p = events_peak_at(ev, i)); i++) {
		printf("%s{\"pid\":%u,\"number\":%u,\"group\":\"%s\",\"sign\":%d,\"from\":%.3f,\"to\":",
		       i ? ",\n" : "", p->pid, p->number,
		       peak_group_name(p->group), p->sign,
		       filter_time(&rp->filter, p->start_ns - half));
		if (p->end_ns)
			printf("%.3f}", filter_time(&rp->filter, p->end_ns - half));
		else
			fputs("null}", stdout);
	}
	puts("],");
}

static void put_marks(const struct report *rp, const struct events *ev)
{
	size_t i;

	fputs("\"marks\":[", stdout);
	for (i = 0; i < ev->nr_marks; i++) {
		printf("%s{\"number\":%u,\"t\":%.3f,\"text\":", i ? ",\n" : "",
		       ev->mark[i].number,
		       filter_time(&rp->filter, ev->mark[i].time_ns));
		put_text(ev->mark[i].text);
		putchar('}');
	}
	puts("],");
}

/* Peaks and marks, and the text of "wsmo report peaks" */
static void put_events(const struct report *rp, struct html *h)
{
	const struct events *ev = &h->maps->events;
	char *text;

	/* in JSON, the view prints no message about missing peaks */
	if (!ev->peaks.nr && !ev->nr_marks)
		h->peaks.out.format = TABLE_JSON;
	text = end_view(&h->peaks);
	put_peaks(rp, ev);
	put_marks(rp, ev);
	fputs("\"stacks\":", stdout);
	put_text(text);
	puts(",");
	free(text);
}

/**
 * struct point - adjacent rows of a series, drawn as one
 * @t:		time of the last row
 * @bytes:	mean size
 * @low:	the lowest lower end
 * @high:	the highest upper end
 */
struct point {
	double t, bytes;
	__u64 low, high;
};

static struct point join(const struct report *rp, const struct wsmon_wss_row *row,
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
static void put_points(const struct report *rp, const struct wsmon_wss_row *row,
		       size_t nr, size_t max)
{
	size_t each = (nr + max - 1) / max, i;

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

	for (i = 0; i < h->kept.rows.nr; i = wsmon_wss_series(&h->kept.rows, i))
		n++;
	if (POINTS_ALL / n > POINTS_MAX)
		return POINTS_MAX;
	return POINTS_ALL / n > POINTS_MIN ? POINTS_ALL / n : POINTS_MIN;
}

static void put_series(const struct report *rp, const char *key,
		       struct wsmon_wss_rows *rows, size_t max)
{
	size_t i, end;

	printf("\"%s\":[", key);
	wsmon_wss_sort(rows, false);
	for (i = 0; i < rows->nr; i = end) {
		end = wsmon_wss_series(rows, i);
		printf("%s{\"pid\":%u,\"class\":\"%s\",\"window_us\":%llu,\"points\":",
		       i ? ",\n" : "", rows->row[i].pid,
		       class_name(rows->row[i].class), rows->row[i].window_us);
		put_points(rp, &rows->row[i], end - i, max);
		putchar('}');
	}
	puts("],");
}

/* Prints percentiles of all rows, not of the fewer points of a series. @rows are sorted by size */
static void put_percentiles(const struct wsmon_wss_rows *rows)
{
	static const unsigned int percent[] = { 0, 25, 50, 75, 95, 100 };
	size_t i, j, end;

	fputs("\"percentiles\":[", stdout);
	for (i = 0; i < rows->nr; i = end) {
		end = wsmon_wss_series(rows, i);
		printf("%s{\"pid\":%u,\"class\":\"%s\",\"window_us\":%llu,\"of\":[",
		       i ? ",\n" : "", rows->row[i].pid,
		       class_name(rows->row[i].class), rows->row[i].window_us);
		for (j = 0; j < ARRAY_SIZE(percent); j++) {
			const struct wsmon_wss_row *row =
				wsmon_wss_percentile(&rows->row[i], end - i,
					       percent[j]);

			printf("%s[%u,%llu,%llu]", j ? "," : "", percent[j],
			       row->bytes, row->high);
		}
		fputs("]}", stdout);
	}
	puts("],");
}

static void put_section(const struct heatmap *m, const struct section *b)
{
	char name[HEATMAP_NAME];
	unsigned int i;

	printf("{\"line\":%u,\"lines\":%u,\"class\":\"%s\",\"bytes\":%llu,\"fold\":%llu,\"end\":\"%#llx\",\"name\":",
	       b->line, b->lines, class_name(m->ranges.range[b->label].class),
	       b->bytes, b->fold ? b->gap : 0, m->ranges.range[b->last].end);
	put_text(heatmap_name(name, m, b));
	fputs(",\"at\":[", stdout);
	for (i = 0; i < b->lines * m->fine; i++)
		printf("%s\"%#llx\"", i ? "," : "", heatmap_address(m, b, i));
	fputs("]}", stdout);
}

/*
 * Prints one character for each cell: the square root of its share; '.': not mapped, '/': not
 * observed
 */
static void put_cells(const struct heatmap *m)
{
	static const char level[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+";
	unsigned int row, c;

	putchar('"');
	for (row = 0; row < m->lines * m->fine; row++) {
		for (c = 0; c < m->columns; c++) {
			double share = heatmap_share(m, row, c);

			putchar(!heatmap_watched(m, c) ? '/' : share < 0 ? '.' :
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
		printf("%s{\"pid\":%u,\"from\":%.3f,\"to\":%.3f,\"columns\":%u,\"rows\":%u,\"fine\":%u,\"sections\":[",
		       i ? ",\n" : "", m->pid, filter_time(&rp->filter, m->from_ns),
		       filter_time(&rp->filter, m->to_ns), m->columns,
		       m->lines * m->fine, m->fine);
		for (j = 0; j < m->nr_sections; j++) {
			fputs(j ? ",\n" : "", stdout);
			put_section(m, &m->sections[j]);
		}
		fputs("],\"cells\":", stdout);
		put_cells(m);
		putchar('}');
	}
	puts("],");
}

static void put_names(struct html *h)
{
	const struct wss_name *name;
	char group[GROUP_NAME];
	size_t i;

	sorted_order(&h->kept.names);
	name = h->kept.names.base;
	fputs("\"names\":{", stdout);
	for (i = 0; i < h->kept.names.nr; i++) {
		printf("%s\"%u\":", i ? "," : "", name[i].pid);
		put_text(name[i].comm);
	}
	fputs("},\"group\":", stdout);
	put_text(collect_group(&h->kept, group));
	puts("}");
}

static void html_end(struct report *rp)
{
	struct html *h = rp->data;
	size_t max;

	wsmon_wss_sort(&h->kept.rows, true);
	max = points_each(h);
	puts("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	     "<title>wsmon: working sets</title>");
	printf("<style>\n%s\n%s</style>\n", html_uplot_style, html_style);
	fputs(html_body, stdout);
	puts("<script type=\"application/json\" id=\"data\">{");
	h->summary.cut = rp->cut;
	put_view("summary", &h->summary);
	put_percentiles(&h->kept.rows);
	put_series(rp, "wss", &h->kept.rows, max);
	put_series(rp, "rss", &h->kept.rss, max);
	put_maps(rp, h);
	put_events(rp, h);
	put_sizing(h->curves, &h->slowdown);
	put_hot(h);
	put_who(h->who);
	put_names(h);
	printf("</script>\n<!-- uPlot:\n%s-->\n<script>\n%s\n</script>\n<script>\n%s</script>\n<script>\n%s</script>\n</html>\n",
	       html_uplot_licence, html_uplot_script, html_heatmap_script,
	       html_script);
	maps_free(h->maps);
	who_free(h->who);
	wsmon_curves_free(h->curves);
	wsmon_curves_free(h->slowdown.files);
	collect_free(&h->kept);
	free(h);
}

static void html_check(struct argp_state *state, const struct report *rp)
{
	if (!rp->out.picture.file && isatty(STDOUT_FILENO))
		usage_error(state, "a page cannot be shown on a terminal: name a file, as in -o wsmo.html");
}

REPORT_VIEW(html_view) = {
	.order = 10,
	.name = "html",
	.help = "A page of charts for a browser",
	.takes = TAKES_CLASS | TAKES_WINDOW | TAKES_PAGE,
	.whole = true,	/* as for the view peaks */
	.check = html_check,
	.begin = html_begin,
	.scan = html_scan,
	.scanned = html_scanned,
	.record = html_record,
	.end = html_end,
};
