// SPDX-License-Identifier: GPL-2.0
/*
 * hot.c - "wsmo report hot": the regions accessed most often, and what is there
 */
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

/* Max. number of symbols in tables for people, and of characters of their names */
#define SHOWN_SYMBOLS	3
#define SHOWN_NAME	40

enum {
	PID, CLASS, START, END, SIZE, SHARE, FREQ, AGE, BEST, BEST_T, WHAT, PATH,
	OFFSET, TID, SYMBOLS, SOURCE,
};

static const struct column columns[] = {
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 5, 0 },
	[START]	= { "start", "START", COL_ADDR, 14, 0 },
	[END]	= { "end", "END", COL_ADDR, 14, NOT_HUMAN },
	[SIZE]	= { "size", "SIZE", COL_SIZE, 9, 0 },
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0 },
	[FREQ]	= { "freq", "FREQ", COL_RATIO, 7, 0 },
	[AGE]	= { "age_ms", "AGE", COL_MS, 7, 0 },
	[BEST]	= { "hottest", "HOTTEST", COL_RATIO, 7, 0 },
	[BEST_T] = { "hottest_t", "AT", COL_T, 8, 0 },
	[WHAT]	= { "what", "WHAT", COL_TEXT, 4, NOT_JSON | NOT_CSV },
	[PATH]	= { "path", "PATH", COL_TEXT, 4, NOT_HUMAN },
	[OFFSET] = { "offset", "OFFSET", COL_ADDR, 6, NOT_HUMAN },
	[TID]	= { "tid", "TID", COL_COUNT, 3, NOT_HUMAN },
	[SYMBOLS] = { "symbols", "SYMBOLS", COL_TEXT, 4, NOT_HUMAN },
	[SOURCE] = { "source", "SOURCE", COL_TEXT, 4, NOT_HUMAN },
};

static const struct table_desc desc = TABLE_DESC("hot", columns);

struct row {
	__u32 pid;
	double seconds;		/* of the target, over all its programs */
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

	v->places = need(places_new());
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

/* Write the symbols of a row. Return: the first symbol's address in it, or 0 */
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
	table_row(table, (struct cell[]) {
		[PID]	= cell_u(r->pid),
		[CLASS]	= cell_s(class_name(c->class)),
		[START]	= cell_u(c->start),
		[END]	= cell_u(c->end),
		[SIZE]	= cell_u(c->end - c->start),
		[SHARE]	= cell_d(c->share / r->seconds),
		[FREQ]	= cell_d(c->freq / r->seconds),
		[AGE]	= cell_u(c->age_ms),
		[BEST]	= cell_d((double)c->best_freq / WSMON_SHARE_ONE),
		[BEST_T] = cell_d(filter_time(&rp->filter, c->best_ns)),
		[WHAT]	= cell_s(what),
		[PATH]	= cell_s(p->path),
		[OFFSET] = p->start ? cell_u(offset_of(p, c)) : (struct cell){ 0 },
		[TID]	= p->tid ? cell_u(p->tid) : (struct cell){ 0 },
		[SYMBOLS] = cell_s(symbols),
		[SOURCE] = cell_s(source),
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

/* By target and class, then by --sort, then larger rows first */
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

/* Seconds of all programs of a target */
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

/* The accessed regions, sorted. Return: malloc()ed */
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
	struct table *table = report_table(rp, &desc);
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
