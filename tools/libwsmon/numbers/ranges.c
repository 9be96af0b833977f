// SPDX-License-Identifier: GPL-2.0
/*
 * ranges.c - all address ranges that a target ever had mapped
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libwsmon/sorted.h"
#include "ranges.h"

/* Maximum number of ranges; more mappings are left out */
#define RANGES_MAX	8192

size_t ranges_find(const struct ranges *s, __u64 addr)
{
	return s->nr ? sorted_above(&s->range->end, s->nr, sizeof(*s->range), addr) : 0;
}

static bool same(const struct range *s, __u32 class, const char *name)
{
	return s->class == class && !strcmp(s->name, name);
}

static int make_room(struct ranges *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct range *more;

	if (s->nr < s->room)
		return 0;
	if (room > RANGES_MAX)
		return -1;
	more = reallocarray(s->range, room, sizeof(*more));
	if (!more)
		return -1;
	s->range = more;
	s->room = room;
	return 0;
}

/* Extends a neighbour of the gap before range @i; Return: whether one fits */
static bool extend(struct ranges *s, size_t i, const struct range *new)
{
	struct range *below = i ? &s->range[i - 1] : NULL;
	struct range *above = i < s->nr ? &s->range[i] : NULL;

	if (below && below->end == new->start &&
	    same(below, new->class, new->name)) {
		below->end = new->end;
		return true;
	}
	if (above && new->end == above->start &&
	    same(above, new->class, new->name)) {
		above->start = new->start;
		return true;
	}
	return false;
}

/* Inserts a range before range @i */
static void insert(struct ranges *s, size_t i, const struct range *new)
{
	char *copy;

	if (extend(s, i, new))
		return;
	copy = make_room(s) ? NULL : strdup(new->name);
	if (!copy) {
		s->full = true;
		return;
	}
	memmove(s->range + i + 1, s->range + i, (s->nr - i) * sizeof(*new));
	s->range[i] = *new;
	s->range[i].name = copy;
	s->nr++;
}

void ranges_add(struct ranges *s, __u64 start, __u64 end, __u32 class,
	       const char *name)
{
	while (start < end) {
		size_t i = ranges_find(s, start);
		__u64 stop = end;

		if (i < s->nr && s->range[i].start <= start) {
			start = s->range[i].end;
			continue;
		}
		if (i < s->nr && s->range[i].start < end)
			stop = s->range[i].start;
		insert(s, i, &(struct range) {
			.start = start, .end = stop, .class = class,
			.name = (char *)(uintptr_t)name,
		});
		start = stop;
	}
}

void ranges_free(struct ranges *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->range[i].name);
	free(s->range);
}
