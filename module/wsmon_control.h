/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_control.h - peaks, the CPU budget, the precision, and what people write
 */
#ifndef WSMON_CONTROL_H
#define WSMON_CONTROL_H

#include "wsmon_estimate.h"

/* wsmon_peaks.c: when the working set size is unusual */
/* "sigma" judges after FIRST estimates, and by moving mean and variance after LEARN */
#define WSMON_PEAK_FIRST	6U
#define WSMON_PEAK_LEARN	32U

/**
 * struct wsmon_detector - state of the search for peaks of a working set size
 * @mean:	moving mean; while "sigma" starts, the median
 * @var:	moving variance; while "sigma" starts, from the median deviation
 * @filtered:	the last estimate as it entered the mean: damped within a peak
 * @baseline:	@mean when the peak began
 * @var_before:	@var when the peak began
 * @threshold:	distance from the mean that made it a peak
 * @height:	the estimate in the peak that is furthest from @baseline, pages
 * @grew:	pages that were made huge pages lately, by which estimates have not grown yet
 * @nr:		estimates since the start, saturating
 * @lasted:	estimates since the last peak began
 * @shift:	exponent of the numbers: see wsmon_peaks.c, wsmon_peak_size()
 * @sign:	1 in a peak upwards, -1 in one downwards, else 0
 * @ended:	@sign of the peak that this estimate ended, else 0
 * @first:	the first estimates, for the median
 */
struct wsmon_detector {
	u64 mean;
	u64 var;
	u64 filtered;
	u64 baseline;
	u64 var_before;
	u64 threshold;
	u64 height;
	u64 grew;
	u32 nr;
	u32 lasted;
	u32 shift;
	s8 sign;
	s8 ended;
	u32 first[WSMON_PEAK_LEARN];
};

u64 wsmon_peak_threshold(const struct wsmon_detector *d, const struct wsmon_attrs *a);
bool wsmon_peak_ends(struct wsmon_detector *d, const struct wsmon_attrs *a,
		     const struct wsmon_wss *w);
bool wsmon_peak_begins(struct wsmon_detector *d, const struct wsmon_attrs *a,
		       const struct wsmon_wss *w);
void wsmon_peak_learn(struct wsmon_detector *d, const struct wsmon_attrs *a,
		      const struct wsmon_wss *w);
u64 wsmon_peak_size(const struct wsmon_detector *d, u64 value, u32 bits);

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

/* wsmon_pace.c: regions as few as the precision allows */
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

bool wsmon_attrs_same_windows(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
bool wsmon_attrs_same_peaks(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
const char *wsmon_detector_name(u32 detector);
int wsmon_attrs_parse(struct wsmon_attrs *attrs, const char *text, size_t len);
/**
 * struct wsmon_request - what a text written to /dev/wsmon asks for
 * @nr_pids:	number of processes to watch
 * @cgroup_word: begin of "cgroup=" in the text, which wsmon_attrs_parse() would not take
 * @cgroup:	path of the cgroup, or NULL
 * @cgroup_len:	its length in bytes
 * @join:	to join the session that began last
 * @stop:	to end the session
 * @has_attrs:	it has attributes
 * @mark:	text of a mark, or NULL
 * @mark_len:	its length in bytes
 */
struct wsmon_request {
	u32 nr_pids;
	char *cgroup_word;
	const char *cgroup;
	size_t cgroup_len;
	bool join;
	bool stop;
	bool has_attrs;
	const char *mark;
	size_t mark_len;
};

int wsmon_request_parse(struct wsmon_request *req, u32 *pids, u32 max, char *text, size_t len);
int wsmon_pids_parse(u32 *pids, unsigned int max, const char *text, size_t len);
const char *wsmon_class_name(u32 class);
const char *wsmon_peak_group_name(u32 group);

#endif /* WSMON_CONTROL_H */
