// SPDX-License-Identifier: GPL-2.0
/*
 * stacked.c - a program with known call stacks: prints a line when all of its
 * threads have reached their places
 *
 * stacked [THREADS [DEPTH]]: THREADS more threads wait in wait_here(), and the
 * first one works in work_here(), called through DEPTH calls of descend().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t ready;
static volatile unsigned long work;

static __attribute__((noinline)) void wait_here(void)
{
	for (;;)
		pause();
}

static __attribute__((noinline)) void *waiter(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&ready);
	wait_here();
	return NULL;
}

static inline __attribute__((always_inline)) void innermost(void)
{
	for (;;)
		work++;
}

static inline __attribute__((always_inline)) void inlined(void)
{
	innermost();
}

static __attribute__((noinline)) void work_here(void)
{
	pthread_barrier_wait(&ready);
	puts("ready");
	fflush(stdout);
	inlined();
}

static __attribute__((noinline)) void descend(int depth)
{
	volatile char frame[64] = { 0 };

	if (depth)
		descend(depth - 1);
	else
		work_here();
	frame[0]++;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;
	int i;

	pthread_barrier_init(&ready, NULL, threads + 1);
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, waiter, NULL))
			return 1;
	descend(argc > 2 ? atoi(argv[2]) : 0);
	return 0;
}
