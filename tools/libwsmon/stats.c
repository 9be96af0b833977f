// SPDX-License-Identifier: GPL-2.0
/* stats.c - intervals and quantiles, for all of tools/ */
#include <math.h>
#include <stdbool.h>

#include "stats.h"

void wilson(double p, double n, double *low, double *high)
{
	const double d = 1 + Z * Z / n, mid = (p + Z * Z / (2 * n)) / d;
	double half = Z / d * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n));

	*low = n > 0 && p > 0 ? fmax(mid - half, 0) : 0;
	*high = n > 0 && p < 1 ? fmin(mid + half, 1) : 1;
}

/* P(|T| <= t) as in Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3, 26.7.4 */
static double within(double t, unsigned int freedom)
{
	double angle = atan(t / sqrt(freedom)), c = cos(angle), sum = 0;
	bool odd = freedom % 2;
	double term = odd ? c : 1;
	unsigned int i;

	for (i = 2 + odd; i <= freedom; i += 2) {
		sum += term;
		term *= c * c * (i - 1) / i;
	}
	sum *= sin(angle);
	return odd ? (angle + sum) * M_2_PI : sum;
}

double student(double p, unsigned int freedom)
{
	double low = 0, high = 1e9;
	int i;

	for (i = 0; i < 100; i++) {
		double t = (low + high) / 2;

		if (1 - within(t, freedom) > p)
			low = t;
		else
			high = t;
	}
	return high;
}
