/* SPDX-License-Identifier: GPL-2.0 */
/*
 * feed.h - allocations of the command that "wsmo record --alloc" runs
 *
 * libwsmo-alloc.so samples them in the command's first process, whatever program it executes:
 * only its memory is watched region by region.
 */
#ifndef WSMO_ALLOC_FEED_H
#define WSMO_ALLOC_FEED_H

#include <stdbool.h>
#include <sys/types.h>

#include "output.h"

/* Mean bytes from one sample to the next */
#define FEED_RATE	(512 << 10)
#define FEED_RATE_MAX	(1ULL << 40)

/* How long events may stay in the ring, and how exact their times are */
#define FEED_NS		(50 * 1000000ULL)

struct alloc_ring;
struct alloc_event;

/**
 * struct feed - where events come from; all zero is none
 * @rate:	mean bytes from one sample to the next, 0 is none wanted
 * @ring:	shared with the processes, NULL if there is none
 * @fd:		its descriptor, until the command has it
 * @tail:	bytes of the ring that were read
 * @overwritten: the command has overwritten it
 * @event:	the event read last
 * @stuck_ns:	since when the next event has been incomplete, 0 if it is not
 * @stack:	hashes of the stacks written so far, and their numbers
 * @room:	number of entries there
 * @stacks:	number of entries used
 * @samples:	allocations written
 * @now_ns:	when the ring was looked at last
 * @time_ns:	of the last event: time does not go backwards
 * @begun:	the process runs with the library
 * @broken:	events that could not be read
 * @lost:	lost events that a record has reported
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
 * feed_open() - make the ring for the command that starts next, and set its environment
 * @cmd:	the command
 * @uid:	the user it will run as
 * Return: 0, or -1 after a message: also if the library cannot work in the command
 */
int feed_open(struct feed *f, const char *cmd, uid_t uid);

/** feed_started() - the command's process is there: restore the environment */
void feed_started(struct feed *f);

/** feed_take() - write records of the allocations and frees of @pid since the last call */
void feed_take(struct feed *f, pid_t pid, struct output *o);

/** feed_report() - print a summary; only losses if @quiet */
void feed_report(const struct feed *f, bool quiet);

/** feed_close() - no process starts with the library any more */
void feed_close(struct feed *f);

#endif /* WSMO_ALLOC_FEED_H */
