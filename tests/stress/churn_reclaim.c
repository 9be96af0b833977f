// SPDX-License-Identifier: GPL-2.0
/*
 * churn swap, memcg, lazyfree, migrate, ksm: pages leave and come back, and must be
 * the same.
 *
 * How a lost Dirty bit shows: a page is read back from swap and stays clean, with
 * its copy in swap; it is written, which sets the bit in the page-table entry
 * alone; the bit is lost; reclaim drops the page as clean, and the old copy comes
 * back. So pages are read first and written afterwards. The fewer pages there are,
 * the more often one is written while it is sampled.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "churn.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define WRITERS		2
#define BLOCK		16		/* pages */

static char *area;
static size_t nr_pages;
static uint64_t *tags;

/* Each writer has every WRITERSth block, and checks what it wrote there. */
static char *read_then_write(size_t me)
{
	size_t blocks = nr_pages / BLOCK / WRITERS;
	size_t block = pick(blocks) * WRITERS + me;

	for (size_t i = block * BLOCK; i < (block + 1) * BLOCK; i++)
		check_page(area + i * PAGE, tags[i]);
	for (size_t i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
		if (!pick(4))
			continue;
		tags[i] += nr_pages;
		write_page(area + i * PAGE, tags[i]);
	}
	count();
	return area + block * BLOCK * PAGE;
}

static void setup(size_t size)
{
	nr_pages = size / PAGE / (BLOCK * WRITERS) * BLOCK * WRITERS;
	area = map_pages(nr_pages, 0);
	tags = map_pages(nr_pages * sizeof(*tags) / PAGE + 1, 0);
	madvise(area, nr_pages * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr_pages; i++) {
		tags[i] = i;
		write_page(area + i * PAGE, tags[i]);
	}
}

static void check_everything(void)
{
	for (size_t i = 0; i < nr_pages; i++)
		check_page(area + i * PAGE, tags[i]);
}

static void must_have_swap(void)
{
	FILE *f = fopen("/proc/swaps", "r");
	int lines = 0, c;

	while (f && (c = getc(f)) != EOF)
		lines += c == '\n';
	if (f)
		fclose(f);
	if (lines < 2)
		skip("no swap");
}

static void *writer(void *arg)
{
	while (going())
		read_then_write((uintptr_t)arg);
	return NULL;
}

static void *swap_thread(void *arg)
{
	while ((uintptr_t)arg < WRITERS && going()) {
		char *block = read_then_write((uintptr_t)arg);

		if (madvise(block, BLOCK * PAGE, MADV_PAGEOUT))
			skip("MADV_PAGEOUT: %s", strerror(errno));
	}
	while (going()) {
		size_t n = 1 + pick(nr_pages / 4), at;

		at = pick(nr_pages - n);
		if (madvise(area + at * PAGE, n * PAGE, MADV_PAGEOUT))
			skip("MADV_PAGEOUT: %s", strerror(errno));
		usleep(10000);
	}
	return NULL;
}

void churn_swap(void)
{
	must_have_swap();
	setup(megabytes(1));
	run_threads(WRITERS + 1, swap_thread);
	check_everything();
}

/* The same, with reclaim caused by the limit of a cgroup */
void churn_memcg(void)
{
	must_have_swap();
	setup(megabytes(64));
	run_threads(WRITERS, writer);
	check_everything();
}

/*
 * Memory that may be freed unless it is written again: MADV_FREE clears the Dirty bit, and
 * reclaim frees pages without it. So the loss of a bit shows at any write that sets it.
 */
void churn_lazyfree(void)
{
	uint64_t tag = 0;

	setup(megabytes(1));
	while (going()) {
		if (madvise(area, nr_pages * PAGE, MADV_FREE))
			skip("MADV_FREE: %s", strerror(errno));
		/* time for sampling or arming pages before they are written */
		usleep(pick(20000));
		write_pages(area, nr_pages, ++tag);
		if (madvise(area, nr_pages * PAGE, MADV_PAGEOUT))
			skip("MADV_PAGEOUT: %s", strerror(errno));
		check_pages(area, nr_pages, tag);
		count();
	}
}

#define MOVE_PAGES	1024

static void *mover(void *arg)
{
	static void *pages[MOVE_PAGES];
	static int nodes[MOVE_PAGES], status[MOVE_PAGES];

	(void)arg;
	for (int node = 1; going(); node = !node) {
		size_t n = 1 + pick(MOVE_PAGES);

		for (size_t i = 0; i < n; i++) {
			pages[i] = area + (size_t)pick(nr_pages) * PAGE;
			nodes[i] = node;
		}
		if (syscall(SYS_move_pages, 0, n, pages, nodes, status, 2) < 0)
			skip("move_pages: %s", strerror(errno));
	}
	return NULL;
}

static void *migrate_thread(void *arg)
{
	return (uintptr_t)arg < WRITERS ? writer(arg) : mover(arg);
}

void churn_migrate(void)
{
	if (access("/sys/devices/system/node/node1", F_OK))
		skip("one memory node (numa=fake=2)");
	setup(megabytes(16));
	run_threads(WRITERS + 1, migrate_thread);
	check_everything();
}

#define VARIANTS	4
#define KSM_PAGES	1024

/* Equal pages are merged; some are written, and the others must not change. */
static void *ksm_thread(void *arg)
{
	char *mine = map_pages(KSM_PAGES, 0);
	uint64_t unique = ((uintptr_t)arg + 1) << 40;

	for (size_t i = 0; i < KSM_PAGES; i++)
		write_page(mine + i * PAGE, i % VARIANTS);
	if (madvise(mine, KSM_PAGES * PAGE, MADV_MERGEABLE))
		skip("no KSM: %s", strerror(errno));
	while (going()) {
		usleep(20000);
		for (size_t n = 0; n < 64; n++) {
			size_t i = pick(KSM_PAGES - 1);

			check_page(mine + i * PAGE, i % VARIANTS);
			write_page(mine + i * PAGE, ++unique);
			check_page(mine + i * PAGE, unique);
			check_page(mine + (i + 1) * PAGE, (i + 1) % VARIANTS);
			write_page(mine + i * PAGE, i % VARIANTS);
		}
		if (!pick(50) && (madvise(mine, KSM_PAGES * PAGE, MADV_UNMERGEABLE) ||
				  madvise(mine, KSM_PAGES * PAGE, MADV_MERGEABLE)))
			err(1, "madvise");
		count();
	}
	for (size_t i = 0; i < KSM_PAGES; i++)
		check_page(mine + i * PAGE, i % VARIANTS);
	return NULL;
}

void churn_ksm(void)
{
	run_threads(2, ksm_thread);
}
