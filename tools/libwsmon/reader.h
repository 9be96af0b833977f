/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reader.h - parser of the stream and the record file
 *
 * One parser serves both "record", which feeds it as bytes come, and "report",
 * which has a whole file. It holds one buffer of fixed size, checks every
 * size and count before anything else sees a record, and does not try to find
 * its way again behind a broken record: nothing after it can be trusted.
 */
#ifndef WSMO_READER_H
#define WSMO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wsmon.h"

/**
 * enum reader_result - what reader_parse() and reader_next() found
 * @READER_HEADER:	the header; delivered once, before any record
 * @READER_RECORD:	a whole record, checked
 * @READER_MORE:	not without more bytes (reader_parse() only)
 * @READER_END:		the file ends at a record's end (reader_next() only)
 * @READER_CUT:		the file ends inside a record (reader_next() only)
 * @READER_BAD:		it cannot be read (on); @error of struct reader says why
 */
enum reader_result {
	READER_HEADER,
	READER_RECORD,
	READER_MORE,
	READER_END,
	READER_CUT,
	READER_BAD,
};

struct unpacker;

/**
 * struct reader - state of a reader
 * @fd:		what it reads
 * @buf:	the buffer
 * @head:	first byte of it not yet parsed
 * @tail:	behind the last byte read
 * @offset:	offset of @head in the stream
 * @at:		offset of the record delivered last
 * @want:	says whether a snapshot is wanted, by its head and pid alone; NULL
 *		means all are. One that is not wanted is delivered as it is in the
 *		file, maybe packed: only its head and its pid may be looked at
 * @want_data:	passed to @want
 * @unpacker:	NULL before the first packed snapshot
 * @have_header: @header is valid
 * @header:	the header
 * @error:	after READER_BAD: what is wrong and what to do
 */
struct reader {
	int fd;
	unsigned char *buf;
	size_t head, tail;
	__u64 offset;
	__u64 at;
	bool (*want)(const void *data, const struct wsmon_record *rec);
	const void *want_data;
	struct unpacker *unpacker;
	bool have_header;
	struct wsmon_file_header header;
	char error[200];
};

/** reader_init() - Return: 0 or -ENOMEM; reader_free() in either case */
int reader_init(struct reader *r, int fd);

/** reader_free() - frees its memory; the fd stays the caller's */
void reader_free(struct reader *r);

/**
 * reader_fill() - read once from the fd
 * Context: invalidates records handed out before
 * Return: bytes read, 0 at the end of the file, or -errno
 */
ssize_t reader_fill(struct reader *r);

/**
 * reader_parse() - take the next record from what was read
 * @rec:	the record; for READER_HEADER, header.header_size bytes that
 *		are the header as it stands in the file
 *
 * It stays valid until the next call. Snapshots are delivered as if they had
 * never been packed.
 */
enum reader_result reader_parse(struct reader *r,
				const struct wsmon_record **rec);

/** reader_next() - the same, reading from a blocking fd as needed */
enum reader_result reader_next(struct reader *r,
			       const struct wsmon_record **rec);

/**
 * reader_pid() - the target a record is about
 * Return: whether it is about one
 */
bool reader_pid(const struct wsmon_record *rec, __u32 *pid);

/**
 * reader_copy() - a record, as large as this program knows it
 * @to:		its structure; what an older writer did not know is 0
 * @size:	bytes of it
 */
void reader_copy(const struct wsmon_record *rec, void *to, size_t size);

#endif /* WSMO_READER_H */
