/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rotate.h - several files instead of one that grows: FILE, and FILE.1, FILE.2, ... before it
 *
 * Each file is complete by itself: it begins with the header, the targets, their areas and
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
 * struct rotation - the command line, and the records at the start of the next file
 * @every_ns:	rotate after this time; 0: never
 * @every_bytes: rotate at this size; 0: never
 * @keep:	number of files to keep beside FILE
 * @max_bytes:	maximum size of all files together; 0: no limit
 * @begun_ns:	when FILE began
 * @begun_bytes: bytes of the records that FILE began with; 0 in the first FILE
 * @ended_bytes: size of the previous file
 * @files:	number of files so far
 * @attrs:	last ATTRS record; none if its size is 0
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

/* Options --rotate, --keep and --max-size, which set a struct rotation */
extern const struct option_desc rotate_options[];

/** rotate_check() - check the options, for struct command_line */
void rotate_check(struct argp_state *state, const struct rotation *rot);

/** rotates() - tell whether there may be several files */
static inline bool rotates(const struct rotation *rot)
{
	return rot->every_ns || rot->every_bytes;
}

/**
 * rotate_note() - note an ATTRS, TARGET, AREA or EXIT record for the next files
 * @name: name of an AREA; "" for other records
 */
void rotate_note(struct rotation *rot, const struct wsmon_record *rec, const char *name);

/** rotate_due() - tell whether FILE must be rotated, or is full; call it between intervals */
bool rotate_due(const struct rotation *rot, const struct output *o, __u64 now_ns);

/**
 * rotate() - end FILE, and begin the next one with the kept records; then call rotate_begun()
 * @s:		the session, which has the header
 * @stats:	the STATS record that ended the interval; the next file begins with it
 * Return: 0; -1 after a message: there is no next file
 */
int rotate(struct rotation *rot, struct output *o, const struct session *s,
	   const struct wsmon_rec_stats *stats);

/** rotate_begun() - after FILE got its first records, remove old files to make room */
void rotate_begun(struct rotation *rot, struct output *o);

/** rotate_free() - free the records kept */
void rotate_free(struct rotation *rot);

#endif /* WSMO_RECORD_ROTATE_H */
