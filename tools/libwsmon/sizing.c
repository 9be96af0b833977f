// SPDX-License-Identifier: GPL-2.0
/* sizing.c - a table of memory limits, their refaults, and the time that refaults cost */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "curve.h"
#include "sizing.h"
#include "util.h"

/* If a kind is at most this part of the refaults, its cost may be unknown */
#define NEGLIGIBLE	0.02

/* Steps of the table, between the smallest and the largest size of a curve, without given limits */
#define STEPS		12

/* Steps of the search for the smallest limit, between the smallest and the largest size */
#define KNEE_STEPS	1024

void slowdown_record(struct slowdown *s, const struct wsmon_record *rec)
{
	const struct wsmon_rec_refault *r = (const void *)rec;
	struct refault_cost *cost;

	if (rec->type != WSMON_REC_REFAULT || r->kind >= REFAULT_KINDS)
		return;
	cost = &s->cost[r->kind];
	*cost = (struct refault_cost) { .refaults = r->refaults };
	if (r->refaults) {
		cost->mean = r->mean_ns / 1e9;
		cost->half = r->half_ns / 1e9;
	}
	snprintf(cost->text, sizeof(cost->text), "%s", r->text);
	if (r->kind == WSMON_REFAULT_FILE)
		s->unmapped = r->unmapped < WSMON_SHARE_ONE ?
			      (double)r->unmapped / WSMON_SHARE_ONE : 0;
}

void slowdown_set(struct slowdown *s, double seconds)
{
	size_t i;

	for (i = 0; i < REFAULT_KINDS; i++)
		s->cost[i] = (struct refault_cost) { .mean = seconds };
}

bool slowdown_known(const struct slowdown *s)
{
	return s->cost[WSMON_REFAULT_SWAP].mean > 0 || s->cost[WSMON_REFAULT_FILE].mean > 0;
}

static bool of_file(__u32 class)
{
	return class == WSMON_CLASS_TEXT || class == WSMON_CLASS_FILE;
}

/* Return: part of a target's refaults that are of files, by the slopes of its curves at @window */
static double files_share(const struct slowdown *s, const struct wsmon_curve *of, double window)
{
	double all = curve_rate(of, window), files = 0;
	const struct wsmon_curve *c;
	size_t i;

	if (of->class != WSMON_CLASS_ALL)
		return of_file(of->class);
	for (i = 0; s->files && (c = wsmon_curves_get(s->files, i)); i++)
		if (c->pid == of->pid && c->group == of->group && of_file(c->class))
			files += curve_rate(c, window);
	return all > 0 ? fmin(1, files / all) : 0;
}

/* Return: the window of a limit; if it is unknown, the nearest window of the curve */
static double limit_window(const struct wsmon_curve *of, const struct wsmon_limit *at)
{
	return at->bound == WSMON_EXACT ? at->window :
	       of->node[at->bound == WSMON_AT_LEAST ? 1 : of->nr];
}

struct wsmon_limit slowdown_limit(const struct slowdown *s, const struct wsmon_curve *of,
				  double bytes)
{
	struct wsmon_limit at = wsmon_limit(of, bytes), half;
	double lost;

	/* with room for all resident memory, pages that a fault reads around its own displace none */
	if (!s || s->unmapped <= 0 || (of->rss > 0 && bytes >= of->rss))
		return at;
	lost = s->unmapped * files_share(s, of, limit_window(of, &at));
	half = wsmon_limit(of, bytes * (1 - lost / 2));
	half.bytes = bytes;
	half.low = at.low;
	half.high = wsmon_limit(of, bytes * (1 - lost)).high;
	return half;
}

struct slowdown_range slowdown_at(const struct slowdown *s, const struct wsmon_curve *of,
				  const struct wsmon_limit *at)
{
	struct slowdown_range range = { NAN, NAN, NAN };
	double share[REFAULT_KINDS], mean = 0, half = 0;
	size_t i;

	if (!s)
		return range;
	share[WSMON_REFAULT_FILE] = files_share(s, of, limit_window(of, at));
	share[WSMON_REFAULT_SWAP] = 1 - share[WSMON_REFAULT_FILE];
	for (i = 0; i < REFAULT_KINDS; i++) {
		if (s->cost[i].mean <= 0 && share[i] > NEGLIGIBLE)
			return range;
		mean += share[i] * s->cost[i].mean;
		half += share[i] * s->cost[i].half;
	}
	if (at->bound == WSMON_EXACT)
		range.mean = at->refaults * mean;
	range.low = at->low * fmax(0, mean - half);
	range.high = at->high * (mean + half);
	return range;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sizing_row *x = a, *y = b;

	return COMPARE(x->at.bytes, y->at.bytes);
}

/*
 * Finds the smallest limit with at most these refaults per second and this slowdown: steps down
 * from the upper end of the largest size of the curve, until a limit exceeds a bound. INFINITY is
 * no bound. Return: the limit; INFINITY if even that upper end exceeds a bound
 */
static double smallest(const struct slowdown *s, const struct wsmon_curve *of, double max_refaults,
		       double max_slowdown)
{
	double min = of->size[1], max = of->point[of->nr - 1].high, knee = INFINITY;
	unsigned int i;

	for (i = 0; i <= KNEE_STEPS; i++) {
		double bytes = max - (max - min) * i / KNEE_STEPS;
		struct wsmon_limit at = slowdown_limit(s, of, bytes);

		/* an unknown slowdown counts as too large */
		if (at.high > max_refaults ||
		    (!isinf(max_slowdown) && !(slowdown_at(s, of, &at).high <= max_slowdown)))
			break;
		knee = bytes;
	}
	return knee;
}

double wsmon_knee(const struct wsmon_curve *of, double max_refaults)
{
	return smallest(NULL, of, max_refaults, INFINITY);
}

double sizing_knee(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of)
{
	return smallest(s, of, choice->max_refaults ? choice->max_refaults : INFINITY,
			choice->max_slowdown > 0 ? choice->max_slowdown : INFINITY);
}

size_t sizing_rows(const struct sizing_choice *choice, const struct slowdown *s,
		   const struct wsmon_curve *of, struct sizing_row *row)
{
	double min = of->size[1], max = of->size[of->nr];
	double knee = sizing_knee(choice, s, of);
	size_t n = 0, i;

	memset(row, 0, SIZING_ROWS * sizeof(*row));
	for (i = 0; i < choice->nr_limits; i++)
		row[n++].at = slowdown_limit(s, of, choice->limits[i]);
	for (i = 0; !choice->nr_limits && i <= STEPS; i++)
		row[n++].at = slowdown_limit(s, of, min + (max - min) * i / STEPS);
	if (!choice->nr_limits && of->rss > max)
		row[n++].at = slowdown_limit(s, of, of->rss);
	if (!isinf(knee))
		row[n++] = (struct sizing_row){ .at = slowdown_limit(s, of, knee), .knee = true };
	for (i = 0; i < n; i++)
		row[i].slowdown = slowdown_at(s, of, &row[i].at);
	qsort(row, n, sizeof(*row), compare_rows);
	return n;
}
