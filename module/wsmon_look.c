// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_look.c - a group's looks at sample pages: in which members, and what they show
 *
 * A sample of private memory is looked at in its member, one of an object in those members
 * that map it and whose rank is within the sample's reach (wsmon_space.c). A member's rank
 * for a sample is the sum of a number of the member and one of the sample, modulo 1. So with
 * the parts of an object in the order of their members' numbers, these members are neighbours:
 * planning takes time for those that are looked at, not for all.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
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
static bool visit_find_sample(const struct wsmon_regions *rs, const struct wsmon_visit *v,
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
static bool visit_room(void **array, u32 *cap, u32 nr, size_t size)
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
	if (!visit_room((void **)&s->visits, &s->cap_visits, p.nr, sizeof(*s->visits)))
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
		if (!visit_find_sample(&g->regions, &s->visits[i], &k, &h) ||
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

/*
 * Looks at a group's sample pages in the members that map them
 *
 * A sample of private memory is looked at in its member, one of an object in those members
 * that map it and whose rank is within the sample's reach (wsmon_look.c). Of anonymous memory
 * that processes share since a fork, members may have different page frames at the same place;
 * each counts.
 */

/* Answers of a group */
#define ANSWERS_MAX	BIT(17)

/* Walking */

/* May a private page be shared since a fork? @known: count only what the group's space has */
static bool visit_is_family(const struct wsmon_share *s, u64 vpn, bool known)
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
	/* of a mapping that has both, anonymous memory comes after the file */
	if (lo) {
		const struct wsmon_part *p = &s->parts.p[lo - 1];

		return p->kind == WSMON_PART_FAMILY && vpn - p->vpn < p->pages && p->object &&
		       wsmon_object_counts(p->object) && (p->object->known || !known);
	}
	return false;
}

/*
 * Does what was seen count? The page may be of another kind than the mapping. An anonymous page
 * counts in the slot of its member, or in that of the family: which, the same question decides.
 */
static bool visit_counts(const struct wsmon_share *s, const struct wsmon_visit *v, bool known)
{
	bool family;

	if (v->kind == WSMON_PART_FILE)
		return !v->anon;
	family = !v->exclusive && visit_is_family(s, v->vpn, known);
	return v->anon && family == (v->kind == WSMON_PART_FAMILY);
}

/*
 * Note in what entry a visit found its page. If the kernel has made that since the last visit, its
 * bit means nothing until it was cleared: see wsmon_regions.c. Rounds are not for knowing what was
 * accessed before, so all of the interval is lost.
 */
static void visit_note_place(struct wsmon_visit *v, u64 now)
{
	if (!v->done || v->place == WSMON_PLACE_UNKNOWN)
		return;
	if (v->place == WSMON_PLACE_MADE && v->own && v->op != WSMON_SAMPLE_ARM) {
		v->made_ns = now;
		v->seen = false;
		v->own = v->op != WSMON_SAMPLE_CHECK;
		return;
	}
	v->own = v->place == WSMON_PLACE_OWN;
}

/**
 * wsmon_visit_arm - arm the visits that were planned
 * @ss:		the session
 * @s:		the share
 * @mm:		its mm, with a reference on mm_count
 * @now:	the time
 *
 * A bit found set in new memory is an access before the interval. @last of a region that is not
 * armed is cleared.
 */
void wsmon_visit_arm(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
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

		if (v->skip || !visit_find_sample(rs, v, &k, &h))
			continue;
		visit_note_place(v, now);
		v->absent = !v->mapped;
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
 * visit_round - look at the samples of a share within an interval
 * @ss:		the session
 * @s:		the share, its visits in order
 * @mm:		its mm, with a reference on mm_count
 * @now:	the time
 *
 * Bits stay set, so nothing is owed to reclaim, and other visits to the same page see them, too.
 * What cannot be looked at is left to the next round, or to the end of the interval. So are pages
 * that processes share since a fork: their frames must be compared at one time.
 */
static void visit_round(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
			u64 now)
{
	struct wsmon_regions *rs = &ss->group->regions;
	u32 i, k, h;

	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		v->skip = v->kind == WSMON_PART_FAMILY ||
			  !visit_find_sample(rs, v, &k, &h) || !rs->r[k].armed_ns;
		if (!v->skip)
			v->op = WSMON_SAMPLE_LOOK;
	}
	wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, false);
	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		if (!v->skip)
			visit_note_place(v, now);
		/* what may be a fault near it is judged once, when the interval ends */
		if (!v->skip && v->done && v->seen && visit_counts(s, v, true) &&
		    !(v->around && v->text && v->absent))
			v->seen_ns = now;
	}
}

