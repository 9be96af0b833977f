// SPDX-License-Identifier: GPL-2.0
/*
 * hot.c - how often each address was accessed over a recording
 *
 *   cells     |    a    |  b  |         c         |
 *   regions        |   x    |     y     |
 *   cells     | a  | ax | bx| by|  cy   |    c    |
 *
 * Both parts of a cell that is cut in two keep its figures, because share and freq are means
 * over pages. A snapshot is added in one pass over the cells.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hot.h"
#include "util.h"

#define HOT_TARGETS	4096
#define HOT_CELLS	65536	/* of all targets: 5 MiB, for moments more */
#define HOT_CELLS_MIN	256

/*
 * Each snapshot looks at all cells of its target, even if it has few regions. HOT_LOOKS cells for
 * each region do not count. After HOT_LOOKS_FREE cells that count, the maximum number of cells is
 * halved.
 */
#define HOT_LOOKS	256
#define HOT_LOOKS_FREE	(1 << 24)

static int compare(const void *x, const void *y)
{
	const struct hot_target *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->life, b->life);
}

/* A file with many snapshots of few regions each is hostile: keeps fewer cells of it */
static void count_looks(struct hot *h, const struct hot_target *t, __u32 regions)
{
	if (!h->max)
		h->max = HOT_CELLS;
	h->looks += (__s64)t->nr - (__s64)HOT_LOOKS * regions;
	if (h->looks < 0)
		h->looks = 0;
	if (h->looks < HOT_LOOKS_FREE || h->max == HOT_CELLS_MIN)
		return;
	h->looks = 0;
	h->max /= 2;
}

/*
 * Return: the present address space of a target; with @next, a new one if the target is known.
 * NULL without room.
 */
static struct hot_target *get_target(struct hot *h, __u32 pid, bool next)
{
	struct hot_target key = { .pid = pid }, *t = NULL, *last = NULL;

	if (!h->targets.size)
		h->targets = SORTED(key, HOT_TARGETS, compare);
	while ((t = sorted_find(&h->targets, &key))) {
		last = t;
		key.life++;
	}
	/* reuse an address space that has no cells yet */
	if (last && (!next || !last->nr))
		return last;
	if (!last && next)
		return NULL;
	t = sorted_get(&h->targets, &key);
	if (!t)
		h->too_many = true;
	return t;
}

void hot_exec(struct hot *h, __u32 pid)
{
	get_target(h, pid, true);
}

static void take(struct hot *h, const struct wsmon_rec_snapshot *s,
		 const struct wsmon_region_entry *e, struct hot_cell *c)
{
	double seconds = (double)s->interval_ns / NSEC_PER_SEC;

	c->share += seconds * e->share / WSMON_SHARE_ONE;
	c->freq += seconds * e->freq / WSMON_SHARE_ONE;
	c->age_ms = e->age_ms;
	if (!c->best_ns || e->freq > c->best_freq ||
	    (e->freq == c->best_freq && e->share > c->best_share)) {
		/* looks up a mapping, so only for the best interval so far */
		c->place = h->place(h->data, s->pid, e);
		c->class = e->class;
		c->best_ns = s->rec.time_ns;
		c->best_freq = e->freq;
		c->best_share = e->share;
	}
	c->max_share = fmax(c->max_share, (double)e->share / WSMON_SHARE_ONE);
}

/* Appends a part of a cell, for which there is room */
static struct hot_cell *put(struct hot_target *t, const struct hot_cell *c,
			    __u64 start, __u64 end)
{
	struct hot_cell *cell = &t->cell[t->nr++];

	*cell = *c;
	cell->start = start;
	cell->end = end;
	return cell;
}

/* A walk through the old cells; @cell is the present cell without its part already moved */
struct walk {
	const struct hot_cell *next;
	const struct hot_cell *stop;
	struct hot_cell cell;
	bool at_end;
};

static void step(struct walk *w)
{
	w->at_end = w->next == w->stop;
	if (!w->at_end)
		w->cell = *w->next++;
}

/* Moves the cells before @addr, or all cells if it is 0, to the target */
static void keep_before(struct walk *w, struct hot_target *t, __u64 addr)
{
	while (!w->at_end && (!addr || w->cell.end <= addr)) {
		put(t, &w->cell, w->cell.start, w->cell.end);
		step(w);
	}
	if (!w->at_end && w->cell.start < addr) {
		put(t, &w->cell, w->cell.start, addr);
		w->cell.start = addr;
	}
}

static void take_region(struct hot *h, struct walk *w, struct hot_target *t,
			const struct wsmon_rec_snapshot *s,
			const struct wsmon_region_entry *e)
{
	static const struct hot_cell none;
	__u64 at, end;

	keep_before(w, t, e->start);
	for (at = e->start; at < e->end; at = end) {
		if (w->at_end || w->cell.start > at) {
			end = w->at_end || w->cell.start > e->end ? e->end : w->cell.start;
			take(h, s, e, put(t, &none, at, end));
			continue;
		}
		end = w->cell.end < e->end ? w->cell.end : e->end;
		take(h, s, e, put(t, &w->cell, at, end));
		w->cell.start = end;
		if (end == w->cell.end)
			step(w);
	}
}

