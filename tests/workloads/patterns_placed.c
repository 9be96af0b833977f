// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns that always use the same memory, but at special places, or in special
 * mappings.
 */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "patterns.h"

#define SMALL_PAGES	8	/* pages of the largest of many small mappings */

/* Touch the places chosen by the seed. */
static void touch_chosen(struct job *job, int64_t elapsed)
{
	(void)elapsed;
	for (size_t i = 0; i < job->track.count; i++)
		if (chosen(&job->opts, i, job->track.count))
			track_touch_place(&job->track, i, STORE);
}

static void touch_all(struct job *job)
{
	for (size_t i = 0; i < job->track.count; i++)
		track_touch_place(&job->track, i, STORE);
}

static char *reserve(size_t size, int prot)
{
	char *map = mmap(NULL, size + HUGE_PAGE, prot,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		err(errno == ENOMEM ? SKIPPED : EXIT_FAILURE, "mapping %zu bytes", size);
	return (char *)round_up((uintptr_t)map, HUGE_PAGE);
}

static void setup_reserve(struct job *job)
{
	const struct options *opts = &job->opts;
	size_t align = opts->thp ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
	size_t slot = opts->size / opts->count / HUGE_PAGE * HUGE_PAGE;
	size_t piece = round_up(opts->resident / opts->count, align);
	char *map;

	if (slot < piece)
		usage_error("--size is less than --resident");
	map = reserve(opts->size, opts->rw ? PROT_READ | PROT_WRITE : PROT_NONE);
	job->huge = opts->thp;
	job->range = range(map, opts->size);
	track_places(&job->track, opts->count);
	if (opts->rw && opts->thp && madvise(map, opts->size, MADV_HUGEPAGE))
		err(EXIT_FAILURE, "madvise");
	for (size_t i = 0; i < opts->count; i++) {
		size_t room = (slot - piece) / align + 1;
		char *start = map + i * slot + hash(~opts->seed, i) % room * align;

		job->track.places[i] = range(start, piece);
		if (opts->rw)
			continue;
		if (mprotect(start, piece, PROT_READ | PROT_WRITE))
			err(EXIT_FAILURE, "mprotect");
		if (opts->thp && madvise(start, piece, MADV_HUGEPAGE))
			err(EXIT_FAILURE, "madvise");
	}
	touch_all(job);
}

static void setup_vmas(struct job *job)
{
	const struct options *opts = &job->opts;
	size_t page = sysconf(_SC_PAGESIZE), slot = (SMALL_PAGES + 1) * page;
	char *map = reserve(opts->count * slot, PROT_READ | PROT_WRITE);

	job->range = range(map, opts->count * slot);
	track_places(&job->track, opts->count);
	for (size_t i = 0; i < opts->count; i++) {
		size_t size = (1 + hash(~opts->seed, i) % SMALL_PAGES) * page;
		char *start = map + i * slot;

		if (munmap(start + size, slot - size))
			err(EXIT_FAILURE, "munmap");
		job->track.places[i] = range(start, size);
	}
	touch_all(job);
}

static void setup_hugetlb(struct job *job)
{
	const struct options *opts = &job->opts;
	char *map = mmap(NULL, opts->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (map == MAP_FAILED)
		err(SKIPPED, "%zu huge pages, see /proc/sys/vm/nr_hugepages",
		    opts->size / HUGE_PAGE);
	job->huge = true;
	job->range = range(map, opts->size);
	track_pieces(&job->track, map, opts->size, HUGE_PAGE, 1);
	job->track.step = HUGE_PAGE;
	track_touch(&job->track, 0, opts->size, STORE);
}

static void hugetlb(struct job *job, int64_t elapsed)
{
	(void)elapsed;
	for (size_t i = 0; i < job->track.count; i++)
		if (chosen(&job->opts, i, job->track.count))
			track_touch(&job->track, i * HUGE_PAGE, HUGE_PAGE, STORE);
}

/*
 * Only the hot block is tracked. For huge pages it is written before the rest
 * is read: until Linux 6.12 a write to the huge zero page gives small pages.
 */
static void setup_sparse(struct job *job)
{
	const struct options *opts = &job->opts;
	size_t grain = opts->thp ? HUGE_PAGE : CHUNK, hot = round_up(opts->hot, grain);
	size_t room = (opts->size - hot) / grain + 1;
	char *map = map_buffer(opts->size, HUGE_PAGE, opts->fill || opts->thp);
	char *start = map + hash(opts->seed, 0) % room * grain;

	job->huge = opts->thp;
	job->range = range(map, opts->size);
	track_pieces(&job->track, start, hot, grain, 1);
	if (opts->thp)
		track_touch(&job->track, 0, hot, STORE);
	for (size_t at = 0; opts->fill && at < opts->size && !stopped; at += HUGE_PAGE)
		*(volatile char *)(map + at);
	if (!opts->thp)
		track_touch(&job->track, 0, hot, STORE);
}

static void sparse(struct job *job, int64_t elapsed)
{
	(void)elapsed;
	track_touch(&job->track, 0, job->opts.hot, STORE);
}

const struct pattern placed_patterns[] = {
	{ "reserve", "in --size bytes of PROT_NONE (or with --rw) --count pieces, in all\n"
	  "--resident bytes, are populated, --percent of them hot",
	  USES_RESIDENT | USES_COUNT | USES_PERCENT | USES_RW | USES_THP,
	  { .size = 1024 * GIB, .resident = 256 * MIB, .count = 256, .percent = 50,
	    .period = 100 * MS },
	  .setup = setup_reserve, .round = touch_chosen },
	{ "vmas", "--count mappings of 1 to 8 pages, --percent of them hot",
	  USES_COUNT | USES_PERCENT,
	  { .count = 3000, .percent = 30, .period = 50 * MS },
	  .setup = setup_vmas, .round = touch_chosen },
	{ "hugetlb", "--percent of the hugetlb pages are hot",
	  USES_PERCENT,
	  { .size = 64 * MIB, .percent = 50, .period = 20 * MS },
	  .setup = setup_hugetlb, .round = hugetlb },
	{ "sparse", "a hot block somewhere; the rest is the huge zero page or, with\n"
	  "--no-fill, not populated",
	  USES_HOT | USES_FILL | USES_THP,
	  { .size = 160 * GIB, .hot = 200 * MIB, .fill = true, .period = 200 * MS },
	  .setup = setup_sparse, .round = sparse },
	{ }
};
