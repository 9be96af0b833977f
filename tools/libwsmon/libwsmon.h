/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libwsmon.h - reads recordings of wsmon, and the stream of its module
 *
 *	struct wsmon_reader *r = wsmon_open("wsmon.data");
 *	const struct wsmon_record *rec;
 *	int res;
 *
 *	while ((res = wsmon_next(r, &rec)) > 0)
 *		if (rec->type == WSMON_REC_WSS)
 *			...
 *	if (res < 0)
 *		fprintf(stderr, "%s\n", wsmon_error(r));
 *	wsmon_close(r);
 *
 * The records are those of wsmon.h. The library checks all sizes and counts in them,
 * and unpacks snapshots. It prints nothing. Different readers may be used by different
 * threads at the same time.
 */
#ifndef LIBWSMON_H
#define LIBWSMON_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

/** struct wsmon_reader - an open recording */
struct wsmon_reader;

/**
 * wsmon_open() - open a recording
 *
 * Return: the reader, or NULL with errno set
 */
struct wsmon_reader *wsmon_open(const char *file);

/**
 * wsmon_open_fd() - read a recording or a stream from a file descriptor
 * @fd:	readable and blocking; stays open when the reader is closed
 *
 * Return: the reader, or NULL with errno set
 */
struct wsmon_reader *wsmon_open_fd(int fd);

/** wsmon_close() - close a reader and free its memory; ignores NULL */
void wsmon_close(struct wsmon_reader *r);

/**
 * wsmon_header() - get the header
 *
 * Return: the header, valid as long as the reader; fields unknown to its writer are 0.
 * NULL if it cannot be read: wsmon_error() says why
 */
const struct wsmon_file_header *wsmon_header(struct wsmon_reader *r);

/**
 * wsmon_next() - get the next record
 * @rec: gets the record, valid until the next call
 *
 * Packed snapshots are delivered as SNAPSHOT records. Records may be longer than the
 * structures known here; some may be shorter: see wsmon_record_copy().
 *
 * Return: 1, or 0 at the end, -ENODATA if the file ends inside a record, -EBADMSG if it
 * cannot be read any further. What was delivered before is good in any case.
 */
int wsmon_next(struct wsmon_reader *r, const struct wsmon_record **rec);

/**
 * wsmon_error() - describe the last failure
 *
 * Return: a text without a newline, "" if nothing failed
 */
const char *wsmon_error(const struct wsmon_reader *r);

/**
 * wsmon_skip_snapshots() - deliver no SNAPSHOT records from now on
 *
 * They are most of a recording: reading the rest takes a tenth of the time or less.
 */
void wsmon_skip_snapshots(struct wsmon_reader *r);

/**
 * wsmon_area_path() - name what is mapped in an area
 * @pid:	a target
 * @index:	the area: that of a region, in struct wsmon_region_entry.area
 *
 * Return: the name from the last AREA record so far, "" if there is none; valid until the
 * next wsmon_next()
 */
const char *wsmon_area_path(const struct wsmon_reader *r, __u32 pid, __u32 index);

/**
 * wsmon_record_pid() - get the target that a record is about
 * @pid: gets its process id
 *
 * Return: false if it is about none
 */
bool wsmon_record_pid(const struct wsmon_record *rec, __u32 *pid);

/**
 * wsmon_record_copy() - copy a record into a structure of another size
 * @to:		the structure; fields unknown to the record's writer become 0
 * @size:	its size; what the record has beyond that is left out
 */
void wsmon_record_copy(const struct wsmon_record *rec, void *to, size_t size);

/**
 * wsmon_class_name() - name a class: "heap", ...
 * @class: enum wsmon_class
 *
 * Return: the name, or NULL for an unknown class
 */
const char *wsmon_class_name(__u32 class);

/**
 * wsmon_class_by_name() - find a class by its name
 *
 * Return: enum wsmon_class, or -1
 */
int wsmon_class_by_name(const char *name);

/**
 * wsmon_record_name() - name a kind of record: "wss", ...
 * @type: enum wsmon_record_type
 *
 * Return: the name, or NULL for an unknown type
 */
const char *wsmon_record_name(__u32 type);

#endif /* LIBWSMON_H */
