// SPDX-License-Identifier: GPL-2.0
/*
 * blocks.c - the sampled allocations of a process that are not freed
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "blocks.h"

static size_t home(const struct blocks *l, __u64 addr)
{
	return (addr * 0x9e3779b97f4a7c15ULL >> 20) & (l->room - 1);
}

static struct block *find(const struct blocks *l, __u64 addr)
{
	size_t i = home(l, addr);

	while (l->slot[i].addr && l->slot[i].addr != addr)
		i = (i + 1) & (l->room - 1);
	return &l->slot[i];
}

static void grow(struct blocks *l)
{
	struct blocks new = { .room = l->room ? 2 * l->room : 1024 };
	size_t i;

	new.slot = need(calloc(new.room, sizeof(*new.slot)));
	for (i = 0; i < l->room; i++)
		if (l->slot[i].addr)
			*find(&new, l->slot[i].addr) = l->slot[i];
	free(l->slot);
	l->slot = new.slot;
	l->room = new.room;
}

void blocks_add(struct blocks *l, const struct block *b)
{
	struct block *at;

	if (2 * l->nr >= l->room)
		grow(l);
	at = find(l, b->addr);
	l->nr += !at->addr;
	*at = *b;
}

void blocks_free(struct blocks *l, __u64 addr)
{
	struct block *at = l->nr ? find(l, addr) : NULL;
	size_t hole, i;

	if (!at || !at->addr)
		return;
	l->nr--;
	/* those behind it stay where they are found */
	hole = i = at - l->slot;
	for (;;) {
		i = (i + 1) & (l->room - 1);
		if (!l->slot[i].addr)
			break;
		if (((i - home(l, l->slot[i].addr)) & (l->room - 1)) >= ((i - hole) & (l->room - 1))) {
			l->slot[hole] = l->slot[i];
			hole = i;
		}
	}
	l->slot[hole].addr = 0;
}

void blocks_map(struct blocks *l, const struct block *b)
{
	if (l->maps == l->maps_room) {
		l->maps_room = l->maps_room ? 2 * l->maps_room : 64;
		l->map = need(reallocarray(l->map, l->maps_room, sizeof(*l->map)));
	}
	l->map[l->maps++] = *b;
}

void blocks_unmap(struct blocks *l, __u64 start, __u64 end)
{
	size_t i;

	for (i = l->maps; i--;) {
		struct block *b = &l->map[i], rest = *b;
		__u64 b_end = b->addr + b->size;

		if (b->addr >= end || b_end <= start)
			continue;
		if (b->addr < start) {
			b->size = start - b->addr;
		} else if (b_end > end) {
			b->addr = end;
			b->size = b_end - end;
			continue;
		} else {
			*b = l->map[--l->maps];
			continue;
		}
		if (b_end > end) {
			rest.addr = end;
			rest.size = b_end - end;
			blocks_map(l, &rest);
		}
	}
}

void blocks_clear(struct blocks *l)
{
	free(l->slot);
	free(l->map);
	*l = (struct blocks){ 0 };
}

static int compare(const void *x, const void *y)
{
	const struct block *a = x, *b = y;

	return COMPARE(a->addr, b->addr);
}

struct block *blocks_sorted(const struct blocks *l, size_t *nr)
{
	struct block *b = need(calloc(l->nr + l->maps + 1, sizeof(*b)));
	size_t n = 0, i;

	for (i = 0; i < l->room; i++)
		if (l->slot[i].addr)
			b[n++] = l->slot[i];
	for (i = 0; i < l->maps; i++)
		b[n++] = l->map[i];
	qsort(b, n, sizeof(*b), compare);
	*nr = n;
	return b;
}
