/* SPDX-License-Identifier: GPL-2.0 */
/*
 * match.h - which memory the rules of a scheme apply to now
 */
#ifndef WSMO_ACT_MATCH_H
#define WSMO_ACT_MATCH_H

#include "evidence.h"

#define ACT_HUGE	(2ULL << 20)

/**
 * struct stretch - neighbouring pieces of one class that fit the same rule
 * @start:	first address to act on: for huge pages, a multiple of their size
 * @end:	address behind the last one
 * @whole_start: where the pieces begin
 * @whole_end:	where they end
 * @class:	enum wsmon_class
 * @rule:	index of the rule
 * @age_ns:	the least of its pieces
 * @share:	estimate over all of them
 * @freq:	likewise
 */
struct stretch {
	__u64 start, end;
	__u64 whole_start, whole_end;
	__u16 class;
	__u32 rule;
	__u64 age_ns;
	double share;
	double freq;
};

/**
 * struct match - the result of matching
 * @stretch:	@nr of them, those with the greatest age first
 * @shadowed:	bytes that fit a rule, but an earlier one has them
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
 * act_match() - find out what there is to do
 * @classes:	those that may be acted on, a bit each
 * @retry_ns:	a rule is applied to the same memory again after this time; it is
 *		at once if the memory was accessed in the meantime
 * Return: 0, or -1 without memory
 */
int act_match(struct match *m, const struct act_scheme *scheme,
	      const struct evidence *e, __u32 classes, __u64 now,
	      __u64 retry_ns);

/** act_match_free() - frees what is in it */
void act_match_free(struct match *m);

#endif /* WSMO_ACT_MATCH_H */
