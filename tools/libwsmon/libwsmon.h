/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libwsmon.h - reads recordings of wsmon, and the stream of its module; computes working
 * set sizes over time, and which memory limit is enough
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
 * The records are those of wsmon.h and wsmon_records.h. The library checks all sizes and
 * counts in them, and unpacks snapshots. It prints nothing. Different readers may be used
 * by different threads at the same time.
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
 * @fd:	readable and blocking; stays open when the reader is closed
 *
 * Return: the reader, or NULL with errno set
 */
struct wsmon_reader *wsmon_open_fd(int fd);

/** wsmon_close() - close a reader and free its memory; ignores NULL */
void wsmon_close(struct wsmon_reader *r);

/**
 * wsmon_header() - get the header
 *
 * Return: the header, valid as long as the reader; fields unknown to its writer are 0.
 * NULL if it cannot be read: wsmon_error() says why
 */
const struct wsmon_file_header *wsmon_header(struct wsmon_reader *r);

/**
 * wsmon_next() - get the next record
 * @rec: gets the record, valid until the next call
 *
 * Packed snapshots are delivered as SNAPSHOT records. Records may be longer than the
 * structures known here; some may be shorter: see wsmon_record_copy().
 *
 * Return: 1, or 0 at the end, -ENODATA if the file ends inside a record, -EBADMSG if it
 * cannot be read any further. What was delivered before is good in any case.
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
 * They are most of a recording: reading the rest takes a tenth of the time or less.
 */
void wsmon_skip_snapshots(struct wsmon_reader *r);

/**
 * wsmon_area_path() - name what is mapped in an area
 * @pid:	a target
 * @index:	the area: that of a region, in struct wsmon_region_entry.area
 *
 * Return: the name from the last AREA record so far, "" if there is none; valid until the
 * next wsmon_next()
 */
const char *wsmon_area_path(const struct wsmon_reader *r, __u32 pid, __u32 index);

/**
 * wsmon_record_pid() - get the target that a record is about
 * @pid: gets its process id
 *
 * Return: false if it is about none
 */
bool wsmon_record_pid(const struct wsmon_record *rec, __u32 *pid);

/**
 * wsmon_record_copy() - copy a record into a structure of another size
 * @to:		the structure; fields unknown to the record's writer become 0
 * @size:	its size; what the record has beyond that is left out
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
 *		... rows i to end - 1 are a series: one target or the group, window and class
 *	}
 *	wsmon_wss_free(&rows);
 */

/**
 * struct wsmon_wss_row - the working set size at one moment
 * @time_ns:	the moment, on the clock of the records
 * @window_us:	the window
 * @bytes:	estimate of the memory accessed within the window
 * @low:	lower end of its 95 % confidence interval
 * @high:	upper end
 * @mapped:	bytes mapped
 * @pid:	the target
 * @class:	enum wsmon_class; WSMON_CLASS_ALL is all memory of the target
 * @group:	it is the total of all members of the group, and @pid is 0
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
 * struct wsmon_wss_rows - working set sizes; zeroed, it is empty
 * @row:	the rows
 * @nr:		their number
 * @room:	number of rows there is memory for
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
 * Return: the copy, valid until the next call; NULL without memory
 */
struct wsmon_wss_row *wsmon_wss_add(struct wsmon_wss_rows *rows, const struct wsmon_wss_row *row)
	__attribute__((warn_unused_result));

/**
 * wsmon_wss_sort() - sort rows by target, the group first, then window, then class
 * @by_size: whether the rows of a series are in the order of size, or of time
 */
void wsmon_wss_sort(struct wsmon_wss_rows *rows, bool by_size);

/**
 * wsmon_wss_series() - find the end of a series in sorted rows
 * @first: index of its first row
 *
 * Return: index after its last row
 */
size_t wsmon_wss_series(const struct wsmon_wss_rows *rows, size_t first);

/**
 * wsmon_wss_percentile() - get a percentile of a series
 * @series:	its first row; sorted by size
 * @nr:		its number of rows, at least 1
 * @percent:	0 to 100
 *
 * Return: the row of the nearest rank
 */
const struct wsmon_wss_row *wsmon_wss_percentile(const struct wsmon_wss_row *series, size_t nr,
						 unsigned int percent);

