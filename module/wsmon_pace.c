// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_pace.c - keeping within the CPU budget; what was stolen; percentiles of times
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * kwsmond may use cpu_permille of one CPU. The cost of an interval is that of its first
 * round, which ends the interval before and draws and arms samples, and that of a check
 * for each further round. Accessed bits stay set until they are cleared, so checks only
 * find out how often something was accessed within an interval, and see what reclaim takes
 * before it ends. So when CPU time is
 * short, checks are left out first, except those at which a window begins. Then regions
 * become fewer. What an interval takes above its budget is a debt that later intervals
 * repay, so the budget holds over a few seconds, not only on average.
 */

#include "wsmon_control.h"

/* A debt is limited to the CPU time that is allowed in this period */
#define DEBT_NS		((u64)10 * 1000 * 1000 * 1000)

/* More than any cost, but small enough to be multiplied by a share */
#define UNLIMITED	((u64)1 << 47)

/* The share of regions is not reduced further: fewer regions are of no use */
#define SHARE_MIN	(WSMON_ONE / 1024)

/* Costs are limited to six hours, so that sums and products stay below 2^63 */
#define COST_MAX	((u64)86400 * 1000 * 1000 * 1000 / 4)

static u64 pace_aggr_ns(const struct wsmon_attrs *a)
{
	return a->aggr_us * 1000;
}

/* CPU time that may be used in a period; a whole CPU is no limit */
static u64 pace_allowed(const struct wsmon_pace *p, const struct wsmon_attrs *a, u64 ns)
{
	if (a->cpu_permille == 1000)
		return UNLIMITED;
	return div64_u64(div64_u64(min(ns, COST_MAX), 1000) * a->cpu_permille,
			 max(p->sharers, 1U));
}

/* Time from the beginning of a window to the next boundary; 0: they coincide */
static u64 pace_window_begin(const struct wsmon_attrs *a, u32 k)
{
	u64 w = a->windows_us[k];

	return (w - div64_u64(w, a->aggr_us) * a->aggr_us) * 1000;
}

/**
 * wsmon_pace_needed - find the next round that is needed even if no CPU time is left
 * @a:		the attributes
 * @left_ns:	time to the end of the interval
 *
 * Return: the time from that round to the end of the interval, less than @left_ns; 0 if
 * it is the end.
 */
u64 wsmon_pace_needed(const struct wsmon_attrs *a, u64 left_ns)
{
	u64 next = 0;
	u32 k;

	for (k = 0; k < a->nr_windows; k++) {
		u64 ns = pace_window_begin(a, k);

		if (ns < left_ns)
			next = max(next, ns);
	}
	return next;
}

/* Number of checks in an interval that are needed */
static u64 pace_min_checks(const struct wsmon_attrs *a)
{
	u64 left = wsmon_pace_needed(a, pace_aggr_ns(a)), nr = 0;

	for (; left; left = wsmon_pace_needed(a, left))
		nr++;
	return nr;
}

/* Maximum number of checks in an interval, without its end */
static u64 pace_max_checks(const struct wsmon_attrs *a)
{
	return max_t(u64, div64_u64(a->aggr_us, a->sample_us), 1) - 1;
}

/*
 * With a precision, accesses are counted by intervals, and rounds within them are left out:
 * the working set is the same, unless reclaim takes pages before the interval ends. The second
 * sampler needs them, too.
 */
static bool pace_ends_only(const struct wsmon_pace *p, const struct wsmon_attrs *a)
{
	return a->precision && !a->who_rate && !p->reclaims;
}

/**
 * wsmon_pace_begin - begin without knowledge of costs
 * @p:	the pace; only @sharers and @reclaims are set
 * @a:	the attributes
 */
void wsmon_pace_begin(struct wsmon_pace *p, const struct wsmon_attrs *a)
{
	*p = (struct wsmon_pace){
		.share = WSMON_ONE,
		.limit = WSMON_ONE,
		.wanted = WSMON_ONE,
		.used = WSMON_ONE,
		.step_ns = pace_ends_only(p, a) ? pace_aggr_ns(a) : a->sample_us * 1000,
		.sharers = p->sharers,
		.reclaims = p->reclaims,
	};
	p->left_ns = pace_allowed(p, a, pace_aggr_ns(a));
}

/**
 * wsmon_pace_may_check - tell whether there is CPU time left for a round of checks
 * @p:	the pace
 *
 * The cost of the first round of the interval is known only after the next round.
 */
bool wsmon_pace_may_check(const struct wsmon_pace *p)
{
	return max(p->spent_ns, p->first_ns) + p->check_ns <= p->left_ns;
}

