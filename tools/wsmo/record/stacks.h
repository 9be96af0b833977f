/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stacks.h - call stacks in the record file: at peaks and at marks
 *
 * wsmo-stack, which takes them, is started with the recording: where that takes as
 * long as the first peak lasts, what made the peak would be over. Nothing here
 * waits for it but the end of the recording.
 */
#ifndef WSMO_RECORD_STACKS_H
#define WSMO_RECORD_STACKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "libwsmon/sorted.h"
#include "wsmon.h"

struct record;

/**
 * struct stacks - state of it
 * @wanted:	take stacks
 * @threads:	most threads of a target at a time
 * @interval_ns: least time between two peaks of a target that get stacks
 * @fd:		socket to wsmo-stack, -1 while it does not run
 * @pid:	its process, 0 if there is none
 * @broken:	it could not be started, or ended: no more stacks
 * @last:	struct stacks_target: when the last ones of each target were taken
 * @noted:	errno of a stack that could not be taken was told
 * @taken:	stacks in the file
 * @failed:	such that could not be taken
 * @skipped:	peaks without stacks, as they came too soon
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
void stacks_begin(struct record *r);

/** stacks_peak() - a peak's edge came: take stacks if it is time to */
void stacks_peak(struct record *r, const struct wsmon_rec_peak *peak);

/** stacks_mark() - a mark was set: take stacks of all targets */
void stacks_mark(struct record *r, __u32 number);

/** stacks_take() - wsmo-stack sent something: write it to the file */
void stacks_take(struct record *r);

/**
 * stacks_end() - have what was asked for so far, then end wsmo-stack
 *
 * Waits for it some seconds at most. May be called again.
 */
void stacks_end(struct record *r);

/** stacks_tell() - the closing words about stacks */
void stacks_tell(const struct record *r);

#endif /* WSMO_RECORD_STACKS_H */