/**
 * wsmon_visit_check - look at the samples of a share at the end of an interval
 * @ss:		the session
 * @s:		the share
 * @mm:		its mm, with a reference on mm_count
 * @ended:	the member has ended: bits stay
 * @now:	the time
 */
void wsmon_visit_check(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
		       bool ended, u64 now)
{
	struct wsmon_regions *rs = &ss->group->regions;
	u32 i, k, h;

	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		v->skip = !visit_find_sample(rs, v, &k, &h) || !rs->r[k].armed_ns;
		if (!v->skip)
			v->op = ended ? WSMON_SAMPLE_LOOK :
				rs->r[k].due ? WSMON_SAMPLE_DROP : WSMON_SAMPLE_CHECK;
	}
	s->again = false;
	wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, !ended);
	for (i = 0; i < s->nr_visits; i++) {
		struct wsmon_visit *v = &s->visits[i];

		if (v->skip || !visit_find_sample(rs, v, &k, &h))
			continue;
		if (!v->done) {
			rs->r[k].last = 0;
			s->again = true;
			continue;
		}
		visit_note_place(v, now);
		if (v->seen && visit_counts(s, v, true)) {
			v->vague = v->around && v->text && v->absent;
			v->frame = v->kind == WSMON_PART_FAMILY ? v->pfn : 0;
			v->seen_ns = now;
		}
		v->absent &= !v->seen;
		if (!v->none || v->absent || v->kind != WSMON_PART_OWN)
			continue;
		rs->r[k].went |= BIT(h);
		v->absent = true;
	}
}

/**
 * visit_miss - note that a share could not be looked at
 * @g:	the group
 * @s:	the share
 *
 * What its samples saw is not known: @last of their regions is cleared.
 */
static void visit_miss(struct wsmon_group *g, const struct wsmon_share *s)
{
	u32 i, k, h;

	for (i = 0; i < s->nr_visits; i++) {
		if (visit_find_sample(&g->regions, &s->visits[i], &k, &h))
			g->regions.r[k].last = 0;
	}
}

/* What the visits saw */

static int answer_compare(const void *a, const void *b)
{
	const struct wsmon_answer *x = a, *y = b;

	/* there may be hundreds of thousands, and sort() does not rest */
	if (need_resched())
		cond_resched();
	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/*
 * Collect what all visits have seen, sorted. A half whose accesses may all be faults on
 * pages near it is vague.
 * Return: number of answers.
 */
static u32 answers_collect(struct wsmon_group *g)
{
	struct wsmon_regions *rs = &g->regions;
	struct wsmon_share *s;
	u32 nr = 0, i, k, h;

	list_for_each_entry(s, &g->shares, node) {
		for (i = 0; i < s->nr_visits; i++) {
			const struct wsmon_visit *v = &s->visits[i];
			struct wsmon_region *r;

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

/* Weigh what was seen within a window: of each frame the lowest rank counts. */
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
		/* of a page that KSM merged, each mapping is a part */
		if (last && last->sample == a->sample && last->frame == a->frame && a->times == 1)
			continue;
		part = wsmon_seen_share(iv, a->seen_ns, k);
		if (r->stale || !wsmon_region_answers(r, iv, k) || !part)
			continue;
		/* wsmon_regions_learn() has set it to 1 */
		if (!last || last->sample != a->sample)
			r->out[k][h] = 0;
		r->out[k][h] = min_t(u64, max_out, r->out[k][h] +
				     ((u64)wsmon_sample_weight(&r->s[h], a->rank) * part >>
				      WSMON_SHIFT) / a->times);
		last = a;
	}
}

/**
 * visit_learn - update the regions from what all visits saw
 * @g:	the group, all visits checked
 * @iv:	the interval
 */
static void visit_learn(struct wsmon_group *g, const struct wsmon_interval *iv)
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

/**
 * wsmon_visit_new - look at pages of a target's new memory
 * @ss:	the session
 * @mm:	the target's mm, with a reference on mm_count
 * @f:	the pages; also the result
 * @since: a time before which the memory did not exist
 *
 * Changes no page-table entry. If the mmap lock stays busy, the classes of the remaining
 * pages count as not sampled: those that were looked at do not represent all.
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
		f->seen[class] += v->done && v->seen;
		f->vague[class] += v->done && v->seen && v->around;
	}
}

/* Plan looks at the pages of new memory from @start on, which a share has at @vpn. */
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
 * wsmon_visit_fresh - look at pages of new memory in a share
 * @ss:		the session
 * @s:		the share
 * @mm:		its mm, with a reference on mm_count
 * @f:		the pages; also the result
 * @seen:	bitmap: those of @f that were seen already; WSMON_FRESH_MAX bits
 * @alone:	@f is private memory of this share, numbered as in its address space;
 *		else it is new memory of the group
 *
 * Changes no page-table entry. What processes share since a fork is not new.
 */
void wsmon_visit_fresh(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
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
		} else if (v->seen && !test_bit(v->spot, seen) && visit_counts(s, v, false)) {
			__set_bit(v->spot, seen);
			f->seen[class]++;
			f->vague[class] += v->around;
		}
	}
}

