/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve.h - the working set as a function of its window, and what follows for a limit
 *
 * Times are seconds, sizes bytes, rates bytes a second.
 *
 * The mean working set S(T) of a stationary program rises by the rate at which
 * memory is used that was not used for T: dS/dT is the missing rate of a policy
 * that keeps what was used within T (Denning and Schwartz, Properties of the
 * Working-Set Model, CACM 15:3, 1972). That rate falls with T, so S is concave.
 * Least recently used memory of a limited size s keeps what was used within about
 * T, with S(T) = s: the characteristic time (Che, Tung and Wang, IEEE JSAC 20:7,
 * 2002; Fricker, Robert and Roberts, ITC 24, 2012).
 */
#ifndef WSMO_CURVE_H
#define WSMO_CURVE_H

#include "libwsmon/libwsmon.h"

/* Rounds a number that is not negative */
static inline __u64 whole(double x)
{
	return x < 0x1p64 ? (__u64)(x + 0.5) : ~0ULL;
}

/** curve_fit() - compute the curve from its points */
void curve_fit(struct wsmon_curve *c);

/**
 * curve_window() - find the longest window with this working set: what a limit keeps
 * Return: seconds; infinity if the longest window there is has less
 */
double curve_window(const struct wsmon_curve *c, double size);

/** curve_size() - get the working set of a window up to the longest */
double curve_size(const struct wsmon_curve *c, double window);

/** curve_ends() - get the ends of its 95 % interval */
void curve_ends(const struct wsmon_curve *c, double window, double *low, double *high);

/** curve_rate() - get the slope at a window; beyond the longest that at the longest */
double curve_rate(const struct wsmon_curve *c, double window);

/**
 * struct curve_miss - what a limit leads to
 * @bound:	what is known of the rate
 * @window:	memory used within this time stays; infinity if not known
 * @rate:	rate at which memory is used that did not stay
 * @low:	lower end of its 95 % interval
 * @high:	upper end
 */
struct curve_miss {
	enum wsmon_bound bound;
	double window;
	double rate;
	double low;
	double high;
};

/** curve_limit() - compute what a limit of @size leads to */
struct curve_miss curve_limit(const struct wsmon_curve *c, double size);

/**
 * curve_smallest() - find the smallest limit whose rate has an upper end of @max_rate
 * Return: bytes; infinity if the longest window is too short
 */
double curve_smallest(const struct wsmon_curve *c, double max_rate);

#endif /* WSMO_CURVE_H */
