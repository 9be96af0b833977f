/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unpack.h - makes SNAPSHOT records of struct wsmon_rec_packed again
 */
#ifndef WSMO_UNPACK_H
#define WSMO_UNPACK_H

#include "wsmon.h"

struct unpack;

/** unpack_new() - Return: NULL without memory */
struct unpack *unpack_new(void);

/** unpack_free() - accepts NULL */
void unpack_free(struct unpack *u);

/**
 * unpack_check() - what can be told of a packed record without unpacking it
 * Return: NULL, or what is wrong: to be read behind "a packed record with"
 */
const char *unpack_check(const struct wsmon_rec_packed *p);

/**
 * unpack_note() - a record of any other type passes by
 */
void unpack_note(struct unpack *u, const struct wsmon_record *rec);

/**
 * unpack_keep() - a packed record that is not wanted, but others may build on it
 * @offset:	where it is in the file
 *
 * It is unpacked only if one that is wanted needs it, or if there are too many.
 *
 * Return: NULL, or what is wrong; @offset is then where
 */
const char *unpack_keep(struct unpack *u, const struct wsmon_rec_packed *p,
			__u64 *offset);

/**
 * unpack() - a packed record that is wanted
 * @s:		gets the snapshot, valid until the next call; the caller has to
 *		check its regions
 *
 * Return: as unpack_keep()
 */
const char *unpack(struct unpack *u, const struct wsmon_rec_packed *p,
		   __u64 *offset, const struct wsmon_rec_snapshot **s);

#endif /* WSMO_UNPACK_H */
