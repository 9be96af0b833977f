/* SPDX-License-Identifier: GPL-2.0 */
/*
 * model.h - two recordings, divided alike, for "wsmo diff"
 */
#ifndef WSMO_DIFF_MODEL_H
#define WSMO_DIFF_MODEL_H

#include "batches.h"
#include "libwsmon/filter.h"
#include "libwsmon/sorted.h"
#include "report/collect.h"
#include "symbols/places.h"

/** enum diff_by - what the rows beside the total are */
enum diff_by {
	DIFF_CLASS,
	DIFF_PROCESS,
	DIFF_MAPPING,
	DIFF_FUNCTION,
};

/**
 * struct diff_row - a part of the memory, in both recordings
 * @name:	what it is; of the total NULL
 * @of:		its working set in each
 * @now:	at the moment being read: [1] is the group's, [0] the sum of targets
 * @half2:	squares of half the intervals of @now
 */
struct diff_row {
	const char *name;
	struct batches of[2];
	double now[2], half2[2];
};

/**
 * struct diff_side - one of the recordings
 * @moments:	its moments
 * @window_us:	window of the working sets
 * @aggr_us:	aggregation interval
 * @apart:	moments after which errors are independent
 * @what:	the cgroup, or the program of the first process, and @processes in all
 * @real_ns:	when it began, in nanoseconds since 1970
 * @first_ns, @last_ns: its first and last moment
 */
struct diff_side {
	struct moments moments;
	__u64 window_us, aggr_us;
	double apart;
	char what[256];
	__u32 processes;
	__u64 real_ns, first_ns, last_ns;
};

/**
 * struct diff - both of them
 * @by:		what the rows are
 * @side:	the recordings
 * @at:		index of the one being read
 * @rows:	struct diff_row *, by name
 * @total:	all memory
 * @too_many:	rows were left out
 * @time_ns:	the moment being read, 0 before the first
 * @grouped:	it has a total
 * @names:	names of processes
 * @places:	names of mappings, and functions
 */
struct diff {
	enum diff_by by;
	struct diff_side side[2];
	int at;
	struct sorted rows;
	struct diff_row total;
	bool too_many;
	__u64 time_ns;
	bool grouped;
	struct collected names;
	struct places *places;
};

/** diff_new() - nothing read yet */
struct diff *diff_new(enum diff_by by);

/** diff_begin() - begin to read recording 0 or 1; @window_us 0 is the shortest */
void diff_begin(struct diff *d, int at, const struct wsmon_attrs *attrs, __u64 window_us);

/** diff_record() - take any record */
void diff_record(struct diff *d, const struct filter *filter, const struct wsmon_record *rec);

/** diff_end() - the recording was read */
void diff_end(struct diff *d);

/** diff_free() - free everything */
void diff_free(struct diff *d);

#endif /* WSMO_DIFF_MODEL_H */
