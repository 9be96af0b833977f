// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_group.c - the members of a session together: a working set with each page once
 *
 * A session that follows children has a group from the moment it has a second member. The
 * group's samples are looked at once an interval, after those of the targets. (Those of members
 * with many major faults are looked at in rounds, too: wsmon_group_round().)
 *
 *	check	look at the samples in all members; read mappings that changed
 *	learn	from what was seen; sample what is new; estimate; write the records
 *	adapt	the regions: follow the mappings, split and merge
 *	arm	draw positions, plan in which members to look, clear Accessed bits
 *
 * A member that ends is looked at once more if its mm was kept (wsmon_member.c): at the
 * group's samples, and at its private memory that the group does not know yet. So what
 * processes used counts that came and went within an interval. What a child of a fork
 * reads of its parent's memory in its first interval does not.
 *
 * All is called by kwsmond with wsmon.lock held, and may sleep.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "wsmon_group.h"

/* The group gets this share of max_regions, the targets the rest; without targets, all */
#define GROUP_SHARE	2U

/*
 * If it has many members, it keeps this share of them, as much of its cost is that of members;
 * else min_regions for each member
 */
#define LEAST_SHARE	8U

/* Pages looked at of the private memory of a member that came and went */
#define PAST_DRAWS	128U

/* Beginning and end */

static u32 group_share(const struct wsmon_session *ss)
{
	return ss->nr_targets ? GROUP_SHARE : 1;
}

static struct wsmon_group *group_alloc(const struct wsmon_session *ss)
{
	struct wsmon_group *g = kvzalloc(sizeof(*g), GFP_KERNEL);

	if (!g)
		return NULL;
	xa_init_flags(&g->slots, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&g->shares);
	INIT_LIST_HEAD(&g->objects);
	g->regions.limit = max(ss->mon->attrs.max_regions / group_share(ss), 1U);
	g->regions.budget = g->regions.limit;
	if (wsmon_regions_alloc(&g->regions)) {
		kvfree(g);
		return NULL;
	}
	return g;
}

/* Drop the samples of a member that runs, and pay their debts to reclaim. */
static void share_drop(struct wsmon_session *ss, struct wsmon_share *s)
{
	struct mm_struct *mm;
	u64 exec_id = 0;
	u32 i;

	mm = s->member ? wsmon_member_mm(s->member, &exec_id) : NULL;
	if (!mm)
		return;
	for (i = 0; i < s->nr_visits; i++) {
		s->visits[i].op = WSMON_SAMPLE_DROP;
		s->visits[i].skip = false;
	}
	if (mm == s->mm && exec_id == s->exec_id)
		wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, true);
	mmdrop(mm);
}

/**
 * wsmon_group_leave - drop all samples of a session's group, and pay their debts to reclaim
 * @ss:	the session
 */
void wsmon_group_leave(struct wsmon_session *ss)
{
	struct wsmon_share *s;

	if (!ss->group)
		return;
	list_for_each_entry(s, &ss->group->shares, node) {
		share_drop(ss, s);
		cond_resched();
	}
}

/**
 * wsmon_group_free - end the group of a session, if there is one
 * @ss:	the session
 */
void wsmon_group_free(struct wsmon_session *ss)
{
	struct wsmon_share *s, *next;
	struct wsmon_member *m;

	if (ss->group) {
		list_for_each_entry(m, &ss->members, node)
			WRITE_ONCE(m->shared_ns, ktime_get_ns());
		list_for_each_entry_safe(s, next, &ss->group->shares, node) {
			wsmon_share_free(ss->group, s);
			cond_resched();
		}
		wsmon_group_forget(ss->group, U64_MAX);
		xa_destroy(&ss->group->slots);
		wsmon_space_free(&ss->group->space);
		wsmon_space_free(&ss->group->next);
		wsmon_space_free(&ss->group->before);
		wsmon_regions_free(&ss->group->regions);
		kvfree(ss->group->parts.p);
		kvfree(ss->group->visits);
		kvfree(ss->group->answers);
		kvfree(ss->group);
	}
	ss->group = NULL;
}

