// SPDX-License-Identifier: GPL-2.0
/* text.c - makes names of unknown origin (comm, paths) safe to print */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/*
 * Decodes the UTF-8 sequence at @s to @cp. Return: its length; 0 if it is invalid, such as an
 * overlong form, a surrogate or a code point above U+10FFFF
 */
static size_t utf8_decode(const unsigned char *s, uint32_t *cp)
{
	static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len, i;

	if (s[0] < 0x80) {
		*cp = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	*cp = s[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (s[i] & 0x3f);
	}
	if (*cp < min[len] || *cp > 0x10ffff ||
	    (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return len;
}

/*
 * Is a character invisible, and does it change the display of other text? These are control
 * characters (C0, DEL, C1), ends of lines and paragraphs, and marks of the direction of text
 */
static bool is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x61c || cp == 0x200e ||
	       cp == 0x200f || (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

static const char *copy(char *dst, size_t size, const char *src, int escape)
{
	const unsigned char *s = (const unsigned char *)src;
	size_t n = 0;

	while (*s) {
		char esc[20];
		uint32_t cp;
		size_t len = utf8_decode(s, &cp);
		size_t used = len ? len : 1, i, out = 0;

		if (!len && !escape) {
			out = sizeof("\xef\xbf\xbd") - 1;
			memcpy(esc, "\xef\xbf\xbd", out);
		} else if (escape && (!len || is_control(cp))) {
			for (i = 0; i < used; i++)
				out += snprintf(esc + out, sizeof(esc) - out,
						"\\%03o", s[i]);
		} else {
			out = len;
			memcpy(esc, s, len);
		}
		if (n + out >= size)
			break;
		memcpy(dst + n, esc, out);
		n += out;
		s += used;
	}
	dst[n] = '\0';
	return dst;
}

const char *text_clean(char *dst, size_t size, const char *src)
{
	return copy(dst, size, src, 1);
}

const char *text_utf8(char *dst, size_t size, const char *src)
{
	return copy(dst, size, src, 0);
}

#define NEAR_MAX	32	/* max. letters of a word that is compared */

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Damerau's distance: number of letters to insert, delete, change or exchange */
static unsigned int distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned int d[NEAR_MAX + 1][NEAR_MAX + 1];
	size_t i, j;

	for (i = 0; i <= na; i++)
		d[i][0] = i;
	for (j = 0; j <= nb; j++)
		d[0][j] = j;
	for (i = 1; i <= na; i++) {
		for (j = 1; j <= nb; j++) {
			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
					d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[na][nb];
}

const char *text_nearest(const char *word, const char *list, int *size)
{
	size_t len = strcspn(word, "="), n;
	/* allow fewer mistakes in a short word, or it would be similar to any word */
	unsigned int max = len < 3 ? 0 : len < 6 ? 1 : 2, far;
	const char *best = NULL;

	for (; *list; list += n + (list[n] == '|')) {
		n = strcspn(list, "|");
		if (len > NEAR_MAX || n > NEAR_MAX)
			continue;
		far = distance(word, len, list, n);
		if (far && far <= max) {
			max = far - 1;
			best = list;
			*size = n;
		}
	}
	return best;
}

void text_put_json(FILE *f, const char *json)
{
	const unsigned char *s = (const unsigned char *)json;
	uint32_t cp;
	size_t len;

	for (; *s; s += len) {
		len = utf8_decode(s, &cp);
		/* leave newlines alone: json-c has escaped newlines within texts */
		if (len && cp >= 0x20 && is_control(cp))
			fprintf(f, "\\u%04x", cp);
		else
			fwrite(s, 1, len ? len : (len = 1), f);
	}
}
