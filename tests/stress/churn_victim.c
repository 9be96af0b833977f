// SPDX-License-Identifier: GPL-2.0
/*
 * churn victim: memory of which every HOT_STRIDEth page is touched regularly
 * and the others never again. Which pages does reclaim take? VICTIM_HUGE=1 in
 * the environment makes them huge pages; VICTIM_MS is the time between touches,
 * in which a sampler may steal the Accessed bits.
 *
 * Prints "ready" when reclaim can tell the pages apart: recently touched ones
 * have their Accessed bits set, the others do not. At SIGTERM it prints how
 * many pages of each kind were taken since then: "hot N of N, cold N of N".
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "churn.h"

#ifndef MADV_COLD
#define MADV_COLD	20
#endif

#define HOT_STRIDE	4
#define PRESENT		(1ULL << 63)	/* in /proc/PID/pagemap */
#define ENTRIES		512

static volatile sig_atomic_t told;
static size_t nr_pages;
static size_t unit = 1;
static long pass_ms = 500;
static char *area;

static void on_term(int sig)
{
	(void)sig;
	told = 1;
}

static bool is_hot(size_t i)
{
	return i / unit % HOT_STRIDE == 0;
}

/* Pages of this kind that are not in memory now */
static size_t gone(int pagemap, bool hot)
{
	uint64_t entries[ENTRIES];
	size_t n = 0;

	for (size_t i = 0; i < nr_pages; i++) {
		if (i % ENTRIES == 0 &&
		    pread(pagemap, entries, sizeof(entries),
			  ((uintptr_t)area / PAGE + i) * sizeof(*entries)) !=
		    sizeof(entries))
			err(1, "pagemap");
		n += !(entries[i % ENTRIES] & PRESENT) &&
		     hot == is_hot(i);
	}
	return n;
}

static void touch(void)
{
	for (size_t i = 0; i < nr_pages; i++)
		if (is_hot(i) &&
		    *(volatile uint64_t *)(area + i * PAGE) != i + 1)
			lost("page %zu", i);
}

static void rest(void)
{
	struct timespec t = { .tv_nsec = pass_ms * 1000000 };

	nanosleep(&t, NULL);
}

static void setup(void)
{
	bool huge = getenv("VICTIM_HUGE");

	if (huge)
		unit = ENTRIES;
	if (getenv("VICTIM_MS"))
		pass_ms = atol(getenv("VICTIM_MS"));
	nr_pages = megabytes(64) / PAGE / ENTRIES * ENTRIES;
	area = map_pages(nr_pages + ENTRIES, 0);
	area = (char *)(((uintptr_t)area + HUGE_PAGE - 1) & -HUGE_PAGE);
	madvise(area, nr_pages * PAGE, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr_pages; i++)
		*(uint64_t *)(area + i * PAGE) = i + 1;
	if (madvise(area, nr_pages * PAGE, MADV_COLD))
		err(1, "MADV_COLD");
}

void churn_victim(void)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	size_t hot = 0, passes = 0;

	if (pagemap < 0)
		err(1, "pagemap");
	setup();
	signal(SIGTERM, on_term);
	while (!told && going()) {
		touch();
		if (++passes == 2)
			dprintf(STDOUT_FILENO, "ready\n");
		rest();
		/* pages that were taken come back in the next pass */
		hot += gone(pagemap, true);
		count();
	}
	dprintf(STDOUT_FILENO, "hot %zu of %zu, cold %zu of %zu\n", hot,
		nr_pages / HOT_STRIDE, gone(pagemap, false),
		nr_pages - nr_pages / HOT_STRIDE);
}
