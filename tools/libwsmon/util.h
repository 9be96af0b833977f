/* SPDX-License-Identifier: GPL-2.0 */
/*
 * util.h - what the files of the library share
 */
#ifndef LIBWSMON_UTIL_H
#define LIBWSMON_UTIL_H

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian and read in place"
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* As qsort() wants it; for several keys: COMPARE() ?: COMPARE() */
#define COMPARE(a, b)	((a) < (b) ? -1 : (a) > (b))

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_SEC	1000000000ULL

#endif /* LIBWSMON_UTIL_H */
