/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - how libwsmo-alloc.so, in the processes, hands events to "wsmo record"
 *
 * A file that all of them map: a page with struct alloc_ring, then ALLOC_RING_BYTES, a ring of
 * units. An event begins at a unit and takes as many as it needs. Writers move @head forward
 * to get theirs, fill them, and write the event's first word, its tag, last: it says at which
 * position of the ring the event is, which nothing older there does. A writer that dies before
 * leaves units without a tag, which the reader skips after a while. Writers never wait: what
 * finds no room is counted.
 */
#ifndef WSMO_ALLOC_RING_H
#define WSMO_ALLOC_RING_H

#include <linux/types.h>

/* What names the file to libwsmo-alloc.so */
#define ALLOC_RING_ENV		"WSMO_ALLOC"

#define ALLOC_RING_MAGIC	0x31434f4c4c414d57ULL
#define ALLOC_RING_HEAD		4096
#define ALLOC_RING_BYTES	(4ULL << 20)
#define ALLOC_RING_UNIT		64ULL

/* Max. calls of a stack */
#define ALLOC_FRAMES		64

/**
 * struct alloc_ring - its first page
 * @magic:	ALLOC_RING_MAGIC
 * @rate:	mean bytes from one sample to the next
 * @head:	bytes that writers have taken, a multiple of the unit
 * @lost:	events that found no room
 * @tail:	bytes that the reader is done with
 */
struct alloc_ring {
	__u64 magic;
	__u64 rate;
	__u64 head __attribute__((aligned(64)));
	__u64 lost;
	__u64 tail __attribute__((aligned(64)));
};

/**
 * struct alloc_event - what happened; @nr of @pc are in the ring
 * @tag:	alloc_ring_tag() of its position
 * @time_ns:	CLOCK_MONOTONIC
 * @pid:	of the process
 * @kind:	WSMON_ALLOC_*
 * @addr, @size: @addr and @bytes of struct wsmon_rec_alloc
 * @nr:		calls
 * @cut:	there were more
 * @pc:		return addresses less one, innermost first
 */
struct alloc_event {
	__u64 tag;
	__u64 time_ns;
	__u32 pid;
	__u32 kind;
	__u64 addr;
	__u64 size;
	__u32 nr;
	__u32 cut;
	__u64 pc[ALLOC_FRAMES];
};

/* No address of a program looks like this */
static inline __u64 alloc_ring_tag(__u64 position)
{
	return 0x5a5aULL << 48 | (position / ALLOC_RING_UNIT & ((1ULL << 48) - 1));
}

static inline __u64 alloc_event_size(__u32 nr)
{
	__u64 size = __builtin_offsetof(struct alloc_event, pc) + 8ULL * nr;

	return (size + ALLOC_RING_UNIT - 1) & -ALLOC_RING_UNIT;
}

#endif /* WSMO_ALLOC_RING_H */
