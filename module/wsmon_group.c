// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_group.c - the members of a session together: a working set with each page once
 *
 * A session has a group from the moment it has a second member. The group's samples are
 * looked at once an interval, after those of the targets:
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

#include "wsmon_group.h"

/* The group gets this share of max_regions, the targets the rest */
#define GROUP_SHARE	2U

/* Pages looked at of the private memory of a member that came and went */
#define PAST_DRAWS	128U

static u64 group_aggr_ns(void)
{
	return wsmon.attrs.aggr_us * NSEC_PER_USEC;
}

static u64 group_window_ns(u32 k)
{
	return wsmon.attrs.windows_us[k] * NSEC_PER_USEC;
}

/* Describe the interval that ends now. */
static struct wsmon_interval group_describe(const struct wsmon_group *g, u64 now)
{
	struct wsmon_interval iv = {
		.begin_ns = g->interval_ns,
		.now = now,
		.aggr_ns = group_aggr_ns(),
		.slack_ns = wsmon_slack_ns(),
		.nr_windows = wsmon.attrs.nr_windows,
		.active = g->active,
	};
	u32 k;

	for (k = 0; k < iv.nr_windows; k++)
		iv.window_ns[k] = group_window_ns(k);
	return iv;
}

/* Beginning and end */

static struct wsmon_group *group_alloc(void)
{
	struct wsmon_group *g = kvzalloc(sizeof(*g), GFP_KERNEL);

	if (!g)
		return NULL;
	xa_init_flags(&g->slots, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&g->shares);
	INIT_LIST_HEAD(&g->objects);
	g->regions.limit = max(wsmon.attrs.max_regions / GROUP_SHARE, 1U);
	g->regions.budget = g->regions.limit;
	if (wsmon_regions_alloc(&g->regions)) {
		kvfree(g);
		return NULL;
	}
	return g;
}

/**
 * wsmon_group_leave - drop all samples of a session's group, and pay their debts to reclaim
 * @ss:	the session
 */
void wsmon_group_leave(struct wsmon_session *ss)
{
	struct wsmon_share *s;
	struct mm_struct *mm;
	u64 exec_id = 0;
	u32 i;

	if (!ss->group)
		return;
	list_for_each_entry(s, &ss->group->shares, node) {
		mm = s->member ? wsmon_member_mm(s->member, &exec_id) : NULL;
		if (!mm)
			continue;
		for (i = 0; i < s->nr_visits; i++) {
			s->visits[i].op = WSMON_SAMPLE_DROP;
			s->visits[i].skip = false;
		}
		if (mm == s->mm && exec_id == s->exec_id)
			wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, true);
		mmdrop(mm);
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

	if (ss->group) {
		list_for_each_entry_safe(s, next, &ss->group->shares, node) {
			wsmon_share_free(ss->group, s);
			cond_resched();
		}
		wsmon_group_forget(ss->group, U64_MAX);
		xa_destroy(&ss->group->slots);
		wsmon_space_free(&ss->group->space);
		wsmon_space_free(&ss->group->next);
		wsmon_regions_free(&ss->group->regions);
		kvfree(ss->group->parts.p);
		kvfree(ss->group->visits);
		kvfree(ss->group->answers);
		kvfree(ss->group);
	}
	kvfree(ss->cleared);
	ss->group = NULL;
	ss->cleared = NULL;
}

/**
 * wsmon_group_budget - limit the regions of a session's group, if it has one
 * @ss:		the session
 * @regions:	max. regions of the session for now
 * @target:	max. regions of each target
 *
 * Return: what is left for each target.
 */
u64 wsmon_group_budget(struct wsmon_session *ss, u64 regions, u64 target)
{
	struct wsmon_group *g = ss->group;

	if (!g)
		return target;
	g->regions.budget = clamp_t(u64, regions / GROUP_SHARE, 1, g->regions.limit);
	return target - target / GROUP_SHARE;
}

