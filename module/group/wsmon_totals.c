// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_totals.c - the end of a group's aggregation interval: wsmon_group.c says what it does
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "wsmon_group.h"

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
		s = wsmon_group_get_share(ss, m, &mm, iv->now);
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
		wsmon_group_adopt_space(ss, now, g->interval_ns);
	}
	group_take_moved(ss, now);
	wsmon_group_draw(ss);
	wsmon_group_arm(ss);
}
