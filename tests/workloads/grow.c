// SPDX-License-Identifier: GPL-2.0
/*
 * grow: memory that appears while the program runs.
 *
 * A buffer grows at a steady pace, a chunk at a time, in one of the ways in which
 * programs get memory. Every stride-th page of it is touched when its turn comes,
 * and each period from then on.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "track.h"

#define STEP	(10 * NSEC_PER_MSEC)

struct options {
	const struct way *way;
	size_t size;		/* final size, bytes */
	size_t chunk;		/* growth at a time, bytes */
	size_t stride;		/* pages */
	int64_t after;		/* start of the growth, ns */
	int64_t growth;		/* duration of the growth, ns */
	int64_t life;		/* ns */
	int64_t period;		/* ns */
	int64_t window;		/* ns */
	int64_t sample;		/* ns between samples of the truth */
	const char *truth;
};

struct buffer {
	char *start;
	size_t size;
	size_t most;
};

/* Each returns the begin of the buffer, which now has @size bytes. */
static char *by_brk(const struct buffer *buffer, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	/* begin with a whole page, beside malloc()'s memory */
	char *start = buffer->start ? buffer->start :
				      (char *)(((uintptr_t)sbrk(0) + page - 1) & -page);

	return brk(start + size) ? MAP_FAILED : start;
}

/* At an address reserved for it */
static char *by_mmap(const struct buffer *buffer, size_t size)
{
	char *start = buffer->start;

	if (!start)
		start = mmap(NULL, buffer->most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED ||
	    mmap(start + buffer->size, size - buffer->size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return MAP_FAILED;
	return start;
}

static char *by_mremap(const struct buffer *buffer, size_t size)
{
	if (!buffer->start)
		return by_mmap(buffer, size);
	return mremap(buffer->start, buffer->size, size, MREMAP_MAYMOVE);
}

static char *by_realloc(const struct buffer *buffer, size_t size)
{
	char *start = realloc(buffer->start, size);

	return start ? start : MAP_FAILED;
}

static const struct way {
	const char *name;
	char *(*get)(const struct buffer *buffer, size_t size);
} ways[] = {
	{ "brk", by_brk },
	{ "mmap", by_mmap },
	{ "mremap", by_mremap },
	{ "realloc", by_realloc },
};

/* Touches pieces from @from to @to, exclusive. */
static void touch(struct track *track, size_t from, size_t to)
{
	if (to > from)
		track_touch(track, from * track->grain, (to - from) * track->grain, STORE);
}

static void sample(const struct options *opts, struct truth *truth, struct track *track)
{
	static const struct truth no_map = { .fd = -1 };
	int64_t now = now_ns();
	uint64_t bytes;

	track_sample(track, now, &opts->window, 1, &bytes, &no_map);
	truth_sample(truth, now, bytes / opts->stride);
}

static void run(const struct options *opts, struct truth *truth, struct track *track)
{
	struct buffer buffer = { .most = opts->size };
	int64_t start = now_ns(), next_touch = start, next_sample = start, now;
	size_t touched = 0;

	for (int64_t next = start; !stopped; next += STEP) {
		sleep_until(next);
		now = now_ns();
		if (now - start >= opts->life)
			break;
		if (now - start > opts->after && touched < track->count) {
			double share = (double)(now - start - opts->after) / opts->growth;
			size_t turn = share < 1 ? share * track->count : track->count;

			while (buffer.size < turn * track->grain) {
				size_t size = buffer.size + opts->chunk;

				if (size > opts->size)
					size = opts->size;
				buffer.start = opts->way->get(&buffer, size);
				if (buffer.start == MAP_FAILED)
					err(EXIT_FAILURE, "%s of %zu bytes", opts->way->name, size);
				buffer.size = size;
				track->start = (uintptr_t)buffer.start;
			}
			touch(track, touched, turn);
			touched = turn;
		}
		if (opts->period && now >= next_touch) {
			touch(track, 0, touched);
			next_touch = now + opts->period;
		}
		if (now >= next_sample) {
			sample(opts, truth, track);
			next_sample = now + opts->sample;
		}
	}
	sample(opts, truth, track);
}

/* the defaults */
static struct options opts = {
	.way = ways,
	.size = 60UL << 20,
	.chunk = 1UL << 20,
	.stride = 1,
	.growth = NSEC_PER_SEC,
	.life = 3 * NSEC_PER_SEC,
	.period = 100 * NSEC_PER_MSEC,
	.window = NSEC_PER_SEC,
	.sample = 20 * NSEC_PER_MSEC,
};

static void help(void)
{
	printf("usage: grow [OPTION...]\n"
	       "Gets memory while it runs, touches every stride-th page of it, and tells the\n"
	       "true size of its working set.\n\n"
	       "  --way WAY       brk, mmap, mremap or realloc (%s)\n"
	       "  --size SIZE     of the memory in the end (%zuM)\n"
	       "  --chunk SIZE    get as much at a time (%zuM)\n"
	       "  --stride N      touch every Nth page (%zu)\n"
	       "  --after-ms MS   begin to grow after MS (%d)\n"
	       "  --grow-ms MS    grow for MS (%d)\n"
	       "  --life-ms MS    end after MS (%d)\n"
	       "  --period-ms MS  time between two touches of what is there; 0: just once (%d)\n"
	       "  --window MS     window of the working set (%d)\n"
	       "  --truth FILE    write lines 'truth TIME_NS BYTES OVERHEAD_BYTES'; - is\n"
	       "                  standard output\n"
	       "  --truth-ms MS   time between two of them (%d)\n"
	       "  --help          this text\n",
	       opts.way->name, opts.size >> 20, opts.chunk >> 20, opts.stride,
	       (int)(opts.after / NSEC_PER_MSEC), (int)(opts.growth / NSEC_PER_MSEC),
	       (int)(opts.life / NSEC_PER_MSEC), (int)(opts.period / NSEC_PER_MSEC),
	       (int)(opts.window / NSEC_PER_MSEC), (int)(opts.sample / NSEC_PER_MSEC));
}

static void find_way(const char *name, char *text, void *value)
{
	const struct way **way = value;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, text)) {
			*way = &ways[i];
			return;
		}
	usage_error("--%s: there is no '%s'", name, text);
}

