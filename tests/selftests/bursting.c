// SPDX-License-Identifier: GPL-2.0
/*
 * bursting.c - 8 MiB in use in rest_here(), and twice for a second 64 MiB in
 * burst_here()
 */
#include <stdlib.h>
#include <time.h>

#define MIB	((size_t)1 << 20)
#define PAGE	4096

static volatile char *memory;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void touch(size_t size)
{
	struct timespec pause = { 0, 5000000 };

	for (size_t i = 0; i < size; i += PAGE)
		memory[i]++;
	nanosleep(&pause, NULL);
}

static __attribute__((noipa)) void rest_here(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		touch(8 * MIB);
}

static __attribute__((noipa)) void burst_here(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		touch(64 * MIB);
}

int main(void)
{
	memory = malloc(64 * MIB);
	if (!memory)
		return 1;
	for (size_t i = 0; i < 64 * MIB; i += PAGE)
		memory[i] = 1;
	for (int i = 0; i < 2; i++) {
		rest_here(5);
		burst_here(1);
	}
	rest_here(2);
	return 0;
}
