// SPDX-License-Identifier: GPL-2.0
/*
 * hotset: touches the same known pages of a large buffer, period after period.
 *
 * Its patterns show differences between samplers: one block, every Kth page,
 * pages picked at random, alternating blocks. The random pages are a bitmap,
 * all other patterns are formulas, so the process touches little else.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

#define HUGE_PAGE	(2UL << 20)
#define WORD_BITS	64

enum pattern { CONTIG, STRIDE, RANDOM, BLOCKS };

struct options {
	size_t size;		/* all sizes in bytes */
	size_t hot;		/* of the single block */
	size_t offset;		/* where the pattern begins */
	enum pattern pattern;
	size_t param;		/* pages a stride, bytes a block */
	double percent;		/* of the pages, for random ones */
	uint64_t seed;
	int64_t period;		/* ns */
	int64_t length;		/* ns, 0: until a signal */
	int64_t window;		/* ns */
	int64_t sample;		/* ns between samples of the truth */
	const char *truth;
	bool thp;
	bool populate;
};

/*
 * The hot pages: of each @stride pages from @first on, the first @block ones,
 * below @end; if there is a @bitmap, only pages with their bit set.
 */
struct hotset {
	size_t first;
	size_t end;
	size_t stride;
	size_t block;
	uint64_t *bitmap;
};

static size_t page_size;

static void touch_page(char *buffer, size_t page)
{
	/* a plain store: ++ may load first, and a load maps the huge zero page */
	*(volatile char *)(buffer + page * page_size) = 1;
}

/* splitmix64: the same seed gives the same pages everywhere. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t *draw_bitmap(size_t pages, double percent, uint64_t seed)
{
	size_t words = (pages + WORD_BITS - 1) / WORD_BITS;
	uint64_t *bitmap = calloc(words, sizeof(*bitmap));

	if (!bitmap)
		err(EXIT_FAILURE, "bitmap");
	for (size_t i = 0; i < pages; i++)
		if ((next_random(&seed) >> 11) * 0x1p-53 * 100 < percent)
			bitmap[i / WORD_BITS] |= 1ULL << i % WORD_BITS;
	return bitmap;
}

static struct hotset choose(const struct options *opts)
{
	struct hotset set = {
		.first = opts->offset / page_size,
		.end = opts->size / page_size,
	};
	size_t pages = set.end - set.first;

	switch (opts->pattern) {
	case CONTIG:
		set.end = set.first + opts->hot / page_size;
		set.stride = set.block = opts->hot / page_size;
		break;
	case STRIDE:
		set.stride = opts->param;
		set.block = 1;
		break;
	case BLOCKS:
		set.block = opts->param / page_size;
		set.stride = 2 * set.block;
		break;
	case RANDOM:
		set.stride = set.block = pages;
		set.bitmap = draw_bitmap(pages, opts->percent, opts->seed);
		break;
	}
	return set;
}

static void touch_bitmap(const struct hotset *set, char *buffer)
{
	size_t pages = set->end - set->first;

	for (size_t word = 0; word * WORD_BITS < pages; word++)
		for (uint64_t bits = set->bitmap[word]; bits; bits &= bits - 1)
			touch_page(buffer, set->first + word * WORD_BITS + __builtin_ctzll(bits));
}

static void touch(const struct hotset *set, char *buffer)
{
	if (set->bitmap) {
		touch_bitmap(set, buffer);
		return;
	}
	for (size_t start = set->first; start < set->end; start += set->stride)
		for (size_t i = start; i < start + set->block && i < set->end; i++)
			touch_page(buffer, i);
}

static bool is_hot(const struct hotset *set, size_t page)
{
	if (page < set->first || page >= set->end)
		return false;
	page -= set->first;
	if (set->bitmap)
		return set->bitmap[page / WORD_BITS] >> page % WORD_BITS & 1;
	return page % set->stride < set->block;
}

static bool holds_hot(const struct hotset *set, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (is_hot(set, i))
			return true;
	return false;
}

/* The truth: bytes in pieces of @unit bytes that hold a hot page. */
static uint64_t hot_bytes(const struct hotset *set, size_t size, size_t unit)
{
	size_t pages = size / page_size, span = unit / page_size;
	uint64_t units = 0;

	for (size_t start = 0; start < pages; start += span)
		units += holds_hot(set, start, start + span < pages ? start + span : pages);
	return units * unit;
}

