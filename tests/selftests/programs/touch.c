// SPDX-License-Identifier: GPL-2.0
/*
 * touch.c - memory that is read and written from known functions, by known threads
 *
 * Thread alpha reads 8 MiB with read_a(), and accesses every fourth page of 16 MiB with
 * copy_e(): it reads one, and writes the next in another line. Thread beta writes 4 MiB with
 * write_b(), and accesses pages of other 4 MiB in random order, three with read_c() for one
 * with write_c(). 8 MiB more are accessed once upon SIGUSR1. Prints what is where; upon
 * SIGTERM, whether each write had its effect.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB		((size_t)1 << 20)
#define PAGE		4096
#define FUNCTION	__attribute__((noinline, noclone, aligned(64)))

static volatile sig_atomic_t over, wake;
static volatile unsigned char *a, *b, *c, *d, *e;
static unsigned char b_now[4 * MIB / PAGE], c_now[4 * MIB / PAGE];
static volatile unsigned int sum;

FUNCTION static void read_a(size_t i)
{
	sum += a[i * PAGE + 123];
}

FUNCTION static void write_b(size_t i)
{
	b[i * PAGE + 7] = ++b_now[i];
}

FUNCTION static void read_c(size_t i)
{
	sum += c[i * PAGE + 7];
}

FUNCTION static void write_c(size_t i)
{
	c[i * PAGE + 7] = ++c_now[i];
}

FUNCTION static void copy_e(size_t i)
{
	unsigned char was = e[i * 8 * PAGE + 7];

	e[(i * 8 + 4) * PAGE + 7] = was;
}

static void rest(void)
{
	struct timespec pause = { 0, 5000000 };

	nanosleep(&pause, NULL);
}

static void *alpha(void *unused)
{
	(void)unused;
	while (!over) {
		for (size_t i = 0; i < 8 * MIB / PAGE; i++)
			read_a(i);
		for (size_t i = 0; i < 16 * MIB / PAGE / 8; i++)
			copy_e(i);
		rest();
	}
	return NULL;
}

static void *beta(void *unused)
{
	unsigned int seed = 1;

	(void)unused;
	while (!over) {
		for (size_t i = 0; i < 4 * MIB / PAGE; i++) {
			size_t page = rand_r(&seed) % (4 * MIB / PAGE);

			write_b(i);
			if (rand_r(&seed) % 4)
				read_c(page);
			else
				write_c(page);
		}
		rest();
	}
	return NULL;
}

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		over = 1;
	else
		wake = 1;
}

static volatile unsigned char *map(size_t size)
{
	unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, size, MADV_NOHUGEPAGE))
		exit(2);
	memset(p, 0, size);
	return p;
}

int main(void)
{
	pthread_t threads[2];
	int ok = 1;

	a = map(8 * MIB);
	b = map(4 * MIB);
	c = map(4 * MIB);
	d = map(8 * MIB);
	e = map(16 * MIB);
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	if (pthread_create(&threads[0], NULL, alpha, NULL) ||
	    pthread_create(&threads[1], NULL, beta, NULL))
		return 2;
	pthread_setname_np(threads[0], "alpha");
	pthread_setname_np(threads[1], "beta");
	printf("a %p\nb %p\nc %p\nd %p\ne %p\n", (void *)a, (void *)b, (void *)c,
	       (void *)d, (void *)e);
	printf("read_a %p\nwrite_b %p\nread_c %p\nwrite_c %p\ncopy_e %p\nrest %p\n",
	       (void *)read_a, (void *)write_b, (void *)read_c, (void *)write_c, (void *)copy_e,
	       (void *)rest);
	fflush(stdout);
	while (!over) {
		rest();
		for (size_t i = 0; wake && i < 8 * MIB / PAGE; i++)
			d[i * PAGE] = 1;
		if (wake)
			puts("woken");
		fflush(stdout);
		wake = 0;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	for (size_t i = 0; i < 4 * MIB / PAGE; i++)
		ok &= b[i * PAGE + 7] == b_now[i] && c[i * PAGE + 7] == c_now[i];
	puts(ok ? "intact" : "data changed");
	return !ok;
}
