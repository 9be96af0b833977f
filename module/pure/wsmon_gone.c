// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_gone.c - memory that was used and given back within a window
 *
 * Pure: no mm, no allocation, no locks.
 *
 * Samples see what is there when they are looked at. What a program maps, uses and unmaps between
 * two looks has none, and what had some is dropped with its mapping. The kernel's counts tell of
 * these. In an interval
 *
 *	went = pages when it began + pages that faults made - pages when it ended
 *
 * pages of anonymous memory went. Those that were there when the interval began had samples; the
 * others are new, and were used, as a fault made them. Faults are too many: a fault also copies a
 * page after a fork, or finds its page mapped. So this is a bound. And it counts only if there was
 * less memory at one look than at an earlier one, now or in the last intervals: most programs give
 * nothing back, and their faults say nothing. After a fork, each page that is written faults once: as
 * many faults as pages were accessed are taken off for each fork, and later on for the last one, until
 * there were as many as it had anonymous pages.
 *
 * The most pages that were there at one time, less those that were there at the beginning, or are at
 * the end, came and went at least. The kernel knows its own peak, if it rose.
 *
 * Of what had samples, those that were found accessed are in the estimate of the regions. Of the
 * others nobody knows: memory is often read just before it is given back.
 *
 * Anonymous memory only. Reclaim takes pages of files at any time, and those in swap are counted.
 * A page that is given back and comes back at the same address is the same page: the estimate
 * counts it once where it had samples. The upper end may count it each time.
 */
#include "wsmon_pure.h"

/* @churn fades by 1 / FADE an interval, and so do @copies */
#define FADE		8U
/* What went counts from this on: so many pages, and 1 / CHURN_PART of all */
#define CHURN_MIN	32U
#define CHURN_PART	256U
/* More forks in an interval do not matter */
#define FORKS_MAX	4096U
/* Samples may show 1 / SAMPLED_DOUBT less than what went of what they stand for */
#define SAMPLED_DOUBT	8U

