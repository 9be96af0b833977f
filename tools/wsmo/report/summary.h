/* SPDX-License-Identifier: GPL-2.0 */
/*
 * summary.h - what the parts of "wsmo report summary" share
 */
#ifndef WSMO_SUMMARY_H
#define WSMO_SUMMARY_H

#include "libwsmon/numbers/hot.h"
#include "libwsmon/sorted.h"
#include "report.h"

/** struct series - mean, variance and maximum of a series of values */
struct series {
	__u64 n;
	double mean;
	double m2;
	__u64 max;
	double max_t;
};

/* A target and window and class; a target itself has no window. */
struct row {
	__u32 pid;
	__u32 class;
	__u64 tau_us;
	struct series wss, low, high, mapped;
};

struct target {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	bool gone;
	double exit_t;
	struct series rss, pss, swap, vsize;
};

struct summary {
	struct hot hot;			/* accesses by address */
	struct sorted rows;		/* struct row */
	struct sorted targets;		/* struct target */
	bool too_many;
	__u64 first_ns, last_ns;
	__u64 records;
	__u64 intervals;
	struct wsmon_rec_lost lost;
	struct wsmon_attrs attrs;
	bool have_stats, late_reader;
	struct wsmon_rec_stats first_stats, stats;
	bool ended;
	__u32 reason;
};

extern const struct table_desc summary_recording_desc;
extern const struct table_desc summary_touched_desc;

/** summary_window() - the one window it is of, microseconds */
__u64 summary_window(const struct report *rp);

/** summary_comm() - name of a target, "" if it is not known */
const char *summary_comm(const struct summary *s, __u32 pid);

/** summary_row() - the working sets of a class; NULL if there were none */
const struct row *summary_row(const struct report *rp, __u32 pid, __u32 class);

/** summary_rounded() - a size; in a broken file it may be more than 64 bits hold */
struct cell summary_rounded(double v);

/** summary_recording() - print the table of the recording as a whole */
void summary_recording(struct report *rp);

/** summary_touched() - print the table of the memory that was accessed at all */
void summary_touched(struct report *rp);

#endif /* WSMO_SUMMARY_H */
