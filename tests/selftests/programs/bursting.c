// SPDX-License-Identifier: GPL-2.0
/*
 * bursting.c - 8 MiB in use in rest_here(), and twice for a second 64 MiB in
 * burst_here(); or as the arguments say:
 *
 * bursting [BASE TOP REST BURST TIMES [FIRST]]: MiB, seconds, and the length of
 * the first rest. If FIRST is negative, bursts give their memory back.
 * Prints the start of each burst, on CLOCK_MONOTONIC.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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
	struct timespec pause = { 0, 20000000 };

	for (size_t i = 0; i < size; i += PAGE)
		memory[i]++;
	nanosleep(&pause, NULL);
}

static __attribute__((noipa)) void rest_here(size_t size, double seconds)
{
	for (double end = now() + seconds; now() < end;)
		touch(size);
}

static __attribute__((noipa)) void burst_here(size_t size, double seconds)
{
	for (double end = now() + seconds; now() < end;)
		touch(size);
}

int main(int argc, char **argv)
{
	double arg[] = { 8, 64, 5, 1, 2, 5 };

	for (int i = 1; i < argc && i <= 6; i++)
		arg[i - 1] = atof(argv[i]);
	if (argc < 7)
		arg[5] = arg[2];

	size_t base = arg[0] * MIB, top = arg[1] * MIB;

	memory = mmap(NULL, top, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < top; i += PAGE)
		memory[i] = 1;
	for (int i = 0; i < arg[4]; i++) {
		rest_here(base, i ? arg[2] : fabs(arg[5]));
		printf("%.3f\n", now());
		fflush(stdout);
		burst_here(top, arg[3]);
		if (arg[5] < 0)
			madvise((char *)memory + base, top - base, MADV_DONTNEED);
	}
	rest_here(base, 2);
	return 0;
}
