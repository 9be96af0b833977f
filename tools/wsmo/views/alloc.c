// SPDX-License-Identifier: GPL-2.0
/*
 * alloc.c - "wsmo report alloc": which code allocated memory, and how much of it is used
 *
 * Allocations and frees are applied up to the time of each snapshot. The figures are from the last
 * wanted snapshot.
 */
#include <math.h>
#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/units.h"
#include "libwsmon/fine.h"
#include "libwsmon/mappings.h"
#include "libwsmon/sorted.h"
#include "libwsmon/stats.h"
#include "libwsmon/wsmon_records.h"
#include "names/calls.h"
#include "report.h"

/*
 * The sampled allocations of a process that are not freed yet
 */

/**
 * struct block - a sampled allocation
 * @addr:	its address
 * @size:	bytes that are left, if parts were unmapped
 * @weight:	bytes of allocations represented by each byte of the sample
 * @born_ns:	when it was allocated
 * @stack:	number of its stack
 */
struct block {
	__u64 addr;
	__u64 size;
	double weight;
	__u64 born_ns;
	__u32 stack;
};

/**
 * struct blocks - the blocks of a process; all zero is empty
 * @heap:	blocks allocated by malloc(), a tree of tsearch()
 * @mapped:	disjoint blocks mapped by mmap(), a tree, too
 * @nr:		number of blocks in both
 */
struct blocks {
	void *heap;
	void *mapped;
	size_t nr;
};

/* Overlapping ranges compare as equal. No range ends beyond 2^64. */
static int compare_ranges(const void *x, const void *y)
{
	const struct block *a = x, *b = y;

	return a->addr + a->size <= b->addr ? -1 : b->addr + b->size <= a->addr ? 1 : 0;
}

/* Adds a copy of @b to a tree, unless an equal block is there. Return: the block in the tree */
static struct block *add_block(struct blocks *l, void **tree, const struct block *b,
			       int (*cmp)(const void *, const void *))
{
	struct block *copy = need(malloc(sizeof(*copy)));
	struct block *at;

	*copy = *b;
	at = *(struct block **)need(tsearch(copy, tree, cmp));
	if (at != copy)
		free(copy);
	else
		l->nr++;
	return at;
}

/** blocks_add() - add a block of malloc(); an earlier block at its address is gone */
static void blocks_add(struct blocks *l, const struct block *b)
{
	*add_block(l, &l->heap, b, order_u64) = *b;
}

static void take_out(struct blocks *l, void **tree, struct block *b,
		     int (*cmp)(const void *, const void *))
{
	tdelete(b, tree, cmp);
	free(b);
	l->nr--;
}

/** blocks_free() - remove the block at an address passed to free(), if it is known */
static void blocks_free(struct blocks *l, __u64 addr)
{
	struct block **at = tfind(&(struct block){ .addr = addr }, &l->heap, order_u64);

	if (at)
		take_out(l, &l->heap, *at, order_u64);
}

/** blocks_unmap() - remove mapped blocks, or parts of them, in a range */
static void blocks_unmap(struct blocks *l, __u64 start, __u64 end)
{
	const struct block range = { .addr = start, .size = end - start };
	struct block **at, b;

	while (start < end && (at = tfind(&range, &l->mapped, compare_ranges))) {
		b = **at;
		take_out(l, &l->mapped, *at, compare_ranges);
		if (b.addr + b.size > end) {
			struct block rest = b;

			rest.addr = end;
			rest.size -= end - b.addr;
			add_block(l, &l->mapped, &rest, compare_ranges);
		}
		if (b.addr < start) {
			b.size = start - b.addr;
			add_block(l, &l->mapped, &b, compare_ranges);
		}
	}
}

/** blocks_map() - add a block of mmap(); earlier blocks in its range are unmapped */
static void blocks_map(struct blocks *l, const struct block *b)
{
	blocks_unmap(l, b->addr, b->addr + b->size);
	add_block(l, &l->mapped, b, compare_ranges);
}

/** blocks_clear() - free all */
static void blocks_clear(struct blocks *l)
{
	tdestroy(l->heap, free);
	tdestroy(l->mapped, free);
	*l = (struct blocks){ 0 };
}

