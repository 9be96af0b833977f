// SPDX-License-Identifier: GPL-2.0
/*
 * fine.c - where within regions memory was accessed
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fine.h"
#include "libwsmon/sorted.h"
#include "origin.h"
#include "points.h"
#include "tree.h"
#include "libwsmon/util.h"

#define FINE_TARGETS	4096

/* Points older than this many snapshots are dropped */
#define AGE_MAX		32

/* A large change of a share began at most this many snapshots ago */
#define AGE_CHANGED	5

/* The place of a point must be known to within 1/NEAR of the region */
#define NEAR		8

/* With this probability of being of one kind a region stays undivided */
#define DOUBT		0.05

/* If all points contradict this probability the memory is another one */
#define ODD		0.9

/* Parts whose shares are closer than this are joined */
#define SAME		(1.0 / 16)

/* Minimum rate at which memory in use is found accessed */
#define RATE_MIN	0.001

/* Regions end before this page */
#define PAGES_MAX	(1ULL << (FINE_ORDERS - 1))

/**
 * struct target - state of a target
 * @pid:	its pid
 * @now:	pages sampled up to the last snapshot
 * @next:	the same up to the one that is being read
 * @from:	index in @now: points before it are below the next region
 * @rate:	share of rounds that found a sample in use accessed, in the last region
 *		where this is known
 * @origins:	what parts are aligned to
 * @prior:	priors if that is address 0, and if it is their mapping
 */
struct target {
	__u32 pid;
	struct fine_points now, next;
	size_t from;
	double rate;
	struct fine_origins origins;
	struct fine_prior prior[2];
};

/**
 * struct fine - all targets
 * @page_size:	bytes
 * @full:	something was left out
 * @targets:	pointers to struct target, by pid
 * @points:	number of points there is room for in all of them
 * @tree:	the current region with either alignment of its parts
 */
struct fine {
	__u32 page_size;
	bool full;
	struct sorted targets;
	size_t points;
	struct fine_tree tree[2];
};

/**
 * struct place - the current region
 * @start:	first page
 * @end:	end page, exclusive
 * @area:	its index
 * @origin:	what its parts may be aligned to, if not to 0
 * @first:	index of its first point in @next; its points are the last there
 */
struct place {
	__u64 start, end;
	__u32 area;
	__u64 origin;
	size_t first;
};

/**
 * struct parts - passes a region's parts to the caller
 * @region:	the region
 * @page_size:	bytes
 * @rate:	share of rounds that find memory in use accessed
 * @start:	first page of the part that may still grow
 * @end:	its end page, exclusive; 0 if there is none yet
 * @used:	pages of it that are in use
 * @put:	the caller's function
 * @arg:	its first argument
 */
struct parts {
	const struct wsmon_region_entry *region;
	__u32 page_size;
	double rate;
	__u64 start, end;
	double used;
	fine_part *put;
	void *arg;
};

static int compare(const void *a, const void *b)
{
	const struct target *x = *(struct target * const *)a;
	const struct target *y = *(struct target * const *)b;

	return COMPARE(x->pid, y->pid);
}

struct fine *fine_new(__u32 page_size)
{
	struct fine *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->page_size = page_size;
	f->targets = (struct sorted) {
		.size = sizeof(struct target *), .max = FINE_TARGETS,
		.compare = compare,
	};
	return f;
}

static void free_target(struct fine *f, struct target *t)
{
	fine_points_clear(&t->now, &f->points);
	fine_points_clear(&t->next, &f->points);
	fine_origins_clear(&t->origins);
	free(t);
}

void fine_free(struct fine *f)
{
	struct target **t;
	size_t i;

	if (!f)
		return;
	t = f->targets.base;
	for (i = 0; i < f->targets.nr; i++)
		free_target(f, t[i]);
	free(f->targets.base);
	fine_tree_free(&f->tree[0]);
	fine_tree_free(&f->tree[1]);
	free(f);
}

static struct target **find_target(const struct fine *f, __u32 pid)
{
	const struct target key = { .pid = pid }, *p = &key;

	return f->targets.nr ? sorted_find(&f->targets, &p) : NULL;
}

/* Return: NULL if there is no room for it */
static struct target *get_target(struct fine *f, __u32 pid)
{
	struct target **at = find_target(f, pid), *t;

