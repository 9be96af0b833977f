// SPDX-License-Identifier: GPL-2.0
/*
 * bar.c - bars of characters: an estimate and its interval
 */
#include <string.h>

#include "bar.h"
#include "term.h"

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
	/* a bar too short to see is not a missing cell */
	strcpy(p, i ? "" : " ");
	return text;
}
