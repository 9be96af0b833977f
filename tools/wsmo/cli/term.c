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

const char *term_fit(const char *text, unsigned int width, unsigned int *used)
{
	mbstate_t state = { 0 };
	const char *p = text;

	*used = 0;
	while (*p && *p != '\n') {
		wchar_t c;
		size_t len = mbrtowc(&c, p, strlen(p), &state);
		int w = len < (size_t)-2 ? wcwidth(c) : -1;

		/* what the locale does not have is bytes */
		if (w < 0) {
			state = (mbstate_t) { 0 };
			len = w = 1;
		}
		if (*used + w > width)
			break;
		*used += w;
		p += len;
	}
	return p;
}

void term_print(FILE *f, const char *text, unsigned int width)
{
	char clean[512];
	unsigned int used;
	const char *p = term_fit(text_clean(clean, sizeof(clean), text), width, &used);

	if (!*p) {
		fprintf(f, "%s%*s", clean, (int)(width - used), "");
		return;
	}
	/* what leaves room for the '~' */
	p = term_fit(clean, width ? width - 1 : 0, &used);
	fprintf(f, "%.*s~%*s", (int)(p - clean), clean, (int)(width - used - 1), "");
}
