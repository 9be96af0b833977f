// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_fresh.c - memory that was not there when the mappings were last read
 *
 * Pure: no mm, no allocation, no locks.
 *
 * No sample was waiting in memory that came to be during the interval. But
 * what is found accessed there at its end was accessed since the mappings were
 * last read, as before that there was nothing: a look at some of its pages
 * tells how much of it is in the working set. One page is drawn from each of
 * equal parts of it (Cochran, Sampling Techniques, 3rd ed. 1977, 5.3); the
 * binomial variance used is that or more.
 */
#include "wsmon_pure.h"

/**
 * struct new_pages - goes over the pages of one space that are not in another
 * @now:	the space
 * @then:	the other
 * @i:		extent of @now
 * @j:		extent of @then
 * @at:		next page in extent @i
 */
struct new_pages {
	const struct wsmon_space *now;
	const struct wsmon_space *then;
	u32 i;
	u32 j;
	u64 at;
};

/* The next pages [*start, *end), all in extent c->i. Return: are there any? */
static bool new_pages_next(struct new_pages *c, u64 *start, u64 *end)
{
	for (; c->i < c->now->nr_ext; c->i++) {
		const struct wsmon_extent *e = &c->now->ext[c->i];
		const struct wsmon_extent *old;

		c->at = max(c->at, e->start);
		while (c->at < e->end) {
			while (c->j < c->then->nr_ext &&
			       c->then->ext[c->j].end <= c->at)
				c->j++;
			old = c->j < c->then->nr_ext ? &c->then->ext[c->j] : NULL;
			if (old && old->start <= c->at) {
				c->at = old->end;
				continue;
			}
			*start = c->at;
			*end = old ? min(old->start, e->end) : e->end;
			c->at = *end;
			return true;
		}
	}
	return false;
}

/**
 * wsmon_fresh_draw - choose pages of new memory to look at
 * @f:		filled in, nothing seen yet
 * @now:	the space
 * @then:	the space as last read
 * @random:	what positions are drawn with
 *
 * O(extents of both).
 */
void wsmon_fresh_draw(struct wsmon_fresh *f, const struct wsmon_space *now,
		      const struct wsmon_space *then, u64 random)
{
	struct new_pages c = { .now = now, .then = then };
	u64 start = 0, end = 0, total = 0, base = 0, rank, lo, hi;
	u32 i, class;

	memset(f, 0, sizeof(*f));
	while (new_pages_next(&c, &start, &end)) {
		f->pages[now->ext[c.i].class] += end - start;
		total += end - start;
	}
	if (!total)
		return;

	f->nr = min_t(u64, total, WSMON_FRESH_MAX);
	c = (struct new_pages){ .now = now, .then = then };
	new_pages_next(&c, &start, &end);
	for (i = 0; i < f->nr; i++) {
		/* total < 2^45 */
		lo = total * i / f->nr;
		hi = total * (i + 1) / f->nr;
		rank = lo + mul_u64_u64_shr(wsmon_hash64(random + i), hi - lo, 64);
		while (rank - base >= end - start) {
			base += end - start;
			new_pages_next(&c, &start, &end);
		}
		class = now->ext[c.i].class;
		f->vpn[i] = start + rank - base;
		f->class[i] = class;
		f->drawn[class]++;
	}
}
