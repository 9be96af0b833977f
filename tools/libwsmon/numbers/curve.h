/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve.h - the working set against its window, and what follows for a limit
 *
 * Pure: numbers in, numbers out. Times are seconds, sizes bytes, rates bytes a
 * second.
 *
 * The mean working set S(tau) of a stationary program rises by the rate at which
 * memory is used that was not used for tau: dS/dtau is the missing rate of a policy
 * that keeps what was used within tau (Denning and Schwartz, Properties of the
 * Working-Set Model, CACM 15:3, 1972). That rate falls with tau, so S is concave.
 * Least recently used memory of a limited size s keeps what was used within about
 * T, with S(T) = s: the characteristic time (Che, Tung and Wang, IEEE JSAC 20:7,
 * 2002; Fricker, Robert and Roberts, ITC 24, 2012).
 */
#ifndef WSMO_CURVE_H
#define WSMO_CURVE_H

#include <stddef.h>

#include "wsmon.h"

/**
 * struct curve_point - what is known at one window
 * @tau:	the window
 * @mean:	mean working set, as it was measured
 * @size:	the same, pooled where the means of longer windows are smaller:
 *		curve_fit() sets it
 * @low:	lower end of its 95 % interval
 * @high:	upper end
 * @slack:	half the 95 % interval of how much @mean rose since the window before
 */
struct curve_point {
	double tau;
	double mean;
	double size;
	double low;
	double high;
	double slack;
};

/**
 * struct curve - a curve through (0, 0) and @nr points, two at least
 * @point:	by window, ascending
 * @tau:	nodes: [0] is 0, [i] that of point i - 1
 * @size:	of the nodes: rising and concave, else as near to the points as can be
 * @slope:	of the curve in the nodes
 */
struct curve {
	size_t nr;
	struct curve_point point[WSMON_WINDOWS_MAX];
	double tau[WSMON_WINDOWS_MAX + 1];
	double size[WSMON_WINDOWS_MAX + 1];
	double slope[WSMON_WINDOWS_MAX + 1];
};

/* The nearest whole number of one that is not negative */
static inline __u64 whole(double x)
{
	return x < 0x1p64 ? (__u64)(x + 0.5) : ~0ULL;
}

/** curve_fit() - complete a curve whose points are there */
void curve_fit(struct curve *c);

/**
 * curve_window() - the longest window with this working set: what a limit keeps
 * Return: seconds; infinity if the longest window there is has less
 */
double curve_window(const struct curve *c, double size);

/** curve_size() - the working set of a window up to the longest */
double curve_size(const struct curve *c, double tau);

/** curve_ends() - the ends of its 95 % interval */
void curve_ends(const struct curve *c, double tau, double *low, double *high);

/** curve_rate() - how fast it rises there; behind the longest, as at its end */
double curve_rate(const struct curve *c, double tau);

/* What is known of a rate, in struct curve_miss.bound */
enum curve_bound {
	CURVE_EXACT,	/* it is within its interval */
	CURVE_BELOW,	/* not more than its upper end: no window was that long */
	CURVE_ABOVE,	/* more than its lower end: no window was that short */
};

/**
 * struct curve_miss - what a limit means
 * @bound:	enum curve_bound
 * @tau:	what was used within this time stays; infinity if not known
 * @rate:	rate at which memory is used that did not stay
 * @low:	lower end of its 95 % interval
 * @high:	upper end
 */
struct curve_miss {
	enum curve_bound bound;
	double tau;
	double rate;
	double low;
	double high;
};

/** curve_limit() - what a limit of @size means */
struct curve_miss curve_limit(const struct curve *c, double size);

/**
 * curve_smallest() - the smallest limit whose rate has an upper end of @most
 * Return: bytes; infinity if the longest window is too short to tell
 */
double curve_smallest(const struct curve *c, double most);

#endif /* WSMO_CURVE_H */
