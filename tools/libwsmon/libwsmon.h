/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libwsmon.h - reads recordings of wsmon, and the stream of its module; computes working set
 * sizes over time, and which memory limit is enough
 *
 *	struct wsmon_reader *r = wsmon_open("wsmon.data");
 *	const struct wsmon_record *rec;
 *	int res;
 *
 *	while ((res = wsmon_next(r, &rec)) > 0)
 *		if (rec->type == WSMON_REC_WSS)
 *			...
 *	if (res < 0)
 *		fprintf(stderr, "%s\n", wsmon_error(r));
 *	wsmon_close(r);
 *
 * wsmon.h and wsmon_records.h describe the records. The library checks all sizes and counts in
 * them, and unpacks snapshots. It prints nothing. Only one thread at a time may use a
 * reader.
 */
#ifndef LIBWSMON_H
#define LIBWSMON_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon_records.h"

/* Records */

/** struct wsmon_reader - an open recording */
struct wsmon_reader;

/**
 * wsmon_open() - open a recording
 *
 * Return: the reader, or NULL with errno set
 */
struct wsmon_reader *wsmon_open(const char *file);

/**
 * wsmon_open_fd() - read a recording or a stream from a file descriptor
 * @fd:	readable and blocking; wsmon_close() leaves it open
 *
 * Return: the reader, or NULL with errno set
 */
struct wsmon_reader *wsmon_open_fd(int fd);

/** wsmon_close() - close a reader and free its memory; ignores NULL */
void wsmon_close(struct wsmon_reader *r);

/**
 * wsmon_header() - get the header
 *
 * Return: the header, valid until wsmon_close(); fields unknown to its writer are 0. NULL if
 * it cannot be read: wsmon_error() says why
 */
const struct wsmon_file_header *wsmon_header(struct wsmon_reader *r);

/**
 * wsmon_next() - get the next record
 * @rec: gets the record, valid until the next call
 *
 * Delivers PACKED records as SNAPSHOT records, and no INDEX records. A record of a newer writer
 * may be longer than its structure in the headers, and a record of an older writer may be
 * shorter: use wsmon_record_copy().
 *
 * Return: 1; 0 at the end; -ENODATA if the file ends inside a record; -EBADMSG if reading fails
 * or the file is broken at this point. An error does not make earlier records wrong.
 */
int wsmon_next(struct wsmon_reader *r, const struct wsmon_record **rec);

/**
 * wsmon_error() - describe the last failure
 *
 * Return: a text without a newline, "" if nothing failed
 */
const char *wsmon_error(const struct wsmon_reader *r);

/**
 * wsmon_skip_snapshots() - deliver no SNAPSHOT records from now on
 *
 * Snapshots are most of a recording: without them, reading takes a tenth of the time or less.
 */
void wsmon_skip_snapshots(struct wsmon_reader *r);

/**
 * wsmon_area_path() - get the name of an area: the file mapped there, "[heap]", ...
 * @pid:	the target
 * @index:	index of the area, as in @area of struct wsmon_region_entry
 *
 * Return: the name in the last AREA record of this area read so far, "" if there is none; valid
 * until the next wsmon_next()
 */
const char *wsmon_area_path(const struct wsmon_reader *r, __u32 pid, __u32 index);

/**
 * wsmon_record_pid() - get the target of a record
 * @pid: gets the target's process id
 *
 * Return: false if the record is not of one target
 */
bool wsmon_record_pid(const struct wsmon_record *rec, __u32 *pid);

/**
 * wsmon_record_copy() - copy a record into a structure of another size
 * @to:		the structure; sets fields that the record does not have to 0
 * @size:	size of the structure; the rest of a longer record is left out
 */
void wsmon_record_copy(const struct wsmon_record *rec, void *to, size_t size);

/**
 * wsmon_class_name() - name a class: "heap", ...
 * @class: enum wsmon_class
 *
 * Return: the name, or NULL for an unknown class
 */
const char *wsmon_class_name(__u32 class);

/**
 * wsmon_class_by_name() - find a class by its name
 *
 * Return: enum wsmon_class, or -1
 */
int wsmon_class_by_name(const char *name);

/**
 * wsmon_record_name() - name a kind of record: "wss", ...
 * @type: enum wsmon_record_type
 *
 * Return: the name, or NULL for an unknown type
 */
const char *wsmon_record_name(__u32 type);

