/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - the file "record" writes
 *
 * It is written under another name in the same directory until recording has
 * begun: a recording that never begins leaves an older file as it was.
 */
#ifndef WSMO_RECORD_OUTPUT_H
#define WSMO_RECORD_OUTPUT_H

#include <limits.h>
#include <stddef.h>

#include "wsmon.h"

/**
 * struct output - the file
 * @name:	what the user calls it
 * @temp:	what it is called until output_commit(); empty for a device or
 *		a pipe, which is written as it is
 * @fd:		its fd, -1 if it is not open
 * @bytes:	written so far
 * @used:	bytes waiting in @buf
 * @error:	-errno of the first write that failed; later ones do nothing
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

/** output_open() - Return: 0, or -1 after a message */
int output_open(struct output *o, const char *name);

/**
 * output_commit() - give it its name; a file that has the name becomes NAME.old
 * Return: 0, or -1 after a message
 */
int output_commit(struct output *o);

/**
 * output_put() - append; written out by output_flush(), or when much waits
 *
 * Does nothing if the file is not open.
 */
void output_put(struct output *o, const void *data, size_t size);

/** output_flush() - write out what waits */
void output_flush(struct output *o);

/**
 * output_close() - flush, close; a file that was not committed is removed
 * Return: 0, or -1 after a message if this failed and nothing had before
 */
int output_close(struct output *o);

#endif /* WSMO_RECORD_OUTPUT_H */