static void copy(const void *node, VISIT visit, void *to)
{
	struct block **end = to;

	if (visit == postorder || visit == leaf)
		*(*end)++ = **(struct block *const *)node;
}

/**
 * blocks_sorted() - copy all blocks
 * @nr: gets their number
 * Return: the blocks in address order, malloc()ed
 */
static struct block *blocks_sorted(const struct blocks *l, size_t *nr)
{
	struct block *b = need(calloc(l->nr + 1, sizeof(*b)));
	struct block *end = b;

	twalk_r(l->heap, copy, &end);
	twalk_r(l->mapped, copy, &end);
	*nr = end - b;
	qsort(b, *nr, sizeof(*b), order_u64);
	return b;
}

/* Sites, where a program allocates: a site is a whole stack, or the call that represents stacks */

/* Number of classes of idle memory, by the minimum time since its last use */
#define ESTIMATE_IDLE	2
static const __u64 estimate_idle_ns[ESTIMATE_IDLE] = { 10 * NSEC_PER_SEC, 60 * NSEC_PER_SEC };

/**
 * struct amount - an estimate of bytes
 * @bytes:	the estimate
 * @access:	variance of @bytes, because only few pages are sampled
 * @less, @more: bytes by which it may be too large or too small, because the site of the bytes in
 *	use is unknown
 */
struct amount {
	double bytes;
	double access;
	double less;
	double more;
};

/**
 * struct site - figures of the allocations at one place of a program
 * @samples:	number of samples
 * @live:	estimate of live bytes
 * @variance:	variance of @live
 * @used:	live bytes in use
 * @idle:	live bytes not in use, by class of idle memory
 */
struct site {
	__u64 samples;
	double live;
	double variance;
	struct amount used;
	struct amount idle[ESTIMATE_IDLE];
};

/**
 * struct place - a site
 * @site:	its figures
 * @stack:	its stack, or one of several; NULL: unknown
 * @call:	the call in @stack that allocates
 */
struct place {
	struct site site;
	const struct callstack *stack;
	const struct call *call;
};

#define STACKS_MAX	(1 << 22)

/** struct stack - a STACK record, and its site @place */
struct stack {
	__u32 number;
	__u32 pid;
	struct callstack *calls;
	struct place *place;
};

struct sites {
	bool by_stack;
	struct calls *calls;
	struct sorted stacks;	/* struct stack */
	struct sorted places;	/* struct place * */
};

/* Each name is stored once: equal names have equal addresses */
static int order(const void *x, const void *y)
{
	return COMPARE((uintptr_t)x, (uintptr_t)y);
}

static int compare_places(const void *x, const void *y)
{
	const struct place *a = *(struct place * const *)x, *b = *(struct place * const *)y;
	const struct call *c = a->call, *d = b->call;

	if (!c || !d)
		return COMPARE(!!c, !!d);
	if (!c->function && !d->function && !c->file && !d->file)
		return order(c->path, d->path) ?: COMPARE(c->offset, d->offset) ?:
		       c->path ? 0 : COMPARE(c->pc, d->pc);
	return order(c->function, d->function) ?: order(c->file, d->file) ?:
	       COMPARE(c->line, d->line);
}

static int compare_stacks(const void *x, const void *y)
{
	const struct place *a = *(struct place * const *)x, *b = *(struct place * const *)y;

	return order(a->stack, b->stack);
}

/**
 * sites_new() - allocate an empty set; with @by_stack, each stack is a site. Exits without memory
 */
static struct sites *sites_new(bool by_stack)
{
	struct sites *s = need(calloc(1, sizeof(*s)));

	s->by_stack = by_stack;
	s->calls = calls_new();
	s->stacks = SORTED(struct stack, STACKS_MAX, order_u32, .lazy = true);
	s->places = SORTED(struct place *, STACKS_MAX, by_stack ? compare_stacks : compare_places,
			   .lazy = true);
	return s;
}

/** sites_stack() - take a STACK record, with names by the present mappings */
static void sites_stack(struct sites *s, const struct mappings *ms,
			const struct wsmon_rec_stack *rec)
{
	struct stack *st = sorted_get(&s->stacks, &(struct stack){ .number = rec->number });

	if (st && !st->calls) {
		st->pid = rec->pid;
		st->calls = calls_take(s->calls, ms, rec);
	}
}

