/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_hintfault.h - the second sampler: hint faults, for the view "who"
 */
#ifndef WSMON_HINTFAULT_H
#define WSMON_HINTFAULT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/list.h>

#include "wsmon_sampler.h"

/* Slots of a session, a power of two; at most half of them are used at a time */
#define WSMON_WHO_BITS		14
#define WSMON_WHO_SLOTS		((u32)BIT(WSMON_WHO_BITS))
/* A page can use any of this many adjacent slots */
#define WSMON_WHO_WAYS		8U

/**
 * enum wsmon_who_state - the life of a slot
 * @WSMON_WHO_FREE:	not armed; kwsmond makes it ARMED
 * @WSMON_WHO_ARMED:	waits for a fault; a probe makes it BUSY, kwsmond makes it FREE
 * @WSMON_WHO_BUSY:	a probe writes to it and makes it SEEN, or ARMED again if the slot turns
 *			out to be for another page
 * @WSMON_WHO_SEEN:	a probe has noted a fault; kwsmond reports it and makes it FREE
 */
enum wsmon_who_state {
	WSMON_WHO_FREE,
	WSMON_WHO_ARMED,
	WSMON_WHO_BUSY,
	WSMON_WHO_SEEN,
};

/**
 * enum wsmon_hint - result of an attempt to arm a page
 * @WSMON_HINT_SET:	armed: the next access faults
 * @WSMON_HINT_ABSENT:	not changed: the page has no entry, so the next access faults anyway
 * @WSMON_HINT_HUGE:	not changed: the page is part of a huge page
 * @WSMON_HINT_BARRED:	not changed: see hint_vma_allowed(), hint_page_allowed(); or the page table
 *			could not be entered
 * @WSMON_HINT_TAKEN:	not changed: the next access faults anyway, because NUMA balancing or
 *			another session has armed the entry, or the page is swapped out
 */
enum wsmon_hint {
	WSMON_HINT_SET,
	WSMON_HINT_ABSENT,
	WSMON_HINT_HUGE,
	WSMON_HINT_BARRED,
	WSMON_HINT_TAKEN,
};

/**
 * struct wsmon_who_slot - a page that waits for a fault
 * @state:	enum wsmon_who_state
 * @hint:	enum wsmon_hint: SET, ABSENT or TAKEN
 * @mm:		the address space; struct wsmon_who holds a reference on it
 * @vpn:	page number in the address space
 * @target:	index of the target
 * @node:	NUMA node of the page; U32_MAX: unknown
 * @armed_ns:	when the page was armed
 * @pages:	pages of the target that this page stands for, in 1/256
 * @address:	set by the probe: the address accessed
 * @ip:		set by the probe: address of the instruction in user space
 * @seen_ns:	set by the probe: time of the fault
 * @tid:	set by the probe: thread id in @ns of struct wsmon_who
 * @cpu:	set by the probe: the processor
 * @flags:	set by the probe: WSMON_WHO_*
 * @comm:	set by the probe: the thread's name
 */
struct wsmon_who_slot {
	atomic_t state;
	u8 hint;
	struct mm_struct *mm;
	u64 vpn;
	u32 target;
	u32 node;
	u64 armed_ns;
	u64 pages;
	u64 address;
	u64 ip;
	u64 seen_ns;
	u32 tid;
	u32 cpu;
	u32 flags;
	char comm[WSMON_COMM_LEN];
};

/**
 * struct wsmon_who - the hint faults of a session
 * @node:	its place in the list that the probe reads
 * @watched:	@node is in this list, and the probe is attached (fault_lock)
 * @ns:		pid namespace of thread ids
 * @mm:		by target: the address space whose pages are armed, with a reference on
 *		mm_count; or NULL
 * @last_ns:	when pages were last armed
 * @rest_ns:	wsmon_who_round() does nothing before this time
 * @flush_ns:	how long the last flush took
 * @draws:	random numbers drawn so far
 * @live:	number of slots in use
 * @order:	scratch memory: slots, in the order of processing
 * @keys:	by slot: a hash of its mm and page, never 0; 0: the slot is not in use. The keys
 *		of all slots that a page can use are in one cache line
 * @slots:	the slots
 */
struct wsmon_who {
	struct list_head node;
	bool watched;
	struct pid_namespace *ns;
	struct mm_struct *mm[WSMON_MAX_TARGETS];
	u64 last_ns;
	u64 rest_ns;
	u64 flush_ns;
	u64 draws;
	u32 live;
	u32 order[WSMON_WHO_SLOTS];
	u64 keys[WSMON_WHO_SLOTS] ____cacheline_aligned;
	struct wsmon_who_slot slots[WSMON_WHO_SLOTS];
};

static inline u64 wsmon_who_key(const struct mm_struct *mm, u64 vpn)
{
	return wsmon_hash64((unsigned long)mm ^ wsmon_hash64(vpn)) | 1;
}

/* Return: the first slot that a page with this key can use. */
static inline u32 wsmon_who_place(u64 key)
{
	return (key >> (64 - WSMON_WHO_BITS)) & ~(WSMON_WHO_WAYS - 1);
}

/* wsmon_hintfault.c: the second sampler */
bool wsmon_who_possible(void);
int wsmon_who_begin(struct wsmon_session *ss);
void wsmon_who_end(struct wsmon_session *ss);
void wsmon_who_free(struct wsmon_session *ss);
void wsmon_who_round(struct wsmon_session *ss, u64 now);
void wsmon_who_leave(struct wsmon_session *ss);

#endif /* WSMON_HINTFAULT_H */
