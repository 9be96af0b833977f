// SPDX-License-Identifier: GPL-2.0
/*
 * term.c - what standard output can show: its size, its colours, its characters
 */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "term.h"
#include "text.h"

#define MIN_COLUMNS	40
#define MIN_LINES	12

void term_size(unsigned int *columns, unsigned int *lines)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*columns = size.ws_col ? size.ws_col : 80;
	*lines = size.ws_row ? size.ws_row : 24;
	if (*columns < MIN_COLUMNS)
		*columns = MIN_COLUMNS;
	if (*lines < MIN_LINES)
		*lines = MIN_LINES;
}

static bool set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

enum term_color term_color(enum term_color wanted)
{
	const char *term = getenv("TERM");

	if (wanted != TERM_AUTO)
		return wanted;
	if (!isatty(STDOUT_FILENO) || set("NO_COLOR") || !term || !*term ||
	    !strcmp(term, "dumb") || !strncmp(term, "vt", 2))
		return TERM_NONE;
	return strstr(term, "256") || set("COLORTERM") ? TERM_256 : TERM_16;
}

bool term_unicode(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void term_print(FILE *f, const char *text, unsigned int width)
{
	char clean[512];
	mbstate_t state = { 0 };
	const char *p = text_clean(clean, sizeof(clean), text);
	const char *fits = p;	/* what leaves room for the '~' */
	unsigned int used = 0, fits_used = 0;

	while (*p) {
		wchar_t c;
		size_t len = mbrtowc(&c, p, strlen(p), &state);
		int w;

		if (len == (size_t)-1 || len == (size_t)-2)
			break;
		w = wcwidth(c);
		if (w < 0 || used + w > width)
			break;
		used += w;
		p += len;
		if (used < width) {
			fits = p;
			fits_used = used;
		}
	}
	if (!*p) {
		fprintf(f, "%s%*s", clean, (int)(width - used), "");
		return;
	}
	fprintf(f, "%.*s~%*s", (int)(fits - clean), clean,
	       (int)(width - fits_used - 1), "");
}
