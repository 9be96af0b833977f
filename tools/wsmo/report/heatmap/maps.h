/* SPDX-License-Identifier: GPL-2.0 */
/*
 * maps.h - the heatmaps of a recording's targets, made in two readings
 *
 * maps_new(), maps_scan() for each record, maps_scanned(), maps_layout(), then
 * maps_record() for each record once more.
 */
#ifndef WSMO_HEATMAP_MAPS_H
#define WSMO_HEATMAP_MAPS_H

#include "grid.h"
#include "libwsmon/events.h"
#include "libwsmon/fine.h"
#include "libwsmon/mappings.h"
#include "libwsmon/sorted.h"
#include "report/report.h"

/**
 * struct maps_options - what to draw
 * @from:	lowest address
 * @to:		end of the addresses, exclusive
 * @fine:	divide regions of which only parts were accessed
 */
struct maps_options {
	__u64 from;
	__u64 to;
	bool fine;
};

/**
 * struct maps - the maps
 * @options:	what to draw
 * @targets:	struct heatmap
 * @areas:	names of mappings
 * @fine:	evidence for parts of regions; NULL if they are not wanted
 * @events:	peaks and marks
 * @from_ns:	when the first interval began, on the clock of the recording
 * @to_ns:	when the last one ended
 */
struct maps {
	const struct maps_options *options;
	struct sorted targets;
	struct areas *areas;
	struct fine *fine;
	struct events events;
	__u64 from_ns;
	__u64 to_ns;
};

/** maps_new() - begin; @options stay the caller's. Exits if there is no memory */
struct maps *maps_new(const struct report *rp, const struct maps_options *options);

/** maps_scan() - first reading: note what is mapped, and when */
void maps_scan(struct maps *m, const struct report *rp,
	       const struct wsmon_record *rec);

/** maps_scanned() - end the first reading; Return: number of maps */
size_t maps_scanned(struct maps *m, const struct report *rp);

/** maps_layout() - heatmap_layout() of each; exits if there is no memory */
void maps_layout(struct maps *m, const struct report *rp, unsigned int columns,
		 unsigned int lines, unsigned int fine);

/** maps_record() - second reading: draw what was accessed */
void maps_record(struct maps *m, const struct report *rp,
		 const struct wsmon_record *rec);

/** maps_free() - frees it and what is in it */
void maps_free(struct maps *m);

#endif /* WSMO_HEATMAP_MAPS_H */