/**
 * wsmon_group_budget - limit the regions of a session's group, if it has one
 * @ss:		the session
 * @regions:	max. regions of the session for now
 */
void wsmon_group_budget(struct wsmon_session *ss, u64 regions)
{
	struct wsmon_group *g = ss->group;
	u32 least;

	if (!g)
		return;
	least = clamp_t(u64, (u64)READ_ONCE(ss->nr_members) * ss->mon->attrs.min_regions, 1,
			g->regions.limit / LEAST_SHARE + 1);
	g->regions.budget = clamp_t(u64, regions / group_share(ss), least, g->regions.limit);
}

/**
 * wsmon_group_leaves - what a session's group, if it has one, leaves of a target's regions
 * @ss:		the session
 * @regions:	the target's
 */
u64 wsmon_group_leaves(const struct wsmon_session *ss, u64 regions)
{
	return ss->group ? regions - regions / GROUP_SHARE : regions;
}

/** wsmon_group_total - the last estimate of a group for the shortest window; NULL: no group */
const struct wsmon_wss *wsmon_group_total(const struct wsmon_session *ss)
{
	return ss->group ? &ss->group->wss[0][WSMON_CLASS_ALL] : NULL;
}

/** wsmon_group_half - half the width of its interval, as far as samples have a part in it */
u64 wsmon_group_half(const struct wsmon_session *ss)
{
	return ss->group->half;
}

/** wsmon_group_regions - the regions of a session's group; NULL: it has none */
const struct wsmon_regions *wsmon_group_regions(const struct wsmon_session *ss)
{
	return ss->group ? &ss->group->regions : NULL;
}

/* The members' memory */

/**
 * wsmon_group_get_share - get the share of a member with its present mm
 * @ss:		the session, with a group
 * @m:		the member
 * @mmp:	set to the mm, to be given to mmdrop()
 * @now:	the time
 *
 * Return: the share; NULL if it has none: the member has ended, another one uses the same
 * mm, or there is no memory.
 */
struct wsmon_share *wsmon_group_get_share(struct wsmon_session *ss, struct wsmon_member *m,
					  struct mm_struct **mmp, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_share *s = m->share;
	struct mm_struct *mm;
	u64 exec_id = 0;

	mm = wsmon_member_mm(m, &exec_id);
	if (!mm)
		return NULL;
	if (s && (s->mm != mm || s->exec_id != exec_id)) {
		/* the program before was not looked at when it ended */
		s->blind = true;
		g->missed++;
		wsmon_share_end(g, s, now);
		s = NULL;
	}
	if (!s && !wsmon_share_find(g, mm)) {
		u64 born = wsmon_member_born(m, mm);

		s = wsmon_share_create(g, m, mm, exec_id, born ?: now);
		g->missed += !s;
	}
	if (!s) {
		mmdrop(mm);
		return NULL;
	}
	/* a thread that comes or goes may have been missed the last time */
	s->ending = false;
	*mmp = mm;
	return s;
}

/**
 * wsmon_group_adopt_space - make the regions follow @next, which becomes the space
 * @ss:		the session
 * @now:	the time
 * @origin:	time before which none of the new memory existed; 0: unknown
 */
void wsmon_group_adopt_space(struct wsmon_session *ss, u64 now, u64 origin)
{
	struct wsmon_group *g = ss->group;

	swap(g->space, g->next);
	wsmon_regions_fit(&g->regions, &g->space, now, origin);
}

/**
 * wsmon_group_draw - adapt the regions, and draw the samples of those at rest
 * @ss:	the session
 *
 * @last of these is set.
 */
