/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rotate.h - several files instead of one that grows: FILE, and FILE.1, FILE.2, ... before it
 *
 * Each is complete by itself: it begins with the header, the targets, their areas and
 * mappings.
 */
#ifndef WSMO_RECORD_ROTATE_H
#define WSMO_RECORD_ROTATE_H

#include <stdbool.h>

#include "core/options.h"
#include "libwsmon/sorted.h"
#include "output.h"
#include "session.h"

/**
 * struct rotation - the command line, and the records that the next file begins with
 * @every_ns:	rotate after this time; 0 is never
 * @every_bytes: rotate at this size; 0 is never
 * @keep:	files beside the one that is written
 * @max_bytes:	of all files together; of FILE, if it is not rotated; 0 is without end
 * @begun_ns:	when FILE began
 * @begun_bytes: what it began with; 0 in the first
 * @ended_bytes: size of the file before
 * @files:	files so far
 * @attrs:	the last ATTRS record, none if its size is 0
 * @targets:	struct kept
 */
struct rotation {
	__u64 every_ns;
	__u64 every_bytes;
	__u32 keep;
	__u64 max_bytes;
	__u64 begun_ns;
	__u64 begun_bytes;
	__u64 ended_bytes;
	__u64 files;
	struct wsmon_rec_attrs attrs;
	struct sorted targets;
};

/* --rotate, --keep and --max-size, for struct rotation */
extern const struct option_desc rotate_options[];

/** rotate_check() - for struct command_line */
void rotate_check(struct argp_state *state, const struct rotation *rot);

/** rotates() - will there be more than one file? */
static inline bool rotates(const struct rotation *rot)
{
	return rot->every_ns || rot->every_bytes;
}

/**
 * rotate_note() - keep an ATTRS, TARGET, AREA or EXIT record for the next files
 * @name: of an AREA, else ""
 */
void rotate_note(struct rotation *rot, const struct wsmon_record *rec, const char *name);

/** rotate_due() - must FILE be rotated, or is it full? To be called between intervals */
bool rotate_due(const struct rotation *rot, const struct output *o, __u64 now_ns);

/**
 * rotate() - end FILE, begin the next with the records kept; then call rotate_begun()
 * @s:		has the header
 * @stats:	the record that ended the interval; the next file begins with it
 * Return: 0, or -1 after a message: there is no next file
 */
int rotate(struct rotation *rot, struct output *o, const struct session *s,
	   const struct wsmon_rec_stats *stats);

/** rotate_begun() - FILE has its first records: remove old files that leave no room for it */
void rotate_begun(struct rotation *rot, struct output *o);

/** rotate_free() - free the records kept */
void rotate_free(struct rotation *rot);

#endif /* WSMO_RECORD_ROTATE_H */