/*
 * The end of a group's aggregation interval: wsmon_group.c says what it does
 */

/* The samples of a member that sleeps are drawn again after this many intervals */
#define SLEEP_TURNS	8U

/*
 * If CPU time is short, so are those of what more than this many members map, whether these
 * sleep or not: to arm such a sample in all of them is most of its cost
 */
#define CROWD		64U

/* Mappings that seem not to have changed are read again after this many update_us */
#define REREAD	8U

/*
 * Tell whether mappings may be read: that takes at most half of the CPU budget, or all of it
 * for those that were left out the last time.
 */
static bool group_may_read(const struct wsmon_session *ss, const struct wsmon_share *s)
{
	u64 budget = div64_u64(wsmon_aggr_ns(ss) * ss->cpu_permille, 2000);

	return !s->read || ss->group->reading_ns < (s->left_out ? 2 * budget : budget);
}

/*
 * Read the mappings of a share if they changed. If that has to wait, what grew meanwhile is
 * not known.
 */
static void share_update(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
			 u64 now)
{
	struct wsmon_group *g = ss->group;
	u64 start = ktime_get_ns(), rss = get_mm_rss(mm), known = s->known_ns;
	bool first = !s->read;

	if (!first && s->stamp == wsmon_vaddr_stamp(mm) &&
	    now - s->read_ns < REREAD * ss->mon->attrs.update_us * NSEC_PER_USEC) {
		s->known_ns = now;
		return;
	}
	s->left_out = !group_may_read(ss, s) || wsmon_share_read(ss, s, mm, now);
	g->reading_ns += ktime_get_ns() - start;
	if (s->left_out) {
		g->blind += rss > s->rss ? rss - s->rss : 0;
		return;
	}
	if (!first)
		g->since_ns = min(g->since_ns, known);
	s->rss = rss;
	g->changed |= first;
	wsmon_visit_plan(g, s);
}

/**
 * wsmon_share_count - add what went of a member's memory in the interval, which ends for it
 * @ss:		the session
 * @s:		its share
 * @mm:		its mm, with a reference
 */
void wsmon_share_count(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm)
{
	struct wsmon_counts counts;
	struct wsmon_went went;

	wsmon_counts_read(ss, s->member, mm, s->minors, ss->group->wss[0], &counts);
	went = wsmon_balance_end(&s->balance, &counts);
	ss->group->went_now.least += went.least;
	ss->group->went_now.most += went.most;
	ss->group->suspect |= s->balance.suspect;
}

/* May the samples of a region stay that have served? */
static bool region_may_stay(const struct wsmon_session *ss, const struct wsmon_region *r)
{
	const struct wsmon_object *o;

	if (wsmon_region_has_slept(ss->group, r))
		return true;
	o = ss->pace.limit < WSMON_ONE ? wsmon_group_object(ss->group, r->start) : NULL;
	return o && o->mappers > CROWD;
}

