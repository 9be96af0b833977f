// SPDX-License-Identifier: GPL-2.0
/*
 * pageramp: a working set that grows and shrinks like the teeth of a saw.
 *
 * At each step, every stride-th of the first k pages of a buffer is touched,
 * while k goes from 0 to all of them and back. When k first reaches pages, all
 * of them are populated. So with stride 2 half of the resident memory is in
 * use: samplers easily get that wrong.
 *
 * After an example of valgrind-ws, which does the same as fast as it can.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "truth.h"

#define HUGE_PAGE	(2UL << 20)

struct options {
	size_t pages;
	size_t stride;
	int64_t ramp;		/* once up and down, ns */
	int64_t rest;		/* rest before a ramp, ns */
	size_t cycles;
	int64_t step;		/* ns between steps */
	int64_t window;		/* ns */
	int64_t sample;		/* ns between samples of the truth */
	const char *truth;
	bool populate;
	bool thp;
};

/* A step: by @time the first @reach pages were visited, and @populated were populated. */
struct step {
	int64_t time;
	size_t reach;
	size_t populated;
};

/*
 * The steps of the last window, the oldest first. The truth is computed from
 * them: a record of single pages would be in use, too.
 */
struct history {
	struct step *steps;
	size_t size;
	size_t first;
	size_t count;
	size_t populated;	/* before the oldest step */
};

static void history_init(struct history *history, const struct options *opts)
{
	*history = (struct history){ .size = opts->window / opts->step + 2 };
	history->steps = calloc(history->size, sizeof(*history->steps));
	if (!history->steps) {
		perror("pageramp");
		exit(EXIT_FAILURE);
	}
}

static void history_expire(struct history *history, int64_t before)
{
	while (history->count && history->steps[history->first].time <= before) {
		history->populated = history->steps[history->first].populated;
		history->first = (history->first + 1) % history->size;
		history->count--;
	}
}

static void history_add(struct history *history, struct step step, int64_t window)
{
	history_expire(history, step.time - window);
	history->steps[(history->first + history->count) % history->size] = step;
	history->count++;
}

static size_t round_up_div(size_t n, size_t d)
{
	return (n + d - 1) / d;
}

/*
 * Pages touched in the remembered steps: pages on the stride below the furthest
 * reach, and other pages that were populated meanwhile.
 */
static size_t history_pages(const struct history *history, size_t stride)
{
	size_t reach = 0, populated = history->populated, off_stride;

	for (size_t i = 0; i < history->count; i++) {
		const struct step *step =
			&history->steps[(history->first + i) % history->size];

		if (step->reach > reach)
			reach = step->reach;
		populated = step->populated;
	}
	off_stride = populated - round_up_div(populated, stride) -
		     (history->populated - round_up_div(history->populated, stride));
	return round_up_div(reach, stride) + off_stride;
}

static void touch(char *buffer, size_t first, size_t end, size_t stride)
{
	size_t page = sysconf(_SC_PAGESIZE);

	for (size_t i = first; i < end; i += stride)
		/* a plain store: ++ may load first, which maps the zero page */
		*(volatile char *)(buffer + i * page) = 1;
}

/* How many pages are in use @elapsed ns after the start. */
static size_t reach_at(const struct options *opts, int64_t elapsed)
{
	int64_t into = elapsed % (opts->rest + opts->ramp) - opts->rest;
	double phase = (double)into / opts->ramp;

	if (into < 0)
		return 0;
	return opts->pages * (phase < 0.5 ? 2 * phase : 2 - 2 * phase) + 0.5;
}

