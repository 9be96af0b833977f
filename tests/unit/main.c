// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - runs the unit tests of the module's pure files
 */
#include <stdarg.h>

#include "test.h"

static unsigned int tests, failed;
static bool test_ok;
static u64 state;

void test_seed(u64 seed)
{
	state = seed;
}

u64 test_random(void)
{
	u64 z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 test_hash(u64 x)
{
	u64 z = x * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93ULL;
	return z ^ (z >> 32);
}

u64 test_below(u64 n)
{
	return mul_u64_u64_shr(test_random(), n, 64);
}

void test_fail(const char *file, int line, const char *cond, const char *fmt, ...)
{
	va_list ap;

	if (!test_ok)
		return;
	test_ok = false;
	printf("# %s:%d: not so: %s: ", file, line, cond);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void test_begin(void)
{
	test_ok = true;
	test_seed(1);
}

bool test_holds(void)
{
	return test_ok;
}

void test_end(const char *name)
{
	tests++;
	failed += !test_ok;
	printf("%sok %u - %s\n", test_ok ? "" : "not ", tests, name);
	fflush(stdout);
}

void test_run(const char *name, void (*test)(void))
{
	test_begin();
	test();
	test_end(name);
}

int main(void)
{
	printf("TAP version 13\n");
	test_run_suites();
	test_space();
	test_regions();
	test_adapt();
	test_fresh();
	test_wss();
	test_reach();
	test_draw();
	test_cluster();
	test_history();
	test_gone();
	test_peaks();
	test_pace();
	test_precision();
	test_coverage();
	test_windows();
	test_models();
	printf("1..%u\n", tests);
	return failed != 0;
}
