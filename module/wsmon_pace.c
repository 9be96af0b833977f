// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_pace.c - keeping within the CPU budget; stolen CPU time; the precision
 *
 * Pure: no mm, no allocation, no locks; the caller owns the structures.
 *
 * kwsmond may use cpu_permille of one CPU. The first round of an interval ends the previous
 * interval, draws samples and arms them; each further round checks them. Accessed bits stay set
 * until they are cleared. So checks only serve to count how often pages were accessed within an
 * interval, and to see pages before reclaim takes them. So if CPU time is short, checks are left
 * out first, except at the beginning of a window. Then the number of regions is reduced. If an
 * interval exceeds its budget, the excess is a debt that later intervals repay. So the budget holds
 * over a few seconds, not only over the whole session.
 */

#include "wsmon_control.h"

/* Limit of the debt: the CPU time that is allowed in this period */
#define DEBT_NS		((u64)10 * 1000 * 1000 * 1000)

/* More than any cost, but small enough to be multiplied by a share */
#define UNLIMITED	((u64)1 << 47)

/* Minimum share of regions by the CPU budget: fewer regions are of no use */
#define SHARE_MIN	(WSMON_ONE / 1024)

/* Limit of costs: six hours, so that sums and products stay below 2^63 */
#define COST_MAX	((u64)86400 * 1000 * 1000 * 1000 / 4)

static u64 pace_aggr_ns(const struct wsmon_attrs *a)
{
	return a->aggr_us * 1000;
}

/* CPU time that may be used in a period of @ns; unlimited if a whole CPU is allowed */
static u64 pace_allowed(const struct wsmon_pace *p, const struct wsmon_attrs *a, u64 ns)
{
	if (a->cpu_permille == 1000)
		return UNLIMITED;
	return div64_u64(div64_u64(min(ns, COST_MAX), 1000) * a->cpu_permille,
			 max(p->sharers, 1U));
}

/* Time from the beginning of a window to the next end of an interval; 0 if they coincide */
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
 * Such rounds are at the beginnings of windows and at the end of the interval.
 *
 * Return: the time from the round to the end of the interval, less than @left_ns; 0 if the round
 * is the end.
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

/* Minimum number of checks in an interval: at the beginnings of windows */
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
 * Are rounds needed at the ends of intervals only? With a precision, accesses are counted by
 * intervals, and the working set is the same without rounds within them, unless reclaim takes pages
 * before the interval ends. The second sampler needs the rounds, too.
 */
static bool pace_ends_only(const struct wsmon_pace *p, const struct wsmon_attrs *a)
{
	return a->precision && !a->who_rate && !p->reclaims;
}

/* With more sessions than this, each begins with a part of its regions */
#define BEGIN_WHOLE	4U

/**
 * wsmon_pace_begin - set the pace of the first interval, without knowledge of costs
 * @p:	the pace; on entry only @sharers and @reclaims are set
 * @a:	the attributes
 */
void wsmon_pace_begin(struct wsmon_pace *p, const struct wsmon_attrs *a)
{
	u32 limit = a->cpu_permille < 1000 && p->sharers > BEGIN_WHOLE ?
		    WSMON_ONE * BEGIN_WHOLE / p->sharers : WSMON_ONE;

	*p = (struct wsmon_pace){
		.share = limit,
		.limit = limit,
		.wanted = WSMON_ONE,
		.used = WSMON_ONE,
		.step_ns = pace_ends_only(p, a) ? pace_aggr_ns(a) : a->sample_us * 1000,
		.sharers = p->sharers,
		.reclaims = p->reclaims,
	};
	p->left_ns = pace_allowed(p, a, pace_aggr_ns(a));
}

/* Members of which all regions are expected to fit into the budget */
#define CROWD_FEW	64U
/* Minimum share of the regions to begin with */
#define CROWD_SHARE	(WSMON_ONE / 8)
/* Members that ended are forgotten by 1 / CROWD_FADE an interval, so that bursts reduce once */
#define CROWD_FADE	16U

/**
 * wsmon_pace_crowd - begin with fewer regions if a group has many members, or gets many
 * @p:		the pace
 * @a:		the attributes
 * @members:	number of members now
 *
 * A region costs more the more members map its memory, and each member costs something. What they
 * cost is known only two intervals later.
 */
