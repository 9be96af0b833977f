/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grid.h - heatmaps of a recording's targets: the addresses that a line stands for, and
 * the share of them that was accessed at each time. For the views heatmap and html.
 *
 * Only mapped memory takes room. Neighbouring mappings that are too small for lines of
 * their own share one: a section. Every section has at least one line; the other lines
 * go where the bytes are.
 *
 * The recording is read twice: maps_new(), maps_scan() for each record, maps_scanned(),
 * maps_layout(), then maps_record() for each record once more.
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
 * @first:	the first of them
 * @last:	the last of them
 * @bytes:	mapped bytes in them
 * @gap:	bytes not mapped between the section below and this one
 * @fold:	a line shows @gap
 * @line:	first line of the section, from below; the fold is the line below it
 * @lines:	number of its lines
 * @label:	its largest range, which names it
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
 * @bytes:	mapped bytes times time, in columns
 * @accessed:	the accessed part of @bytes
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
 * @page_size:	a line stands for at least one page
 * @ranges:	what was mapped; @offset of each: bytes of its section below it
 * @sections:	@nr_sections of them, lowest address first
 * @unfolded:	large gaps that no line shows
 * @columns:	cells from left to right
 * @lines:	lines of text from bottom to top
 * @fine:	cells from bottom to top in each line
 * @cells:	row by row, lowest address first
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

/** heatmap_watched() - was the process watched in any part of a column? */
bool heatmap_watched(const struct heatmap *h, unsigned int column);

/**
 * heatmap_share() - get the share of a cell
 * Return: 0 to 1, or negative if nothing was mapped, or the process was not watched
 */
double heatmap_share(const struct heatmap *h, unsigned int row,
		     unsigned int column);

/** heatmap_address() - get the lowest address of a section's cell @step, from below */
__u64 heatmap_address(const struct heatmap *h, const struct section *b,
		      unsigned int step);

/** heatmap_mapped() - get the bytes of all sections */
__u64 heatmap_mapped(const struct heatmap *h);

#define HEATMAP_NAME	256

/**
 * heatmap_name() - name a section by its largest range, and the number of others
 * @buf: HEATMAP_NAME bytes
 *
 * The name is as it was recorded: of unknown origin.
 *
 * Return: @buf
 */
const char *heatmap_name(char *buf, const struct heatmap *h,
			 const struct section *b);

/**
 * struct maps_options - what to draw
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
 * @options:	what to draw
 * @targets:	struct heatmap
 * @fine:	evidence for parts of regions; NULL without --fine
 * @events:	peaks and marks
 * @from_ns:	when the first interval began, on the clock of the recording
 * @to_ns:	when the last one ended
 */
struct maps {
	const struct maps_options *options;
	struct sorted targets;
	struct fine *fine;
	struct events events;
	__u64 from_ns;
	__u64 to_ns;
};

/** maps_new() - begin; @options stay the caller's. Exits if there is no memory */
struct maps *maps_new(struct report *rp, const struct maps_options *options);

/** maps_scan() - take a record in the first reading, for what is mapped, and when */
void maps_scan(struct maps *m, const struct report *rp,
	       const struct wsmon_record *rec);

/** maps_scanned() - end the first reading; Return: number of maps */
size_t maps_scanned(struct maps *m, const struct report *rp);

/**
 * maps_layout() - lay out each map; exits if there is no memory
 * @columns:	cells from left to right
 * @lines:	max. number of lines, at least 3
 * @fine:	cells in a line
 */
void maps_layout(struct maps *m, const struct report *rp, unsigned int columns,
		 unsigned int lines, unsigned int fine);

/** maps_record() - take a record in the second reading: draw what was accessed */
void maps_record(struct maps *m, const struct report *rp,
		 const struct wsmon_record *rec);

/** maps_free() - free it and what is in it */
void maps_free(struct maps *m);

#endif /* WSMO_REPORT_GRID_H */
