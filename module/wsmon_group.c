// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_group.c - the group: the working set of all members together, with each page once
 *
 * A session that follows children has a group from its second member on; a session of a cgroup
 * always has one. The end of an interval has these steps for the group, after those of the targets.
 * (A round looks at samples only in members with many major faults: wsmon_group_round().)
 *
 *	check	look at the samples in all members; read mappings that changed
 *	learn	from the accesses found; sample new memory; estimate; write the records
 *	adapt	the regions: follow the mappings, split and merge
 *	arm	draw positions, plan in which members to look, clear Accessed bits
 *
 * A member that ends has a last look if its mm was kept (wsmon_member.c). It covers the group's
 * samples, and private memory of the member that the group does not know yet. So memory counts
 * even if the process that used it came and went within an interval. An exception is memory of its
 * parent that a forked child reads in its first interval.
 *
 * kwsmond calls all functions with the monitor's lock held; they may sleep.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "wsmon_group.h"

/* The group gets 1 / GROUP_PART of max_regions, the targets the rest; without targets, all */
#define GROUP_PART	2U

/*
 * However small the CPU budget, the group keeps min_regions for each member, but at most
 * 1 / LEAST_PART of the group's maximum. With many members fewer regions would save little, because
 * much of the cost is per member.
 */
#define LEAST_PART	8U

/* Look at up to this many pages of private memory of a member that came and went */
#define PAST_DRAWS	128U

static u32 group_part(const struct wsmon_session *ss)
{
	return ss->nr_targets ? GROUP_PART : 1;
}

static struct wsmon_group *group_alloc(const struct wsmon_session *ss)
{
	struct wsmon_group *g = kvzalloc(sizeof(*g), GFP_KERNEL);

	if (!g)
		return NULL;
	xa_init_flags(&g->slots, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&g->maps);
	INIT_LIST_HEAD(&g->objects);
	g->regions.limit = max(ss->mon->attrs.max_regions / group_part(ss), 1U);
	g->regions.budget = g->regions.limit;
	if (wsmon_regions_alloc(&g->regions, g->regions.limit)) {
		kvfree(g);
		return NULL;
	}
	return g;
}

/* Drop the samples of a member that runs, and pay their debts to reclaim. */
static void map_drop(struct wsmon_session *ss, struct wsmon_map *s)
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

/** wsmon_group_leave - drop all samples of a session's group, and pay their debts to reclaim */
void wsmon_group_leave(struct wsmon_session *ss)
{
	struct wsmon_map *s;

	if (!ss->group)
		return;
	list_for_each_entry(s, &ss->group->maps, node) {
		map_drop(ss, s);
		cond_resched();
	}
}

