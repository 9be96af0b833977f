/* SPDX-License-Identifier: GPL-2.0 */
/*
 * taken.h - tracks paged-out memory, and what of it came back
 */
#ifndef WSMO_ACT_TAKEN_H
#define WSMO_ACT_TAKEN_H

#include "libwsmon/sorted.h"
#include "target.h"

/**
 * struct taken - blocks of a target that have, or had a while ago, pages in swap
 * @blocks:	struct taken_block
 * @cursor:	the next one to look at
 */
struct taken {
	struct sorted blocks;
	size_t cursor;
};

/**
 * taken_note() - remember a block after a rule was applied to it
 * @addr:	any address in it
 */
void taken_note(struct taken *t, struct act_process *p, __u64 addr, __u32 rule);

/**
 * taken_look() - count what came back of a block since the last look
 * @refaulted:	bytes of each rule, added to
 */
void taken_look(struct taken *t, struct act_process *p, __u64 addr,
		__u64 *refaulted);

/**
 * taken_back() - find which pages of a block came back in the last minutes
 *
 * Evidence is about ranges. If pages of one are used unequally, these are the ones that were
 * taken wrongly.
 *
 * @addr:	any address in it
 * Return: a bit each, or NULL if there are none
 */
const __u64 *taken_back(const struct taken *t, __u64 addr);

/**
 * taken_scan() - the same for all blocks in turn, each at most once
 * @until_ns:	when to stop, after a few blocks (CLOCK_MONOTONIC)
 */
void taken_scan(struct taken *t, struct act_process *p, __u64 *refaulted,
		__u64 until_ns);

/** taken_clear() - forget all blocks */
void taken_clear(struct taken *t);

#endif /* WSMO_ACT_TAKEN_H */
