// SPDX-License-Identifier: GPL-2.0
/*
 * patterns: uses memory in one of many ways, and reports the truth over time.
 *
 * These patterns are beyond hotset: working sets that move, grow and change, or
 * depend on the mappings. patterns_moving.c, patterns_placed.c and patterns_tasks.c
 * have the patterns; this is the program around them: options, the loop, the truth file.
 *
 * Lines of the truth file beside truth.h's: "truth-window MS TIME BYTES OVERHEAD"
 * for windows after the first; "range START END", "unit BYTES" (for which one
 * Accessed bit stands), "pid PID"; and "map TIME START END SHARE": from TIME on
 * this share (0..1) of the range was touched within the first window. A map line
 * is written for each change of a share, before the truth of the same time;
 * ranges without a line are cold.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "patterns.h"

static const struct pattern *const families[] = {
	moving_patterns, placed_patterns, shared_patterns,
};

/* splitmix64's last steps */
uint64_t hash(uint64_t seed, uint64_t n)
{
	uint64_t z = seed * 0xd1342543de82ef95 + (n + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

size_t permute(uint64_t seed, size_t i, size_t n)
{
	int bits = n > 2 ? 64 - __builtin_clzl(n - 1) : 1;
	uint64_t mask = ~0ULL >> (64 - bits);

	/* shuffles the next power of two; results that are not below n are shuffled again */
	do {
		for (int round = 0; round < 3; round++) {
			i = (i ^ hash(seed, round)) * 0x9e3779b97f4a7c15 & mask;
			i ^= i >> (bits + 1) / 2;
		}
	} while (i >= n);
	return i;
}

bool chosen(const struct options *opts, size_t i, size_t n)
{
	return permute(opts->seed, i, n) < (size_t)(n * opts->percent / 100 + 0.5);
}

size_t unit(const struct job *job)
{
	return job->huge ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
}

/* The truth is right only if pages have the assumed size. */
static void check_unit(const struct job *job, int status)
{
	uint64_t huge = smaps_sum("AnonHugePages", job->range.start, job->range.end) +
			smaps_sum("ShmemPmdMapped", job->range.start, job->range.end);
	uint64_t rss = smaps_sum("Rss", job->range.start, job->range.end);

	/* hugetlb pages are not in Rss */
	if (huge != (job->huge ? rss : 0))
		errx(status, "%" PRIu64 " of %" PRIu64 " bytes are in huge pages: no exact truth",
		     huge, rss);
}

static void sample(struct job *job, int64_t now)
{
	const struct options *opts = &job->opts;
	uint64_t bytes[MAX_WINDOWS];

	track_sample(&job->track, now, opts->windows, opts->nr_windows, bytes, &job->truth);
	truth_sample(&job->truth, now, bytes[0]);
	for (size_t k = 1; k < opts->nr_windows; k++)
		truth_note(&job->truth, "truth-window %lld %" PRId64 " %" PRIu64 " %" PRIu64 "\n",
			   opts->windows[k] / NSEC_PER_MSEC, now, bytes[k], job->truth.overhead);
}

static void run(struct job *job, const struct pattern *pattern)
{
	const struct options *opts = &job->opts;
	int64_t began = now_ns(), settled = began, next_round, next_sample, now;

	/* populated pages belong to the working set until they are older than all windows */
	for (size_t k = 0; k < opts->nr_windows; k++)
		if (began + opts->windows[k] > settled)
			settled = began + opts->windows[k];
	next_round = pattern->round ? began : INT64_MAX;
	next_sample = settled;
	while (!stopped) {
		sleep_until(next_round < next_sample ? next_round : next_sample);
		now = now_ns();
		if (opts->length && now >= settled + opts->length)
			break;
		if (now >= next_round) {
			pattern->round(job, now - began);
			now = now_ns();
			next_round += ((now - next_round) / opts->period + 1) * opts->period;
		}
		if (now >= next_sample) {
			sample(job, now);
			next_sample += ((now - next_sample) / opts->sample + 1) * opts->sample;
		}
	}
}

static void help(void)
{
	printf("usage: patterns NAME [OPTION...]\n"
	       "Uses memory in the way of that name, and tells how much.\n\n");
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++)
		for (const struct pattern *p = families[f]; p->name; p++) {
			const char *text = p->help, *end;

			printf("  %-8s ", p->name);
			for (; (end = strchr(text, '\n')); text = end + 1)
				printf("%.*s\n           ", (int)(end - text), text);
			printf("%s\n", text);
		}
	printf("\nOptions, each for the patterns it is named with above:\n"
	       "  --size BYTES       of the memory\n"
	       "  --hot BYTES  --resident BYTES  --percent P  --count N  --hold-ms MS\n"
	       "  --rate N  --exponent E  --file PATH  --limit BYTES  --rw  --no-fill\n"
	       "  --thp              huge pages: moving patterns and heap, reserve, sparse,\n"
	       "                     shared; the truth is in them\n"
	       "Options of all:\n"
	       "  --seed N           of random choices (1)\n"
	       "  --period-ms MS     from one round of touching to the next\n"
	       "  --seconds S        from the first sample on (10); 0: until a signal\n"
	       "  --window-ms MS[,...]  windows (1000); samples begin after the longest\n"
	       "  --truth FILE       write lines 'truth TIME_NS BYTES OVERHEAD_BYTES' and\n"
	       "                     others; - is standard output; that of a second process\n"
	       "                     goes to FILE.child\n"
	       "  --truth-ms MS      time between two samples (100)\n"
	       "  --help             this text\n"
	       "BYTES may end in K, M, G or T. Exit status 77: this machine cannot do that.\n");
}

static void parse_windows(const char *name, char *text, void *value)
{
	struct options *opts = value;

	opts->nr_windows = 0;
	for (char *part; (part = strsep(&text, ","));) {
		if (opts->nr_windows == MAX_WINDOWS)
			usage_error("--%s: more than %d", name, MAX_WINDOWS);
		opts->windows[opts->nr_windows++] = parse_number(name, part, 1, 3600000, false) * MS;
	}
}

static const struct pattern *find(const char *name)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++)
		for (const struct pattern *p = families[f]; p->name; p++)
			if (!strcmp(p->name, name))
				return p;
	usage_error("no such pattern: %s", name);
}

