/* SPDX-License-Identifier: GPL-2.0 */
/*
 * util.h - macros for all of tools/
 */
#ifndef LIBWSMON_UTIL_H
#define LIBWSMON_UTIL_H

#include <linux/types.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian and read in place"
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Compares two values for qsort(); for several keys: COMPARE() ?: COMPARE() */
#define COMPARE(a, b)	((a) < (b) ? -1 : (a) > (b))

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_SEC	1000000000ULL

/* Rounds a number that is not negative; at most ~0 */
static inline __u64 whole(double x)
{
	return x < 0x1p64 ? (__u64)(x + 0.5) : ~0ULL;
}

#endif /* LIBWSMON_UTIL_H */