/** wsmon_group_free - end the group of a session, if there is one */
void wsmon_group_free(struct wsmon_session *ss)
{
	struct wsmon_map *s, *next;
	struct wsmon_member *m;

	if (ss->group) {
		list_for_each_entry(m, &ss->members, node)
			WRITE_ONCE(m->shared_ns, ktime_get_ns());
		list_for_each_entry_safe(s, next, &ss->group->maps, node) {
			wsmon_map_free(ss->group, s);
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
 * @regions:	regions that the whole session may have for now
 */
void wsmon_group_budget(struct wsmon_session *ss, u64 regions)
{
	struct wsmon_group *g = ss->group;
	u32 least;

	if (!g)
		return;
	least = clamp_t(u64, (u64)READ_ONCE(ss->nr_members) * ss->mon->attrs.min_regions, 1,
			g->regions.limit / LEAST_PART + 1);
	g->regions.budget = clamp_t(u64, regions / group_part(ss), least, g->regions.limit);
}

/**
 * wsmon_group_leaves - subtract the part of a session's group, if it has one, from regions
 * @ss:		the session
 * @regions:	number of regions of the target, or of all targets
 *
 * Return: the regions that are left for targets.
 */
u64 wsmon_group_leaves(const struct wsmon_session *ss, u64 regions)
{
	return ss->group ? regions - regions / GROUP_PART : regions;
}

/*
 * Get the map of a member with its present mm; create it if need be.
 * @mmp:	set to the mm if there is a map; the caller releases it with mmdrop()
 * Return: the map; NULL if the member has ended, another member uses the same mm, or there is
 * no memory for a map.
 */
static struct wsmon_map *group_get_map(struct wsmon_session *ss, struct wsmon_member *m,
				       struct mm_struct **mmp, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_map *s = m->map;
	struct mm_struct *mm;
	u64 exec_id = 0;

	mm = wsmon_member_mm(m, &exec_id);
	if (!mm)
		return NULL;
	if (s && (s->mm != mm || s->exec_id != exec_id)) {
		/* exec replaced the program of the map before a last look */
		s->blind = true;
		g->missed++;
		wsmon_map_end(g, s, now);
		s = NULL;
	}
	if (!s && !wsmon_map_find(g, mm)) {
		u64 born = wsmon_member_born(m, mm);

		s = wsmon_map_create(g, m, mm, exec_id, born ?: now);
		g->missed += !s;
	}
	if (!s) {
		mmdrop(mm);
		return NULL;
	}
	/* the last call may have found no mm because a thread came or went */
	s->ending = false;
	*mmp = mm;
	return s;
}

/* Tell whether a page is private memory of a member that has ended. */
static bool page_has_ended(struct wsmon_group *g, u64 page)
{
	const struct wsmon_map *s = wsmon_group_owner(g, page);

	return s && (!s->member || s->ending);
}

/* Tell whether a region begins or ends in such memory. */
static bool region_has_ended(struct wsmon_group *g, const struct wsmon_region *r)
{
	return page_has_ended(g, r->start) || page_has_ended(g, r->end - 1);
}

/* Tell whether a region begins and ends in private memory of members that slept. */
static bool region_has_slept(struct wsmon_group *g, const struct wsmon_region *r)
{
	const struct wsmon_map *s = wsmon_group_owner(g, r->start);

	if (!s || !s->slept)
		return false;
	s = wsmon_group_owner(g, r->end - 1);
	return s && s->slept;
}

/*
 * Make @next of the group its space, and let the regions follow. @origin: none of the new memory
 * existed before this time; 0: unknown
 */
static void group_adopt_space(struct wsmon_session *ss, u64 now, u64 origin)
{
	struct wsmon_group *g = ss->group;

	swap(g->space, g->next);
	wsmon_regions_fit(&g->regions, &g->space, now, origin);
}

/* Adapt the regions, and draw samples for the regions at rest. Sets @last of these. */
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
			/* memory shared since a fork is not new: the parent had it before */
			if (o && o->kind == WSMON_PART_FAMILY)
				r->origin_ns = 0;
		}
	}
}

/* Arm the samples of a member's map for which visits were planned. */
static void map_arm(struct wsmon_session *ss, struct wsmon_member *m, u64 now)
{
	struct wsmon_map *s = m->map, *present;
	struct mm_struct *mm;

	s->drawn = false;
	present = group_get_map(ss, m, &mm, now);
	if (!present) {
		/* the member has ended: the last look plans its visits again */
		if (m->map)
			wsmon_visit_undo(m->map);
		return;
	}
	/* after exec there is a new map, which has no samples yet */
	if (present == s) {
		sort(s->visits, s->nr_visits, sizeof(*s->visits), wsmon_visit_compare, NULL);
		wsmon_visit_arm(ss, s, mm, now);
	}
	mmdrop(mm);
}

/* Begin an interval: plan the visits of the regions at rest, and arm their samples. */
static void group_arm(struct wsmon_session *ss)
{
	struct wsmon_group *g = ss->group;
	u64 now = ktime_get_ns();
	struct wsmon_member *m;
	u32 i;

	g->nr_visits = 0;
	wsmon_visit_draw(g);
	list_for_each_entry(m, &ss->members, node) {
		if (m->map && m->map->drawn)
			map_arm(ss, m, now);
		if (m->map)
			g->nr_visits += m->map->nr_visits;
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		if (!r->armed_ns && r->last && !region_has_ended(g, r))
			r->armed_ns = now;
		r->last = 0;
	}
	g->interval_ns = now;
	g->arming_ns = ktime_get_ns() - now;
	ss->armed_ns = now;
}

