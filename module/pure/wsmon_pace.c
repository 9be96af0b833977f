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
#include "wsmon_pure.h"

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

/**
 * wsmon_hist_add - add a value to a histogram
 * @h:		the histogram
 * @value:	the value
 */
void wsmon_hist_add(struct wsmon_hist *h, u64 value)
{
	h->n[wsmon_log2_quarters(value)]++;
	h->total++;
	h->max = max(h->max, value);
}

/**
 * wsmon_hist_percentile - return an upper bound of a percentile
 * @h:		the histogram
 * @percent:	1 to 100
 *
 * Return: the bound, at most a quarter too high; 0 if the histogram is empty.
 */
u64 wsmon_hist_percentile(const struct wsmon_hist *h, u32 percent)
{
	u64 want = div64_u64(h->total * percent + 99, 100), sum = 0, above;
	u32 i;

	for (i = 0; i < WSMON_HIST_BUCKETS; i++) {
		sum += h->n[i];
		if (sum >= want)
			break;
	}
	/* the bound is where the next bucket begins; the last octave has none */
	if (i >= WSMON_HIST_BUCKETS - 4)
		return h->max;
	above = (4ULL + (i + 1) % 4) << ((i + 1) / 4) >> 2;
	return min(h->max, above);
}
