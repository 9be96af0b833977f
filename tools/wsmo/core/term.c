// SPDX-License-Identifier: GPL-2.0
/* term.c - size, colours and characters of standard output */
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

		/* count a byte that is no character of the locale as one column */
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
	/* leave room for the '~' */
	p = term_fit(clean, width ? width - 1 : 0, &used);
	fprintf(f, "%.*s~%*s", (int)(p - clean), clean, (int)(width - used - 1), "");
}

/* Bars of characters: an estimate and its interval */

unsigned int bar_width(unsigned int beside)
{
	unsigned int width, lines;

	term_size(&width, &lines);
	if (width < beside + BAR_MIN)
		return BAR_MIN;
	return width - beside < BAR_MAX ? width - beside : BAR_MAX;
}

const char *bar_text(char *text, __u64 low, __u64 high, __u64 max,
		     unsigned int width)
{
	static const char * const unicode[] = { "\xe2\x96\x88", "\xe2\x96\x91" };
	static const char * const ascii[] = { "#", "-" };
	const char * const *mark = term_unicode() ? unicode : ascii;
	double per = max ? (double)width / max : 0;
	char *p = text;
	unsigned int i;

	for (i = 0; i + 0.5 < high * per && p + 4 < text + BAR_TEXT; i++)
		p = stpcpy(p, mark[i + 0.5 >= low * per]);
	/* a blank for a bar of no length: an empty text would be printed as a missing value */
	strcpy(p, i ? "" : " ");
	return text;
}
