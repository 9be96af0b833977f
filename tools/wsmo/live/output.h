/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - the file that "wsmo record" writes
 *
 * FILE gets its name with the first data, so a recording that never begins leaves an older file
 * untouched. An older FILE becomes FILE.old or, with --rotate, FILE.1; FILE.1 becomes FILE.2, and
 * so on. A file that is not a recording is never renamed or removed.
 */
#ifndef WSMO_RECORD_OUTPUT_H
#define WSMO_RECORD_OUTPUT_H

#include <stddef.h>

#include "core/outfile.h"
#include "libwsmon/wsmon_records.h"

/**
 * struct index - runs of the file that are in no INDEX record yet; all zero is none
 * @run:	the run to which records are added; none if its @bytes are 0
 * @head:	head of the next INDEX record
 * @runs:	complete runs
 */
struct index {
	struct wsmon_index_run run;
	struct wsmon_rec_index head;
	struct wsmon_index_run runs[WSMON_INDEX_RUNS];
};

/**
 * struct output - the file
 * @name:	name of the file
 * @keep:	number of rotated files to keep; 0: one file, FILE.old
 * @file:	the file being written
 * @bytes:	bytes written so far to all files
 * @begun:	@bytes at the beginning of this file
 * @records:	number of records so far
 * @index:	index of this file
 * @used:	number of bytes waiting in @buf
 * @error:	-errno of the first failed write, -ECANCELED if it was reported; later writes do
 *		nothing
 */
struct output {
	const char *name;
	unsigned int keep;
	struct outfile file;
	__u64 bytes;
	__u64 begun;
	__u64 records;
	struct index index;
	size_t used;
	int error;
	char buf[65536];
};

/**
 * output_open() - begin a recording
 * @name: name of the file; "-" is standard output
 * Return: 0, or -1 after a message
 */
int output_open(struct output *o, const char *name, unsigned int keep);

/**
 * output_next() - complete the file, and begin the next one
 * Return: 0, or -1 with @error set or after a message
 */
int output_next(struct output *o);

/**
 * output_remove() - remove the oldest of FILE.1, FILE.2, ... until all together have at most @bytes
 */
void output_remove(const struct output *o, __u64 bytes);

/** output_size() - get the size of the file, including bytes in @buf */
static inline __u64 output_size(const struct output *o)
{
	return o->bytes - o->begun + o->used;
}

/** output_put() - append to the buffer, if the file is open */
void output_put(struct output *o, const void *data, size_t size);

/** output_record() - append a record */
void output_record(struct output *o, const struct wsmon_record *rec);

/** output_named() - append a record of @size bytes and, if there is one, a text after it */
void output_named(struct output *o, const struct wsmon_record *rec, size_t size,
		  const char *text);

/** output_flush() - write the buffer to the file, and give the file its name */
void output_flush(struct output *o);

/**
 * output_close() - flush the file, wait until it is on disk, and close it
 * Return: 0, or -1 after a message, unless an earlier failure was reported
 */
int output_close(struct output *o);

#endif /* WSMO_RECORD_OUTPUT_H */