/*
 * Working set sizes over time
 *
 *	struct wsmon_wss_rows rows = { 0 };
 *
 *	while (wsmon_next(r, &rec) > 0)
 *		wsmon_wss_record(&rows, rec);
 *	wsmon_wss_sort(&rows, false);
 *	for (i = 0; i < rows.nr; i = end) {
 *		end = wsmon_wss_series(&rows, i);
 *		... rows i to end - 1 are a series: of one target or the group, window and class
 *	}
 *	wsmon_wss_free(&rows);
 */

/**
 * struct wsmon_wss_row - the working set size at one moment
 * @time_ns:	the moment, nanoseconds of CLOCK_MONOTONIC
 * @window_us:	the window, microseconds
 * @bytes:	estimate of the memory accessed within the window
 * @low:	lower end of the 95 % confidence interval of @bytes
 * @high:	upper end
 * @mapped:	bytes mapped of this class
 * @pid:	the target; 0 if @group is set
 * @class:	enum wsmon_class; WSMON_CLASS_ALL is all memory
 * @group:	the row is the total of all members of the group
 */
struct wsmon_wss_row {
	__u64 time_ns;
	__u64 window_us;
	__u64 bytes;
	__u64 low;
	__u64 high;
	__u64 mapped;
	__u32 pid;
	__u32 class;
	bool group;
};

/**
 * struct wsmon_wss_rows - an array of working set sizes; all zero is empty
 * @row:	the rows
 * @nr:		number of rows
 * @room:	number of rows that are allocated
 */
struct wsmon_wss_rows {
	struct wsmon_wss_row *row;
	size_t nr;
	size_t room;
};

/**
 * wsmon_wss_record() - append the working set size in a WSS or TOTAL record
 * @rec: any record; others are ignored
 *
 * Return: 0, or -ENOMEM
 */
int wsmon_wss_record(struct wsmon_wss_rows *rows, const struct wsmon_record *rec);

/**
 * wsmon_wss_add() - append a copy of a row
 *
 * Return: the copy, valid until the next call; NULL if memory ran out
 */
struct wsmon_wss_row *wsmon_wss_add(struct wsmon_wss_rows *rows, const struct wsmon_wss_row *row)
	__attribute__((warn_unused_result));

/**
 * wsmon_wss_sort() - sort rows into series: by target (the group first), window and class
 * @by_size: order of the rows in a series: true by size, false by time
 */
void wsmon_wss_sort(struct wsmon_wss_rows *rows, bool by_size);

/**
 * wsmon_wss_series() - find the end of a series in sorted rows
 * @first: index of the first row of the series
 *
 * Return: index after the last row of the series
 */
size_t wsmon_wss_series(const struct wsmon_wss_rows *rows, size_t first);

/**
 * wsmon_wss_percentile() - get a percentile of a series
 * @series:	the first row of a series that is sorted by size
 * @nr:		number of rows of the series, at least 1
 * @percent:	0 to 100
 *
 * Return: the row of the nearest rank
 */
const struct wsmon_wss_row *wsmon_wss_percentile(const struct wsmon_wss_row *series, size_t nr,
						 unsigned int percent);

/** wsmon_wss_free() - free the rows, which leaves an empty array */
void wsmon_wss_free(struct wsmon_wss_rows *rows);

/*
 * Curves and limits: the working set as a function of its window, and the refaults that a
 * memory limit causes. The recording needs at least 3 windows, as "wsmo record --sizing" sets
 * them. Documentation/internals/design.rst has the theory.
 *
 *	struct wsmon_curves *cs = wsmon_curves_new(wsmon_header(r));
 *	const struct wsmon_curve *c;
 *
 *	while (wsmon_next(r, &rec) > 0)
 *		wsmon_curves_record(cs, rec);
 *	wsmon_curves_fit(cs);
 *	for (i = 0; (c = wsmon_curves_get(cs, i)); i++)
 *		printf("%u: %.0f bytes are enough\n", c->pid, wsmon_knee(c, 100));
 *	wsmon_curves_free(cs);
 *
 * Times are in seconds, sizes in bytes, rates per second.
 */

/**
 * struct wsmon_curve_point - the working set of one window, over the recording
 * @window:	the window
 * @mean:	mean of the working set size, as measured
 * @size:	@mean, made to rise with the window: adjacent means that fall are replaced by their
 *		mean
 * @low:	lower end of the 95 % confidence interval of @mean
 * @high:	upper end
 * @slack:	half-width of the 95 % confidence interval of the difference between @mean and the
 *		@mean of the next shorter window
 * @p5:		5th percentile over time; not valid in a sum of targets, like @p50 and @p95
 * @p50:	median over time
 * @p95:	95th percentile over time
 */
struct wsmon_curve_point {
	double window;
	double mean;
	double size;
	double low;
	double high;
	double slack;
	__u64 p5;
	__u64 p50;
	__u64 p95;
};

