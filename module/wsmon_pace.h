/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_pace.h - the CPU budget, and histograms of times
 */
#ifndef WSMON_PACE_H
#define WSMON_PACE_H

/* wsmon_pace.c: keeping within the CPU budget */
/**
 * struct wsmon_pace - how much work a session does, and what it costs
 * @share:	share of max_regions in force (Q15): the smaller of the next two
 * @limit:	share that there is CPU time for
 * @wanted:	share that the precision needs
 * @used:	share that the first round of the present interval works on
 * @first_used:	share that @first_ns is the cost of
 * @last_used:	share that @last_ns is the cost of
 * @step_ns:	sampling interval in force
 * @left_ns:	CPU time the present interval may take
 * @spent_ns:	CPU time it has taken
 * @debt_ns:	CPU time that earlier intervals took above their budget, not yet repaid
 * @first_ns:	expected cost of the first round of an interval
 * @last_ns:	cost of the last such round
 * @check_ns:	expected cost of a round of checks
 * @checks_ns:	cost of the rounds of checks in this interval
 * @checks:	number of rounds of checks in this interval
 * @sharers:	number of sessions that share the budget; 0 is 1
 * @reclaims:	reclaim takes pages of a target, or of a group: rounds must not be left out
 */
struct wsmon_pace {
	u32 share;
	u32 limit;
	u32 wanted;
	u32 used;
	u32 first_used;
	u32 last_used;
	u32 checks;
	u64 step_ns;
	u64 left_ns;
	u64 spent_ns;
	u64 debt_ns;
	u64 first_ns;
	u64 last_ns;
	u64 check_ns;
	u64 checks_ns;
	u32 sharers;
	bool reclaims;
};

/**
 * struct wsmon_stolen - CPU time that a hypervisor took, unseen by the kernel
 * @timed_ns:	work that was timed in short pieces, by the wall clock: recent rounds
 * @taken_ns:	what was taken of it
 * @piece_ns:	likewise, of the present round
 * @stolen_ns:	likewise, what was taken
 */
struct wsmon_stolen {
	u64 timed_ns;
	u64 taken_ns;
	u64 piece_ns;
	u64 stolen_ns;
};

void wsmon_stolen_note(struct wsmon_stolen *s, u64 ns, u64 usual_ns);
u64 wsmon_stolen_spent(struct wsmon_stolen *s, u64 cost_ns, bool seen);

void wsmon_pace_begin(struct wsmon_pace *p, const struct wsmon_attrs *a);
u64 wsmon_pace_needed(const struct wsmon_attrs *a, u64 left_ns);
bool wsmon_pace_may_check(const struct wsmon_pace *p);
bool wsmon_pace_may_look(const struct wsmon_pace *p, u64 looks_ns);
void wsmon_pace_spent(struct wsmon_pace *p, u64 cost_ns, bool first);
void wsmon_pace_next(struct wsmon_pace *p, const struct wsmon_attrs *a, u64 length_ns);

/* wsmon_precision.c: regions as few as the precision allows */
/**
 * struct wsmon_precision - how many regions the precision needs
 * @share:	share of max_regions (Q15)
 * @least:	the share was too small below this, as far as known
 * @ratio:	half-width when @share last changed, in 1/256 of the wanted one
 * @wait:	intervals until the change shows in the half-width
 * @raised:	the change was upwards, by a quarter at least, and is thought to be enough
 * @wide:	half-width of the last estimate if it was much too wide, as @ratio; else 0
 * @faded:	estimates since then that were narrower each time, and passed over
 * @level:	pages of the last estimate that was not much too wide
 * @few:	the share was too small below this, in two estimates in a row
 * @age:	estimates so far, at most those of which nothing is remembered
 * @nr:		estimates in @sum
 * @sum:	sum of the shares that they would need
 */
struct wsmon_precision {
	u32 share;
	u32 least;
	u32 ratio;
	u32 wait;
	bool raised;
	u32 wide;
	u32 faded;
	u64 level;
	u32 few;
	u32 age;
	u32 nr;
	u64 sum;
};

void wsmon_precision_begin(struct wsmon_precision *q);
void wsmon_precision_next(struct wsmon_precision *q, const struct wsmon_attrs *a, u32 used,
			  u64 pages, u64 half);

#define WSMON_HIST_BUCKETS	256

/**
 * struct wsmon_hist - a histogram, four buckets an octave
 * @n:		number of values by wsmon_log2_quarters()
 * @total:	number of values
 * @max:	largest value
 */
struct wsmon_hist {
	u64 n[WSMON_HIST_BUCKETS];
	u64 total;
	u64 max;
};

void wsmon_hist_add(struct wsmon_hist *h, u64 value);
u64 wsmon_hist_percentile(const struct wsmon_hist *h, u32 percent);

#endif /* WSMON_PACE_H */
