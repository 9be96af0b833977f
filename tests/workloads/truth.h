/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the workloads: they know their own working set, and write it in
 * lines for comparison with estimates; the memory that they touch for this
 * purpose is included as overhead.
 *
 * A truth file has lines "truth TIME BYTES OVERHEAD": CLOCK_MONOTONIC in ns;
 * bytes of the workload's buffer touched within the last window; bytes of
 * everything else the process touches (bookkeeping, libc, stack, text), which
 * an estimate for the whole process contains as well.
 */
#ifndef WSMON_TRUTH_H
#define WSMON_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opts.h"

/**
 * struct truth - output of the truth, and its statistics
 * @fd:       the truth file, -1 for none
 * @overhead: bytes touched outside of the buffer, see truth_calibrate()
 * @samples:  number of samples, as for the two sums below
 * @mean:     of the samples, in bytes
 * @m2:       sum of squared differences from the mean (Welford)
 * @peak:     the largest sample, in bytes
 */
struct truth {
	int fd;
	uint64_t overhead;
	uint64_t samples;
	double mean;
	double m2;
	uint64_t peak;
};

/* Set by SIGINT and SIGTERM, which end a workload early but in good order. */
extern volatile bool stopped;

/**
 * truth_start() - open the truth file, and catch SIGINT and SIGTERM
 * @truth: to be initialised
 * @path:  a file, "-" for standard output, or NULL for none
 *
 * Exits with a message if @path cannot be written.
 */
void truth_start(struct truth *truth, const char *path);

/**
 * truth_calibrate() - measure the memory that the process touches besides its
 * buffer @truth: gets the overhead
 *
 * Runs the operations of a workload's loop (sleeping, taking samples) for a
 * fifth of a second, and counts the pages referenced by them. To be called
 * before the buffer is mapped. Without /proc/self/clear_refs all resident
 * memory counts.
 */
void truth_calibrate(struct truth *truth);

/**
 * truth_sample() - write a line, and add the sample to the statistics
 * @truth: started
 * @now:   time of the sample, ns
 * @bytes: of the buffer, touched within the last window
 */
void truth_sample(struct truth *truth, int64_t now, uint64_t bytes);

/**
 * truth_note() - write any other line to the truth file
 * @truth: started
 * @fmt:   as for printf(), with the newline
 */
void truth_note(const struct truth *truth, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * truth_summary() - print a summary for people on standard output
 * @truth: with its samples
 * @what:  name of the workload
 */
void truth_summary(const struct truth *truth, const char *what);

/* CLOCK_MONOTONIC in ns. */
int64_t now_ns(void);

/* Sleeps until @when (ns, CLOCK_MONOTONIC); returns early if stopped. */
void sleep_until(int64_t when);

/**
 * map_buffer() - an anonymous private mapping, not populated
 * @size:  in bytes
 * @align: alignment of its address, a power of two
 * @huge:  ask for transparent huge pages, otherwise forbid them
 *
 * Exits with a message if there is not enough address space.
 */
char *map_buffer(size_t size, size_t align, bool huge);

/* Sum of the lines "@field: N kB" of /proc/self/smaps, for mappings that begin in [@start, @end). */
uint64_t smaps_sum(const char *field, uintptr_t start, uintptr_t end);

#endif
