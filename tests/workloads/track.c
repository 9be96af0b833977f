// SPDX-License-Identifier: GPL-2.0
/* When each piece of a workload's memory was last touched, see track.h. */
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "track.h"

#define CLOCK_TOUCHES	1024	/* touches between two readings of the clock */
#define FULL		1000	/* share of a cell that is touched as a whole */

static void allocate(struct track *track)
{
	track->last = calloc(track->count, sizeof(*track->last));
	track->told = calloc((track->count + track->cell - 1) / track->cell,
			     sizeof(*track->told));
	if (!track->last || !track->told)
		err(EXIT_FAILURE, "record of touches");
	track->step = sysconf(_SC_PAGESIZE);
	track->epoch = now_ns();
}

void track_pieces(struct track *track, void *start, size_t size, size_t grain, size_t cell)
{
	*track = (struct track){
		.start = (uintptr_t)start,
		.grain = grain,
		.count = size / grain,
		.cell = cell,
	};
	allocate(track);
}

void track_places(struct track *track, size_t count)
{
	*track = (struct track){ .count = count, .cell = 1 };
	allocate(track);
	track->places = calloc(count, sizeof(*track->places));
	if (!track->places)
		err(EXIT_FAILURE, "places");
}

uint64_t track_overhead(const struct track *track)
{
	return track->count * (sizeof(*track->last) +
			       (track->places ? sizeof(*track->places) : 0)) +
	       track->count / track->cell * sizeof(*track->told);
}

static struct place place(const struct track *track, size_t i)
{
	uintptr_t start = track->start + i * track->grain;

	if (track->places)
		return track->places[i];
	return (struct place){ start, start + track->grain };
}

static uint32_t tick(const struct track *track, int64_t time)
{
	return (time - track->epoch) / NSEC_PER_MSEC + 1;
}

/* Threads write here while the main thread reads. */
static void mark(struct track *track, size_t i, int64_t now)
{
	__atomic_store_n(&track->last[i], tick(track, now), __ATOMIC_RELAXED);
}

static void touch(uintptr_t from, uintptr_t to, size_t step, enum access access, int64_t now)
{
	/* a plain store: ++ may load first, and a load maps the huge zero page */
	if (access == STORE)
		for (; from < to; from += step)
			*(volatile int64_t *)from = now;
	else
		for (; from < to; from += step)
			*(volatile char *)from;
}

void track_touch(struct track *track, size_t offset, size_t size, enum access access)
{
	size_t batch = CLOCK_TOUCHES * track->step;

	for (size_t end = offset + size, stop; offset < end; offset = stop) {
		int64_t now = now_ns();

		stop = end - offset > batch ? offset + batch : end;
		for (size_t i = offset / track->grain; i <= (stop - 1) / track->grain; i++)
			mark(track, i, now);
		touch(track->start + offset, track->start + stop, track->step, access, now);
	}
}

void track_touch_place(struct track *track, size_t i, enum access access)
{
	int64_t now = now_ns();

	mark(track, i, now);
	touch(track->places[i].start, track->places[i].end, track->step, access, now);
}

void track_mark_place(struct track *track, size_t i)
{
	mark(track, i, now_ns());
}

/* Lines of the map: neighbours with the same new share are written as one line. */
static void tell(const struct truth *truth, int64_t now, struct place place, unsigned int share)
{
	if (place.end > place.start)
		truth_note(truth, "map %" PRId64 " %" PRIuPTR " %" PRIuPTR " %.3g\n", now,
			   place.start, place.end, (double)share / FULL);
}

/* A random share is written again only if it changes by a tenth, and by half a percent. */
static bool worth_a_line(unsigned int share, unsigned int told)
{
	int change = abs((int)share - (int)told);

	if (share == 0 || share == FULL)
		return share != told;
	return change >= 5 && change >= (int)told / 10;
}

void track_sample(struct track *track, int64_t now, const int64_t *windows_ns, size_t n,
		  uint64_t *bytes, const struct truth *truth)
{
	uint32_t time = tick(track, now);
	int32_t windows[MAX_WINDOWS];
	struct place run = {};
	unsigned int run_share = 0;

	for (size_t k = 0; k < n; k++) {
		windows[k] = windows_ns[k] / NSEC_PER_MSEC;
		bytes[k] = 0;
	}
	for (size_t i = 0, c = 0; i < track->count; c++) {
		struct place cell = place(track, i);
		uint64_t hot = bytes[0], size = 0;
		unsigned int share;

		for (size_t end = i + track->cell; i < end && i < track->count; i++) {
			struct place p = place(track, i);
			uint32_t last = __atomic_load_n(&track->last[i], __ATOMIC_RELAXED);

			for (size_t k = 0; k < n; k++)
				/* another thread's touch may be later than the sample */
				if (last && (int32_t)(time - last) < windows[k])
					bytes[k] += p.end - p.start;
			size += p.end - p.start;
			cell.end = p.end;
		}
		hot = bytes[0] - hot;
		share = hot == size ? FULL : (hot * (FULL - 1) + size - 1) / size;
		if (!worth_a_line(share, track->told[c]))
			continue;
		track->told[c] = share;
		if (cell.start != run.end || share != run_share) {
			tell(truth, now, run, run_share);
			run.start = cell.start;
			run_share = share;
		}
		run.end = cell.end;
	}
	tell(truth, now, run, run_share);
}
