/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reader.h - internals of the reader of libwsmon.h, and functions for wsmo only
 *
 * wsmon_next() reads a file or a pipe to its end. "record" calls reader_fill() and
 * reader_parse() instead, as bytes arrive. The reader has one buffer of fixed size, and checks
 * all sizes and counts before it delivers a record. It stops at a broken record, because
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
 * @head:	index of the first byte in @buf that is not parsed yet
 * @tail:	end of the bytes in @buf
 * @offset:	offset of @head in the stream
 * @at:		offset of the last record delivered
 * @want:	returns false for unwanted snapshots; NULL: all are wanted. An unwanted snapshot is
 *		delivered as in the file, maybe packed. @want, and the receiver of an unwanted
 *		snapshot, may read only its head and pid
 * @want_data:	first argument of @want
 * @from_ns:	with @to_ns: see reader_only()
 * @unwanted:	parts of the file to skip, whose times are outside @from_ns to @to_ns
 * @unpacker:	decompressor; NULL before the first packed snapshot
 * @have_header: @header is valid
 * @header:	the header
 * @error:	message of the last failure: the problem and a remedy
 * @areas:	names of the areas so far, up to @to_ns, for wsmon_area_path(); NULL: not kept.
 *		Users of the reader may allocate it
 * @own_fd:	wsmon_close() closes @fd
 * @no_snapshots: wsmon_next() leaves out snapshots
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
 * reader_init() - prepare a reader that does not keep names of areas
 *
 * Call reader_free() also after an error.
 *
 * Return: 0 or -ENOMEM
 */
int reader_init(struct wsmon_reader *r, int fd);

/** reader_free() - free memory; the fd stays open */
void reader_free(struct wsmon_reader *r);

/**
 * reader_fill() - read once from the fd
 * Context: invalidates all records delivered before
 * Return: bytes read, 0 at the end of the file, or -errno
 */
ssize_t reader_fill(struct wsmon_reader *r);

/**
 * reader_parse() - get the next record from the bytes read so far
 * @rec:	gets the record, valid until the next call; snapshots are unpacked. With
 *		READER_HEADER, gets the header as it is in the file, header.header_size bytes
 */
enum reader_result reader_parse(struct wsmon_reader *r, const struct wsmon_record **rec);

/**
 * reader_only() - leave out records with times outside @from_ns to @to_ns
 *
 * Leaves out only SNAPSHOT, WSS, GROUP, TOTAL, PROC and STATS records. If the file has an index,
 * does not even read most of them. Call it once, after the header.
 */
void reader_only(struct wsmon_reader *r, __u64 from_ns, __u64 to_ns);

/** reader_cgroup() - get the path of the cgroup in a GROUP record; "" in any other record */
const char *reader_cgroup(const struct wsmon_record *rec);

/** index_has() - tell whether reader_only() leaves out records of a type */
bool index_has(__u32 type);

/** struct packer - a compressor; ready when all zero, allocates with the first snapshot */
struct packer {
	struct pack_work *work;
};

/**
 * packer_take() - compress a SNAPSHOT record
 *
 * Return: a PACKED record, valid until the next call; or @rec, if it is no SNAPSHOT or does not
 * become smaller, or if memory ran out
 */
const struct wsmon_record *packer_take(struct packer *pk, const struct wsmon_record *rec);

/** packer_free() - free everything */
void packer_free(struct packer *pk);

#endif /* WSMO_READER_H */
