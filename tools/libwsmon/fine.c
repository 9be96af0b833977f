// SPDX-License-Identifier: GPL-2.0
/*
 * fine.c - divides regions into parts that were accessed and parts that were not
 *
 * The model: a cell is either of one kind, or its halves differ, and each half is a cell of the
 * same model. This is a prior over all divisions at powers of two. One pass from the smallest
 * cells up weights all divisions by their probability given the samples (context tree
 * weighting: Willems, Shtarkov and Tjalkens, IEEE Trans. Inf. Theory 41:3, 1995). The result is
 * the mean over all divisions. A cell of one kind is plain or mixed. In a plain cell nearly all
 * pages are accessed, or nearly none: its share has the prior Beta(a, a) with a small a. The
 * share of a mixed cell has a uniform prior.
 *
 * The parts of a program have similar divisions. So two probabilities are learned for each size
 * of cells: that a cell is divided, and that an undivided cell is plain. They are learned from
 * all cells so far, where older snapshots count for less (empirical Bayes, by online expectation
 * maximization: Neal and Hinton, Learning in Graphical Models, 1998). As a result, scattered
 * pages remain one cell, and few samples in each block suffice to find blocks.
 *
 * Huge pages and some allocators align to addresses. A program aligns data in a mapping of its
 * own to the mapping's start. For each mapping, fine.c learns which of the two alignments
 * explains the samples better.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fine.h"
#include "sorted.h"
#include "util.h"

#define FINE_TARGETS	4096

/* The largest cell has 2^52 pages */
#define FINE_ORDERS	53

/* Maximum number of points of a region */
#define FINE_POINTS	512

/* Maximum number of points of all targets: 64 MiB */
#define FINE_POINTS_ALL	(1 << 22)

/* As in the module: shares closer to 0 or 1 than this count as 0 or 1 */
#define NEARLY		(WSMON_SHARE_ONE / 512)

/* Initial age of points whose page is unknown, in snapshots */
#define AGE_ANYWHERE	24

/* Drop points older than this many snapshots */
#define AGE_MAX		32

/* When a snapshot reports a large change of a share, it began at most this many snapshots ago */
#define AGE_CHANGED	5

/* The page of a point must be known to within 1/NEAR of the region */
#define NEAR		8

/* A region stays undivided if it is of one kind with more than this probability */
#define DOUBT		0.05

/* A point is odd if it differs from its expected share by more than this */
#define ODD		0.9

/* Join adjacent parts whose shares differ by less than this */
#define SAME		(1.0 / 16)

/* Minimum of @rate of struct fine_target */
#define RATE_MIN	0.001

/* Regions end before this page */
#define PAGES_MAX	(1ULL << (FINE_ORDERS - 1))

/* After each snapshot the weight of the past is multiplied by this */
#define MEMORY		0.5

/* Parameter of the Beta distribution of the share of a plain cell */
#define A		0.02

/* Before the first cell: half of the cells are divided, half of the others are plain */
#define UNKNOWN		0.5
/* Learned probabilities stay this far from 0 and 1 */
#define MIN_SHARE	0.001

/* Points: recently sampled pages of a target */

/**
 * struct fine_point - a sampled page
 * @page:	page number
 * @near:	number of pages that the sample may have been, around @page
 * @age:	number of snapshots since the sample
 * @hit:	the page was accessed
 */
struct fine_point {
	__u64 page;
	__u32 near;
	__u16 age;
	bool hit;
};

/**
 * struct points - points in address order; all zero is empty
 * @point:	the points
 * @nr:		number of points
 * @room:	number of points that are allocated
 */
struct points {
	struct fine_point *point;
	size_t nr, room;
};

/*
 * Makes room for @more points. @all: points allocated for all targets; updates it.
 * Return: 0; -1 without room
 */
static int points_room(struct points *p, size_t more, size_t *all)
{
	size_t room = p->room ? p->room : 64;
	struct fine_point *point;

	while (room < p->nr + more)
		room *= 2;
	if (room == p->room)
		return 0;
	if (room - p->room > FINE_POINTS_ALL - *all)
		return -1;
	point = reallocarray(p->point, room, sizeof(*point));
	if (!point)
		return -1;
	*all += room - p->room;
	p->point = point;
	p->room = room;
	return 0;
}

