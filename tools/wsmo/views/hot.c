// SPDX-License-Identifier: GPL-2.0
/* hot.c - "wsmo report hot": the most frequently accessed regions, and their names */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "core/units.h"
#include "hot.h"
#include "libwsmon/hot.h"
#include "libwsmon/names.h"
#include "names/places.h"

/* For people: maximum number of symbols, and of characters of a symbol */
#define SHOWN_SYMBOLS	3
#define SHOWN_NAME	40

struct hot_row {
	__u64 pid;
	const char *class;
	__u64 start, end, size;
	double share, freq;
	__u64 age_ms;
	double hottest, hottest_t;
	const char *what, *path;
	__u64 offset, tid;
	const char *symbols, *source;
};

#define ROW struct hot_row

TABLE(hot_table, "hot",
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(class, TEXT, 5, "CLASS", 0, "class of memory"),
	COL(start, ADDR, 14, "START", 0, "first address"),
	COL(end, ADDR, 14, "END", NOT_HUMAN, "end, exclusive"),
	COL(size, SIZE, 9, "SIZE", 0, "its size"),
	COL(share, RATIO, 7, "SHARE", 0,
	    "share of its pages accessed within an aggregation interval, mean over the recording"),
	COL(freq, RATIO, 7, "FREQ", 0,
	    "share of sampling rounds that found its samples accessed, mean over the recording; 0 "
	    "while it is not mapped"),
	COL(age_ms, MS, 7, "AGE", 0,
	    "time for which the share had not changed much when the region was last seen"),
	COL(hottest, RATIO, 7, "HOTTEST", 0, "maximum ``freq`` in any interval"),
	COL(hottest_t, T, 8, "AT", 0, "end of this interval"),
	COL(what, TEXT, 4, "WHAT", NOT_JSON | NOT_CSV, ""),
	COL(path, TEXT, 4, "PATH", NOT_HUMAN, "name of the mapping"),
	COL(offset, ADDR, 6, "OFFSET", NOT_HUMAN | OR_NULL,
	    "offset in the file, or in the mapping if it has no file"),
	COL(tid, COUNT, 3, "TID", NOT_HUMAN | OR_NULL, "the thread, if the memory is its stack"),
	COL(symbols, TEXT, 4, "SYMBOLS", NOT_HUMAN,
	    "functions and objects with their bytes in the region, largest first"),
	COL(source, TEXT, 4, "SOURCE", NOT_HUMAN, "source file and line of the first symbol"));

struct row {
	__u32 pid;
	double seconds;		/* duration of the target's snapshots, of all its programs */
	const struct hot_cell *cell;
};

struct view {
	struct hot hot;
	struct places *places;
};

static __u32 place(void *data, __u32 pid, const struct wsmon_region_entry *e)
{
	return places_at(data, pid, e);
}

static void hot_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->places = need(places_new(&rp->reader));
	v->hot.place = place;
	v->hot.data = v->places;
	rp->data = v;
}

static void hot_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	struct view *v = rp->data;

	switch (rec->type) {
	case WSMON_REC_SNAPSHOT:
		if (filter_wants(&rp->filter, rec) &&
		    hot_snapshot(&v->hot, (const void *)rec))
			need(NULL);
		return;
	case WSMON_REC_TARGET:
		if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
			hot_exec(&v->hot, target->pid);
		break;
	}
	places_record(v->places, rec);
}

