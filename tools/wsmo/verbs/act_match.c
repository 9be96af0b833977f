// SPDX-License-Identifier: GPL-2.0
/*
 * act_match.c - the evidence about each range of a target's memory, and the rules that match it
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "act_match.h"
#include "core/units.h"
#include "libwsmon/stats.h"
#include "libwsmon/util.h"

/* Older samples count less, so that estimates can change */
#define DRAWS_MAX	1024

/*
 * This many expected hits in a row that are missed cannot be chance (e^-9): the use of the memory
 * has changed since the last hit.
 */
#define MISSED_HITS	9

/*
 * Memory that was accessed now and then has become cold if this many expected hits are missed. The
 * two samples of an interval see the same burst of accesses, so six missed hits are three
 * independent ones, which chance causes in 5 % of cases: e^-3.
 */
#define COLD_HITS	6

/*
 * If memory is used only for an instant every few seconds, only the samples of one interval can
 * notice it. If this memory is 1/20 of the process, 59 samples notice it in 95 % of cases:
 * 1 - 0.95^59. With fewer samples in an interval, rules about cold memory require a proportionally
 * longer age.
 */
#define LOOKS		59

/* The module's ages are whole milliseconds, so smaller differences do not count */
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

/* Adds to @to its part of the evidence of @from; @bytes: size of the memory that both have */
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

/* Adds the evidence of old pieces. @from: the first old piece that may overlap; is advanced */
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
	/* part of the memory is new, and no evidence is about it: start without evidence */
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

/* Time without samples does not count as age */
static void unseen(struct piece *p, __u64 ns, __u64 now)
{
	p->since_ns = later(p->since_ns, ns, now);
	p->hit_ns = later(p->hit_ns, ns, now);
}

