// SPDX-License-Identifier: GPL-2.0
/*
 * churn: a target that never stops changing its memory, and checks every byte.
 *
 *	churn MODE [SECS]
 *
 * Exits with 0 if all was right, 1 with a message if data was lost or something
 * failed, 77 if this kernel lacks a feature. CHURN_MB is the size of the memory
 * where a mode has a choice, CHURN_DIR the directory of files (default /tmp),
 * CHURN_REST_US the rest after each step (default 0), if others need the processor.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "churn.h"

#define WORDS		(PAGE / sizeof(uint64_t))
#define MAX_THREADS	16

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "map", churn_map },
	{ "mprotect", churn_mprotect },
	{ "tables", churn_tables },
	{ "fork", churn_fork },
	{ "exec", churn_exec },
	{ "exit", churn_exit },
	{ "thp", churn_thp },
	{ "hugetlb", churn_hugetlb },
	{ "swap", churn_swap },
	{ "lazyfree", churn_lazyfree },
	{ "memcg", churn_memcg },
	{ "migrate", churn_migrate },
	{ "ksm", churn_ksm },
	{ "uffd", churn_uffd },
	{ "shmem", churn_shmem },
	{ "file", churn_file },
	{ "hold", churn_hold },
	{ "victim", churn_victim },
};

_Thread_local sigjmp_buf fault_env;
_Thread_local volatile bool fault_expected;

static int64_t end_ns;
static atomic_ulong steps;
static useconds_t rest_us;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

bool going(void)
{
	return now_ns() < end_ns;
}

/* The count is printed at the end, lest a test pass for doing nothing. */
void count(void)
{
	atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
	if (rest_us)
		usleep(rest_us);
}

/* Pass the count and the time to the program that is executed next */
void hand_over(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)end_ns);
	setenv("CHURN_END", text, 1);
	snprintf(text, sizeof(text), "%lu", atomic_load(&steps));
	setenv("CHURN_STEPS", text, 1);
}

/* A number below @n */
uint32_t pick(uint32_t n)
{
	static _Thread_local uint64_t state;

	if (!state)
		state = (uint64_t)now_ns() * 2 + ((uintptr_t)&state >> 4) * 4 + 1;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % n;
}

size_t megabytes(size_t preset)
{
	const char *s = getenv("CHURN_MB");

	return (s ? strtoul(s, NULL, 10) : preset) << 20;
}

noreturn void lost(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("churn: LOST: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputs("\n", stderr);
	va_end(ap);
	_exit(1);
}

noreturn void skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("churn: skipped: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputs("\n", stderr);
	va_end(ap);
	_exit(SKIPPED);
}

void *map_pages(size_t pages, int flags)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

void write_page(void *page, uint64_t tag)
{
	volatile uint64_t *w = page;

	for (size_t i = 0; i < WORDS; i++)
		w[i] = tag * 0x9e3779b97f4a7c15 + i;
}

void check_page(const void *page, uint64_t tag)
{
	const volatile uint64_t *w = page;

	for (size_t i = 0; i < WORDS; i++) {
		uint64_t is = w[i], should = tag * 0x9e3779b97f4a7c15 + i;

		if (is != should)
			lost("at %p: is %#llx, should be %#llx (tag %#llx)",
			     (const void *)&w[i], (unsigned long long)is,
			     (unsigned long long)should, (unsigned long long)tag);
	}
}

void check_zero(const void *page)
{
	const volatile uint64_t *w = page;

	for (size_t i = 0; i < WORDS; i++)
		if (w[i])
			lost("at %p: is %#llx, should be 0", (const void *)&w[i],
			     (unsigned long long)w[i]);
}

void write_pages(char *p, size_t pages, uint64_t tag)
{
	for (size_t i = 0; i < pages; i++)
		write_page(p + i * PAGE, tag + i);
}

void check_pages(const char *p, size_t pages, uint64_t tag)
{
	for (size_t i = 0; i < pages; i++)
		check_page(p + i * PAGE, tag + i);
}

void run_threads(unsigned int n, void *(*f)(void *))
{
	pthread_t threads[MAX_THREADS];

	for (unsigned int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, f, (void *)(uintptr_t)i))
			errx(1, "cannot start a thread");
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void on_sigbus(int sig)
{
	if (fault_expected)
		siglongjmp(fault_env, 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

void catch_faults(void)
{
	struct sigaction sa = { .sa_handler = on_sigbus, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &sa, NULL);
}

int main(int argc, char **argv)
{
	const char *end = getenv("CHURN_END"), *done = getenv("CHURN_STEPS");
	const char *rest = getenv("CHURN_REST_US");

	if (argc < 2 || argc > 3) {
		fputs("usage: churn MODE [SECS]; modes:", stderr);
		for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
			fprintf(stderr, " %s", modes[i].name);
		fputs("\n", stderr);
		return 2;
	}
	end_ns = end ? atoll(end) :
		       now_ns() + (argc > 2 ? atoll(argv[2]) : 10) * 1000000000LL;
	rest_us = rest ? strtoul(rest, NULL, 10) : 0;
	atomic_store(&steps, done ? strtoul(done, NULL, 10) : 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run();
		fprintf(stderr, "churn %s: %lu steps\n", argv[1],
			atomic_load(&steps));
		return 0;
	}
	errx(2, "no mode %s", argv[1]);
}
