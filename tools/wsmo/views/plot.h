/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plot.h - pictures by gnuplot
 *
 * gnuplot runs without a shell. It reads its script, which includes the data, from standard input.
 * The file appears when the picture is complete.
 */
#ifndef WSMO_PLOT_H
#define WSMO_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "libwsmon/events.h"
#include "wsmon.h"

#define PLOT_TEXT	1024

/* Default size of a picture in pixels */
#define PLOT_WIDTH	1200
#define PLOT_HEIGHT	700

/* Maximum number of lines of a picture: lines.gp has this many colours */
#define PLOT_COLORS	8

/**
 * struct picture - a picture that is wanted
 * @file:	name of the file; ends in .png, .svg or .pdf
 * @width:	pixels; an inch of a PDF has 96; 0 is PLOT_WIDTH
 * @height:	pixels; 0 is PLOT_HEIGHT
 */
struct picture {
	const char *file;
	unsigned int width;
	unsigned int height;
};

/**
 * struct plot - a picture being made
 * @script:	gnuplot's script
 * @file:	name of the picture
 */
struct plot {
	FILE *script;
	const char *file;
};

/** plot_can() - tell whether a name ends in .png, .svg or .pdf */
bool plot_can(const char *file);

/** plot_open() - begin a picture. Return: 0, or -1 after a message */
int plot_open(struct plot *p, const struct picture *picture);

/** plot_printf() - add to the script */
void plot_printf(struct plot *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * plot_text() - quote a text of unknown origin for gnuplot
 * @buf: PLOT_TEXT bytes
 *
 * Quotes and backquotes in the text become apostrophes, U+2019.
 *
 * Return: @buf
 */
const char *plot_text(char *buf, const char *text);

/**
 * plot_name() - quote a text, as plot_text() does; cut a text of more than @chars characters, with
 * "~" at the end
 */
const char *plot_name(char *buf, const char *text, size_t chars);

/** plot_tic() - quote a text for a tic of an axis; gnuplot takes it as a printf() format */
const char *plot_tic(char *buf, const char *text);

/**
 * plot_time_unit() - choose the unit of a time axis
 * @span_ns: length of the axis
 * @name: gets "s", "min" or "h"
 *
 * Return: nanoseconds of the unit
 */
double plot_time_unit(__u64 span_ns, const char **name);

/**
 * plot_size_unit() - choose the unit of an axis of sizes
 * @max: largest size, bytes
 * @name: gets "KiB" to "TiB"
 *
 * Return: bytes of the unit
 */
double plot_size_unit(double max, const char **name);

/**
 * plot_lines() - plot the data defined so far, as lines.gp says
 * @lines:	number of lines
 * @dots:	style of the points of the lines, or ""
 * @others:	number of other lines in the picture
 */
void plot_lines(struct plot *p, size_t lines, const char *dots, size_t others);

/** plot_close() - draw the picture. Return: 0, or -1 after a message */
int plot_close(struct plot *p);

/**
 * plot_events() - draw peaks as bands and marks as lines, each with its number
 * @zero_ns: when the recording began
 * @per_time: nanoseconds of a unit of the time axis
 */
void plot_events(struct plot *p, const struct events *ev, __u64 zero_ns,
		 double per_time);

/**
 * plot_events_over() - draw peaks and marks as lines and numbers, over a map that fills the picture
 * @pid: the target whose peaks to draw
 */
void plot_events_over(struct plot *p, const struct events *ev, __u32 pid,
		      __u64 zero_ns, double per_time);

#endif /* WSMO_PLOT_H */