/* Adds the samples of an interval. @ns: its length; it ends @now. Return: number of samples */
static float observe(struct piece *p, const struct act_scheme *scheme,
		     const struct wsmon_region_entry *r, __u64 now, __u64 ns, bool whole)
{
	__u64 age = r->age_ms * NSEC_PER_MSEC;
	/* a region has a sample in each half; only the mean of both is known */
	float draws = r->end - r->start > 4096 ? 2 : 1;
	float hits = !r->freq ? 0 : r->freq > WSMON_SHARE_ONE / 2 ? draws : 1;

	/* the module found that the use of the region changed */
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

/* Return: factor for the min. age of cold rules; see LOOKS. At most one sample a page is needed */
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

/* @hits: sum over @n draws of values from 0 to 1 */
static struct share share_of(double hits, double n)
{
	struct share s = { .mean = n > 0 ? hits / n : 0 };

	wilson(s.mean, n, &s.low, &s.high);
	return s;
}

/* Return: the age for a rule, in ns: since the last hit if the rule is cold, else since a change */
static __u64 piece_age(const struct piece *p, const struct act_rule *rule, __u64 now)
{
	__u64 from = act_rule_cold(rule) ? p->hit_ns : p->since_ns;

	return now > from ? now - from : 0;
}

/* Does a rule match a piece of @e, by the 95 % interval of its share or rate, and by its age? */
static bool piece_fits(const struct evidence *e, const struct piece *p, const struct act_rule *rule,
		       __u64 now)
{
	__u64 age = piece_age(p, rule, now);
	struct share s = share_of(rule->freq ? p->rate : p->hits, p->draws);

	if (act_rule_cold(rule) && rule->min_age_ns &&
	    (age < rule->min_age_ns * e->slow ||
	     (p->hits >= 1 && p->run * p->hits < COLD_HITS * (p->draws - p->run))))
		return false;
	if (age < rule->min_age_ns || age > rule->max_age_ns)
		return false;
	/* no number of samples can prove "never accessed": match if no sample contradicts it */
	if (rule->max_access <= 0)
		return p->hits <= 0 && p->draws > 0;
	return (rule->min_access <= 0 || s.low >= rule->min_access) &&
	       (rule->max_access >= 1 || s.high <= rule->max_access);
}

/* Are two pieces adjacent? The module may have split a region: rules treat the pieces as one */
static bool neighbours(const struct piece *a, const struct piece *b)
{
	return a->end == b->start && a->class == b->class;
}

static bool done(const struct piece *p, size_t rule, __u64 now, __u64 retry_ns)
{
	return p->acted == rule + 1 && now - p->acted_ns < retry_ns;
}

static int push(struct match *m, const struct stretch *s)
{
	struct stretch *stretch = array_more(m->stretch, m->nr, sizeof(*stretch));

	if (!stretch)
		return -1;
	m->stretch = stretch;
	m->stretch[m->nr++] = *s;
	return 0;
}

/* Return: where to continue, if a rule was applied to a part of a piece; else its start */
static __u64 goes_on(const struct piece *p, size_t rule, __u64 now, __u64 retry_ns)
{
	return p->begun == rule + 1 && now - p->acted_ns < retry_ns &&
	       p->upto > p->start && p->upto < p->end ? p->upto : p->start;
}

/* Aligns a stretch to huge pages if the action needs it. Return: false if nothing is left */
static bool align(const struct act_rule *rule, struct stretch *s)
{
	s->start = s->whole_start;
	s->end = s->whole_end;
	if (rule->action == WSMON_ACT_HUGEPAGE || rule->action == WSMON_ACT_NOHUGEPAGE) {
		s->start = (s->start + ACT_HUGE - 1) & ~(ACT_HUGE - 1);
		s->end &= ~(ACT_HUGE - 1);
	}
	return s->start < s->end;
}

/*
 * Adds adjacent pieces that a rule matches, if their size matches, too. Pieces to which the rule
 * was applied recently count for the size, but the rule is not applied to them again.
 * @first, @last: the pieces; @last is exclusive
 */
static int take_pieces(struct match *m, const struct act_scheme *scheme,
		       const struct evidence *e, size_t rule, size_t first, size_t last,
		       __u64 now, __u64 retry_ns)
{
	const struct act_rule *r = &scheme->rule[rule];
	__u64 size = e->piece[last - 1].end - e->piece[first].start, from;
	size_t i, k;

	if (size < r->min_size || size > r->max_size)
		return 0;
	memset(m->owner + first, rule + 1, last - first);
	for (i = first; i < last; i = k) {
		struct stretch s = {
			.whole_start = e->piece[i].start,
			.class = e->piece[i].class,
			.rule = rule,
			.age_ns = ~0ULL,
		};
		double hits = 0, rate = 0, draws = 0;

		k = i + 1;
		if (done(&e->piece[i], rule, now, retry_ns))
			continue;
		for (k = i; k < last && !done(&e->piece[k], rule, now, retry_ns); k++) {
			__u64 age = piece_age(&e->piece[k], r, now);

			s.whole_end = e->piece[k].end;
			s.gaps |= e->piece[k].gaps;
			hits += e->piece[k].hits;
			rate += e->piece[k].rate;
			draws += e->piece[k].draws;
			if (age < s.age_ns)
				s.age_ns = age;
		}
		s.share = draws > 0 ? hits / draws : 0;
		s.freq = draws > 0 ? rate / draws : 0;
		from = goes_on(&e->piece[i], rule, now, retry_ns);
		if (!align(r, &s))
			continue;
		if (from > s.start && from < s.end)
			s.start = from;
		if (push(m, &s))
			return -1;
	}
	return 0;
}

static int by_age(const void *x, const void *y)
{
	const struct stretch *a = x, *b = y;

	return COMPARE(b->age_ns, a->age_ns) ?: COMPARE(a->start, b->start);
}

static int match_rule(struct match *m, const struct act_scheme *scheme,
		      const struct evidence *e, __u32 classes, size_t rule,
		      __u64 now, __u64 retry_ns)
{
	size_t i, first = 0;
	bool in = false;

	for (i = 0; i < e->nr; i++) {
		const struct piece *p = &e->piece[i];
		bool fits = (classes & 1U << p->class) &&
			    piece_fits(e, p, &scheme->rule[rule], now);

		if (fits && m->owner[i]) {
			m->shadowed[rule] += p->end - p->start;
			fits = false;
		}
		if (in && (!fits || !neighbours(p - 1, p))) {
			if (take_pieces(m, scheme, e, rule, first, i, now, retry_ns))
				return -1;
			in = false;
		}
		if (fits && !in) {
			first = i;
			in = true;
		}
	}
	return in ? take_pieces(m, scheme, e, rule, first, i, now, retry_ns) : 0;
}

int act_match(struct match *m, const struct act_scheme *scheme,
	      const struct evidence *e, __u32 classes, __u64 now, __u64 retry_ns)
{
	size_t rule;

	m->nr = 0;
	memset(m->shadowed, 0, sizeof(m->shadowed));
	if (e->nr > m->owner_room) {
		__u8 *owner = realloc(m->owner, e->nr);

		if (!owner)
			return -1;
		m->owner = owner;
		m->owner_room = e->nr;
	}
	if (e->nr)
		memset(m->owner, 0, e->nr);
	for (rule = 0; rule < scheme->nr; rule++)
		if (match_rule(m, scheme, e, classes, rule, now, retry_ns))
			return -1;
	if (m->nr)
		qsort(m->stretch, m->nr, sizeof(*m->stretch), by_age);
	return 0;
}

void act_match_free(struct match *m)
{
	free(m->stretch);
	free(m->owner);
	memset(m, 0, sizeof(*m));
}