/* Return: true if a function only passes on its caller's request */
static bool passes_on(const struct call *c)
{
	return (c->file && strstr(c->file, "/include/c++/")) ||
	       (c->function && !strncmp(c->function, "operator new", strlen("operator new")));
}

/* Return: the innermost call outside the C++ library, if possible one with a source line */
static const struct call *telling(const struct callstack *stack)
{
	const struct call *first = NULL;
	__u32 i;

	for (i = 0; i < stack->nr; i++) {
		const struct call *c = &stack->call[i];

		if (passes_on(c))
			continue;
		if (c->file)
			return c;
		if (!first)
			first = c;
	}
	return first ? first : stack->nr ? stack->call : NULL;
}

static struct place *place(struct sites *s, const struct callstack *stack)
{
	struct place key = { .stack = stack, .call = stack ? telling(stack) : NULL };
	struct place *p = &key, **at;

	at = sorted_find(&s->places, &p);
	if (at)
		return *at;
	p = need(malloc(sizeof(*p)));
	*p = key;
	need(sorted_get(&s->places, &p));
	return p;
}

/**
 * sites_named() - find the site of each stack; call it after the last record, when all names are
 * known
 */
static void sites_named(struct sites *s, const struct mappings *ms)
{
	struct stack *st;
	size_t i;

	sorted_order(&s->stacks);
	st = s->stacks.base;
	for (i = 0; i < s->stacks.nr; i++) {
		st[i].calls = calls_fold(s->calls, ms, st[i].pid, st[i].calls);
		st[i].place = place(s, st[i].calls);
	}
}

/** sites_get() - get the site of a stack. Context: after sites_named() */
static struct site *sites_get(struct sites *s, __u32 stack)
{
	const struct stack key = { .number = stack };
	struct stack *st = sorted_find(&s->stacks, &key);

	return st ? &st->place->site : &place(s, NULL)->site;
}

static int compare_idle(const void *x, const void *y)
{
	const struct place *a = *(struct place * const *)x, *b = *(struct place * const *)y;

	return COMPARE(b->site.idle[0].bytes, a->site.idle[0].bytes) ?:
	       COMPARE(b->site.live, a->site.live);
}

/** sites_sorted() - get all sites with samples, most idle memory first; valid as long as @s */
static struct place **sites_sorted(struct sites *s, size_t *nr)
{
	struct place **p;

	sorted_order(&s->places);
	p = s->places.base;
	if (s->places.nr)
		qsort(p, s->places.nr, sizeof(*p), compare_idle);
	for (*nr = 0; *nr < s->places.nr && p[*nr]->site.samples; ++*nr)
		;
	return p;
}

/** sites_free() - free a set; report files without names */
static void sites_free(struct sites *s)
{
	struct place **p = s->places.base;
	size_t i;

	for (i = 0; i < s->places.nr; i++)
		free(p[i]);
	free(p);
	free(s->stacks.base);
	calls_free(s->calls);
	free(s);
}

/*
 * Bytes allocated and used, estimated from samples of allocations and parts of regions
 *
 * A sample represents size / (1 - exp(-size / rate)) bytes: Horvitz and Thompson's unbiased
 * estimate, whose variance is known from the samples. The recording shows a share in use for each
 * part of a region. If a part holds allocations of several sites, this share does not show whose
 * bytes are in use: the interval covers every possibility.
 */

/** struct part - a part of a region: @share of its bytes is in use, unchanged for @age_ns */
struct part {
	__u64 start;
	__u64 end;
	double share;
	__u64 age_ns;
};

/** struct snapshot - the state of a process at @time_ns, by intervals of @interval_ns */
struct snapshot {
	__u64 time_ns;
	__u64 interval_ns;
	struct part *part;	/* in address order */
	size_t nr, room;
};

/** struct bounds - the ends of a 95 % interval */
struct bounds {
	double low;
	double high;
};

/**
 * struct owner - a site's memory in one part of a region
 * @site:	the site
 * @bytes:	estimate of the site's bytes in the part
 * @old:	bytes of @bytes that are old enough for each class of idle memory
 */
