/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tree.h - how a region is best divided, given what was seen at some of its pages
 *
 * Pure: no files, no clock. tree.c has the statistics.
 */
#ifndef WSMO_FINE_TREE_H
#define WSMO_FINE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* A cell of 2^52 pages is all there is */
#define FINE_ORDERS	53

/* Most points of one region */
#define FINE_POINTS	512

/**
 * struct fine_point - a page that was looked at
 * @page:	its number
 * @near:	it may as well have been one of so many pages
 * @age:	snapshots since
 * @hit:	it had been accessed
 */
struct fine_point {
	__u64 page;
	__u32 near;
	__u16 age;
	bool hit;
};

/**
 * struct fine_prior - what the regions of a target are like, by order of a cell
 * @split:	probability that halves of a cell of 2^order pages differ
 * @plain:	probability that of one whose halves do not all is used, or nothing
 * @seen:	how many cells were met, the older the less they count
 * @cut:	those whose halves differed
 * @even:	others that were plain
 */
struct fine_prior {
	double split[FINE_ORDERS];
	double plain[FINE_ORDERS];
	double seen[FINE_ORDERS];
	double cut[FINE_ORDERS];
	double even[FINE_ORDERS];
};

/** fine_prior_init() - nothing was met yet */
void fine_prior_init(struct fine_prior *prior);

/** fine_prior_fade() - a snapshot is over: what was learnt counts for less */
void fine_prior_fade(struct fine_prior *prior);

struct fine_node;

/**
 * struct fine_tree - the division of a region; all 0 is none
 * @node:	cells, the first is the region; @nr of them, room for @room
 * @origin:	page that cells count from
 * @prior:	what they are expected to be like
 */
struct fine_tree {
	struct fine_node *node;
	size_t nr, room;
	__u64 origin;
	struct fine_prior *prior;
};

/** fine_tree_free() - what it holds */
void fine_tree_free(struct fine_tree *t);

/**
 * fine_tree_build() - find the division
 * @t:		it goes there
 * @prior:	of the target
 * @origin:	page that cells count from, @start at most
 * @start:	first page of the region
 * @end:	page behind its last one
 * @point:	pages in it that were looked at, ascending
 * @nr:		how many, at most FINE_POINTS
 *
 * Return: log of the probability of @point; NAN without memory
 */
double fine_tree_build(struct fine_tree *t, struct fine_prior *prior, __u64 origin,
		       __u64 start, __u64 end, const struct fine_point *point,
		       size_t nr);

/** fine_tree_whole() - the probability that the region is of one kind */
double fine_tree_whole(const struct fine_tree *t);

/** fine_tree_share() - the probability that a page of the region is in use */
double fine_tree_share(const struct fine_tree *t, __u64 page);

/** fine_tree_part() - takes a part: its pages and the share of them in use */
typedef void fine_tree_part(void *arg, __u64 start, __u64 end, double share);

/** fine_tree_tell() - the parts of the region, ascending */
void fine_tree_tell(const struct fine_tree *t, fine_tree_part *part, void *arg);

/** fine_tree_learn() - other regions are to be divided like this one is */
void fine_tree_learn(struct fine_tree *t);

#endif /* WSMO_FINE_TREE_H */