static void join(struct hot_cell *a, const struct hot_cell *b)
{
	double m = a->end - a->start, n = b->end - b->start, sum = m + n;

	a->share = (a->share * m + b->share * n) / sum;
	a->freq = (a->freq * m + b->freq * n) / sum;
	a->max_share = (a->max_share * m + b->max_share * n) / sum;
	if (n > m)
		a->age_ms = b->age_ms;
	if (b->best_freq > a->best_freq) {
		a->best_freq = b->best_freq;
		a->best_share = b->best_share;
		a->best_ns = b->best_ns;
	}
	a->end = b->end;
}

/* Joins adjacent cells whose freqs differ by at most @slack, or by @part of the higher freq */
static void join_alike(struct hot_target *t, double slack, double part)
{
	size_t i, n = 0;

	for (i = 1; i < t->nr; i++) {
		struct hot_cell *a = &t->cell[n], *b = &t->cell[i];
		double more = fmax(a->freq, b->freq) / t->seconds;

		if (a->end == b->start && a->class == b->class &&
		    a->place == b->place &&
		    fabs(a->freq - b->freq) / t->seconds <= fmax(slack, part * more))
			join(a, b);
		else
			t->cell[++n] = *b;
	}
	if (t->nr)
		t->nr = n + 1;
}

/* Drops cells whose mean freq is at most @floor */
static void forget(struct hot_target *t, double floor)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++)
		if (t->cell[i].freq > floor * t->seconds)
			t->cell[n++] = t->cell[i];
	t->nr = n;
}

/*
 * Reduces the cells to half the maximum: joins similar cells, then less similar cells. If cells
 * of different mappings are too many, so that joining is not enough, drops the coldest cells.
 */
static void coarsen(struct hot *h)
{
	struct hot_target *t = h->targets.base;
	double slack;
	size_t i;

	h->coarse = true;
	for (slack = 1.0 / 256; h->cells > h->max / 2; slack *= 2) {
		for (i = 0; i < h->targets.nr; i++) {
			h->cells -= t[i].nr;
			join_alike(&t[i], slack, 0);
			if (slack > 1)
				forget(&t[i], slack / 1024);
			h->cells += t[i].nr;
		}
	}
}

static int make_room(struct hot_cell **cell, size_t *room, size_t nr)
{
	struct hot_cell *more = reallocarray(*cell, nr, sizeof(**cell));

	if (!more)
		return -ENOMEM;
	*cell = more;
	*room = nr;
	return 0;
}

/*
 * Makes the new cells in @scratch, and copies them to the target's array, which just fits. An array
 * of the maximum size for each snapshot would take new pages from the kernel each time.
 */
int hot_snapshot(struct hot *h, const struct wsmon_rec_snapshot *s)
{
	struct hot_target *t = get_target(h, s->pid, false), new;
	struct walk w;
	size_t room;
	__u64 at = 0;
	__u32 i;

	if (!t)
		return 0;
	count_looks(h, t, s->nr);
	/* each new cell begins at a different border of an old cell or a region */
	room = 2 * (t->nr + s->nr) + 1;
	if (h->room < room && make_room(&h->scratch, &h->room, room))
		return -ENOMEM;
	new = *t;
	new.cell = h->scratch;
	new.nr = 0;
	if (!s->first)
		new.seconds += (double)s->interval_ns / NSEC_PER_SEC;
	w = (struct walk){ .next = t->cell, .stop = t->nr ? t->cell + t->nr : t->cell };
	step(&w);
	for (i = 0; i < s->nr; i++) {
		/* only a damaged file has regions out of order */
		if (s->regions[i].start < at)
			continue;
		take_region(h, &w, &new, s, &s->regions[i]);
		at = s->regions[i].end;
	}
	keep_before(&w, &new, 0);
	if ((new.nr > t->room || new.nr < t->room / 2) &&
	    make_room(&t->cell, &t->room, new.nr + new.nr / 8 + 1))
		return -ENOMEM;
	h->cells += new.nr - t->nr;
	t->nr = new.nr;
	t->seconds = new.seconds;
	if (new.nr)
		memcpy(t->cell, new.cell, new.nr * sizeof(*new.cell));
	if (h->cells > h->max)
		coarsen(h);
	return 0;
}

void hot_fold(struct hot_target *t)
{
	join_alike(t, 1.0 / 32, 1.0 / 8);
}

void hot_free(struct hot *h)
{
	struct hot_target *t = h->targets.base;
	size_t i;

	for (i = 0; i < h->targets.nr; i++)
		free(t[i].cell);
	free(h->targets.base);
	free(h->scratch);
}
