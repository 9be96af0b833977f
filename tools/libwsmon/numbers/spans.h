/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spans.h - the address ranges a target had mapped at one time or another
 */
#ifndef WSMO_SPANS_H
#define WSMO_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

/**
 * struct span - a range of one class and name
 * @start:	first address
 * @end:	address behind the last one
 * @class:	enum wsmon_class
 * @name:	the mapping's name, may be empty
 * @offset:	the user's own; 0 at first
 */
struct span {
	__u64 start;
	__u64 end;
	__u32 class;
	char *name;
	__u64 offset;
};

/**
 * struct spans - disjoint, in address order
 * @span:	@nr of them
 * @room:	for how many there is memory
 * @full:	some found no room
 */
struct spans {
	struct span *span;
	size_t nr;
	size_t room;
	bool full;
};

/**
 * spans_add() - take in a range
 *
 * What is covered already keeps its class and name. How many there can be is
 * limited: @full tells that something was left out.
 */
void spans_add(struct spans *s, __u64 start, __u64 end, __u32 class,
	       const char *name);

/** spans_find() - index of the first span that ends behind @addr, or @nr */
size_t spans_find(const struct spans *s, __u64 addr);

/** spans_free() - to be called once, also for an empty one */
void spans_free(struct spans *s);

#endif /* WSMO_SPANS_H */