/* Inserts a point in order among the points from @first on. There must be room */
static void points_insert(struct points *p, size_t first, const struct fine_point *point)
{
	size_t i = p->nr++;

	for (; i > first && p->point[i - 1].page > point->page; i--)
		p->point[i] = p->point[i - 1];
	p->point[i] = *point;
}

static void points_clear(struct points *p, size_t *all)
{
	*all -= p->room;
	free(p->point);
	memset(p, 0, sizeof(*p));
}

/* Return: true if a part of the region may be in use, and another part not */
static bool is_partial(const struct wsmon_region_entry *e)
{
	return e->share >= NEARLY && e->share <= WSMON_SHARE_ONE - NEARLY;
}

/* Return: a point for a sample's position in its half; the middle page, if it means several */
static struct fine_point point_of(__u64 start, __u64 end, unsigned int place, bool hit)
{
	__u64 pages = end - start, each = pages / WSMON_SAMPLES_PLACES;
	__u64 rest = pages % WSMON_SAMPLES_PLACES, page;

	place %= WSMON_SAMPLES_PLACES;
	page = place * each + each / 2 +
	       (place * rest + WSMON_SAMPLES_PLACES - 1) / WSMON_SAMPLES_PLACES;
	return (struct fine_point) {
		/* a half of fewer pages than positions has none at the last positions */
		.page = start + (page < pages ? page : pages - 1),
		.near = each < UINT32_MAX ? each : UINT32_MAX,
		.hit = hit,
	};
}

/* Return: a point for a sample without a known position, at a page chosen by @hash */
static struct fine_point any_point(__u64 start, __u64 end, __u64 hash, bool hit)
{
	return (struct fine_point) {
		.page = start + hash % (end - start),
		.age = AGE_ANYWHERE,
		.hit = hit,
	};
}

/*
 * Gets the two points sampled in a region of several pages. Settled samples have no positions
 * (see WSMON_SAMPLES_VALID): they may have been any page of their half.
 * Return: false if the region was not sampled, or the samples are unknown
 */
static bool samples_of(const struct wsmon_region_entry *e, __u64 start, __u64 end, __u64 time_ns,
			 struct fine_point point[2])
{
	__u64 hash = ((e->start ^ time_ns) * 0x9e3779b97f4a7c15ULL) >> 12;
	unsigned int order = 63 - __builtin_clzll(start ^ (end - 1));
	__u64 mid = (end - 1) >> order << order;
	unsigned int samples = e->samples;
	bool hit = e->share > WSMON_SHARE_ONE / 2;

	if (samples & WSMON_SAMPLES_VALID) {
		point[0] = point_of(start, mid, samples,
				    samples & WSMON_SAMPLES_LOWER_HIT);
		point[1] = point_of(mid, end, samples >> WSMON_SAMPLES_UPPER_SHIFT,
				    samples & WSMON_SAMPLES_UPPER_HIT);
		return true;
	}
	if (samples || is_partial(e) || (hit && !e->freq))
		return false;
	point[0] = any_point(start, mid, hash, hit);
	point[1] = any_point(mid, end, hash, hit);
	return true;
}

/* Trees: all divisions of a region, weighted given samples of its pages */

/**
 * struct prior - expectations of a target's cells; each array is by order of the cell
 * @split:	probability that the halves of a cell of 2^order pages differ
 * @plain:	probability that a cell of one kind is plain
 * @seen:	expected number of cells so far; older snapshots count for less
 * @cut:	expected number of cells of @seen whose halves differ
 * @even:	expected number of the others that are plain
 */
struct prior {
	double split[FINE_ORDERS];
	double plain[FINE_ORDERS];
	double seen[FINE_ORDERS];
	double cut[FINE_ORDERS];
	double even[FINE_ORDERS];
};

/**
 * struct fine_node - a cell
 * @start:	first page of the region in the cell, counted from the origin
 * @end:	end page, exclusive
 * @child:	nodes of the halves; 0 if all points of the cell are alike
 * @order:	the cell has 2^order pages
 * @points:	number of points in the cell
 * @hits:	number of these points that were accessed
 * @whole:	probability that the cell is of one kind
 * @plain:	probability that the cell is plain, if it is of one kind
 */
