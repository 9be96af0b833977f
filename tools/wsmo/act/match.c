// SPDX-License-Identifier: GPL-2.0
/*
 * match.c - which memory the rules of a scheme apply to now
 */
#include <stdlib.h>
#include <string.h>

#include "match.h"
#include "libwsmon/util.h"

/* Pieces the module may have cut in two: both sides are one to a rule */
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
	if (m->nr == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct stretch *stretch = reallocarray(m->stretch, room,
						       sizeof(*stretch));

		if (!stretch)
			return -1;
		m->stretch = stretch;
		m->room = room;
	}
	m->stretch[m->nr++] = *s;
	return 0;
}

/* Where a rule goes on with a piece: what was done of it need not show */
static __u64 goes_on(const struct piece *p, size_t rule, __u64 now, __u64 retry_ns)
{
	return p->begun == rule + 1 && now - p->acted_ns < retry_ns &&
	       p->upto > p->start && p->upto < p->end ? p->upto : p->start;
}

/* Huge pages are where their size divides the address */
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
 * The pieces from @first to before @last fit a rule: its size decides. What was
 * done already is part of the stretch, but not done again.
 */
static int take(struct match *m, const struct act_scheme *scheme,
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
			if (take(m, scheme, e, rule, first, i, now, retry_ns))
				return -1;
			in = false;
		}
		if (fits && !in) {
			first = i;
			in = true;
		}
	}
	return in ? take(m, scheme, e, rule, first, i, now, retry_ns) : 0;
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
