// SPDX-License-Identifier: GPL-2.0
/*
 * model.c - two recordings, divided alike, for "wsmo diff"
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "libwsmon/reader.h"
#include "libwsmon/names.h"
#include "model.h"

#define ROWS_MAX	16384

static int compare(const void *x, const void *y)
{
	const struct diff_row * const *a = x, * const *b = y;

	return strcmp((*a)->name, (*b)->name);
}

struct diff *diff_new(enum diff_by by)
{
	struct diff *d = need(calloc(1, sizeof(*d)));

	d->by = by;
	d->rows = (struct sorted) {
		.size = sizeof(struct diff_row *), .max = ROWS_MAX, .compare = compare,
	};
	return d;
}

/* Return: the row of that name; NULL if there is no room */
static struct diff_row *find(struct diff *d, const char *name)
{
	struct diff_row key = { .name = name }, *row = &key;
	struct diff_row **p = sorted_find(&d->rows, &row);

	if (p)
		return *p;
	if (d->rows.nr == ROWS_MAX) {
		d->too_many = true;
		return NULL;
	}
	row = need(calloc(1, sizeof(*row)));
	row->name = need(strdup(name));
	return *(struct diff_row **)need(sorted_get(&d->rows, &row));
}

static void end_row(struct diff *d, struct diff_row *row)
{
	batches_add(&row->of[d->at], &d->side[d->at].moments, row->now[d->grouped],
		    sqrt(row->half2[d->grouped]));
	memset(row->now, 0, sizeof(row->now));
	memset(row->half2, 0, sizeof(row->half2));
}

static void fold(struct diff *d)
{
	struct diff_row **row = d->rows.base;
	size_t i;

	for (i = 0; i < d->rows.nr; i++)
		batches_fold(&row[i]->of[d->at]);
	batches_fold(&d->total.of[d->at]);
}

static void end_moment(struct diff *d)
{
	struct moments *m = &d->side[d->at].moments;
	struct diff_row **row = d->rows.base;
	size_t i;

	if (!d->time_ns)
		return;
	if (m->nr++ == BATCHES * m->length) {
		m->length *= 2;
		fold(d);
	}
	for (i = 0; i < d->rows.nr; i++)
		end_row(d, row[i]);
	end_row(d, &d->total);
	d->grouped = false;
}

static void add(struct diff_row *row, bool group, double value, double half)
{
	if (row) {
		row->now[group] += value;
		row->half2[group] += half * half;
	}
}

static void moment(struct diff *d, __u64 time_ns)
{
	if (time_ns != d->time_ns)
		end_moment(d);
	if (!d->side[d->at].first_ns)
		d->side[d->at].first_ns = time_ns;
	d->side[d->at].last_ns = time_ns;
	d->time_ns = time_ns;
}

static void add_size(struct diff *d, const struct wsmon_wss_row *w)
{
	double half = w->high > w->low ? (w->high - w->low) / 2.0 : 0;

	moment(d, w->time_ns);
	d->grouped |= w->group;
	if (w->class == WSMON_CLASS_ALL)
		add(&d->total, w->group, w->bytes, half);
	else if (d->by == DIFF_CLASS)
		add(find(d, class_name(w->class)), w->group, w->bytes, half);
	/* processes have no figures of a group */
	if (w->class == WSMON_CLASS_ALL && d->by == DIFF_PROCESS && !w->group) {
		struct diff_row *row = find(d, collect_comm(&d->names, w->pid));

		add(row, false, w->bytes, half);
		add(row, true, w->bytes, half);
	}
}

static const char *mapping_name(const struct place *p, __u32 class, char *text, size_t size)
{
	if (p->tid && class != WSMON_CLASS_STACK)
		return "[stacks of threads]";
	if (*p->path)
		return p->path;
	snprintf(text, size, "[%s]", class_name(class));
	return text;
}

static void add_region(struct diff *d, __u32 pid, const struct wsmon_region_entry *e)
{
	double share = (double)e->share / WSMON_SHARE_ONE, rest = e->end - e->start;
	struct cover cover[PLACES_SYMBOLS];
	const struct place *p;
	char text[32];
	size_t nr = 0, more, i;

	if (!e->share)
		return;
	p = places_get(d->places, places_at(d->places, pid, e));
	add(&d->total, false, share * rest, 0);
	if (d->by == DIFF_FUNCTION)
		nr = places_cover(d->places, p, e->start, e->end, cover, &more);
	for (i = 0; i < nr; i++) {
		rest -= cover[i].bytes;
		add(find(d, cover[i].symbol.name), false, share * cover[i].bytes, 0);
	}
	if (rest > 0)
		add(find(d, mapping_name(p, e->class, text, sizeof(text))), false, share * rest, 0);
}

static void add_snapshot(struct diff *d, const struct wsmon_rec_snapshot *s)
{
	__u32 i;

	moment(d, s->rec.time_ns);
	for (i = 0; i < s->nr; i++)
		add_region(d, s->pid, &s->regions[i]);
}

void diff_begin(struct diff *d, int at, const struct wsmon_attrs *attrs, __u64 window_us)
{
	struct diff_side *side = &d->side[at];
	bool by_region = d->by >= DIFF_MAPPING;

	d->at = at;
	d->time_ns = 0;
	collect_init(&d->names);
	if (by_region)
		d->places = need(places_new());
	side->aggr_us = attrs->aggr_us;
	side->window_us = by_region ? attrs->aggr_us : window_us ?: attrs->windows_us[0];
	side->apart = side->aggr_us ? (double)side->window_us / side->aggr_us : 1;
	side->moments.length = 1;
}

/* What was recorded: what a command executes is the program, not the shell before it */
static void note_what(struct diff_side *side, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const char *cgroup = reader_cgroup(rec);

	if (*cgroup)
		text_clean(side->what, sizeof(side->what), cgroup);
	if (rec->type != WSMON_REC_TARGET)
		return;
	if ((target->flags & WSMON_TARGET_REASON) == WSMON_TARGET_START)
		side->processes++;
	if (!*side->what || ((target->flags & WSMON_TARGET_REASON) == WSMON_TARGET_EXEC && side->processes < 2))
		text_clean(side->what, sizeof(side->what), target->comm);
}

void diff_record(struct diff *d, const struct filter *filter, const struct wsmon_record *rec)
{
	struct wsmon_wss_row row;

	collect_name(&d->names, rec);
	note_what(&d->side[d->at], rec);
	if (d->places && rec->type != WSMON_REC_SNAPSHOT)
		places_record(d->places, rec);
	if (!filter_wants(filter, rec))
		return;
	if (d->places && rec->type == WSMON_REC_SNAPSHOT)
		add_snapshot(d, (const void *)rec);
	else if (!d->places && wss_row_get(rec, &row) && row.window_us == d->side[d->at].window_us)
		add_size(d, &row);
}

void diff_end(struct diff *d)
{
	end_moment(d);
	places_free(d->places);
	d->places = NULL;
	collect_free(&d->names);
}

void diff_free(struct diff *d)
{
	struct diff_row **row = d->rows.base;
	size_t i;

	for (i = 0; i < d->rows.nr; i++) {
		free((char *)(uintptr_t)row[i]->name);
		free(row[i]);
	}
	free(row);
	free(d);
}
