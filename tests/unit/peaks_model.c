// SPDX-License-Identifier: GPL-2.0
/*
 * peaks_model.c - the detector of peaks in double precision, from its formulas;
 * shares no code with module/wsmon_peaks.c
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

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), compare);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/*
 * Mean and variance of the first estimates. Return: distance to another choice of
 * these, as a part of the threshold
 */
static double model_start(struct model *m, const struct wsmon_attrs *a)
{
	unsigned int i, n = m->nr, rare = fmax(3, n * 3 / 10);
	double v[32], far;

	memcpy(v, m->first, n * sizeof(*v));
	m->mean = median(v, n);
	for (i = 0; i < n; i++)
		v[i] = fabs(m->first[i] - m->mean);
	m->var = pow(1.4826 * median(v, n), 2);
	far = model_threshold(m, a);
	if (n <= rare)
		return INFINITY;
	if (v[n - 1 - rare] > far) {
		for (m->mean = 0, i = 0; i < n; i++)
			m->mean += m->first[i] / n;
		for (m->var = 0, i = 0; i < n; i++)
			m->var += pow(m->first[i] - m->mean, 2) / n;
	}
	return fabs(v[n - 1 - rare] - far) / far;
}

/* Return: distance to another decision, as a part of the threshold */
double model_feed(struct model *m, const struct wsmon_attrs *a, double y,
		  double low, double high)
{
	double settled = fmax(m->threshold, m->mean * a->peak_gain / 50000);
	double far, near = INFINITY;
	unsigned int start = min(a->peak_window, 32U), first = min(start, 6U);
	int was = m->sign, sign;

	if (a->peak_detector == WSMON_PEAK_FANO) {
		start = 0;
		first = a->peak_window;
	}

	if (m->sign && a->peak_detector == WSMON_PEAK_SIGMA) {
		near = fmin(fabs(m->sign * (y - m->baseline) - m->threshold),
			    fmin(fabs(fabs(y - m->mean) - settled),
				 fabs(fabs(m->filtered - m->mean) - settled))) / settled;
		if (m->sign * (y - m->baseline) <= m->threshold) {
			m->sign = 0;
			m->mean = m->baseline;
			m->var = m->var_before;
			for (far = 0; far < fmin(m->lasted, 32); far++)
				model_add(m, fmax(0, m->baseline + was * 0.3 * m->threshold),
					  a->peak_window);
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
	m->lasted++;
	if (!m->sign && m->nr >= first) {
		far = model_threshold(m, a);
		if (m->nr < start)
			far *= 1 + 6.0 / m->nr;
		if (a->peak_detector == WSMON_PEAK_SIGMA)
			far = fmax(far, 16);
		near = fmin(near, fmin(fabs(low - m->mean - far),
				       fabs(m->mean - high - far)) / far);
		sign = low - m->mean > far ? 1 : m->mean - high > far ? -1 : 0;
		if (sign && sign != was) {
			m->sign = sign;
			m->baseline = m->mean;
			m->var_before = m->var;
			m->threshold = far;
			m->lasted = 1;
		}
	}
	if (!m->nr) {
		m->mean = y;
		m->filtered = y;
	}
	if (m->nr < start)
		m->first[m->nr] = y;
	m->nr++;
	if (m->sign)
		m->filtered += a->peak_adapt / 1000.0 * (y - m->filtered);
	else
		m->filtered = y;
	if (m->nr <= start)
		near = fmin(near, model_start(m, a));
	else
		model_add(m, m->filtered, a->peak_window);
	return near;
}
