/* SPDX-License-Identifier: GPL-2.0 */
/*
 * estimate.h - bytes allocated and used, from samples of allocations and parts of regions
 *
 * A sample stands for size / (1 - exp(-size / rate)) bytes: Horvitz and Thompson's estimate,
 * without bias, whose variance the samples tell. Of a part of a region a share was in use.
 * Where it holds allocations of several sites, and not all of it is or is not in use, it is
 * not known whose bytes these are: the interval has all that is possible.
 */
#ifndef WSMO_ALLOC_ESTIMATE_H
#define WSMO_ALLOC_ESTIMATE_H

#include "libwsmon/sorted.h"
#include "blocks.h"

/* How long memory was not used: in each class at least so long */
#define ESTIMATE_IDLE	2
extern const __u64 estimate_idle_ns[ESTIMATE_IDLE];

/** struct part - of a region: @share of its bytes has been in use for @age_ns */
struct part {
	__u64 start;
	__u64 end;
	double share;
	__u64 age_ns;
};

/**
 * struct amount - an estimate of bytes
 * @bytes:	the estimate
 * @access:	its variance, as few pages were sampled
 * @less, @more: how much it may be wrong, as it is not known whose bytes are in use
 */
struct amount {
	double bytes;
	double access;
	double less;
	double more;
};

/**
 * struct site - what is known of the allocations at one place of a program
 * @samples:	number of samples
 * @live:	estimate of bytes that are live
 * @variance:	of that
 * @used:	in use
 * @idle:	not used
 */
struct site {
	__u64 samples;
	double live;
	double variance;
	struct amount used;
	struct amount idle[ESTIMATE_IDLE];
};

/** struct snapshot - the state of a process at @time_ns, by intervals of @interval_ns */
struct snapshot {
	__u64 time_ns;
	__u64 interval_ns;
	struct part *part;	/* in address order */
	size_t nr, room;
};

/**
 * estimate_add() - add what is live in a process
 * @b:		@nr samples in address order
 * @s:		its memory at that time
 * @site_of:	returns the site of a stack
 * @data:	its first argument
 */
void estimate_add(const struct block *b, size_t nr, const struct snapshot *s,
		  struct site *(*site_of)(void *data, __u32 stack), void *data);

/** struct bounds - the ends of a 95 % interval */
struct bounds {
	double low;
	double high;
};

/** estimate_live() - of @live */
struct bounds estimate_live(const struct site *s);

/** estimate_bounds() - of @used or one of @idle */
struct bounds estimate_bounds(const struct site *s, const struct amount *a);

/** estimate_weight() - how many bytes a byte of a sampled allocation of @size stands for */
double estimate_weight(__u64 size, __u64 rate);

#endif /* WSMO_ALLOC_ESTIMATE_H */