/* End the interval of a map's balance; add memory that disappeared to the group's. */
static void map_count(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm)
{
	struct wsmon_counts counts;
	struct wsmon_went went;

	wsmon_counts_read(ss, s->member, mm, s->minors, ss->group->wss[0], &counts);
	/*
	 * The other members took a while since @minors was read. What was allocated meanwhile is
	 * in the count of pages, and has to be in that of faults. Huge pages are not: the kernel
	 * counts their faults for all processes.
	 */
	if (s->balance.frees && s->minors != U64_MAX)
		counts.faults = wsmon_member_minors(s->member, mm);
	went = wsmon_balance_end(&s->balance, &counts);
	ss->group->went_now.least += went.least;
	ss->group->went_now.most += went.most;
	ss->group->suspect |= s->balance.suspect;
}

/*
 * Read the mappings of a member that used its memory before the group knew of it. If they cannot
 * be read, its resident memory counts as unknown, and the next boundary tries again: memory that
 * map_update() reads for the first time counts as new, with all its Accessed bits.
 */
static void map_read_old(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
			 u64 now)
{
	u64 rss = get_mm_rss(mm);

	if (wsmon_map_read(ss, s, mm, now)) {
		s->member->moved = !s->read;
		ss->group->blind += rss;
		return;
	}
	s->rss = rss;
	ss->group->changed = true;
}

/**
 * wsmon_group_begin - begin with a group, if a session needs one and has none
 * @ss:	the session
 *
 * A session that follows needs a group from its second member on, a session of a cgroup always.
 * If attributes changed on which the group depends, it begins anew. If there is no memory for a
 * group, the next look at members tries again.
 */
void wsmon_group_begin(struct wsmon_session *ss)
{
	struct wsmon_group *g;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_map *s;
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
	wsmon_pace_crowd(&ss->pace, &ss->mon->attrs, READ_ONCE(ss->nr_members));
	wsmon_group_budget(ss, (u64)ss->mon->attrs.max_regions * ss->pace.share / WSMON_ONE);
	list_for_each_entry(m, &ss->members, node) {
		s = group_get_map(ss, m, &mm, now);
		if (!s)
			continue;
		map_read_old(ss, s, mm, now);
		/* suspect every member in its first interval: it may give memory back */
		s->balance.suspect = true;
		map_count(ss, s, mm);
		mmdrop(mm);
		cond_resched();
	}
	if (!wsmon_group_build_space(g))
		group_adopt_space(ss, now, 0);
	group_draw(ss);
	group_arm(ss);
}

/* Members that end */

/* Add missing objects to the space, and begin to sample them at once. */
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
		/*
		 * Bits in new memory were set in this interval. So count its samples as armed at
		 * the start of the interval: arming them now would clear these bits.
		 */
		if (!r->armed_ns && r->origin_ns)
			r->armed_ns = g->interval_ns;
		r->last = 0;
	}
}

/*
 * Add an independent estimate to a sum. The distance from the estimate to an end of its interval is
 * a multiple of the standard deviation, so the squares of these distances are added.
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

/*
 * Estimate private memory of a map that ends and that the group does not know yet, and add it
 * to @past. @before of the group has the private memory that the group knows.
 */
