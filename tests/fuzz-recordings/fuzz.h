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
 * fuzz_fail() - print what went wrong with the input, and abort()
 */
void fuzz_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/**
 * fuzz_select() - get the choices that the input makes
 *
 * The choices are in the lower bytes of the header's real_ns, nanoseconds that reports
 * do not print: any recording is an input, any input a recording.
 *
 * Return: 32 bits, 0 if the input is too short
 */
__u32 fuzz_select(const __u8 *data, size_t size);

/**
 * sink_begin() - redirect stdout and stderr to the sink
 * @is_json: stdout will be JSON
 * @is_binary: stdout will be binary
 */
void sink_begin(bool is_json, bool is_binary);

/**
 * sink_end() - restore stdout and stderr
 *
 * Aborts if the output was not UTF-8 without control characters.
 *
 * Return: the output on stderr; malloc()ed
 */
char *sink_end(void);

/**
 * fuzz_report() - run "wsmo report" on a file, each view once, all four formats
 * @file:	path of the input
 * @select:	the choices
 *
 * Return: exit status of "wsmo report"
 */
int fuzz_report(const char *file, __u32 select);

/**
 * stream_run() - run "wsmo record" with the input as its stream
 * @dir:	directory of the module's files; its FIFO "buffer" is the stream
 * @select:	the choices
 */
void stream_run(const char *dir, const __u8 *data, size_t size,
		__u32 select);

#endif /* FUZZ_H */
