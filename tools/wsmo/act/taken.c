// SPDX-License-Identifier: GPL-2.0
/*
 * taken.c - tracks paged-out memory, and what of it came back
 *
 * A page that was in swap and is now mapped has been faulted back. A page that is
 * neither was unmapped or dropped by its owner.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "taken.h"
#include "libwsmon/util.h"

#define BLOCKS_MAX	(1 << 20)	/* 2 TiB */
#define BLOCKS_A_SCAN	64		/* looks between two at the clock */

/* Pages that came back are left alone for this long */
#define BACK_FOR	(300 * NSEC_PER_SEC)

/**
 * struct taken_block - what is known of a block
 * @addr:	its address
 * @rule:	the one that was last applied to it
 * @last:	what was in memory and in swap at the last look
 * @back:	pages that came back, a bit each
 * @back_ns:	when the first of them did, 0 if there are none
 */
struct taken_block {
	__u64 addr;
	__u32 rule;
	struct resident last;
	__u64 back[ACT_BLOCK_WORDS];
	__u64 back_ns;
};

static int compare(const void *x, const void *y)
{
	const struct taken_block *a = x, *b = y;

	return COMPARE(a->addr, b->addr);
}

static int look(struct act_process *p, __u64 addr, struct resident *r)
{
	return process_resident(p, addr, addr + ACT_BLOCK, false, r);
}

void taken_note(struct taken *t, struct act_process *p, __u64 addr, __u32 rule)
{
	const struct taken_block key = { .addr = addr & ~(ACT_BLOCK - 1) };
	struct taken_block *b;
	struct resident now;

	if (!t->blocks.size)
		t->blocks = (struct sorted) {
			.size = sizeof(*b), .max = BLOCKS_MAX,
			.compare = compare,
		};
	if (look(p, key.addr, &now) || !now.swapped)
		return;
	b = sorted_get(&t->blocks, &key);
	if (!b)
		return;
	b->rule = rule;
	b->last = now;
}

/* The bits of pages that are in swap no more, until all are forgotten together */
static void note_back(struct taken_block *b, const struct resident *now)
{
	__u64 ns = clock_now(), any = 0;
	size_t i;

	if (b->back_ns && ns - b->back_ns > BACK_FOR) {
		memset(b->back, 0, sizeof(b->back));
		b->back_ns = 0;
	}
	for (i = 0; i < ACT_BLOCK_WORDS; i++) {
		b->back[i] |= b->last.out[i] & ~now->out[i];
		any |= b->back[i];
	}
	if (any && !b->back_ns)
		b->back_ns = ns;
}

static void update(struct taken_block *b, struct act_process *p,
		   __u64 *refaulted)
{
	struct resident now;
	__u64 in, back;

	if (look(p, b->addr, &now))
		return;
	in = now.bytes > b->last.bytes ? now.bytes - b->last.bytes : 0;
	back = b->last.swapped > now.swapped ? b->last.swapped - now.swapped : 0;
	refaulted[b->rule] += in < back ? in : back;
	note_back(b, &now);
	b->last = now;
}

void taken_look(struct taken *t, struct act_process *p, __u64 addr,
		__u64 *refaulted)
{
	const struct taken_block key = { .addr = addr & ~(ACT_BLOCK - 1) };
	struct taken_block *b = t->blocks.nr ? sorted_find(&t->blocks, &key) : NULL;

	if (b)
		update(b, p, refaulted);
}

const __u64 *taken_back(const struct taken *t, __u64 addr)
{
	const struct taken_block key = { .addr = addr & ~(ACT_BLOCK - 1) };
	const struct taken_block *b = t->blocks.nr ? sorted_find(&t->blocks, &key) : NULL;

	return b && b->back_ns ? b->back : NULL;
}

void taken_scan(struct taken *t, struct act_process *p, __u64 *refaulted,
		__u64 until_ns)
{
	struct taken_block *block = t->blocks.base;
	size_t i, nr = t->blocks.nr;

	for (i = 0; i < nr; i++) {
		if (i && i % BLOCKS_A_SCAN == 0 && clock_now() > until_ns)
			break;
		if (t->cursor >= t->blocks.nr)
			t->cursor = 0;
		update(&block[t->cursor], p, refaulted);
		if (block[t->cursor].last.swapped || block[t->cursor].back_ns)
			t->cursor++;
		else
			sorted_remove(&t->blocks, &block[t->cursor]);
	}
}

void taken_clear(struct taken *t)
{
	free(t->blocks.base);
	memset(t, 0, sizeof(*t));
}
