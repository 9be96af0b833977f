// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - who touched memory, as a map of threads and objects
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "map.h"

static int compare_parts(const void *x, const void *y)
{
	const struct who_part *a = x, *b = y;
	/* equal names of objects are at equal addresses */
	int c = COMPARE(a->object, b->object) ?: COMPARE(a->pid, b->pid) ?: COMPARE(a->tid, b->tid);

	return c ?: strcmp(a->comm, b->comm);
}

static int compare_shares(const void *x, const void *y)
{
	const struct who_part *a = x, *b = y;

	return COMPARE(b->share, a->share) ?: compare_parts(a, b);
}

/* A broken recording may have records that stand for nothing */
static double share_of(const struct who *w, double bytes)
{
	return w->bytes > 0 ? bytes / w->bytes : 0;
}

static struct who_part part_of(const struct who_row *row, bool object)
{
	struct who_part p = { 0 };

	if (object) {
		p.object = row->object;
		return p;
	}
	p.pid = row->pid;
	p.tid = row->tid;
	memcpy(p.comm, row->comm, sizeof(p.comm));
	return p;
}

/* Threads or objects; Return: how many. What does not fit is added to the last one */
static size_t make_parts(const struct who *w, bool object, size_t max, struct who_part **parts)
{
	struct who_part *p = need(calloc(w->nr + 1, sizeof(*p)));
	size_t nr = 0, i;

	for (i = 0; i < w->nr; i++) {
		p[i] = part_of(&w->row[i], object);
		p[i].share = share_of(w, w->row[i].bytes);
	}
	qsort(p, w->nr, sizeof(*p), compare_parts);
	for (i = 0; i < w->nr; i++) {
		if (nr && !compare_parts(&p[nr - 1], &p[i]))
			p[nr - 1].share += p[i].share;
		else
			p[nr++] = p[i];
	}
	qsort(p, nr, sizeof(*p), compare_shares);
	*parts = p;
	if (nr <= max)
		return nr;
	for (i = max; i < nr; i++)
		p[max - 1].share += p[i].share;
	p[max - 1].more = nr - max + 1;
	return max;
}

static size_t find_part(const struct who_part *p, size_t nr, const struct who_row *row, bool object)
{
	struct who_part key = part_of(row, object);
	size_t i;

	for (i = 0; i < nr - 1 && compare_parts(&p[i], &key); i++)
		;
	return i;
}

void who_map_make(struct who_map *m, const struct who *w, size_t threads, size_t objects)
{
	size_t i;

	m->threads = make_parts(w, false, threads, &m->thread);
	m->objects = make_parts(w, true, objects, &m->object);
	m->cell = need(calloc(m->threads * m->objects + 1, sizeof(*m->cell)));
	for (i = 0; i < w->nr; i++) {
		const struct who_row *row = &w->row[i];
		struct who_cell *c = &m->cell[find_part(m->thread, m->threads, row, false) * m->objects +
					      find_part(m->object, m->objects, row, true)];

		c->read += share_of(w, row->bytes - row->written);
		c->written += share_of(w, row->written);
	}
}

double who_map_max(const struct who_map *m)
{
	double max = 0;
	size_t i;

	for (i = 0; i < m->threads * m->objects; i++)
		max = fmax(max, fmax(m->cell[i].read, m->cell[i].written));
	return max;
}

const char *who_map_name(char *buf, const struct who_part *p)
{
	if (p->more)
		snprintf(buf, WHO_MAP_NAME, "%zu others", p->more);
	else if (!p->object)
		snprintf(buf, WHO_MAP_NAME, "%.*s (%u)", WSMON_COMM_LEN, p->comm, p->tid);
	else
		snprintf(buf, WHO_MAP_NAME, "%s", *p->object ? p->object : "unknown");
	return buf;
}

void who_map_free(struct who_map *m)
{
	free(m->thread);
	free(m->object);
	free(m->cell);
}
