/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ranges.h - all address ranges that a target ever had mapped
 */
#ifndef WSMO_RANGES_H
#define WSMO_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

/**
 * struct range - a range of one class and name
 * @start:	first address
 * @end:	end, exclusive
 * @class:	enum wsmon_class
 * @name:	the mapping's name, may be empty
 * @offset:	for the caller; 0 at first
 */
struct range {
	__u64 start;
	__u64 end;
	__u32 class;
	char *name;
	__u64 offset;
};

/**
 * struct ranges - disjoint, in address order
 * @range:	@nr of them
 * @room:	number of ranges there is memory for
 * @full:	some were left out
 */
struct ranges {
	struct range *range;
	size_t nr;
	size_t room;
	bool full;
};

/**
 * ranges_add() - add a range
 *
 * Addresses that are covered already keep their class and name. The number of ranges is
 * limited: @full is set if something was left out.
 */
void ranges_add(struct ranges *s, __u64 start, __u64 end, __u32 class,
	       const char *name);

/** ranges_find() - find the first range that ends after @addr. Return: its index, or @nr */
size_t ranges_find(const struct ranges *s, __u64 addr);

/** ranges_free() - free what is in it */
void ranges_free(struct ranges *s);

#endif /* WSMO_RANGES_H */
