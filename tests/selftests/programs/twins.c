// SPDX-License-Identifier: GPL-2.0
/*
 * twins.c - two processes with one address space: of 16 MiB the first uses the first 4,
 * the second the next 4, every 100 ms, or as many ms as its argument says. Prints
 * both ids. The first executes sleep upon SIGUSR1.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB	((size_t)1 << 20)
#define SIZE	(16 * MIB)
#define PART	(4 * MIB)
#define STACK	(64 << 10)

static volatile char *memory;
static volatile sig_atomic_t over;
static struct timespec interval = { 0, 100000000 };

static void usr1(int sig)
{
	(void)sig;
	over = 1;
}

/* Both processes run it: no functions of libc that have state */
static int use(void *part)
{
	while (!over || part != memory) {
		for (size_t i = 0; i < PART; i += 4096)
			((volatile char *)part)[i]++;
		nanosleep(&interval, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char stack[STACK] __attribute__((aligned(16)));
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int other;

	if (p == MAP_FAILED || madvise(p, SIZE, MADV_NOHUGEPAGE))
		return 1;
	if (argc > 1)
		interval = (struct timespec){ atoi(argv[1]) / 1000,
					      atoi(argv[1]) % 1000 * 1000000L };
	memory = p;
	for (size_t i = 0; i < SIZE; i += 4096)
		memory[i] = 1;
	signal(SIGUSR1, usr1);
	other = clone(use, stack + STACK, CLONE_VM | SIGCHLD, p + PART);
	if (other < 0)
		return 1;
	printf("%d %d\n", (int)getpid(), other);
	fflush(stdout);
	use(p);
	execlp("sleep", "sleep", "1000", NULL);
	return 1;
}
