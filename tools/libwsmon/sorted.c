// SPDX-License-Identifier: GPL-2.0
/*
 * sorted.c - a sorted array that grows up to a limit
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sorted.h"

/* Index of @key, or of its place */
static char *locate(const struct sorted *s, const void *key, bool *found)
{
	size_t low = 0, high = s->nr;

	*found = false;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = s->compare((char *)s->base + mid * s->size, key);

		if (c < 0) {
			low = mid + 1;
		} else {
			high = mid;
			*found |= !c;
		}
	}
	return s->base ? (char *)s->base + low * s->size : NULL;
}

void *sorted_find(const struct sorted *s, const void *key)
{
	bool found;
	char *p = locate(s, key, &found);

	return found ? p : NULL;
}

void *sorted_get(struct sorted *s, const void *key)
{
	bool found;
	char *p = locate(s, key, &found), *base;
	size_t before = p ? p - (char *)s->base : 0;

	if (found)
		return p;
	if (s->nr == s->max)
		return NULL;
	/* there is place for the next power of two */
	base = s->base;
	if (!(s->nr & (s->nr - 1)))
		base = reallocarray(base, s->nr ? 2 * s->nr : 1, s->size);
	if (!base)
		return NULL;
	p = base + before;
	memmove(p + s->size, p, s->nr * s->size - before);
	memcpy(p, key, s->size);
	s->base = base;
	s->nr++;
	return p;
}

void sorted_remove(struct sorted *s, void *element)
{
	char *p = element, *end = (char *)s->base + s->nr * s->size;

	memmove(p, p + s->size, end - p - s->size);
	s->nr--;
}

size_t sorted_above(const void *first, size_t nr, size_t size, __u64 at)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (*(const __u64 *)((const char *)first + mid * size) > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}