/* Writes the symbols of a row. Return: first address of the first symbol in the row, or 0 */
static __u64 symbols_text(struct view *v, const struct hot_cell *c, bool people,
			  char *text, size_t size)
{
	const struct place *p = places_get(v->places, c->place);
	struct cover cover[PLACES_SYMBOLS];
	size_t more, nr = places_cover(v->places, p, c->start, c->end, cover, &more);
	size_t shown = people && nr > SHOWN_SYMBOLS ? SHOWN_SYMBOLS : nr, i, len = 0;
	double all = c->end - c->start;

	text[0] = '\0';
	more += nr - shown;
	for (i = 0; i < shown && len < size; i++) {
		const struct cover *s = &cover[i];

		len += people ?
		       snprintf(text + len, size - len, "%s%.*s %.0f %%", i ? ", " : "",
				SHOWN_NAME, s->symbol.name, 100 * s->bytes / all) :
		       snprintf(text + len, size - len, "%s%s %llu", i ? ", " : "",
				s->symbol.name, s->bytes);
	}
	if (more && len < size)
		snprintf(text + len, size - len, ", +%zu", more);
	if (!nr)
		return 0;
	return cover[0].symbol.start > c->start ? cover[0].symbol.start : c->start;
}

static void source_text(struct view *v, const struct hot_cell *c, __u64 addr,
			bool people, char *text, size_t size)
{
	const struct place *p = places_get(v->places, c->place);
	const char *file;
	int line;

	text[0] = '\0';
	if (!addr || c->class != WSMON_CLASS_TEXT)
		return;
	file = places_line(v->places, p, addr, &line);
	if (file)
		snprintf(text, size, "%s:%d", people ? base_name(file) : file, line);
}

static __u64 offset_of(const struct place *p, const struct hot_cell *c)
{
	return p->start ? c->start - p->start + p->offset : 0;
}

static void what_text(struct view *v, const struct hot_cell *c, char *text, size_t size)
{
	const struct place *p = places_get(v->places, c->place);
	char symbols[512], source[256];
	__u64 addr = symbols_text(v, c, true, symbols, sizeof(symbols));
	size_t len;

	source_text(v, c, addr, true, source, sizeof(source));
	if (p->tid && c->class != WSMON_CLASS_STACK)
		len = snprintf(text, size, "stack of thread %u", p->tid);
	else if (!*p->path)
		len = snprintf(text, size, "%s", c->class == WSMON_CLASS_ANON ?
			       "anonymous" : "");
	else
		len = snprintf(text, size, "%.200s", base_name(p->path));
	if (p->start && len < size)
		len += snprintf(text + len, size - len, "+%#llx", offset_of(p, c));
	if (*symbols && len < size)
		len += snprintf(text + len, size - len, ": %s", symbols);
	if (*source && len < size)
		snprintf(text + len, size - len, "; %s", source);
}

static void print_row(struct report *rp, struct table *table, const struct row *r)
{
	struct view *v = rp->data;
	const struct place *p = places_get(v->places, r->cell->place);
	const struct hot_cell *c = r->cell;
	char what[1024], symbols[2048], source[512];
	__u64 addr = symbols_text(v, c, false, symbols, sizeof(symbols));

	source_text(v, c, addr, false, source, sizeof(source));
	what_text(v, c, what, sizeof(what));
	table_row(table, &(struct hot_row) {
		.pid = r->pid,
		.class = class_name(c->class),
		.start = c->start, .end = c->end, .size = c->end - c->start,
		.share = c->share / r->seconds, .freq = c->freq / r->seconds,
		.age_ms = c->age_ms,
		.hottest = (double)c->best_freq / WSMON_SHARE_ONE,
		.hottest_t = filter_time(&rp->filter, c->best_ns),
		.what = what, .path = p->path,
		.offset = p->start ? offset_of(p, c) : UNKNOWN_U64,
		.tid = p->tid ? p->tid : UNKNOWN_U64,
		.symbols = symbols, .source = source,
	});
}

static int by_number(double x, double y)
{
	return COMPARE(y, x);
}

static int compare_keys(const struct row *a, const struct row *b, enum hot_sort sort)
{
	const struct hot_cell *x = a->cell, *y = b->cell;

	switch (sort) {
	case HOT_BY_FREQ:
		return by_number(x->freq, y->freq);
	case HOT_BY_SHARE:
		return by_number(x->share, y->share);
	case HOT_BY_SIZE:
		return by_number(x->end - x->start, y->end - y->start);
	case HOT_BY_AGE:
		return by_number(x->age_ms, y->age_ms);
	default:
		return 0;
	}
}

