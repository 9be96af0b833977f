// SPDX-License-Identifier: GPL-2.0
/* churn thp, hugetlb: huge pages are made, split, shared and truncated */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "churn.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define HUGE_PAGES	(HUGE_PAGE / PAGE)
#define THP_HUGE	4		/* huge pages a thread */
#define THP_PAGES	(THP_HUGE * HUGE_PAGES)
#define THP_THREADS	2

static void split(const char *start, const char *end)
{
	char text[64];
	int fd = open("/sys/kernel/debug/split_huge_pages", O_WRONLY);

	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%d,0x%lx,0x%lx", getpid(),
		 (unsigned long)start, (unsigned long)end);
	/* a page that cannot be split now is not an error */
	if (write(fd, text, strlen(text)) < 0)
		errno = 0;
	close(fd);
}

static void thp_step(char *area, uint64_t *tag)
{
	size_t huge = pick(THP_HUGE), at = huge * HUGE_PAGES + pick(HUGE_PAGES - 1);
	size_t n = 1 + pick((huge + 1) * HUGE_PAGES - at - 1);
	char *h = area + huge * HUGE_PAGE, *p = area + at * PAGE;

	switch (pick(7)) {
	case 0:
		madvise(h, HUGE_PAGE, MADV_COLLAPSE);
		break;
	case 1:
		if (mmap(p, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
			err(1, "mmap");
		madvise(p, n * PAGE, MADV_HUGEPAGE);
		for (size_t i = 0; i < n; i++)
			check_zero(p + i * PAGE);
		write_pages(p, n, *tag + at);
		break;
	case 2:
		if (mprotect(p, n * PAGE, PROT_READ))
			err(1, "mprotect");
		check_pages(p, n, *tag + at);
		if (mprotect(p, n * PAGE, PROT_READ | PROT_WRITE))
			err(1, "mprotect");
		break;
	case 3:
		if (madvise(p, n * PAGE, MADV_DONTNEED))
			err(1, "madvise");
		check_zero(p);
		write_pages(p, n, *tag + at);
		break;
	case 4:
		split(h, h + HUGE_PAGE);
		break;
	case 5:
		/* make it huge again, in one fault */
		if (madvise(h, HUGE_PAGE, MADV_DONTNEED))
			err(1, "madvise");
		write_pages(h, HUGE_PAGES, *tag + huge * HUGE_PAGES);
		break;
	default:
		check_pages(area, THP_PAGES, *tag);
		*tag += THP_PAGES;
		write_pages(area, THP_PAGES, *tag);
	}
	check_pages(h, HUGE_PAGES, *tag + huge * HUGE_PAGES);
}

static void *thp_thread(void *arg)
{
	char *area = map_pages(THP_PAGES + HUGE_PAGES, 0);
	uint64_t tag = ((uintptr_t)arg + 1) << 40;

	area += -(uintptr_t)area % HUGE_PAGE;
	if (madvise(area, THP_PAGES * PAGE, MADV_HUGEPAGE))
		skip("no huge pages: %s", strerror(errno));
	write_pages(area, THP_PAGES, tag);
	while (going()) {
		thp_step(area, &tag);
		count();
	}
	return NULL;
}

void churn_thp(void)
{
	run_threads(THP_THREADS, thp_thread);
}

#define TLB_HUGE	4
/*
 * A mapping of this size covers a whole page table of huge pages: processes
 * share that table
 */
#define TLB_SPAN	(1UL << 30)

static int huge_fd;
static char *huge_map;

static void map_shared(void)
{
	if (mmap(huge_map, TLB_SPAN, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, huge_fd, 0) == MAP_FAILED)
		skip("too few hugetlb pages: %s", strerror(errno));
}

/* Another process, which begins and ends to share page tables */
static void sharer(void)
{
	while (going()) {
		if (may_fault())
			(void)*(volatile char *)(huge_map + pick(TLB_HUGE) * HUGE_PAGE);
		fault_end();
		munmap(huge_map, TLB_SPAN);
		map_shared();
		count();
	}
	_exit(0);
}

static void *truncater(void *arg)
{
	(void)arg;
	while (going()) {
		if (ftruncate(huge_fd, HUGE_PAGE * (1 + pick(TLB_HUGE))) ||
		    ftruncate(huge_fd, HUGE_PAGE * TLB_HUGE))
			err(1, "ftruncate");
		count();
	}
	return NULL;
}

/* A word beyond the truncation is zero, or the value that was written. */
static void *shared_user(void *arg)
{
	uint64_t me = (uintptr_t)arg;

	while (going()) {
		size_t i = pick(TLB_HUGE * HUGE_PAGES / 2) * 2 + (me & 1);
		volatile uint64_t *w = (void *)(huge_map + i * PAGE);

		if (may_fault()) {
			uint64_t is = *w;

			if (is && is != i + 1)
				lost("hugetlb page %zu has %llx", i,
				     (unsigned long long)is);
			*w = i + 1;
			/* the first huge page is never truncated */
			if (i < HUGE_PAGES && *w != i + 1)
				lost("hugetlb page %zu", i);
		}
		fault_end();
		count();
	}
	return NULL;
}

static void *private_user(void *arg)
{
	uint64_t tag = 1;

	(void)arg;
	while (going()) {
		char *p = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

		if (p == MAP_FAILED)
			err(1, "mmap");
		tag += 2 * HUGE_PAGES;
		write_pages(p, 2 * HUGE_PAGES, tag);
		if (mprotect(p, HUGE_PAGE, PROT_READ))
			err(1, "mprotect");
		check_pages(p, 2 * HUGE_PAGES, tag);
		munmap(p, HUGE_PAGE);
		check_pages(p + HUGE_PAGE, HUGE_PAGES, tag + HUGE_PAGES);
		munmap(p + HUGE_PAGE, HUGE_PAGE);
		count();
	}
	return NULL;
}

static void *huge_thread(void *arg)
{
	switch ((uintptr_t)arg) {
	case 0:		return truncater(arg);
	case 1:		return private_user(arg);
	default:	return shared_user(arg);
	}
}

void churn_hugetlb(void)
{
	pid_t pid;
	char *p;

	p = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	huge_fd = memfd_create("churn", MFD_HUGETLB);
	if (p == MAP_FAILED || huge_fd < 0)
		skip("no hugetlb pages: %s", strerror(errno));
	if (ftruncate(huge_fd, TLB_HUGE * HUGE_PAGE))
		err(1, "ftruncate");
	huge_map = mmap(NULL, 2 * TLB_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (huge_map == MAP_FAILED)
		err(1, "mmap");
	huge_map = (char *)(((uintptr_t)huge_map + TLB_SPAN - 1) & -TLB_SPAN);
	map_shared();
	munmap(p, 2 * HUGE_PAGE);
	catch_faults();
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid)
		sharer();
	run_threads(4, huge_thread);
	must_end_well(pid);
}
