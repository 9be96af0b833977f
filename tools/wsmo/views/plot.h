/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plot.h - pictures by gnuplot
 *
 * gnuplot runs without a shell and reads its script, with the data in it, from
 * standard input. The file is written when the picture is complete.
 */
#ifndef WSMO_PLOT_H
#define WSMO_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "libwsmon/events.h"
#include "wsmon.h"

#define PLOT_TEXT	1024

/* Pixels of a picture by default */
#define PLOT_WIDTH	1200
#define PLOT_HEIGHT	700

/* Lines of a picture: lines.gp has so many colours */
#define PLOT_COLORS	8

/**
 * struct picture - a picture that is wanted
 * @file:	its name, which ends in .png, .svg or .pdf
 * @width:	pixels, 96 of them an inch of a PDF; 0 is PLOT_WIDTH
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
 * @file:	the picture's name
 */
struct plot {
	FILE *script;
	const char *file;
};

/** plot_can() - does the name end in .png, .svg or .pdf? */
bool plot_can(const char *file);

/** plot_open() - begin a picture; Return: 0, or -1 after a message */
int plot_open(struct plot *p, const struct picture *picture);

/** plot_printf() - add to the script */
void plot_printf(struct plot *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * plot_text() - quote a text of unknown origin for gnuplot
 * @buf: PLOT_TEXT bytes
 *
 * Its quotes and backquotes become apostrophes, U+2019.
 *
 * Return: @buf
 */
const char *plot_text(char *buf, const char *text);

/** plot_name() - quote a text as plot_text() does, shortened to @chars characters and a "~" */
const char *plot_name(char *buf, const char *text, size_t chars);

/** plot_tic() - quote a text for the tics of an axis, which are formats to gnuplot */
const char *plot_tic(char *buf, const char *text);

/**
 * plot_time_unit() - choose the unit of a time axis
 * @span_ns: length of the axis
 * @name: "s", "min" or "h"
 *
 * Return: nanoseconds of it
 */
double plot_time_unit(__u64 span_ns, const char **name);

/**
 * plot_size_unit() - choose the unit of an axis of sizes
 * @max: largest size, bytes
 * @name: "KiB" to "TiB"
 *
 * Return: bytes of it
 */
double plot_size_unit(double max, const char **name);

/**
 * plot_lines() - plot what is defined, as lines.gp says
 * @lines:	number of lines
 * @dots:	style of their points, or ""
 * @others:	number of other lines
 */
void plot_lines(struct plot *p, size_t lines, const char *dots, size_t others);

/** plot_close() - draw the picture; Return: 0, or -1 after a message */
int plot_close(struct plot *p);

/**
 * plot_events() - draw peaks as bands and marks as lines, each with its number
 * @zero_ns: when the recording began
 * @per_time: nanoseconds of a unit of the time axis
 */
void plot_events(struct plot *p, const struct events *ev, __u64 zero_ns,
		 double per_time);

/**
 * plot_events_over() - draw them as lines and numbers, over a picture that fills all
 * @pid: whose peaks
 */
void plot_events_over(struct plot *p, const struct events *ev, __u32 pid,
		      __u64 zero_ns, double per_time);

#endif /* WSMO_PLOT_H */
