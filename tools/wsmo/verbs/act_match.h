/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act_match.h - evidence: samples of each range of a target's memory, and the rules that fit a
 * range
 *
 * A snapshot has only two samples of a region. So samples of several snapshots are counted until a
 * sample contradicts them, and a rule can require a confidence that memory is cold. Evidence
 * belongs to addresses, because the module splits and merges regions between snapshots.
 *
 * The functions use no files and no clock.
 */
#ifndef WSMO_ACT_MATCH_H
#define WSMO_ACT_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "act_scheme.h"
#include "act_target.h"
#include "wsmon.h"

/**
 * struct piece - a range with the same evidence
 * @start:	start address
 * @end:	end, exclusive
 * @class:	enum wsmon_class
 * @gaps:	parts of it may be unmapped
 * @acted:	1 + index of the last rule applied; 0: none
 * @acted_ns:	when @acted was applied
 * @begun:	1 + index of a rule applied only up to @upto, where its budget was used up; 0: none
 * @upto:	address within the piece
 * @since_ns:	when counting @draws began, plus time without samples since then
 * @hit_ns:	when a sample was last found accessed, or @since_ns, plus time without samples since
 *		then
 * @draws:	number of samples since @since_ns; a part of a region has a proportional number
 * @hits:	number of @draws found accessed
 * @rate:	sum over @draws of the share of rounds that found the sample accessed
 * @run:	number of samples since @hit_ns
 */
struct piece {
	__u64 start, end;
	__u16 class;
	bool gaps;
	__u16 acted;
	__u16 begun;
	__u64 acted_ns;
	__u64 upto;
	__u64 since_ns;
	__u64 hit_ns;
	float draws, hits, rate, run;
};

/**
 * struct evidence - the pieces of a target in address order; all zero is empty
 * @at_ns:	time of the last snapshot
 * @slow:	factor for the minimum age in rules about cold memory, 1 or more
 */
struct evidence {
	__u64 at_ns;
	double slow;
	struct piece *piece;
	size_t nr;
	struct piece *next;
	size_t room;
};

/** struct share - an estimate and its 95 % interval */
struct share {
	double low, mean, high;
};

/**
 * evidence_update() - add the samples of a snapshot
 * @now:	time of the snapshot
 * @whole:	no samples were missed and no records lost in this interval; otherwise only samples
 *		found accessed count
 * @region:	the regions; @area is nonzero if the region's area has gaps
 * @scheme:	the rules; rules about cold memory may be applied again after an access
 * Return: 0, or -1 if memory ran out
 */
int evidence_update(struct evidence *e, const struct act_scheme *scheme,
		    const struct wsmon_region_entry *region, size_t nr,
		    __u64 now, bool whole);

/** evidence_doubt() - restart all ages, because accesses may have been missed */
void evidence_doubt(struct evidence *e, __u64 now);

/** evidence_clear() - free all pieces */
void evidence_clear(struct evidence *e);

/**
 * evidence_mark() - note that a rule was applied to a range
 *
 * A piece that reaches beyond the range is remembered as begun.
 */
void evidence_mark(struct evidence *e, __u64 start, __u64 end, size_t rule,
		   __u64 now);

/**
 * struct stretch - neighbouring pieces of one class that fit the same rule
 * @start:	start of the memory to act on; a multiple of the huge page size for rules about huge
 *		pages
 * @end:	end of this memory, exclusive
 * @whole_start: start of the first piece
 * @whole_end:	end of the last piece
 * @class:	enum wsmon_class
 * @gaps:	parts of it may be unmapped
 * @rule:	index of the rule
 * @age_ns:	minimum age of the pieces
 * @share:	share of pages accessed, estimated over all pieces
 * @freq:	share of rounds that find a page accessed, estimated over all pieces
 */
struct stretch {
	__u64 start, end;
	__u64 whole_start, whole_end;
	__u16 class;
	bool gaps;
	__u32 rule;
	__u64 age_ns;
	double share;
	double freq;
};

/**
 * struct match - the result of matching
 * @stretch:	@nr stretches, oldest first
 * @shadowed:	bytes that fit each rule but belong to an earlier rule
 * @owner:	scratch memory
 * @owner_room:	number of entries allocated at @owner
 */
struct match {
	struct stretch *stretch;
	size_t nr;
	__u64 shadowed[ACT_RULES];
	__u8 *owner;
	size_t owner_room;
};

/**
 * act_match() - find the stretches to act on
 * @classes:	classes that may be acted on: bit n is class n
 * @retry_ns:	after this time, or after an access, a rule may be applied to the same memory again
 * Return: 0, or -1 if memory ran out
 */
int act_match(struct match *m, const struct act_scheme *scheme,
	      const struct evidence *e, __u32 classes, __u64 now,
	      __u64 retry_ns);

/** act_match_free() - free the result */
void act_match_free(struct match *m);

#endif /* WSMO_ACT_MATCH_H */