void wsmon_pace_crowd(struct wsmon_pace *p, const struct wsmon_attrs *a, u32 members)
{
	u32 known = max(p->crowd, CROWD_FEW), limit;

	if (members > known + known / 2) {
		limit = max_t(u64, div64_u64((u64)p->limit * known, members), CROWD_SHARE);
		if (a->cpu_permille < 1000)
			p->limit = min(p->limit, limit);
		p->share = min(p->limit, p->wanted);
		p->crowd = members;
	} else if (members < known / 2) {
		p->crowd -= p->crowd / CROWD_FADE;
	}
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
 * wsmon_pace_may_look - tell whether there is CPU time left for a look at an exiting process
 * @p:		the pace
 * @looks_ns:	CPU time of looks that are not accounted for yet
 *
 * With such looks, an interval may take twice its budget. Later intervals repay this with fewer
 * regions.
 */
bool wsmon_pace_may_look(const struct wsmon_pace *p, u64 looks_ns)
{
	return max(p->spent_ns, p->first_ns) + looks_ns + p->check_ns <= 2 * p->left_ns;
}

/**
 * wsmon_pace_spent - account for a round
 * @p:		the pace
 * @cost_ns:	CPU time
 * @first:	this was the first round of an interval, or of a target
 */
void wsmon_pace_spent(struct wsmon_pace *p, u64 cost_ns, bool first)
{
	cost_ns = min(cost_ns, COST_MAX);
	p->spent_ns = min(p->spent_ns + cost_ns, COST_MAX);
	if (first) {
		/* use the smaller of the last two costs: a single high cost may be bad luck */
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
 * Reduce the share of regions if @cost exceeds @avail; raise it if @cost is less. The cost of a
 * share is known only several intervals after the share was set. So the share that fits is computed
 * from the share that caused the known cost: this makes shares settle instead of oscillating. While
 * a debt is repaid, the share is raised only if more than twice as much fits. It must be raised
 * then: on a busy machine there may always be some debt, and the share would only fall.
 */
static void pace_set_share(struct wsmon_pace *p, u64 cost, u64 avail)
{
	/* no overflow: @avail is at most 2^47, shares are at most 2^15 */
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
 * @length_ns:	length of the interval that ended
 */
void wsmon_pace_next(struct wsmon_pace *p, const struct wsmon_attrs *a,
		     u64 length_ns)
{
	u64 was = pace_allowed(p, a, length_ns), avail = pace_allowed(p, a, pace_aggr_ns(a));
	u64 min_checks = pace_min_checks(a), max_checks = pace_max_checks(a), checks = max_checks;

	p->debt_ns = p->debt_ns + p->spent_ns > was ?
		     p->debt_ns + p->spent_ns - was : 0;
	p->debt_ns = min(p->debt_ns, pace_allowed(p, a, DEBT_NS));
	/* keep an eighth in reserve, and repay the debt with up to half of the budget */
	avail -= avail / 8 + min(p->debt_ns, avail / 2);
	if (p->checks)
		p->check_ns = div64_u64(p->checks_ns, p->checks);
	else	/* no checks, perhaps as they were too expensive: assume that they become cheaper */
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
 * CPU time that a hypervisor steals
 *
 * If other guests or processes want the processor, a hypervisor takes it away for some milliseconds
 * at a time. If the kernel is not told, as under emulation, it charges this time to the running
 * thread. Most of a round is done in pieces of far less than a millisecond, and each piece is
 * timed. A piece that took far longer, although its thread was not switched out, was interrupted.
 * The rest of the round is assumed to lose the same part of its time as timed pieces lost recently.
 */

/* A piece that took this many times its usual time was interrupted */
#define STOLEN_TIMES	16U

/* Recent rounds: about this many */
#define STOLEN_ROUNDS	64U

/* At most 15/16 of the time is assumed to be stolen */
#define STOLEN_ONE	1024U
#define STOLEN_MAX	(STOLEN_ONE - STOLEN_ONE / 16)

/**
 * wsmon_stolen_note - note how long a piece of work took
 * @s:		the stolen time
 * @ns:		wall time; the thread was not switched out meanwhile
 * @usual_ns:	the time that a piece usually takes at most
 */
void wsmon_stolen_note(struct wsmon_stolen *s, u64 ns, u64 usual_ns)
{
	ns = min(ns, COST_MAX);
	s->piece_ns = min(s->piece_ns + ns, COST_MAX);
	if (ns >= STOLEN_TIMES * usual_ns)
		s->stolen_ns = min(s->stolen_ns + ns - usual_ns, COST_MAX);
}

/**
 * wsmon_stolen_spent - compute the CPU time of a round without stolen time
 * @s:		the stolen time; reset for the next round
 * @cost_ns:	CPU time of the thread, as the kernel counts it
 * @seen:	the kernel is told about stolen time, so @cost_ns does not include it
 *
 * Return: the CPU time, ns; at least 1/16 of @cost_ns.
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
	/* sums are at most 2^6 times COST_MAX, which is below 2^45 */
	s->timed_ns += timed - s->timed_ns / STOLEN_ROUNDS;
	s->taken_ns += taken - s->taken_ns / STOLEN_ROUNDS;
	if (s->timed_ns)
		share = div64_u64(min(s->taken_ns, s->timed_ns) * STOLEN_ONE, s->timed_ns);
	share = min_t(u64, share, STOLEN_MAX);
	return max(cost - taken - (cost - timed) * share / STOLEN_ONE,
		   cost * (STOLEN_ONE - STOLEN_MAX) / STOLEN_ONE);
}

/*
 * As few regions as the target precision allows
 *
 * If pages are accessed without a pattern, halving the half-width of the confidence interval takes
 * four times as many regions. So the half-width of an estimate and the number of its regions tell
 * how many regions are needed. If there is a pattern, fewer regions are enough: then each step down
 * leads to a further step, until the interval would be too wide. A change takes a while to show,
 * because regions are split and merged at the end of an interval, and their samples must serve a
 * window first. A share that was too small in two estimates in a row is remembered, so that it is
 * not tried again and again.
 *
 * Half-widths vary by chance, and often a single region has new accesses, and splitting this region
 * is enough. So an estimate that is much too wide raises the share by only a quarter. If the next
 * estimate is much too wide, too, it sets the share to a quarter more than it needs. Small changes
 * follow from the mean of several estimates. So if accesses have no pattern, the average half-width
 * is a little below the target.
 */

/* Minimum target of the half-width, in pages: 256 KiB */
#define FLOOR		64U

/* Minimum share by the precision: enough places in cold memory to notice new accesses */
#define SHARE_LEAST	(WSMON_ONE / 8)

/* The trace of a burst in histories fades by about 1/16 an estimate; fading is at least 1/FADES */
#define FADES		32U
/* Maximum number of fading estimates that are passed over: afterwards more regions help sooner */
#define FADES_MAX	6U

/* Limit of sizes, so that products stay below 2^63 */
#define PAGES_MAX	((u64)1 << 50)

/* A change shows this many intervals after regions have been split and merged */
#define SHOWS_AFTER	2U
#define WAIT_MAX	1000U

/* In the first intervals, regions have had few draws, and the doubts about them do not last */
#define YOUTH		32U

/*
 * The bound set by a share that was too small falls by 1 / FORGET of it an interval. So after about
 * FORGET / 7 intervals a share an eighth smaller may be tried again.
 */
#define FORGET		1024U

/* Half-widths are compared in units of the target half-width / RATIO_ONE */
#define RATIO_ONE	256U
#define RATIO_MAX	(64 * RATIO_ONE)

/* Small changes follow from the mean of this many estimates */
#define MEAN_OF		8U
/* Minimum small change, as a part of the share: larger to retry a share that was too small */
#define CHANGE_LEAST	16U
#define CHANGE_AGAIN	8U

/** wsmon_precision_begin - begin with a share of all regions */
void wsmon_precision_begin(struct wsmon_precision *q)
{
	memset(q, 0, sizeof(*q));
	q->share = WSMON_ONE;
	q->least = SHARE_LEAST;
}

/*
 * Number of intervals until a change shows. Regions are split and merged when their samples have
 * served the longest window. If this window is longer than an interval, regions take turns, and
 * merging waits for a second turn.
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

/* If the confidence interval is much too wide, must the share rise at once? */
static bool precision_must_rise(const struct wsmon_precision *q, u32 ratio)
{
	if (q->share == WSMON_ONE)
		return false;
	/* wait until a large rise shows, unless the target changes and the half-width grows */
	return !q->wait || !q->raised || ratio > q->ratio + q->ratio / 4;
}

/**
 * wsmon_precision_next - set the share of regions for the next interval
 * @q:		the precision; sets @share
 * @a:		the attributes
 * @used:	share of max_regions that the estimate was made with
 * @pages:	the estimate of the shortest window
 * @half:	the half-width of its confidence interval, in pages
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
	/* fewer regions may be used, for lack of CPU time, or more, as some cannot be merged */
	used = min(used, q->share);
	/* aim a little below the target: 16 / 15 is about (1 + 1 / 31)^2 */
	need = min_t(u64, div64_u64((u64)used * ratio * ratio / 15 * 16, RATIO_ONE * RATIO_ONE),
		     2 * WSMON_ONE);
	q->wait -= !!q->wait;
	q->least = max_t(u32, q->least - q->least / FORGET, SHARE_LEAST);

	wide = ratio > RATIO_ONE + RATIO_ONE / 8;
	/* @few fades more slowly than @least: remember it for longer than it bounds the share */
	q->few -= q->few / (4 * FORGET);
	q->age = min(q->age + 1, YOUTH);
	/*
	 * Pass over an estimate if the size is as before the burst and the half-width fades: only
	 * the histories still contain the burst.
	 */
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
	/* one wide estimate may be due to chance, unobserved memory, or regions that just moved */
	again = wide && q->wide;
	known = wide && used < q->few;
	q->wide = wide ? ratio : 0;
	if (known)
		q->least = max(q->least, min(q->few, used + used / 4));
	if (again && q->share < WSMON_ONE && q->age == YOUTH)
		q->few = max(q->few, min_t(u32, used + used / 4, WSMON_ONE));
	/* a share that was too small before may be enough now: let the next estimate decide */
	if ((again || (wide && !known)) && precision_must_rise(q, ratio)) {
		/* the regions have not adapted to the change yet, so @need may be too low */
		need = max(again ? need + need / 4 : 0, q->share + q->share / 4);
		precision_set(q, a, min_t(u32, need, WSMON_ONE), ratio);
		/* after a single wide estimate, the next estimate may raise the share further */
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
