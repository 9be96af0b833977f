// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_look.c - a group's looks at sample pages: in which members, and what they show
 *
 * A look, or visit, is at one sample page in one member. A sample of private memory is looked at
 * in its member. A sample of an object is looked at in the members that map the page and whose
 * rank for the sample is within its reach (wsmon_space.c). The rank is the sum of a number of the
 * member and a number of the sample, modulo 1. The parts of an object are ordered by the number of
 * their member, so the members within reach are neighbours: the time for planning grows with the
 * looks, not with all members.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sort.h>

#include "wsmon_group.h"

/**
 * wsmon_interval_describe - describe an interval from @begin_ns to @now
 * @ss:		the session
 * @begin_ns:	when it began
 * @now:	when it ends
 *
 * Return: the interval; fields that depend on the target or the group are 0.
 */
struct wsmon_interval wsmon_interval_describe(const struct wsmon_session *ss, u64 begin_ns,
					      u64 now)
{
	struct wsmon_interval iv = {
		.begin_ns = begin_ns,
		.now = now,
		.aggr_ns = wsmon_aggr_ns(ss),
		.slack_ns = wsmon_slack_ns(ss),
		.nr_windows = ss->mon->attrs.nr_windows,
		.epoch = ss->epoch,
	};
	u32 k;

	for (k = 0; k < iv.nr_windows; k++)
		iv.window_ns[k] = wsmon_window_ns(ss, k);
	wsmon_interval_edges(&iv, &ss->looks, &ss->ends);
	return iv;
}

/* Max. visits of a map, and max. regions examined while they are planned */
#define VISITS_MAX	65536U
#define STEPS_MAX	BIT(20)

/* Find the sample of a visit: region @i, half @h. Return: false if it is no sample any more. */
static bool visit_find_sample(const struct wsmon_regions *rs, const struct wsmon_visit *v,
			      u32 *i, u32 *h)
{
	*i = wsmon_regions_search(rs, v->spot);
	if (*i == rs->nr)
		return false;
	for (*h = 0; *h < 2 && rs->r[*i].n[*h]; ++*h) {
		if (rs->r[*i].s[*h].vpn == v->spot)
			return true;
	}
	return false;
}

/* Make room for @nr elements. Return: false if there is no memory, with nothing changed. */
static bool visit_room(void **array, u32 *cap, u32 nr, size_t size)
{
	u32 larger = max3(2 * *cap, 8U, nr);

	if (nr <= *cap)
		return true;
	if (!wsmon_array_resize(array, *cap, larger, size))
		return false;
	*cap = larger;
	return true;
}

/* Compare two visits for sorting by address. */
int wsmon_visit_compare(const void *a, const void *b)
{
	const struct wsmon_visit *v = a, *w = b;

	/* sort() does not reschedule */
	if (need_resched())
		cond_resched();
	if (v->vpn != w->vpn)
		return v->vpn < w->vpn ? -1 : 1;
	return (int)v->kind - (int)w->kind;
}

/* Return a sample's number in the sum that is a member's rank. */
static u32 sample_turn(const struct wsmon_sample *sample)
{
	return wsmon_hash64(sample->vpn) >> 32;
}

static u32 part_rank(const struct wsmon_part *p, const struct wsmon_sample *sample)
{
	return p->map->rank + sample_turn(sample);
}

/* Planning visits to samples that are armed already, in one map */

/*
 * The state of planning: @nr visits of map @s, in @visits of the group. @steps counts examined
 * regions and is limited, because a process may map a file thousands of times.
 */
struct visit_plan {
	struct wsmon_group *g;
	const struct wsmon_map *s;
	u32 nr;
	u32 steps;
};