void wsmon_group_draw(struct wsmon_session *ss)
{
	u64 key = wsmon_draw_key(~ss->mon->attrs.seed, ss->epoch);
	struct wsmon_group *g = ss->group;
	u32 i, h;

	wsmon_regions_adapt(&g->regions, &g->space, &ss->adapt);
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		if (r->armed_ns)
			continue;
		wsmon_region_draw(&g->space, r, key);
		r->weight = 1;
		r->last = 1;
		for (h = 0; h < 2 && r->n[h]; h++) {
			const struct wsmon_object *o = wsmon_group_object(g, r->s[h].vpn);
			u64 random = wsmon_hash64(r->s[h].vpn ^ key);

			wsmon_sample_reach(&r->s[h], o ? o->mappers : 1, random);
			r->weight = max_t(u32, r->weight, U32_MAX / r->s[h].chance);
			/* the process that forked had it before */
			if (o && o->kind == WSMON_PART_FAMILY)
				r->origin_ns = 0;
		}
	}
}

/* Arm the samples of a share that were drawn. */
static void share_arm(struct wsmon_session *ss, struct wsmon_member *m, u64 now)
{
	struct wsmon_share *s = m->share, *present;
	struct mm_struct *mm;

	s->drawn = false;
	present = wsmon_group_get_share(ss, m, &mm, now);
	if (!present) {
		/* it has ended: the last look plans its visits again */
		if (m->share)
			wsmon_visit_undo(m->share);
		return;
	}
	/* another program has no samples yet */
	if (present == s) {
		sort(s->visits, s->nr_visits, sizeof(*s->visits), wsmon_visit_compare, NULL);
		wsmon_visit_arm(ss, s, mm, now);
	}
	mmdrop(mm);
}

/**
 * wsmon_group_arm - plan the visits of the regions at rest, and arm these: an interval begins
 * @ss:		the session
 */
void wsmon_group_arm(struct wsmon_session *ss)
{
	struct wsmon_group *g = ss->group;
	u64 now = ktime_get_ns();
	struct wsmon_member *m;
	u32 i;

	g->nr_visits = 0;
	wsmon_visit_draw(g);
	list_for_each_entry(m, &ss->members, node) {
		if (m->share && m->share->drawn)
			share_arm(ss, m, now);
		if (m->share)
			g->nr_visits += m->share->nr_visits;
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		if (!r->armed_ns && r->last && !wsmon_region_has_ended(g, r))
			r->armed_ns = now;
		r->last = 0;
	}
	g->interval_ns = now;
	g->arming_ns = ktime_get_ns() - now;
	ss->armed_ns = now;
}

/**
 * wsmon_group_begin - begin with a group, if a session is to have one
 * @ss:	the session
 *
 * That is one that follows, from its second member on, and one of a cgroup. Also begins anew if
 * attributes changed that it depends on. If there is no memory for it, the next look at members
 * makes this try again.
 */
void wsmon_group_begin(struct wsmon_session *ss)
{
	struct wsmon_group *g;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_share *s;
	u64 now = ktime_get_ns();

	if (ss->regroup) {
		wsmon_group_leave(ss);
		wsmon_group_free(ss);
		ss->regroup = false;
	}
	if (ss->group ||
	    (!ss->cgroup && (!ss->mon->attrs.follow || READ_ONCE(ss->nr_members) < 2)))
		return;
	g = group_alloc(ss);
	if (!g)
		return;
	ss->group = g;
	wsmon_members_left(ss, NULL);
	wsmon_session_share(ss, &ss->mon->attrs, ss->pace.share);
	list_for_each_entry(m, &ss->members, node) {
		s = wsmon_group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_share_read(ss, s, mm, now);
		/* in the first interval nobody knows who gives memory back */
		s->balance.suspect = true;
		wsmon_share_count(ss, s, mm);
		mmdrop(mm);
		cond_resched();
	}
	if (!wsmon_group_build_space(g))
		wsmon_group_adopt_space(ss, now, 0);
	wsmon_group_draw(ss);
	wsmon_group_arm(ss);
}

/* Members that end */

/* Have samples at once in what the space does not have yet. */
static void group_extend(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	u32 i;

	if (!g->lacks || wsmon_group_build_space(g))
		return;
	wsmon_group_adopt_space(ss, now, g->interval_ns);
	wsmon_group_draw(ss);
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		/* bits in new memory are not cleared: they were set in this interval */
		if (!r->armed_ns && r->origin_ns)
			r->armed_ns = g->interval_ns;
		r->last = 0;
	}
}

