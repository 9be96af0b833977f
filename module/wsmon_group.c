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
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/rmap.h>
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
	if (wsmon_regions_alloc(&g->regions, g->regions.limit)) {
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
 * group_get_share - get the share of a member with its present mm
 * @ss:		the session, with a group
 * @m:		the member
 * @mmp:	set to the mm, to be given to mmdrop()
 * @now:	the time
 *
 * Return: the share; NULL if it has none: the member has ended, another one uses the same
 * mm, or there is no memory.
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
 * group_adopt_space - make the regions follow @next, which becomes the space
 * @ss:		the session
 * @now:	the time
 * @origin:	time before which none of the new memory existed; 0: unknown
 */
static void group_adopt_space(struct wsmon_session *ss, u64 now, u64 origin)
{
	struct wsmon_group *g = ss->group;

	swap(g->space, g->next);
	wsmon_regions_fit(&g->regions, &g->space, now, origin);
}

/**
 * group_draw - adapt the regions, and draw the samples of those at rest
 * @ss:	the session
 *
 * @last of these is set.
 */
static void group_draw(struct wsmon_session *ss)
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
	present = group_get_share(ss, m, &mm, now);
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
 * group_arm - plan the visits of the regions at rest, and arm these: an interval begins
 * @ss:		the session
 */
static void group_arm(struct wsmon_session *ss)
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
 * share_count - add what went of a member's memory in the interval, which ends for it
 * @ss:		the session
 * @s:		its share
 * @mm:		its mm, with a reference
 */
static void share_count(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm)
{
	struct wsmon_counts counts;
	struct wsmon_went went;

	wsmon_counts_read(ss, s->member, mm, s->minors, ss->group->wss[0], &counts);
	went = wsmon_balance_end(&s->balance, &counts);
	ss->group->went_now.least += went.least;
	ss->group->went_now.most += went.most;
	ss->group->suspect |= s->balance.suspect;
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
	wsmon_group_budget(ss, (u64)ss->mon->attrs.max_regions * ss->pace.share / WSMON_ONE);
	list_for_each_entry(m, &ss->members, node) {
		s = group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_share_read(ss, s, mm, now);
		/* in the first interval nobody knows who gives memory back */
		s->balance.suspect = true;
		share_count(ss, s, mm);
		mmdrop(mm);
		cond_resched();
	}
	if (!wsmon_group_build_space(g))
		group_adopt_space(ss, now, 0);
	group_draw(ss);
	group_arm(ss);
}

/* Members that end */

/* Have samples at once in what the space does not have yet. */
static void group_extend(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	u32 i;

	if (!g->lacks || wsmon_group_build_space(g))
		return;
	group_adopt_space(ss, now, g->interval_ns);
	group_draw(ss);
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		/* bits in new memory are not cleared: they were set in this interval */
		if (!r->armed_ns && r->origin_ns)
			r->armed_ns = g->interval_ns;
		r->last = 0;
	}
}

/**
 * totals_join - add an estimate that is independent of another one
 * @to:		the sum
 * @part:	what is added
 *
 * The squares of the distances to the ends of the intervals add.
 */
static void totals_join(struct wsmon_wss *to, const struct wsmon_wss *part)
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
		totals_join(&p->wss[c], &wss[c]);
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
	share_count(ss, s, mm);
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

/* The end of an interval */

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
			wsmon_visit_miss(g, s);
		s->blind = false;
		cond_resched();
	}
	list_for_each_entry(m, &ss->members, node) {
		/* its samples saw nothing, or it has none and its accesses are old */
		if (m->share && m->share->slept)
			m->share->known_ns = iv->now;
		if (m->moved || (m->share && m->share->slept))
			continue;
		s = group_get_share(ss, m, &mm, iv->now);
		if (!s) {
			/* it has ended, and is looked at soon */
			if (m->share) {
				m->share->ending = true;
				wsmon_visit_miss(g, m->share);
			}
			continue;
		}
		s->unseen = wsmon_mm_unseen_pages(mm);
		share_update(ss, s, mm, iv->now);
		share_count(ss, s, mm);
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
		s = group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_visit_fresh(ss, s, mm, f, seen, false);
		mmdrop(mm);
		cond_resched();
	}
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
			totals_join(&g->wss[k][c], &p->wss[c]);
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
		s = group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		g->changed |= !wsmon_share_read(ss, s, mm, now);
		mmdrop(mm);
		cond_resched();
	}
	if (g->changed && !wsmon_group_build_space(g))
		group_adopt_space(ss, now, 0);
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
				wsmon_visit_round(ss, s, mm, now);
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
	wsmon_visit_learn(g, &iv);
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
		group_adopt_space(ss, now, g->interval_ns);
	}
	group_take_moved(ss, now);
	group_draw(ss);
	group_arm(ss);
}
