/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peaks_model.h - the detector of peaks in double precision
 */
#ifndef WSMON_PEAKS_MODEL_H
#define WSMON_PEAKS_MODEL_H

#include <math.h>

#include "kunit/world.h"
#include "test.h"

/* The formulas of Documentation/internals/design.rst */
struct model {
	double mean, var, filtered, baseline, var_before, threshold;
	double first[32];
	unsigned int nr, lasted;
	int sign;
};

double model_threshold(const struct model *m, const struct wsmon_attrs *a);
double model_feed(struct model *m, const struct wsmon_attrs *a, double y,
		  double low, double high);

/* Normally distributed, mean 0, standard deviation 1 */
double peaks_normal(void);
void test_peaks_start(void);

#endif
