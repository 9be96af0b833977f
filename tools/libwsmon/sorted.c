// SPDX-License-Identifier: GPL-2.0
/* sorted.c - a sorted array that grows up to a limit */
#include <stdlib.h>
#include <string.h>

#include "sorted.h"
#include "util.h"

/* Do not merge fewer late elements than this into the others */
#define LATE_MIN	64

static char *at(const struct sorted *s, size_t i)
{
	return (char *)s->base + i * s->size;
}

/* Return: index, from @low to @high, where @key is or belongs. @found: gets whether it is there */
static size_t locate(const struct sorted *s, const void *key, size_t low, size_t high, bool *found)
{
	*found = false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = s->compare(at(s, mid), key);

		if (c < 0) {
			low = mid + 1;
		} else {
			high = mid;
			*found |= !c;
		}
	}
	return low;
}

void *sorted_find(const struct sorted *s, const void *key)
{
	size_t first = s->nr - s->late, i;
	bool found;

	i = locate(s, key, 0, first, &found);
	if (!found && s->late)
		i = locate(s, key, first, s->nr, &found);
	return found ? at(s, i) : NULL;
}

void sorted_order(struct sorted *s)
{
	size_t first = s->nr - s->late, end = first, i = s->late;
	char *late = i ? malloc(i * s->size) : NULL;
	bool found;

	if (late) {
		memcpy(late, at(s, first), i * s->size);
		while (i--) {
			first = locate(s, late + i * s->size, 0, end, &found);
			memmove(at(s, first + i + 1), at(s, first), (end - first) * s->size);
			memcpy(at(s, first + i), late + i * s->size, s->size);
			end = first;
		}
		free(late);
	} else if (s->late) {
		qsort(s->base, s->nr, s->size, s->compare);
	}
	s->late = 0;
}

void *sorted_get(struct sorted *s, const void *key)
{
	size_t first, i;
	void *base;
	bool found;
	char *p;

	p = sorted_find(s, key);
	if (p)
		return p;
	if (s->nr == s->max)
		return NULL;
	base = array_more(s->base, s->nr, s->size);
	if (!base)
		return NULL;
	s->base = base;
	if (s->late > LATE_MIN && s->late * s->late / 4 > s->nr)
		sorted_order(s);
	first = s->nr - s->late;
	i = locate(s, key, 0, first, &found);
	/* lazy: an element that is not the last in order becomes a late one, to be merged later */
	if (s->lazy && (i < first || s->late)) {
		i = locate(s, key, first, s->nr, &found);
		s->late++;
	}
	p = at(s, i);
	memmove(p + s->size, p, (s->nr - i) * s->size);
	memcpy(p, key, s->size);
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