/* Find out whether a member slept, and whether reclaim takes its pages. */
static void group_ask(struct wsmon_group *g, struct wsmon_share *s)
{
	u64 before = s->majors;

	s->slept = wsmon_member_slept(s->member, s->mm, &s->ran, &s->majors, &s->minors) &&
		   s->known && !s->ending && !s->left_out && !s->again &&
		   IS_ENABLED(CONFIG_PAGE_IDLE_FLAG);
	/* as wsmon_target_reclaimed() */
	s->reclaimed = s->majors - before > WSMON_MAJORS_FEW;
	g->reclaimed |= s->reclaimed;
}

/* Look at all samples, and read mappings that changed. */
static void group_check(struct wsmon_session *ss, const struct wsmon_interval *iv)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_share *s;
	u64 turn = div64_u64(ss->epoch, wsmon_interval_phases(iv));
	u32 i;

	g->reclaimed = false;
	g->suspect = false;
	list_for_each_entry(m, &ss->members, node) {
		s = m->share;
		if (s)
			group_ask(g, s);
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		/*
		 * What ended cannot be looked at again. What slept need not be, but so that
		 * regions can be split and merged there, too, it has one turn of several.
		 */
		r->due = wsmon_region_due(&g->regions, i, iv) && !wsmon_region_has_ended(g, r) &&
			 (wsmon_regions_turn(&g->regions, i, turn, SLEEP_TURNS) ||
			  g->regions.nr > g->regions.budget || !region_may_stay(ss, r));
		r->last = !!r->armed_ns;
	}
	list_for_each_entry(s, &g->shares, node) {
		if (s->blind)
			visit_miss(g, s);
		s->blind = false;
		cond_resched();
	}
	list_for_each_entry(m, &ss->members, node) {
		/* its samples saw nothing, or it has none and its accesses are old */
		if (m->share && m->share->slept)
			m->share->known_ns = iv->now;
		if (m->moved || (m->share && m->share->slept))
			continue;
		s = wsmon_group_get_share(ss, m, &mm, iv->now);
		if (!s) {
			/* it has ended, and is looked at soon */
			if (m->share) {
				m->share->ending = true;
				visit_miss(g, m->share);
			}
			continue;
		}
		s->unseen = wsmon_mm_unseen_pages(mm);
		share_update(ss, s, mm, iv->now);
		wsmon_share_count(ss, s, mm);
		wsmon_visit_check(ss, s, mm, false, iv->now);
		mmdrop(mm);
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		/* what could not be looked at is not looked at again */
		r->dropped = r->due && r->armed_ns && !wsmon_region_has_ended(g, r);
	}
}

/* Sample memory that is in the next space and not in the present one. */
static void group_sample_fresh(struct wsmon_session *ss, struct wsmon_fresh *f, u64 now)
{
	DECLARE_BITMAP(seen, WSMON_FRESH_MAX) = { };
	struct wsmon_group *g = ss->group;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_share *s;

	wsmon_fresh_draw(f, &g->next, &g->space,
			 wsmon_hash64(~ss->mon->attrs.seed ^ ss->epoch), WSMON_FRESH_MAX);
	if (!f->nr)
		return;
	list_for_each_entry(m, &ss->members, node) {
		/* what a member mapped that slept is not new */
		if (m->moved || (m->share && m->share->slept))
			continue;
		s = wsmon_group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_visit_fresh(ss, s, mm, f, seen, false);
		mmdrop(mm);
		cond_resched();
	}
}

/**
 * wsmon_totals_join - add an estimate that is independent of another one
 * @to:		the sum
 * @part:	what is added
 *
 * The squares of the distances to the ends of the intervals add.
 */
void wsmon_totals_join(struct wsmon_wss *to, const struct wsmon_wss *part)
{
	u64 low = to->pages - to->low, high = to->high - to->pages;
	u64 part_low = part->pages - part->low, part_high = part->high - part->pages;
	unsigned int shift = 0, bits = fls64(max(to->mapped, part->mapped));

	/* squares must not overflow */
	if (bits > 31)
		shift = bits - 31;
	low = wsmon_sqrt_up((low >> shift) * (low >> shift) +
			    (part_low >> shift) * (part_low >> shift)) << shift;
	high = wsmon_sqrt_up((high >> shift) * (high >> shift) +
			     (part_high >> shift) * (part_high >> shift)) << shift;
	to->pages += part->pages;
	to->mapped += part->mapped;
	to->low = to->pages - min(to->pages, low);
	to->high = min(to->mapped, to->pages + high);
}

