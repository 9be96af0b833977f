// SPDX-License-Identifier: GPL-2.0
/* churn map, mprotect, tables, hold: mappings come, go, move and change */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "churn.h"

#define SLOTS		24
#define SLOT_PAGES	96

struct slot {
	char *p;
	size_t pages;
	uint64_t tag;
	bool split;		/* it may be several mappings */
};

static void slot_fill(struct slot *s)
{
	s->pages = 1 + pick(SLOT_PAGES);
	s->tag = (uint64_t)pick(1 << 30) << 20;
	s->split = false;
	s->p = map_pages(s->pages, pick(4) ? 0 : MAP_POPULATE);
	write_pages(s->p, s->pages, s->tag);
}

static void slot_resize(struct slot *s)
{
	size_t pages = 1 + pick(SLOT_PAGES);
	char *to = NULL;

	if (pick(2)) {
		/* to another address: page tables are moved */
		to = map_pages(pages, 0);
		s->p = mremap(s->p, s->pages * PAGE, pages * PAGE,
			      MREMAP_MAYMOVE | MREMAP_FIXED, to);
	} else {
		s->p = mremap(s->p, s->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
	}
	if (s->p == MAP_FAILED)
		err(1, "mremap");
	if (pages > s->pages)
		write_pages(s->p + s->pages * PAGE, pages - s->pages,
			    s->tag + s->pages);
	s->pages = pages;
}

/* A hole in the middle splits the mapping */
static void slot_punch(struct slot *s)
{
	size_t at, n;

	if (s->pages < 3)
		return;
	s->split = true;
	at = 1 + pick(s->pages - 2);
	n = 1 + pick(s->pages - 1 - at);
	munmap(s->p + at * PAGE, n * PAGE);
	if (mmap(s->p + at * PAGE, n * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
	    s->p + at * PAGE) {
		/* another thread has mapped memory into the hole: unmap the ends, too */
		munmap(s->p, at * PAGE);
		munmap(s->p + (at + n) * PAGE, (s->pages - at - n) * PAGE);
		s->p = NULL;
		return;
	}
	for (size_t i = at; i < at + n; i++)
		check_zero(s->p + i * PAGE);
	write_pages(s->p + at * PAGE, n, s->tag + at);
}

static void *map_thread(void *arg)
{
	struct slot slots[SLOTS] = { 0 };

	(void)arg;
	while (going()) {
		struct slot *s = &slots[pick(SLOTS)];

		count();
		/* leave the processor and the mmap lock to the sampler now and then */
		if (!pick(4))
			usleep(500);
		if (!s->p) {
			slot_fill(s);
			continue;
		}
		check_pages(s->p, s->pages, s->tag);
		switch (pick(4)) {
		case 0:
			munmap(s->p, s->pages * PAGE);
			s->p = NULL;
			break;
		case 1:
			slot_punch(s);
			break;
		default:
			if (!s->split)
				slot_resize(s);
		}
	}
	return NULL;
}

static void brk_churn(void)
{
	char *base = sbrk(0);
	size_t pages = 0;

	base += -(uintptr_t)base % PAGE;
	if (brk(base))
		err(1, "brk");
	while (going()) {
		size_t want = pick(512);

		if (brk(base + want * PAGE))
			err(1, "brk");
		if (want > pages)
			write_pages(base + pages * PAGE, want - pages, pages);
		pages = want;
		check_pages(base, pages, 0);
		count();
		usleep(500);
	}
}

static void *map_or_brk(void *arg)
{
	if (arg)
		return map_thread(arg);
	brk_churn();
	return NULL;
}

void churn_map(void)
{
	run_threads(3, map_or_brk);
}

#define PROT_PAGES	2048
#define PROT_THREADS	3

static char *prot_area;

/* Each thread has every third page, so protections split the mapping finely */
static void *prot_thread(void *arg)
{
	size_t me = (uintptr_t)arg;
	static uint64_t tags[PROT_PAGES];

	while (going()) {
		size_t i = pick(PROT_PAGES / PROT_THREADS) * PROT_THREADS + me;
		char *page = prot_area + i * PAGE;

		if (mprotect(page, PAGE, PROT_NONE) ||
		    mprotect(page, PAGE, PROT_READ))
			err(1, "mprotect");
		if (tags[i])
			check_page(page, tags[i]);
		if (mprotect(page, PAGE, PROT_READ | PROT_WRITE))
			err(1, "mprotect");
		tags[i] = 1 + pick(1 << 30);
		write_page(page, tags[i]);
		check_page(page, tags[i]);
		count();
	}
	return NULL;
}

void churn_mprotect(void)
{
	prot_area = map_pages(PROT_PAGES, 0);
	run_threads(PROT_THREADS, prot_thread);
}

/* MADV_DONTNEED may free emptied page tables, each of TABLE_SPAN */
#define TABLE_SPAN	(2UL << 20)
#define TABLES		8

static size_t table_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmPTE:", 6))
			kib = strtoul(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kib << 10;
}

static char *tables_area(void)
{
	char *area = map_pages((TABLES + 1) * TABLE_SPAN / PAGE, MAP_NORESERVE);

	area += -(uintptr_t)area % TABLE_SPAN;
	madvise(area, TABLES * TABLE_SPAN, MADV_NOHUGEPAGE);
	return area;
}

/*
 * A page in place of a page table: its words look like entries that are present, accessed
 * and special, so a sampler that enters the table too late changes one. The kernel keeps
 * unmovable pages apart; page tables are among them, and so are pages of a pipe, unlike
 * memory.
 */
#ifdef __aarch64__
#define ENTRY		(1UL << 56 | 1UL << 10 | 3)
#else
#define ENTRY		(1UL << 9 | 1UL << 5 | 5)
#endif
#define PIPE_PAGES	16

struct false_tables {
	int pipe[2];
	size_t held;
	uint64_t words[PAGE / sizeof(uint64_t)];
};

static void false_tables_fill(struct false_tables *f)
{
	for (size_t i = 0; i < PAGE / sizeof(*f->words); i++)
		f->words[i] = ENTRY;
	for (; f->held < PIPE_PAGES; f->held++)
		if (write(f->pipe[1], f->words, PAGE) != PAGE)
			err(1, "write to a pipe");
}

static void false_tables_check(struct false_tables *f)
{
	for (; f->held; f->held--) {
		if (read(f->pipe[0], f->words, PAGE) != PAGE)
			err(1, "read from a pipe");
		for (size_t i = 0; i < PAGE / sizeof(*f->words); i++)
			if (f->words[i] != ENTRY)
				lost("word %zu of a pipe's page is %#llx", i,
				     (unsigned long long)f->words[i]);
	}
}

/*
 * Page tables come and go under the sampler, each time after it could have seen that they
 * exist.
 */
static void *tables_thread(void *arg)
{
	char *area = tables_area();
	uint64_t tags[TABLES] = { 0 };
	struct false_tables f = { 0 };

	(void)arg;
	if (pipe(f.pipe))
		err(1, "pipe");
	while (going()) {
		size_t i = pick(TABLES);
		char *first = area + i * TABLE_SPAN, *last = first + TABLE_SPAN - PAGE;

		if (tags[i]) {
			check_page(first, tags[i]);
			check_page(last, tags[i] + 1);
		} else {
			check_zero(first);
			check_zero(last);
		}
		if (madvise(first, TABLE_SPAN, MADV_DONTNEED))
			err(1, "madvise");
		if (!pick(4))
			false_tables_check(&f);
		false_tables_fill(&f);
		tags[i] = pick(4) ? 1 + pick(1 << 30) : 0;
		if (tags[i]) {
			write_page(first, tags[i]);
			write_page(last, tags[i] + 1);
		}
		if (!pick(4))
			usleep(200);
		count();
	}
	false_tables_check(&f);
	return NULL;
}

void churn_tables(void)
{
	char *area = tables_area();
	size_t before;

	area[0] = 1;
	before = table_bytes();
	madvise(area, TABLE_SPAN, MADV_DONTNEED);
	fprintf(stderr, "page tables are %s\n", table_bytes() < before ? "freed" : "kept");
	run_threads(3, tables_thread);
}

/*
 * Holds its mmap lock for writing nearly all the time: page tables are moved
 * entry by entry, because the old and the new place differ within a table.
 */
void churn_hold(void)
{
	size_t size = megabytes(256);
	char *place = mmap(NULL, 3 * size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = place, *other = place + size + 7 * PAGE;
	sigset_t begin;
	int signal;

	if (place == MAP_FAILED ||
	    mmap(at, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		err(1, "mmap");
	madvise(at, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += PAGE)
		at[i] = 1;
	sigemptyset(&begin);
	sigaddset(&begin, SIGUSR1);
	sigprocmask(SIG_BLOCK, &begin, NULL);
	if (write(1, "ready\n", 6) != 6)
		err(1, "stdout");
	sigwait(&begin, &signal);
	while (going()) {
		char *was = at;

		if (mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			   other) == MAP_FAILED)
			err(1, "mremap");
		at = other;
		other = was;
		count();
	}
	for (size_t i = 0; i < size; i += PAGE)
		if (at[i] != 1)
			lost("byte %zu after moving", i);
}
