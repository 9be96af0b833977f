/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mappings.h - what targets had mapped, as MAPPING records told it so far
 */
#ifndef WSMO_MAPPINGS_H
#define WSMO_MAPPINGS_H

#include <stdbool.h>

#include "wsmon.h"

/**
 * struct mapping - the fields of struct wsmon_rec_mapping that count here
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
 * @base:	where its first byte is
 */
struct module {
	const char *path;
	__u64 inode;
	const __u8 *build_id;
	__u32 build_id_len;
	__u64 base;
};

struct mappings;

/** mappings_new() - Return: empty ones, NULL without memory */
struct mappings *mappings_new(void);

/**
 * mappings_add() - take MAPPING and TARGET records; others are ignored
 *
 * What is kept is limited whatever a file holds; what finds no room is forgotten.
 */
void mappings_add(struct mappings *ms, const struct wsmon_record *rec);

/**
 * mappings_find() - the mapping an address is in
 * Return: valid until the next mappings_add(); NULL if none is known
 */
const struct mapping *mappings_find(const struct mappings *ms, __u32 pid,
				    __u64 addr);

/**
 * mappings_module() - the file an address belongs to, which has names for it
 * @module: gets it; what it points to is valid until the next mappings_add()
 *
 * Also for memory that follows a file's and was zeroed: its .bss, perhaps.
 *
 * Return: whether there is one
 */
bool mappings_module(const struct mappings *ms, __u32 pid, __u64 addr,
		     struct module *module);

/** mappings_free() - accepts NULL */
void mappings_free(struct mappings *ms);

#endif /* WSMO_MAPPINGS_H */
