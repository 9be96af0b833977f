/* SPDX-License-Identifier: GPL-2.0 */
/*
 * taken.h - memory that was paged out, and what of it has come back
 */
#ifndef WSMO_ACT_TAKEN_H
#define WSMO_ACT_TAKEN_H

#include "libwsmon/sorted.h"
#include "target.h"

/* Actions keep to blocks, so that no huge page is cut, and each is looked at whole */
#define TAKEN_BLOCK	(2ULL << 20)

/**
 * struct taken - blocks of a target that have pages in swap
 * @blocks:	struct taken_block
 * @cursor:	the next one to be looked at
 */
struct taken {
	struct sorted blocks;
	size_t cursor;
};

/**
 * taken_note() - a rule was applied to some of a block; remember how it is now
 * @addr:	any address in it
 */
void taken_note(struct taken *t, struct act_process *p, __u64 addr, __u32 rule);

/**
 * taken_look() - see what of a block came back since it was looked at last
 * @refaulted:	bytes, of each rule; it is added to
 */
void taken_look(struct taken *t, struct act_process *p, __u64 addr,
		__u64 *refaulted);

/**
 * taken_scan() - the same for the next blocks in turn, each at most once
 * @until_ns:	when to stop, by clock_now(); a few blocks are looked at anyway
 */
void taken_scan(struct taken *t, struct act_process *p, __u64 *refaulted,
		__u64 until_ns);

/** taken_clear() - forget all */
void taken_clear(struct taken *t);

#endif /* WSMO_ACT_TAKEN_H */