static const struct pattern *pattern;

/* Some options exist only for some patterns */
static void allowed(const char *name)
{
	static const struct {
		const char *name;
		unsigned int uses;
	} needs[] = {
		{ "hot", USES_HOT }, { "resident", USES_RESIDENT }, { "limit", USES_LIMIT },
		{ "rate", USES_RATE }, { "hold-ms", USES_HOLD }, { "count", USES_COUNT },
		{ "percent", USES_PERCENT }, { "exponent", USES_EXPONENT }, { "file", USES_FILE },
		{ "thp", USES_THP }, { "rw", USES_RW }, { "no-fill", USES_FILL },
	};
	bool has = !pattern || pattern->defaults.size || strcmp(name, "size");

	for (size_t i = 0; pattern && i < sizeof(needs) / sizeof(needs[0]); i++)
		if (!strcmp(needs[i].name, name) && !(needs[i].uses & pattern->uses))
			has = false;
	if (!has)
		usage_error("--%s is not an option of %s", name, pattern->name);
}

static void parse(int argc, char **argv, struct options *opts)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	const struct opt table[] = {
		{ "size", OPT_SIZE, &opts->size, page, 1UL << 46, 0, NULL },
		{ "hot", OPT_SIZE, &opts->hot, page, 1UL << 46, 0, NULL },
		{ "resident", OPT_SIZE, &opts->resident, page, 1UL << 46, 0, NULL },
		{ "limit", OPT_SIZE, &opts->limit, page, 1UL << 46, 0, NULL },
		{ "rate", OPT_SIZE, &opts->rate, 0, 1UL << 40, 0, NULL },
		OPT_MS("hold-ms", &opts->hold, 1, 3600000),
		{ "count", OPT_NUMBER, &opts->count, 1, 60000, 0, NULL },
		{ "percent", OPT_DECIMAL, &opts->percent, 0, 100, 0, NULL },
		{ "exponent", OPT_DECIMAL, &opts->exponent, 0, 10, 0, NULL },
		{ "seed", OPT_NUMBER, &opts->seed, 0, UINT64_MAX, 0, NULL },
		OPT_MS("period-ms", &opts->period, 1, 3600000),
		OPT_SECONDS("seconds", &opts->length, 0, 86400),
		{ "window-ms", OPT_OTHER, opts, 0, 0, 0, parse_windows },
		{ "truth", OPT_TEXT, &opts->truth, 0, 0, 0, NULL },
		OPT_MS("truth-ms", &opts->sample, 1, 60000),
		{ "file", OPT_TEXT, &opts->file, 0, 0, 0, NULL },
		{ "thp", OPT_SET, &opts->thp, 0, 0, 0, NULL },
		{ "rw", OPT_SET, &opts->rw, 0, 0, 0, NULL },
		{ "no-fill", OPT_CLEAR, &opts->fill, 0, 0, 0, NULL },
		{ }
	};

	if (argc > 1 && *argv[1] != '-') {
		pattern = find(argv[1]);
		*opts = pattern->defaults;
		optind = 2;
	}
	opts->seed = 1;
	opts->length = 10 * NSEC_PER_SEC;
	opts->sample = 100 * MS;
	opts->windows[0] = 1000 * MS;
	opts->nr_windows = 1;
	parse_options(argc, argv, table, help, allowed);
	if (!pattern)
		usage_error("which pattern?");
}

static void check(const struct options *opts)
{
	size_t unit = opts->thp || !strcmp(pattern->name, "hugetlb") ? HUGE_PAGE : CHUNK;

	if (opts->size % unit)
		usage_error("--size is not a multiple of %zu", unit);
	if (opts->hot % CHUNK)
		usage_error("--hot is not a multiple of %lu", CHUNK);
	if (pattern->uses & USES_HOT && opts->hot > opts->size)
		usage_error("--hot is more than --size");
	if (pattern->uses & TWO_PROCESSES && opts->truth && !strcmp(opts->truth, "-"))
		usage_error("two processes cannot tell both on standard output");
}

int main(int argc, char **argv)
{
	static struct job job;

	parse(argc, argv, &job.opts);
	check(&job.opts);
	truth_start(&job.truth, job.opts.truth);
	/* bookkeeping in the heap only: all other mappings are the pattern's */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (!job.opts.thp && !job.opts.fill)
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	truth_calibrate(&job.truth);
	pattern->setup(&job);
	job.truth.overhead += track_overhead(&job.track);
	check_unit(&job, SKIPPED);
	truth_note(&job.truth, "pid %d\n", (int)getpid());
	truth_note(&job.truth, "range %" PRIuPTR " %" PRIuPTR "\n", job.range.start,
		   job.range.end);
	truth_note(&job.truth, "unit %zu\n", unit(&job));
	run(&job, pattern);
	check_unit(&job, EXIT_FAILURE);
	truth_summary(&job.truth, "patterns");
	if (pattern->finish)
		pattern->finish(&job);
	return EXIT_SUCCESS;
}
