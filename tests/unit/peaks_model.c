// SPDX-License-Identifier: GPL-2.0
/*
 * peaks_model.c - the detector of peaks in double precision, as the formulas
 * have it; shares no code with module/wsmon_peaks.c
 */
#include "peaks_model.h"

double model_threshold(const struct model *m, const struct wsmon_attrs *a)
{
	double g = a->peak_gain / 1000.0, spread = m->var, f = INFINITY, c;

	if (a->peak_detector == WSMON_PEAK_SIGMA)
		spread = sqrt(m->var);
	if (m->mean > 0)
		f = a->peak_detector == WSMON_PEAK_SIGMA ?
		    pow(spread * 10 / m->mean, 2) : spread / m->mean;
	c = 1 - exp(-f / 2);
	return c * g * spread + (1 - c) * g / 10 * m->mean;
}

static void model_add(struct model *m, double x, u32 window)
{
	double al = 2.0 / (window + 1), diff = x - m->mean;

	m->var = (1 - al) * (m->var + al * diff * diff);
	m->mean += al * diff;
}

/* Return: how near to another decision it was, as a part of the threshold */
double model_feed(struct model *m, const struct wsmon_attrs *a, double y,
		  double low, double high)
{
	double settled = fmax(m->threshold, m->mean * a->peak_gain / 50000);
	double far, near = INFINITY;
	int was = m->sign, sign;

	if (m->sign && a->peak_detector == WSMON_PEAK_SIGMA) {
		near = fmin(fabs(m->sign * (y - m->baseline) - m->threshold),
			    fmin(fabs(fabs(y - m->mean) - settled),
				 fabs(fabs(m->filtered - m->mean) - settled))) / settled;
		if (m->sign * (y - m->baseline) <= m->threshold) {
			m->sign = 0;
			m->mean = m->baseline;
			m->var = m->var_before;
			model_add(m, fmin(fmax(m->filtered, m->baseline - m->threshold),
					  m->baseline + m->threshold), a->peak_window);
		} else if (fabs(y - m->mean) <= settled &&
			   fabs(m->filtered - m->mean) <= settled) {
			m->sign = 0;
		}
	} else if (m->sign) {
		far = model_threshold(m, a);
		near = fabs(m->sign * (y - m->mean) - far) / far;
		if (m->sign * (y - m->mean) <= far)
			m->sign = 0;
	}
	if (!m->sign && m->nr >= a->peak_window) {
		far = model_threshold(m, a);
		near = fmin(near, fmin(fabs(low - m->mean - far),
				       fabs(m->mean - high - far)) / far);
		sign = low - m->mean > far ? 1 : m->mean - high > far ? -1 : 0;
		if (sign && sign != was) {
			m->sign = sign;
			m->baseline = m->mean;
			m->var_before = m->var;
			m->threshold = far;
		}
	}
	if (!m->nr) {
		m->mean = y;
		m->filtered = y;
	}
	m->nr++;
	if (m->sign)
		m->filtered += a->peak_adapt / 1000.0 * (y - m->filtered);
	else
		m->filtered = y;
	model_add(m, m->filtered, a->peak_window);
	return near;
}