/** wsmon_wss_free() - free the rows; afterwards there are none */
void wsmon_wss_free(struct wsmon_wss_rows *rows);

/*
 * Curves and limits: the working set as a function of its window, and the refaults that a
 * memory limit causes. The recording needs several windows, as "wsmo record --sizing"
 * sets them. Documentation/internals/design.rst has the theory.
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
 * Times are seconds, sizes bytes, rates per second.
 */

/**
 * struct wsmon_curve_point - the working set of one window, over the recording
 * @window:	the window
 * @mean:	its mean, as measured
 * @size:	@mean, pooled with those of longer windows that are smaller
 * @low:	lower end of its 95 % interval
 * @high:	upper end
 * @slack:	half the 95 % interval of how much @mean rose since the window before
 * @p5:		5 % of the moments had at most this; like @p50 and @p95 not in a sum of targets
 * @p50:	the median
 * @p95:	95 % of the moments had at most this
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
 * @pid:	the target; 0 is all together
 * @class:	enum wsmon_class
 * @group:	all together is the group's total, not a sum of targets
 * @comm:	name of the target, not necessarily NUL-terminated
 * @page_size:	bytes of a page
 * @rss:	mean resident size; negative if it is not known
 * @growth:	rate at which memory was used for the first time: growth of RSS and swap, in
 *		bytes; negative if it is not known
 * @nr:		number of points, at least 3
 * @point:	by window, ascending
 * @node:	windows of the curve's nodes: [0] is 0, [i] that of point i - 1
 * @size:	of the nodes: the rising and concave sizes closest to the points
 * @slope:	of the curve at the nodes
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
 * wsmon_curves_new() - prepare an empty set
 * @header: that of the recording; only read in this call
 *
 * Return: the set, or NULL without memory
 */
struct wsmon_curves *wsmon_curves_new(const struct wsmon_file_header *header);

/**
 * wsmon_curves_record() - take a record
 * @rec: any record of the recording, in its order. Those of targets or classes that are not
 *	 wanted may be left out; TARGET and PROC records name targets and give their RSS
 *
 * Return: 0, or -ENOMEM
 */
int wsmon_curves_record(struct wsmon_curves *cs, const struct wsmon_record *rec);

/**
 * wsmon_curves_fit() - compute the curves, once, after the last record
 *
 * There is a curve for each target and class in the records that has at least 3 windows
 * which were observed for 1.25 times their length, and one of all together: of the group's
 * total if there are TOTAL records, else of the sum of several targets.
 *
 * Return: number of curves, or -ENOMEM
 */
int wsmon_curves_fit(struct wsmon_curves *cs);

/**
 * wsmon_curves_get() - get a curve
 * @i: index, from 0 on
 *
 * Return: the curve, valid as long as the set; NULL after the last one
 */
const struct wsmon_curve *wsmon_curves_get(const struct wsmon_curves *cs, size_t i);

/** wsmon_curves_free() - free a set and its curves; ignores NULL */
void wsmon_curves_free(struct wsmon_curves *cs);

/**
 * enum wsmon_bound - what is known of the refaults of a limit
 * @WSMON_EXACT:	an estimate, and the ends of its interval
 * @WSMON_AT_MOST:	at most the upper end: no window was that long
 * @WSMON_AT_LEAST:	at least the lower end: no window was that short
 */
enum wsmon_bound {
	WSMON_EXACT,
	WSMON_AT_MOST,
	WSMON_AT_LEAST,
};

/**
 * struct wsmon_limit - what a memory limit leads to
 * @bytes:	the limit
 * @window:	memory used within this time stays; infinity if not known
 * @refaults:	pages read back a second
 * @low:	lower end of its 95 % interval
 * @high:	upper end; infinity if there is none
 * @missed:	upper bound of the share of accesses that are refaults; accesses to a page
 *		within the shortest window count once
 * @bound:	what is known of @refaults
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

/** wsmon_limit() - estimate the refaults with a limit of @bytes */
struct wsmon_limit wsmon_limit(const struct wsmon_curve *c, double bytes);

/**
 * wsmon_knee() - find the smallest limit with at most @max_refaults a second
 * @max_refaults: compared with the upper end of the interval
 *
 * Return: bytes; infinity if the longest window is too short to know
 */
double wsmon_knee(const struct wsmon_curve *c, double max_refaults);

#endif /* LIBWSMON_H */