/**
 * wsmon_pace_may_look - tell whether there is CPU time left for a look at a process that ends
 * @p:		the pace
 * @looks_ns:	what looks took that are not accounted for yet
 *
 * An interval may take twice its time for that. Later ones repay it, with fewer regions.
 */
bool wsmon_pace_may_look(const struct wsmon_pace *p, u64 looks_ns)
{
	return max(p->spent_ns, p->first_ns) + looks_ns + p->check_ns <= 2 * p->left_ns;
}

/**
 * wsmon_pace_spent - account for a round
 * @p:		the pace
 * @cost_ns:	CPU time
 * @first:	it was the first round of an interval, or of a target
 */
void wsmon_pace_spent(struct wsmon_pace *p, u64 cost_ns, bool first)
{
	cost_ns = min(cost_ns, COST_MAX);
	p->spent_ns = min(p->spent_ns + cost_ns, COST_MAX);
	if (first) {
		/* use the smaller of the last two costs: one that is high may be bad luck */
		p->first_ns = min(cost_ns, p->last_ns);
		p->first_used = cost_ns < p->last_ns ? p->used : p->last_used;
		p->last_ns = cost_ns;
		p->last_used = p->used;
	} else {
		p->checks++;
		p->checks_ns = min(p->checks_ns + cost_ns, COST_MAX);
	}
}

/*
 * Reduce the share of regions if @cost is more than @avail; raise it if less. The cost of
 * a share is known only intervals after it was set. So what fits is computed from the
 * share that was paid for: then shares settle, in place of going up and down for ever.
 * While debts are repaid, they are raised only if far more fit: on a busy machine there
 * may always be some debt, and shares would only go down.
 */
static void pace_set_share(struct wsmon_pace *p, u64 cost, u64 avail)
{
	/* @avail is at most 2^47, shares at most 2^15: no overflow */
	u64 used = clamp_t(u32, p->first_used, 1, WSMON_ONE);
	u64 fit = min_t(u64, div64_u64(used * avail, max_t(u64, cost, 1)), WSMON_ONE);
	u32 was = p->share;

	if (cost > avail)
		p->limit = max_t(u64, min_t(u64, fit, p->limit), SHARE_MIN);
	else if (p->debt_ns ? p->limit < fit / 2 :
		 fit == WSMON_ONE || p->limit + p->limit / 8 < fit)
		p->limit = min_t(u64, fit, p->limit + p->limit / 4 + 1);
	p->share = min(p->limit, p->wanted);
	/* expect costs in proportion to the share */
	p->first_ns = div64_u64(p->first_ns * p->share, was);
	p->first_used = div64_u64((u64)p->first_used * p->share, was);
	p->check_ns = div64_u64(p->check_ns * p->share, was);
}

/**
 * wsmon_pace_next - set the pace of the next interval
 * @p:		the pace; sets @share and @step_ns
 * @a:		the attributes
 * @length_ns:	length of the interval that is over
 */
void wsmon_pace_next(struct wsmon_pace *p, const struct wsmon_attrs *a,
		     u64 length_ns)
{
	u64 was = pace_allowed(p, a, length_ns), avail = pace_allowed(p, a, pace_aggr_ns(a));
	u64 min_checks = pace_min_checks(a), max_checks = pace_max_checks(a), checks = max_checks;

	p->debt_ns = p->debt_ns + p->spent_ns > was ?
		     p->debt_ns + p->spent_ns - was : 0;
	p->debt_ns = min(p->debt_ns, pace_allowed(p, a, DEBT_NS));
	/* keep some in reserve */
	avail -= avail / 8 + min(p->debt_ns, avail / 2);
	if (p->checks)
		p->check_ns = div64_u64(p->checks_ns, p->checks);
	else	/* checks that were too expensive may have become cheaper */
		p->check_ns -= p->check_ns / 8;

	pace_set_share(p, p->first_ns + min_checks * p->check_ns, avail);
	if (p->check_ns)
		checks = min(max_checks, div64_u64(avail - min(p->first_ns, avail),
						   p->check_ns));
	checks = max(checks, min(min_checks, max_checks));
	p->step_ns = checks == max_checks ? a->sample_us * 1000 :
		     div64_u64(pace_aggr_ns(a), checks + 1);
	if (pace_ends_only(p, a))
		p->step_ns = pace_aggr_ns(a);
	p->left_ns = avail;
	p->spent_ns = 0;
	p->checks = 0;
	p->checks_ns = 0;
}

/*
 * What a hypervisor takes
 *
 * Where other guests or processes want the processor, too, a hypervisor takes it away for some
 * milliseconds at a time. A kernel that is not told, as under emulation, charges that to whoever
 * was running. Most of a round is done in pieces of far less than a millisecond, and each
 * is timed. One that took far longer, though its thread was not switched out, was interrupted.
 * What the rest of the round lost follows from the part that timed work lost recently.
 */