static void map_add_past(struct wsmon_session *ss, struct wsmon_map *s,
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

/* Have the last look at a program that has ended. */
static void map_last_look(struct wsmon_session *ss, struct wsmon_map *s,
			  struct mm_struct *mm, u64 now)
{
	struct wsmon_group *g = ss->group;

	if (wsmon_map_read(ss, s, mm, now)) {
		g->missed++;
		s->blind = true;
		return;
	}
	/*
	 * The fault counts of its threads are gone. If it began within this interval, its balance
	 * begins with nothing.
	 */
	s->minors = U64_MAX;
	s->balance.begun = true;
	map_count(ss, s, mm);
	if (!s->known)
		wsmon_space_clear(&g->before);
	map_add_past(ss, s, mm);
	/* extend the space by objects, which others may map, too, but not by the private memory */
	swap(s->own, g->before);
	group_extend(ss, now);
	/* what this look misses, the end of the interval has to know: it sets @last anew */
	s->blind = true;
	if (!wsmon_visit_plan(g, s)) {
		wsmon_visit_check(ss, s, mm, true, now);
		s->blind = s->again;
	}
	g->missed += s->blind;
}

/* Note the memory of a program that ended without a last look: any part may have been accessed. */
static void past_add_unknown(struct wsmon_past *p, const struct wsmon_member *m)
{
	/* two last threads may both run the exit probe, which may change the fields meanwhile */
	u64 inherited = m->rss - min(m->rss, m->made_rss);

	p->unknown += m->made_rss;
	p->inherited += inherited;
	p->inherited_max = max(p->inherited_max, inherited);
}

/* Handle the end of a program. @mm: kept since the program began; NULL if it was not kept */
static void group_end_program(struct wsmon_session *ss, struct wsmon_member *m,
			      struct mm_struct *mm, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_map *s = m->map;

	/* another member uses the mm, and has the map */
	if (!s && mm && wsmon_map_find(g, mm))
		return;
	/* without CPU time for a look, count its memory as unknown */
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
	/* it executed another program since the map was made, and no round noticed */
	if (s && mm && (s->mm != mm || s->exec_id != m->exec_id)) {
		g->missed++;
		s->blind = true;
		wsmon_map_end(g, s, now);
		s = NULL;
	}
	if (!s && mm && !wsmon_map_find(g, mm))
		s = wsmon_map_create(g, m, mm, m->exec_id, m->born_ns);
	if (s && mm)
		map_last_look(ss, s, mm, now);
	if (s)
		wsmon_map_end(g, s, now);
}

/**
 * wsmon_group_exit - handle the end of a member, or its move out of the cgroup
 * @ss:	the session
 * @m:	the member, which the caller removes next
 * @now:	the time
 */
void wsmon_group_exit(struct wsmon_session *ss, struct wsmon_member *m, u64 now)
{
	wsmon_group_begin(ss);
	if (!ss->group)
		return;
	ss->group->went++;
	/* it runs, so it has left the cgroup: the end of the interval looked at its memory */
	if (wsmon_pid_alive(m->pid)) {
		if (m->map) {
			map_drop(ss, m->map);
			wsmon_map_end(ss->group, m->map, now);
		}
		return;
	}
	group_end_program(ss, m, wsmon_member_look(m), now);
}

/* The end of an interval */

/* Samples of a member that sleeps are drawn again after this many intervals */
#define SLEEP_TURNS	8U

/*
 * If CPU time is short, the same holds for samples of an object that has more than this many
 * mappers, whether members sleep or not: most of the cost of such a sample is arming it in all
 * mappers.
 */
#define CROWD		64U

/* Mappings that seem not to have changed are read again after this many update_us */
#define REREAD	8U
/* Max. extents of a member whose mappings are read again sooner if it frees memory */
#define REREAD_EXTENTS	1024U

/*
 * Tell whether there is time to read the mappings of a map. At each boundary, reading may take
 * half of the CPU budget; maps that were left out the last time may use all of it. A map whose
 * mappings were never read is always read.
 */
static bool group_may_read(const struct wsmon_session *ss, const struct wsmon_map *s)
{
	u64 budget = div64_u64(wsmon_aggr_ns(ss) * ss->cpu_permille, 2000);

	return !s->read || ss->group->reading_ns < (s->left_out ? 2 * budget : budget);
}

/*
 * Tell whether a map's mappings, which seem not to have changed, may have changed all the same: a
 * program that frees memory may have replaced a mapping by one of the same size. Reading such
 * mappings again may take a quarter of the CPU budget.
 */
static bool map_may_differ(const struct wsmon_session *ss, const struct wsmon_map *s, u64 now)
{
	u64 budget = div64_u64(wsmon_aggr_ns(ss) * ss->cpu_permille, 4000);

	return s->balance.frees && s->balance.suspect && s->own.nr_ext <= REREAD_EXTENTS &&
	       ss->group->reading_ns < budget &&
	       now - s->read_ns >= ss->mon->attrs.update_us * NSEC_PER_USEC;
}

/*
 * Read the mappings of a map if they changed, or may have changed. If mappings that changed cannot
 * be read yet, the growth of the map's resident memory counts as unknown.
 */
static void map_update(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		       u64 now)
{
	struct wsmon_group *g = ss->group;
	u64 start = ktime_get_ns(), rss = get_mm_rss(mm);
	u64 known = s->read ? s->known_ns : s->since_ns;
	/* if the first reading had to wait, memory that is new here is older than this interval */
	bool first = !s->read, waited = s->left_out;
	bool same = !first && s->stamp == wsmon_vaddr_stamp(mm) &&
		    now - s->read_ns < REREAD * ss->mon->attrs.update_us * NSEC_PER_USEC;

	if (same && !map_may_differ(ss, s, now)) {
		s->known_ns = now;
		return;
	}
	s->left_out = !group_may_read(ss, s) || wsmon_map_read(ss, s, mm, now);
	if (s->left_out) {
		g->reading_ns += ktime_get_ns() - start;
		/* the present mappings are good enough */
		s->left_out = !same;
		if (same)
			s->known_ns = now;
		else
			g->blind += rss > s->rss ? rss - s->rss : 0;
		return;
	}
	if (!first || waited)
		g->since_ns = min(g->since_ns, known);
	s->rss = rss;
	g->changed |= first;
	wsmon_visit_plan(g, s);
	g->reading_ns += ktime_get_ns() - start;
}

/* Tell whether the samples of a region may stay although they have served. */
static bool region_may_stay(const struct wsmon_session *ss, const struct wsmon_region *r)
{
	const struct wsmon_object *o;

	if (region_has_slept(ss->group, r))
		return true;
	o = ss->pace.limit < WSMON_ONE ? wsmon_group_object(ss->group, r->start) : NULL;
	return o && o->mappers > CROWD;
}

/* Set whether the member of a map slept, and whether reclaim takes its pages. */
static void group_ask(struct wsmon_group *g, struct wsmon_map *s)
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
	struct wsmon_map *s;
	u64 turn = div64_u64(ss->epoch, wsmon_interval_phases(iv));
	u32 i;

	g->reclaimed = false;
	g->suspect = false;
	list_for_each_entry(m, &ss->members, node) {
		s = m->map;
		if (s)
			group_ask(g, s);
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		/*
		 * Memory of a member that ended cannot be looked at again. Memory of one that slept
		 * need not be, but regions can be split and merged only if their samples are
		 * dropped: so it has one turn in SLEEP_TURNS.
		 */
		r->due = wsmon_region_due(&g->regions, i, iv) && !region_has_ended(g, r) &&
			 (wsmon_regions_turn(&g->regions, i, turn, SLEEP_TURNS) ||
			  g->regions.nr > g->regions.budget || !region_may_stay(ss, r));
		r->last = !!r->armed_ns;
	}
	list_for_each_entry(s, &g->maps, node) {
		if (s->blind)
			wsmon_visit_miss(g, s);
		s->blind = false;
		cond_resched();
	}
	list_for_each_entry(m, &ss->members, node) {
		/* it slept, so nothing new was mapped, and nothing accessed */
		if (m->map && m->map->slept)
			m->map->known_ns = iv->now;
		if (m->moved || (m->map && m->map->slept))
			continue;
		s = group_get_map(ss, m, &mm, iv->now);
		if (!s) {
			/* it has ended, and its last look comes soon */
			if (m->map) {
				m->map->ending = true;
				wsmon_visit_miss(g, m->map);
			}
			continue;
		}
		s->unseen = wsmon_mm_unseen_pages(mm);
		map_update(ss, s, mm, iv->now);
		map_count(ss, s, mm);
		wsmon_visit_check(ss, s, mm, false, iv->now);
		g->went_now.late += wsmon_counts_late(&s->balance, mm);
		mmdrop(mm);
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		/* samples in memory of members that ended stay: no new look can replace them */
		r->dropped = r->due && r->armed_ns && !region_has_ended(g, r);
	}
}