/**
 * struct wsmon_curve - the working set as a function of its window
 * @pid:	the target; 0: all processes together
 * @class:	enum wsmon_class
 * @group:	with @pid 0: the curve is the group's total, not a sum of targets
 * @comm:	name of the target, not necessarily NUL-terminated
 * @page_size:	bytes of a page
 * @rss:	mean resident size; negative if unknown
 * @growth:	first use of memory, in bytes per second, measured as growth of RSS and swap;
 *		negative if unknown
 * @nr:		number of points, at least 3
 * @point:	the points, by ascending window
 * @node:	windows of the curve's @nr + 1 nodes: [0] is 0, [i] the window of point i - 1
 * @size:	sizes at the nodes: the sizes of the points, made rising and concave
 * @slope:	slopes of the curve at the nodes, in bytes per second
 */
struct wsmon_curve {
	__u32 pid;
	__u32 class;
	bool group;
	char comm[WSMON_COMM_LEN];
	__u32 page_size;
	double rss;
	double growth;
	size_t nr;
	struct wsmon_curve_point point[WSMON_WINDOWS_MAX];
	double node[WSMON_WINDOWS_MAX + 1];
	double size[WSMON_WINDOWS_MAX + 1];
	double slope[WSMON_WINDOWS_MAX + 1];
};

/** struct wsmon_curves - the curves of a recording */
struct wsmon_curves;

/**
 * wsmon_curves_new() - allocate an empty set of curves
 * @header: header of the recording; not used after this call
 *
 * Return: the set, or NULL if memory ran out
 */
struct wsmon_curves *wsmon_curves_new(const struct wsmon_file_header *header);

/**
 * wsmon_curves_record() - take a record
 * @rec: any record; call in the order of the recording. Leave out records of unwanted targets
 *	 and classes; TARGET records give the names of targets, PROC records their RSS
 *
 * Return: 0, or -ENOMEM
 */
int wsmon_curves_record(struct wsmon_curves *cs, const struct wsmon_record *rec);

/**
 * wsmon_curves_fit() - compute the curves; call it once, after the last record
 *
 * A window counts if it was observed for 1.25 times its length. Each target and class with at least
 * 3 such windows gets a curve. Each class also gets a curve of all processes together: from the
 * TOTAL records if there are any, else from the sum of targets if several have a curve.
 *
 * Return: number of curves, or -ENOMEM
 */
int wsmon_curves_fit(struct wsmon_curves *cs);

/**
 * wsmon_curves_get() - get a curve
 * @i: index, from 0 on
 *
 * Return: the curve, valid as long as the set; NULL after the last curve
 */
const struct wsmon_curve *wsmon_curves_get(const struct wsmon_curves *cs, size_t i);

/** wsmon_curves_free() - free a set and its curves; ignores NULL */
void wsmon_curves_free(struct wsmon_curves *cs);

/**
 * enum wsmon_bound - which values of a limit's refaults are known
 * @WSMON_EXACT:	the estimate and both ends of its confidence interval
 * @WSMON_AT_MOST:	only the upper end: the limit is above the size of the longest window
 * @WSMON_AT_LEAST:	only the lower end: the limit is below the size of the shortest window
 */
enum wsmon_bound {
	WSMON_EXACT,
	WSMON_AT_MOST,
	WSMON_AT_LEAST,
};

/**
 * struct wsmon_limit - the effect of a memory limit
 * @bytes:	the limit
 * @window:	memory accessed within this time stays resident; infinity if longer than all windows
 * @refaults:	estimate of the pages read back per second
 * @low:	lower end of the 95 % confidence interval of @refaults
 * @high:	upper end; infinity with WSMON_AT_LEAST
 * @missed:	upper bound of the share of accesses that are refaults, 0 to 1; all accesses to a
 *		page within the shortest window count as one
 * @bound:	which of @refaults, @low and @high are known
 */
struct wsmon_limit {
	double bytes;
	double window;
	double refaults;
	double low;
	double high;
	double missed;
	enum wsmon_bound bound;
};

/** wsmon_limit() - estimate the refaults under a limit of @bytes */
struct wsmon_limit wsmon_limit(const struct wsmon_curve *c, double bytes);

/**
 * wsmon_knee() - find the smallest limit with at most @max_refaults refaults per second
 * @max_refaults: bound on the upper end of the 95 % confidence interval
 *
 * Return: the limit in bytes; infinity if the longest window is too short to find it
 */
double wsmon_knee(const struct wsmon_curve *c, double max_refaults);

#endif /* LIBWSMON_H */