/* A piece that took so many times its usual time was interrupted */
#define STOLEN_TIMES	16U

/* Rounds that count as recent, about */
#define STOLEN_ROUNDS	64U

/* Not more than 15/16 are thought to be stolen */
#define STOLEN_ONE	1024U
#define STOLEN_MAX	(STOLEN_ONE - STOLEN_ONE / 16)

/**
 * wsmon_stolen_note - note how long a piece of work took
 * @s:		what was stolen
 * @ns:		wall time; the thread was not switched out meanwhile
 * @usual_ns:	the time that a piece takes at most, about
 */
void wsmon_stolen_note(struct wsmon_stolen *s, u64 ns, u64 usual_ns)
{
	ns = min(ns, COST_MAX);
	s->piece_ns = min(s->piece_ns + ns, COST_MAX);
	if (ns >= STOLEN_TIMES * usual_ns)
		s->stolen_ns = min(s->stolen_ns + ns - usual_ns, COST_MAX);
}

/**
 * wsmon_stolen_spent - return what a round has spent itself
 * @s:		what was stolen; begins with the next round
 * @cost_ns:	CPU time of the thread, as the kernel counts it
 * @seen:	the kernel is told what is stolen, and @cost_ns is without it
 */
u64 wsmon_stolen_spent(struct wsmon_stolen *s, u64 cost_ns, bool seen)
{
	u64 cost = min(cost_ns, COST_MAX);
	u64 timed = min(s->piece_ns, cost), taken = min(s->stolen_ns, timed), share = 0;

	s->piece_ns = 0;
	s->stolen_ns = 0;
	if (seen) {
		s->timed_ns = 0;
		s->taken_ns = 0;
		return cost;
	}
	/* at most 2^6 times COST_MAX, which is below 2^45 */
	s->timed_ns += timed - s->timed_ns / STOLEN_ROUNDS;
	s->taken_ns += taken - s->taken_ns / STOLEN_ROUNDS;
	if (s->timed_ns)
		share = div64_u64(min(s->taken_ns, s->timed_ns) * STOLEN_ONE, s->timed_ns);
	share = min_t(u64, share, STOLEN_MAX);
	return max(cost - taken - (cost - timed) * share / STOLEN_ONE,
		   cost * (STOLEN_ONE - STOLEN_MAX) / STOLEN_ONE);
}

/*
 * Regions as few as the wanted precision allows
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structure.
 *
 * Where pages are accessed without order, half the half-width takes four times the regions.
 * So from the half-width of an estimate, and the regions it was made with, follows how many
 * are needed. Where order is found, fewer are enough; then each step down leads to another
 * one, until the interval would be too wide. A change takes a while to show: regions are
 * split and merged at the end of an interval, and their samples serve a window first. A
 * share that was too small twice is remembered, so that it is not tried again and again.
 *
 * Half-widths vary by chance, and often one region found something new, and splitting it is enough.
 * So one that is much too wide leads to a quarter more regions, and only the next one, if it is,
 * too, to a quarter more than it says. Small changes follow from the mean of several. So where
 * accesses have no order, the half-width is a little below what is wanted on average.
 */

/* No half-width below this is wanted, in pages: 256 KiB */
#define FLOOR		64U

/*
 * The share is not reduced further: what is cold must still be looked at in so many places
 * that new accesses are noticed
 */
#define SHARE_LEAST	(WSMON_ONE / 8)

/* What a burst leaves in the past of regions fades by about 1/16 an estimate, at least 1/FADES */
#define FADES		32U
/* Estimates of a burst that are passed over, at most: after these, more regions help sooner */
#define FADES_MAX	6U

/* Sizes are limited to 2^50 pages, so that products stay below 2^63 */
#define PAGES_MAX	((u64)1 << 50)

/* A change shows when regions have followed, and so many intervals */
#define SHOWS_AFTER	2U
#define WAIT_MAX	1000U

/* Before so many intervals regions have had few draws, and doubts that do not last */
#define YOUTH		32U

/* What was too few may be tried again, an eighth below, after a seventh of so many intervals */
#define FORGET		1024U

/* Half-widths are compared in units of the wanted one / RATIO_ONE */
#define RATIO_ONE	256U
#define RATIO_MAX	(64 * RATIO_ONE)

/* Small changes follow from the mean of so many estimates */
#define MEAN_OF		8U
/* They change the share by a sixteenth of it at least, or an eighth to try what was too few */
#define CHANGE_LEAST	16U
#define CHANGE_AGAIN	8U

/**
 * wsmon_precision_begin - begin with all regions
 * @q:	the precision
 */
