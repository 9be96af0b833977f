/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grid.h - the grid of "wsmo report heatmap": the addresses that a line stands
 * for, and the share of them that was accessed at each time
 *
 * Only what is mapped takes room. Neighbouring mappings that are too small for
 * lines of their own share one: a section. Every section has at least one line, the
 * others go where the bytes are.
 */
#ifndef WSMO_HEATMAP_H
#define WSMO_HEATMAP_H

#include "libwsmon/mappings.h"

/**
 * struct section - neighbouring ranges that are shown together
 * @first:	the first of them
 * @last:	the last of them
 * @bytes:	mapped in them
 * @gap:	bytes not mapped between the section below and this one
 * @fold:	a line shows @gap
 * @line:	first line of the section, from below; the fold is the line below it
 * @lines:	how many
 * @label:	the range that has the most bytes of it
 */
struct section {
	size_t first;
	size_t last;
	__u64 bytes;
	__u64 gap;
	bool fold;
	unsigned int line;
	unsigned int lines;
	size_t label;
};

/**
 * struct heatmap_cell - what fell into one place of the grid
 * @bytes:	bytes times nanoseconds that were mapped
 * @accessed:	the part of them that was accessed
 */
struct heatmap_cell {
	double bytes;
	double accessed;
};

/**
 * struct heatmap - the map of one target
 * @pid:	the target
 * @comm:	its name
 * @from_ns:	left edge, on the clock of the recording
 * @to_ns:	right edge
 * @page_size:	no line is less than that
 * @ranges:	what was mapped; @offset of each: the bytes of its section below it
 * @sections:	@nr_sections of them, lowest address first
 * @unfolded:	large gaps that no line shows
 * @columns:	cells from left to right
 * @lines:	lines of text from bottom to top
 * @fine:	cells from bottom to top in each line
 * @cells:	row by row, lowest address first
 * @watched:	time of each column in which the process was watched, in columns
 */
struct heatmap {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	__u64 from_ns;
	__u64 to_ns;
	__u32 page_size;
	struct ranges ranges;
	struct section *sections;
	size_t nr_sections;
	size_t unfolded;
	unsigned int columns;
	unsigned int lines;
	unsigned int fine;
	struct heatmap_cell *cells;
	double *watched;
};

/**
 * heatmap_layout() - divide the lines among what is mapped, clear the cells
 * @columns:	cells from left to right
 * @lines:	lines there are, at least 3; what is mapped may need fewer
 * @fine:	cells in a line
 *
 * Return: 0, or -1 without memory
 */
int heatmap_layout(struct heatmap *h, unsigned int columns, unsigned int lines,
		   unsigned int fine);

/** heatmap_watch() - the process was watched from @from_ns to @to_ns */
void heatmap_watch(struct heatmap *h, __u64 from_ns, __u64 to_ns);

/** heatmap_watched() - was it, in any part of a column? */
bool heatmap_watched(const struct heatmap *h, unsigned int column);

/** heatmap_add() - a region that was like that from @from_ns to @to_ns */
void heatmap_add(struct heatmap *h, __u64 from_ns, __u64 to_ns, __u64 start,
		 __u64 end, double share);

/**
 * heatmap_share() - the share of a cell
 * Return: 0 to 1, or negative if nothing was mapped, or the process was not watched
 */
double heatmap_share(const struct heatmap *h, unsigned int row,
		     unsigned int column);

/** heatmap_time() - when column @column begins, nanoseconds */
__u64 heatmap_time(const struct heatmap *h, unsigned int column);

/** heatmap_address() - the lowest address of cell @step, of all, of a section */
__u64 heatmap_address(const struct heatmap *h, const struct section *b,
		      unsigned int step);

/** heatmap_line_bytes() - the most bytes a line of any section stands for */
__u64 heatmap_line_bytes(const struct heatmap *h);

/** heatmap_free() - what is in it */
void heatmap_free(struct heatmap *h);

#endif /* WSMO_HEATMAP_H */