/* The members' memory */

/*
 * Get the share of a member with its present mm, and that mm, to be given to mmdrop().
 * Return: NULL if it has none: it has ended, another member uses the same mm, or there is
 * no memory.
 */
static struct wsmon_share *group_get_share(struct wsmon_session *ss, struct wsmon_member *m,
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
		wsmon_share_end(g, s, now);
		s = NULL;
	}
	if (!s && !wsmon_share_find(g, mm)) {
		u64 born = wsmon_member_born(m, mm);

		s = wsmon_share_create(g, m, mm, exec_id, born ?: now);
	}
	if (!s) {
		mmdrop(mm);
		return NULL;
	}
	*mmp = mm;
	return s;
}

/* Read the mappings of a share if they changed. */
static void share_update(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
			 u64 now)
{
	if (s->read && s->stamp == wsmon_vaddr_stamp(mm))
		return;
	/* if it cannot be read now, the next interval tries again */
	if (!wsmon_share_read(ss, s, mm, now))
		wsmon_visit_plan(ss->group, s);
}

/* Make the regions follow @next, which becomes the space. */
static void group_adopt_space(struct wsmon_session *ss, u64 now, u64 origin)
{
	struct wsmon_group *g = ss->group;

	swap(g->space, g->next);
	wsmon_regions_fit(&g->regions, &g->space, now, origin);
}

/* Draw the samples of regions at rest. */
static void group_draw(struct wsmon_session *ss)
{
	struct wsmon_group *g = ss->group;
	u32 i, h;

	wsmon_regions_adapt(&g->regions, &g->space, &ss->adapt);
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		if (r->armed_ns)
			continue;
		wsmon_region_draw(&g->space, r, ~wsmon.attrs.seed, ss->epoch);
		r->weight = 1;
		r->last = 1;
		for (h = 0; h < 2 && r->n[h]; h++) {
			const struct wsmon_object *o = wsmon_group_object(g, r->s[h].vpn);
			u64 random = wsmon_hash64(r->s[h].vpn ^ wsmon_hash64(ss->epoch) ^
						  wsmon.attrs.seed);

			wsmon_sample_reach(&r->s[h], o ? o->mappers : 1, random);
			r->weight = max_t(u32, r->weight, U32_MAX / r->s[h].chance);
			/* the process that forked had it before */
			if (o && o->kind == WSMON_PART_FAMILY)
				r->origin_ns = 0;
		}
	}
}

static void group_arm(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_share *s;
	u32 i;

	g->nr_visits = 0;
	list_for_each_entry(m, &ss->members, node) {
		s = group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		if (s->read && !wsmon_visit_plan(g, s))
			wsmon_visit_arm(ss, s, mm, now);
		g->nr_visits += s->nr_visits;
		mmdrop(mm);
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		if (!r->armed_ns && r->last)
			r->armed_ns = now;
		r->last = 0;
	}
}

/**
 * wsmon_group_begin - begin with a group if a session has a second member
 * @ss:	the session
 *
 * Also begins anew if attributes changed that it depends on. If there is no memory for it, the next member makes this try again.
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
	if (ss->group || READ_ONCE(ss->nr_members) < 2)
		return;
	ss->cleared = wsmon_cleared_alloc();
	g = group_alloc();
	ss->group = g;
	if (!g || !ss->cleared) {
		wsmon_group_free(ss);
		return;
	}
	wsmon_session_share(ss, &wsmon.attrs, ss->pace.share);
	list_for_each_entry(m, &ss->members, node) {
		s = group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_share_read(ss, s, mm, now);
		mmdrop(mm);
		cond_resched();
	}
	if (!wsmon_group_build_space(g))
		group_adopt_space(ss, now, 0);
	group_draw(ss);
	now = ktime_get_ns();
	group_arm(ss, now);
	g->interval_ns = now;
	g->born = READ_ONCE(ss->nr_born);
}

/* The end of an interval */