struct fine_node {
	__u64 start, end;
	size_t child[2];
	unsigned int order;
	unsigned int points;
	unsigned int hits;
	double whole;
	double plain;
};

/**
 * struct tree - the divisions of a region; all zero is empty
 * @node:	the cells; the first one is the region
 * @nr:		number of nodes
 * @room:	number of nodes that are allocated
 * @origin:	page number from which cells are aligned
 * @prior:	expectations of the cells
 */
struct tree {
	struct fine_node *node;
	size_t nr, room;
	__u64 origin;
	struct prior *prior;
};

/* Table for the probability of points: log Gamma(n + A), log Gamma(n + 2A) and log n! */
static double log_gamma[3][FINE_POINTS + 2];

/* Sets the prior before the first cell */
static void prior_init(struct prior *prior)
{
	unsigned int i;

	if (log_gamma[0][0] == 0)
		for (i = 0; i <= FINE_POINTS + 1; i++) {
			log_gamma[0][i] = lgamma(i + A);
			log_gamma[1][i] = lgamma(i + 2 * A);
			log_gamma[2][i] = lgamma(i + 1);
		}
	for (i = 0; i < FINE_ORDERS; i++) {
		prior->split[i] = UNKNOWN;
		prior->plain[i] = UNKNOWN;
	}
}

static void tree_free(struct tree *t)
{
	free(t->node);
	t->node = NULL;
	t->nr = 0;
	t->room = 0;
}

static double log_sum(double x, double y)
{
	double max = fmax(x, y);

	return max + log1p(exp(fmin(x, y) - max));
}

/*
 * Computes the probability of hits and other samples in a cell of one kind
 * @plain: gets the probability that the cell is plain, given these samples
 * Return: log of the probability
 */
static double log_alike(const struct tree *t, unsigned int order,
			unsigned int hits, unsigned int others, double *plain)
{
	unsigned int nr = hits + others;
	double as_plain = log_gamma[0][hits] + log_gamma[0][others] -
			  log_gamma[1][nr] -
			  (2 * log_gamma[0][0] - log_gamma[1][0]);
	double as_mixed = log_gamma[2][hits] + log_gamma[2][others] -
			  log_gamma[2][nr + 1];
	double all;

	as_plain += log(t->prior->plain[order]);
	as_mixed += log(1 - t->prior->plain[order]);
	all = log_sum(as_plain, as_mixed);
	*plain = exp(as_plain - all);
	return all;
}

static struct fine_node *new_node(struct tree *t)
{
	if (t->nr == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		struct fine_node *node = reallocarray(t->node, room, sizeof(*node));

		if (!node)
			return NULL;
		t->node = node;
		t->room = room;
	}
	return &t->node[t->nr++];
}

/* Return: the middle of the smallest cell that contains the range. @order: gets the cell's order */
static __u64 cell_mid(__u64 start, __u64 end, unsigned int *order)
{
	__u64 last = end - 1;

	*order = start == last ? 0 : 64 - __builtin_clzll(start ^ last);
	return *order ? last >> (*order - 1) << (*order - 1) : end;
}

/*
 * Builds the node of a cell, and all nodes below it. A half without points changes no
 * probability. A cell whose points are all alike gets no nodes below it: its divisions are
 * approximated by one level.
 * Return: log of the probability of the points, weighted over all divisions; NAN without memory
 */
