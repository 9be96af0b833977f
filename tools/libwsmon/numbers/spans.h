/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spans.h - all address ranges that a target ever had mapped
 */
#ifndef WSMO_SPANS_H
#define WSMO_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

/**
 * struct span - a range of one class and name
 * @start:	first address
 * @end:	end, exclusive
 * @class:	enum wsmon_class
 * @name:	the mapping's name, may be empty
 * @offset:	for the caller; 0 at first
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
 * @room:	number of spans there is memory for
 * @full:	some were left out
 */
struct spans {
	struct span *span;
	size_t nr;
	size_t room;
	bool full;
};

/**
 * spans_add() - add a range
 *
 * Addresses that are covered already keep their class and name. The number of spans is
 * limited: @full is set if something was left out.
 */
void spans_add(struct spans *s, __u64 start, __u64 end, __u32 class,
	       const char *name);

/** spans_find() - find the first span that ends after @addr. Return: its index, or @nr */
size_t spans_find(const struct spans *s, __u64 addr);

/** spans_free() - free what is in it */
void spans_free(struct spans *s);

#endif /* WSMO_SPANS_H */
