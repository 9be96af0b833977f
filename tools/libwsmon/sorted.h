/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sorted.h - a sorted array that grows up to a limit
 */
#ifndef WSMO_SORTED_H
#define WSMO_SORTED_H

#include <stddef.h>

/**
 * struct sorted - the array
 * @base:	its elements, in order
 * @nr:		how many
 * @size:	bytes of one
 * @max:	most elements
 * @compare:	like that of qsort()
 */
struct sorted {
	void *base;
	size_t nr;
	size_t size;
	size_t max;
	int (*compare)(const void *a, const void *b);
};

/** sorted_find() - Return: the element equal to @key, NULL if there is none */
void *sorted_find(const struct sorted *s, const void *key);

/**
 * sorted_get() - the same; a copy of @key is added if there is none
 *
 * Adding moves elements: pointers to others are not valid any more.
 *
 * Return: NULL at the limit, or without memory
 */
void *sorted_get(struct sorted *s, const void *key);

/**
 * sorted_remove() - forget an element
 * @element: where it is; those behind it move there
 */
void sorted_remove(struct sorted *s, void *element);

#endif /* WSMO_SORTED_H */