static double build_cell(struct tree *t, __u64 start, __u64 end,
			 const struct fine_point *point, size_t nr)
{
	struct fine_node *n = new_node(t);
	size_t self = t->nr - 1, child[2] = { 0, 0 }, below = 0, hits = 0, i;
	double alike, apart, lower, all, plain;
	unsigned int order, halves[2];
	__u64 mid;

	if (!n)
		return NAN;
	mid = cell_mid(start, end, &order);
	for (i = 0; i < nr; i++) {
		below += point[i].page - t->origin < mid;
		hits += point[i].hit;
	}
	*n = (struct fine_node) {
		.start = start, .end = end, .order = order, .points = nr,
		.hits = hits, .whole = 1,
	};
	alike = log_alike(t, order, hits, nr - hits, &n->plain);
	if (!order || nr < 2)
		return alike;
	if (hits && hits < nr) {
		child[0] = t->nr;
		lower = build_cell(t, start, mid, point, below);
		child[1] = t->nr;
		apart = lower + build_cell(t, mid, end, point + below, nr - below);
		if (isnan(apart))
			return NAN;
	} else {
		cell_mid(start, mid, &halves[0]);
		cell_mid(mid, end, &halves[1]);
		apart = log_alike(t, halves[0], hits ? below : 0,
				  hits ? 0 : below, &plain) +
			log_alike(t, halves[1], hits ? nr - below : 0,
				  hits ? 0 : nr - below, &plain);
	}
	n = &t->node[self];
	memcpy(n->child, child, sizeof(child));
	alike += log(1 - t->prior->split[order]);
	all = log_sum(alike, log(t->prior->split[order]) + apart);
	n->whole = exp(alike - all);
	return all;
}

/*
 * Counts cells for the prior.
 * @reach: probability that all larger cells around the cell are divided
 */
static void count(struct tree *t, size_t i, double reach)
{
	const struct fine_node *n = &t->node[i];
	struct prior *prior = t->prior;
	double apart = reach * (1 - n->whole);

	if (n->points < 2)
		return;
	prior->seen[n->order] += reach;
	prior->cut[n->order] += apart;
	prior->even[n->order] += (reach - apart) * n->plain;
	if (n->child[0]) {
		count(t, n->child[0], apart);
		count(t, n->child[1], apart);
	}
}

static double estimate(double part, double of)
{
	double p = (part + UNKNOWN) / (of + 1);

	return fmin(fmax(p, MIN_SHARE), 1 - MIN_SHARE);
}

/* Updates the prior with the cells of this region */
static void tree_learn(struct tree *t)
{
	struct prior *prior = t->prior;
	unsigned int i;

	count(t, 0, 1);
	for (i = 0; i < FINE_ORDERS; i++) {
		prior->split[i] = estimate(prior->cut[i], prior->seen[i]);
		prior->plain[i] = estimate(prior->even[i],
					   prior->seen[i] - prior->cut[i]);
	}
}

/*
 * Return: share of a cell's pages in use, if it is of one kind
 * @around: own_share() of its parent, used for a cell without points
 */
static double own_share(const struct fine_node *n, double around)
{
	double plain = (n->hits + A) / (n->points + 2 * A);
	double mixed = (n->hits + 1.0) / (n->points + 2);

	return n->points ? mixed + n->plain * (plain - mixed) : around;
}

/* Return: probability that a page of the region is in use */
static double tree_share(const struct tree *t, __u64 page)
{
	const struct fine_node *n = t->node;
	double own = own_share(n, 0), share = 0, reach = 1;

	page -= t->origin;
	while (n->child[0]) {
		share += reach * n->whole * own;
		reach *= 1 - n->whole;
		n = &t->node[n->child[page >= t->node[n->child[1]].start]];
		own = own_share(n, own);
	}
	return share + reach * own;
}

/* Reduces the weight of the past, after each snapshot */
static void prior_fade(struct prior *prior)
{
	unsigned int i;

	for (i = 0; i < FINE_ORDERS; i++) {
		prior->seen[i] *= MEMORY;
		prior->cut[i] *= MEMORY;
		prior->even[i] *= MEMORY;
	}
}

/* Origins: the page from which the divisions of an area are aligned, its first page or 0 */

/**
 * struct origin - the likely origin of an area
 * @page:	first page of the area
 * @log_odds:	log odds that divisions are aligned from @page, not from address 0
 * @faded:	value of @faded of struct origins at the last update of @log_odds
 */
struct origin {
	__u64 page;
	double log_odds;
	__u64 faded;
};

/**
 * struct origins - the origins of a target; all zero is empty
 * @area:	known areas, by index
 * @nr:		number of areas
 * @faded:	number of snapshots so far, each of which fades the odds
 */
struct origins {
	struct origin *area;
	__u32 nr;
	__u64 faded;
};

