/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sorted.h - a sorted array that grows up to a limit
 */
#ifndef WSMO_SORTED_H
#define WSMO_SORTED_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct sorted - the array
 * @base:	its elements, in order
 * @nr:		number of elements
 * @size:	bytes of an element
 * @max:	maximum number of elements
 * @compare:	as qsort() wants it
 * @lazy:	many elements come, in any order: they are sorted after sorted_order() only
 * @late:	number of elements at the end that have an order of their own
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

/** sorted_find() - find the element equal to @key. Return: NULL if there is none */
void *sorted_find(const struct sorted *s, const void *key);

/**
 * sorted_get() - find the element equal to @key, or add a copy of @key
 *
 * Adding moves elements, which invalidates pointers to them.
 *
 * Return: NULL at the limit, or without memory
 */
void *sorted_get(struct sorted *s, const void *key);

/** sorted_by_pid() - compare elements that begin with a pid, a __u32 */
int sorted_by_pid(const void *a, const void *b);

/** sorted_order() - put all elements in order, which moves them */
void sorted_order(struct sorted *s);

/**
 * sorted_above() - find the first element of an ascending array whose key is above @at
 * @first:	the key, a __u64, of the first of @nr elements
 * @size:	bytes of an element
 *
 * Return: its index, @nr if there is none
 */
size_t sorted_above(const void *first, size_t nr, size_t size, __u64 at);

/**
 * sorted_remove() - remove an element; the array must not be lazy
 * @element: the element; those after it move down
 */
void sorted_remove(struct sorted *s, void *element);

#endif /* WSMO_SORTED_H */
