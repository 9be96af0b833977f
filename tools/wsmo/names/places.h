/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places.h - what is mapped at an address, kept and named: "report hot" names a
 * region long after its mapping changed
 */
#ifndef WSMO_PLACES_H
#define WSMO_PLACES_H

#include "libwsmon/mappings.h"
#include "libwsmon/reader.h"
#include "libwsmon/wsmon_records.h"
#include "symbols.h"

/* Max. symbols named of a region */
#define PLACES_SYMBOLS	16

/**
 * struct place - a mapping
 * @path:	as in /proc/PID/maps, never NULL
 * @start:	its first address
 * @offset:	in the file
 * @tid:	the thread whose stack it is, 0 if it is none
 * @has_module:	@module has names for it
 * @module:	that, its path the place's own
 * @build_id:	that of @module
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

/** struct cover - a symbol and how much of a region it is */
struct cover {
	struct symbol symbol;
	__u64 bytes;
};

struct places;

/**
 * places_new() - begin without places
 * @reader: of the recording; from now on it keeps names of areas
 *
 * Return: NULL without random numbers; exits without memory
 */
struct places *places_new(struct wsmon_reader *reader);

/** places_record() - take MAPPING and TARGET records; others are ignored */
void places_record(struct places *ps, const struct wsmon_record *rec);

/**
 * places_at() - find the place at a region's beginning
 * Return: a number for places_get(); 0 is a place of which nothing is known
 */
__u32 places_at(struct places *ps, __u32 pid, const struct wsmon_region_entry *e);

/** places_get() - Return: the place of that number */
const struct place *places_get(const struct places *ps, __u32 number);

/**
 * places_cover() - the functions and objects in a range
 * @c:	gets at most PLACES_SYMBOLS of them, the largest parts first
 * @more: gets how many there are beside them
 * Return: how many
 */
size_t places_cover(struct places *ps, const struct place *p, __u64 start,
		    __u64 end, struct cover *c, size_t *more);

/** places_line() - symbols_line() of code there; NULL if it is not known */
const char *places_line(struct places *ps, const struct place *p, __u64 addr,
			int *line);

/** places_free() - reports files without names, frees; accepts NULL */
void places_free(struct places *ps);

#endif /* WSMO_PLACES_H */
