// SPDX-License-Identifier: GPL-2.0
/* Patterns whose hot part moves, grows, changes or is random. */
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "patterns.h"

#define BURST	(2000 * MS)

/* Pieces that are chunks, or huge pages. */
static size_t grain(const struct job *job)
{
	return job->opts.thp ? HUGE_PAGE : CHUNK;
}

static void buffer(struct job *job, size_t piece, size_t cell)
{
	const struct options *opts = &job->opts;
	char *map = map_buffer(opts->size, HUGE_PAGE, opts->thp);

	job->huge = opts->thp;
	job->range = range(map, opts->size);
	track_pieces(&job->track, map, opts->size, piece, cell);
	track_touch(&job->track, 0, opts->size, STORE);
}

static void setup(struct job *job)
{
	buffer(job, grain(job), 1);
}

static void zigzag(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	double phase = fmod((double)elapsed / opts->hold, 2);
	size_t way = opts->size - opts->hot;
	size_t at = way * (phase < 1 ? phase : 2 - phase);

	track_touch(&job->track, at / CHUNK * CHUNK, opts->hot, STORE);
}

static void stairs(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	size_t step = elapsed / opts->hold % (2 * opts->count);
	size_t level = step < opts->count ? step + 1 : 2 * opts->count - step;

	track_touch(&job->track, 0, round_up(opts->hot * level / opts->count, CHUNK), STORE);
}

static void phases(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	uint64_t draw = hash(opts->seed, elapsed / opts->hold);
	/* from a 32nd of the greatest size up; all magnitudes are equally likely */
	double log_size = (draw & 0xffff) / 65536.0 * 5 - 5, where = (draw >> 32) * 0x1p-32;
	size_t size = round_up(opts->hot * exp2(log_size), CHUNK);

	track_touch(&job->track, (size_t)((opts->size - size) * where) / CHUNK * CHUNK, size,
		    STORE);
}

/* Nearly normally distributed, as a sum of four uniform values: mean 0, standard deviation 1 */
static double noise(uint64_t draw)
{
	double sum = 0;

	for (int i = 0; i < 4; i++)
		sum += (draw >> 16 * i & 0xffff) * 0x1p-16;
	return (sum - 2) / sqrt(4 / 12.0);
}

static void bursts(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	double size = opts->hot * (1 + 0.1 * noise(hash(opts->seed, elapsed / opts->windows[0])));
	size_t nr = elapsed / opts->hold;

	if (nr && nr <= opts->count && elapsed % opts->hold < BURST)
		size *= 4;
	if (size > opts->size)
		size = opts->size;
	track_touch(&job->track, 0, round_up(size, CHUNK), STORE);
}

static void once(struct job *job, int64_t elapsed)
{
	(void)elapsed;
	track_touch(&job->track, (job->opts.size - job->opts.hot) / 2 / CHUNK * CHUNK,
		    job->opts.hot, STORE);
}

static void setup_zipf(struct job *job)
{
	size_t piece = job->opts.thp ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);

	buffer(job, piece, 2 * HUGE_PAGE / piece);
}

static void zipf(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	size_t page = sysconf(_SC_PAGESIZE), pages = opts->size / page;
	size_t touches = (double)opts->rate * opts->period / NSEC_PER_SEC;
	double e = 1 - opts->exponent, top = pages + 1;

	(void)elapsed;
	while (touches--) {
		double u = (hash(opts->seed, job->done++) >> 11) * 0x1p-53, rank;

		/* inverse of the cumulated density rank^-exponent on [1, top) */
		if (fabs(e) < 1e-6)
			rank = pow(top, u);
		else
			rank = pow(1 + u * (pow(top, e) - 1), 1 / e);
		if (rank >= top)
			continue;
		track_touch(&job->track, permute(opts->seed, rank - 1, pages) * page, page, STORE);
	}
}

/* Touch those of @n things whose turn came since the last round: each has one in @period */
static void take_turns(struct job *job, size_t first, size_t n, int64_t from, int64_t to,
		       int64_t period)
{
	size_t page = sysconf(_SC_PAGESIZE), end = (double)n * to / period;

	for (size_t i = (double)n * from / period; n && i < end; i++)
		track_touch(&job->track, (first + permute(job->opts.seed, i % n, n)) * page, page,
			    STORE);
}

static void periods(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	size_t page = sysconf(_SC_PAGESIZE), hot = opts->hot / page;

	take_turns(job, 0, hot, job->done, elapsed, opts->hold);
	take_turns(job, hot, opts->size / page - hot, job->done, elapsed, 10 * opts->hold);
	job->done = elapsed;
}

/*
 * The heap is moved by hand. malloc()'s part lies below; when malloc() wants
 * more meanwhile, it learns that the heap has moved.
 */