struct owner {
	struct site *site;
	double bytes;
	double old[ESTIMATE_IDLE];
};

static int compare_sites(const void *x, const void *y)
{
	const struct owner *a = x, *b = y;

	return COMPARE((uintptr_t)a->site, (uintptr_t)b->site);
}

/** estimate_weight() - get the weight of a sampled allocation of @size bytes */
static double estimate_weight(__u64 size, __u64 rate)
{
	return size ? -1 / expm1(-(double)size / rate) : 0;
}

static void add_amount(struct amount *a, double bytes, double variance, double less, double more)
{
	a->bytes += bytes;
	a->access += variance;
	a->less += less;
	a->more += more;
}

/* Adds an estimate of the owner's bytes in use to the site's figures */
static void add_owner(const struct owner *o, const struct part *p, __u64 interval_ns)
{
	double size = p->end - p->start, used = p->share * size;
	double share = p->share * o->bytes;
	/* samples may represent more bytes than the part has */
	double mine = fmin(o->bytes, size), scale = o->bytes / mine;
	/*
	 * lower bound: other sites own as many of the used bytes as they can;
	 * upper bound: this site owns as many of them as it can
	 */
	double less = scale * (p->share * mine - fmax(0, used - (size - mine)));
	double more = scale * (fmin(mine, used) - p->share * mine);
	/* two pages were sampled in each interval since the last change of the share */
	double looks = 2 + 2.0 * p->age_ns / (interval_ns ? interval_ns : 1);
	double s = (p->share * looks + 0.5) / (looks + 1), variance = s * (1 - s) / (looks + 1);
	size_t i;

	add_amount(&o->site->used, share, o->bytes * o->bytes * variance, less, more);
	for (i = 0; i < ESTIMATE_IDLE; i++) {
		double part = o->bytes > 0 ? o->old[i] / o->bytes : 0;

		if (p->age_ns >= estimate_idle_ns[i])
			add_amount(&o->site->idle[i], (1 - p->share) * o->old[i],
				   o->old[i] * o->old[i] * variance, more * part, less * part);
	}
}

/* Adds a part. @b: the first sample that ends after the start of the part, and later samples */
static void add_part(const struct block *b, size_t nr, const struct part *p,
		     const struct snapshot *s, struct sorted *owners, struct sites *sites)
{
	const struct owner *o;
	size_t i, j;

	owners->nr = owners->late = 0;
	for (i = 0; i < nr && b[i].addr < p->end; i++) {
		__u64 from = b[i].addr > p->start ? b[i].addr : p->start;
		__u64 to = b[i].addr + b[i].size < p->end ? b[i].addr + b[i].size : p->end;
		double bytes = to > from ? (to - from) * b[i].weight : 0;
		struct owner *own;

		if (!bytes)
			continue;
		own = need(sorted_get(owners, &(struct owner){
			.site = sites_get(sites, b[i].stack),
		}));
		own->bytes += bytes;
		for (j = 0; j < ESTIMATE_IDLE; j++)
			if (s->time_ns - b[i].born_ns >= estimate_idle_ns[j])
				own->old[j] += bytes;
	}
	o = owners->base;
	for (i = 0; i < owners->nr; i++)
		add_owner(&o[i], p, s->interval_ns);
}

/**
 * estimate_add() - add a process to the figures of sites
 * @b:		@nr live samples of the process, in address order
 * @s:		memory of the process at that time
 * @sites:	the sites
 */
static void estimate_add(const struct block *b, size_t nr, const struct snapshot *s,
			 struct sites *sites)
{
	struct sorted owners = SORTED(struct owner, nr + 1, compare_sites, .lazy = true);
	size_t i, first = 0;

	for (i = 0; i < nr; i++) {
		struct site *site = sites_get(sites, b[i].stack);
		double size = b[i].size;

		site->samples++;
		site->live += size * b[i].weight;
		site->variance += size * size * b[i].weight * (b[i].weight - 1);
	}
	for (i = 0; i < s->nr; i++) {
		while (first < nr && b[first].addr + b[first].size <= s->part[i].start)
			first++;
		add_part(b + first, nr - first, &s->part[i], s, &owners, sites);
	}
	free(owners.base);
}

