// SPDX-License-Identifier: GPL-2.0
/* churn shmem, file: files shrink, get holes and are written back while in use */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "churn.h"

#define KEPT		512UL		/* pages that are never truncated */
#define PAGES		1024UL
#define RACERS		2

static int fd;
static char *map, *map2;
static bool punching;

static char *map_file(void)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

/*
 * Pages after KEPT: their words are zero or the value that every thread writes
 * there.
 */
static void racer_step(size_t me)
{
	size_t i = KEPT + pick((PAGES - KEPT) / RACERS) * RACERS + me;
	volatile uint64_t *w = (void *)((pick(2) ? map : map2) + i * PAGE);

	if (may_fault()) {
		for (size_t at = 0; at < PAGE / sizeof(*w); at += 64) {
			uint64_t is = w[at];

			if (is && is != i)
				lost("page %zu has %llx", i,
				     (unsigned long long)is);
			w[at] = i;
		}
	}
	fault_end();
	count();
}

static void *racer(void *arg)
{
	while (going())
		racer_step((uintptr_t)arg);
	return NULL;
}

static void *truncater(void *arg)
{
	(void)arg;
	while (going()) {
		size_t to = KEPT + pick(PAGES - KEPT);

		/*
		 * truncate in the middle of a page: the kernel zeroes the rest
		 * of it
		 */
		if (ftruncate(fd, to * PAGE + (pick(2) ? 8 : 0)))
			err(1, "ftruncate");
		if (pick(2))
			usleep(pick(500));
		if (ftruncate(fd, PAGES * PAGE))
			err(1, "ftruncate");
		count();
	}
	return NULL;
}

static void write_back(size_t at, size_t n)
{
	if (msync(map + at * PAGE, n * PAGE, pick(2) ? MS_SYNC : MS_ASYNC))
		err(1, "msync");
	madvise(map + at * PAGE, n * PAGE, MADV_DONTNEED);
	madvise(map2 + at * PAGE, n * PAGE, MADV_DONTNEED);
	posix_fadvise(fd, at * PAGE, n * PAGE, POSIX_FADV_DONTNEED);
}

static void punch(size_t at, size_t n, uint64_t *tags)
{
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at * PAGE,
		      n * PAGE)) {
		if (errno == EOPNOTSUPP)
			punching = false;
		else
			err(1, "fallocate");
		return;
	}
	for (size_t i = at; i < at + n; i++) {
		check_zero(map + i * PAGE);
		tags[i] = 0;
	}
}

/* Each page below KEPT has one owner, who knows its content. */
static void *owner(void *arg)
{
	static uint64_t tags[KEPT];
	static char buffer[PAGE];
	uint64_t tag = 1;

	(void)arg;
	while (going()) {
		size_t n = 1 + pick(32), at = pick(KEPT - n);

		for (size_t i = at; i < at + n; i++) {
			char *p = (pick(2) ? map : map2) + i * PAGE;

			if (tags[i])
				check_page(p, tags[i]);
			else
				check_zero(p);
		}
		for (size_t i = at; i < at + n; i++) {
			tags[i] = ++tag;
			write_page((pick(2) ? map : map2) + i * PAGE, tags[i]);
		}
		switch (pick(4)) {
		case 0:
			write_back(at, n);
			break;
		case 1:
			if (punching)
				punch(at, n, tags);
			break;
		case 2:
			if (pread(fd, buffer, PAGE, at * PAGE) != PAGE)
				err(1, "pread");
			check_page(buffer, tags[at]);
		}
		count();
	}
	for (size_t i = 0; i < KEPT; i++) {
		if (tags[i])
			check_page(map + i * PAGE, tags[i]);
		else
			check_zero(map + i * PAGE);
	}
	return NULL;
}

static void *file_thread(void *arg)
{
	switch ((uintptr_t)arg) {
	case RACERS:		return owner(arg);
	case RACERS + 1:	return truncater(arg);
	default:		return racer(arg);
	}
}

static void churn_fd(void)
{
	if (ftruncate(fd, PAGES * PAGE))
		err(1, "ftruncate");
	map = map_file();
	map2 = map_file();
	punching = true;
	catch_faults();
	run_threads(RACERS + 2, file_thread);
}

void churn_shmem(void)
{
	fd = memfd_create("churn", 0);
	if (fd < 0)
		skip("no memfd: %s", strerror(errno));
	churn_fd();
}

void churn_file(void)
{
	const char *dir = getenv("CHURN_DIR");

	fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/churn.XXXXXX", dir ? dir : "/tmp");
		fd = mkstemp(path);
		if (fd < 0)
			err(1, "%s", path);
		unlink(path);
	}
	churn_fd();
}
