/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the patterns and the program around them (patterns.c). A pattern
 * says which memory there is, and which part to touch in a round; track.h has
 * the truth.
 */
#ifndef WSMON_PATTERNS_H
#define WSMON_PATTERNS_H

#include <sys/types.h>

#include "track.h"
#include "truth.h"

#define MIB		(1UL << 20)
#define GIB		(1UL << 30)
#define MS		NSEC_PER_MSEC

#define SKIPPED		77	/* exit status: this machine lacks a feature */

/**
 * struct options - the settings; each pattern has its defaults
 * @size:     of the memory
 * @hot:      bytes in use
 * @resident: bytes populated
 * @limit:    of resident memory, 0: no limit
 * @rate:     things a second: pages touched, or bytes read
 * @period:   ns between rounds
 * @hold:     ns for a step, phase or sweep
 * @count:    of steps, mappings or threads
 * @percent:  of the things that are hot
 * @exponent: of the Zipf distribution
 * @seed:     of random choices
 * @thp:      use huge pages
 * @rw:       make the whole reservation accessible
 * @fill:     map the huge zero page where nothing is written
 * @file:     to be mapped
 * @windows:    their lengths, ns
 * @nr_windows: number of windows
 * @length:   ns from the first sample to the end, 0: until a signal
 * @sample:   ns between samples of the truth
 * @truth:    file for the truth
 */
struct options {
	size_t size;
	size_t hot;
	size_t resident;
	size_t limit;
	size_t rate;
	int64_t period;
	int64_t hold;
	size_t count;
	double percent;
	double exponent;
	uint64_t seed;
	bool thp;
	bool rw;
	bool fill;
	const char *file;
	int64_t windows[MAX_WINDOWS];
	size_t nr_windows;
	int64_t length;
	int64_t sample;
	const char *truth;
};

/* Features that only some patterns have: options, and a second process. */
enum uses {
	USES_HOT = 1, USES_RESIDENT = 2, USES_LIMIT = 4, USES_RATE = 8, USES_HOLD = 16,
	USES_COUNT = 32, USES_PERCENT = 64, USES_EXPONENT = 128, USES_THP = 256,
	USES_RW = 512, USES_FILL = 1024, USES_FILE = 2048, TWO_PROCESSES = 4096,
};

/**
 * struct job - a pattern at work
 * @opts:   the options
 * @truth:  output of the truth
 * @range:  its memory
 * @track:  records of touches
 * @huge:   is the memory in huge pages?
 * @fd:     of the mapped file
 * @child:  is this the second process?
 * @other:  process id of the second process, in the first
 * @done:   progress of a pattern that spans rounds: touches, bytes
 */
struct job {
	struct options opts;
	struct truth truth;
	struct place range;
	struct track track;
	bool huge;
	int fd;
	bool child;
	pid_t other;
	size_t done;
};

/**
 * struct pattern - one of the workloads
 * @name:     on the command line
 * @help:     lines for --help
 * @uses:     bits of enum uses
 * @defaults: of the options
 * @setup:    map, populate, initialise the track
 * @round:    touch the memory that is hot @elapsed ns after the beginning; NULL
 *            if others do
 * @finish:   clean up, or NULL
 */
struct pattern {
	const char *name;
	const char *help;
	unsigned int uses;
	struct options defaults;
	void (*setup)(struct job *job);
	void (*round)(struct job *job, int64_t elapsed);
	void (*finish)(struct job *job);
};

/* Each table ends with a pattern without a name. */
extern const struct pattern moving_patterns[];	/* the hot part changes */
extern const struct pattern placed_patterns[];	/* the place matters */
extern const struct pattern shared_patterns[];	/* several threads or processes, files */

/* A random number, determined by the seed and @n. */
uint64_t hash(uint64_t seed, uint64_t n);

/* Position of the @i-th of @n things in the order that the seed gives. */
size_t permute(uint64_t seed, size_t i, size_t n);

/* Did the seed choose the @i-th of @n things as a hot one? */
bool chosen(const struct options *opts, size_t i, size_t n);

/* Bytes for which one Accessed bit stands. */
size_t unit(const struct job *job);

static inline struct place range(char *start, size_t size)
{
	return (struct place){ (uintptr_t)start, (uintptr_t)start + size };
}

static inline size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

#endif