/* Sample memory that is in the next space and not in the present one. */
static void group_sample_fresh(struct wsmon_session *ss, struct wsmon_fresh *f, u64 now)
{
	DECLARE_BITMAP(seen, WSMON_FRESH_MAX) = { };
	struct wsmon_group *g = ss->group;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_map *s;

	wsmon_fresh_draw(f, &g->next, &g->space,
			 wsmon_hash64(~ss->mon->attrs.seed ^ ss->epoch), WSMON_FRESH_MAX);
	if (!f->nr)
		return;
	list_for_each_entry(m, &ss->members, node) {
		/*
		 * A member that slept has no new memory. Memory of a member that moved into the
		 * cgroup was there before.
		 */
		if (m->moved || (m->map && m->map->slept))
			continue;
		s = group_get_map(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_visit_fresh(ss, s, mm, f, seen, false);
		g->went_now.late += wsmon_counts_late(&s->balance, mm);
		mmdrop(mm);
		cond_resched();
	}
}

/* Add pages that may have been accessed or not. */
static void wss_add_unknown(struct wsmon_wss *w, u64 pages)
{
	w->mapped += pages;
	w->high += pages;
}

/* Add memory of programs that came and went within window @k, known or unknown. */
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
	/*
	 * Pages inherited by a fork exist once. Most parents are members. So there are at most as
	 * many of these pages as the group maps, or as one program inherited.
	 */
	unknown += min(inherited, most);
	wss_add_unknown(&g->wss[k][WSMON_CLASS_ALL], unknown);
	wss_add_unknown(&g->wss[k][WSMON_WSS_REST], unknown);
	wsmon_wss_add_blind(g->wss[k], g->blind);
}