/* Gets an area. Fades its odds only here, so that other areas cost no time in a snapshot */
static struct origin *get(const struct origins *o, __u32 index)
{
	struct origin *area = &o->area[index];

	area->log_odds *= pow(MEMORY, o->faded - area->faded);
	area->faded = o->faded;
	return area;
}

/* Adds an area; one with the same first page as before keeps its odds. Return: 0; -1 no memory */
static int origins_add(struct origins *o, const struct wsmon_rec_area *rec,
			    __u32 page_size)
{
	__u64 page = page_size ? rec->start / page_size : 0;
	struct origin *area;

	/* areas come in order; ignore gaps, so that a large index in a file allocates nothing */
	if (rec->index > o->nr)
		return 0;
	if (rec->index == o->nr) {
		area = array_more(o->area, o->nr, sizeof(*area));
		if (!area)
			return -1;
		o->area = area;
		o->area[o->nr++] = (struct origin) { 0 };
	}
	if (o->area[rec->index].page != page)
		o->area[rec->index] = (struct origin) { .page = page };
	return 0;
}

/* Return: first page of the area of a region that begins at @page; 0 if it is unknown */
static __u64 origins_get(const struct origins *o, __u32 index, __u64 page)
{
	if (index >= o->nr || o->area[index].page > page)
		return 0;
	return o->area[index].page;
}

/* Return: true if the area's first page is a more likely origin than address 0 */
static bool origins_best(const struct origins *o, __u32 index)
{
	return index < o->nr && get(o, index)->log_odds > 0;
}

static void origins_learn(struct origins *o, __u32 index, double log_odds)
{
	if (index < o->nr)
		get(o, index)->log_odds += log_odds;
}

static void origins_clear(struct origins *o)
{
	free(o->area);
	memset(o, 0, sizeof(*o));
}

/* Targets and their regions */

/**
 * struct fine_target - state of a target
 * @pid:	the target
 * @now:	points up to the last snapshot
 * @next:	points up to the present snapshot, as far as it is read
 * @from:	index in @now: all points before it are below the next region
 * @rate:	share of rounds that find a page in use accessed, from the last region that shows
 *		this
 * @origins:	likely origins of its areas
 * @prior:	priors of divisions aligned from address 0, and from the start of the area
 */
struct fine_target {
	__u32 pid;
	struct points now, next;
	size_t from;
	double rate;
	struct origins origins;
	struct prior prior[2];
};

/**
 * struct fine - state of all targets
 * @page_size:	bytes of a page
 * @full:	regions were left undivided for lack of memory
 * @targets:	pointers to struct fine_target, by pid
 * @points:	number of points allocated for all targets
 * @tree:	divisions of the present region, aligned from address 0 and from its area's start
 */
struct fine {
	__u32 page_size;
	bool full;
	struct sorted targets;
	size_t points;
	struct tree tree[2];
};

/**
 * struct fine_place - the present region
 * @start:	first page
 * @end:	end page, exclusive
 * @area:	index of its area
 * @origin:	first page of its area; 0 if it is unknown
 * @first:	index in @next of the region's first point, which only points of the region follow
 */
struct fine_place {
	__u64 start, end;
	__u32 area;
	__u64 origin;
	size_t first;
};

static int compare(const void *a, const void *b)
{
	const struct fine_target *x = *(struct fine_target * const *)a;
	const struct fine_target *y = *(struct fine_target * const *)b;

	return COMPARE(x->pid, y->pid);
}

struct fine *fine_new(__u32 page_size)
{
	struct fine *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->page_size = page_size;
	f->targets = SORTED(struct fine_target *, FINE_TARGETS, compare);
	return f;
}

static void free_target(struct fine *f, struct fine_target *t)
{
	points_clear(&t->now, &f->points);
	points_clear(&t->next, &f->points);
	origins_clear(&t->origins);
	free(t);
}

void fine_free(struct fine *f)
{
	struct fine_target **t;
	size_t i;

	if (!f)
		return;
	t = f->targets.base;
	for (i = 0; i < f->targets.nr; i++)
		free_target(f, t[i]);
	free(f->targets.base);
	tree_free(&f->tree[0]);
	tree_free(&f->tree[1]);
	free(f);
}

