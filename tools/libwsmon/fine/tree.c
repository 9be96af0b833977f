// SPDX-License-Identifier: GPL-2.0
/*
 * tree.c - the best division of a region, given samples of its pages
 *
 * A cell is either of one kind, or its halves differ and each is a cell again: a prior
 * over all divisions at powers of two. Their probabilities given the samples are
 * weighted in one pass from below (context tree weighting: Willems, Shtarkov and
 * Tjalkens, IEEE Trans. Inf. Theory 41:3, 1995); the result is the mean over all of
 * them. A cell of one kind is plain or mixed: of a plain one all pages are accessed, or
 * none, with few exceptions, so its share is Beta(a, a) with a small; that of a mixed
 * one is uniform.
 *
 * Memory is divided in similar ways all over a program: the probabilities that a cell of
 * some size is divided, and that it is plain if not, are learned from the cells so far,
 * where older snapshots count for less (empirical Bayes, by online expectation
 * maximization: Neal and Hinton, Learning in Graphical Models, 1998). So scattered pages
 * remain one cell, and blocks are found from few samples in each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define A		0.02

/* Without cells: half are divided, half of the others are plain; nothing is certain */
#define UNKNOWN		0.5
#define MIN_SHARE	0.001

/* Factor of the number of cells after each snapshot */
#define MEMORY		0.5

/**
 * struct fine_node - a cell
 * @start:	first page of the region in it, from the origin
 * @end:	end page, exclusive
 * @child:	the nodes of its halves; 0 if no samples show them to differ
 * @order:	it has 2^order pages
 * @points:	sampled pages in it
 * @hits:	those that were accessed
 * @whole:	probability that it is of one kind
 * @plain:	probability that it is plain if so
 */
struct fine_node {
	__u64 start, end;
	size_t child[2];
	unsigned int order;
	unsigned int points;
	unsigned int hits;
	double whole;
	double plain;
};

/* log Gamma(n + A), log Gamma(n + 2A) and log n!, for the probability of points */
static double log_gamma[3][FINE_POINTS + 2];

void fine_prior_init(struct fine_prior *prior)
{
	unsigned int i;

	if (log_gamma[0][0] == 0)
		for (i = 0; i <= FINE_POINTS + 1; i++) {
			log_gamma[0][i] = lgamma(i + A);
			log_gamma[1][i] = lgamma(i + 2 * A);
			log_gamma[2][i] = lgamma(i + 1);
		}
	for (i = 0; i < FINE_ORDERS; i++) {
		prior->split[i] = UNKNOWN;
		prior->plain[i] = UNKNOWN;
	}
}

void fine_tree_free(struct fine_tree *t)
{
	free(t->node);
	t->node = NULL;
	t->nr = 0;
	t->room = 0;
}

static double log_sum(double x, double y)
{
	double max = fmax(x, y);

	return max + log1p(exp(fmin(x, y) - max));
}

/*
 * Return: log of the probability of these hits and misses in a cell of one kind
 * @plain: gets the probability that it is plain, given them
 */
static double log_alike(const struct fine_tree *t, unsigned int order,
			unsigned int hits, unsigned int others, double *plain)
{
	unsigned int nr = hits + others;
	double as_plain = log_gamma[0][hits] + log_gamma[0][others] -
			  log_gamma[1][nr] -
			  (2 * log_gamma[0][0] - log_gamma[1][0]);
	double as_mixed = log_gamma[2][hits] + log_gamma[2][others] -
			  log_gamma[2][nr + 1];
	double all;

	as_plain += log(t->prior->plain[order]);
	as_mixed += log(1 - t->prior->plain[order]);
	all = log_sum(as_plain, as_mixed);
	*plain = exp(as_plain - all);
	return all;
}

static struct fine_node *new_node(struct fine_tree *t)
{
	if (t->nr == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		struct fine_node *node = reallocarray(t->node, room, sizeof(*node));

		if (!node)
			return NULL;
		t->node = node;
		t->room = room;
	}
	return &t->node[t->nr++];
}

/* The middle of the smallest cell that contains both ends, and its order */
static __u64 cell_mid(__u64 start, __u64 end, unsigned int *order)
{
	__u64 last = end - 1;

	*order = start == last ? 0 : 64 - __builtin_clzll(start ^ last);
	return *order ? last >> (*order - 1) << (*order - 1) : end;
}

/*
 * Return: log of the probability of the points, all divisions weighted; NAN without
 * memory. Halves without samples add nothing, and of cells whose points are all alike
 * only the halves are looked at.
 */
