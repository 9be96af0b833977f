/* SPDX-License-Identifier: GPL-2.0 */
/* sorted.h - a sorted array that grows up to a limit */
#ifndef WSMO_SORTED_H
#define WSMO_SORTED_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct sorted - the array
 * @base:	the elements, in order
 * @nr:		number of elements
 * @size:	bytes of an element
 * @max:	maximum number of elements
 * @compare:	compares two elements, as for qsort()
 * @lazy:	allow @late elements, for many additions in any order; call sorted_order() before
 *		reading @base
 * @late:	number of elements at the end of @base, sorted among themselves only
 */
struct sorted {
	void *base;
	size_t nr;
	size_t size;
	size_t max;
	int (*compare)(const void *a, const void *b);
	bool lazy;
	size_t late;
};

/* An empty array; @type: type of the elements, or an object of this type */
#define SORTED(type, limit, order, ...) \
	(struct sorted) { .size = sizeof(type), .max = limit, .compare = order, __VA_ARGS__ }

/**
 * sorted_find() - find the element equal to @key
 * Return: NULL if there is none, or @s is all zero
 */
void *sorted_find(const struct sorted *s, const void *key);

/**
 * sorted_get() - find the element equal to @key, or add a copy of @key
 *
 * Adding moves elements, which invalidates pointers to them.
 *
 * Return: NULL at the limit, or if memory ran out
 */
void *sorted_get(struct sorted *s, const void *key);

/** sorted_order() - merge the late elements into the others, which moves elements */
void sorted_order(struct sorted *s);

/**
 * sorted_above() - find the first element with a key above @at in an ascending array
 * @first:	address of the key, a __u64, in the first element
 * @nr:		number of elements
 * @size:	bytes of an element
 *
 * Return: the element's index; @nr if there is none
 */
size_t sorted_above(const void *first, size_t nr, size_t size, __u64 at);

/**
 * sorted_remove() - remove an element; the array must not be lazy
 * @element: the element; elements after it move down
 */
void sorted_remove(struct sorted *s, void *element);

#endif /* WSMO_SORTED_H */
