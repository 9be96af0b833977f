/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - how libwsmo-alloc.so, in the command's process, hands events to "wsmo record"
 *
 * Both map a memfd of sealed size: a page with struct alloc_ring, then ALLOC_RING_BYTES, a ring of
 * units. The command, and all that it executes, inherits the descriptor. The memory is allocated
 * before, so that no page fault there can fail.
 *
 * Writers are threads of one process. An event takes whole units. A writer moves @head forward to
 * reserve units, fills them, and writes the first word of the event, its tag, last. The tag is made
 * of the event's position in the ring, so that no older content has it. A writer that dies before
 * leaves units without a tag, which the reader skips after a while. Writers never wait: an event
 * without room is counted.
 */
#ifndef WSMO_ALLOC_RING_H
#define WSMO_ALLOC_RING_H

#include <linux/types.h>

/* Its descriptor and the recorder's pid, for libwsmo-alloc.so: "FD,PID" */
#define ALLOC_RING_ENV		"WSMO_ALLOC"

#define ALLOC_RING_MAGIC	0x31434f4c4c414d57ULL
#define ALLOC_RING_HEAD		4096
#define ALLOC_RING_BYTES	(4ULL << 20)
#define ALLOC_RING_UNIT		64ULL

/* Maximum number of calls of a stack */
#define ALLOC_FRAMES		64

/**
 * struct alloc_ring - its first page
 * @magic:	ALLOC_RING_MAGIC
 * @rate:	mean bytes from one sample to the next
 * @now_ns:	CLOCK_MONOTONIC when the reader was here last
 * @head:	bytes that writers have taken, a multiple of the unit
 * @lost:	number of events without room
 * @others:	number of other processes that have the library
 * @tail:	bytes that the reader is done with; the reader only writes it
 */
struct alloc_ring {
	__u64 magic;
	__u64 rate;
	__u64 now_ns;
	__u64 head __attribute__((aligned(64)));
	__u64 lost;
	__u64 others;
	__u64 tail __attribute__((aligned(64)));
};

/**
 * struct alloc_event - an event; only @nr of @pc are in the ring
 * @tag:	alloc_ring_tag() of its position
 * @time_ns:	CLOCK_MONOTONIC; that of the ring's @now_ns, except when a program begins
 * @kind:	WSMON_ALLOC_*
 * @nr:		number of calls
 * @addr, @size: @addr and @bytes of struct wsmon_rec_alloc
 * @cut:	the stack has more calls
 * @pc:		return addresses less one, innermost first
 */
struct alloc_event {
	__u64 tag;
	__u64 time_ns;
	__u32 kind;
	__u32 nr;
	__u64 addr;
	__u64 size;
	__u64 cut;
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
