/* SPDX-License-Identifier: GPL-2.0 */
/* units.h - prints and parses sizes, times and percentages */
#ifndef WSMO_UNITS_H
#define WSMO_UNITS_H

#include "wsmon.h"

#define UNITS_LEN	32	/* enough for any result */

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/**
 * units_size() - print bytes for people: "512 B", "64.0 MiB"
 * Return: @buf
 */
const char *units_size(char *buf, __u64 bytes);

/**
 * units_short() - print bytes in few characters: "512B", "64.0M"
 * Return: @buf
 */
const char *units_short(char *buf, __u64 bytes);

/**
 * units_time() - print a duration for people: "250 us", "1.5 s", "2m05s", "3h07m"
 * Return: @buf
 */
const char *units_time(char *buf, __u64 ns);

/**
 * units_parse_time() - parse "100ms", "1.5 s", "2m05s", "0.1"
 * @text: numbers with ns, us, ms, s, m, min or h; without a unit, a number of seconds
 * @ns: result, nanoseconds
 * Return: 0, -EINVAL, or -ERANGE above what 64 bits hold
 */
int units_parse_time(const char *text, __u64 *ns);

/**
 * units_parse_size() - parse "4096", "4K", "2MiB", "1G": powers of 1024
 * @bytes: result
 * Return: 0, -EINVAL, or -ERANGE above what 64 bits hold
 */
int units_parse_size(const char *text, __u64 *bytes);

/**
 * units_parse_count() - parse a plain decimal number
 * Return: 0, -EINVAL, or -ERANGE above @max
 */
int units_parse_count(const char *text, __u64 max, __u64 *count);

/**
 * units_parse_percent() - parse "5%", "0.5%", "5"
 * @share: result, 0 to 1
 * Return: 0, -EINVAL, or -ERANGE above 100 %
 */
int units_parse_percent(const char *text, double *share);

/**
 * units_parse_milli() - parse a number with up to three decimals: "5", "0.25"
 * @max: maximum result, in 1/1000
 * @milli: result, in 1/1000
 * Return: 0, -EINVAL, or -ERANGE above @max
 */
int units_parse_milli(const char *text, __u64 max, __u64 *milli);

#endif /* WSMO_UNITS_H */
