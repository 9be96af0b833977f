// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_pace.c - keeping within the CPU budget
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * The thread may use cpu_permille of one CPU. An interval costs its first round,
 * which ends the one before and draws and prepares samples, and then a check
 * for each sampling round. Checks only tell how often within the interval
 * something was accessed, as Accessed bits stay until somebody clears them: so
 * first there are fewer of them, down to those at which a window begins, and
 * then fewer regions. What an interval took too much is a debt the next ones
 * have to pay, so the budget holds over a while, not just on average.
 */
#include "wsmon_pure.h"

/* A debt is forgiven beyond what so many nanoseconds of time would pay */
#define DEBT_NS		((u64)10 * 1000 * 1000 * 1000)

/* More than anything costs, and small enough to be multiplied by a share */
#define UNLIMITED	((u64)1 << 47)

/* Fewer regions than this part of them are of no use */
#define SHARE_MIN	(WSMON_ONE / 1024)

/* Costs beyond six hours are not believed; sums and products stay below 2^63 */
#define COST_MAX	((u64)86400 * 1000 * 1000 * 1000 / 4)

static u64 pace_aggr_ns(const struct wsmon_attrs *a)
{
	return a->aggr_us * 1000;
}

/* CPU time that may be used in a time: a whole CPU is no limit */
static u64 pace_allowed(const struct wsmon_attrs *a, u64 ns)
{
	if (a->cpu_permille == 1000)
		return UNLIMITED;
	return div64_u64(min(ns, COST_MAX), 1000) * a->cpu_permille;
}

/* Windows begin so long before the end of an interval, or at one of them: 0 */
static u64 pace_window_begin(const struct wsmon_attrs *a, u32 k)
{
	u64 w = wsmon_attrs_window(a, k);

	return (w - div64_u64(w, a->aggr_us) * a->aggr_us) * 1000;
}

/**
 * wsmon_pace_needed - when must there be a round, whatever it costs?
 * @a:		the attributes
 * @left_ns:	time to the end of the interval
 *
 * Return: so long before the end, less than @left_ns; 0 is the end.
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

/* Checks in an interval that cannot be left out */
static u64 pace_min_checks(const struct wsmon_attrs *a)
{
	u64 left = wsmon_pace_needed(a, pace_aggr_ns(a)), nr = 0;

	for (; left; left = wsmon_pace_needed(a, left))
		nr++;
	return nr;
}

/* Checks in an interval, its end not included, if there is no need to save */
static u64 pace_max_checks(const struct wsmon_attrs *a)
{
	return max_t(u64, div64_u64(a->aggr_us, a->sample_us), 1) - 1;
}

/**
 * wsmon_pace_begin - nothing is known yet of what things cost
 * @p:	the pace
 * @a:	the attributes
 */
void wsmon_pace_begin(struct wsmon_pace *p, const struct wsmon_attrs *a)
{
	memset(p, 0, sizeof(*p));
	p->share = WSMON_ONE;
	p->step_ns = a->sample_us * 1000;
	p->left_ns = pace_allowed(a, pace_aggr_ns(a));
}

/**
 * wsmon_pace_may_check - is there CPU time left for a round of checks?
 * @p:	the pace
 *
 * What the first round of the interval took is known only after the next one.
 */
bool wsmon_pace_may_check(const struct wsmon_pace *p)
{
	return max(p->spent_ns, p->first_ns) + p->check_ns <= p->left_ns;
}

/**
 * wsmon_pace_spent - what a round took
 * @p:		the pace
 * @cost_ns:	CPU time
 * @first:	it was the first of an interval, or of a target
 */
void wsmon_pace_spent(struct wsmon_pace *p, u64 cost_ns, bool first)
{
	cost_ns = min(cost_ns, COST_MAX);
	p->spent_ns = min(p->spent_ns + cost_ns, COST_MAX);
	if (first) {
		/* dear once is bad luck */
		p->first_ns = min(cost_ns, p->last_ns);
		p->last_ns = cost_ns;
	} else {
		p->checks++;
		p->checks_ns = min(p->checks_ns + cost_ns, COST_MAX);
	}
}

/* Fewer regions if @cost is more than there is, more if it is far less */
static void pace_set_share(struct wsmon_pace *p, u64 cost, u64 avail)
{
	u32 was = p->share;

	/* costs are below 2^51, shares at most 2^15: no overflow */
	if (cost > avail)
		p->share = max_t(u64, SHARE_MIN, div64_u64(was * avail, cost));
	else if (was < WSMON_ONE && cost + cost / 2 < avail)
		p->share = min_t(u32, WSMON_ONE, was + was / 4 + 1);
	/* what is to be expected now */
	p->first_ns = div64_u64(p->first_ns * p->share, was);
	p->check_ns = div64_u64(p->check_ns * p->share, was);
}

/**
 * wsmon_pace_next - an interval is over: how to go about the next
 * @p:		the pace; @share is how many of the regions there may be, @step_ns
 *		the time between rounds
 * @a:		the attributes
 * @length_ns:	how long the interval was
 */
void wsmon_pace_next(struct wsmon_pace *p, const struct wsmon_attrs *a,
		     u64 length_ns)
{
	u64 was = pace_allowed(a, length_ns), avail = pace_allowed(a, pace_aggr_ns(a));
	u64 min_checks = pace_min_checks(a), max_checks = pace_max_checks(a), checks = max_checks;

	p->debt_ns = p->debt_ns + p->spent_ns > was ?
		     p->debt_ns + p->spent_ns - was : 0;
	p->debt_ns = min(p->debt_ns, pace_allowed(a, DEBT_NS));
	/* some is kept back for bad luck */
	avail -= avail / 8 + min(p->debt_ns, avail / 2);
	if (p->checks)
		p->check_ns = div64_u64(p->checks_ns, p->checks);
	else	/* what was too dear may be so no longer */
		p->check_ns -= p->check_ns / 8;

	pace_set_share(p, p->first_ns + min_checks * p->check_ns, avail);
	if (p->check_ns)
		checks = min(max_checks, div64_u64(avail - min(p->first_ns, avail),
						   p->check_ns));
	checks = max(checks, min(min_checks, max_checks));
	p->step_ns = checks == max_checks ? a->sample_us * 1000 :
		     div64_u64(pace_aggr_ns(a), checks + 1);
	p->left_ns = avail;
	p->spent_ns = 0;
	p->checks = 0;
	p->checks_ns = 0;
}

/**
 * wsmon_hist_add - one more
 * @h:		the histogram
 * @value:	what to count
 */
void wsmon_hist_add(struct wsmon_hist *h, u64 value)
{
	h->n[wsmon_log2_quarters(value)]++;
	h->total++;
	h->max = max(h->max, value);
}

/**
 * wsmon_hist_percentile - so many are not above it
 * @h:		the histogram
 * @percent:	how many, 1 to 100
 *
 * Return: a value at most a quarter too high; 0 if there are none.
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
	/* where the next bucket begins; the last octave has none */
	if (i >= WSMON_HIST_BUCKETS - 4)
		return h->max;
	above = (4ULL + (i + 1) % 4) << ((i + 1) / 4) >> 2;
	return min(h->max, above);
}
