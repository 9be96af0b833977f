/* SPDX-License-Identifier: GPL-2.0 */
/*
 * term.h - what standard output can show: its size, its colours, its characters
 */
#ifndef WSMO_TERM_H
#define WSMO_TERM_H

#include <stdbool.h>
#include <stdio.h>

#include "wsmon.h"

/* The user's choice of colours; the first is for what standard output can */
enum term_color {
	TERM_AUTO,
	TERM_NONE,
	TERM_16,
	TERM_256,
};

/**
 * term_size() - columns and lines of the terminal; 80 x 24 if it is none
 */
void term_size(unsigned int *columns, unsigned int *lines);

/** term_color() - return @wanted; for TERM_AUTO what standard output can show */
enum term_color term_color(enum term_color wanted);

/** term_unicode() - does the locale have block characters? */
bool term_unicode(void);

/**
 * term_fit() - find the end of the part of a line that fits into @width columns
 * @used: gets the number of columns that it takes
 */
const char *term_fit(const char *text, unsigned int width, unsigned int *used);

/**
 * term_print() - print a text of unknown origin in a field, left aligned
 * @width: columns of the field; a longer text ends in '~'
 */
void term_print(FILE *f, const char *text, unsigned int width);

/* Min. and max. columns of a bar */
#define BAR_MIN		10
#define BAR_MAX		60

/* Max. bytes of a bar */
#define BAR_TEXT	(4 * BAR_MAX + 1)

/** bar_width() - return the columns left for a bar; @beside: width of the others */
unsigned int bar_width(unsigned int beside);

/**
 * bar_text() - draw a bar up to @low, lighter from there to @high
 * @text: BAR_TEXT bytes
 * @max: the value of a full bar
 * @width: columns of a full bar
 *
 * Return: @text
 */
const char *bar_text(char *text, __u64 low, __u64 high, __u64 max,
		     unsigned int width);

#endif /* WSMO_TERM_H */