static double build(struct fine_tree *t, __u64 start, __u64 end,
		    const struct fine_point *point, size_t nr)
{
	struct fine_node *n = new_node(t);
	size_t self = t->nr - 1, child[2] = { 0, 0 }, below = 0, hits = 0, i;
	double alike, apart, lower, all, plain;
	unsigned int order, halves[2];
	__u64 mid;

	if (!n)
		return NAN;
	mid = cell_mid(start, end, &order);
	for (i = 0; i < nr; i++) {
		below += point[i].page - t->origin < mid;
		hits += point[i].hit;
	}
	*n = (struct fine_node) {
		.start = start, .end = end, .order = order, .points = nr,
		.hits = hits, .whole = 1,
	};
	alike = log_alike(t, order, hits, nr - hits, &n->plain);
	if (!order || nr < 2)
		return alike;
	if (hits && hits < nr) {
		child[0] = t->nr;
		lower = build(t, start, mid, point, below);
		child[1] = t->nr;
		apart = lower + build(t, mid, end, point + below, nr - below);
		if (isnan(apart))
			return NAN;
	} else {
		cell_mid(start, mid, &halves[0]);
		cell_mid(mid, end, &halves[1]);
		apart = log_alike(t, halves[0], hits ? below : 0,
				  hits ? 0 : below, &plain) +
			log_alike(t, halves[1], hits ? nr - below : 0,
				  hits ? 0 : nr - below, &plain);
	}
	n = &t->node[self];
	memcpy(n->child, child, sizeof(child));
	alike += log(1 - t->prior->split[order]);
	all = log_sum(alike, log(t->prior->split[order]) + apart);
	n->whole = exp(alike - all);
	return all;
}

/* @reach: probability that the cell is undivided, and not part of a larger one */
static void count(struct fine_tree *t, size_t i, double reach)
{
	const struct fine_node *n = &t->node[i];
	struct fine_prior *prior = t->prior;
	double apart = reach * (1 - n->whole);

	if (n->points < 2)
		return;
	prior->seen[n->order] += reach;
	prior->cut[n->order] += apart;
	prior->even[n->order] += (reach - apart) * n->plain;
	if (n->child[0]) {
		count(t, n->child[0], apart);
		count(t, n->child[1], apart);
	}
}

static double estimate(double part, double of)
{
	double p = (part + UNKNOWN) / (of + 1);

	return fmin(fmax(p, MIN_SHARE), 1 - MIN_SHARE);
}

double fine_tree_build(struct fine_tree *t, struct fine_prior *prior, __u64 origin,
		       __u64 start, __u64 end, const struct fine_point *point,
		       size_t nr)
{
	t->nr = 0;
	t->origin = origin;
	t->prior = prior;
	return build(t, start - origin, end - origin, point, nr);
}

void fine_tree_learn(struct fine_tree *t)
{
	struct fine_prior *prior = t->prior;
	unsigned int i;

	count(t, 0, 1);
	for (i = 0; i < FINE_ORDERS; i++) {
		prior->split[i] = estimate(prior->cut[i], prior->seen[i]);
		prior->plain[i] = estimate(prior->even[i],
					   prior->seen[i] - prior->cut[i]);
	}
}

double fine_tree_whole(const struct fine_tree *t)
{
	return t->node[0].whole;
}

/* The share of a cell's pages if it is of one kind; @around: that of its parent */
static double own_share(const struct fine_node *n, double around)
{
	double plain = (n->hits + A) / (n->points + 2 * A);
	double mixed = (n->hits + 1.0) / (n->points + 2);

	return n->points ? mixed + n->plain * (plain - mixed) : around;
}

double fine_tree_share(const struct fine_tree *t, __u64 page)
{
	const struct fine_node *n = t->node;
	double own = own_share(n, 0), share = 0, reach = 1;

	page -= t->origin;
	while (n->child[0]) {
		share += reach * n->whole * own;
		reach *= 1 - n->whole;
		n = &t->node[n->child[page >= t->node[n->child[1]].start]];
		own = own_share(n, own);
	}
	return share + reach * own;
}

/* @share: what larger cells contribute */
static void visit(const struct fine_tree *t, size_t i, double reach, double share,
		 double around, fine_tree_part *part, void *arg)
{
	const struct fine_node *n = &t->node[i];
	double own = own_share(n, around), whole = reach * n->whole;

	if (!n->child[0]) {
		part(arg, t->origin + n->start, t->origin + n->end,
		     share + reach * own);
		return;
	}
	share += whole * own;
	visit(t, n->child[0], reach - whole, share, own, part, arg);
	visit(t, n->child[1], reach - whole, share, own, part, arg);
}

void fine_tree_visit(const struct fine_tree *t, fine_tree_part *part, void *arg)
{
	visit(t, 0, 1, 0, 0, part, arg);
}

void fine_prior_fade(struct fine_prior *prior)
{
	unsigned int i;

	for (i = 0; i < FINE_ORDERS; i++) {
		prior->seen[i] *= MEMORY;
		prior->cut[i] *= MEMORY;
		prior->even[i] *= MEMORY;
	}
}
