/* SPDX-License-Identifier: GPL-2.0 */
/*
 * index.h - the index of a recording: which parts of it are of which time
 */
#ifndef LIBWSMON_INDEX_H
#define LIBWSMON_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon.h"

/** struct unwanted - parts of a file of other times than those wanted */
struct unwanted;

/** index_has() - may a run have records of that type? */
bool index_has(__u32 type);

/**
 * unwanted_read() - read the index of a file
 * @offset:	where the reader is in the recording
 * @ahead:	how far @fd is beyond that
 * @from_ns:	with @to_ns: what is wanted
 *
 * Return: NULL if there are no such parts, no index or no memory, or @fd cannot seek
 */
struct unwanted *unwanted_read(int fd, __u64 offset, size_t ahead, __u64 from_ns, __u64 to_ns);

/**
 * unwanted_take() - forget the parts up to an offset
 *
 * Return: the size of the part that begins there, 0 if none does
 */
__u64 unwanted_take(struct unwanted *u, __u64 offset);

/** unwanted_after() - get the distance from an offset to the part after it; ~0 if there is none */
__u64 unwanted_after(const struct unwanted *u, __u64 offset);

/** unwanted_free() - free them; ignores NULL */
void unwanted_free(struct unwanted *u);

#endif /* LIBWSMON_INDEX_H */
