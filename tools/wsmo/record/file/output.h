/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - the file "record" writes
 *
 * Until recording has begun the file has a temporary name in the same directory: a
 * recording that never begins leaves an older file untouched.
 */
#ifndef WSMO_RECORD_OUTPUT_H
#define WSMO_RECORD_OUTPUT_H

#include <limits.h>
#include <stddef.h>

#include "index.h"
#include "wsmon.h"

/**
 * struct output - the file
 * @name:	its name
 * @temp:	its temporary name until output_commit(); empty for a device or a pipe,
 *		which is opened directly
 * @fd:		its fd, -1 if it is not open
 * @bytes:	written so far, of all files
 * @begun:	@bytes at the beginning of this file
 * @records:	appended so far
 * @index:	of this file
 * @used:	bytes waiting in @buf
 * @error:	-errno of the first write that failed; later ones do nothing
 */
struct output {
	const char *name;
	char temp[PATH_MAX];
	int fd;
	__u64 bytes;
	__u64 begun;
	__u64 records;
	struct index index;
	size_t used;
	int error;
	char buf[65536];
};

/** output_open() - Return: 0, or -1 after a message */
int output_open(struct output *o, const char *name);

/**
 * output_commit() - rename the file to @name; an older file becomes NAME.old
 * @keep: or NAME.1, and NAME.1 NAME.2, up to this one; 0 is NAME.old
 * Return: 0, or -1 after a message
 */
int output_commit(struct output *o, unsigned int keep);

/**
 * output_next() - complete the file, and begin another; to be committed
 * Return: 0, or -1, after a message unless @error is set
 */
int output_next(struct output *o);

/** output_remove() - remove the oldest of NAME.1 to NAME.@keep, until they have at most @bytes */
void output_remove(const struct output *o, unsigned int keep, __u64 bytes);

/** output_size() - size of the file, with what waits */
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

/** output_flush() - write the buffer to the file */
void output_flush(struct output *o);

/**
 * output_close() - flush and close; remove the file if it was not committed
 * Return: 0, or -1 after a message if only this failed
 */
int output_close(struct output *o);

#endif /* WSMO_RECORD_OUTPUT_H */
