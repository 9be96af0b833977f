/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pack.h - makes SNAPSHOT records smaller, and restores them: struct wsmon_rec_packed
 */
#ifndef LIBWSMON_PACK_H
#define LIBWSMON_PACK_H

#include "wsmon.h"

/** struct packer - a compressor; zeroed is ready, memory comes with the first snapshot */
struct packer {
	struct pack_work *work;
};

/**
 * packer_take() - choose what to write of a record: a packed one, or itself
 *
 * Return: a record that is valid until the next call
 */
const struct wsmon_record *packer_take(struct packer *pk,
				       const struct wsmon_record *rec);

/** packer_free() - free everything */
void packer_free(struct packer *pk);

struct unpacker;

/** unpacker_new() - allocate one. Return: NULL without memory */
struct unpacker *unpacker_new(void);

/** unpacker_free() - free one, or NULL */
void unpacker_free(struct unpacker *u);

/**
 * unpack_check() - check what can be checked without unpacking
 *
 * Return: NULL, or what is wrong, to follow "a packed record with"
 */
const char *unpack_check(const struct wsmon_rec_packed *p);

/**
 * unpack() - restore a snapshot
 * @p:	a record that passed unpack_check()
 * @s:	gets the snapshot, valid until the next call; its regions are not checked
 *
 * Return: as unpack_check()
 */
const char *unpack(struct unpacker *u, const struct wsmon_rec_packed *p,
		   const struct wsmon_rec_snapshot **s);

#endif /* LIBWSMON_PACK_H */
