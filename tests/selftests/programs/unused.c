// SPDX-License-Identifier: GPL-2.0
/*
 * unused.c HOW MIB HOT TRUTH - memory that is not used while the kernel changes its entries
 *
 * Touches MIB of memory once, in pages of 4 KiB, and after a second the first HOT MiB each
 * 50 ms: they are its working set. Meanwhile something happens to one block of 2 MiB after the
 * other, each 100 ms; the program accesses nothing but the first HOT MiB. HOW:
 *
 *	collapse	the block is made a huge page, by MADV_COLLAPSE
 *	shared		likewise, in shared memory
 *	allowed		it may become a huge page: khugepaged makes some of them
 *	merged		KSM may merge its pages, which are alike
 *	protected	it is made read-only, and writable again
 *	split		it is a huge page, whose last page is unmapped
 *	moved		it is moved to another address and back
 *	forked		a child is forked that touches nothing
 *	none		nothing happens
 *
 * Until SIGTERM it writes lines "truth TIME BYTES 0" to the file TRUTH; at the end it prints how
 * often something happened.
 */
#define _GNU_SOURCE
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define MIB		((size_t)1 << 20)
#define PAGE		4096
#define HUGE		(2 * MIB)
#define MSEC		1000000LL

static volatile sig_atomic_t over;
static size_t size, hot;
static char *mem, *away;
static const char *how;

static void stop(int sig)
{
	over = sig;
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static char *map(int flags)
{
	char *p = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return (char *)(((unsigned long)p + HUGE - 1) & ~(HUGE - 1));
}

/* Return: was it done? */
static int happen(char *p)
{
	pid_t child;

	if (!strcmp(how, "collapse") || !strcmp(how, "shared"))
		return !madvise(p, HUGE, MADV_COLLAPSE);
	if (!strcmp(how, "allowed"))
		return !madvise(p, HUGE, MADV_HUGEPAGE);
	if (!strcmp(how, "merged"))
		return !madvise(p, HUGE, MADV_MERGEABLE);
	if (!strcmp(how, "protected"))
		return !mprotect(p, HUGE, PROT_READ) && !mprotect(p, HUGE, PROT_READ | PROT_WRITE);
	if (!strcmp(how, "split"))
		return p < mem + hot || !madvise(p + HUGE - PAGE, PAGE, MADV_DONTNEED);
	if (!strcmp(how, "moved"))
		return p < mem + hot ||
		       (mremap(p, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, away) == away &&
			mremap(away, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p);
	if (!strcmp(how, "forked")) {
		child = fork();
		if (!child)
			_exit(0);
		return child > 0 && waitpid(child, NULL, 0) == child;
	}
	return 0;
}

int main(int argc, char **argv)
{
	long long begin, round;
	size_t i, at = 0, done = 0;
	FILE *truth;
	int small;

	if (argc != 5)
		errx(2, "usage: unused HOW MIB HOT TRUTH");
	how = argv[1];
	size = atoi(argv[2]) * MIB;
	hot = atoi(argv[3]) * MIB;
	truth = fopen(argv[4], "w");
	if (!truth)
		err(1, "%s", argv[4]);
	signal(SIGTERM, stop);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mem = map(strcmp(how, "shared") ? MAP_PRIVATE : MAP_SHARED);
	away = map(MAP_PRIVATE | MAP_NORESERVE);
	small = strcmp(how, "split");
	madvise(mem, size, small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	for (i = 0; i < size; i += PAGE)
		*(volatile unsigned long *)(mem + i) = strcmp(how, "merged") ? i + 1 : i < hot ? i + 1 : 7;
	/* MADV_COLLAPSE fails where huge pages are forbidden */
	if (!strcmp(how, "collapse") || !strcmp(how, "shared"))
		madvise(mem, size, MADV_HUGEPAGE);
	begin = now_ns() + 1000 * MSEC;
	for (round = 0; !over; round++) {
		long long due = begin + round * 50 * MSEC;
		struct timespec t = { due / 1000000000, due % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		for (i = 0; i < hot; i += PAGE)
			++*(volatile unsigned long *)(mem + i);
		/* the window of a truth is a second at most */
		if (round > 20) {
			fprintf(truth, "truth %lld %zu 0\n", now_ns(), hot);
			fflush(truth);
		}
		if (round > 40 && !(round % 2) && at < size) {
			done += happen(mem + at);
			at += HUGE;
		}
	}
	printf("%zu of %zu\n", done, at / HUGE);
	return 0;
}
