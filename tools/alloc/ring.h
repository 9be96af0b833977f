/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - ring buffer from libwsmo-alloc.so, in the command's process, to "wsmo record"
 *
 * Both map a memfd of sealed size: a page with struct alloc_ring, then a ring of ALLOC_RING_BYTES,
 * divided into units. The command and all programs that it executes inherit the descriptor. The
 * memory is allocated in advance, so that no page fault in it can fail.
 *
 * Writers are threads of one process. An event takes whole units. A writer moves @head forward to
 * reserve units, fills them, and writes the first word of the event, its tag, last. The tag depends
 * on the event's position, so that no older content of the ring equals it. If a writer dies before
 * it writes the tag, the reader skips its units after a while. Writers never wait: events without
 * room are only counted.
 */
#ifndef WSMO_ALLOC_RING_H
#define WSMO_ALLOC_RING_H

#include <linux/types.h>

/* Variable for libwsmo-alloc.so with the ring's descriptor and the recorder's pid: "FD,PID" */
#define ALLOC_RING_ENV		"WSMO_ALLOC"

#define ALLOC_RING_MAGIC	0x32434f4c4c414d57ULL
#define ALLOC_RING_HEAD		4096
#define ALLOC_RING_BYTES	(4ULL << 20)
#define ALLOC_RING_UNIT		64ULL

/* Maximum number of calls in a stack */
#define ALLOC_FRAMES		64

/**
 * struct alloc_ring - the first page of the memfd
 * @magic:	ALLOC_RING_MAGIC
 * @rate:	mean bytes from one sample to the next
 * @samples:	maximum number of live samples
 * @now_ns:	CLOCK_MONOTONIC at the reader's last visit
 * @head:	bytes that writers have reserved, a multiple of the unit
 * @lost:	number of events without room
 * @others:	number of other processes that loaded the library
 * @tail:	bytes that the reader has finished; only the reader writes it
 */
struct alloc_ring {
	__u64 magic;
	__u64 rate;
	__u64 samples;
	__u64 now_ns;
	__u64 head __attribute__((aligned(64)));
	__u64 lost;
	__u64 others;
	__u64 tail __attribute__((aligned(64)));
};

/**
 * struct alloc_event - an event; only @nr of @pc are in the ring
 * @tag:	alloc_ring_tag() of its position
 * @time_ns:	CLOCK_MONOTONIC when a program begins; @now_ns of the ring for other events
 * @kind:	WSMON_ALLOC_*
 * @nr:		number of calls
 * @addr, @size: @addr and @bytes of struct wsmon_rec_alloc
 * @cut:	the stack has more calls
 * @pc:		return addresses minus 1, innermost first
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

/* Get the tag of a position; no address of a program looks like a tag */
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
