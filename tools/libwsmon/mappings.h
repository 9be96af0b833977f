/* SPDX-License-Identifier: GPL-2.0 */
/* mappings.h - memory that targets map: names of areas, mappings, and ranges mapped at any time */
#ifndef WSMO_MAPPINGS_H
#define WSMO_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "wsmon_records.h"

struct areas;

/** areas_new() - allocate an empty set of area names. Return: NULL if memory ran out */
struct areas *areas_new(void);

/**
 * areas_add() - add the name in an AREA record; index 0 begins a new set for the target
 *
 * Leaves out names beyond a limit of memory.
 */
void areas_add(struct areas *as, const struct wsmon_rec_area *rec);

/** areas_path() - get the name in the last AREA record of an area; "" if there is none */
const char *areas_path(const struct areas *as, __u32 pid, __u32 index);

/** areas_free() - free a set; ignores NULL */
void areas_free(struct areas *as);

/**
 * struct mapping - a mapping; the fields are those of struct wsmon_rec_mapping
 * @path: "" without a name, never NULL
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
 * struct module - a file, as loaded by a target
 * @path:	the file
 * @inode:	inode of the file
 * @build_id:	build ID of the ELF file
 * @build_id_len: bytes of @build_id; 0 if there is none
 * @base:	address of the file's first byte
 * @pid:	the target
 * @start:	start of the mapping that was found
 * @end:	end of that mapping, exclusive
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

/** mappings_new() - allocate an empty set. Return: NULL if memory ran out */
struct mappings *mappings_new(void);

/**
 * mappings_add() - take a MAPPING or TARGET record; ignore other records
 *
 * Leaves out mappings beyond a limit of memory.
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
 * @module: gets the file; its pointers are valid until the next mappings_add()
 *
 * Anonymous memory right after a mapping of a file counts as part of the file, as it may be the
 * .bss.
 *
 * Return: false if there is no such file
 */
bool mappings_module(const struct mappings *ms, __u32 pid, __u64 addr,
		     struct module *module);

/** mappings_free() - free a set; ignores NULL */
void mappings_free(struct mappings *ms);

/**
 * struct range - a range that has one class and name
 * @start:	first address
 * @end:	end, exclusive
 * @class:	enum wsmon_class
 * @name:	the mapping's name, may be empty
 * @offset:	not used here: the caller may use it; 0 at first
 */
struct range {
	__u64 start;
	__u64 end;
	__u32 class;
	char *name;
	__u64 offset;
};

/**
 * struct ranges - disjoint ranges in address order; all zero is empty
 * @range:	the ranges
 * @nr:		number of ranges
 * @full:	some ranges were left out
 */
struct ranges {
	struct range *range;
	size_t nr;
	bool full;
};

/**
 * ranges_add() - add a range
 *
 * Addresses that are already covered keep their class and name. Leaves out ranges beyond a limit.
 */
void ranges_add(struct ranges *s, __u64 start, __u64 end, __u32 class,
	       const char *name);

/** ranges_find() - find the first range that ends after @addr. Return: its index; @nr if none */
size_t ranges_find(const struct ranges *s, __u64 addr);

/** ranges_free() - free all ranges, but not @s */
void ranges_free(struct ranges *s);

#endif /* WSMO_MAPPINGS_H */
