/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stacks.h - call stacks in the recording: at peaks and at marks
 *
 * wsmo-stack takes the stacks. It starts with the recording, as a start at the first peak could
 * take longer than the peak. Only stacks_end() waits for it.
 */
#ifndef WSMO_RECORD_STACKS_H
#define WSMO_RECORD_STACKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "output.h"
#include "targets.h"

/**
 * struct stacks - the connection to wsmo-stack, and the counts of stacks
 * @wanted:	take stacks
 * @threads:	maximum number of threads of a target at a time
 * @interval_ns: minimum time between two peaks of a target that get stacks
 * @fd:		socket to wsmo-stack; -1: it does not run
 * @pid:	process id of wsmo-stack; 0: none
 * @broken:	wsmo-stack could not be started, or ended: take no more stacks
 * @last:	struct stacks_target: each target's last peak with stacks
 * @noted:	a failure was reported
 * @taken:	number of stacks in the file
 * @failed:	number of stacks that could not be taken
 * @skipped:	number of peaks and marks without stacks because they came too soon after others
 * @longest_ns:	longest time a thread was stopped
 */
struct stacks {
	bool wanted;
	__u32 threads;
	__u64 interval_ns;
	int fd;
	pid_t pid;
	bool broken;
	struct sorted last;
	bool noted;
	__u64 taken;
	__u64 failed;
	__u64 skipped;
	__u64 longest_ns;
};

/** stacks_begin() - start wsmo-stack if stacks are wanted */
void stacks_begin(struct stacks *s);

/** stacks_peak() - request stacks if a peak starts, unless it is too soon after another peak */
void stacks_peak(struct stacks *s, const struct wsmon_rec_peak *peak);

/** stacks_mark() - request stacks of all targets for a mark */
void stacks_mark(struct stacks *s, const struct targets *targets, __u32 number);

/** stacks_take() - write the records sent by wsmo-stack to the file */
void stacks_take(struct stacks *s, struct output *o);

/**
 * stacks_end() - wait a few seconds at most for requested stacks, then end wsmo-stack
 *
 * May be called again.
 */
void stacks_end(struct stacks *s, struct output *o);

/** stacks_report() - print how many stacks were taken */
void stacks_report(const struct stacks *s);

#endif /* WSMO_RECORD_STACKS_H */