/*
 * Return: the interval of an estimate that is a sum of samples of @unit bytes each. This is
 * Garwood's interval of a Poisson count, in the approximation of Wilson and Hilferty
 */
static struct bounds poisson(double bytes, double unit)
{
	double n, m, root;
	struct bounds b = { bytes, bytes };

	/* every allocation is sampled */
	if (!(unit > 0))
		return b;
	n = bytes / unit;
	m = n + 1;
	root = n > 0 ? 1 - 1 / (9 * n) - Z / (3 * sqrt(n)) : 0;
	b.low = root > 0 ? unit * n * root * root * root : 0;
	root = 1 - 1 / (9 * m) + Z / (3 * sqrt(m));
	b.high = unit * m * root * root * root;
	return b;
}

/* Return: mean bytes represented by a randomly sampled allocation; 0 if all are sampled */
static double unit(const struct site *s)
{
	return s->live > 0 ? s->variance / s->live : 0;
}

/** estimate_live() - get the interval of @s->live */
static struct bounds estimate_live(const struct site *s)
{
	return poisson(s->live, unit(s));
}

/** estimate_bounds() - get the interval of an amount of a site */
static struct bounds estimate_bounds(const struct site *s, const struct amount *a)
{
	struct bounds b = poisson(a->bytes, unit(s)), all = estimate_live(s);
	double access = Z * sqrt(a->access);

	b.low = fmax(0, a->bytes - hypot(a->bytes - b.low, access) - a->less);
	b.high = fmin(all.high, a->bytes + hypot(b.high - a->bytes, access) + a->more);
	return b;
}

/*
 * The view
 */

#define LIBRARY		"/libwsmo-alloc.so"

/** struct interval - an estimate and the ends of its 95 % interval */
struct interval {
	__u64 bytes, low, high;
};

struct alloc_row {
	struct interval live, in_use, idle, idle_1min;
	__u64 samples;
	const char *site, *function, *file;
	__u64 line;
	const char *stack;
};

#define ROW struct alloc_row

