// SPDX-License-Identifier: GPL-2.0
/*
 * estimate.c - bytes allocated and used, from samples of allocations and parts of regions
 */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "estimate.h"
#include "libwsmon/stats.h"

const __u64 estimate_idle_ns[] = { 10 * NSEC_PER_SEC, 60 * NSEC_PER_SEC };

/**
 * struct owner - what a site has in the part that is looked at
 * @site:	the site
 * @bytes:	estimate of its bytes there
 * @old:	those of them allocated before a class of idle memory began
 */
struct owner {
	struct site *site;
	double bytes;
	double old[ESTIMATE_IDLE];
};

static int compare(const void *x, const void *y)
{
	const struct owner *a = x, *b = y;

	return COMPARE((uintptr_t)a->site, (uintptr_t)b->site);
}

double estimate_weight(__u64 size, __u64 rate)
{
	return size ? -1 / expm1(-(double)size / rate) : 0;
}

static void add_amount(struct amount *a, double bytes, double variance, double less, double more)
{
	a->bytes += bytes;
	a->access += variance;
	a->less += less;
	a->more += more;
}

/* A share of the part is in use: which of its owner's bytes are? */
static void add_owner(const struct owner *o, const struct part *p, __u64 interval_ns)
{
	double size = p->end - p->start, used = p->share * size;
	double share = p->share * o->bytes;
	/* samples may stand for more than there is room for */
	double mine = fmin(o->bytes, size), scale = o->bytes / mine;
	/* what is used may be of others as far as they have it, or all of this site */
	double less = scale * (p->share * mine - fmax(0, used - (size - mine)));
	double more = scale * (fmin(mine, used) - p->share * mine);
	/* since the share changed last, two pages were looked at in each interval */
	double looks = 2 + 2.0 * p->age_ns / (interval_ns ? interval_ns : 1);
	double s = (p->share * looks + 0.5) / (looks + 1), variance = s * (1 - s) / (looks + 1);
	size_t i;

	add_amount(&o->site->used, share, o->bytes * o->bytes * variance, less, more);
	for (i = 0; i < ESTIMATE_IDLE; i++) {
		double part = o->bytes > 0 ? o->old[i] / o->bytes : 0;

		if (p->age_ns >= estimate_idle_ns[i])
			add_amount(&o->site->idle[i], (1 - p->share) * o->old[i],
				   o->old[i] * o->old[i] * variance, more * part, less * part);
	}
}

/* @b: the samples, from the first that ends behind the start of the part */
static void add_part(const struct block *b, size_t nr, const struct part *p,
		     const struct snapshot *s, struct sorted *owners,
		     struct site *(*site_of)(void *data, __u32 stack), void *data)
{
	const struct owner *o;
	size_t i, j;

	owners->nr = owners->late = 0;
	for (i = 0; i < nr && b[i].addr < p->end; i++) {
		__u64 from = b[i].addr > p->start ? b[i].addr : p->start;
		__u64 to = b[i].addr + b[i].size < p->end ? b[i].addr + b[i].size : p->end;
		double bytes = to > from ? (to - from) * b[i].weight : 0;
		struct owner *own;

		if (!bytes)
			continue;
		own = need(sorted_get(owners, &(struct owner){ .site = site_of(data, b[i].stack) }));
		own->bytes += bytes;
		for (j = 0; j < ESTIMATE_IDLE; j++)
			if (s->time_ns - b[i].born_ns >= estimate_idle_ns[j])
				own->old[j] += bytes;
	}
	o = owners->base;
	for (i = 0; i < owners->nr; i++)
		add_owner(&o[i], p, s->interval_ns);
}

void estimate_add(const struct block *b, size_t nr, const struct snapshot *s,
		  struct site *(*site_of)(void *data, __u32 stack), void *data)
{
	struct sorted owners = {
		.size = sizeof(struct owner), .max = nr + 1, .compare = compare, .lazy = true,
	};
	size_t i, first = 0;

	for (i = 0; i < nr; i++) {
		struct site *site = site_of(data, b[i].stack);
		double size = b[i].size;

		site->samples++;
		site->live += size * b[i].weight;
		site->variance += size * size * b[i].weight * (b[i].weight - 1);
	}
	for (i = 0; i < s->nr; i++) {
		while (first < nr && b[first].addr + b[first].size <= s->part[i].start)
			first++;
		add_part(b + first, nr - first, &s->part[i], s, &owners, site_of, data);
	}
	free(owners.base);
}

/*
 * Garwood's interval of a Poisson count, by Wilson and Hilferty, for @unit bytes each: an
 * estimate that is a sum of few samples
 */
static struct bounds poisson(double bytes, double unit)
{
	double n, m, root;
	struct bounds b = { bytes, bytes };

	/* all are sampled */
	if (!(unit > 0))
		return b;
	n = bytes / unit;
	m = n + 1;
	root = n > 0 ? 1 - 1 / (9 * n) - Z / (3 * sqrt(n)) : 0;
	b.low = root > 0 ? unit * n * root * root * root : 0;
	root = 1 - 1 / (9 * m) + Z / (3 * sqrt(m));
	b.high = unit * m * root * root * root;
	return b;
}

/* Bytes that stand for one sample, as far as chance has a part in it */
static double unit(const struct site *s)
{
	return s->live > 0 ? s->variance / s->live : 0;
}

struct bounds estimate_live(const struct site *s)
{
	return poisson(s->live, unit(s));
}

struct bounds estimate_bounds(const struct site *s, const struct amount *a)
{
	struct bounds b = poisson(a->bytes, unit(s)), all = estimate_live(s);
	double access = Z * sqrt(a->access);

	b.low = fmax(0, a->bytes - hypot(a->bytes - b.low, access) - a->less);
	b.high = fmin(all.high, a->bytes + hypot(b.high - a->bytes, access) + a->more);
	return b;
}
