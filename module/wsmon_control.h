/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_control.h - peaks, the CPU budget, the precision, and parsing of what users write
 */
#ifndef WSMON_CONTROL_H
#define WSMON_CONTROL_H

#include "wsmon_estimate.h"

/* wsmon_peaks.c: peaks of the working set size */
/* "sigma" judges estimates after the first FIRST, and uses moving averages after the first LEARN */
#define WSMON_PEAK_FIRST	6U
#define WSMON_PEAK_LEARN	32U

/**
 * struct wsmon_detector - state of the search for peaks of a working set size
 * @mean:	moving mean; while "sigma" starts, the median
 * @var:	moving variance; while "sigma" starts, from the median deviation
 * @filtered:	the last value added to the mean: an estimate, damped within a peak
 * @baseline:	@mean when the peak began
 * @var_before:	@var when the peak began
 * @threshold:	the threshold that the peak exceeded when it began: a distance from the mean
 * @height:	the estimate in the peak that is furthest from @baseline, pages
 * @grew:	pages in use that were made huge lately and do not show in the estimates yet
 * @nr:		number of estimates since the start, saturating
 * @lasted:	number of estimates since the last peak began
 * @shift:	exponent of the numbers: see wsmon_peaks.c, wsmon_peak_size()
 * @sign:	1 in a peak upwards, -1 in a peak downwards, else 0
 * @ended:	@sign of the peak that the present estimate ended, else 0
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
void wsmon_peak_skip(struct wsmon_detector *d, const struct wsmon_wss *w);
bool wsmon_peak_begins(struct wsmon_detector *d, const struct wsmon_attrs *a,
		       const struct wsmon_wss *w);
void wsmon_peak_learn(struct wsmon_detector *d, const struct wsmon_attrs *a,
		      const struct wsmon_wss *w);
u64 wsmon_peak_size(const struct wsmon_detector *d, u64 value, u32 bits);

/* wsmon_pace.c: keeping within the CPU budget */
/**
 * struct wsmon_pace - how much work a session does, and its cost in CPU time
 * @share:	share of max_regions in force (Q15): the smaller of @limit and @wanted
 * @limit:	share that the CPU budget allows
 * @wanted:	share that the precision needs
 * @used:	share that the first round of the present interval works on
 * @first_used:	share for which the first round costs @first_ns
 * @last_used:	share for which the first round cost @last_ns
 * @step_ns:	sampling interval in force
 * @left_ns:	CPU time that the present interval may take
 * @spent_ns:	CPU time that the present interval has taken
 * @debt_ns:	CPU time that earlier intervals took above their budget, not yet repaid
 * @first_ns:	expected cost of the first round of an interval
 * @last_ns:	cost of the last first round of an interval
 * @check_ns:	expected cost of a round of checks
 * @checks_ns:	cost of the rounds of checks in this interval
 * @checks:	number of rounds of checks in this interval
 * @sharers:	number of sessions that share the budget; 0 means 1
 * @crowd:	members for which @share was set; it fades while there are far fewer
 * @reclaims:	reclaim takes pages of a target or a group, so rounds must not be left out
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
	u32 crowd;
	bool reclaims;
};

/**
 * struct wsmon_stolen - CPU time that a hypervisor stole, unseen by the kernel
 * @timed_ns:	wall time of the work that was timed in short pieces, in recent rounds
 * @taken_ns:	stolen part of @timed_ns
 * @piece_ns:	wall time of the work that was timed in short pieces, in the present round
 * @stolen_ns:	stolen part of @piece_ns
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
void wsmon_pace_crowd(struct wsmon_pace *p, const struct wsmon_attrs *a, u32 members);
u64 wsmon_pace_needed(const struct wsmon_attrs *a, u64 left_ns);
bool wsmon_pace_may_check(const struct wsmon_pace *p);
bool wsmon_pace_may_look(const struct wsmon_pace *p, u64 looks_ns);
void wsmon_pace_spent(struct wsmon_pace *p, u64 cost_ns, bool first);
void wsmon_pace_next(struct wsmon_pace *p, const struct wsmon_attrs *a, u64 length_ns);

/* wsmon_pace.c: as few regions as the precision allows */
/**
 * struct wsmon_precision - how many regions the precision needs
 * @share:	share of max_regions (Q15)
 * @least:	lower bound of @share: smaller shares are known to be too small; it fades
 * @ratio:	half-width when @share last changed, in 1/256 of the target half-width
 * @wait:	intervals until the change shows in the half-width
 * @raised:	the last change raised the share by a quarter at least, and should be enough
 * @wide:	half-width of the last estimate if it was much too wide, in units of @ratio; else 0
 * @faded:	number of wide estimates in a row that were passed over, each narrower than the last
 * @level:	pages of the last estimate that was not much too wide
 * @few:	shares below this were too small in two estimates in a row; fades more slowly
 * @age:	number of estimates so far, up to the number before shares are remembered
 * @nr:		number of estimates in @sum
 * @sum:	sum of the shares that these estimates would need
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

/* wsmon_parse.c: texts */

/**
 * enum wsmon_key_kind - how the value of an attribute is written
 * @WSMON_KEY_NUMBER:	a decimal number
 * @WSMON_KEY_MILLI:	a number in 1/1000, written with up to three decimals: "5", "0.25"
 * @WSMON_KEY_WINDOWS:	the windows, separated by commas
 * @WSMON_KEY_DETECTOR:	the name of a peak detector
 */
enum wsmon_key_kind {
	WSMON_KEY_NUMBER,
	WSMON_KEY_MILLI,
	WSMON_KEY_WINDOWS,
	WSMON_KEY_DETECTOR,
};

/**
 * struct wsmon_key - an attribute as text: "name=value"
 * @name:	its name
 * @max:	maximum of the number
 * @at:		offset of the number in struct wsmon_attrs
 * @wide:	the number has 64 bits, else 32
 * @kind:	how it is written
 */
struct wsmon_key {
	const char *name;
	u64 max;
	size_t at;
	bool wide;
	enum wsmon_key_kind kind;
};

#define WSMON_NR_KEYS	16U
extern const struct wsmon_key wsmon_keys[WSMON_NR_KEYS];

u64 wsmon_attrs_get(const struct wsmon_attrs *a, const struct wsmon_key *key);
bool wsmon_attrs_same_windows(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
bool wsmon_attrs_same_peaks(const struct wsmon_attrs *a, const struct wsmon_attrs *b);
const char *wsmon_detector_name(u32 detector);
int wsmon_attrs_parse(struct wsmon_attrs *attrs, const char *text, size_t len);
/**
 * struct wsmon_request - the parsed request of a text written to /dev/wsmon
 * @nr_pids:	number of processes to watch
 * @cgroup_word: start of "cgroup=" in the text, which wsmon_attrs_parse() would reject
 * @cgroup:	path of the cgroup, or NULL
 * @cgroup_len:	length of @cgroup in bytes
 * @join:	join the session that began last
 * @stop:	end the session
 * @has_attrs:	the text has attributes
 * @mark:	text of a mark, or NULL
 * @mark_len:	length of @mark in bytes
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
