// SPDX-License-Identifier: GPL-2.0
/*
 * spans.c - all address ranges that a target ever had mapped
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libwsmon/sorted.h"
#include "spans.h"

/* Maximum number of spans; more mappings are left out */
#define SPANS_MAX	8192

size_t spans_find(const struct spans *s, __u64 addr)
{
	return s->nr ? sorted_above(&s->span->end, s->nr, sizeof(*s->span), addr) : 0;
}

static bool same(const struct span *s, __u32 class, const char *name)
{
	return s->class == class && !strcmp(s->name, name);
}

static int make_room(struct spans *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct span *more;

	if (s->nr < s->room)
		return 0;
	if (room > SPANS_MAX)
		return -1;
	more = reallocarray(s->span, room, sizeof(*more));
	if (!more)
		return -1;
	s->span = more;
	s->room = room;
	return 0;
}

/* Extends a neighbour of the gap before span @i; Return: whether one fits */
static bool extend(struct spans *s, size_t i, const struct span *new)
{
	struct span *below = i ? &s->span[i - 1] : NULL;
	struct span *above = i < s->nr ? &s->span[i] : NULL;

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

/* Inserts a range before span @i */
static void insert(struct spans *s, size_t i, const struct span *new)
{
	char *copy;

	if (extend(s, i, new))
		return;
	copy = make_room(s) ? NULL : strdup(new->name);
	if (!copy) {
		s->full = true;
		return;
	}
	memmove(s->span + i + 1, s->span + i, (s->nr - i) * sizeof(*new));
	s->span[i] = *new;
	s->span[i].name = copy;
	s->nr++;
}

void spans_add(struct spans *s, __u64 start, __u64 end, __u32 class,
	       const char *name)
{
	while (start < end) {
		size_t i = spans_find(s, start);
		__u64 stop = end;

		if (i < s->nr && s->span[i].start <= start) {
			start = s->span[i].end;
			continue;
		}
		if (i < s->nr && s->span[i].start < end)
			stop = s->span[i].start;
		insert(s, i, &(struct span) {
			.start = start, .end = stop, .class = class,
			.name = (char *)(uintptr_t)name,
		});
		start = stop;
	}
}

void spans_free(struct spans *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->span[i].name);
	free(s->span);
}