static struct fine_target **find_target(const struct fine *f, __u32 pid)
{
	const struct fine_target key = { .pid = pid }, *p = &key;

	return sorted_find(&f->targets, &p);
}

/* Finds a target, or adds it. Return: NULL without room */
static struct fine_target *get_target(struct fine *f, __u32 pid)
{
	struct fine_target **at = find_target(f, pid), *t;

	if (at)
		return *at;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->pid = pid;
	t->rate = 1;
	prior_init(&t->prior[0]);
	prior_init(&t->prior[1]);
	if (sorted_get(&f->targets, &t))
		return t;
	free(t);
	return NULL;
}

/* Divides a region, aligned from the start of its area or from 0. Return: as build_cell() */
static double build(struct fine *f, struct fine_target *t, const struct fine_place *at,
		    bool mapping)
{
	struct tree *tree = &f->tree[mapping];

	tree->nr = 0;
	tree->origin = mapping ? at->origin : 0;
	tree->prior = &t->prior[mapping];
	return build_cell(tree, at->start - tree->origin, at->end - tree->origin,
			  t->next.point + at->first, t->next.nr - at->first);
}

/* Return: true if a point contradicts an almost certain expectation */
static bool is_odd(const struct tree *t, const struct fine_point *p)
{
	return fabs(tree_share(t, p->page) - p->hit) > ODD;
}

/*
 * Removes the point of @page from the last snapshot. Two snapshots in a row with one page have
 * the same sample, which stayed for a longer window or because the target slept: it counts once.
 */
static void drop_same(struct points *p, size_t first, __u64 page)
{
	size_t i, to = first;

	for (i = first; i < p->nr; i++)
		if (p->point[i].page != page || p->point[i].age != 1)
			p->point[to++] = p->point[i];
	p->nr = to;
}

/*
 * Adds the new points. If both contradict the older points, the memory was replaced: drops the
 * older points.
 * Return: false without memory
 */
static bool add_points(struct fine *f, struct fine_target *t, const struct fine_place *at,
		       const struct fine_point p[2])
{
	bool mapping = origins_best(&t->origins, at->area);
	const struct tree *tree = &f->tree[mapping];

	drop_same(&t->next, at->first, p[0].page);
	drop_same(&t->next, at->first, p[1].page);
	if (t->next.nr > at->first) {
		if (isnan(build(f, t, at, mapping)))
			return false;
		if (is_odd(tree, &p[0]) && is_odd(tree, &p[1]))
			t->next.nr = at->first;
	}
	points_insert(&t->next, at->first, &p[0]);
	points_insert(&t->next, at->first, &p[1]);
	return true;
}

/*
 * Moves the older points of the region to @next. With @changed, drops points from before the
 * change of the share, which the module reports some snapshots after it began.
 * Return: false if there is no room for these points and two new ones
 */
static bool keep_points(struct fine *f, struct fine_target *t, const struct fine_place *at,
			bool changed)
{
	const struct points *now = &t->now;
	struct points *next = &t->next;

	while (t->from < now->nr && now->point[t->from].page < at->start)
		t->from++;
	for (; t->from < now->nr && now->point[t->from].page < at->end; t->from++) {
		struct fine_point p = now->point[t->from];

		if (++p.age > (changed ? AGE_CHANGED : AGE_MAX) ||
		    (p.near > 1 && p.near > (at->end - at->start) / NEAR) ||
		    next->nr - at->first >= FINE_POINTS - 2)
			continue;
		if (points_room(next, 1, &f->points))
			return false;
		next->point[next->nr++] = p;
	}
	return !points_room(next, 2, &f->points);
}

/**
 * struct parts - joins and passes the parts of a region to the caller
 * @region:	the region
 * @page_size:	bytes of a page
 * @rate:	share of rounds that find a page in use accessed
 * @start:	first page of the last part, which may still grow
 * @end:	end page of the last part, exclusive; 0 if there is no part yet
 * @used:	expected number of pages in use of the last part
 * @put:	the caller's function
 * @arg:	first argument of @put
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

static void add_part(struct parts *p, __u64 start, __u64 end, double share)
{
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

/*
 * Passes the parts of a cell, in address order
 * @reach: probability that all larger cells around the cell are divided
 * @share: part of the share that larger cells contribute
 * @around: own_share() of the parent
 */
