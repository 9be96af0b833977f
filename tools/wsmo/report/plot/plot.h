/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plot.h - pictures by gnuplot
 *
 * gnuplot is run itself, without a shell; it reads its script and the data in
 * it from standard input. The picture becomes a file when it is complete.
 */
#ifndef WSMO_PLOT_H
#define WSMO_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "wsmon.h"

#define PLOT_TEXT	1024

/* Pixels of a picture if the user does not say */
#define PLOT_WIDTH	1200
#define PLOT_HEIGHT	700

/* Okabe and Ito's colours: eyes that lack a colour can tell them apart */
#define PLOT_COLORS	8
extern const char * const plot_colors[PLOT_COLORS];

/**
 * struct plot - a picture in the making
 * @script:	what gnuplot is told
 * @file:	the picture's name
 */
struct plot {
	FILE *script;
	const char *file;
};

/** plot_can() - does the name end in .png, .svg or .pdf? */
bool plot_can(const char *file);

/**
 * plot_open() - begin a picture
 * @width: pixels; 96 of them are an inch of a PDF
 * @height: pixels
 *
 * Return: 0, or -1 after a message
 */
int plot_open(struct plot *p, const char *file, unsigned int width,
	      unsigned int height);

/** plot_printf() - add to the script */
void plot_printf(struct plot *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * plot_text() - a text of unknown origin as a string of gnuplot's, quoted
 * @buf: PLOT_TEXT bytes
 *
 * Quotes and backquotes in it become apostrophes, U+2019.
 *
 * Return: @buf
 */
const char *plot_text(char *buf, const char *text);

/**
 * plot_time_unit() - what a time axis is in
 * @span_ns: what it covers
 * @name: "s", "min" or "h"
 *
 * Return: nanoseconds of it
 */
double plot_time_unit(__u64 span_ns, const char **name);

/** plot_close() - have it drawn; Return: 0, or -1 after a message */
int plot_close(struct plot *p);

#endif /* WSMO_PLOT_H */
