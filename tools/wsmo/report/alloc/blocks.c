// SPDX-License-Identifier: GPL-2.0
/*
 * blocks.c - the sampled allocations of a process that are not freed
 */
#include <search.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "blocks.h"

static int compare(const void *x, const void *y)
{
	const struct block *a = x, *b = y;

	return COMPARE(a->addr, b->addr);
}

/* Those that overlap are equal. None ends beyond 2^64. */
static int compare_ranges(const void *x, const void *y)
{
	const struct block *a = x, *b = y;

	return a->addr + a->size <= b->addr ? -1 : b->addr + b->size <= a->addr ? 1 : 0;
}

/* Returns the block that is there, which is a copy of @b if there was none */
static struct block *add(struct blocks *l, void **tree, const struct block *b,
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

void blocks_add(struct blocks *l, const struct block *b)
{
	*add(l, &l->heap, b, compare) = *b;
}

static void take_out(struct blocks *l, void **tree, struct block *b,
		     int (*cmp)(const void *, const void *))
{
	tdelete(b, tree, cmp);
	free(b);
	l->nr--;
}

void blocks_free(struct blocks *l, __u64 addr)
{
	struct block **at = tfind(&(struct block){ .addr = addr }, &l->heap, compare);

	if (at)
		take_out(l, &l->heap, *at, compare);
}

void blocks_map(struct blocks *l, const struct block *b)
{
	blocks_unmap(l, b->addr, b->addr + b->size);
	add(l, &l->mapped, b, compare_ranges);
}

void blocks_unmap(struct blocks *l, __u64 start, __u64 end)
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
			add(l, &l->mapped, &rest, compare_ranges);
		}
		if (b.addr < start) {
			b.size = start - b.addr;
			add(l, &l->mapped, &b, compare_ranges);
		}
	}
}

void blocks_clear(struct blocks *l)
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

struct block *blocks_sorted(const struct blocks *l, size_t *nr)
{
	struct block *b = need(calloc(l->nr + 1, sizeof(*b)));
	struct block *end = b;

	twalk_r(l->heap, copy, &end);
	twalk_r(l->mapped, copy, &end);
	*nr = end - b;
	qsort(b, *nr, sizeof(*b), compare);
	return b;
}
