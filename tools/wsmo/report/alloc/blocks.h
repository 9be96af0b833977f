/* SPDX-License-Identifier: GPL-2.0 */
/*
 * blocks.h - the sampled allocations of a process that are not freed
 */
#ifndef WSMO_ALLOC_BLOCKS_H
#define WSMO_ALLOC_BLOCKS_H

#include <stddef.h>

#include "wsmon.h"

/**
 * struct block - a sampled allocation
 * @addr:	its address
 * @size:	bytes; less than at first if a part was unmapped
 * @weight:	how many bytes of such allocations a byte of it stands for
 * @born_ns:	when it was allocated
 * @stack:	number of its stack
 */
struct block {
	__u64 addr;
	__u64 size;
	double weight;
	__u64 born_ns;
	__u32 stack;
};

/**
 * struct blocks - those of a process; all zero is empty
 * @heap:	of malloc(), for tsearch()
 * @mapped:	of mmap(), likewise; none overlaps another
 * @nr:		number of both
 */
struct blocks {
	void *heap;
	void *mapped;
	size_t nr;
};

/** blocks_add() - malloc() allocated, at an address where nothing is known any more */
void blocks_add(struct blocks *l, const struct block *b);

/** blocks_free() - an address was freed, whether or not it is known */
void blocks_free(struct blocks *l, __u64 addr);

/** blocks_map() - mmap() allocated; what was there is unmapped */
void blocks_map(struct blocks *l, const struct block *b);

/** blocks_unmap() - a range was unmapped */
void blocks_unmap(struct blocks *l, __u64 start, __u64 end);

/** blocks_clear() - free all */
void blocks_clear(struct blocks *l);

/**
 * blocks_sorted() - copy all
 * @nr: their number
 * Return: malloc()ed, in address order
 */
struct block *blocks_sorted(const struct blocks *l, size_t *nr);

#endif /* WSMO_ALLOC_BLOCKS_H */
