// SPDX-License-Identifier: GPL-2.0
/*
 * allocs.c - allocates in one way, prints the live bytes, and waits a moment
 *
 * usage: allocs WAY. Prints "live BYTES", of all memory that is not freed.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR	20000

static unsigned long live;
static uint32_t state = 1;

/* Known sizes, from 1 to 4096 */
static size_t size(void)
{
	state = state * 1103515245 + 12345;
	return 1 + (state >> 16) % 4096;
}

static void count(size_t bytes)
{
	__atomic_fetch_add(&live, bytes, __ATOMIC_RELAXED);
}

static void *one(const char *way, size_t bytes)
{
	void *p = NULL;

	if (!strcmp(way, "calloc"))
		return calloc(bytes, 1);
	if (!strcmp(way, "memalign"))
		return memalign(256, bytes);
	if (!strcmp(way, "aligned_alloc"))
		return aligned_alloc(64, bytes);
	if (!strcmp(way, "posix_memalign"))
		return posix_memalign(&p, 128, bytes) ? NULL : p;
	if (!strcmp(way, "valloc"))
		return valloc(bytes);
	if (!strcmp(way, "reallocarray"))
		return reallocarray(NULL, bytes, 1);
	return malloc(bytes);
}

/* Keeps every third: memory that others freed may become theirs */
static void keep(const char *way)
{
	int i;

	for (i = 0; i < NR; i++) {
		size_t bytes = size();
		void *p = one(way, bytes);

		if (!p)
			abort();
		if (i % 3)
			free(p);
		else
			count(bytes);
	}
}

static void grow(void)
{
	int i, j;

	for (i = 0; i < NR / 20; i++) {
		size_t bytes = size();
		void *p = NULL;

		for (j = 1; j <= 10; j++)
			p = realloc(p, j * bytes);
		if (i % 2)
			p = realloc(p, bytes);
		count(i % 2 ? bytes : 10 * bytes);
		if (!p)
			abort();
	}
}

static void *hand_over[NR];
static int handed;

/* One thread frees the memory that another allocates */
static void *thread(void *arg)
{
	uint32_t x = (uintptr_t)arg + 7;
	int i;

	for (i = 0; i < NR; i++) {
		size_t bytes;
		void *p;
		int at;

		x = x * 1103515245 + 12345;
		bytes = 1 + (x >> 16) % 4096;
		p = malloc(bytes);
		if (!p)
			abort();
		*(size_t *)p = bytes < 8 ? 0 : bytes;
		count(bytes < 8 ? 0 : bytes);
		at = __atomic_fetch_add(&handed, 1, __ATOMIC_RELAXED) % NR;
		p = __atomic_exchange_n(&hand_over[at], p, __ATOMIC_ACQ_REL);
		if (p) {
			__atomic_fetch_sub(&live, *(size_t *)p, __ATOMIC_RELAXED);
			free(p);
		}
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	uintptr_t i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void maps(void)
{
	char *last = NULL;
	int i;

	for (i = 0; i < NR / 10; i++) {
		size_t bytes = (size() % 16 + 4) * 4096;
		char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			abort();
		count(bytes);
		/* unmap the second of its pages */
		if (i % 3 == 0) {
			munmap(p + 4096, 4096);
			live -= 4096;
		} else if (i % 3 == 1) {
			munmap(p, bytes);
			live -= bytes;
		} else {
			last = mremap(p, bytes, 2 * bytes, MREMAP_MAYMOVE);
			if (last == MAP_FAILED)
				abort();
			count(bytes);
		}
	}
}

/* Children allocate and free, also if forked while other threads allocate */
static void forks(void)
{
	pthread_t t[2];
	int i, j;

	keep("malloc");
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, thread, (void *)(uintptr_t)i);
	for (i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (!pid) {
			for (j = 0; j < 100; j++)
				free(malloc(size()));
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "malloc";

	if (!strcmp(way, "realloc"))
		grow();
	else if (!strcmp(way, "threads"))
		threads();
	else if (!strcmp(way, "mmap"))
		maps();
	else if (!strcmp(way, "fork"))
		forks();
	else
		keep(way);
	/* not through malloc(), as printf() would */
	dprintf(1, "live %lu\n", live);
	usleep(100000);
	_exit(0);
}