/* The map: runs of hot pieces, or the share of hot pieces if they are at random. */
static void note_map(const struct truth *truth, const struct hotset *set, char *buffer,
		     size_t size, size_t unit)
{
	uintptr_t base = (uintptr_t)buffer;
	size_t pages = size / page_size, span = unit / page_size, end;
	int64_t now = now_ns();

	if (span == 1 && (set->bitmap || set->block == 1)) {
		truth_note(truth, "map %" PRId64 " %" PRIuPTR " %" PRIuPTR " %.6g\n", now,
			   base + set->first * page_size, base + set->end * page_size,
			   (double)hot_bytes(set, size, unit) /
			   ((set->end - set->first) * page_size));
		return;
	}
	for (size_t start = 0; start < pages; start = end + span) {
		for (end = start; end < pages && holds_hot(set, end, end + span); end += span)
			;
		if (end > start)
			truth_note(truth, "map %" PRId64 " %" PRIuPTR " %" PRIuPTR " 1\n", now,
				   base + start * page_size, base + end * page_size);
	}
}

/* Bytes that one Accessed bit stands for; if only some pages are huge, no truth is exact. */
static size_t mapping_unit(const struct options *opts, const char *buffer)
{
	uintptr_t start = (uintptr_t)buffer, end = start + opts->size;
	uint64_t huge = smaps_sum("AnonHugePages", start, end);
	uint64_t rss = smaps_sum("Rss", start, end);

	if (!huge)
		return page_size;
	if (huge != rss)
		errx(EXIT_FAILURE, "%" PRIu64 " of %" PRIu64 " bytes are in huge pages: no exact truth",
		     huge, rss);
	return HUGE_PAGE;
}

static void run(const struct options *opts, struct truth *truth, const struct hotset *set,
		char *buffer)
{
	int64_t start = now_ns(), next_touch = start, next_sample, now;
	uint64_t bytes;
	size_t unit;

	if (opts->populate)
		for (size_t i = 0; i < opts->size / page_size; i++)
			touch_page(buffer, i);
	touch(set, buffer);
	unit = mapping_unit(opts, buffer);
	bytes = hot_bytes(set, opts->size, unit);
	truth_note(truth, "range %zu %zu\n", (size_t)buffer, (size_t)buffer + opts->size);
	truth_note(truth, "unit %zu\n", unit);
	note_map(truth, set, buffer, opts->size, unit);
	if (opts->thp && unit != HUGE_PAGE)
		warnx("no huge pages to be had; the truth is in small ones");

	/* populated pages belong to the working set until window has passed */
	next_sample = now_ns() + opts->window;
	start = next_sample;
	while (!stopped) {
		if (opts->period)
			sleep_until(next_touch < next_sample ? next_touch : next_sample);
		now = now_ns();
		if (opts->length && now >= start + opts->length)
			break;
		if (now >= next_touch) {
			touch(set, buffer);
			if (opts->period)
				next_touch += ((now_ns() - next_touch) / opts->period + 1) *
					      opts->period;
		}
		if (now >= next_sample) {
			truth_sample(truth, now, bytes);
			next_sample += ((now - next_sample) / opts->sample + 1) * opts->sample;
		}
	}
}

static void help(void)
{
	printf("usage: hotset [OPTION...]\n"
	       "Touches the same pages of a buffer again and again, and tells how many.\n\n"
	       "  --size BYTES       the buffer (512M)\n"
	       "  --pattern PATTERN  which pages (contig):\n"
	       "       contig           one block of --hot bytes\n"
	       "       stride:K         every Kth page\n"
	       "       random:PERCENT   each page with this probability, see --seed\n"
	       "       blocks:BYTES     every other block of this size\n"
	       "  --hot BYTES        size of the block of 'contig' (64M)\n"
	       "  --offset BYTES     where in the buffer the pattern begins (0)\n"
	       "  --seed N           of the random pattern (1)\n"
	       "  --period-ms MS     time from one round to the next (20); 0: never rest\n"
	       "  --seconds S        how long, from the first sample on (10); 0: until a\n"
	       "                     signal\n"
	       "  --window MS        samples begin this long after populating (1000)\n"
	       "  --no-populate      let only the hot pages be populated, by their touching\n"
	       "  --thp              use huge pages; the truth is in them if they are there\n"
	       "  --truth FILE       write lines 'truth TIME_NS BYTES OVERHEAD_BYTES', and\n"
	       "                     'map TIME_NS START END SHARE' for what is hot; - is standard\n"
	       "                     output\n"
	       "  --truth-ms MS      time between two of them (100)\n"
	       "  --help             this text\n"
	       "BYTES may end in K, M, G or T.\n");
}

