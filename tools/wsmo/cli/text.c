// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - makes names of unknown origin (comm, paths) safe to print
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/*
 * Decodes the UTF-8 sequence at @s to @cp. Return: its length; 0 for invalid ones, as
 * overlong forms, surrogates and code points above U+10FFFF are
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
		} else if (escape && (!len || cp < 0x20 ||
				      (cp >= 0x7f && cp < 0xa0))) {
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
