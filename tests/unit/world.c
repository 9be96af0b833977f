// SPDX-License-Identifier: GPL-2.0
/*
 * world.c - spaces and regions at random, for tests
 */
#include "world.h"

void world_init(struct world *w, u32 budget)
{
	memset(w, 0, sizeof(*w));
	w->rs.budget = budget;
	w->rs.limit = budget;
	w->rs.cap = budget + budget / 4 + 64;
	/* allocate no more than needed: sanitizers see a write beyond */
	w->rs.r = calloc(w->rs.cap, sizeof(*w->rs.r));
	w->rs.spare = calloc(w->rs.cap, sizeof(*w->rs.spare));
	w->now = 1;
}

void world_free(struct world *w)
{
	free(w->rs.r);
	free(w->rs.spare);
	free(w->sp.ext);
	free(w->sp.area);
}

static int map(struct world *w, u64 start, u64 end, u32 class, bool joined)
{
	struct wsmon_space *sp = &w->sp;
	int err = wsmon_space_add(sp, start, end, class, joined);

	if (err != -ENOSPC)
		return err;
	sp->cap = sp->cap ? sp->cap * 2 : 4;
	if (sp->cap > WSMON_MAX_EXTENTS)
		sp->cap = WSMON_MAX_EXTENTS;
	sp->ext = realloc(sp->ext, sp->cap * sizeof(*sp->ext));
	sp->area = realloc(sp->area, sp->cap * sizeof(*sp->area));
	return wsmon_space_add(sp, start, end, class, joined);
}

int world_map(struct world *w, u64 start, u64 end, u32 class)
{
	return map(w, start, end, class, false);
}

void world_unmap_all(struct world *w)
{
	w->sp.nr_ext = 0;
	w->sp.nr_area = 0;
}

/* Sizes of all magnitudes are equally likely */
static u64 magnitude(u64 max)
{
	u64 n = 1ULL << test_below(fls64(max));

	return min(n + test_below(n), max);
}

void world_map_random(struct world *w, u32 nr, u64 top)
{
	u64 at = test_below(2) ? 0 : test_below(top);
	u32 i, n = test_below(nr) + 1, class = WSMON_CLASS_ANON;

	world_unmap_all(w);
	for (i = 0; i < n && at < top; i++) {
		u64 size = magnitude(top / nr + 1);
		u64 end = min(top, at + size);

		if (i + 1 == n && !test_below(4))
			end = top;
		if (test_below(3))
			class = 1 + test_below(WSMON_NR_CLASSES - 2);
		/* some are parts of one mapping */
		map(w, at, end, class, i && test_below(2));
		at = end;
		if (test_below(3))
			at += magnitude(top / nr + 1);
	}
}

void world_settle(struct world *w, u64 epoch)
{
	u32 i;

	wsmon_space_group(&w->sp, max(w->rs.budget / 2, 1U));
	wsmon_regions_fit(&w->rs, &w->sp, w->now, 0);
	world_check(w);
	wsmon_regions_adapt(&w->rs, &w->sp, &w->ws);
	for (i = 0; i < w->rs.nr; i++) {
		if (!w->rs.r[i].armed_ns)
			wsmon_region_draw(&w->sp, &w->rs.r[i], wsmon_draw_key(7, epoch));
	}
}

void world_observe(struct world *w, bool (*touched)(const void *what, u64 vpn),
		   const void *what)
{
	u32 i, h;

	w->now++;
	for (i = 0; i < w->rs.nr; i++) {
		struct wsmon_region *r = &w->rs.r[i];
		u32 x[2] = { 0, 0 };

		for (h = 0; h < 2 && r->n[h]; h++) {
			x[h] = touched(what, r->s[h].vpn) ? WSMON_ONE : 0;
			r->out[0][h] = x[h];
		}
		r->known = 1;
		r->whole = 1;
		r->guess = 0;
		wsmon_region_observe(r, x, true, w->now);
		r->dropped = 1;
	}
}

void world_note(struct world *w)
{
	/* a window that each sample has served for */
	const struct wsmon_interval iv = { .now = w->now, .nr_windows = 1, .aggr_ns = 1 };
	u32 i;

	for (i = 0; i < w->rs.nr; i++)
		if (w->rs.r[i].draws <= 1)
			w->rs.r[i].times = 0;
	wsmon_regions_note(&w->rs, &iv);
	for (i = 0; i < w->rs.nr; i++)
		w->rs.r[i].dropped = 0;
}
