// SPDX-License-Identifier: GPL-2.0
/*
 * groups.c KIND WORKERS MIB PERCENT USERS LIVES_MS - processes that use pages at random
 *
 * Each of WORKERS uses, every 50 ms, PERCENT of the pages of MIB, other pages than the
 * next one: of private memory (KIND own), of a memfd or a file that all map (memfd, file),
 * or of memory of its parent, of which it has written a tenth itself (fork). Only the first
 * USERS do. With LIVES_MS a worker lives for so long, and another one follows.
 *
 * Prints how many KiB all use together, and the sum over them. With LIVES_MS, a line for each
 * worker that ends: when it began to use pages, when it had used all and when it last did,
 * CLOCK_MONOTONIC, and how many KiB.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned int workers, percent, users;
static unsigned long pages, lives_ms;
static char *mem;
static int own, family;
static volatile unsigned long sink;

static unsigned long hash(unsigned long x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static int uses(unsigned int worker, unsigned long page)
{
	return worker % workers < users && hash((worker + 1UL) << 32 | page) % 100 < percent;
}

/* Of memory of the parent, worker has a page of its own */
static int wrote(unsigned int worker, unsigned long page)
{
	return family && !(hash((worker + 1UL) << 40 | page) % 10);
}

static char *map(int fd, int prot, int flags)
{
	char *p = mmap(NULL, pages << 12, prot, flags, fd, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	madvise(p, pages << 12, MADV_NOHUGEPAGE);
	return p;
}

static void work(unsigned int worker)
{
	struct timespec pause = { 0, 50000000 }, first, filled, last;
	unsigned long page;
	char *m = own ? map(-1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS) : mem;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	clock_gettime(CLOCK_MONOTONIC, &first);
	for (page = 0; page < pages; page++) {
		if (own || wrote(worker, page))
			m[page << 12] = 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &filled);
	do {
		for (page = 0; page < pages; page++) {
			if (uses(worker, page))
				sink += m[page << 12];
		}
		clock_gettime(CLOCK_MONOTONIC, &last);
		nanosleep(&pause, NULL);
	} while (!lives_ms || (last.tv_sec - first.tv_sec) * 1000 +
		 (last.tv_nsec - first.tv_nsec) / 1000000 < (long)lives_ms);
	printf("%ld.%09ld %ld.%09ld %ld.%09ld %lu\n", first.tv_sec, first.tv_nsec, filled.tv_sec,
	       filled.tv_nsec, last.tv_sec, last.tv_nsec, pages * 4);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	static char full[4096] = { 1 };
	unsigned long page, all = 0, sum = 0;
	unsigned int i, n;
	int fd = -1;

	if (argc < 7)
		return 2;
	workers = atoi(argv[2]);
	pages = atol(argv[3]) << 8;
	percent = atoi(argv[4]);
	users = atoi(argv[5]);
	lives_ms = atol(argv[6]);
	own = !strcmp(argv[1], "own");
	family = !strcmp(argv[1], "fork");
	if (!strcmp(argv[1], "memfd"))
		fd = memfd_create("groups", 0);
	else if (!strcmp(argv[1], "file"))
		fd = open("groups.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (page = 0; fd >= 0 && page < pages; page++) {
		if (write(fd, full, sizeof(full)) != sizeof(full))
			return 1;
	}
	if (fd >= 0)
		mem = map(fd, PROT_READ, argv[1][0] == 'm' ? MAP_SHARED : MAP_PRIVATE);
	if (family) {
		mem = map(-1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
		memset(mem, 1, pages << 12);
	}
	for (page = 0; page < pages; page++) {
		int common = 0;

		for (n = 0, i = 0; i < workers; i++) {
			n += uses(i, page);
			common |= uses(i, page) && !wrote(i, page);
			all += uses(i, page) && (own || wrote(i, page));
		}
		sum += n;
		all += !own && common;
	}
	for (i = 0; i < workers; i++) {
		if (!fork())
			work(i);
	}
	printf("%lu %lu\n", all * 4, sum * 4);
	fflush(stdout);
	for (;; i++) {
		if (wait(NULL) < 0)
			pause();
		else if (!fork())
			work(i);
	}
}