/* Orders rows by target and class, then by --sort, then larger rows first */
static int compare_rows(const void *x, const void *y, void *data)
{
	const struct row *a = x, *b = y;
	const struct hot_options *opt = data;
	int c;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->cell->class != b->cell->class)
		return a->cell->class < b->cell->class ? -1 : 1;
	c = compare_keys(a, b, opt->sort);
	if (!c && opt->sort != HOT_BY_ADDRESS)
		c = by_number(a->cell->end - a->cell->start,
			      b->cell->end - b->cell->start);
	if (!c && a->cell->start != b->cell->start)
		c = a->cell->start < b->cell->start ? -1 : 1;
	return c;
}

/* Return: seconds of all programs of a target */
static double seconds_of(const struct hot *h, __u32 pid)
{
	const struct hot_target *t = h->targets.base;
	double sum = 0;
	size_t i;

	for (i = 0; i < h->targets.nr; i++)
		if (t[i].pid == pid)
			sum += t[i].seconds;
	return sum;
}

/* Return: the accessed regions, sorted, malloc()ed */
static struct row *make_rows(struct report *rp, size_t *nr)
{
	struct view *v = rp->data;
	struct hot_target *t = v->hot.targets.base;
	struct row *rows = need(calloc(v->hot.cells + 1, sizeof(*rows)));
	size_t i, j;

	*nr = 0;
	for (i = 0; i < v->hot.targets.nr; i++) {
		double seconds = seconds_of(&v->hot, t[i].pid);

		hot_fold(&t[i]);
		for (j = 0; j < t[i].nr; j++) {
			const struct hot_cell *c = &t[i].cell[j];

			if (c->freq > 0 && filter_wants_class(&rp->filter, c->class))
				rows[(*nr)++] = (struct row) {
					.pid = t[i].pid, .seconds = seconds, .cell = c,
				};
		}
	}
	qsort_r(rows, *nr, sizeof(*rows), compare_rows, rp->options);
	return rows;
}

static void print_rows(struct report *rp)
{
	const struct hot_options *opt = rp->options;
	struct table *table = report_table(rp, &hot_table);
	size_t nr, i, in_class = 0;
	struct row *rows = make_rows(rp, &nr);

	for (i = 0; i < nr; i++) {
		if (i && (rows[i].pid != rows[i - 1].pid ||
			  rows[i].cell->class != rows[i - 1].cell->class))
			in_class = 0;
		if (in_class++ < opt->top)
			print_row(rp, table, &rows[i]);
	}
	table_end(table);
	free(rows);
}

static void hot_end(struct report *rp)
{
	struct view *v = rp->data;

	print_rows(rp);
	if (v->hot.coarse)
		msg("too many regions: neighbours were merged");
	if (v->hot.too_many)
		msg("too many targets: only the first ones are reported");
	hot_free(&v->hot);
	places_free(v->places);
	free(v);
}

static const struct option_desc own[] = {
	{ "top", 0, "N", "Regions of each process and class (10)", OPT_COUNT,
	  OPT_AT(struct hot_options, top), 1, 1000000 },
	{ "sort", 0, "freq|share|size|age|address", "Order of rows (freq), greatest first; addresses lowest first",
	  OPT_CHOICE, OPT_AT(struct hot_options, sort) },
	{ 0 }
};

static struct hot_options options = { .top = HOT_TOP };

REPORT_VIEW(hot_view) = {
	.order = 5,
	.name = "hot",
	.help = "The regions accessed most often, and what they are",
	.takes = TAKES_CLASS | TAKES_FORMAT,
	.own = own,
	.options = &options,
	.of_processes = true,
	.begin = hot_begin,
	.record = hot_record,
	.end = hot_end,
};
