/* SPDX-License-Identifier: GPL-2.0 */
/*
 * past.h - what packed snapshots build on: the last snapshot of each target
 *
 * Who packs and who unpacks do the same with the same records, so that both
 * expect the same of the next one; only what is different is in the file.
 */
#ifndef WSMO_PAST_H
#define WSMO_PAST_H

#include <stdbool.h>

#include "sorted.h"
#include "wsmon.h"

/* Addresses are packed in units of the smallest page there is */
#define PACK_SHIFT	12

/* In struct past_region.share: nothing is known */
#define PAST_NO_SHARE	0xffff

/**
 * struct past_region - what the next snapshot needs of a region
 * @start:	first address
 * @end:	address behind the last one
 * @since_ns:	when its age began, as far as ages told
 * @share:	as in the snapshot
 */
struct past_region {
	__u64 start;
	__u64 end;
	__u64 since_ns;
	__u16 share;
};

/** struct past_list - regions in the order of a snapshot */
struct past_list {
	struct past_region *r;
	__u32 nr;
	__u32 cap;
};

/**
 * struct past - a target
 * @pid:	the target
 * @known:	nothing has been missing since a key
 * @number:	of the snapshot @now, counted from its key
 * @total:	regions it has in all
 * @key_ns:	time of the key
 * @time_ns:	time of the snapshot
 * @now:	its regions so far
 * @old:	those of the one before; none in a key
 * @cursor:	the first in @old that ends behind the last start asked for
 */
struct past {
	__u32 pid;
	bool known;
	__u32 number;
	__u32 total;
	__u64 key_ns;
	__u64 time_ns;
	struct past_list now;
	struct past_list old;
	__u32 cursor;
};

/**
 * struct pasts - all targets; zeroed is empty
 * @targets:	struct past, by pid
 * @regions:	regions there is room for, of all targets together
 */
struct pasts {
	struct sorted targets;
	__u32 regions;
};

/** past_get() - Return: the target, added if it is new; NULL if there is no room */
struct past *past_get(struct pasts *ps, __u32 pid);

/**
 * past_begin() - a snapshot record begins, with room for its regions
 * @s:		its head
 * @number:	0 in a key
 * Return: NULL, or why it cannot be: to be read behind "a record with"
 */
const char *past_begin(struct pasts *ps, struct past *p,
		       const struct wsmon_rec_snapshot *s, __u32 number);

/**
 * past_expect() - append a region to the snapshot
 * @age_ms:	gets the age to be expected
 *
 * @since_ns and @share are those of the region that held @start in the last
 * snapshot. If there was none it begins now, with PAST_NO_SHARE.
 */
struct past_region *past_expect(struct past *p, __u64 start, __u64 end,
				__u32 *age_ms);

/** past_age() - the age is not the one expected */
void past_age(const struct past *p, struct past_region *r, __u32 age_ms);

/** past_share() - the share to be expected of a region */
__u16 past_share(const struct past_region *r, const struct wsmon_region_entry *e);

/** past_may_end() - may past_ends() be true of any target? Most records end none */
bool past_may_end(const struct wsmon_record *rec);

/**
 * past_ends() - after this record, which is not packed, is a key needed to build
 * on the snapshots of a target?
 */
bool past_ends(const struct wsmon_record *rec, __u32 pid);

/** past_note() - a record that is not packed was written, or read */
void past_note(struct pasts *ps, const struct wsmon_record *rec);

/** past_free() - free everything */
void past_free(struct pasts *ps);

#endif /* WSMO_PAST_H */