/* Look at all samples, and read mappings that changed. */
static void group_check(struct wsmon_session *ss, const struct wsmon_interval *iv)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_share *s;
	u32 i;

	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		/* what ended cannot be looked at again */
		r->due = wsmon_region_due(r, iv) && !wsmon_group_has_ended(g, r->start);
		r->last = !!r->armed_ns;
	}
	list_for_each_entry(s, &g->shares, node) {
		if (s->blind)
			wsmon_visit_miss(g, s);
	}
	list_for_each_entry(m, &ss->members, node) {
		s = group_get_share(ss, m, &mm, iv->now);
		if (!s)
			continue;
		share_update(ss, s, mm, iv->now);
		wsmon_visit_check(ss, s, mm, false, iv->now);
		mmdrop(mm);
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		r->dropped = r->due && r->last;
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
			 wsmon_hash64(~wsmon.attrs.seed ^ ss->epoch), WSMON_FRESH_MAX);
	if (!f->nr)
		return;
	list_for_each_entry(m, &ss->members, node) {
		s = group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_visit_fresh(ss, s, mm, f, seen, false);
		mmdrop(mm);
		cond_resched();
	}
}

/* Add what is independent: the squares of the distances to both ends of intervals add. */
static void wss_join(struct wsmon_wss *to, const struct wsmon_wss *part)
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

/* Add what members used that came and went within a window. */
static void group_add_past(struct wsmon_group *g, const struct wsmon_interval *iv, u32 k)
{
	u32 i, c;

	for (i = 0; i < WSMON_PAST; i++) {
		const struct wsmon_past *p = &g->past[i];

		if (!p->wss[WSMON_CLASS_ALL].mapped ||
		    (p->end_ns && !wsmon_seen_within(iv, p->end_ns, k)))
			continue;
		for (c = 0; c < WSMON_NR_WSS; c++)
			wss_join(&g->wss[k][c], &p->wss[c]);
	}
}

static void group_estimate(struct wsmon_session *ss, const struct wsmon_interval *iv)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_fresh *f = NULL;
	u64 start;
	u32 k;

	if (g->changed && !wsmon_group_build_space(g)) {
		f = &ss->fresh;
		group_sample_fresh(ss, f, iv->now);
	} else {
		g->next.nr_ext = 0;
	}
	start = ktime_get_ns();
	for (k = 0; k < iv->nr_windows; k++) {
		if (f)
			f->late = iv->now - iv->begin_ns > iv->window_ns[k] + iv->slack_ns;
		wsmon_wss_estimate(&g->regions, &g->space, f, k, g->wss[k]);
		group_add_past(g, iv, k);
		cond_resched();
	}
	ss->stats.adapt_ns += ktime_get_ns() - start;
}

/* Those that end from now on belong to the next interval. */
static void group_next_past(struct wsmon_group *g, u64 now)
{
	g->past[g->at].end_ns = now;
	g->at = (g->at + 1) % WSMON_PAST;
	memset(&g->past[g->at], 0, sizeof(g->past[g->at]));
	g->born += g->came;
	g->went = 0;
	g->missed = 0;
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

	if (!g)
		return;
	g->active++;
	iv = group_describe(g, now);
	longest = iv.window_ns[iv.nr_windows - 1] + iv.slack_ns;
	group_check(ss, &iv);
	wsmon_visit_learn(g, &iv);
	group_estimate(ss, &iv);
	g->came = READ_ONCE(ss->nr_born) - g->born;
	wsmon_stream_group(ss, now);
	wsmon_regions_rest(&g->regions);
	group_next_past(g, now);
	/* what ended is kept for the intervals that it is in a window of */
	wsmon_group_forget(g, now + min(now, iv.aggr_ns) - min(now, longest));
	if (g->changed && wsmon_group_build_space(g))
		g->next.nr_ext = 0;
	if (g->next.nr_ext)
		group_adopt_space(ss, now, g->interval_ns);
	group_draw(ss);
	now = ktime_get_ns();
	group_arm(ss, now);
	g->interval_ns = now;
}