static void plan_sample(struct visit_plan *p, const struct wsmon_region *r,
			const struct wsmon_sample *sample, u64 vpn, const struct wsmon_part *part)
{
	u32 rank = part ? part_rank(part, sample) : 0;

	if (rank > sample->reach || p->nr == VISITS_MAX ||
	    !visit_room((void **)&p->g->visits, &p->g->cap_visits, p->nr + 1,
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

/* Plan visits to the samples in @pages pages from @start on, which are at @vpn of the map. */
static void plan_range(struct visit_plan *p, u64 start, u64 pages, u64 vpn,
		       const struct wsmon_part *part)
{
	const struct wsmon_regions *rs = &p->g->regions;
	u32 i = wsmon_regions_search(rs, start), h;

	for (; i < rs->nr && rs->r[i].start < start + pages; i++) {
		if (p->nr == VISITS_MAX || p->steps >= STEPS_MAX)
			return;
		p->steps++;
		for (h = 0; rs->r[i].armed_ns && h < 2 && rs->r[i].n[h]; h++) {
			u64 at = rs->r[i].s[h].vpn;

			if (at >= start && at < start + pages)
				plan_sample(p, &rs->r[i], &rs->r[i].s[h], vpn + at - start, part);
		}
	}
}

/* Replace planned visits that the map already has by the old ones. Both arrays are sorted. */
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
 * wsmon_visit_plan - plan the visits of a map anew, because its mappings were read
 * @g:	the group
 * @s:	the map
 *
 * Plans visits to armed samples only. A visit that the map did not have before is a look at a
 * bit that was set since @s->since_ns.
 * Return: 0 or -ENOMEM, with nothing changed.
 */
int wsmon_visit_plan(struct wsmon_group *g, struct wsmon_map *s)
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
	if (!visit_room((void **)&s->visits, &s->cap_visits, p.nr, sizeof(*s->visits)))
		return -ENOMEM;
	if (p.nr)
		memcpy(s->visits, g->visits, p.nr * sizeof(*s->visits));
	s->nr_visits = p.nr;
	return 0;
}

/* Planning visits that arm samples, in all maps */

/* Plan a visit that arms a sample. If there is no room for it, the sample stays at rest. */
static void draw_visit(struct wsmon_map *s, struct wsmon_region *r,
		       const struct wsmon_sample *sample, u64 vpn, const struct wsmon_part *part)
{
	if (s->nr_visits == VISITS_MAX ||
	    !visit_room((void **)&s->visits, &s->cap_visits, s->nr_visits + 1,
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

/* Find the part of an object whose member has the lowest rank for a sample. */
static struct rb_node *object_first(const struct wsmon_object *o, const struct wsmon_sample *sample)
{
	struct rb_node *n = o->parts.rb_node, *found = NULL;
	u32 from = -sample_turn(sample);

	while (n) {
		if (rb_entry(n, struct wsmon_part, node)->map->rank >= from) {
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
			draw_visit(p->map, r, sample, p->vpn + index - p->index, p);
		n = rb_next(n) ?: rb_first(&o->parts);
	}
}

static void draw_sample(struct wsmon_group *g, struct wsmon_region *r,
			const struct wsmon_sample *sample)
{
	const struct wsmon_object *o = wsmon_group_object(g, sample->vpn);
	struct wsmon_map *s;

	if (o) {
		draw_object(o, r, sample);
		return;
	}
	s = wsmon_group_owner(g, sample->vpn);
	if (s && s->member)
		draw_visit(s, r, sample, sample->vpn - wsmon_slot_page(s->slot), NULL);
}

/* Forget visits to samples that were dropped. */
static void map_forget_dropped(struct wsmon_group *g, struct wsmon_map *s)
{
	u32 i, k, h, nr = 0;

	for (i = 0; i < s->nr_visits; i++) {
		wsmon_loop_resched(i);
		if (!visit_find_sample(&g->regions, &s->visits[i], &k, &h) ||
		    !g->regions.r[k].armed_ns)
			continue;
		s->visits[nr] = s->visits[i];
		s->visits[nr++].op = WSMON_SAMPLE_CHECK;
	}
	s->nr_visits = nr;
}

/**
 * wsmon_visit_draw - plan visits that arm the samples of all regions at rest
 * @g:	the group, the samples of its regions drawn
 *
 * Sets @drawn of each map that gets such visits. Clears @last of a region if a visit cannot be
 * planned.
 */
void wsmon_visit_draw(struct wsmon_group *g)
{
	struct wsmon_map *s;
	u32 i, h;

	list_for_each_entry(s, &g->maps, node) {
		if (s->member)
			map_forget_dropped(g, s);
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
 * wsmon_visit_undo - forget the visits of a map that arm samples, because its member has no mm
 * @s:	the map
 */
void wsmon_visit_undo(struct wsmon_map *s)
{
	u32 i, nr = 0;

	for (i = 0; i < s->nr_visits; i++) {
		if (s->visits[i].op != WSMON_SAMPLE_ARM)
			s->visits[nr++] = s->visits[i];
	}
	s->nr_visits = nr;
}

/*
 * Visits: looks at a group's sample pages in the members that map them
 *
 * Processes that share anonymous memory since a fork may have different page frames at the same
 * place. Each frame counts.
 */

/* Max. answers of a group */
#define ANSWERS_MAX	BIT(17)

/*
 * Tell whether a private page may be shared since a fork. @known: only objects that the group's
 * space has count
 */
static bool visit_is_family(const struct wsmon_map *s, u64 vpn, bool known)
{
	u32 lo = 0, hi = s->parts.nr;

	/* find the first part that begins above the page */
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (s->parts.p[mid].vpn <= vpn)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* a mapping may have a part of each kind: the part of the file comes first */
	if (lo) {
		const struct wsmon_part *p = &s->parts.p[lo - 1];

		return p->kind == WSMON_PART_FAMILY && vpn - p->vpn < p->pages && p->object &&
		       wsmon_object_counts(p->object) && (p->object->known || !known);
	}
	return false;
}

/*
 * Tell whether an access that a visit saw counts. The page may be of another kind than the visit
 * was planned for: a private file mapping may have an anonymous page, which another slot counts.
 * An anonymous page counts in the slot of the family if it may be shared since a fork, else in that
 * of its member.
 */
static bool visit_counts(const struct wsmon_map *s, const struct wsmon_visit *v, bool known)
{
	bool family;

	if (v->kind == WSMON_PART_FILE)
		return !v->found.anon;
	family = !v->found.exclusive && visit_is_family(s, v->vpn, known);
	return v->found.anon && family == (v->kind == WSMON_PART_FAMILY);
}

/*
 * Note the kind of entry in which a visit found its page. If the kernel has made the entry since
 * the last visit, its Accessed bit means nothing until it was cleared: see wsmon_regions.c. Rounds
 * cannot replace the lost observation, so the whole interval counts as not observed.
 */
static void visit_note_place(struct wsmon_visit *v, u64 now)
{
	if (!v->done || v->found.place == WSMON_PLACE_UNKNOWN)
		return;
	if (v->found.place == WSMON_PLACE_MADE && v->own && v->op != WSMON_SAMPLE_ARM) {
		v->made_ns = now;
		v->seen = false;
		v->own = v->op != WSMON_SAMPLE_CHECK;
		return;
	}
	v->own = v->found.place == WSMON_PLACE_OWN;
}

/**
 * wsmon_visit_arm - arm the visits that were planned
 * @ss:		the session
 * @s:		the map
 * @mm:		its mm, with a reference on mm_count
 * @now:	the time
 *
 * A bit that is found set in new memory counts as an access before the interval. Clears @last of a
 * region that could not be armed.
 */
void wsmon_visit_arm(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		     u64 now)
{
	struct wsmon_regions *rs = &ss->group->regions;
	u32 i, k, h;
	bool none = true;

	for (i = 0; i < s->nr_visits; i++)
		none &= s->visits[i].skip = s->visits[i].op != WSMON_SAMPLE_ARM;
	if (none)
		return;
	wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, false);
	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		wsmon_loop_resched(i);
		if (v->skip || !visit_find_sample(rs, v, &k, &h))
			continue;
		visit_note_place(v, now);
		v->absent = !v->found.mapped;
		if (!v->done) {
			rs->r[k].last = 0;
			s->again = true;
		} else if (v->seen && rs->r[k].origin_ns && visit_counts(s, v, true)) {
			v->frame = v->kind == WSMON_PART_FAMILY ? v->pfn : 0;
			v->seen_ns = wsmon_looks_last(&ss->looks);
		}
	}
}

/**
 * wsmon_visit_round - look at the samples of a map within an interval
 * @ss:		the session
 * @s:		the map, its visits in order
 * @mm:		its mm, with a reference on mm_count
 * @now:	the time
 *
 * Leaves Accessed bits set, so nothing is owed to reclaim, and other visits to the same page see
 * them, too. A page that cannot be looked at waits for the next round, or for the end of the
 * interval. A page that processes share since a fork is left to the end of the interval, because
 * the page frames of all members must be compared at the same time.
 */
void wsmon_visit_round(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		       u64 now)
{
	struct wsmon_regions *rs = &ss->group->regions;
	u32 i, k, h;

	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		wsmon_loop_resched(i);
		v->skip = v->kind == WSMON_PART_FAMILY ||
			  !visit_find_sample(rs, v, &k, &h) || !rs->r[k].armed_ns;
		if (!v->skip)
			v->op = WSMON_SAMPLE_LOOK;
	}
	wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, false);
	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		wsmon_loop_resched(i);
		if (!v->skip)
			visit_note_place(v, now);
		/* it may have been mapped by a fault near it: the end of the interval decides */
		if (!v->skip && v->done && v->seen && visit_counts(s, v, true) &&
		    !(v->found.around && v->found.text && v->absent))
			v->seen_ns = now;
	}
}

/**
 * wsmon_visit_check - look at the samples of a map at the end of an interval
 * @ss:		the session
 * @s:		the map
 * @mm:		its mm, with a reference on mm_count
 * @ended:	the member has ended: leave Accessed bits as they are
 * @now:	the time
 */
void wsmon_visit_check(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		       bool ended, u64 now)
{
	struct wsmon_regions *rs = &ss->group->regions;
	u32 i, k, h;

	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		wsmon_loop_resched(i);
		v->skip = !visit_find_sample(rs, v, &k, &h) || !rs->r[k].armed_ns;
		if (!v->skip)
			v->op = ended ? WSMON_SAMPLE_LOOK :
				rs->r[k].due ? WSMON_SAMPLE_DROP : WSMON_SAMPLE_CHECK;
	}
	s->again = false;
	wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, !ended);
	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		wsmon_loop_resched(i);
		if (v->skip || !visit_find_sample(rs, v, &k, &h))
			continue;
		if (!v->done) {
			rs->r[k].last = 0;
			s->again = true;
			continue;
		}
		visit_note_place(v, now);
		if (v->seen && visit_counts(s, v, true)) {
			v->vague = v->found.around && v->found.text && v->absent;
			v->frame = v->kind == WSMON_PART_FAMILY ? v->pfn : 0;
			v->seen_ns = now;
		}
		v->absent &= !v->seen;
		if (!v->found.none || v->absent || v->kind != WSMON_PART_OWN)
			continue;
		rs->r[k].went |= BIT(h);
		v->absent = true;
	}
}