static void parse(int argc, char **argv)
{
	size_t page = sysconf(_SC_PAGESIZE);
	const struct opt table[] = {
		{ "way", OPT_OTHER, &opts.way, 0, 0, 0, find_way },
		{ "size", OPT_SIZE, &opts.size, page, 1ULL << 40, 0, NULL },
		{ "chunk", OPT_SIZE, &opts.chunk, page, 1ULL << 40, 0, NULL },
		{ "stride", OPT_NUMBER, &opts.stride, 1, 1024, 0, NULL },
		OPT_MS("after-ms", &opts.after, 0, 3600000),
		OPT_MS("grow-ms", &opts.growth, 1, 3600000),
		OPT_MS("life-ms", &opts.life, 1, 3600000),
		OPT_MS("period-ms", &opts.period, 0, 3600000),
		OPT_MS("window", &opts.window, 1, 3600000),
		{ "truth", OPT_TEXT, &opts.truth, 0, 0, 0, NULL },
		OPT_MS("truth-ms", &opts.sample, 1, 3600000),
		{ }
	};

	parse_options(argc, argv, table, help, NULL);
	if (opts.size % (opts.stride * page) || opts.chunk % page)
		usage_error("sizes are multiples of pages, and of the stride");
}

int main(int argc, char **argv)
{
	struct track track;
	struct truth truth;
	size_t grain;

	parse(argc, argv);
	truth_start(&truth, opts.truth);
	/* small pages in the buffer, wherever it is */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	grain = opts.stride * sysconf(_SC_PAGESIZE);
	track_pieces(&track, NULL, opts.size, grain, opts.size / grain);
	track.step = grain;
	truth.overhead = smaps_sum("Rss", 0, UINTPTR_MAX);
	run(&opts, &truth, &track);
	return EXIT_SUCCESS;
}
