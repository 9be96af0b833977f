/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tree.h - the best division of a region, given samples of its pages
 *
 * tree.c has the statistics.
 */
#ifndef WSMO_FINE_TREE_H
#define WSMO_FINE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* The largest cell has 2^52 pages */
#define FINE_ORDERS	53

/* Maximum number of points of a region */
#define FINE_POINTS	512

/**
 * struct fine_point - a sampled page
 * @page:	its number
 * @near:	number of pages that it may have been
 * @age:	snapshots since
 * @hit:	it was accessed
 */
struct fine_point {
	__u64 page;
	__u32 near;
	__u16 age;
	bool hit;
};

/**
 * struct fine_prior - expectations of a target's cells, by their order
 * @split:	probability that the halves of a cell of 2^order pages differ
 * @plain:	probability that a cell of one kind is used completely or not at all
 * @seen:	number of cells so far; older ones count for less
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

/** fine_prior_init() - set the prior before any cell */
void fine_prior_init(struct fine_prior *prior);

/** fine_prior_fade() - give less weight to the past, after a snapshot */
void fine_prior_fade(struct fine_prior *prior);

struct fine_node;

/**
 * struct fine_tree - the division of a region; zeroed is empty
 * @node:	cells, the first is the region; @nr of them, memory for @room
 * @origin:	page that cells count from
 * @prior:	expectations of them
 */
struct fine_tree {
	struct fine_node *node;
	size_t nr, room;
	__u64 origin;
	struct fine_prior *prior;
};

/** fine_tree_free() - free what is in it */
void fine_tree_free(struct fine_tree *t);

/**
 * fine_tree_build() - find the division
 * @t:		gets it
 * @prior:	that of the target
 * @origin:	page that cells count from, @start at most
 * @start:	first page of the region
 * @end:	end page, exclusive
 * @point:	sampled pages in it, ascending
 * @nr:		number of points, at most FINE_POINTS
 *
 * Return: log of the probability of @point; NAN without memory
 */
double fine_tree_build(struct fine_tree *t, struct fine_prior *prior, __u64 origin,
		       __u64 start, __u64 end, const struct fine_point *point,
		       size_t nr);

/** fine_tree_whole() - get the probability that the region is of one kind */
double fine_tree_whole(const struct fine_tree *t);

/** fine_tree_share() - get the probability that a page of the region is in use */
double fine_tree_share(const struct fine_tree *t, __u64 page);

/** fine_tree_part() - handle a part: its pages and the share of them in use */
typedef void fine_tree_part(void *arg, __u64 start, __u64 end, double share);

/** fine_tree_visit() - pass the parts of the region, ascending */
void fine_tree_visit(const struct fine_tree *t, fine_tree_part *part, void *arg);

/** fine_tree_learn() - update the prior with this division */
void fine_tree_learn(struct fine_tree *t);

#endif /* WSMO_FINE_TREE_H */