static void grow_heap(struct job *job, size_t to)
{
	char *base = (char *)job->track.start;

	if (to <= job->done)
		return;
	if (sbrk(0) != base + job->done)
		errx(EXIT_FAILURE, "somebody else moved the end of the heap");
	if (brk(base + to))
		err(EXIT_FAILURE, "brk");
	if (job->huge && madvise(base, to, MADV_HUGEPAGE))
		err(EXIT_FAILURE, "madvise");
	job->done = to;
}

static void setup_heap(struct job *job)
{
	const struct options *opts = &job->opts;
	uintptr_t base;

	if (opts->hot % grain(job))
		usage_error("--hot is not a multiple of %zu", grain(job));
	job->huge = opts->thp;
	/* allocates; at a place that is still empty */
	track_pieces(&job->track, NULL, opts->size, grain(job), 1);
	base = round_up((uintptr_t)sbrk(0), HUGE_PAGE);
	if (brk((void *)base))
		err(EXIT_FAILURE, "brk");
	job->track.start = base;
	job->range = range((char *)base, opts->size);
	grow_heap(job, opts->hot);
	track_touch(&job->track, 0, opts->hot, STORE);
}

static void heap(struct job *job, int64_t elapsed)
{
	const struct options *opts = &job->opts;
	size_t step = round_up((opts->size - opts->hot) / opts->count, grain(job));
	size_t to = opts->hot + elapsed / opts->hold * step, from = job->done;

	if (to > opts->size)
		to = opts->size;
	grow_heap(job, to);
	/* all new data, at any rate, and at least the newest */
	if (from > job->done - opts->hot)
		from = job->done - opts->hot;
	track_touch(&job->track, from, job->done - from, STORE);
}

const struct pattern moving_patterns[] = {
	{ "zigzag", "a block of --hot bytes moves through the buffer and back,\n"
	  "--hold-ms one way",
	  USES_HOT | USES_HOLD | USES_THP,
	  { .size = 512 * MIB, .hot = 64 * MIB, .hold = 20000 * MS, .period = 100 * MS },
	  .setup = setup, .round = zigzag },
	{ "stairs", "the first 1, 2, ... --count parts of --hot bytes and down again,\n"
	  "--hold-ms a step",
	  USES_HOT | USES_HOLD | USES_COUNT | USES_THP,
	  { .size = 512 * MIB, .hot = 256 * MIB, .hold = 4000 * MS, .count = 6,
	    .period = 100 * MS },
	  .setup = setup, .round = stairs },
	{ "phases", "every --hold-ms another block, of random size up to --hot bytes,\n"
	  "somewhere",
	  USES_HOT | USES_HOLD | USES_THP,
	  { .size = 512 * MIB, .hot = 256 * MIB, .hold = 4000 * MS, .period = 100 * MS },
	  .setup = setup, .round = phases },
	{ "bursts", "the first --hot bytes, give or take 10 %, anew each window; four\n"
	  "times as many for 2 s, --count times, --hold-ms apart",
	  USES_HOT | USES_HOLD | USES_COUNT | USES_THP,
	  { .size = 256 * MIB, .hot = 32 * MIB, .hold = 60000 * MS, .count = 5,
	    .period = 20 * MS },
	  .setup = setup, .round = bursts },
	{ "once", "one block, touched just once each --period-ms",
	  USES_HOT | USES_THP,
	  { .size = 512 * MIB, .hot = 64 * MIB, .period = 3000 * MS },
	  .setup = setup, .round = once },
	{ "zipf", "--rate random touches a second, the pages' chances as their\n"
	  "ranks ^ -(--exponent); ranks are spread over the buffer",
	  USES_RATE | USES_EXPONENT | USES_THP,
	  { .size = 512 * MIB, .rate = 10000, .exponent = 1, .period = 20 * MS },
	  .setup = setup_zipf, .round = zipf },
	{ "periods", "each page of the first --hot bytes once in --hold-ms, all others\n"
	  "once in ten times as long",
	  USES_HOT | USES_HOLD,
	  { .size = 40 * MIB, .hot = 8 * MIB, .hold = 2000 * MS, .period = 20 * MS },
	  .setup = setup_zipf, .round = periods },
	{ "heap", "the heap (brk) grows to --size in --count steps, one each\n"
	  "--hold-ms; its newest --hot bytes are in use",
	  USES_HOT | USES_HOLD | USES_COUNT | USES_THP,
	  { .size = 256 * MIB, .hot = 32 * MIB, .hold = 1000 * MS, .count = 20,
	    .period = 100 * MS },
	  .setup = setup_heap, .round = heap },
	{ }
};
