// SPDX-License-Identifier: GPL-2.0
/*
 * groups.c KIND WORKERS MIB PERCENT USERS LIVES_MS [probe] - processes that use pages at random
 *
 * Every 50 ms each of WORKERS uses PERCENT of the pages of MIB; each worker uses other pages.
 * The pages are of private memory (KIND own), of a memfd or a file that all map (memfd, file),
 * or of the parent's memory, of which the worker has written a tenth (fork). Only the first
 * USERS do. With LIVES_MS a worker lives for so long, and another one follows.
 *
 * Prints how many KiB all use together, and the sum over them. With LIVES_MS, a line for each
 * worker that ends: when it began to use pages, when it had used all and when it last did,
 * CLOCK_MONOTONIC, and how many KiB.
 *
 * With "probe" a second thread of each worker maps, writes and unmaps a page every
 * millisecond. For each line of standard input it prints the longest time that this took
 * since the last line, in ns.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned int workers, percent, users;
static unsigned long pages, lives_ms;
static char *mem;
static int own, family;
static volatile unsigned long sink;
static volatile unsigned long *worst;	/* of each worker, in ns */

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

/* The worker has a page of its own, in memory of the parent */
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

static unsigned long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

static void *probe(void *mine)
{
	struct timespec pause = { 0, 1000000 };
	volatile unsigned long *longest = mine;

	/* the probe must wait for locks, not for processors */
	setpriority(PRIO_PROCESS, 0, -20);
	for (;; nanosleep(&pause, NULL)) {
		unsigned long begin = now(), took;
		char *p = mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*p = 1;
		munmap(p, 4096);
		took = now() - begin;
		if (took > *longest)
			*longest = took;
	}
	return NULL;
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
	if (worst) {
		pthread_t thread;

		pthread_create(&thread, NULL, probe, (void *)(worst + worker));
	}
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
	if (argc > 7)
		worst = mmap(NULL, workers * sizeof(*worst), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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
	while (worst && getchar() != EOF) {
		unsigned long longest = 0;

		for (n = 0; n < workers; n++) {
			longest = worst[n] > longest ? worst[n] : longest;
			worst[n] = 0;
		}
		printf("%lu\n", longest);
		fflush(stdout);
	}
	for (;; i++) {
		if (wait(NULL) < 0)
			pause();
		else if (!fork())
			work(i);
	}
}
