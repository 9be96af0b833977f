/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fuzz.h - what the files of the fuzz target share
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wsmon.h"

/* The entries libFuzzer calls, and the one it offers; it has no C header. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const __u8 *data, size_t size);
size_t LLVMFuzzerCustomMutator(__u8 *data, size_t size, size_t max,
			       unsigned int seed);
size_t LLVMFuzzerMutate(__u8 *data, size_t size, size_t max);

/**
 * fuzz_fail() - tell what is wrong with the input's treatment, abort()
 */
void fuzz_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/**
 * fuzz_select() - a choice that the input makes
 *
 * The choices are in the lower bytes of the header's real_ns, nanoseconds that
 * reports do not even print: any recording is an input, any input a recording.
 *
 * Return: 32 bits, 0 if the input is too short
 */
__u32 fuzz_select(const __u8 *data, size_t size);

/**
 * sink_begin() - stdout and stderr of wsmo go to the sink from now on
 * @is_json: stdout is JSON
 * @is_binary: stdout is no text
 */
void sink_begin(bool is_json, bool is_binary);

/**
 * sink_end() - the real stdout and stderr are back
 *
 * Aborts unless what wsmo printed is UTF-8 without control characters.
 *
 * Return: what it printed to stderr; malloc()ed
 */
char *sink_end(void);

/**
 * fuzz_report() - "wsmo report" of a file, each view once, all four formats
 * @file:	the input, as a path
 * @select:	the choice
 *
 * Return: exit status of "wsmo report"
 */
int fuzz_report(const char *file, __u32 select);

/**
 * stream_run() - the input as the stream that "wsmo record" copies to a file
 * @dir:	where the module's files are; its FIFO "buffer" is the stream
 * @select:	the choice
 */
void stream_run(const char *dir, const __u8 *data, size_t size,
		__u32 select);

#endif /* FUZZ_H */
