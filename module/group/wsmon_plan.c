// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_plan.c - in which members of a group its sample pages are looked at
 *
 * A sample of private memory is looked at in its member, one of an object in those members
 * that map it and whose rank is within the sample's reach (wsmon_reach.c). A member's rank
 * for a sample is the sum of a number of the member and one of the sample, modulo 1. So with
 * the parts of an object in the order of their members' numbers, these members are neighbours:
 * planning takes time for those that are looked at, not for all.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "wsmon_group.h"

#define VISIT_GFP	(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/* Visits of a share, regions looked at while planning them */
#define VISITS_MAX	65536U
#define STEPS_MAX	BIT(20)

/* Find the region with a page, or the first one above it. */
static u32 regions_search(const struct wsmon_regions *rs, u64 page)
{
	u32 lo = 0, hi = rs->nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (rs->r[mid].end <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Find the sample of a visit: its region, and its half. Return: is it still a sample? */
bool wsmon_visit_find_sample(const struct wsmon_regions *rs, const struct wsmon_visit *v,
			     u32 *i, u32 *h)
{
	*i = regions_search(rs, v->spot);
	if (*i == rs->nr)
		return false;
	for (*h = 0; *h < 2 && rs->r[*i].n[*h]; ++*h) {
		if (rs->r[*i].s[*h].vpn == v->spot)
			return true;
	}
	return false;
}

/* Let there be room for @nr elements. */
bool wsmon_visit_room(void **array, u32 *cap, u32 nr, size_t size)
{
	u32 larger = max(2 * *cap, 8U);
	void *new;

	if (nr <= *cap)
		return true;
	larger = max(larger, nr);
	new = kvmalloc_array(larger, size, VISIT_GFP);
	if (!new)
		return false;
	if (*cap)
		memcpy(new, *array, *cap * size);
	kvfree(*array);
	*array = new;
	*cap = larger;
	return true;
}

/* In address order */
int wsmon_visit_compare(const void *a, const void *b)
{
	const struct wsmon_visit *v = a, *w = b;

	/* sort() does not rest */
	if (need_resched())
		cond_resched();
	if (v->vpn != w->vpn)
		return v->vpn < w->vpn ? -1 : 1;
	return (int)v->kind - (int)w->kind;
}

/* The part of a sample in the ranks of members */
static u32 sample_turn(const struct wsmon_sample *sample)
{
	return wsmon_hash64(sample->vpn) >> 32;
}

static u32 part_rank(const struct wsmon_part *p, const struct wsmon_sample *sample)
{
	return p->share->rank + sample_turn(sample);
}

/* Samples that are armed already, in one share */

/*
 * Visits of a share being planned, in @visits of the group: @nr so far. @steps: regions looked
 * at, as a file may be mapped thousands of times
 */
struct visit_plan {
	struct wsmon_group *g;
	const struct wsmon_share *s;
	u32 nr;
	u32 steps;
};

static void plan_sample(struct visit_plan *p, const struct wsmon_region *r,
			const struct wsmon_sample *sample, u64 vpn, const struct wsmon_part *part)
{
	u32 rank = part ? part_rank(part, sample) : 0;

	if (rank > sample->reach || p->nr == VISITS_MAX ||
	    !wsmon_visit_room((void **)&p->g->visits, &p->g->cap_visits, p->nr + 1,
			      sizeof(*p->g->visits)))
		return;
	p->g->visits[p->nr++] = (struct wsmon_visit){
		.spot = sample->vpn,
		.vpn = vpn,
		.rank = rank,
		.kind = part ? part->kind : WSMON_PART_OWN,
		.op = WSMON_SAMPLE_LOOK,
		.looked_ns = p->s->since_ns,
		.absent = true,
	};
}

/* Plan visits of the samples from @start on, which the share has at @vpn. */
static void plan_range(struct visit_plan *p, u64 start, u64 pages, u64 vpn,
		       const struct wsmon_part *part)
{
	const struct wsmon_regions *rs = &p->g->regions;
	u32 i, h;

	for (i = regions_search(rs, start); i < rs->nr && rs->r[i].start < start + pages; i++) {
		if (p->nr == VISITS_MAX || p->steps++ == STEPS_MAX)
			return;
		for (h = 0; rs->r[i].armed_ns && h < 2 && rs->r[i].n[h]; h++) {
			u64 at = rs->r[i].s[h].vpn;

			if (at >= start && at < start + pages)
				plan_sample(p, &rs->r[i], &rs->r[i].s[h], vpn + at - start, part);
		}
	}
}

/* Let the planned visits go on that the share already has. Both are sorted. */
static void plan_keep_old(struct visit_plan *p)
{
	const struct wsmon_visit *old = p->s->visits, *end = old + p->s->nr_visits;
	u32 i;

	for (i = 0; i < p->nr && old < end; i++) {
		struct wsmon_visit *v = &p->g->visits[i];

		while (old < end && wsmon_visit_compare(old, v) < 0)
			old++;
		if (old < end && old->spot == v->spot && !wsmon_visit_compare(old, v)) {
			*v = *old;
			v->op = WSMON_SAMPLE_CHECK;
		}
	}
}

/**
 * wsmon_visit_plan - plan the visits of a share anew, because its mappings were read
 * @g:	the group
 * @s:	the share
 *
 * Only samples that are armed count. Visits that the share did not have yet are looks at bits
 * that were set since @s->since_ns.
 * Return: 0 or -ENOMEM, with nothing changed.
 */
int wsmon_visit_plan(struct wsmon_group *g, struct wsmon_share *s)
{
	struct visit_plan p = { .g = g, .s = s };
	u32 i;

	plan_range(&p, wsmon_slot_page(s->slot), WSMON_SLOT_PAGES, 0, NULL);
	for (i = 0; i < s->parts.nr; i++) {
		const struct wsmon_part *part = &s->parts.p[i];

		if (part->object && part->object->known)
			plan_range(&p, wsmon_slot_page(part->object->slot) + part->index,
				   part->pages, part->vpn, part);
		cond_resched();
	}
	sort(g->visits, p.nr, sizeof(*g->visits), wsmon_visit_compare, NULL);
	plan_keep_old(&p);
	if (!wsmon_visit_room((void **)&s->visits, &s->cap_visits, p.nr, sizeof(*s->visits)))
		return -ENOMEM;
	if (p.nr)
		memcpy(s->visits, g->visits, p.nr * sizeof(*s->visits));
	s->nr_visits = p.nr;
	return 0;
}

/* Samples that are to be armed, in all shares */

/* Plan a visit that arms a sample. If there is no room for it, the sample stays at rest. */
static void draw_visit(struct wsmon_share *s, struct wsmon_region *r,
		       const struct wsmon_sample *sample, u64 vpn, const struct wsmon_part *part)
{
	if (s->nr_visits == VISITS_MAX ||
	    !wsmon_visit_room((void **)&s->visits, &s->cap_visits, s->nr_visits + 1,
			      sizeof(*s->visits))) {
		r->last = 0;
		return;
	}
	s->visits[s->nr_visits++] = (struct wsmon_visit){
		.spot = sample->vpn,
		.vpn = vpn,
		.rank = part ? part_rank(part, sample) : 0,
		.kind = part ? part->kind : WSMON_PART_OWN,
		.op = WSMON_SAMPLE_ARM,
		.looked_ns = r->origin_ns,
		.absent = true,
	};
	s->drawn = true;
}

/* Find the part of an object with the lowest rank for a sample. */
static struct rb_node *object_first(const struct wsmon_object *o, const struct wsmon_sample *sample)
{
	struct rb_node *n = o->parts.rb_node, *found = NULL;
	u32 from = -sample_turn(sample);

	while (n) {
		if (rb_entry(n, struct wsmon_part, node)->share->rank >= from) {
			found = n;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return found ?: rb_first(&o->parts);
}

static void draw_object(const struct wsmon_object *o, struct wsmon_region *r,
			const struct wsmon_sample *sample)
{
	struct rb_node *n = object_first(o, sample);
	u64 index = sample->vpn - wsmon_slot_page(o->slot);
	u32 i;

	for (i = 0; i < o->mappers; i++) {
		const struct wsmon_part *p = rb_entry(n, struct wsmon_part, node);

		if (i % 1024 == 1023)
			cond_resched();
		if (part_rank(p, sample) > sample->reach)
			break;
		if (index - p->index < p->pages)
			draw_visit(p->share, r, sample, p->vpn + index - p->index, p);
		n = rb_next(n) ?: rb_first(&o->parts);
	}
}

static void draw_sample(struct wsmon_group *g, struct wsmon_region *r,
			const struct wsmon_sample *sample)
{
	const struct wsmon_object *o = wsmon_group_object(g, sample->vpn);
	struct wsmon_share *s;

	if (o) {
		draw_object(o, r, sample);
		return;
	}
	s = xa_load(&g->slots, wsmon_page_slot(sample->vpn));
	if (s && s->member)
		draw_visit(s, r, sample, sample->vpn - wsmon_slot_page(s->slot), NULL);
}

/* Forget visits of samples that were dropped. */
static void share_forget_dropped(struct wsmon_group *g, struct wsmon_share *s)
{
	u32 i, k, h, nr = 0;

	for (i = 0; i < s->nr_visits; i++) {
		if (!wsmon_visit_find_sample(&g->regions, &s->visits[i], &k, &h) ||
		    !g->regions.r[k].armed_ns)
			continue;
		s->visits[nr] = s->visits[i];
		s->visits[nr++].op = WSMON_SAMPLE_CHECK;
	}
	s->nr_visits = nr;
}

/**
 * wsmon_visit_draw - plan the visits of all samples that are at rest
 * @g:	the group, the samples of its regions drawn
 *
 * @drawn is set of shares that get some. @last of a region is cleared if it cannot be armed.
 */
void wsmon_visit_draw(struct wsmon_group *g)
{
	struct wsmon_share *s;
	u32 i, h;

	list_for_each_entry(s, &g->shares, node) {
		if (s->member)
			share_forget_dropped(g, s);
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		for (h = 0; !r->armed_ns && h < 2 && r->n[h]; h++)
			draw_sample(g, r, &r->s[h]);
		cond_resched();
	}
}

/**
 * wsmon_visit_undo - forget the visits of a share that arm samples, because it has no mm
 * @s:	the share
 */
void wsmon_visit_undo(struct wsmon_share *s)
{
	u32 i, nr = 0;

	for (i = 0; i < s->nr_visits; i++) {
		if (s->visits[i].op != WSMON_SAMPLE_ARM)
			s->visits[nr++] = s->visits[i];
	}
	s->nr_visits = nr;
}