	if (at)
		return *at;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->pid = pid;
	t->rate = 1;
	fine_prior_init(&t->prior[0]);
	fine_prior_init(&t->prior[1]);
	if (sorted_get(&f->targets, &t))
		return t;
	free(t);
	return NULL;
}

/* Return: log of the probability of the points if parts are aligned like that */
static double build(struct fine *f, struct target *t, const struct place *at,
		    bool mapping)
{
	return fine_tree_build(&f->tree[mapping], &t->prior[mapping],
			       mapping ? at->origin : 0, at->start, at->end,
			       t->next.point + at->first, t->next.nr - at->first);
}

/* Does a point contradict what was almost certain? */
static bool is_odd(const struct fine_tree *t, const struct fine_point *p)
{
	return fabs(fine_tree_share(t, p->page) - p->hit) > ODD;
}

/*
 * A page that is also in the last snapshot is the same sample, which stayed for a longer
 * window or because the target slept: it counts as one point.
 */
static void drop_same(struct fine_points *p, size_t first, __u64 page)
{
	size_t i, to = first;

	for (i = first; i < p->nr; i++)
		if (p->point[i].page != page || p->point[i].age != 1)
			p->point[to++] = p->point[i];
	p->nr = to;
}

/*
 * Adds the new points. If all of them contradict the rest, the memory is another one.
 * Return: false without memory
 */
static bool add_points(struct fine *f, struct target *t, const struct place *at,
		       const struct fine_point p[2])
{
	bool mapping = fine_origins_best(&t->origins, at->area);
	const struct fine_tree *tree = &f->tree[mapping];

	drop_same(&t->next, at->first, p[0].page);
	drop_same(&t->next, at->first, p[1].page);
	if (t->next.nr > at->first) {
		if (isnan(build(f, t, at, mapping)))
			return false;
		if (is_odd(tree, &p[0]) && is_odd(tree, &p[1]))
			t->next.nr = at->first;
	}
	fine_points_insert(&t->next, at->first, &p[0]);
	fine_points_insert(&t->next, at->first, &p[1]);
	return true;
}

/*
 * Keeps older points of the region; the module reports a change some time after it.
 * Return: false if there is no room for them and two more
 */
static bool keep_points(struct fine *f, struct target *t, const struct place *at,
			bool changed)
{
	const struct fine_points *now = &t->now;
	struct fine_points *next = &t->next;

	while (t->from < now->nr && now->point[t->from].page < at->start)
		t->from++;
	for (; t->from < now->nr && now->point[t->from].page < at->end; t->from++) {
		struct fine_point p = now->point[t->from];

		if (++p.age > (changed ? AGE_CHANGED : AGE_MAX) ||
		    (p.near > 1 && p.near > (at->end - at->start) / NEAR) ||
		    next->nr - at->first >= FINE_POINTS - 2)
			continue;
		if (fine_points_room(next, 1, &f->points))
			return false;
		next->point[next->nr++] = p;
	}
	return !fine_points_room(next, 2, &f->points);
}

static void put_part(struct parts *p)
{
	struct wsmon_region_entry e = *p->region;
	double share = p->used / (p->end - p->start);

	e.start = p->start * p->page_size;
	e.end = p->end * p->page_size;
	e.share = lround(share * WSMON_SHARE_ONE);
	e.freq = lround(fmin(share * p->rate, 1) * WSMON_SHARE_ONE);
	p->put(p->arg, &e);
}

static void add_part(void *arg, __u64 start, __u64 end, double share)
{
	struct parts *p = arg;

	if (p->end && fabs(p->used / (p->end - p->start) - share) >= SAME) {
		put_part(p);
		p->end = 0;
	}
	if (!p->end) {
		p->start = start;
		p->used = 0;
	}
	p->used += share * (end - start);
	p->end = end;
}

/* Learns how often memory in use is found accessed */
static double rate_of(struct target *t, const struct wsmon_region_entry *e)
{
	int hits = !!(e->samples & WSMON_SAMPLES_LOWER_HIT) +
		   !!(e->samples & WSMON_SAMPLES_UPPER_HIT);

	if (e->samples & WSMON_SAMPLES_VALID && hits)
		t->rate = fmax(2.0 * e->freq / hits / WSMON_SHARE_ONE, RATE_MIN);
	return t->rate;
}

