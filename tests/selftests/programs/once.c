// SPDX-License-Identifier: GPL-2.0
/*
 * once.c - "once KIND MIB": uses memory that is easily counted twice, or not at all
 *
 * zero		reads memory that was never written: it maps the zero page
 * huge-zero	likewise, the huge zero page
 * hugetlb	private memory of hugetlbfs, half of it idle
 * shared-hugetlb	likewise, shared
 * file		a file in memory, mapped three times, all used
 * ksm		pages with the same contents, which the kernel merges
 *
 * Prints "ready" when all memory is there. Uses it until killed.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HUGE	((size_t)2 << 20)
#define PAGE	4096

static volatile unsigned char sum;

static unsigned char *map(size_t size, int flags, int fd)
{
	unsigned char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (m == MAP_FAILED)
		err(1, "mmap");
	return m;
}

static unsigned char *anonymous(size_t size, int advice)
{
	unsigned char *m = map(size + HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	m += -(size_t)m % HUGE;
	madvise(m, size, advice);
	return m;
}

static void read_all(const unsigned char *m, size_t size)
{
	for (size_t at = 0; at < size; at += PAGE)
		sum += m[at];
}

int main(int argc, char **argv)
{
	struct timespec pause = { 0, 50000000 };
	const char *kind = argc > 1 ? argv[1] : "";
	size_t size = (argc > 2 ? strtoul(argv[2], NULL, 10) : 16) << 20;
	unsigned char *m[3] = { NULL };
	int fd;

	if (!strcmp(kind, "zero")) {
		m[0] = anonymous(size, MADV_NOHUGEPAGE);
	} else if (!strcmp(kind, "huge-zero")) {
		m[0] = anonymous(size, MADV_HUGEPAGE);
	} else if (!strcmp(kind, "hugetlb") || !strcmp(kind, "shared-hugetlb")) {
		m[0] = map(2 * size, MAP_ANONYMOUS | MAP_HUGETLB |
			   (*kind == 's' ? MAP_SHARED : MAP_PRIVATE), -1);
		memset(m[0], 1, 2 * size);
	} else if (!strcmp(kind, "file")) {
		fd = memfd_create("once", 0);
		if (fd < 0 || ftruncate(fd, size))
			err(1, "memfd_create");
		for (int i = 0; i < 3; i++)
			m[i] = map(size, MAP_SHARED, fd);
		memset(m[0], 1, size);
	} else if (!strcmp(kind, "ksm")) {
		m[0] = anonymous(size, MADV_NOHUGEPAGE);
		memset(m[0], 7, size);
		if (madvise(m[0], size, MADV_MERGEABLE))
			err(1, "MADV_MERGEABLE");
	} else {
		errx(2, "usage: once KIND MIB");
	}
	for (int i = 0; i < 3 && m[i]; i++)
		read_all(m[i], size);
	puts("ready");
	fflush(stdout);
	for (;; nanosleep(&pause, NULL))
		for (int i = 0; i < 3 && m[i]; i++)
			read_all(m[i], size);
}
