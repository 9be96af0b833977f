/* SPDX-License-Identifier: GPL-2.0 */
/*
 * batches.h - the mean of a series, and how far it may be from the true one
 *
 * Values of neighbouring moments are alike, so their variance does not show how exact
 * their mean is. The means of long stretches, batches, are nearly independent (Schmeiser,
 * "Batch size effects in the analysis of simulation output", Operations Research, 1982: 10
 * to 30 batches are enough). Memory does not grow with the series.
 */
#ifndef WSMO_BATCHES_H
#define WSMO_BATCHES_H

#include "wsmon.h"

#define BATCHES		32

/**
 * struct moments - how the series of a recording are divided
 * @nr:		moments so far
 * @length:	moments of a batch: a power of two
 */
struct moments {
	__u64 nr;
	__u64 length;
};

/**
 * struct batches - a series; zeroed, it is 0 at all moments so far
 * @sum:	sums of the values, of each batch
 * @sampled:	sum of the squares of half the 95 % intervals of the values
 */
struct batches {
	double sum[BATCHES];
	double sampled;
};

/**
 * struct estimate - a mean
 * @mean:	the mean
 * @variance:	of @mean: in time, and of sampling; infinite if there are too few moments
 * @in_time:	the first part of that
 * @freedom:	degrees of freedom of @in_time
 */
struct estimate {
	double mean;
	double variance;
	double in_time;
	double freedom;
};

/** batches_fold() - halve the number of batches, before a moment for which there is no room */
void batches_fold(struct batches *b);

/** batches_add() - add to the value of the last moment; @half is half its 95 % interval */
void batches_add(struct batches *b, const struct moments *m, double value, double half);

/**
 * batches_estimate() - estimate the mean
 * @apart: values that are this many moments apart have independent errors
 */
struct estimate batches_estimate(const struct batches *b, const struct moments *m, double apart);

/**
 * estimates_freedom() - degrees of freedom of the sum or difference of two estimates
 *
 * Welch, "The generalization of 'Student's' problem", Biometrika, 1947
 */
unsigned int estimates_freedom(const struct estimate *a, const struct estimate *b);

#endif /* WSMO_BATCHES_H */
