/* SPDX-License-Identifier: GPL-2.0 */
/* events.h - the peaks and marks of a recording */
#ifndef WSMO_EVENTS_H
#define WSMO_EVENTS_H

#include <stddef.h>

#include "sorted.h"
#include "wsmon.h"

/* Bytes of a label */
#define EVENTS_LABEL	128

/**
 * struct peak - a peak, from the PEAK records of its edges
 * @bytes:	working set size at the start of the peak, or at its end if the recording lacks
 *		the start; with the confidence interval @low to @high
 * @end_ns:	0 if the peak lasted until the end of the recording
 */
struct peak {
	__u32 pid;
	__u32 number;
	__u32 group;
	__s32 sign;
	__u64 start_ns;
	__u64 end_ns;
	__u64 bytes;
	__u64 low;
	__u64 high;
	__u64 height;
	__u64 baseline;
	__u64 threshold;
};

/** peak_word() - get the word for a peak: "dip" if the working set is smaller than usual */
static inline const char *peak_word(const struct peak *p)
{
	return p->sign < 0 ? "dip" : "peak";
}

/** struct mark - a moment the user marked */
struct mark {
	__u64 time_ns;
	__u32 number;
	char *text;
};

/**
 * struct events - peaks and marks; all zero is empty
 * @peaks:	struct peak, by pid and number; the peaks of a pid are also by time
 * @mark:	marks in the order of the file, which is the order of their times
 * @nr_marks:	number of marks
 * @lost:	number of records of peaks and marks that were left out
 * @interval_ns: not used here: the caller may keep the aggregation interval in it
 */
struct events {
	struct sorted peaks;
	struct mark *mark;
	size_t nr_marks, lost;
	__u64 interval_ns;
};

#define EVENTS_MAX	65536	/* peaks, and marks */

/**
 * events_add() - add a PEAK or MARK record; ignore other records
 *
 * Leaves out and counts events beyond EVENTS_MAX of each kind, and events for which there is no
 * memory.
 */
void events_add(struct events *ev, const struct wsmon_record *rec);

/** events_peak() - find a peak by its number. Return: NULL if there is none */
const struct peak *events_peak(const struct events *ev, __u32 pid, __u32 number);

/** events_peak_at() - get the peak at an index. Return: NULL after the last one */
const struct peak *events_peak_at(const struct events *ev, size_t i);

/** events_first() - get the index of a process's first peak with a start at @from_ns or later */
size_t events_first(const struct events *ev, __u32 pid, __u64 from_ns);

/**
 * events_label() - list the events of an interval: "peak 3, mark 1"
 * @buf: EVENTS_LABEL bytes
 * @time_ns: end of the interval
 * @interval_ns: length of the interval
 *
 * Lists marks within the interval, and peaks with a start within half an interval of @time_ns: the
 * start of a peak is the end of its first interval.
 *
 * Return: @buf, "" if there are no events
 */
const char *events_label(char *buf, const struct events *ev, __u32 pid,
			 __u64 time_ns, __u64 interval_ns);

/** events_free() - free all peaks and marks, but not @ev */
void events_free(struct events *ev);

#endif /* WSMO_EVENTS_H */
