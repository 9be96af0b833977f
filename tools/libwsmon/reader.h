/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reader.h - parser of the stream and the record file
 *
 * "record" parses a stream as its bytes arrive, "report" a whole file. The reader has
 * one buffer of fixed size and checks all sizes and counts before anybody else sees a
 * record. It ends at a broken record: nothing after it can be trusted.
 */
#ifndef WSMO_READER_H
#define WSMO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wsmon.h"

/**
 * enum reader_result - result of reader_parse() and reader_next()
 * @READER_HEADER:	the header; delivered once, before any record
 * @READER_RECORD:	a whole record, checked
 * @READER_MORE:	more bytes are needed (reader_parse() only)
 * @READER_END:		the file ends after a record (reader_next() only)
 * @READER_CUT:		the file ends inside a record (reader_next() only)
 * @READER_BAD:		reading failed; @error of struct reader says why
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
struct unwanted;

/**
 * struct reader - state of a reader
 * @fd:		the file
 * @buf:	the buffer
 * @head:	index of the first byte that is not parsed yet
 * @tail:	end of the bytes read
 * @offset:	offset of @head in the stream
 * @at:		offset of the last record delivered
 * @want:	says whether a snapshot is wanted, by its head and pid alone; NULL
 *		means all are. One that is not wanted is delivered as it is in the
 *		file, maybe packed: only its head and its pid may be looked at
 * @want_data:	passed to @want
 * @from_ns:	with @to_ns: see reader_only()
 * @unwanted:	parts to skip, if a time is wanted and the file has an index
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
	__u64 from_ns, to_ns;
	struct unwanted *unwanted;
	struct unpacker *unpacker;
	bool have_header;
	struct wsmon_file_header header;
	char error[200];
};

/**
 * reader_init() - prepare a reader; to be followed by reader_free() in any case
 * Return: 0 or -ENOMEM
 */
int reader_init(struct reader *r, int fd);

/** reader_free() - free memory; the fd stays open */
void reader_free(struct reader *r);

/**
 * reader_fill() - read once from the fd
 * Context: invalidates records delivered before
 * Return: bytes read, 0 at the end of the file, or -errno
 */
ssize_t reader_fill(struct reader *r);

/**
 * reader_parse() - get the next record from the bytes read so far
 * @rec:	gets the record; with READER_HEADER the header as it is in the file,
 *		header.header_size bytes
 *
 * The record is valid until the next call. Snapshots are delivered unpacked.
 */
enum reader_result reader_parse(struct reader *r,
				const struct wsmon_record **rec);

/**
 * reader_only() - leave out what was observed at other times than from @from_ns to @to_ns
 *
 * That is SNAPSHOT, WSS, GROUP, TOTAL, PROC and STATS records. Others are delivered. If the
 * file has an index, most of that is not read. To be called once,
 * after the header.
 */
void reader_only(struct reader *r, __u64 from_ns, __u64 to_ns);

/** reader_next() - get the next record, reading from a blocking fd as needed */
enum reader_result reader_next(struct reader *r,
			       const struct wsmon_record **rec);

/**
 * reader_pid() - get the target that a record is about
 * Return: false if it is about none
 */
bool reader_pid(const struct wsmon_record *rec, __u32 *pid);

/** reader_cgroup() - get the path of the cgroup that a GROUP record names, else "" */
const char *reader_cgroup(const struct wsmon_record *rec);

/**
 * reader_copy() - copy a record into the structure that this program knows
 * @to:		the structure; fields that an older writer did not know become 0
 * @size:	its size
 */
void reader_copy(const struct wsmon_record *rec, void *to, size_t size);

#endif /* WSMO_READER_H */
