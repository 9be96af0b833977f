// SPDX-License-Identifier: GPL-2.0
/*
 * sites.c - allocates known bytes at ten places, then uses a known part of each, over and over
 *
 * usage: sites SECONDS (of use). Prints a line "function live used" for each place.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define MIB	(1UL << 20)
#define PLACES	10

struct place {
	const char *name;
	size_t chunk;		/* bytes of an allocation */
	size_t nr;		/* allocations */
	size_t used;		/* allocations that are used; of a mapping: bytes */
	void *(*one)(size_t chunk);
	char **at;
};

/* C++: operator new(unsigned long) */
void *_Znwm(size_t size);

static __attribute__((noinline)) void *site_cxx(size_t chunk)
{
	return _Znwm(chunk);
}

static __attribute__((noinline)) void *site_small(size_t chunk)
{
	return malloc(chunk);
}

static __attribute__((noinline)) void *site_tiny(size_t chunk)
{
	return malloc(chunk);
}

static __attribute__((noinline)) void *site_calloc(size_t chunk)
{
	return calloc(chunk / 16, 16);
}

static __attribute__((noinline)) void *site_realloc(size_t chunk)
{
	return realloc(malloc(chunk / 4), chunk);
}

static __attribute__((noinline)) void *site_posix_memalign(size_t chunk)
{
	void *p;

	return posix_memalign(&p, 64, chunk) ? NULL : p;
}

static __attribute__((noinline)) void *site_aligned(size_t chunk)
{
	return aligned_alloc(4096, chunk);
}

static __attribute__((noinline)) void *site_mmap(size_t chunk)
{
	return mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static __attribute__((noinline)) void *site_large(size_t chunk)
{
	return malloc(chunk);
}

static __attribute__((noinline)) void *site_thread(size_t chunk)
{
	return malloc(chunk);
}

static struct place places[PLACES] = {
	{ "site_small", 1024, 16384, 4096, site_small },
	{ "site_tiny", 100, 80000, 0, site_tiny },
	{ "site_calloc", 4096, 4096, 4096, site_calloc },
	{ "site_realloc", 65536, 256, 128, site_realloc },
	{ "site_posix_memalign", 8192, 2048, 0, site_posix_memalign },
	{ "site_aligned", 16384, 1024, 1024, site_aligned },
	{ "site_mmap", 32 * MIB, 1, 16 * MIB, site_mmap },
	{ "site_large", MIB, 32, 24, site_large },
	{ "site_thread", 2048, 8192, 0, site_thread },
	{ "site_cxx", 512, 32768, 16384, site_cxx },
};

static void *fill(void *arg)
{
	struct place *p = arg;
	size_t i;

	for (i = 0; i < p->nr; i++) {
		p->at[i] = p->one(p->chunk);
		if (!p->at[i])
			abort();
		memset(p->at[i], 1, p->chunk);
		/* freed memory counts for no place */
		free(p->one == site_small ? p->one(p->chunk) : NULL);
	}
	return NULL;
}

static void use(const struct place *p)
{
	size_t i, j;

	if (p->one == site_mmap) {
		for (j = 0; j < p->used; j += 4096)
			p->at[0][j]++;
		return;
	}
	for (i = 0; i < p->used; i++)
		for (j = 0; j < p->chunk; j += 4096)
			p->at[i][j]++;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	time_t end;
	size_t i;

	/* a huge page would count in full, wherever it is touched */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	for (i = 0; i < PLACES; i++) {
		struct place *p = &places[i];

		p->at = mmap(NULL, p->nr * sizeof(*p->at), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p->one == site_thread)
			pthread_create(&thread, NULL, fill, p);
		else
			fill(p);
		if (p->one == site_thread)
			pthread_join(thread, NULL);
		printf("%s %zu %zu\n", p->name, p->nr * p->chunk,
		       p->one == site_mmap ? p->used : p->used * p->chunk);
	}
	fflush(stdout);
	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	while (time(NULL) < end) {
		for (i = 0; i < PLACES; i++)
			use(&places[i]);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return 0;
}