static void visit(const struct tree *t, size_t i, double reach, double share, double around,
		  struct parts *parts)
{
	const struct fine_node *n = &t->node[i];
	double own = own_share(n, around), whole = reach * n->whole;

	if (!n->child[0]) {
		add_part(parts, t->origin + n->start, t->origin + n->end, share + reach * own);
		return;
	}
	share += whole * own;
	visit(t, n->child[0], reach - whole, share, own, parts);
	visit(t, n->child[1], reach - whole, share, own, parts);
}

/* Updates @rate of a target from a region with accessed samples. Return: the rate */
static double rate_of(struct fine_target *t, const struct wsmon_region_entry *e)
{
	int hits = !!(e->samples & WSMON_SAMPLES_LOWER_HIT) +
		   !!(e->samples & WSMON_SAMPLES_UPPER_HIT);

	if (e->samples & WSMON_SAMPLES_VALID && hits)
		t->rate = fmax(2.0 * e->freq / hits / WSMON_SHARE_ONE, RATE_MIN);
	return t->rate;
}

/* Passes a region in parts. Return: false, with nothing passed, without memory */
static bool divide(struct fine *f, struct fine_target *t, const struct fine_place *at,
		   const struct wsmon_region_entry *e, fine_part *put, void *arg)
{
	struct parts p = {
		.region = e, .page_size = f->page_size, .rate = rate_of(t, e),
		.start = at->start, .put = put, .arg = arg,
	};
	double plain = build(f, t, at, false), moved = build(f, t, at, true);
	struct tree *tree;

	if (isnan(plain) || isnan(moved))
		return false;
	tree_learn(&f->tree[0]);
	tree_learn(&f->tree[1]);
	origins_learn(&t->origins, at->area, moved - plain);
	tree = &f->tree[origins_best(&t->origins, at->area)];
	if (tree->node[0].whole <= DOUBT)
		visit(tree, 0, 1, 0, 0, &p);
	/* without parts, the module's share of the region is the better estimate */
	if (p.start == at->start)
		put(arg, e);
	else
		put_part(&p);
	return true;
}

/* Return: true if a region has a valid range and several pages */
static bool is_sound(const struct wsmon_region_entry *e, __u32 page_size)
{
	return page_size && !(e->start % page_size) && !(e->end % page_size) &&
	       e->end > e->start && e->end - e->start > page_size &&
	       e->end / page_size <= PAGES_MAX;
}

static void region(struct fine *f, struct fine_target *t, const struct wsmon_region_entry *e,
		   __u64 time_ns, fine_part *put, void *arg)
{
	struct fine_place at = { .first = t->next.nr, .area = e->area };
	struct fine_point p[2];

	if (!is_sound(e, f->page_size) ||
	    (at.first && t->next.point[at.first - 1].page >= e->start / f->page_size)) {
		put(arg, e);
		return;
	}
	at.start = e->start / f->page_size;
	at.end = e->end / f->page_size;
	at.origin = origins_get(&t->origins, e->area, at.start);
	if (keep_points(f, t, &at, !e->age_ms) &&
	    (!samples_of(e, at.start, at.end, time_ns, p) ||
	     add_points(f, t, &at, p))) {
		if (is_partial(e) && divide(f, t, &at, e, put, arg))
			return;
		f->full |= is_partial(e);
	} else {
		f->full = true;
	}
	put(arg, e);
}

static void end_snapshot(struct fine_target *t)
{
	struct points old = t->now;

	t->now = t->next;
	t->next = old;
	t->next.nr = 0;
	t->from = 0;
	t->origins.faded++;
	prior_fade(&t->prior[0]);
	prior_fade(&t->prior[1]);
}

void fine_snapshot(struct fine *f, const struct wsmon_rec_snapshot *s, fine_part *part,
		   void *arg)
{
	struct fine_target *t = get_target(f, s->pid);
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
	struct fine_target **t = find_target(f, pid);

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
	struct fine_target *t;

	if (rec->type == WSMON_REC_AREA) {
		t = get_target(f, area->pid);
		if (!t || origins_add(&t->origins, area, f->page_size))
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