/**
 * wsmon_visit_miss - note that a map could not be looked at
 * @g:	the group
 * @s:	the map
 *
 * Clears @last of the regions of its samples: it is unknown whether these were accessed.
 */
void wsmon_visit_miss(struct wsmon_group *g, const struct wsmon_map *s)
{
	u32 i, k, h;

	for (i = 0; i < s->nr_visits; i++) {
		wsmon_loop_resched(i);
		if (visit_find_sample(&g->regions, &s->visits[i], &k, &h))
			g->regions.r[k].last = 0;
	}
}

/* Learning from accesses that visits found */

static int answer_compare(const void *a, const void *b)
{
	const struct wsmon_answer *x = a, *y = b;

	/* there may be hundreds of thousands of answers, and sort() does not reschedule */
	if (need_resched())
		cond_resched();
	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/*
 * Collect the accesses that all visits found as answers, and sort these. A half is vague if all its
 * accesses may be faults on pages near it.
 * Return: number of answers.
 */
static u32 answers_collect(struct wsmon_group *g)
{
	struct wsmon_regions *rs = &g->regions;
	struct wsmon_map *s;
	u32 nr = 0, i, k, h;

	list_for_each_entry(s, &g->maps, node) {
		for (i = 0; i < s->nr_visits; i++) {
			const struct wsmon_visit *v = &s->visits[i];
			struct wsmon_region *r;

			wsmon_loop_resched(i);
			if (!(v->seen_ns | v->made_ns) || !visit_find_sample(rs, v, &k, &h))
				continue;
			r = &rs->r[k];
			if (v->made_ns) {
				r->made_ns[h] = max(r->made_ns[h], v->made_ns);
				r->blind |= BIT(h);
			}
			if (!v->seen_ns)
				continue;
			if (nr == ANSWERS_MAX ||
			    !visit_room((void **)&g->answers, &g->cap_answers, nr + 1,
					sizeof(*g->answers))) {
				r->last = 0;
				continue;
			}
			g->answers[nr++] = (struct wsmon_answer){
				2 * k + h, v->rank, v->frame, v->seen_ns, max(v->times, 1U)
			};
			if (v->vague && !r->s[h].seen_ns)
				r->vague |= BIT(h);
			else if (!v->vague)
				r->vague &= ~BIT(h);
			r->s[h].seen_ns = max(r->s[h].seen_ns, v->seen_ns);
			r->hits++;
		}
		cond_resched();
	}
	sort(g->answers, nr, sizeof(*g->answers), answer_compare, NULL);
	return nr;
}

/* Weigh the accesses within window @k. For each frame, the member with the lowest rank counts. */
static void answers_weigh(struct wsmon_group *g, const struct wsmon_interval *iv, u32 k, u32 nr)
{
	const u32 max_out = WSMON_WEIGHT_MAX * WSMON_ONE;
	const struct wsmon_answer *last = NULL;
	u32 i, part;

	for (i = 0; i < nr; i++) {
		const struct wsmon_answer *a = &g->answers[i];
		struct wsmon_region *r = &g->regions.r[a->sample / 2];
		u32 h = a->sample % 2;

		wsmon_loop_resched(i);
		/* each mapping of a page that KSM merged counts, as 1 / @times of the page */
		if (last && last->sample == a->sample && last->frame == a->frame && a->times == 1)
			continue;
		part = wsmon_seen_share(iv, a->seen_ns, k);
		if (r->stale || !wsmon_region_answers(r, iv, k) || !part)
			continue;
		/* wsmon_regions_learn() has set the weight to 1: begin the sum over frames */
		if (!last || last->sample != a->sample)
			r->out[k][h] = 0;
		r->out[k][h] = min_t(u64, max_out, r->out[k][h] +
				     ((u64)wsmon_sample_weight(&r->s[h], a->rank) * part >>
				      WSMON_SHIFT) / a->times);
		last = a;
	}
}

/**
 * wsmon_visit_learn - update the regions from the accesses that all visits found
 * @g:	the group, all visits checked
 * @iv:	the interval
 */
void wsmon_visit_learn(struct wsmon_group *g, const struct wsmon_interval *iv)
{
	u32 nr = answers_collect(g), i, k;

	for (i = 0; i < g->regions.nr; i++) {
		wsmon_loop_resched(i);
		g->regions.r[i].checks = g->regions.r[i].n[1] ? 2 : 1;
	}
	wsmon_regions_learn(&g->regions, iv, false);
	for (k = 0; k < iv->nr_windows; k++) {
		answers_weigh(g, iv, k, nr);
		cond_resched();
	}
}

/*
 * Count a look at a page of new memory. If older memory was made huge together with the new, then
 * the samples of the older memory may have cleared the bit: how much was accessed is not known.
 * Return: whether the page counts as accessed.
 */
static bool fresh_count(struct wsmon_fresh *f, const struct wsmon_visit *v, u32 class)
{
	bool cleared = !v->seen && v->found.place == WSMON_PLACE_MADE;

	if (!v->seen && !cleared)
		return false;
	f->seen[class]++;
	f->vague[class] += v->found.around || cleared;
	return true;
}

/**
 * wsmon_visit_new - look at pages of a target's new memory
 * @ss:	the session
 * @mm:	the target's mm, with a reference on mm_count
 * @f:	the pages; @seen and @vague count those that were accessed
 * @since: the memory did not exist before this time
 *
 * Changes no page-table entry. If the mmap lock stays busy, the classes of the remaining
 * pages count as not sampled, because the pages that were looked at do not represent the class.
 */
void wsmon_visit_new(struct wsmon_session *ss, struct mm_struct *mm, struct wsmon_fresh *f,
		     u64 since)
{
	u32 i;

	for (i = 0; i < f->nr; i++)
		ss->visits[i] = (struct wsmon_visit){
			.vpn = f->vpn[i],
			.op = WSMON_SAMPLE_LOOK,
			.looked_ns = since,
		};
	wsmon_walk_visits(ss, NULL, mm, ss->visits, f->nr, false);
	for (i = 0; i < f->nr; i++) {
		const struct wsmon_visit *v = &ss->visits[i];
		u32 class = f->class[i];

		if (!v->done)
			f->drawn[class] = 0;
		else
			fresh_count(f, v, class);
	}
}

/*
 * Plan looks at new memory in @pages pages from @start on, which are at @vpn of a map.
 * @nr: number of looks so far. Return: the new number.
 */
static u32 fresh_plan(struct wsmon_session *ss, const struct wsmon_fresh *f, u32 nr,
		      const unsigned long *seen, u64 start, u64 pages, u64 vpn, u8 kind,
		      u64 since)
{
	u32 lo = 0, hi = f->nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (f->vpn[mid] < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < f->nr && f->vpn[lo] - start < pages && nr < WSMON_FRESH_MAX; lo++) {
		if (test_bit(lo, seen))
			continue;
		ss->visits[nr++] = (struct wsmon_visit){
			.spot = lo,
			.vpn = vpn + f->vpn[lo] - start,
			.looked_ns = since,
			.kind = kind,
			.op = WSMON_SAMPLE_LOOK,
		};
	}
	return nr;
}

/**
 * wsmon_visit_fresh - look at pages of new memory in a map
 * @ss:		the session
 * @s:		the map
 * @mm:		its mm, with a reference on mm_count
 * @f:		the pages; @seen and @vague count those that were accessed
 * @seen:	bitmap of pages of @f that a look in any map found accessed; WSMON_FRESH_MAX bits
 * @alone:	true: @f is private memory of this map, numbered as in its address space;
 *		false: @f is new memory of the group
 *
 * Changes no page-table entry. Skips memory that processes share since a fork: it is not new.
 */
void wsmon_visit_fresh(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		       struct wsmon_fresh *f, unsigned long *seen, bool alone)
{
	u64 since = alone ? s->since_ns : ss->group->interval_ns;
	u32 i, nr;

	nr = fresh_plan(ss, f, 0, seen, alone ? 0 : wsmon_slot_page(s->slot), WSMON_SLOT_PAGES,
			0, WSMON_PART_OWN, since);
	for (i = 0; !alone && i < s->parts.nr; i++) {
		const struct wsmon_part *p = &s->parts.p[i];

		if (p->object && p->object->known && p->kind == WSMON_PART_FILE)
			nr = fresh_plan(ss, f, nr, seen,
					wsmon_slot_page(p->object->slot) + p->index,
					p->pages, p->vpn, WSMON_PART_FILE, since);
	}
	sort(ss->visits, nr, sizeof(*ss->visits), wsmon_visit_compare, NULL);
	wsmon_walk_visits(ss, s->member, mm, ss->visits, nr, false);
	for (i = 0; i < nr; i++) {
		const struct wsmon_visit *v = &ss->visits[i];
		u32 class = f->class[v->spot];

		if (!v->done) {
			f->drawn[class] = 0;
		} else if (!test_bit(v->spot, seen) && visit_counts(s, v, false) &&
			   fresh_count(f, v, class)) {
			__set_bit(v->spot, seen);
		}
	}
}
