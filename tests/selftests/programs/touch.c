// SPDX-License-Identifier: GPL-2.0
/*
 * touch.c - memory that is read and written from known functions, by known threads
 *
 * Thread alpha reads 8 MiB with read_a(), and accesses every fourth page of 16 MiB with
 * copy_e(): it reads one, and writes the next in another line. Thread beta writes 4 MiB with
 * write_b(), and accesses the pages of another 4 MiB in random order, three with read_c()
 * for each with write_c(). Another 8 MiB are accessed once upon SIGUSR1. Prints the
 * addresses; upon SIGTERM, whether each write had its effect.
 *
 * "touch mixed": all in the 16 MiB, the pages of each function at random. Of 4096 pages
 * read_a() has 1600, write_b() 800, and another 800 have read_c() 15 times for one
 * write_c().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MIB		((size_t)1 << 20)
#define PAGE		4096
#define FUNCTION	__attribute__((noinline, noclone, aligned(64)))

#define PAGES_E		(16 * MIB / PAGE)

/* Variables, so that they have names */
static unsigned char array_a[8 * MIB] __attribute__((aligned(PAGE)));
static unsigned char array_b[4 * MIB] __attribute__((aligned(PAGE)));
static unsigned char array_c[4 * MIB] __attribute__((aligned(PAGE)));
static unsigned char array_d[8 * MIB] __attribute__((aligned(PAGE)));
static unsigned char array_e[16 * MIB] __attribute__((aligned(PAGE)));

/* Pages of an array accessed by a function */
struct pages {
	size_t nr;
	unsigned short page[PAGES_E];
};

static struct pages of_a, of_b, of_c;
static int mixed;
static volatile sig_atomic_t over, wake;
static volatile unsigned char *a = array_a, *b = array_b, *c = array_c, *d = array_d, *e = array_e;
static unsigned char b_now[PAGES_E], c_now[PAGES_E];
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
	struct timespec pause = { 0, 20000000 };

	nanosleep(&pause, NULL);
}

static void *alpha(void *unused)
{
	(void)unused;
	while (!over) {
		for (size_t i = 0; i < of_a.nr; i++)
			read_a(of_a.page[i]);
		for (size_t i = 0; !mixed && i < PAGES_E / 8; i++)
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
		for (size_t i = 0; i < of_b.nr; i++) {
			size_t page = of_c.page[rand_r(&seed) % of_c.nr];

			write_b(of_b.page[i]);
			if (rand_r(&seed) % (mixed ? 16 : 4))
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

static void take(struct pages *of, size_t nr, const unsigned short *page)
{
	of->nr = nr;
	memcpy(of->page, page, nr * sizeof(*page));
}

static void place(void)
{
	unsigned short page[PAGES_E], was;
	unsigned int seed = 1;

	for (size_t i = 0; i < PAGES_E; i++) {
		size_t other = mixed ? rand_r(&seed) % (i + 1) : i;

		page[i] = i;
		was = page[other];
		page[other] = i;
		page[i] = was;
	}
	take(&of_a, mixed ? 1600 : sizeof(array_a) / PAGE, page);
	take(&of_b, mixed ? 800 : sizeof(array_b) / PAGE, mixed ? page + 1600 : page);
	take(&of_c, mixed ? 800 : sizeof(array_c) / PAGE, mixed ? page + 2400 : page);
	if (mixed)
		a = b = c = e;
}

static int intact(size_t i)
{
	if (mixed)
		return e[i * PAGE + 7] == (unsigned char)(b_now[i] + c_now[i]);
	return i >= of_b.nr || (b[i * PAGE + 7] == b_now[i] && c[i * PAGE + 7] == c_now[i]);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int ok = 1;

	mixed = argc > 1 && !strcmp(argv[1], "mixed");
	place();
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	memset(array_a, 0, sizeof(array_a));
	memset(array_b, 0, sizeof(array_b));
	memset(array_c, 0, sizeof(array_c));
	memset(array_d, 0, sizeof(array_d));
	memset(array_e, 0, sizeof(array_e));
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
	for (size_t i = 0; i < PAGES_E; i++)
		ok &= intact(i);
	puts(ok ? "intact" : "data changed");
	return !ok;
}
