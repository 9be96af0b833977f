/* SPDX-License-Identifier: GPL-2.0 */
/*
 * view.h - how a heatmap is shown, in characters and as a picture
 */
#ifndef WSMO_HEATMAP_VIEW_H
#define WSMO_HEATMAP_VIEW_H

#include "cli/term.h"
#include "grid.h"
#include "libwsmon/events.h"
#include "report/plot/plot.h"

#define HEATMAP_NAME	256
#define HEATMAP_NARROW	60	/* columns; below it lines are shortened */

/**
 * heatmap_name() - the name of most of a section, and how many more there are
 * @buf: HEATMAP_NAME bytes
 *
 * The name is as it was recorded: of unknown origin.
 *
 * Return: @buf
 */
const char *heatmap_name(char *buf, const struct heatmap *h,
			 const struct section *b);

/** heatmap_mapped() - all bytes on the map */
__u64 heatmap_mapped(const struct heatmap *h);

/**
 * heatmap_tick() - choose a round time between the marks of a time axis
 * @time_ns: length of the axis
 * @max: maximum number of marks
 */
__u64 heatmap_tick(__u64 time_ns, unsigned int max);

/** heatmap_text_fine() - number of rows of cells in a line of text */
unsigned int heatmap_text_fine(enum term_color color);

/**
 * heatmap_text() - print a map
 * @events: peaks and marks
 * @color: not TERM_AUTO
 * @zero_ns: when the recording began
 * @width: columns for the labels; the cells are two columns to the right
 */
void heatmap_text(FILE *f, const struct heatmap *h, const struct events *events,
		  enum term_color color, __u64 zero_ns, unsigned int width);

/** struct heatmap_frame - where a map is in a picture, pixels from the top left */
struct heatmap_frame {
	unsigned int width;
	unsigned int height;
	unsigned int top;
	unsigned int whole_height;
};

/**
 * heatmap_frame_grid() - the grid that fits a frame
 * @columns: the columns
 * @lines: lines with a label each
 * @fine: rows of cells in a line
 */
void heatmap_frame_grid(const struct heatmap_frame *f, unsigned int *columns,
			unsigned int *lines, unsigned int *fine);

/** heatmap_plot() - draw a map into its frame of a picture */
void heatmap_plot(const struct heatmap *h, const struct events *events,
		  struct plot *p, __u64 zero_ns, const struct heatmap_frame *f);

#endif /* WSMO_HEATMAP_VIEW_H */