static void parse_pattern(const char *name, char *text, void *value)
{
	struct options *opts = value;
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	const char *param = colon ? colon + 1 : "";
	char *end;

	(void)name;
	if (!strcmp(text, "contig")) {
		opts->pattern = CONTIG;
	} else if (!strncmp(text, "stride", length) && length == 6) {
		opts->pattern = STRIDE;
		opts->param = parse_number("pattern", param, 1, 1UL << 36, false);
	} else if (!strncmp(text, "blocks", length) && length == 6) {
		opts->pattern = BLOCKS;
		opts->param = parse_number("pattern", param, page_size, 1UL << 46, true);
	} else if (!strncmp(text, "random", length) && length == 6) {
		opts->pattern = RANDOM;
		opts->percent = strtod(param, &end);
		if (end == param || *end || !(opts->percent >= 0 && opts->percent <= 100))
			usage_error("--pattern: not a percentage: %s", param);
	} else {
		usage_error("--pattern: no such pattern: %s", text);
	}
}

static void parse(int argc, char **argv, struct options *opts)
{
	const struct opt table[] = {
		{ "size", OPT_SIZE, &opts->size, page_size, 1UL << 46, 0, NULL },
		{ "hot", OPT_SIZE, &opts->hot, page_size, 1UL << 46, 0, NULL },
		{ "offset", OPT_SIZE, &opts->offset, 0, 1UL << 46, 0, NULL },
		{ "pattern", OPT_OTHER, opts, 0, 0, 0, parse_pattern },
		{ "seed", OPT_NUMBER, &opts->seed, 0, UINT64_MAX, 0, NULL },
		OPT_MS("period-ms", &opts->period, 0, 60000),
		OPT_SECONDS("seconds", &opts->length, 0, 86400),
		OPT_MS("window", &opts->window, 1, 3600000),
		{ "truth", OPT_TEXT, &opts->truth, 0, 0, 0, NULL },
		OPT_MS("truth-ms", &opts->sample, 1, 60000),
		{ "thp", OPT_SET, &opts->thp, 0, 0, 0, NULL },
		{ "no-populate", OPT_CLEAR, &opts->populate, 0, 0, 0, NULL },
		{ }
	};

	parse_options(argc, argv, table, help, NULL);
}

static void check(const struct options *opts)
{
	size_t unit = opts->thp ? HUGE_PAGE : page_size;

	if (opts->size % unit)
		usage_error("--size is not a multiple of the page size (%zu)", unit);
	if (opts->offset % page_size || opts->hot % page_size)
		usage_error("--offset and --hot have to be multiples of the page size");
	if (opts->pattern == BLOCKS && opts->param % page_size)
		usage_error("--pattern: blocks have to be multiples of the page size");
	if (opts->offset >= opts->size)
		usage_error("--offset is beyond --size");
	if (opts->pattern == CONTIG && opts->hot > opts->size - opts->offset)
		usage_error("--offset and --hot are beyond --size");
}

int main(int argc, char **argv)
{
	struct options opts = {
		.size = 512UL << 20,
		.hot = 64UL << 20,
		.seed = 1,
		.period = 20 * NSEC_PER_MSEC,
		.length = 10 * NSEC_PER_SEC,
		.window = 1000 * NSEC_PER_MSEC,
		.sample = 100 * NSEC_PER_MSEC,
		.populate = true,
	};
	struct hotset set;
	struct truth truth;
	char *buffer;

	page_size = sysconf(_SC_PAGESIZE);
	parse(argc, argv, &opts);
	check(&opts);
	truth_start(&truth, opts.truth);
	set = choose(&opts);
	truth_calibrate(&truth);
	if (set.bitmap)
		truth.overhead += (set.end - set.first + 7) / 8;
	buffer = map_buffer(opts.size, opts.thp ? HUGE_PAGE : page_size, opts.thp);
	run(&opts, &truth, &set, buffer);
	truth_summary(&truth, "hotset");
	free(set.bitmap);
	return EXIT_SUCCESS;
}