/* Passes a region in parts. Return: false without memory: nothing was passed */
static bool divide(struct fine *f, struct target *t, const struct place *at,
		   const struct wsmon_region_entry *e, fine_part *put, void *arg)
{
	struct parts p = {
		.region = e, .page_size = f->page_size, .rate = rate_of(t, e),
		.start = at->start, .put = put, .arg = arg,
	};
	double plain = build(f, t, at, false), moved = build(f, t, at, true);
	struct fine_tree *tree;

	if (isnan(plain) || isnan(moved))
		return false;
	fine_tree_learn(&f->tree[0]);
	fine_tree_learn(&f->tree[1]);
	fine_origins_learn(&t->origins, at->area, moved - plain);
	tree = &f->tree[fine_origins_best(&t->origins, at->area)];
	if (fine_tree_whole(tree) <= DOUBT)
		fine_tree_visit(tree, add_part, &p);
	/* of one kind: the module knows more about it */
	if (p.start == at->start)
		put(arg, e);
	else
		put_part(&p);
	return true;
}

/* Can a region have parts, and does it have a valid range? */
static bool is_sound(const struct wsmon_region_entry *e, __u32 page_size)
{
	return page_size && !(e->start % page_size) && !(e->end % page_size) &&
	       e->end > e->start && e->end - e->start > page_size &&
	       e->end / page_size <= PAGES_MAX;
}

static void region(struct fine *f, struct target *t, const struct wsmon_region_entry *e,
		   __u64 time_ns, fine_part *put, void *arg)
{
	struct place at = { .first = t->next.nr, .area = e->area };
	struct fine_point p[2];

	if (!is_sound(e, f->page_size) ||
	    (at.first && t->next.point[at.first - 1].page >= e->start / f->page_size)) {
		put(arg, e);
		return;
	}
	at.start = e->start / f->page_size;
	at.end = e->end / f->page_size;
	at.origin = fine_origins_get(&t->origins, e->area, at.start);
	if (keep_points(f, t, &at, !e->age_ms) &&
	    (!fine_samples(e, at.start, at.end, time_ns, p) ||
	     add_points(f, t, &at, p))) {
		if (fine_partial(e) && divide(f, t, &at, e, put, arg))
			return;
		f->full |= fine_partial(e);
	} else {
		f->full = true;
	}
	put(arg, e);
}

static void end_snapshot(struct target *t)
{
	struct fine_points old = t->now;

	t->now = t->next;
	t->next = old;
	t->next.nr = 0;
	t->from = 0;
	fine_origins_fade(&t->origins);
	fine_prior_fade(&t->prior[0]);
	fine_prior_fade(&t->prior[1]);
}

void fine_snapshot(struct fine *f, const struct wsmon_rec_snapshot *s, fine_part *part,
		   void *arg)
{
	struct target *t = get_target(f, s->pid);
	__u32 i;

	if (!t) {
		f->full = true;
		for (i = 0; i < s->nr; i++)
			part(arg, &s->regions[i]);
		return;
	}
	if (!s->first) {
		t->next.nr = 0;
		t->from = 0;
	}
	for (i = 0; i < s->nr; i++)
		region(f, t, &s->regions[i], s->rec.time_ns, part, arg);
	if (s->first + s->nr >= s->total)
		end_snapshot(t);
}

static void forget(struct fine *f, __u32 pid)
{
	struct target **t = find_target(f, pid);

	if (!t)
		return;
	free_target(f, *t);
	sorted_remove(&f->targets, t);
}

void fine_note(struct fine *f, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *start = (const void *)rec;
	const struct wsmon_rec_exit *end = (const void *)rec;
	const struct wsmon_rec_area *area = (const void *)rec;
	struct target *t;

	if (rec->type == WSMON_REC_AREA) {
		t = get_target(f, area->pid);
		if (!t || fine_origins_add(&t->origins, area, f->page_size))
			f->full = true;
	} else if (rec->type == WSMON_REC_EXIT) {
		forget(f, end->pid);
	} else if (rec->type == WSMON_REC_TARGET &&
		   (start->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN) {
		forget(f, start->pid);
	}
}

bool fine_full(const struct fine *f)
{
	return f->full;
}
