/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - the file "record" writes
 *
 * FILE gets its name with the first data: a recording that never begins leaves an older file
 * untouched. The older file becomes FILE.old or, with --rotate, FILE.1, which becomes FILE.2, and
 * so on. A file that is not a recording is neither renamed nor removed.
 */
#ifndef WSMO_RECORD_OUTPUT_H
#define WSMO_RECORD_OUTPUT_H

#include <stddef.h>

#include "core/outfile.h"
#include "libwsmon/wsmon_records.h"

/**
 * struct index - runs of the file that no INDEX record has yet; all zero is none
 * @run:	the run that records are added to; none if its @bytes are 0
 * @head:	of the INDEX record
 * @runs:	runs that ended
 */
struct index {
	struct wsmon_index_run run;
	struct wsmon_rec_index head;
	struct wsmon_index_run runs[WSMON_INDEX_RUNS];
};

/**
 * struct output - the file
 * @name:	its name
 * @keep:	files beside it; 0 is one, FILE.old
 * @file:	the file
 * @bytes:	written so far, of all files
 * @begun:	@bytes at the beginning of this file
 * @records:	appended so far
 * @index:	of this file
 * @used:	bytes waiting in @buf
 * @error:	-errno of the first write that failed; later ones do nothing; -ECANCELED
 *		after a message
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
 * @name: - is standard output
 * Return: 0, or -1 after a message
 */
int output_open(struct output *o, const char *name, unsigned int keep);

/**
 * output_next() - complete the file, and begin another
 * Return: 0, or -1, after a message unless @error is set
 */
int output_next(struct output *o);

/** output_remove() - remove the oldest of FILE.1, FILE.2, ..., until they have at most @bytes */
void output_remove(const struct output *o, __u64 bytes);

/** output_size() - size of the file, with the bytes that wait in @buf */
static inline __u64 output_size(const struct output *o)
{
	return o->bytes - o->begun + o->used;
}

/** output_put() - append to the buffer, if the file is open */
void output_put(struct output *o, const void *data, size_t size);

/** output_record() - append a record */
void output_record(struct output *o, const struct wsmon_record *rec);

/**
 * output_named() - append a record with a text behind its @size bytes, if there is a text
 */
void output_named(struct output *o, const struct wsmon_record *rec, size_t size,
		  const char *text);

/** output_flush() - write the buffer to the file, and put that in its place */
void output_flush(struct output *o);

/**
 * output_close() - flush, wait until it is on the disk, and close
 * Return: 0, or -1 after a message if only this failed
 */
int output_close(struct output *o);

#endif /* WSMO_RECORD_OUTPUT_H */