/* Add pages of which nothing is known. */
static void wss_add_unknown(struct wsmon_wss *w, u64 pages)
{
	w->mapped += pages;
	w->high += pages;
}

/* Add what members used that came and went within a window, and what is not known. */
static void group_add_past(struct wsmon_group *g, const struct wsmon_interval *iv, u32 k)
{
	u64 unknown = g->blind, inherited = 0, most = g->wss[k][WSMON_CLASS_ALL].mapped;
	u32 i, c;

	for (i = 0; i < WSMON_PAST; i++) {
		const struct wsmon_past *p = &g->past[i];

		if (p->end_ns && !wsmon_seen_within(iv, p->end_ns, k))
			continue;
		unknown += p->unknown;
		inherited += p->inherited;
		most = max(most, p->inherited_max);
		for (c = 0; c < WSMON_NR_WSS && p->wss[WSMON_CLASS_ALL].mapped; c++)
			wsmon_totals_join(&g->wss[k][c], &p->wss[c]);
	}
	/* the parents are members, mostly, and what they all map is known */
	unknown += min(inherited, most);
	wss_add_unknown(&g->wss[k][WSMON_CLASS_ALL], unknown);
	wss_add_unknown(&g->wss[k][WSMON_WSS_REST], unknown);
	wsmon_wss_add_blind(g->wss[k], g->blind);
}

/* Add pages that guests of members may have accessed: they may be of any class. */
static void group_add_unseen(struct wsmon_group *g, u32 k)
{
	struct wsmon_share *s;
	u64 pages = 0;
	u32 c;

	if (!k)
		g->half = (g->wss[0]->high - g->wss[0]->low) / 2;
	list_for_each_entry(s, &g->shares, node)
		pages += s->unseen;
	for (c = 0; pages && c < WSMON_NR_WSS; c++)
		wsmon_wss_widen(&g->wss[k][c], g->wss[k][c].high + pages, 0);
}

static void group_estimate(struct wsmon_session *ss, const struct wsmon_interval *iv)
{
	struct wsmon_group *g = ss->group;
	u64 age = ktime_get_ns() - g->since_ns, start, before[WSMON_NR_WSS];
	struct wsmon_fresh *f = NULL;
	u32 k, c;

	g->built = g->changed && !wsmon_group_build_space(g);
	if (g->built) {
		f = &ss->fresh;
		group_sample_fresh(ss, f, iv->now);
	}
	start = ktime_get_ns();
	wsmon_gone_add(&g->gone_past, iv, g->went_now, &g->regions, &g->space);
	for (k = 0; k < iv->nr_windows; k++) {
		if (f) {
			f->late = iv->now - iv->begin_ns > iv->window_ns[k] + iv->slack_ns ||
				  /* a share was left out the last time */
				  iv->now - g->since_ns > iv->window_ns[k] + iv->aggr_ns / 2;
			f->early = wsmon_part_before(age, iv->window_ns[k]);
		}
		for (c = 0; c < WSMON_NR_WSS; c++)
			before[c] = g->wss[k][c].pages;
		wsmon_wss_estimate(&g->regions, &g->space, f, k, g->wss[k]);
		group_add_past(g, iv, k);
		group_add_unseen(g, k);
		for (c = 0; c < WSMON_NR_WSS; c++)
			wsmon_wss_moved(&g->wss[k][c], before[c], g->regions.late);
		wsmon_wss_add_went(g->wss[k], wsmon_gone_within(&g->gone_past, iv, k));
		cond_resched();
	}
	ss->stats.adapt_ns += ktime_get_ns() - start;
}

/* Those that end from now on belong to the next interval. */
static void group_next_past(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;

	g->past[g->at].end_ns = now;
	g->at = (g->at + 1) % WSMON_PAST;
	memset(&g->past[g->at], 0, sizeof(g->past[g->at]));
	ss->nr_told += g->came;
	g->went = 0;
	g->blind = 0;
	g->went_now = (struct wsmon_went){ };
	g->reading_ns = 0;
	g->missed = 0;
}

