// SPDX-License-Identifier: GPL-2.0
/*
 * batches.c - the mean of a series, and how far it may be from the true one
 */
#include <math.h>

#include "batches.h"
#include "libwsmon/stats.h"

#define FREEDOM_MAX	1000

void batches_fold(struct batches *b)
{
	int i;

	for (i = 0; i < BATCHES; i++)
		b->sum[i] = i < BATCHES / 2 ? b->sum[2 * i] + b->sum[2 * i + 1] : 0;
}

void batches_add(struct batches *b, const struct moments *m, double value, double half)
{
	b->sum[(m->nr - 1) / m->length] += value;
	b->sampled += half * half;
}

struct estimate batches_estimate(const struct batches *b, const struct moments *m, double apart)
{
	struct estimate e = { .variance = INFINITY, .in_time = INFINITY };
	/* what is shorter than the errors' memory would be alike; a file may say anything */
	unsigned int join = fmin(BATCHES, fmax(1, ceil(apart / m->length)));
	unsigned int nr = m->nr / m->length / join, i, j;
	double mean = 0, squares = 0;

	for (i = 0; i < BATCHES; i++)
		e.mean += b->sum[i] / m->nr;
	if (nr < 2)
		return e;
	for (i = 0; i < nr; i++) {
		double value = 0, before = mean;

		for (j = 0; j < join; j++)
			value += b->sum[i * join + j] / (join * m->length);
		mean += (value - mean) / (i + 1);
		squares += (value - before) * (value - mean);
	}
	e.freedom = nr - 1;
	e.in_time = squares / e.freedom / nr;
	e.variance = e.in_time + b->sampled * fmax(1, apart) / (Z * Z * m->nr * m->nr);
	return e;
}

unsigned int estimates_freedom(const struct estimate *a, const struct estimate *b)
{
	double sum = a->variance + b->variance;
	double parts = a->in_time * a->in_time / a->freedom + b->in_time * b->in_time / b->freedom;
	double freedom = sum * sum / parts;

	/* also if nothing varied */
	return freedom < FREEDOM_MAX ? fmax(1, freedom) : FREEDOM_MAX;
}
