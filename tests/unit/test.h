/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test.h - a test is a function; CHECK() asserts conditions; output is TAP
 */
#ifndef WSMON_TEST_H
#define WSMON_TEST_H

#include <kunit/test.h>
#include <stdlib.h>

#include "../../module/wsmon_control.h"

/*
 * Print the values if a condition does not hold, once a test, and fail the
 * test.
 */
#define CHECK(cond, ...) do {						\
		if (!(cond))						\
			test_fail(__FILE__, __LINE__, #cond, __VA_ARGS__); \
	} while (0)

void test_begin(void);
bool test_holds(void);
void test_end(const char *name);
void test_run(const char *name, void (*test)(void));

/* A seeded generator: every run tests the same */
u64 test_random(void);
u64 test_below(u64 n);
/* Noise that depends on @x alone */
u64 test_hash(u64 x);
void test_seed(u64 seed);

void test_space(void);
void test_regions(void);
void test_adapt(void);
void test_fresh(void);
void test_wss(void);
void test_reach(void);
void test_draw(void);
void test_cluster(void);
void test_history(void);
void test_gone(void);
void test_peaks(void);
void test_pace(void);
void test_precision(void);
void test_coverage(void);
void test_windows(void);
void test_models(void);

#endif
