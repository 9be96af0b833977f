/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places.h - mappings at addresses, kept with their names: "report hot" names a region long after
 * its mapping changed
 */
#ifndef WSMO_PLACES_H
#define WSMO_PLACES_H

#include "libwsmon/mappings.h"
#include "libwsmon/reader.h"
#include "libwsmon/wsmon_records.h"
#include "symbols.h"

/* Maximum number of symbols named in a region */
#define PLACES_SYMBOLS	16

/**
 * struct place - a mapping
 * @path:	as in /proc/PID/maps, never NULL
 * @start:	first address
 * @offset:	offset of @start in the file
 * @tid:	thread that has its stack here; 0: none
 * @has_module:	@module is valid
 * @module:	the file, for symbols; its path is @path
 * @build_id:	build ID of @module
 */
struct place {
	char *path;
	__u64 start;
	__u64 offset;
	__u32 tid;
	bool has_module;
	struct module module;
	__u8 build_id[WSMON_BUILD_ID];
};

/** struct cover - a symbol, and its part of a region */
struct cover {
	struct symbol symbol;
	__u64 bytes;
};

struct places;

/**
 * places_new() - allocate an empty set
 * @reader: reader of the recording; makes it keep names of areas
 *
 * Return: the set; NULL if there are no random numbers. Exits if memory runs out
 */
struct places *places_new(struct wsmon_reader *reader);

/** places_record() - take a MAPPING or TARGET record; ignore other records */
void places_record(struct places *ps, const struct wsmon_record *rec);

/**
 * places_at() - find the place at the start of a region
 * Return: a number for places_get(); 0 is the unknown place
 */
__u32 places_at(struct places *ps, __u32 pid, const struct wsmon_region_entry *e);

/** places_get() - get a place by its number */
const struct place *places_get(const struct places *ps, __u32 number);

/**
 * places_cover() - find the functions and objects in a range
 * @c:	gets at most PLACES_SYMBOLS symbols, the largest parts first
 * @more: gets the number of further symbols
 * Return: number of symbols in @c
 */
size_t places_cover(struct places *ps, const struct place *p, __u64 start,
		    __u64 end, struct cover *c, size_t *more);

/** places_line() - get the source line of an address in a place, as symbols_line() does */
const char *places_line(struct places *ps, const struct place *p, __u64 addr,
			int *line);

/** places_free() - report files without names, and free the set; ignores NULL */
void places_free(struct places *ps);

#endif /* WSMO_PLACES_H */
