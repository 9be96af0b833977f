/* SPDX-License-Identifier: GPL-2.0 */
/*
 * summary.h - sums over a recording, for "wsmo report summary"
 */
#ifndef WSMO_SUMMARY_H
#define WSMO_SUMMARY_H

#include "group.h"
#include "libwsmon/budget.h"
#include "libwsmon/filter.h"
#include "libwsmon/hot.h"
#include "libwsmon/sorted.h"

/* Targets, or targets with their classes, that are kept */
#define SUMMARY_ROWS	16384

/** struct running - mean, variance and maximum of the values so far */
struct running {
	__u64 n;
	double mean;
	double m2;
	__u64 max;
	double max_t;
};

/** struct wss_sums - the working sets of a target, or the group, of a class and window */
struct wss_sums {
	bool group;
	__u32 pid;
	__u32 class;
	__u64 window_us;
	struct running wss, low, high, mapped;
};

/** struct target_sums - a target, and what /proc said of it */
struct target_sums {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	bool gone;
	double exit_t;
	struct running rss, pss, swap, vsize;
};

/**
 * struct together - working sets of all targets added, at moments that have a total
 * @bytes:	the sum so far
 * @time_ns:	the moment
 * @total:	it has a total
 * @sums:	those of moments before
 */
struct together {
	__u64 bytes;
	__u64 time_ns;
	bool total;
	struct running sums;
};

/**
 * struct summary - sums over a recording
 * @hot:	accesses by address
 * @wss:	struct wss_sums
 * @targets:	struct target_sums
 * @group:	the group
 * @together:	what its targets use, added
 * @too_many:	some found no room
 * @window_us:	the window of @wss
 * @first_ns:	time of the first record
 * @last_ns:	time of the last record
 * @records:	number of records
 * @intervals:	most intervals of a target
 * @lost:	records lost
 * @attrs:	attributes of the monitor
 * @have_stats:	@first_stats and @stats are valid
 * @late_reader: monitoring began before the recording
 * @first_stats: the first STATS record
 * @stats:	the last one
 * @budget:	whether sampling was reduced
 * @ended:	there was an END record
 * @reason:	what it says
 */
struct summary {
	struct hot hot;
	struct sorted wss;
	struct sorted targets;
	struct group group;
	struct together together;
	bool too_many;
	__u64 window_us;
	__u64 first_ns, last_ns;
	__u64 records;
	__u64 intervals;
	struct wsmon_rec_lost lost;
	struct wsmon_attrs attrs;
	bool have_stats, late_reader;
	struct wsmon_rec_stats first_stats, stats;
	struct budget budget;
	bool ended;
	__u32 reason;
};

/** summary_new() - exits if there is no memory */
struct summary *summary_new(const struct filter *filter,
			    const struct wsmon_attrs *attrs);

/** summary_add() - take any record */
void summary_add(struct summary *s, const struct filter *filter,
		 const struct wsmon_record *rec);

/** summary_targets() - mean of the sum of the targets' working sets, beside the total */
const struct running *summary_targets(struct summary *s);

/** summary_group() - the totals of a class; NULL if there were none */
const struct wss_sums *summary_group(const struct summary *s, __u32 class);

/** summary_comm() - name of a target, "" if it is not known */
const char *summary_comm(const struct summary *s, __u32 pid);

/** summary_wss() - the working sets of a class; NULL if there were none */
const struct wss_sums *summary_wss(const struct summary *s, __u32 pid, __u32 class);

/** running_sd() - standard deviation */
double running_sd(const struct running *r);

/** summary_free() - frees it and what is in it */
void summary_free(struct summary *s);

#endif /* WSMO_SUMMARY_H */
