// SPDX-License-Identifier: GPL-2.0
/*
 * tsc.c - prints the frequency of the time stamp counter in kHz
 *
 * The shortest of several readings around each end keeps out what interrupts
 * add; the kernel's own clock is the measure.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The counter and the clock, read as close together as can be had */
static void both(uint64_t *tsc, int64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t before = __rdtsc();
		int64_t now = now_ns();
		uint64_t took = __rdtsc() - before;

		if (took < best) {
			best = took;
			*tsc = before + took / 2;
			*ns = now;
		}
	}
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };
	uint64_t t0, t1;
	int64_t n0, n1;

	both(&t0, &n0);
	nanosleep(&pause, NULL);
	both(&t1, &n1);
	printf("%.0f\n", (t1 - t0) * 1e6 / (n1 - n0));
	return 0;
}