/* Take in the memory of members that moved into the cgroup: nobody knows when it was used. */
static void group_take_moved(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_share *s;

	list_for_each_entry(m, &ss->members, node) {
		if (!m->moved)
			continue;
		s = wsmon_group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		g->changed |= !wsmon_share_read(ss, s, mm, now);
		mmdrop(mm);
		cond_resched();
	}
	if (g->changed && !wsmon_group_build_space(g))
		wsmon_group_adopt_space(ss, now, 0);
	list_for_each_entry(m, &ss->members, node) {
		if (m->moved && m->share)
			wsmon_visit_plan(g, m->share);
		m->moved = false;
	}
}

/** wsmon_group_reclaimed - tell whether reclaim takes pages of a group, if there is one */
bool wsmon_group_reclaimed(const struct wsmon_session *ss)
{
	return ss->group && ss->group->reclaimed;
}

/** wsmon_group_has_rounds - tell whether a group, if there is one, is to have rounds */
bool wsmon_group_has_rounds(const struct wsmon_session *ss)
{
	return wsmon_group_reclaimed(ss) || (ss->group && ss->group->suspect);
}

/* Members of which a round finds out how much memory they have, at most */
#define SUSPECTS	64U

/**
 * wsmon_group_round - within an interval look at members whose pages come and go
 * @ss:		the session
 * @now:	the time
 *
 * Where reclaim takes pages, these go with their Accessed bits before the interval ends. Where a
 * program may give some back, it is found out whether it does.
 */
void wsmon_group_round(struct wsmon_session *ss, u64 now)
{
	struct wsmon_member *m;
	struct mm_struct *mm;
	u32 left = SUSPECTS;

	if (!wsmon_group_has_rounds(ss))
		return;
	list_for_each_entry(m, &ss->members, node) {
		struct wsmon_share *s = m->share;
		u64 exec_id = 0;

		cond_resched();
		if (!s || s->drawn || s->ending)
			continue;
		if (!s->reclaimed && !(s->balance.suspect && left))
			continue;
		mm = wsmon_member_mm(m, &exec_id);
		if (!mm)
			continue;
		if (mm == s->mm && exec_id == s->exec_id) {
			if (s->balance.suspect && left && left--)
				wsmon_balance_look(&s->balance, wsmon_mm_anon(mm));
			if (s->reclaimed)
				visit_round(ss, s, mm, now);
		}
		mmdrop(mm);
	}
}

/**
 * wsmon_group_interval - end an aggregation interval of a session's group, if it has one
 * @ss:		the session
 * @now:	the time
 */
void wsmon_group_interval(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_interval iv;
	u64 longest;

	/* it may have begun in this round */
	if (!g || g->interval_ns >= now)
		return;
	g->active++;
	iv = wsmon_interval_describe(ss, g->interval_ns, now);
	iv.active = g->active;
	longest = iv.window_ns[iv.nr_windows - 1] + iv.slack_ns;
	g->since_ns = g->mapped_ns ?: iv.begin_ns;
	g->mapped_ns = now;
	group_check(ss, &iv);
	wsmon_regions_edge(&g->regions, &iv, g->arming_ns, ktime_get_ns() - now);
	visit_learn(g, &iv);
	g->past[g->at].unknown += wsmon_members_left(ss, NULL);
	group_estimate(ss, &iv);
	wsmon_regions_note(&g->regions, &iv);
	g->came = READ_ONCE(ss->nr_born) - ss->nr_told;
	wsmon_stream_group(ss, now);
	wsmon_regions_rest(&g->regions);
	group_next_past(ss, now);
	/* what ended is kept for the intervals that it is in a window of */
	wsmon_group_forget(g, now + min(now, iv.aggr_ns) - min(now, longest));
	g->built |= g->changed && !wsmon_group_build_space(g);
	if (g->built) {
		wsmon_gone_drop(&g->gone_past, &iv, &g->regions, &g->next);
		wsmon_group_adopt_space(ss, now, g->interval_ns);
	}
	group_take_moved(ss, now);
	wsmon_group_draw(ss);
	wsmon_group_arm(ss);
}
