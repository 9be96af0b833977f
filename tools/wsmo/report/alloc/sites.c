// SPDX-License-Identifier: GPL-2.0
/*
 * sites.c - where a program allocates: stacks, or the calls in them that say most
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "sites.h"

#define STACKS_MAX	(1 << 22)

/** struct stack - a STACK record; @place is its site */
struct stack {
	__u32 number;
	__u32 pid;
	struct callstack *calls;
	struct place *place;
};

struct sites {
	bool by_stack;
	struct calls *calls;
	struct sorted stacks;	/* struct stack, by number */
	struct sorted places;	/* struct place * */
};

static int compare_numbers(const void *x, const void *y)
{
	const struct stack *a = x, *b = y;

	return COMPARE(a->number, b->number);
}

/* Names are kept once: equal ones are at equal addresses */
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

struct sites *sites_new(bool by_stack)
{
	struct sites *s = need(calloc(1, sizeof(*s)));

	s->by_stack = by_stack;
	s->calls = calls_new();
	s->stacks = (struct sorted) {
		.size = sizeof(struct stack), .max = STACKS_MAX, .compare = compare_numbers,
		.lazy = true,
	};
	s->places = (struct sorted) {
		.size = sizeof(struct place *), .max = STACKS_MAX,
		.compare = by_stack ? compare_stacks : compare_places, .lazy = true,
	};
	return s;
}

void sites_stack(struct sites *s, const struct mappings *ms, const struct wsmon_rec_stack *rec)
{
	struct stack *st = sorted_get(&s->stacks, &(struct stack){ .number = rec->number });

	if (st && !st->calls) {
		st->pid = rec->pid;
		st->calls = calls_take(s->calls, ms, rec);
	}
}

/* Does a function only pass on what it is asked for? */
static bool passes_on(const struct call *c)
{
	return (c->file && strstr(c->file, "/include/c++/")) ||
	       (c->function && !strncmp(c->function, "operator new", strlen("operator new")));
}

/* The innermost call with a source line, outside of the C++ library; if none has, the innermost */
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
	struct place key = { .stack = stack, .call = stack ? telling(stack) : NULL }, *p = &key, **at;

	at = sorted_find(&s->places, &p);
	if (at)
		return *at;
	p = need(malloc(sizeof(*p)));
	*p = key;
	need(sorted_get(&s->places, &p));
	return p;
}

void sites_named(struct sites *s, const struct mappings *ms)
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

struct site *sites_get(void *sites, __u32 stack)
{
	const struct stack key = { .number = stack };
	struct sites *s = sites;
	struct stack *st = s->stacks.nr ? sorted_find(&s->stacks, &key) : NULL;

	return st ? &st->place->site : &place(s, NULL)->site;
}

static int compare_idle(const void *x, const void *y)
{
	const struct place *a = *(struct place * const *)x, *b = *(struct place * const *)y;

	return COMPARE(b->site.idle[0].bytes, a->site.idle[0].bytes) ?:
	       COMPARE(b->site.live, a->site.live);
}

struct place **sites_sorted(struct sites *s, size_t *nr)
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

void sites_free(struct sites *s)
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
