// SPDX-License-Identifier: GPL-2.0
/* units.c - prints and parses sizes, times and percentages */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define NSEC_PER_MIN	(60 * NSEC_PER_SEC)
#define NSEC_PER_HOUR	(3600 * NSEC_PER_SEC)

/* Returns @v in tenths of @unit, rounded; no product can overflow */
static __u64 tenths(__u64 v, __u64 unit)
{
	return v / unit * 10 + (v % unit * 10 + unit / 2) / unit;
}

const char *units_size(char *buf, __u64 bytes)
{
	static const char * const names[] = {
		"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"
	};
	size_t i = 0;
	__u64 t;

	if (bytes < 1024) {
		snprintf(buf, UNITS_LEN, "%llu B", bytes);
		return buf;
	}
	/* a size that rounds to 1024.0 of one unit is 1.0 of the next */
	while (i < 5 && tenths(bytes, 1ULL << (10 * (i + 1))) >= 10240)
		i++;
	t = tenths(bytes, 1ULL << (10 * (i + 1)));
	snprintf(buf, UNITS_LEN, "%llu.%llu %s", t / 10, t % 10, names[i]);
	return buf;
}

const char *units_short(char *buf, __u64 bytes)
{
	char *unit;

	units_size(buf, bytes);
	unit = strchr(buf, ' ');
	unit[0] = unit[1];
	unit[1] = '\0';
	return buf;
}

static const char *print_tenths(char *buf, __u64 t, const char *unit)
{
	if (t % 10)
		snprintf(buf, UNITS_LEN, "%llu.%llu %s", t / 10, t % 10, unit);
	else
		snprintf(buf, UNITS_LEN, "%llu %s", t / 10, unit);
	return buf;
}

const char *units_time(char *buf, __u64 ns)
{
	__u64 s = ns / NSEC_PER_SEC + (ns % NSEC_PER_SEC >= NSEC_PER_SEC / 2);

	if (!ns)
		return print_tenths(buf, 0, "s");
	if (ns < NSEC_PER_USEC)
		return print_tenths(buf, ns * 10, "ns");
	if (tenths(ns, NSEC_PER_USEC) < 10000)
		return print_tenths(buf, tenths(ns, NSEC_PER_USEC), "us");
	if (tenths(ns, NSEC_PER_MSEC) < 10000)
		return print_tenths(buf, tenths(ns, NSEC_PER_MSEC), "ms");
	if (tenths(ns, NSEC_PER_SEC) < 600)
		return print_tenths(buf, tenths(ns, NSEC_PER_SEC), "s");
	if (s < 3600)
		snprintf(buf, UNITS_LEN, "%llum%02llus", s / 60, s % 60);
	else
		snprintf(buf, UNITS_LEN, "%lluh%02llum", s / 3600, s / 60 % 60);
	return buf;
}

static int add_digit(__u64 *v, char c)
{
	return __builtin_mul_overflow(*v, 10, v) ||
	       __builtin_add_overflow(*v, (__u64)(c - '0'), v);
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int units_parse_count(const char *text, __u64 max, __u64 *count)
{
	__u64 v = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (!is_digit(*text))
			return -EINVAL;
		if (add_digit(&v, *text) || v > max) {
			text += strspn(text, "0123456789");
			return *text ? -EINVAL : -ERANGE;
		}
	}
	*count = v;
	return 0;
}

int units_parse_milli(const char *text, __u64 max, __u64 *milli)
{
	size_t whole = strspn(text, "0123456789"), part = 0;
	__u64 v = 0;
	size_t i;

	if (text[whole] == '.') {
		part = strspn(text + whole + 1, "0123456789");
		if (!part || part > 3)
			return -EINVAL;
		part++;
	}
	if (!whole || text[whole + part])
		return -EINVAL;
	for (i = 0; i < whole + 4; i++)
		if (i != whole && add_digit(&v, i < whole + part ? text[i] : '0'))
			return -ERANGE;
	if (v > max)
		return -ERANGE;
	*milli = v;
	return 0;
}

int units_parse_percent(const char *text, double *share)
{
	char *end;
	double v;

	/* strtod() also takes blanks, signs, hexadecimals and names */
	if (!is_digit(*text) || text[strspn(text, "0123456789.%")])
		return -EINVAL;
	v = strtod(text, &end);
	if (*end && strcmp(end, "%"))
		return -EINVAL;
	if (v > 100)
		return -ERANGE;
	*share = v / 100;
	return 0;
}

int units_parse_size(const char *text, __u64 *bytes)
{
	static const char prefixes[] = "KMGTPE";
	const char *p = text, *prefix;
	__u64 v = 0;

	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++)
		if (add_digit(&v, *p))
			return p[strspn(p, "0123456789KMGTPEiB")] ? -EINVAL : -ERANGE;
	prefix = *p ? strchr(prefixes, *p) : NULL;
	if (prefix) {
		p++;
		if (*p && strcmp(p, "iB"))
			return -EINVAL;
		if (__builtin_mul_overflow(v, 1ULL << 10 * (prefix - prefixes + 1), &v))
			return -ERANGE;
	} else if (*p && strcmp(p, "B")) {
		return -EINVAL;
	}
	*bytes = v;
	return 0;
}

static __u64 unit_of(const char *name, size_t len)
{
	static const struct {
		const char *name;
		__u64 ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", NSEC_PER_USEC },
		{ "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC },
		{ "m", NSEC_PER_MIN },
		{ "min", NSEC_PER_MIN },
		{ "h", NSEC_PER_HOUR },
	};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len &&
		    !memcmp(units[i].name, name, len))
			return units[i].ns;
	return 0;
}

/* Parses a number with its unit; advances @text to the end of the unit */
static int parse_term(const char **text, bool *plain, __u64 *ns)
{
	__u64 whole = 0, part = 0, scale = 1, unit;
	const char *p = *text;
	size_t len;

	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++)
		if (add_digit(&whole, *p))
			return -ERANGE;
	if (*p == '.') {
		if (!is_digit(*++p))
			return -EINVAL;
		for (; is_digit(*p); p++) {
			/* ignore digits below a millionth */
			if (scale < 1000000) {
				add_digit(&part, *p);
				scale *= 10;
			}
		}
	}
	while (*p == ' ')
		p++;
	len = strspn(p, "abcdefghijklmnopqrstuvwxyz");
	unit = len ? unit_of(p, len) : NSEC_PER_SEC;
	if (!unit)
		return -EINVAL;
	*plain = !len;
	*text = p + len;
	if (__builtin_mul_overflow(whole, unit, ns))
		return -ERANGE;
	/* no overflow: @part is less than 10^6, and 10^6 hours in ns fit into 64 bits */
	part = part * unit / scale;
	return __builtin_add_overflow(*ns, part, ns) ? -ERANGE : 0;
}

int units_parse_time(const char *text, __u64 *ns)
{
	bool plain = false;
	__u64 sum = 0, term;
	int n, err;

	for (n = 0; *text || !n; n++) {
		if (plain)
			return -EINVAL;
		err = parse_term(&text, &plain, &term);
		if (err)
			return err;
		if (n && plain)
			return -EINVAL;
		if (__builtin_add_overflow(sum, term, &sum))
			return -ERANGE;
	}
	*ns = sum;
	return 0;
}