#define AMOUNT(field, head, flags, people, help, low_help)				\
	COL_AS(#field, field.bytes, SIZE, 9, head, flags, help),			\
	COL_AS(#field "_low", field.low, SIZE, 9, "LOW", flags | people, low_help),	\
	COL_AS(#field "_high", field.high, SIZE, 9, "HIGH", flags | people, "upper end")

TABLE(alloc_table, "alloc",
	AMOUNT(live, "LIVE", 0, NOT_HUMAN, "allocated and not freed",
	       "lower end of its interval, which covers only the sampling error"),
	AMOUNT(in_use, "IN USE", 0, 0, "accessed within an aggregation interval", "lower end"),
	AMOUNT(idle, "IDLE 10 s", OR_NULL, 0,
	       "not accessed for ten seconds or longer; null if nothing was watched for so long",
	       "lower end"),
	AMOUNT(idle_1min, "IDLE 1 min", OR_NULL, NOT_HUMAN,
	       "not accessed for a minute or longer; null if nothing was watched for so long",
	       "lower end"),
	COL(samples, COUNT, 7, "SAMPLES", 0, "live samples"),
	COL(site, TEXT, 4, "SITE", NOT_JSON | NOT_CSV, ""),
	COL(function, TEXT, 4, "FUNCTION", NOT_HUMAN | OR_NULL,
	    "the innermost function with a source line, outside of C++'s library; without such a "
	    "function, the innermost function"),
	COL(file, TEXT, 4, "FILE", NOT_HUMAN | OR_NULL, "its source file"),
	COL(line, COUNT, 4, "LINE", NOT_HUMAN | OR_NULL, "the line"),
	COL(stack, LIST, 4, "STACK", NOT_HUMAN,
	    "the same as ``function (file:line)``; with ``--by stack`` all calls, innermost first. "
	    "CSV separates calls by semicolons"));

/** struct alloc_options - the command line */
static struct alloc_options {
	bool by_stack;
	bool folded;
	__u64 top;
} options = { .top = 20 };

/**
 * struct process - a process
 * @pid:	its pid
 * @comm:	its name
 * @rate:	mean bytes from one sample to the next, 0 if unknown
 * @begun_ns:	when the program loaded the library
 * @new_ns:	when it executed a program that may not load the library; 0: none
 * @watched_ns:	when watching the process began; 0: unknown yet
 * @live:	live samples at @snapshot
 * @snapshot:	memory of the process
 * @event:	@nr events, room for @room; from @first on, not applied yet
 */
struct process {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	__u64 rate;
	__u64 begun_ns;
	__u64 new_ns;
	__u64 watched_ns;
	struct blocks live;
	struct snapshot snapshot;
	struct wsmon_rec_alloc *event;
	size_t first, nr, room;
};

/**
 * struct view - the view's own data
 * @processes:	struct process
 * @mappings:	for names
 * @sites:	for figures
 * @fine:	state that divides regions into parts
 * @events:	number of events in the recording
 * @lost:	number of lost events
 * @watched_ns:	longest time for which a process was watched
 */
struct view {
	struct sorted processes;
	struct mappings *mappings;
	struct sites *sites;
	struct fine *fine;
	__u64 events;
	__u64 lost;
	__u64 watched_ns;
};

static struct process *process(struct view *v, __u32 pid)
{
	return need(sorted_get(&v->processes, &(struct process){ .pid = pid }));
}

static void alloc_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->processes = SORTED(struct process, TARGETS_MAX, order_u32, .lazy = true);
	v->mappings = need(mappings_new());
	v->sites = sites_new(options.by_stack || options.folded);
	v->fine = need(fine_new(rp->reader.header.page_size));
	rp->data = v;
}

static void apply(struct process *p, const struct wsmon_rec_alloc *e)
{
	const struct block b = {
		.addr = e->addr, .size = e->bytes, .stack = e->stack, .born_ns = e->rec.time_ns,
		.weight = p->rate ? estimate_weight(e->bytes, p->rate) : 0,
	};

	switch (e->kind) {
	case WSMON_ALLOC_START:
		blocks_clear(&p->live);
		p->rate = e->bytes;
		p->begun_ns = e->rec.time_ns;
		break;
	case WSMON_ALLOC_MALLOC:
		if (p->rate && e->addr && e->bytes)
			blocks_add(&p->live, &b);
		break;
	case WSMON_ALLOC_FREE:
		blocks_free(&p->live, e->addr);
		break;
	case WSMON_ALLOC_MMAP:
		if (p->rate && e->addr && e->bytes && e->addr + e->bytes > e->addr)
			blocks_map(&p->live, &b);
		break;
	case WSMON_ALLOC_MUNMAP:
		blocks_unmap(&p->live, e->addr, e->addr + e->bytes);
		break;
	}
}

/* Apply the events up to a time, in their order */
static void apply_until(struct process *p, __u64 time_ns)
{
	while (p->first < p->nr && p->event[p->first].rec.time_ns <= time_ns)
		apply(p, &p->event[p->first++]);
}

static void take_event(struct view *v, const struct wsmon_rec_alloc *rec)
{
	struct process *p = process(v, rec->pid);

	v->events++;
	if (rec->kind == WSMON_ALLOC_LOST) {
		v->lost += rec->bytes;
		return;
	}
	/* make room once half of the events are applied */
	if (p->nr && p->nr == p->room && 2 * p->first >= p->nr) {
		p->nr -= p->first;
		memmove(p->event, p->event + p->first, p->nr * sizeof(*p->event));
		p->first = 0;
	}
	if (p->nr == p->room) {
		p->room = p->room ? 2 * p->room : 256;
		p->event = need(reallocarray(p->event, p->room, sizeof(*p->event)));
	}
	p->event[p->nr++] = *rec;
}

static void take_part(void *arg, const struct wsmon_region_entry *e)
{
	struct snapshot *s = arg;

	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->part = need(reallocarray(s->part, s->room, sizeof(*s->part)));
	}
	s->part[s->nr++] = (struct part) {
		.start = e->start, .end = e->end, .share = (double)e->share / WSMON_SHARE_ONE,
		.age_ns = e->age_ms * 1000000ULL,
	};
}

static void take_snapshot(struct report *rp, const struct wsmon_rec_snapshot *rec)
{
	struct view *v = rp->data;
	struct process *p = process(v, rec->pid);
	struct snapshot *s = &p->snapshot;

	if (!p->watched_ns)
		p->watched_ns = rec->rec.time_ns - rec->interval_ns;
	if (rec->rec.time_ns < rp->filter.zero_ns ||
	    (__s64)(rec->rec.time_ns - rp->filter.zero_ns) <= rp->filter.to_ns)
		apply_until(p, rec->rec.time_ns);
	if (!filter_wants(&rp->filter, &rec->rec))
		return;
	if (rec->rec.time_ns != s->time_ns)
		s->nr = 0;
	s->time_ns = rec->rec.time_ns;
	s->interval_ns = rec->interval_ns;
	fine_snapshot(v->fine, rec, take_part, s);
}

/* Takes a TARGET record. Whether a newly executed program will load the library is unknown */
static void take_target(struct view *v, const struct wsmon_rec_target *rec)
{
	struct process *p = process(v, rec->pid);

	memcpy(p->comm, rec->comm, sizeof(p->comm));
	if ((rec->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		p->new_ns = p->watched_ns = rec->rec.time_ns;
}

static void take_mapping(struct view *v, const struct wsmon_rec_mapping *rec)
{
	const char *name = strrchr(rec->path, '/');

	if (name && !strcmp(name, LIBRARY))
		process(v, rec->pid)->new_ns = 0;
}

static void alloc_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_stack *stack = (const void *)rec;
	struct view *v = rp->data;

	mappings_add(v->mappings, rec);
	if (rec->type == WSMON_REC_SNAPSHOT)
		take_snapshot(rp, (const void *)rec);
	else
		fine_note(v->fine, rec);
	if (rec->type == WSMON_REC_ALLOC)
		take_event(v, (const void *)rec);
	else if (rec->type == WSMON_REC_TARGET)
		take_target(v, (const void *)rec);
	else if (rec->type == WSMON_REC_MAPPING)
		take_mapping(v, (const void *)rec);
	else if (rec->type == WSMON_REC_STACK && stack->reason == WSMON_STACK_ALLOC)
		sites_stack(v->sites, v->mappings, stack);
}

/* Add a process to the figures */
static void add_process(const struct report *rp, const struct process *p)
{
	struct view *v = rp->data;
	struct block *b;
	size_t nr;

	if (!p->snapshot.nr || !filter_wants_pid(&rp->filter, p->pid))
		return;
	if (!p->rate || p->new_ns > p->begun_ns) {
		msg("no allocations of process %u (%.16s) are known: its program did not load libwsmo-alloc.so",
		    p->pid, p->comm);
		return;
	}
	if (p->snapshot.time_ns - p->watched_ns > v->watched_ns)
		v->watched_ns = p->snapshot.time_ns - p->watched_ns;
	b = blocks_sorted(&p->live, &nr);
	estimate_add(b, nr, &p->snapshot, v->sites);
	free(b);
}

/*
 * Writes a line for each call, outermost last; only p->call unless --by stack
 * Return: malloc()ed
 */
static char *stack_text(const struct place *p)
{
	char text[CALL_TEXT], *lines = NULL;
	size_t size;
	FILE *f = need(open_memstream(&lines, &size));
	__u32 i;

	if (options.by_stack && p->stack)
		for (i = 0; i < p->stack->nr; i++)
			fprintf(f, "%s%s", i ? "\n" : "", calls_text(text, &p->stack->call[i]));
	else if (p->call)
		fputs(calls_text(text, p->call), f);
	fclose(f);
	return lines;
}

static struct interval rounded(double bytes, struct bounds b)
{
	return (struct interval){ bytes + 0.5, b.low + 0.5, b.high + 0.5 };
}

/* Return: the estimate of class @i; unknown if the class is idle for longer than was watched */
static struct interval idle(const struct view *v, const struct site *s, unsigned int i)
{
	if (v->watched_ns < estimate_idle_ns[i])
		return (struct interval){ UNKNOWN_U64, UNKNOWN_U64, UNKNOWN_U64 };
	return rounded(s->idle[i].bytes, estimate_bounds(s, &s->idle[i]));
}

static void print_place(const struct report *rp, struct table *table, const struct place *p)
{
	const struct site *s = &p->site;
	char text[CALL_TEXT], *stack = stack_text(p);
	__u32 i;

	table_row(table, &(struct alloc_row) {
		.live = rounded(s->live, estimate_live(s)),
		.in_use = rounded(s->used.bytes, estimate_bounds(s, &s->used)),
		.idle = idle(rp->data, s, 0),
		.idle_1min = idle(rp->data, s, 1),
		.samples = s->samples,
		.site = p->call ? calls_text(text, p->call) : "unknown",
		.function = text_or_none(p->call ? p->call->function : NULL),
		.file = text_or_none(p->call ? p->call->file : NULL),
		.line = p->call && p->call->file ? (__u64)p->call->line : UNKNOWN_U64,
		.stack = stack,
	});
	free(stack);
	if (!options.by_stack || !p->stack ||
	    (rp->out.format != TABLE_HUMAN && rp->out.format != TABLE_RAW))
		return;
	table_flush(table);
	for (i = 0; i < p->stack->nr; i++)
		fprintf(rp->out.f, "        %s\n", calls_text(text, &p->stack->call[i]));
}

static void print_rows(const struct report *rp, struct place **p, size_t nr)
{
	struct table *table = report_table(rp, &alloc_table);
	size_t i;

	for (i = 0; i < nr && i < options.top; i++)
		print_place(rp, table, p[i]);
	table_end(table);
}

static void print_folded(const struct report *rp, struct place **p, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (p[i]->site.idle[0].bytes < 1)
			continue;
		if (p[i]->stack && p[i]->stack->nr)
			calls_print_folded(rp->out.f, p[i]->stack);
		else
			fputs("unknown", rp->out.f);
		fprintf(rp->out.f, " %.0f\n", p[i]->site.idle[0].bytes);
	}
}

static void alloc_end(struct report *rp)
{
	struct view *v = rp->data;
	struct process *p;
	struct place **places;
	char time[UNITS_LEN];
	size_t i, nr;

	sorted_order(&v->processes);
	p = v->processes.base;
	sites_named(v->sites, v->mappings);
	for (i = 0; v->events && i < v->processes.nr; i++)
		add_process(rp, &p[i]);
	places = sites_sorted(v->sites, &nr);
	if (options.folded)
		print_folded(rp, places, nr);
	else
		print_rows(rp, places, nr);
	fflush(rp->out.f);
	rp->failed = !v->events;
	if (!v->events)
		msg("no allocations in this recording: see wsmo record --alloc");
	else if (nr && v->watched_ns < estimate_idle_ns[0])
		msg("memory idle for 10 s is unknown: it was watched for only %s; record for longer",
		    units_time(time, v->watched_ns));
	if (v->lost)
		msg("LOST %llu events: freed memory may be shown as live, and live memory as freed", v->lost);
	for (i = 0; i < v->processes.nr; i++) {
		blocks_clear(&p[i].live);
		free(p[i].snapshot.part);
		free(p[i].event);
	}
	free(p);
	sites_free(v->sites);
	mappings_free(v->mappings);
	fine_free(v->fine);
	free(v);
}

static const struct option_desc own[] = {
	{ "by", 0, "site|stack", "A row for each place that allocates (site), or each stack",
	  OPT_CHOICE, OPT_AT(struct alloc_options, by_stack) },
	{ "top", 0, "N", "Rows, those with most idle bytes first (20)", OPT_COUNT,
	  OPT_AT(struct alloc_options, top), 1, 1000000000 },
	{ "folded", 0, NULL, "Only stacks and bytes idle for 10 s, for flame graphs", OPT_FLAG,
	  OPT_AT(struct alloc_options, folded) },
	{ 0 }
};

REPORT_VIEW(alloc_view) = {
	.order = 12,
	.name = "alloc",
	.help = "Who allocated memory, and how much of it is in use",
	.takes = TAKES_FORMAT,
	.own = own,
	.options = &options,
	.of_processes = true,
	.begin = alloc_begin,
	.record = alloc_record,
	.end = alloc_end,
};
