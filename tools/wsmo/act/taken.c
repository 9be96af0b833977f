// SPDX-License-Identifier: GPL-2.0
/*
 * taken.c - tracks paged-out memory, and how much of it came back
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

struct taken_block {
	__u64 addr;
	__u32 rule;
	struct resident last;
};

static int compare(const void *x, const void *y)
{
	const struct taken_block *a = x, *b = y;

	return COMPARE(a->addr, b->addr);
}

static int look(struct act_process *p, __u64 addr, struct resident *r)
{
	return process_resident(p, addr, addr + TAKEN_BLOCK, false, r);
}

void taken_note(struct taken *t, struct act_process *p, __u64 addr, __u32 rule)
{
	const struct taken_block key = { .addr = addr & ~(TAKEN_BLOCK - 1) };
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
	b->last = now;
}

void taken_look(struct taken *t, struct act_process *p, __u64 addr,
		__u64 *refaulted)
{
	const struct taken_block key = { .addr = addr & ~(TAKEN_BLOCK - 1) };
	struct taken_block *b = t->blocks.nr ? sorted_find(&t->blocks, &key) : NULL;

	if (b)
		update(b, p, refaulted);
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
		if (block[t->cursor].last.swapped)
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
