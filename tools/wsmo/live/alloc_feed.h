/* SPDX-License-Identifier: GPL-2.0 */
/*
 * alloc_feed.h - allocations of the command that "wsmo record --alloc" runs
 *
 * libwsmo-alloc.so samples them in the command's first process, whatever program it executes,
 * because regions of other processes are not watched.
 */
#ifndef WSMO_ALLOC_FEED_H
#define WSMO_ALLOC_FEED_H

#include <stdbool.h>
#include <sys/types.h>

#include "output.h"

/* Mean bytes from one sample to the next */
#define FEED_RATE	(512 << 10)
#define FEED_RATE_MAX	(1ULL << 40)

/* Nanoseconds that events may stay in the ring, which is also the precision of their times */
#define FEED_NS		(50 * 1000000ULL)

struct alloc_ring;
struct alloc_event;

/**
 * struct feed - source of the events; all zero is none
 * @rate:	mean bytes from one sample to the next; 0: no sampling
 * @ring:	ring shared with the command; NULL without
 * @fd:		descriptor of the ring, until the command has it
 * @tail:	number of bytes read from the ring
 * @overwritten: the command has damaged the ring
 * @event:	the event read last
 * @stuck_ns:	when the next event was first seen incomplete; 0: no such event is waiting
 * @stack:	hashes and numbers of the stacks written so far
 * @room:	number of entries at @stack
 * @stacks:	number of entries used
 * @samples:	number of allocations written
 * @now_ns:	when the ring was last read
 * @time_ns:	time of the last event, so that times of events never decrease
 * @begun:	the process has loaded the library
 * @broken:	number of events that could not be read
 * @lost:	number of lost events that a record has reported
 */
struct feed {
	__u64 rate;
	struct alloc_ring *ring;
	int fd;
	bool overwritten;
	__u64 tail;
	__u64 now_ns;
	__u64 time_ns;
	struct alloc_event *event;
	__u64 stuck_ns;
	struct feed_stack *stack;
	__u32 room;
	__u32 stacks;
	__u64 samples;
	bool begun;
	__u64 broken;
	__u64 lost;
};

/**
 * feed_open() - make the ring for the command to be started, and set the environment
 * @cmd:	the command
 * @uid:	user of the command
 * Return: 0, or -1 after a message, e.g. if the library cannot work in the command
 */
int feed_open(struct feed *f, const char *cmd, uid_t uid);

/** feed_started() - restore the environment after the command's process has started */
void feed_started(struct feed *f);

/** feed_take() - write records of the allocations and frees of @pid since the last call */
void feed_take(struct feed *f, pid_t pid, struct output *o);

/** feed_report() - print a summary; with @quiet, only losses */
void feed_report(const struct feed *f, bool quiet);

/** feed_close() - free the ring; processes started later do not use the library */
void feed_close(struct feed *f);

#endif /* WSMO_ALLOC_FEED_H */