/* Members that end */

/* Have samples at once in what the space does not have yet. */
static void group_extend(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	u32 i;

	if (!g->changed || wsmon_group_build_space(g))
		return;
	group_adopt_space(ss, now, g->interval_ns);
	group_draw(ss);
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		/* bits in new memory are not cleared: they were set in this interval */
		if (!r->armed_ns)
			r->armed_ns = g->interval_ns;
		r->last = 0;
	}
}

/* Add the private memory that the group does not know yet: @ss->space has what it knows. */
static void share_add_past(struct wsmon_session *ss, struct wsmon_share *s,
			   struct mm_struct *mm)
{
	static const struct wsmon_regions none;
	DECLARE_BITMAP(seen, WSMON_FRESH_MAX) = { };
	struct wsmon_past *p = &ss->group->past[ss->group->at];
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct wsmon_fresh *f = &ss->fresh;
	u32 c;

	wsmon_fresh_draw(f, &s->own, &ss->space, wsmon_hash64(s->salt), PAST_DRAWS);
	if (!f->nr)
		return;
	wsmon_visit_fresh(ss, s, mm, f, seen, true);
	wsmon_wss_estimate(&none, &ss->space, f, 0, wss);
	for (c = 0; c < WSMON_NR_WSS; c++)
		wss_join(&p->wss[c], &wss[c]);
}

/* Look at a program for the last time. */
static void share_last_look(struct wsmon_session *ss, struct wsmon_share *s,
			    struct mm_struct *mm, u64 now)
{
	struct wsmon_group *g = ss->group;
	bool known = s->known;

	if (wsmon_share_read(ss, s, mm, now)) {
		g->missed++;
		s->blind = true;
		return;
	}
	if (!known)
		wsmon_space_clear(&ss->space);
	share_add_past(ss, s, mm);
	/* the private memory is not added to the space, only what others may map, too */
	if (!known)
		wsmon_space_clear(&s->own);
	group_extend(ss, now);
	if (!wsmon_visit_plan(g, s))
		wsmon_visit_check(ss, s, mm, true, now);
}

/* A program ends: @mm was kept since it began, or is NULL. */
static void group_end_program(struct wsmon_session *ss, struct wsmon_member *m,
			      struct mm_struct *mm)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_share *s = m->share;
	u64 now = ktime_get_ns();

	/* if no CPU time is left, it is not known what it used */
	if (!wsmon_pace_may_check(&ss->pace))
		mm = NULL;
	if (!mm) {
		g->missed++;
		if (s)
			s->blind = true;
	}
	if (!s && mm && !wsmon_share_find(g, mm))
		s = wsmon_share_create(g, m, mm, 0, m->born_ns);
	if (s && mm && s->mm == mm)
		share_last_look(ss, s, mm, now);
	if (s)
		wsmon_share_end(g, s, now);
}

/**
 * wsmon_group_exec - a member has executed a program
 * @ss:	the session
 * @m:	the member
 *
 * What it touched before is looked at if it was a member for an interval; a child usually
 * executes a program at once.
 */
void wsmon_group_exec(struct wsmon_session *ss, struct wsmon_member *m)
{
	if (ss->group && m->share && m->old_mm == m->share->mm)
		group_end_program(ss, m, m->old_mm);
}

/**
 * wsmon_group_exit - a member has ended
 * @ss:	the session
 * @m:	the member, which is removed next
 */
void wsmon_group_exit(struct wsmon_session *ss, struct wsmon_member *m)
{
	wsmon_group_begin(ss);
	if (!ss->group)
		return;
	ss->group->went++;
	group_end_program(ss, m, READ_ONCE(m->mm));
}