static u64 above(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/**
 * wsmon_balance_look - take note of how many anonymous pages there are
 * @b:		the balance
 * @anon:	their number
 */
void wsmon_balance_look(struct wsmon_balance *b, u64 anon)
{
	if (!b->begun)
		return;
	b->fell += above(b->last, anon);
	b->peak = max(b->peak, anon);
	b->last = anon;
}

/* The most pages that faults can have made since the interval began */
static u64 balance_made(struct wsmon_balance *b, const struct wsmon_counts *now)
{
	const struct wsmon_counts *begin = &b->begin;
	u64 faults, copies, nr = now->forks - begin->forks;

	if (nr)
		b->copies = min_t(u64, nr, FORKS_MAX) * now->fork_pages;
	if (now->faults == U64_MAX || begin->faults == U64_MAX)
		return 0;
	/* while a thread ends, its faults may be counted nowhere */
	faults = above(now->faults, begin->faults);
	copies = min(b->copies, clamp_t(u64, nr, 1, FORKS_MAX) * now->used);
	copies = min(copies, faults);
	b->copies = min(b->copies - copies, now->fork_pages);
	if (!nr)
		b->copies -= b->copies / FADE;
	faults -= copies;
	faults -= min(faults, above(now->hints, begin->hints));
	return faults + above(now->huge_pages, 1) * min(faults, above(now->huge, begin->huge));
}

/* Begin an interval. */
static void balance_begin(struct wsmon_balance *b, const struct wsmon_counts *now)
{
	if (!b->begun && now->forks)
		b->copies = now->fork_pages;
	b->begin = *now;
	b->last = now->anon;
	b->peak = now->anon;
	b->fell = 0;
	b->begun = true;
}

/**
 * wsmon_balance_end - end an interval, and begin the next one
 * @b:		the balance
 * @now:	the counts of the process
 *
 * Return: what went in it. Nothing, if there is no sign that memory is given back.
 */
struct wsmon_went wsmon_balance_end(struct wsmon_balance *b, const struct wsmon_counts *now)
{
	struct wsmon_went went = { };
	u64 made, fell, matters = CHURN_MIN + now->anon / CHURN_PART;

	if (!b->begun) {
		balance_begin(b, now);
		return went;
	}
	wsmon_balance_look(b, now->anon);
	made = balance_made(b, now);
	if (now->peak > b->begin.peak)
		b->peak = max(b->peak, above(now->peak, max(b->begin.files, now->files)));
	fell = max(b->fell, b->peak - now->anon);
	/* what was there at the peak, neither before nor after */
	went.least = b->peak - max(b->begin.anon, now->anon);
	went.most = max(fell, above(b->begin.anon + made, now->anon));
	b->churn += fell - b->churn / FADE;
	b->suspect = went.most >= matters;
	if (b->churn < matters)
		went = (struct wsmon_went){ };
	balance_begin(b, now);
	return went;
}

/* Is memory of a class counted as anonymous? */
static bool class_is_anon(u32 class)
{
	return class == WSMON_CLASS_HEAP || class == WSMON_CLASS_STACK || class == WSMON_CLASS_ANON;
}

/* Take off what samples stand for: they knew it. What they did not see accessed may have been. */
static struct wsmon_went gone_unsampled(struct wsmon_went went, u64 since,
					const struct wsmon_regions *rs,
					const struct wsmon_space *sp)
{
	u64 there = 0, unseen = 0;
	u32 i, h;

	for (i = 0; went.most && i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		if (!r->went || !class_is_anon(sp->area[r->area].class))
			continue;
		for (h = 0; h < 2; h++) {
			if (!(r->went & BIT(h)))
				continue;
			there += r->n[h];
			if (r->s[h].seen_ns <= since)
				unseen += r->n[h];
		}
	}
	went.least = above(went.least, there + there / SAMPLED_DOUBT);
	went.most = max(went.least, min(went.most, above(went.most, there) + unseen));
	return went;
}

/**
 * wsmon_gone_add - add what went in an interval
 * @g:		what went before
 * @iv:		the interval, which ends
 * @went:	what went of all processes
 * @rs:		the regions, after their last looks: @went tells whose pages went
 * @sp:		their space
 */
void wsmon_gone_add(struct wsmon_gone *g, const struct wsmon_interval *iv,
		    struct wsmon_went went, const struct wsmon_regions *rs,
		    const struct wsmon_space *sp)
{
	u64 phases = wsmon_interval_phases(iv);
	u32 together = div64_u64(phases + WSMON_GONE - 2, WSMON_GONE - 1);

	if (g->nr >= together || !g->nr) {
		g->at = (g->at + 1) % WSMON_GONE;
		memset(&g->past[g->at], 0, sizeof(g->past[g->at]));
		g->nr = 0;
	}
	g->nr++;
	went = gone_unsampled(went, iv->begin_ns, rs, sp);
	g->past[g->at].end_ns = iv->now;
	g->past[g->at].went.least += went.least;
	g->past[g->at].went.most += went.most;
}

/* Does a space have a page? @j: an extent before it, which goes on with it */
static bool space_has(const struct wsmon_space *sp, u32 *j, u64 vpn)
{
	while (*j < sp->nr_ext && sp->ext[*j].end <= vpn)
		++*j;
	return *j < sp->nr_ext && sp->ext[*j].start <= vpn;
}

/* Add pages to the first interval that ended after a time. */
static void gone_add_seen(struct wsmon_gone *g, u64 seen_ns, u64 pages)
{
	u32 i, at;

	for (i = 1; i <= WSMON_GONE; i++) {
		at = (g->at + i) % WSMON_GONE;
		if (g->past[at].end_ns < seen_ns)
			continue;
		g->past[at].went.least += pages;
		g->past[at].went.most += pages;
		return;
	}
}

/**
 * wsmon_gone_drop - add what regions are about to lose that longer windows hold
 * @g:		what went before
 * @iv:		the interval, which ends
 * @rs:		the regions
 * @now:	the space that they are to follow
 *
 * A sample stands for its half: so does one that was accessed, and is not mapped any more.
 */
void wsmon_gone_drop(struct wsmon_gone *g, const struct wsmon_interval *iv,
		     const struct wsmon_regions *rs, const struct wsmon_space *now)
{
	u32 i, h, j = 0, k = iv->nr_windows - 1;

	if (wsmon_interval_phases(iv) == 1)
		return;
	for (i = 0; i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		for (h = 0; h < 2; h++) {
			if (!r->n[h] || !wsmon_seen_within(iv, r->s[h].seen_ns, k) ||
			    space_has(now, &j, r->s[h].vpn))
				continue;
			gone_add_seen(g, r->s[h].seen_ns,
				      r->n[h] * min_t(u32, r->out[k][h], WSMON_ONE) >> WSMON_SHIFT);
		}
	}
}

/**
 * wsmon_gone_within - sum what went within a window
 * @g:	what went, up to the interval that ends
 * @iv:	the interval
 * @k:	the window
 */
struct wsmon_went wsmon_gone_within(const struct wsmon_gone *g, const struct wsmon_interval *iv,
				    u32 k)
{
	struct wsmon_went sum = { };
	u32 i;

	for (i = 0; i < WSMON_GONE; i++) {
		if (!wsmon_seen_within(iv, g->past[i].end_ns, k))
			continue;
		sum.least += g->past[i].went.least;
		sum.most += g->past[i].went.most;
	}
	return sum;
}