/*
 * Widen the estimates of window @k by pages, of any class, that guests may have accessed; and by
 * all resident pages if the space had no room for some of them.
 */
static void group_add_unseen(struct wsmon_group *g, u32 k)
{
	struct wsmon_map *s;
	u64 pages = 0;
	u32 c;

	if (!k)
		g->half = (g->wss[0]->high - g->wss[0]->low) / 2;
	list_for_each_entry(s, &g->maps, node) {
		pages += s->unseen + (g->refused ? s->rss : 0);
		cond_resched();
	}
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
				  /* a map was left out the last time, so new memory is older */
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

/* Begin the counts of the next interval: members that end from now on belong to it. */
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

/* Add the memory of members that joined while they ran: it is unknown when it was last accessed. */
static void group_take_moved(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_map *s;

	list_for_each_entry(m, &ss->members, node) {
		if (!m->moved)
			continue;
		s = group_get_map(ss, m, &mm, now);
		if (!s)
			continue;
		map_read_old(ss, s, mm, now);
		mmdrop(mm);
		cond_resched();
	}
	if (g->changed && !wsmon_group_build_space(g))
		group_adopt_space(ss, now, 0);
	list_for_each_entry(m, &ss->members, node) {
		if (m->moved && m->map)
			wsmon_visit_plan(g, m->map);
		/* if its mappings could not be read, the next boundary tries again */
		m->moved &= m->map && !m->map->read;
	}
}

/** wsmon_group_has_rounds - tell whether a group, if there is one, needs rounds */
bool wsmon_group_has_rounds(const struct wsmon_session *ss)
{
	return ss->group && (ss->group->reclaimed || ss->group->suspect);
}

/* A round reads the anonymous memory of up to this many suspect members */
#define SUSPECTS	64U

/**
 * wsmon_group_round - look, within an interval, at members whose pages come and go
 * @ss:		the session
 * @now:	the time
 *
 * Reclaim takes pages with their Accessed bits before the interval ends: so this looks at the
 * samples of members that reclaim takes pages of. If faults suggest that a program gives memory
 * back, this reads how much it has, to find out whether it does.
 */
void wsmon_group_round(struct wsmon_session *ss, u64 now)
{
	struct wsmon_member *m;
	struct mm_struct *mm;
	u32 left = SUSPECTS;

	if (!wsmon_group_has_rounds(ss))
		return;
	list_for_each_entry(m, &ss->members, node) {
		struct wsmon_map *s = m->map;
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

/** wsmon_group_interval - end an aggregation interval of a session's group, if it has one */
void wsmon_group_interval(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_interval iv;
	u64 longest;

	/* if the group began in this round, it has no interval yet */
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
	/* keep members that ended as long as they are in a window of a later interval */
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
