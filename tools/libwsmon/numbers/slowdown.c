// SPDX-License-Identifier: GPL-2.0
/*
 * slowdown.c - what refaults cost in time
 */
#include <math.h>
#include <stdio.h>

#include "curve_data.h"
#include "slowdown.h"

/* A smaller part of the refaults does not matter if its cost is not known */
#define NEGLIGIBLE	0.02

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
		s->unmapped = r->unmapped < WSMON_SHARE_ONE ? (double)r->unmapped / WSMON_SHARE_ONE : 0;
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

/* Part of a target's refaults that come from files: what its curves rise by at this window */
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

/* The window that a limit keeps; of one beyond the windows the nearest of these */
static double limit_window(const struct wsmon_curve *of, const struct wsmon_limit *at)
{
	return at->bound == WSMON_EXACT ? at->window :
	       of->node[at->bound == WSMON_AT_LEAST ? 1 : of->nr];
}

struct wsmon_limit slowdown_limit(const struct slowdown *s, const struct wsmon_curve *of, double bytes)
{
	struct wsmon_limit at = wsmon_limit(of, bytes), half;
	double lost;

	/* with room for all, nothing is read again */
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
