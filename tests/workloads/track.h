/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When each piece of a workload's memory was last touched. This gives the
 * working set for any window, and the map of its places. Pieces are as small as
 * the pattern needs, and a record takes four bytes, so records are small.
 */
#ifndef WSMON_TRACK_H
#define WSMON_TRACK_H

#include <stddef.h>
#include <stdint.h>

#include "truth.h"

#define MAX_WINDOWS	16
#define CHUNK		(64UL << 10)	/* most patterns touch chunks as a whole */
#define HUGE_PAGE	(2UL << 20)

enum access { LOAD, STORE };

/* Memory from @start to @end, exclusive. */
struct place {
	uintptr_t start;
	uintptr_t end;
};

/**
 * struct track - when pieces were last touched @start:  of the first piece, if
 * they are adjacent @grain:  size of a piece in that case @places: of the
 * pieces, if they are not adjacent; else NULL @count:  number of pieces @step:
 * bytes between touches: the page size, also of huge pages @cell:   number of
 * pieces that share an entry of the map @last:   for each piece, the time of
 * its last touch: ms since @epoch, 0: never @told:   for each cell, its share
 * as last written @epoch:  ns
 */
struct track {
	uintptr_t start;
	size_t grain;
	struct place *places;
	size_t count;
	size_t step;
	size_t cell;
	uint32_t *last;
	uint16_t *told;
	int64_t epoch;
};

/**
 * track_pieces() - track memory in pieces of the same size, side by side
 * @track: to be initialised
 * @start: of the memory
 * @size:  of it, a multiple of @grain
 * @grain: size of a piece
 * @cell:  pieces to an entry of the map
 */
void track_pieces(struct track *track, void *start, size_t size, size_t grain, size_t cell);

/**
 * track_places() - track pieces at any addresses
 * @track: to be initialised; its places are to be filled in before they are touched
 * @count: number of pieces
 */
void track_places(struct track *track, size_t count);

/* Bytes of the records, which the process also touches. */
uint64_t track_overhead(const struct track *track);

/**
 * track_touch() - touch at least one page of memory in equal pieces
 * @track:  initialised by track_pieces()
 * @offset: of the first page, from the start of the memory
 * @size:   bytes, one touch each step
 * @access: how
 *
 * A store writes the time (now_ns(), 8 bytes) to the start of the page, so that
 * a reader of the memory can tell when each page was touched.
 */
void track_touch(struct track *track, size_t offset, size_t size, enum access access);

/* track_touch() for the whole of a place. */
void track_touch_place(struct track *track, size_t i, enum access access);

/* Only note that a place was touched now. */
void track_mark_place(struct track *track, size_t i);

/**
 * track_sample() - the working set at a time
 * @track: initialised
 * @now:   ns
 * @windows_ns: windows
 * @n:     number of windows
 * @bytes: gets the bytes of the touched pieces, for each window
 * @truth: gets the changes of the map of the first window
 */
void track_sample(struct track *track, int64_t now, const int64_t *windows_ns, size_t n,
		  uint64_t *bytes, const struct truth *truth);

#endif