static void run(const struct options *opts, struct truth *truth, char *buffer)
{
	int64_t start, end, next_step, next_sample, now;
	struct history history;
	size_t populated = 0;

	history_init(&history, opts);
	if (opts->populate) {
		touch(buffer, 0, opts->pages, 1);
		populated = opts->pages;
		history.populated = populated;
		/* populating is no use of the pages: let it be forgotten */
		sleep_until(now_ns() + opts->window);
	}

	start = now_ns();
	end = start + (opts->rest + opts->ramp) * opts->cycles;
	next_step = start;
	next_sample = start + opts->sample;
	while (!stopped) {
		sleep_until(next_step < next_sample ? next_step : next_sample);
		now = now_ns();
		if (now >= end)
			break;
		if (now >= next_step) {
			size_t reach = reach_at(opts, now - start);

			if (reach > populated) {
				touch(buffer, populated, reach, 1);
				populated = reach;
			}
			touch(buffer, 0, reach, opts->stride);
			now = now_ns();
			history_add(&history, (struct step){ now, reach, populated }, opts->window);
			/* missed steps are not made up for: the ramp follows the clock */
			next_step += ((now - next_step) / opts->step + 1) * opts->step;
		}
		if (now >= next_sample) {
			history_expire(&history, now - opts->window);
			truth_sample(truth, now, history_pages(&history, opts->stride) *
						 sysconf(_SC_PAGESIZE));
			next_sample += ((now - next_sample) / opts->sample + 1) * opts->sample;
		}
	}
	free(history.steps);
}

/* the defaults */
static struct options opts = {
	.pages = 32768,
	.stride = 1,
	.ramp = 10 * NSEC_PER_SEC,
	.cycles = 2,
	.step = 20 * NSEC_PER_MSEC,
	.window = 1000 * NSEC_PER_MSEC,
	.sample = 100 * NSEC_PER_MSEC,
};

static void help(void)
{
	printf("usage: pageramp [OPTION...]\n"
	       "Touches every stride-th of the first k pages, k rising and falling, and\n"
	       "tells the true size of its working set.\n\n"
	       "  --pages N       pages at the peak (%zu)\n"
	       "  --stride N      touch every Nth page (%zu)\n"
	       "  --ramp SECS     time to go up and down once (%d)\n"
	       "  --rest SECS     touch nothing for so long before each of them (%d)\n"
	       "  --cycles N      how often (%zu)\n"
	       "  --step-ms MS    time between two steps (%d)\n"
	       "  --window MS     window of the working set (%d)\n"
	       "  --populate      populate everything first, then wait for a window\n"
	       "  --thp           ask for huge pages (the truth stays in small ones)\n"
	       "  --truth FILE    write lines 'truth TIME_NS BYTES OVERHEAD_BYTES'; - is\n"
	       "                  standard output\n"
	       "  --truth-ms MS   time between two of them (%d)\n"
	       "  --help          this text\n",
	       opts.pages, opts.stride, (int)(opts.ramp / NSEC_PER_SEC),
	       (int)(opts.rest / NSEC_PER_SEC), opts.cycles,
	       (int)(opts.step / NSEC_PER_MSEC), (int)(opts.window / NSEC_PER_MSEC),
	       (int)(opts.sample / NSEC_PER_MSEC));
}

static void parse(int argc, char **argv)
{
	static const struct opt table[] = {
		{ "pages", OPT_NUMBER, &opts.pages, 1, 1UL << 36, 0, NULL },
		{ "stride", OPT_NUMBER, &opts.stride, 1, 1UL << 36, 0, NULL },
		OPT_SECONDS("ramp", &opts.ramp, 1, 86400),
		OPT_SECONDS("rest", &opts.rest, 0, 86400),
		{ "cycles", OPT_NUMBER, &opts.cycles, 1, 1000000, 0, NULL },
		OPT_MS("step-ms", &opts.step, 1, 60000),
		OPT_MS("window", &opts.window, 1, 3600000),
		{ "populate", OPT_SET, &opts.populate, 0, 0, 0, NULL },
		{ "thp", OPT_SET, &opts.thp, 0, 0, 0, NULL },
		{ "truth", OPT_TEXT, &opts.truth, 0, 0, 0, NULL },
		OPT_MS("truth-ms", &opts.sample, 1, 60000),
		{ }
	};

	parse_options(argc, argv, table, help, NULL);
}

int main(int argc, char **argv)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct truth truth;
	char *buffer;

	parse(argc, argv);
	truth_start(&truth, opts.truth);
	truth_calibrate(&truth);
	buffer = map_buffer(opts.pages * page, opts.thp ? HUGE_PAGE : page, opts.thp);
	truth_note(&truth, "range %zu %zu\n", (size_t)buffer,
		   (size_t)buffer + opts.pages * page);
	run(&opts, &truth, buffer);
	truth_summary(&truth, "pageramp");
	return EXIT_SUCCESS;
}