void wsmon_precision_begin(struct wsmon_precision *q)
{
	memset(q, 0, sizeof(*q));
	q->share = WSMON_ONE;
	q->least = SHARE_LEAST;
}

/*
 * Regions are split and merged when their samples have served the longest window. If that
 * is longer than an interval, they take turns, and merging waits for a second turn.
 */
static u32 precision_wait(const struct wsmon_attrs *a)
{
	u64 longest = div64_u64(a->windows_us[a->nr_windows - 1] + a->aggr_us - 1, a->aggr_us);

	return min_t(u64, longest > 1 ? 2 * longest : 1, WAIT_MAX) + SHOWS_AFTER;
}

static void precision_set(struct wsmon_precision *q, const struct wsmon_attrs *a, u32 share,
			  u32 ratio)
{
	q->raised = share >= q->share + q->share / 4;
	q->share = share;
	q->ratio = ratio;
	q->wait = precision_wait(a);
	q->nr = 0;
	q->sum = 0;
}

/* Must there be more regions at once? The interval is much too wide. */
static bool precision_must_rise(const struct wsmon_precision *q, u32 ratio)
{
	if (q->share == WSMON_ONE)
		return false;
	/* a large change upwards has to show, unless the target changes meanwhile */
	return !q->wait || !q->raised || ratio > q->ratio + q->ratio / 4;
}

/**
 * wsmon_precision_next - set the share of regions for the next interval
 * @q:		the precision; sets @share
 * @a:		the attributes
 * @used:	share of max_regions that the estimate was made with
 * @pages:	the estimate of the shortest window
 * @half:	the half-width of its interval, in pages
 */
void wsmon_precision_next(struct wsmon_precision *q, const struct wsmon_attrs *a, u32 used,
			  u64 pages, u64 half)
{
	u32 ratio, change, need;
	bool wide, again, known;
	u64 wanted;

	if (!a->precision) {
		q->share = WSMON_ONE;
		return;
	}
	wanted = max_t(u64, div64_u64(min(pages, PAGES_MAX) * a->precision, 1000), FLOOR);
	ratio = min_t(u64, div64_u64(min(half, PAGES_MAX) * RATIO_ONE, wanted), RATIO_MAX);
	/* there may be fewer, for want of CPU time, or more, as some cannot be merged */
	used = min(used, q->share);
	/* aim a little below what is wanted: 16 / 15 is (1 + 1 / 31)^2 */
	need = min_t(u64, div64_u64((u64)used * ratio * ratio / 15 * 16, RATIO_ONE * RATIO_ONE),
		     2 * WSMON_ONE);
	q->wait -= !!q->wait;
	q->least = max_t(u32, q->least - q->least / FORGET, SHARE_LEAST);

	wide = ratio > RATIO_ONE + RATIO_ONE / 8;
	/* remembered for longer than it bounds the share */
	q->few -= q->few / (4 * FORGET);
	q->age = min(q->age + 1, YOUTH);
	/* of the size that was there, this is left of a burst, in what earlier draws say */
	if (wide && ratio < q->wide - q->wide / FADES && q->faded < FADES_MAX &&
	    max(pages, q->level) - min(pages, q->level) <= half) {
		q->wide = ratio;
		q->faded++;
		return;
	}
	if (!wide) {
		q->level = pages;
		q->faded = 0;
	}
	/* once may be chance, memory that could not be looked at, or regions that just moved */
	again = wide && q->wide;
	known = wide && used < q->few;
	q->wide = wide ? ratio : 0;
	if (known)
		q->least = max(q->least, min(q->few, used + used / 4));
	if (again && q->share < WSMON_ONE && q->age == YOUTH)
		q->few = max(q->few, min_t(u32, used + used / 4, WSMON_ONE));
	/* where the share was too small before, it may be enough now: the next estimate decides */
	if ((again || (wide && !known)) && precision_must_rise(q, ratio)) {
		/* regions do not follow the change yet, so this may be too few */
		need = max(again ? need + need / 4 : 0, q->share + q->share / 4);
		precision_set(q, a, min_t(u32, need, WSMON_ONE), ratio);
		/* the next estimate may say that it takes more */
		q->raised &= again;
		return;
	}
	if (wide || q->wait)
		return;
	q->sum += need;
	q->nr++;
	if (need > q->share / 2) {
		if (q->nr < MEAN_OF)
			return;
		need = div64_u64(q->sum, q->nr);
	}
	q->nr = 0;
	q->sum = 0;
	change = q->share / (need < q->least ? CHANGE_AGAIN : CHANGE_LEAST);
	need = min_t(u32, max(need, max(q->share / 2, q->least)), WSMON_ONE);
	if (need >= q->share + change || need <= q->share - change)
		precision_set(q, a, need, ratio);
}
