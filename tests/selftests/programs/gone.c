// SPDX-License-Identifier: GPL-2.0
/*
 * gone.c HOW MIB HOT TRUTH - memory that is used and given back, over and over
 *
 * Has MIB of memory in pages of 4 KiB, and writes the first HOT MiB each 10 ms. Each 37 ms, by HOW:
 *
 *	unmapped	a MiB is mapped at unused addresses, used, and unmapped after 20 ms
 *	returned	likewise, by MADV_DONTNEED in a mapping that stays
 *	copied		128 pages are mapped, used and unmapped; and each 400 ms a child is forked, which
 *			lives for 200 ms, so that written pages are copied
 *	faulted		128 pages are mapped, used and unmapped; all else is made read-only and writable
 *			again, so that each write is a fault
 *	freed		64 pages of the memory, all of which is written, are unmapped
 *	kept		nothing happens
 *
 * Until SIGTERM it writes lines "truth TIME BYTES 0" to the file TRUTH: the memory used in the last
 * 500 ms. At the end it prints how often something happened.
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

#define MIB		((size_t)1 << 20)
#define PAGE		4096
#define MSEC		1000000LL
#define WINDOW		(500 * MSEC)
#define ROOM		((size_t)64 << 30)
#define LATEST		64

static volatile sig_atomic_t over;
static size_t size, hot, at, chunk = MIB;
static char *mem, *room;
static const char *how;
/* memory that was given back: when it was used first and last */
static struct { long long begun, used; size_t bytes; } latest[LATEST];
static unsigned int nr;

static void stop(int sig)
{
	over = sig;
}

static int is(const char *what)
{
	return !strcmp(how, what);
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(long long due)
{
	struct timespec t = { due / 1000000000, due % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void use(char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		/* a store alone: a read first would fault twice */
		*(volatile unsigned long *)(p + i) = i;
}

/* Memory used within the window before @now; each page counts once */
static size_t truth_at(long long now)
{
	size_t sum = hot;

	for (unsigned int i = 0; i < LATEST; i++)
		if (latest[i].begun <= now && latest[i].used > now - WINDOW)
			sum += latest[i].bytes;
	return sum;
}

/* Write the truth before and after it changes at @when, if that was since @before. */
static void write_step(FILE *truth, long long before, long long when, long long now)
{
	if (when <= before || when > now)
		return;
	fprintf(truth, "truth %lld %zu 0\n", when - 1, truth_at(when - 1));
	fprintf(truth, "truth %lld %zu 0\n", when, truth_at(when));
}

/* Write the truth at @now, and each step since the last call, in order of time. */
static void write_truth(FILE *truth, long long now)
{
	static long long before;
	long long begun = latest[(nr - 1) % LATEST].begun, last = before;

	/* the oldest is first; the newest is the only one that may have begun since */
	for (unsigned int i = 0; before && i < LATEST; i++) {
		long long left = latest[(nr + i) % LATEST].used + WINDOW;

		if (left > begun && last < begun) {
			write_step(truth, last, begun, now);
			last = begun;
		}
		write_step(truth, last, left, now);
	}
	before = now;
	fprintf(truth, "truth %lld %zu 0\n", now, truth_at(now));
	fflush(truth);
}

/* Use new memory, and give it back. */
static void use_and_give_back(void)
{
	long long begun = now_ns();
	char *p = room + at;

	at = (at + chunk) % ROOM;
	if (!is("returned") && mmap(p, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
				    MAP_FIXED | MAP_NORESERVE, -1, 0) != p)
		err(1, "mmap");
	madvise(p, chunk, MADV_NOHUGEPAGE);
	use(p, chunk);
	sleep_until(now_ns() + 20 * MSEC);
	use(p, chunk);
	latest[nr++ % LATEST] = (typeof(*latest)){ begun, now_ns(), chunk };
	if (is("returned") ? madvise(p, chunk, MADV_DONTNEED) : munmap(p, chunk))
		err(1, "giving it back");
}

/* Give back memory that was used all the time. */
static void give_back_old(void)
{
	if (size - chunk < 2 * chunk)
		return;
	size -= chunk;
	hot = size;
	latest[nr++ % LATEST] = (typeof(*latest)){ 0, now_ns(), chunk };
	if (munmap(mem + size, chunk))
		err(1, "munmap");
}

static void fork_child(void)
{
	static pid_t child;

	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		child = 0;
		return;
	}
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

int main(int argc, char **argv)
{
	long long begin, round;
	FILE *truth;

	if (argc != 5)
		errx(2, "usage: gone HOW MIB HOT TRUTH");
	how = argv[1];
	size = atoi(argv[2]) * MIB;
	hot = atoi(argv[3]) * MIB;
	truth = fopen(argv[4], "w");
	if (!truth)
		err(1, "%s", argv[4]);
	signal(SIGTERM, stop);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	room = mmap(NULL, ROOM, is("returned") ? PROT_READ | PROT_WRITE : PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED || room == MAP_FAILED)
		err(1, "mmap");
	madvise(mem, size, MADV_NOHUGEPAGE);
	madvise(room, ROOM, MADV_NOHUGEPAGE);
	use(mem, size);
	if (is("copied") || is("faulted"))
		chunk = 128 * PAGE;
	if (is("freed")) {
		chunk = 64 * PAGE;
		hot = size;
	}
	begin = now_ns();
	for (round = 0; !over; round++) {
		if (is("freed") && round > 27)
			give_back_old();
		else if (!is("freed") && !is("kept"))
			use_and_give_back();
		if (is("copied") && round % 5 == 0)
			fork_child();
		if (is("faulted") && (mprotect(mem, size, PROT_READ) ||
				      mprotect(mem, size, PROT_READ | PROT_WRITE)))
			err(1, "mprotect");
		use(mem, hot);
		/* the window of a truth is a second at most */
		if (now_ns() - begin > 2 * WINDOW)
			write_truth(truth, now_ns());
		sleep_until(begin + round * 37 * MSEC);
		use(mem, hot);
	}
	printf("%u of %lld\n", nr, round);
	return 0;
}
