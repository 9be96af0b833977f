// SPDX-License-Identifier: GPL-2.0
/*
 * cases turns COUNT BYTES HOLD_MS small|huge
 * cases vast BYTES HOT
 *
 * Workloads of other projects. turns: COUNT regions, each accessed for HOLD_MS, in turn,
 * again and again (DAMON's access_memory, masim's stairs and zigzag).
 * vast: HOT bytes are accessed among BYTES, in huge pages; one file of at most 2 GiB is mapped
 * repeatedly, so that terabytes need only their page tables (Telescope's cases).
 *
 * Touches every 50 ms. Prints "ready START END HOT_START HOT_END"; runs until a signal.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HUGE_PAGE	(2UL << 20)
#define FILE_BYTES	(2UL << 30)
#define PERIOD_NS	50000000L
#define NSEC_PER_SEC	1000000000L

static char *reserve(size_t bytes)
{
	char *at = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);

	if (at == MAP_FAILED)
		err(EXIT_FAILURE, "mmap of %zu bytes", bytes);
	return (char *)(((uintptr_t)at + HUGE_PAGE - 1) & -HUGE_PAGE);
}

static void touch(char *at, size_t bytes, size_t step)
{
	for (size_t i = 0; i < bytes; i += step)
		*(volatile char *)(at + i) = 1;
}

static void ready(const char *at, size_t bytes, const char *hot, size_t hot_bytes)
{
	printf("ready %lu %lu %lu %lu\n", (uintptr_t)at, (uintptr_t)at + bytes, (uintptr_t)hot,
	       (uintptr_t)hot + hot_bytes);
	fflush(stdout);
}

/* Sleep until the next multiple of the period. Return: number of periods since @began */
static long next_period(const struct timespec *began)
{
	struct timespec t;
	long n;

	clock_gettime(CLOCK_MONOTONIC, &t);
	n = ((t.tv_sec - began->tv_sec) * NSEC_PER_SEC + t.tv_nsec - began->tv_nsec) / PERIOD_NS + 1;
	t.tv_sec = began->tv_sec + (began->tv_nsec + n * PERIOD_NS) / NSEC_PER_SEC;
	t.tv_nsec = (began->tv_nsec + n * PERIOD_NS) % NSEC_PER_SEC;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return n;
}

static void turns(long count, size_t bytes, long hold_ms, bool huge)
{
	char *at = reserve(count * bytes);
	struct timespec began;

	if (mprotect(at, count * bytes, PROT_READ | PROT_WRITE) ||
	    madvise(at, count * bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		err(EXIT_FAILURE, "%zu bytes", count * bytes);
	touch(at, count * bytes, sysconf(_SC_PAGESIZE));
	ready(at, count * bytes, at, bytes);
	clock_gettime(CLOCK_MONOTONIC, &began);
	for (;;) {
		long i = next_period(&began) * (PERIOD_NS / 1000000) / hold_ms % count;

		touch(at + i * bytes, bytes, sysconf(_SC_PAGESIZE));
	}
}

static void vast(size_t bytes, size_t hot)
{
	size_t file = bytes < FILE_BYTES ? bytes : FILE_BYTES;
	char *at = reserve(bytes), *there = at + bytes / HUGE_PAGE / 8 * 3 * HUGE_PAGE;
	int fd = memfd_create("cases", 0);
	struct timespec began;

	if (fd < 0 || ftruncate(fd, file))
		err(EXIT_FAILURE, "memfd");
	for (size_t i = 0; i < bytes; i += file)
		if (mmap(at + i, file, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED)
			err(EXIT_FAILURE, "mapping %zu", i / file);
	touch(at, bytes, HUGE_PAGE);
	ready(at, bytes, there, hot);
	clock_gettime(CLOCK_MONOTONIC, &began);
	for (;;) {
		next_period(&began);
		touch(there, hot, HUGE_PAGE);
	}
}

int main(int argc, char *argv[])
{
	if (argc == 6 && !strcmp(argv[1], "turns"))
		turns(atol(argv[2]), atol(argv[3]), atol(argv[4]), !strcmp(argv[5], "huge"));
	else if (argc == 4 && !strcmp(argv[1], "vast"))
		vast(atol(argv[2]), atol(argv[3]));
	errx(2, "usage: cases turns COUNT BYTES HOLD_MS small|huge | vast BYTES HOT");
}
