/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grid.h - heatmaps of a recording's targets, for the views heatmap and html: the addresses of each
 * line, and the share accessed over time
 *
 * Only mapped memory takes room. Neighbouring mappings too small for a line each form one section.
 * Every section has at least one line; the other lines go to the sections with the most bytes.
 *
 * The recording is read twice. First reading: maps_new(), maps_scan() for each record,
 * maps_scanned(). Second reading: maps_layout(), maps_record() for each record.
 */
#ifndef WSMO_REPORT_GRID_H
#define WSMO_REPORT_GRID_H

#include "libwsmon/events.h"
#include "libwsmon/fine.h"
#include "libwsmon/mappings.h"
#include "libwsmon/sorted.h"
#include "report.h"

/**
 * struct section - neighbouring ranges that are shown together
 * @first:	the first range
 * @last:	the last range
 * @bytes:	mapped bytes of the ranges
 * @gap:	bytes not mapped between the section below and this section
 * @fold:	one line shows @gap
 * @line:	lowest line of the section, counted from below; the fold is one line lower
 * @lines:	number of lines of the section
 * @label:	the largest range, which names the section
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
 * struct heatmap_cell - one place of the grid
 * @bytes:	mapped bytes x time; the time in columns
 * @accessed:	the accessed part of @bytes
 */
struct heatmap_cell {
	double bytes;
	double accessed;
};

/**
 * struct heatmap - the map of one target
 * @pid:	the target
 * @comm:	name of the target
 * @from_ns:	left edge, on the clock of the recording
 * @to_ns:	right edge
 * @page_size:	bytes of a page; a line stands for at least one page
 * @ranges:	mapped ranges; their @offset: bytes of the same section below the range
 * @sections:	@nr_sections sections, lowest address first
 * @unfolded:	number of large gaps that no line shows
 * @columns:	cells from left to right
 * @lines:	lines of text, from bottom to top
 * @fine:	cells in each line, from bottom to top
 * @cells:	cells, row by row, lowest address first
 * @watched:	part of each column's time in which the process was watched
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

/** heatmap_watched() - tell whether the process was watched in any part of a column */
bool heatmap_watched(const struct heatmap *h, unsigned int column);

/**
 * heatmap_share() - get the share of a cell
 * Return: 0 to 1; negative if nothing was mapped or the process was not watched
 */
double heatmap_share(const struct heatmap *h, unsigned int row,
		     unsigned int column);

/** heatmap_address() - get the lowest address of cell @step of a section, counted from below */
__u64 heatmap_address(const struct heatmap *h, const struct section *b,
		      unsigned int step);

/** heatmap_mapped() - get the bytes of all sections */
__u64 heatmap_mapped(const struct heatmap *h);

#define HEATMAP_NAME	256

/**
 * heatmap_name() - name a section by its largest range and the number of other ranges
 * @buf: HEATMAP_NAME bytes
 *
 * The name comes from the recording: do not trust it.
 *
 * Return: @buf
 */
const char *heatmap_name(char *buf, const struct heatmap *h,
			 const struct section *b);

/**
 * struct maps_options - parameters of maps
 * @from:	lowest address
 * @to:		end of the addresses, exclusive
 * @fine:	show which parts of regions were accessed
 */
struct maps_options {
	__u64 from;
	__u64 to;
	bool fine;
};

/**
 * struct maps - the maps
 * @options:	parameters of the maps
 * @targets:	struct heatmap
 * @fine:	state that divides regions into parts; NULL without --fine
 * @events:	peaks and marks
 * @from_ns:	when the first interval began, on the clock of the recording
 * @to_ns:	when the last interval ended
 */
struct maps {
	const struct maps_options *options;
	struct sorted targets;
	struct fine *fine;
	struct events events;
	__u64 from_ns;
	__u64 to_ns;
};

/** maps_new() - begin the first reading; @options must stay valid. Exits if memory runs out */
struct maps *maps_new(struct report *rp, const struct maps_options *options);

/** maps_scan() - take a record in the first reading: note the mapped ranges and times */
void maps_scan(struct maps *m, const struct report *rp,
	       const struct wsmon_record *rec);

/** maps_scanned() - end the first reading. Return: number of maps */
size_t maps_scanned(struct maps *m, const struct report *rp);

/**
 * maps_layout() - lay out each map; exits if memory runs out
 * @columns:	cells from left to right
 * @lines:	maximum number of lines, at least 3
 * @fine:	cells in a line
 */
void maps_layout(struct maps *m, const struct report *rp, unsigned int columns,
		 unsigned int lines, unsigned int fine);

/** maps_record() - take a record in the second reading: draw the accessed memory */
void maps_record(struct maps *m, const struct report *rp,
		 const struct wsmon_record *rec);

/** maps_free() - free the maps */
void maps_free(struct maps *m);

#endif /* WSMO_REPORT_GRID_H */
