// SPDX-License-Identifier: GPL-2.0
/*
 * evidence.c - what is known of each part of a target's memory
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "evidence.h"
#include "libwsmon/stats.h"

/* Older samples fade, so that what is known can change */
#define DRAWS_MAX	1024

/*
 * So many expected hits in a row that did not come are no chance (e^-9): from
 * the last hit on, the memory is something else than before.
 */
#define MISSED_HITS	9

/*
 * So many expected hits that did not come make it 95 % sure (e^-3) that memory which was accessed now
 * and then has become cold: the two samples of an interval see the same burst.
 */
#define COLD_HITS	6

/*
 * Memory that is used every few seconds, in no time, is seen by the samples of one interval only. So
 * many see it in 95 % of cases if it is a twentieth of the process: 0.95^59. With fewer, a process is
 * watched for so many ages more.
 */
#define LOOKS		59

/* The module's ages are whole milliseconds */
#define AGE_STEP	(2 * NSEC_PER_MSEC)

static void start_anew(struct piece *p, __u64 now)
{
	p->since_ns = now;
	p->hit_ns = now;
	p->draws = 0;
	p->hits = 0;
	p->rate = 0;
	p->run = 0;
}

/* Adds to @to what is known of the part that @from shares with it */
static void inherit(struct piece *to, const struct piece *from, __u64 bytes,
		    bool first)
{
	float part = (float)bytes / (from->end - from->start);

	to->draws += from->draws * part;
	to->hits += from->hits * part;
	to->rate += from->rate * part;
	if (first || from->run * part < to->run)
		to->run = from->run * part;
	if (from->since_ns > to->since_ns)
		to->since_ns = from->since_ns;
	if (from->hit_ns > to->hit_ns)
		to->hit_ns = from->hit_ns;
	if (first) {
		to->acted = from->acted;
		to->acted_ns = from->acted_ns;
		to->begun = from->begun;
		to->upto = from->upto;
	} else {
		if (to->acted != from->acted)
			to->acted = 0;
		to->begun = 0;
	}
	if (from->acted_ns < to->acted_ns)
		to->acted_ns = from->acted_ns;
}

/* @from: the first old piece that may overlap; moves on */
static void inherit_all(const struct evidence *e, size_t *from, struct piece *p,
			__u64 now)
{
	__u64 covered = 0;
	size_t i;

	while (*from < e->nr && e->piece[*from].end <= p->start)
		++*from;
	for (i = *from; i < e->nr && e->piece[i].start < p->end; i++) {
		const struct piece *old = &e->piece[i];
		__u64 start = old->start > p->start ? old->start : p->start;
		__u64 end = old->end < p->end ? old->end : p->end;

		inherit(p, old, end - start, !covered);
		covered += end - start;
	}
	/* of new memory nothing is known */
	if (covered < p->end - p->start) {
		start_anew(p, now);
		p->acted = 0;
		p->begun = 0;
	}
}

static __u64 later(__u64 at, __u64 ns, __u64 now)
{
	if (at >= now)
		return at;
	return now - at > ns ? at + ns : now;
}

/* Time in which nobody looked is no age */
static void unseen(struct piece *p, __u64 ns, __u64 now)
{
	p->since_ns = later(p->since_ns, ns, now);
	p->hit_ns = later(p->hit_ns, ns, now);
}

/* @ns: length of the interval that ends now; Return: samples */
static float observe(struct piece *p, const struct act_scheme *scheme,
		    const struct wsmon_region_entry *r, __u64 now, __u64 ns, bool whole)
{
	__u64 age = r->age_ms * NSEC_PER_MSEC;
	/* a sample of each half; which of the two it was is not known */
	float draws = r->end - r->start > 4096 ? 2 : 1;
	float hits = !r->freq ? 0 : r->freq > WSMON_SHARE_ONE / 2 ? draws : 1;

	/* the module has seen it change */
	if (age < now && p->since_ns + AGE_STEP < now - age)
		start_anew(p, now - age);
	if (r->samples & WSMON_SAMPLES_MISSED || (!hits && !whole)) {
		unseen(p, ns, now);
		return 0;
	}
	p->draws += draws;
	p->hits += hits;
	p->rate += draws * r->freq / WSMON_SHARE_ONE;
	p->run += draws;
	if (hits) {
		p->hit_ns = now;
		p->run = 0;
		if (p->acted && act_rule_cold(&scheme->rule[p->acted - 1]))
			p->acted = 0;
		p->begun = 0;
	}
	if (p->hits > 0 && p->run * p->hits > MISSED_HITS * (p->draws - p->run)) {
		p->since_ns = p->hit_ns;
		p->draws = p->run;
		p->hits = 0;
		p->rate = 0;
	}
	if (p->draws > DRAWS_MAX) {
		p->draws /= 2;
		p->hits /= 2;
		p->rate /= 2;
		if (p->run > p->draws)
			p->run = p->draws;
	}
	return draws;
}

