/* SPDX-License-Identifier: GPL-2.0 */
/*
 * events.h - the peaks and marks of a recording
 */
#ifndef WSMO_EVENTS_H
#define WSMO_EVENTS_H

#include <stddef.h>

#include "sorted.h"
#include "wsmon.h"

/* Bytes of a label */
#define EVENTS_LABEL	128

/**
 * struct peak - a peak, from the PEAK records of its edges
 * @bytes:	working set at its start if that was recorded, else at its end; with its interval
 *		@low to @high
 * @end_ns:	0 if it had not ended when the recording did
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

/** peak_word() - name it: "peak", or "dip" if less memory than usual is in use */
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
 * struct events - zeroed is empty
 * @peaks:	struct peak, by pid and number, which is by time
 * @mark:	the marks in the order of the file, which is by time
 * @nr_marks:	number of marks
 * @interval_ns: free for the caller: the aggregation interval. A peak begins at the end of its
 *		first interval
 */
struct events {
	struct sorted peaks;
	struct mark *mark;
	size_t nr_marks;
	__u64 interval_ns;
};

/**
 * events_add() - take PEAK and MARK records; others are ignored
 *
 * Events beyond 65536 of each kind, or beyond the memory there is, are left out.
 */
void events_add(struct events *ev, const struct wsmon_record *rec);

/** events_peak() - find a peak by its number. Return: NULL if there is none */
const struct peak *events_peak(const struct events *ev, __u32 pid, __u32 number);

/** events_peak_at() - get the peak at an index. Return: NULL after the last one */
const struct peak *events_peak_at(const struct events *ev, size_t i);

/** events_first() - get the index of a process's first peak that begins at @from_ns or later */
size_t events_first(const struct events *ev, __u32 pid, __u64 from_ns);

/**
 * events_label() - list the events of an interval: "peak 3, mark 1"
 * @buf: EVENTS_LABEL bytes
 * @time_ns: end of an interval
 * @interval_ns: its length
 *
 * A peak begins at the end of its first interval.
 *
 * Return: @buf, empty if there were none
 */
const char *events_label(char *buf, const struct events *ev, __u32 pid,
			 __u64 time_ns, __u64 interval_ns);

/** events_free() - free what is in it */
void events_free(struct events *ev);

#endif /* WSMO_EVENTS_H */
