// SPDX-License-Identifier: GPL-2.0
/*
 * churn victim: memory of which every HOT_STRIDEth page is touched regularly
 * and the others never again. Whom does reclaim take?
 *
 * Prints "ready" when reclaim can tell them apart: those touched lately have
 * their Accessed bits set, the others not. At SIGTERM it prints how many pages
 * of each kind were taken since then: "hot N of N, cold N of N".
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "churn.h"

#ifndef MADV_COLD
#define MADV_COLD	20
#endif

#define HOT_STRIDE	4
/* Between touches there is time for the bits to be stolen. */
#define PASS_MS		500
#define PRESENT		(1ULL << 63)	/* in /proc/PID/pagemap */
#define ENTRIES		512

static volatile sig_atomic_t told;
static size_t nr_pages;
static char *area;

static void on_term(int sig)
{
	(void)sig;
	told = 1;
}

/* Pages of a kind that are not there now */
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
		     hot == (i % HOT_STRIDE == 0);
	}
	return n;
}

static void touch(void)
{
	for (size_t i = 0; i < nr_pages; i += HOT_STRIDE)
		if (*(volatile uint64_t *)(area + i * PAGE) != i + 1)
			lost("page %zu", i);
}

static void rest(void)
{
	struct timespec t = { .tv_nsec = PASS_MS * 1000000 };

	nanosleep(&t, NULL);
}

static void setup(void)
{
	nr_pages = megabytes(64) / PAGE / ENTRIES * ENTRIES;
	area = map_pages(nr_pages, 0);
	madvise(area, nr_pages * PAGE, MADV_NOHUGEPAGE);
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
		/* what was taken comes back in the next pass */
		hot += gone(pagemap, true);
		count();
	}
	dprintf(STDOUT_FILENO, "hot %zu of %zu, cold %zu of %zu\n", hot,
		nr_pages / HOT_STRIDE, gone(pagemap, false),
		nr_pages - nr_pages / HOT_STRIDE);
}
