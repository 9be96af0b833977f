/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_gone.h - memory that was used and given back within a window: see wsmon_gone.c
 */
#ifndef WSMON_GONE_H
#define WSMON_GONE_H

struct wsmon_interval;
struct wsmon_regions;
struct wsmon_space;

/**
 * struct wsmon_counts - what the kernel counts of a process, or has counted so far
 * @anon:	pages of anonymous memory, those in swap too
 * @files:	resident pages of files and of shared memory
 * @peak:	the most pages that were resident
 * @faults:	minor faults; U64_MAX: not known
 * @huge:	faults of all processes that made a huge page
 * @huge_pages:	pages of one
 * @hints:	faults of all processes that found their page mapped, as somebody wanted to know
 * @forks:	forks
 * @fork_pages:	anonymous pages at the last one: as many faults may copy a page
 * @used:	pages that were accessed in the last interval, at least
 */
struct wsmon_counts {
	u64 anon;
	u64 files;
	u64 peak;
	u64 faults;
	u64 huge;
	u64 huge_pages;
	u64 hints;
	u64 forks;
	u64 fork_pages;
	u64 used;
};

/**
 * struct wsmon_went - pages that went
 * @least:	so many came and went
 * @most:	no more went
 */
struct wsmon_went {
	u64 least;
	u64 most;
};

/**
 * struct wsmon_balance - what came and went in a process since its interval began
 * @begin:	its counts at that time
 * @last:	anonymous pages at the last look
 * @peak:	the most of them at any look
 * @fell:	sum of what they were less than at the look before
 * @churn:	moving sum of @fell, of about 8 intervals
 * @copies:	faults to come that may copy a page after the last fork
 * @begun:	@begin is known
 * @suspect:	faults say that memory may have gone; more looks would tell
 */
struct wsmon_balance {
	struct wsmon_counts begin;
	u64 last;
	u64 peak;
	u64 fell;
	u64 churn;
	u64 copies;
	bool begun;
	bool suspect;
};

void wsmon_balance_look(struct wsmon_balance *b, u64 anon);
struct wsmon_went wsmon_balance_end(struct wsmon_balance *b, const struct wsmon_counts *now);

/* What went in so many intervals is kept apart; of long windows, of several together */
#define WSMON_GONE	64U

/**
 * struct wsmon_gone - what went in the intervals of the longest window
 * @past:	a ring of intervals, or of several in a row
 * @end_ns:	when the last of them ended
 * @went:	pages that went, and which no region counts
 * @at:		the latest in @past
 * @nr:		number of intervals in it
 */
struct wsmon_gone {
	struct {
		u64 end_ns;
		struct wsmon_went went;
	} past[WSMON_GONE];
	u32 at;
	u32 nr;
};

void wsmon_gone_add(struct wsmon_gone *g, const struct wsmon_interval *iv,
		    struct wsmon_went went, const struct wsmon_regions *rs,
		    const struct wsmon_space *sp);
/* Add to the latest interval what programs had that the process left by exec: it may have been used */
static inline void wsmon_gone_left(struct wsmon_gone *g, u64 pages)
{
	g->past[g->at].went.most += pages;
}

void wsmon_gone_drop(struct wsmon_gone *g, const struct wsmon_interval *iv,
		     const struct wsmon_regions *rs, const struct wsmon_space *now);
struct wsmon_went wsmon_gone_within(const struct wsmon_gone *g, const struct wsmon_interval *iv,
				    u32 k);

#endif /* WSMON_GONE_H */
