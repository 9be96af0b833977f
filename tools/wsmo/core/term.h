/* SPDX-License-Identifier: GPL-2.0 */
/* term.h - abilities of standard output: size, colours, characters */
#ifndef WSMO_TERM_H
#define WSMO_TERM_H

#include <stdbool.h>
#include <stdio.h>

#include "wsmon.h"

/* The user's choice of colours; TERM_AUTO: depends on standard output */
enum term_color {
	TERM_AUTO,
	TERM_NONE,
	TERM_16,
	TERM_256,
};

/** term_size() - get columns and lines of the terminal; 80 x 24 without a terminal */
void term_size(unsigned int *columns, unsigned int *lines);

/** term_color() - replace TERM_AUTO by the colours that standard output can show */
enum term_color term_color(enum term_color wanted);

/** term_unicode() - tell whether the locale has block characters */
bool term_unicode(void);

/**
 * term_fit() - find the longest start of a text that fits into @width columns
 * @used: gets the number of columns that this part takes
 */
const char *term_fit(const char *text, unsigned int width, unsigned int *used);

/**
 * term_print() - print an untrusted text in a field, left aligned
 * @width: columns of the field; a longer text is cut, with '~' at the end
 */
void term_print(FILE *f, const char *text, unsigned int width);

/* Minimum and maximum columns of a bar */
#define BAR_MIN		10
#define BAR_MAX		60

/* Maximum bytes of a bar */
#define BAR_TEXT	(4 * BAR_MAX + 1)

/** bar_width() - get the columns left for a bar beside @beside columns */
unsigned int bar_width(unsigned int beside);

/**
 * bar_text() - draw a bar up to @low, in a lighter shade from @low to @high
 * @text: BAR_TEXT bytes
 * @max: value of a full bar
 * @width: columns of a full bar
 *
 * Return: @text
 */
const char *bar_text(char *text, __u64 low, __u64 high, __u64 max,
		     unsigned int width);

#endif /* WSMO_TERM_H */
