/* SPDX-License-Identifier: GPL-2.0 */
/* stats.h - intervals and quantiles, for all of tools/ */
#ifndef WSMO_STATS_H
#define WSMO_STATS_H

#include <stddef.h>

/* 97.5 % quantile of the normal distribution: a 95 % interval is the mean +- Z deviations */
#define Z	1.96

/** nearest_rank() - get the index of a percentile among @nr ascending values, by nearest rank */
static inline size_t nearest_rank(size_t nr, unsigned int percent)
{
	size_t rank = (percent * nr + 99) / 100;

	return rank ? rank - 1 : 0;
}

/**
 * wilson() - get the 95 % confidence interval of a proportion
 * @p:		the proportion measured
 * @n:		number of independent samples, each 0 or 1; 0 samples give the interval 0 to 1.
 *		Samples between 0 and 1 vary less, so their interval is wider than necessary
 * @low:	gets the lower end
 * @high:	gets the upper end
 *
 * Even at @p 0 and 1 the interval has a width (E. B. Wilson, Probable Inference, the Law of
 * Succession, and Statistical Inference, JASA 22, 1927).
 */
void wilson(double p, double n, double *low, double *high);

/**
 * student() - get the two-sided critical value of Student's t-distribution
 * @p:		probability that |T| exceeds the value
 * @freedom:	degrees of freedom, at least 1
 */
double student(double p, unsigned int freedom);

#endif /* WSMO_STATS_H */
