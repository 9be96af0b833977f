/* SPDX-License-Identifier: GPL-2.0 */
/*
 * evidence.h - what is known of each part of a target's memory
 *
 * A snapshot tells what the samples of one interval saw: two pages of a region,
 * which is little. Here all of them are counted for as long as nothing
 * contradicts them, so that a rule can ask how sure it is that memory is cold.
 * Regions are cut and joined by the module from one snapshot to the next; what
 * is known goes with the addresses.
 *
 * Pure: no files, no clock.
 */
#ifndef WSMO_ACT_EVIDENCE_H
#define WSMO_ACT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "scheme.h"
#include "wsmon.h"

/**
 * struct piece - a region, and what its samples saw
 * @start:	first address
 * @end:	address behind the last one
 * @class:	enum wsmon_class
 * @acted:	1 + index of the rule that was applied to it, 0 if none was
 * @acted_ns:	when that was
 * @begun:	1 + index of the rule that was applied as far as @upto, then its
 *		budget ended; 0 if there is none
 * @upto:	an address within the piece
 * @since_ns:	since when @draws are counted: nothing contradicts them
 * @hit_ns:	when a sample was last found accessed, or @since_ns
 * @draws:	samples since @since_ns; a part of a region has its part of them
 * @hits:	how many of them were found accessed
 * @rate:	of each of them the share of the rounds that found it so, summed up
 * @run:	samples since @hit_ns
 */
struct piece {
	__u64 start, end;
	__u16 class;
	__u16 acted;
	__u16 begun;
	__u64 acted_ns;
	__u64 upto;
	__u64 since_ns;
	__u64 hit_ns;
	float draws, hits, rate, run;
};

/** struct evidence - pieces of one target in address order; all 0 is empty */
struct evidence {
	struct piece *piece;
	size_t nr;
	struct piece *next;
	size_t room;
};

/** struct share - of pages accessed in an interval, or of rounds; 95 % sure */
struct share {
	double low, mean, high;
};

/**
 * evidence_update() - learn from the regions of a whole snapshot
 * @now:	its time
 * @whole:	false if visits were missed or records lost in this interval: what
 *		was seen counts, what was not seen does not
 * @scheme:	an access ends the effect of its rules about cold memory
 * Return: 0, or -1 without memory
 */
int evidence_update(struct evidence *e, const struct act_scheme *scheme,
		    const struct wsmon_region_entry *region, size_t nr,
		    __u64 now, bool whole);

/** evidence_doubt() - something was not seen: every age begins anew */
void evidence_doubt(struct evidence *e, __u64 now);

/** evidence_clear() - forget all */
void evidence_clear(struct evidence *e);

/**
 * evidence_mark() - a rule was applied to all that lies in a range
 *
 * Of a piece that reaches beyond it the rest is still to come.
 */
void evidence_mark(struct evidence *e, __u64 start, __u64 end, size_t rule,
		   __u64 now);

/** piece_share() - the share of its pages that is accessed in an interval */
struct share piece_share(const struct piece *p);

/** piece_freq() - how often they are: the share of the sampling rounds */
struct share piece_freq(const struct piece *p);

/** piece_age() - for how long it has been as a rule wants it, nanoseconds */
__u64 piece_age(const struct piece *p, const struct act_rule *rule, __u64 now);

/** piece_fits() - does a rule's share or rate, and its age, fit, with confidence? */
bool piece_fits(const struct piece *p, const struct act_rule *rule, __u64 now);

#endif /* WSMO_ACT_EVIDENCE_H */
