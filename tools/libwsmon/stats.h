/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stats.h - intervals and quantiles, for all of tools/
 */
#ifndef WSMO_STATS_H
#define WSMO_STATS_H

#include <stddef.h>

/* 97.5 % quantile of the normal distribution: half the width of a 95 % interval */
#define Z	1.96

/** nearest_rank() - get the index of a percentile, a measured value, among @nr ascending ones */
static inline size_t nearest_rank(size_t nr, unsigned int percent)
{
	size_t rank = (percent * nr + 99) / 100;

	return rank ? rank - 1 : 0;
}

/**
 * wilson() - get the 95 % interval of a proportion
 * @p:		the proportion measured
 * @n:		number of independent samples; if they lie between 0 and 1 they vary less, and the
 *		interval is too wide. 0 gives an interval from 0 to 1
 * @low:	gets its lower end
 * @high:	gets its upper end
 *
 * It is not empty at 0 and 1 either (E. B. Wilson, Probable Inference, the Law of Succession,
 * and Statistical Inference, JASA 22, 1927).
 */
void wilson(double p, double n, double *low, double *high);

/** student() - get the t that |T| of Student's distribution exceeds with probability @p */
double student(double p, unsigned int freedom);

#endif /* WSMO_STATS_H */
