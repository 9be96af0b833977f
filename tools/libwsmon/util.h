/* SPDX-License-Identifier: GPL-2.0 */
/* util.h - comparisons, growing arrays and the like, for all of tools/ */
#ifndef LIBWSMON_UTIL_H
#define LIBWSMON_UTIL_H

#include <linux/types.h>
#include <stdlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian and read in place"
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Compares two values for qsort(); for several keys: COMPARE() ?: COMPARE() */
#define COMPARE(a, b)	((a) < (b) ? -1 : (a) > (b))

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_SEC	1000000000ULL

/** order_u32() - order elements that begin with a __u32, such as a pid, as qsort() wants it */
static inline int order_u32(const void *a, const void *b)
{
	return COMPARE(*(const __u32 *)a, *(const __u32 *)b);
}

/** order_u64() - order elements that begin with a __u64 */
static inline int order_u64(const void *a, const void *b)
{
	return COMPARE(*(const __u64 *)a, *(const __u64 *)b);
}

/**
 * array_more() - make room for one more element after the @nr of an array. Grow it only by this
 * function
 * Return: the array; NULL if memory ran out
 */
static inline void *array_more(void *array, size_t nr, size_t size)
{
	/* the allocated size is always a power of two: double it when it is full */
	return nr & (nr - 1) ? array : reallocarray(array, nr ? 2 * nr : 1, size);
}

/* Rounds a non-negative number; returns at most ~0 */
static inline __u64 whole(double x)
{
	return x < 0x1p64 ? (__u64)(x + 0.5) : ~0ULL;
}

#endif /* LIBWSMON_UTIL_H */
