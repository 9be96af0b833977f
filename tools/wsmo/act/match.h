/* SPDX-License-Identifier: GPL-2.0 */
/*
 * match.h - finds the memory that the rules of a scheme apply to
 */
#ifndef WSMO_ACT_MATCH_H
#define WSMO_ACT_MATCH_H

#include "evidence.h"

#define ACT_HUGE	(2ULL << 20)

/**
 * struct stretch - neighbouring pieces of one class that fit the same rule
 * @start:	start of what to act on; for huge pages, a multiple of their size
 * @end:	its end, exclusive
 * @whole_start: where the pieces begin
 * @whole_end:	where they end
 * @class:	enum wsmon_class
 * @gaps:	part of it need not be mapped
 * @rule:	index of the rule
 * @age_ns:	min. age of its pieces
 * @share:	estimate over all of them
 * @freq:	likewise
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
 * @stretch:	@nr of them, the oldest first
 * @shadowed:	bytes that fit each rule but belong to an earlier one
 * @room:	of @stretch
 * @owner:	scratch
 * @owner_room:	of @owner
 */
struct match {
	struct stretch *stretch;
	size_t nr;
	__u64 shadowed[ACT_RULES];
	size_t room;
	__u8 *owner;
	size_t owner_room;
};

/**
 * act_match() - find the stretches to act on
 * @classes:	classes that may be acted on, a bit each
 * @retry_ns:	a rule is applied to the same memory again after this time, or once
 *		the memory was accessed
 * Return: 0, or -1 without memory
 */
int act_match(struct match *m, const struct act_scheme *scheme,
	      const struct evidence *e, __u32 classes, __u64 now,
	      __u64 retry_ns);

/** act_match_free() - free the result */
void act_match_free(struct match *m);

#endif /* WSMO_ACT_MATCH_H */
