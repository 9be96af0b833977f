/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mappings.h - what targets have mapped: names of areas, mappings, and ranges mapped at any time
 */
#ifndef WSMO_MAPPINGS_H
#define WSMO_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon_records.h"

struct areas;

/** areas_new() - allocate an empty set of names of areas. Return: NULL without memory */
struct areas *areas_new(void);

/**
 * areas_add() - add a record; index 0 begins a new set for the target
 *
 * Memory is limited: names beyond the limit are left out.
 */
void areas_add(struct areas *as, const struct wsmon_rec_area *rec);

/** areas_path() - get the name of a target's area in its last AREA record, "" if it has none */
const char *areas_path(const struct areas *as, __u32 pid, __u32 index);

/** areas_free() - free a set; ignores NULL */
void areas_free(struct areas *as);

/**
 * struct mapping - the fields of struct wsmon_rec_mapping
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
 * @base:	address of the file's first byte
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
 * Anonymous memory that follows a mapping of the file may be its .bss, and counts as the file's.
 *
 * Return: false if there is none
 */
bool mappings_module(const struct mappings *ms, __u32 pid, __u64 addr,
		     struct module *module);

/** mappings_free() - free a set; ignores NULL */
void mappings_free(struct mappings *ms);

/**
 * struct range - a range of one class and name
 * @start:	first address
 * @end:	end, exclusive
 * @class:	enum wsmon_class
 * @name:	the mapping's name, may be empty
 * @offset:	free for the caller; 0 at first
 */
struct range {
	__u64 start;
	__u64 end;
	__u32 class;
	char *name;
	__u64 offset;
};

/**
 * struct ranges - disjoint, in address order
 * @range:	@nr of them
 * @room:	number of ranges there is memory for
 * @full:	some were left out
 */
struct ranges {
	struct range *range;
	size_t nr;
	size_t room;
	bool full;
};

/**
 * ranges_add() - add a range
 *
 * Addresses that are covered already keep their class and name. The number of ranges is limited.
 */
void ranges_add(struct ranges *s, __u64 start, __u64 end, __u32 class,
	       const char *name);

/** ranges_find() - find the first range that ends after @addr. Return: its index, or @nr */
size_t ranges_find(const struct ranges *s, __u64 addr);

/** ranges_free() - free what is in it */
void ranges_free(struct ranges *s);

#endif /* WSMO_MAPPINGS_H */
