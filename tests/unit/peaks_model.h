/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peaks_model.h - the detector of peaks in double precision
 */
#ifndef WSMON_PEAKS_MODEL_H
#define WSMON_PEAKS_MODEL_H

#include <math.h>

#include "test.h"

/* By the formulas of Documentation/design.rst */
struct model {
	double mean, var, filtered, baseline, var_before, threshold;
	unsigned int nr;
	int sign;
};

double model_threshold(const struct model *m, const struct wsmon_attrs *a);
double model_feed(struct model *m, const struct wsmon_attrs *a, double y,
		  double low, double high);

#endif