/* A small process needs no more samples than it has pages */
static double slowness(const struct evidence *e, double draws)
{
	double pages = 0, need;
	size_t i;

	for (i = 0; i < e->nr; i++)
		pages += (e->piece[i].end - e->piece[i].start) / 4096.0;
	need = pages < LOOKS ? pages : LOOKS;
	return draws >= need ? 1 : need / (draws >= 1 ? draws : 1);
}

int evidence_update(struct evidence *e, const struct act_scheme *scheme,
		    const struct wsmon_region_entry *region, size_t nr,
		    __u64 now, bool whole)
{
	struct piece *old = e->piece;
	__u64 ns = e->at_ns && e->at_ns < now ? now - e->at_ns : 0;
	double draws = 0;
	size_t i, from = 0;

	if (nr > e->room) {
		struct piece *next = reallocarray(e->next, nr, sizeof(*next));
		struct piece *piece;

		if (!next)
			return -1;
		e->next = next;
		piece = reallocarray(e->piece, nr, sizeof(*piece));
		if (!piece)
			return -1;
		old = e->piece = piece;
		e->room = nr;
	}
	for (i = 0; i < nr; i++) {
		struct piece *p = &e->next[i];

		*p = (struct piece) {
			.start = region[i].start,
			.end = region[i].end,
			.class = region[i].class < WSMON_NR_CLASSES ?
				 region[i].class : WSMON_CLASS_MIXED,
			.gaps = region[i].area,
		};
		inherit_all(e, &from, p, now);
		draws += observe(p, scheme, &region[i], now, ns, whole);
	}
	e->at_ns = now;
	e->piece = e->next;
	e->next = old;
	e->nr = nr;
	e->slow = slowness(e, draws);
	return 0;
}

void evidence_doubt(struct evidence *e, __u64 now)
{
	size_t i;

	for (i = 0; i < e->nr; i++)
		start_anew(&e->piece[i], now);
}

void evidence_clear(struct evidence *e)
{
	free(e->piece);
	free(e->next);
	memset(e, 0, sizeof(*e));
}

void evidence_mark(struct evidence *e, __u64 start, __u64 end, size_t rule,
		   __u64 now)
{
	size_t i;

	for (i = 0; i < e->nr; i++) {
		struct piece *p = &e->piece[i];

		if (p->start < start || p->start >= end)
			continue;
		if (p->end <= end) {
			p->acted = rule + 1;
			p->begun = 0;
		} else {
			if (p->acted == rule + 1)
				p->acted = 0;
			p->begun = rule + 1;
			p->upto = end;
		}
		p->acted_ns = now;
	}
}

/* @hits: their sum over @n draws, each from 0 to 1 */
static struct share share_of(double hits, double n)
{
	struct share s = { .mean = n > 0 ? hits / n : 0 };

	wilson(s.mean, n, &s.low, &s.high);
	return s;
}

struct share piece_share(const struct piece *p)
{
	return share_of(p->hits, p->draws);
}

struct share piece_freq(const struct piece *p)
{
	return share_of(p->rate, p->draws);
}

__u64 piece_age(const struct piece *p, const struct act_rule *rule, __u64 now)
{
	__u64 from = act_rule_cold(rule) ? p->hit_ns : p->since_ns;

	return now > from ? now - from : 0;
}

bool piece_fits(const struct evidence *e, const struct piece *p, const struct act_rule *rule,
		__u64 now)
{
	__u64 age = piece_age(p, rule, now);
	struct share s = rule->freq ? piece_freq(p) : piece_share(p);

	if (act_rule_cold(rule) && rule->min_age_ns &&
	    (age < rule->min_age_ns * e->slow ||
	     (p->hits >= 1 && p->run * p->hits < COLD_HITS * (p->draws - p->run))))
		return false;
	if (age < rule->min_age_ns || age > rule->max_age_ns)
		return false;
	/* "never" is what no number of samples can show: none may contradict it */
	if (rule->max_access <= 0)
		return p->hits <= 0 && p->draws > 0;
	return (rule->min_access <= 0 || s.low >= rule->min_access) &&
	       (rule->max_access >= 1 || s.high <= rule->max_access);
}
