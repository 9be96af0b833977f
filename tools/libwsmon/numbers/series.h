/* SPDX-License-Identifier: GPL-2.0 */
/*
 * series.h - the working set sizes of a recording
 */
#ifndef WSMO_WSS_H
#define WSMO_WSS_H

#include <stdbool.h>
#include <stddef.h>

#include "events.h"
#include "libwsmon/sorted.h"
#include "libwsmon/filter.h"

/** struct wss_row - fields of a WSS record, or of a PROC record: @bytes is then the RSS */
struct wss_row {
	__u64 time_ns;
	__u64 window_us;
	__u64 bytes;
	__u64 low;
	__u64 high;
	__u64 mapped;
	__u32 pid;
	__u32 class;
};

/** struct wss_rows - @nr of them, room for @room */
struct wss_rows {
	struct wss_row *row;
	size_t nr;
	size_t room;
};

/** struct wss_name - the name of a target */
struct wss_name {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	bool secondary_mmu;		/* from the module's text files only */
};

/**
 * wss_rows_add() - append a copy of a row
 * Return: the copy, valid until the next call; NULL without memory
 */
struct wss_row *wss_rows_add(struct wss_rows *rows, const struct wss_row *row)
	__attribute__((warn_unused_result));

/**
 * wss_rows_sort() - sort rows by series
 * @by_size: the order within a series: by size, or by time
 *
 * A series is the rows of one target, window and class.
 */
void wss_rows_sort(struct wss_rows *rows, bool by_size);

/**
 * wss_series() - find the end of a series in sorted rows
 * @first: index of its first row
 *
 * Return: index after its last row
 */
size_t wss_series(const struct wss_rows *rows, size_t first);

/** wss_percentile() - get the row of a percentile from a series sorted by size */
const struct wss_row *wss_percentile(const struct wss_row *series, size_t nr,
				     unsigned int percent);

/** wss_name_compare() - compare struct wss_name by pid */
int wss_name_compare(const void *a, const void *b);

#endif /* WSMO_WSS_H */
