/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - the file "record" writes
 *
 * Until recording has begun the file has a temporary name in the same directory: a
 * recording that never begins leaves an older file as it was.
 */
#ifndef WSMO_RECORD_OUTPUT_H
#define WSMO_RECORD_OUTPUT_H

#include <limits.h>
#include <stddef.h>

#include "wsmon.h"

/**
 * struct output - the file
 * @name:	its name
 * @temp:	its name until output_commit(); empty for a device or a pipe, which is
 *		written in place
 * @fd:		its fd, -1 if it is not open
 * @bytes:	bytes written so far
 * @used:	bytes waiting in @buf
 * @error:	-errno of the first write that failed; later writes do nothing
 */
struct output {
	const char *name;
	char temp[PATH_MAX];
	int fd;
	__u64 bytes;
	size_t used;
	int error;
	char buf[65536];
};

/** output_open() - open a file for writing. Return: 0, or -1 after a message */
int output_open(struct output *o, const char *name);

/**
 * output_commit() - give the file its name; an older file becomes NAME.old
 * Return: 0, or -1 after a message
 */
int output_commit(struct output *o);

/**
 * output_put() - append to the buffer, which is written when full
 *
 * Does nothing if the file is not open.
 */
void output_put(struct output *o, const void *data, size_t size);

/** output_flush() - write the buffer */
void output_flush(struct output *o);

/**
 * output_close() - flush and close; removes a file that was not committed
 * Return: 0, or -1 after a message if this is the first failure
 */
int output_close(struct output *o);

#endif /* WSMO_RECORD_OUTPUT_H */
