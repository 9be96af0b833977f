// SPDX-License-Identifier: GPL-2.0
/*
 * loops - throughput of a process: loops KIND MIB SECONDS [THREADS]
 *
 * Prints the number of passes of all threads in each span of SECONDS, a line each,
 * until killed. The cost of monitoring is the difference in throughput.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE	4096
#define MOST	64

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static char *map(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("loops: mmap");
		exit(1);
	}
	return p;
}

/* A word of each page, in an order that the processor cannot guess */
static uint64_t chase(char *p, size_t size)
{
	size_t pages = size / PAGE, at = 0, n;
	uint64_t sum = 0;

	for (n = 0; n < 10000; n++) {
		at = (at * 6364136223846793005 + 1442695040888963407) % pages;
		sum += *(volatile uint64_t *)(p + at * PAGE);
		at += sum & 1;
	}
	return sum;
}

/* All of it, one cache line after the other */
static uint64_t stream(char *p, size_t size)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < size; i += 64)
		sum += *(volatile uint64_t *)(p + i);
	return sum;
}

/* Maps, touches and unmaps: the mmap lock is taken all the time */
static uint64_t churn(char *p, size_t size)
{
	size_t piece = size < 256 * PAGE ? size : 256 * PAGE, i;
	char *q = map(piece);

	(void)p;
	for (i = 0; i < piece; i += PAGE)
		q[i] = 1;
	munmap(q, piece);
	return 0;
}

static const struct {
	const char *name;
	uint64_t (*once)(char *p, size_t size);
} kinds[] = {
	{ "chase", chase }, { "stream", stream }, { "churn", churn },
};

static struct {
	uint64_t (*once)(char *p, size_t size);
	char *p;
	size_t size;
	double end;
} job;

static void *work(void *rounds)
{
	volatile uint64_t sum = 0;

	while (now() < job.end) {
		sum += job.once(job.p, job.size);
		++*(uint64_t *)rounds;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc == 5 ? atol(argv[4]) : 1, i;
	double seconds;
	size_t k;

	for (k = 0; argc > 1 && k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (!strcmp(argv[1], kinds[k].name))
			job.once = kinds[k].once;
	if (argc < 4 || argc > 5 || !job.once || atol(argv[2]) < 1 || atof(argv[3]) <= 0 ||
	    threads < 1 || threads > MOST) {
		fputs("usage: loops chase|stream|churn MIB SECONDS [THREADS]\n", stderr);
		return 2;
	}
	job.size = (size_t)atol(argv[2]) << 20;
	seconds = atof(argv[3]);
	job.p = map(job.size);
	memset(job.p, 1, job.size);
	for (;;) {
		uint64_t rounds[MOST] = { 0 }, sum = 0;
		pthread_t thread[MOST];

		job.end = now() + seconds;
		for (i = 0; i < threads; i++) {
			if (pthread_create(&thread[i], NULL, work, &rounds[i])) {
				fputs("loops: no thread\n", stderr);
				return 1;
			}
		}
		for (i = 0; i < threads; i++) {
			pthread_join(thread[i], NULL);
			sum += rounds[i];
		}
		printf("%llu\n", (unsigned long long)sum);
		fflush(stdout);
	}
}
