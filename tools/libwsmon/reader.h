/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reader.h - the reader behind libwsmon.h, and what only wsmo needs of it
 *
 * wsmon_next() reads a file or a pipe to its end. "record" calls reader_fill() and
 * reader_parse() instead, as bytes arrive. The reader has one buffer of fixed size and
 * checks all sizes and counts before it delivers a record. It ends at a broken record:
 * nothing after it can be trusted.
 */
#ifndef WSMO_READER_H
#define WSMO_READER_H

#include <sys/types.h>

#include "libwsmon.h"

/**
 * enum reader_result - result of reader_parse()
 * @READER_HEADER:	the header; delivered once, before any record
 * @READER_RECORD:	a whole record, checked
 * @READER_MORE:	more bytes are needed
 * @READER_BAD:		reading failed; @error of struct wsmon_reader says why
 */
enum reader_result {
	READER_HEADER,
	READER_RECORD,
	READER_MORE,
	READER_BAD,
};

struct areas;
struct pack_work;
struct unpacker;
struct unwanted;

/**
 * struct wsmon_reader - state of a reader
 * @fd:		the file
 * @buf:	the buffer
 * @head:	index of the first byte that is not parsed yet
 * @tail:	end of the bytes read
 * @offset:	offset of @head in the stream
 * @at:		offset of the last record delivered
 * @want:	decides by the head and the pid of a snapshot whether it is wanted; NULL:
 *		all are. An unwanted one is delivered as it is in the file, maybe packed:
 *		only its head and its pid may be looked at
 * @want_data:	passed to @want
 * @from_ns:	with @to_ns: see reader_only()
 * @unwanted:	parts of the file to skip: of other times than from @from_ns to @to_ns
 * @unpacker:	NULL before the first packed snapshot
 * @have_header: @header is valid
 * @header:	the header
 * @error:	after a failure: what is wrong and what to do
 * @areas:	names of the areas so far; NULL: they are not kept
 * @own_fd:	@fd is to be closed with the reader
 * @no_snapshots: none are delivered
 */
struct wsmon_reader {
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
	struct areas *areas;
	bool own_fd;
	bool no_snapshots;
};

/**
 * reader_init() - prepare a reader that keeps no names of areas; call reader_free() in any case
 * Return: 0 or -ENOMEM
 */
int reader_init(struct wsmon_reader *r, int fd);

/** reader_free() - free memory; the fd stays open */
void reader_free(struct wsmon_reader *r);

/**
 * reader_fill() - read once from the fd
 * Context: invalidates records delivered before
 * Return: bytes read, 0 at the end of the file, or -errno
 */
ssize_t reader_fill(struct wsmon_reader *r);

/**
 * reader_parse() - get the next record from the bytes read so far
 * @rec:	gets the record, valid until the next call; snapshots are unpacked. With
 *		READER_HEADER the header as it is in the file, header.header_size bytes
 */
enum reader_result reader_parse(struct wsmon_reader *r, const struct wsmon_record **rec);

/**
 * reader_only() - leave out the records of other times than from @from_ns to @to_ns
 *
 * These are SNAPSHOT, WSS, GROUP, TOTAL, PROC and STATS records; others are delivered. If the
 * file has an index, most of them are not read. Call it once, after the header.
 */
void reader_only(struct wsmon_reader *r, __u64 from_ns, __u64 to_ns);

/** reader_cgroup() - get the path of the cgroup that a GROUP record names, else "" */
const char *reader_cgroup(const struct wsmon_record *rec);

/** index_has() - is that type of record one that reader_only() leaves out? */
bool index_has(__u32 type);

/** struct packer - a compressor; zeroed is ready, memory comes with the first snapshot */
struct packer {
	struct pack_work *work;
};

/**
 * packer_take() - choose what to write of a record: a PACKED one, or the record itself
 *
 * Return: a record that is valid until the next call
 */
const struct wsmon_record *packer_take(struct packer *pk, const struct wsmon_record *rec);

/** packer_free() - free everything */
void packer_free(struct packer *pk);

#endif /* WSMO_READER_H */
