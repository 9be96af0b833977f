/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mappings.h - what targets have mapped, from the MAPPING records so far
 */
#ifndef WSMO_MAPPINGS_H
#define WSMO_MAPPINGS_H

#include <stdbool.h>

#include "wsmon.h"

/**
 * struct mapping - fields of struct wsmon_rec_mapping
 * @path: never NULL
 */
struct mapping {
	__u64 start;
	__u64 end;
	__u64 offset;
	__u64 inode;
	__u32 prot;
	__u32 tid;
	__u8 build_id[WSMON_BUILD_ID];
	__u32 build_id_len;
	char *path;
};

/**
 * struct module - a file as a target has it loaded
 * @path:	the file
 * @inode:	its inode
 * @build_id:	of the ELF file
 * @build_id_len: 0 if it has none
 * @base:	address of its first byte
 * @pid:	the target
 * @start, @end: one of its mappings
 */
struct module {
	const char *path;
	__u64 inode;
	const __u8 *build_id;
	__u32 build_id_len;
	__u64 base;
	__u32 pid;
	__u64 start, end;
};

struct mappings;

/** mappings_new() - allocate an empty set. Return: NULL without memory */
struct mappings *mappings_new(void);

/**
 * mappings_add() - add a MAPPING or TARGET record; ignores others
 *
 * Memory is limited: mappings beyond the limit are left out.
 */
void mappings_add(struct mappings *ms, const struct wsmon_record *rec);

/**
 * mappings_find() - find the mapping that contains an address
 * Return: the mapping, valid until the next mappings_add(), or NULL
 */
const struct mapping *mappings_find(const struct mappings *ms, __u32 pid,
				    __u64 addr);

/**
 * mappings_module() - find the file whose symbols name an address
 * @module: gets it; its pointers are valid until the next mappings_add()
 *
 * Finds it also for anonymous memory after the file's mappings, which may be its .bss.
 *
 * Return: whether there is one
 */
bool mappings_module(const struct mappings *ms, __u32 pid, __u64 addr,
		     struct module *module);

/** mappings_free() - free a set; ignores NULL */
void mappings_free(struct mappings *ms);

#endif /* WSMO_MAPPINGS_H */