/* Add the private memory that the group does not know yet: @before has what it knows. */
static void share_add_past(struct wsmon_session *ss, struct wsmon_share *s,
			   struct mm_struct *mm)
{
	static const struct wsmon_regions none;
	DECLARE_BITMAP(seen, WSMON_FRESH_MAX) = { };
	struct wsmon_group *g = ss->group;
	struct wsmon_past *p = &g->past[g->at];
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct wsmon_fresh *f = &ss->fresh;
	u32 c;

	wsmon_fresh_draw(f, &s->own, &g->before, wsmon_hash64(s->salt), PAST_DRAWS);
	if (!f->nr)
		return;
	wsmon_visit_fresh(ss, s, mm, f, seen, true);
	wsmon_wss_estimate(&none, &g->before, f, 0, wss);
	for (c = 0; c < WSMON_NR_WSS; c++)
		wsmon_totals_join(&p->wss[c], &wss[c]);
}

/* Look at a program for the last time. */
static void share_last_look(struct wsmon_session *ss, struct wsmon_share *s,
			    struct mm_struct *mm, u64 now)
{
	struct wsmon_group *g = ss->group;

	if (wsmon_share_read(ss, s, mm, now)) {
		g->missed++;
		s->blind = true;
		return;
	}
	/* its threads are gone, and what they faulted; before this interval it may not have been */
	s->minors = U64_MAX;
	s->balance.begun = true;
	wsmon_share_count(ss, s, mm);
	if (!s->known)
		wsmon_space_clear(&g->before);
	share_add_past(ss, s, mm);
	/* what others may map, too, is added to the space, the private memory is not */
	swap(s->own, g->before);
	group_extend(ss, now);
	if (!wsmon_visit_plan(g, s))
		wsmon_visit_check(ss, s, mm, true, now);
}

/* Nothing is known of what a program accessed. */
static void past_add_unknown(struct wsmon_past *p, const struct wsmon_member *m)
{
	/* two threads may note them at once */
	u64 inherited = m->rss - min(m->rss, m->made_rss);

	p->unknown += m->made_rss;
	p->inherited += inherited;
	p->inherited_max = max(p->inherited_max, inherited);
}

/* A program ends: @mm was kept since it began, or is NULL. */
static void group_end_program(struct wsmon_session *ss, struct wsmon_member *m,
			      struct mm_struct *mm, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_share *s = m->share;

	/* others have its memory */
	if (!s && mm && wsmon_share_find(g, mm))
		return;
	/* if no CPU time is left, it is not known what it used */
	if (!wsmon_pace_may_look(&ss->pace, ss->looks_ns + ktime_get_ns() - now) ||
	    ktime_get_ns() - now > wsmon_sample_ns(ss))
		mm = NULL;
	if (!mm) {
		g->missed++;
		if (s)
			s->blind = true;
		else
			past_add_unknown(&g->past[g->at], m);
	}
	/* it executed another program that nobody has noticed */
	if (s && mm && (s->mm != mm || s->exec_id != m->exec_id)) {
		g->missed++;
		s->blind = true;
		wsmon_share_end(g, s, now);
		s = NULL;
	}
	if (!s && mm && !wsmon_share_find(g, mm))
		s = wsmon_share_create(g, m, mm, m->exec_id, m->born_ns);
	if (s && mm)
		share_last_look(ss, s, mm, now);
	if (s)
		wsmon_share_end(g, s, now);
}

/**
 * wsmon_group_exit - a member has ended
 * @ss:	the session
 * @m:	the member, which is removed next
 * @now:	the time
 */
void wsmon_group_exit(struct wsmon_session *ss, struct wsmon_member *m, u64 now)
{
	wsmon_group_begin(ss);
	if (!ss->group)
		return;
	ss->group->went++;
	/* it has only left the cgroup: all was looked at when the interval ended */
	if (wsmon_pid_alive(m->pid)) {
		if (m->share) {
			share_drop(ss, m->share);
			wsmon_share_end(ss->group, m->share, now);
		}
		return;
	}
	group_end_program(ss, m, wsmon_member_look(m), now);
}
