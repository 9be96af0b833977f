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
#include "libwsmon/areas.h"
#include "libwsmon/fine/fine.h"
#include "libwsmon/numbers/events.h"
#include "libwsmon/sorted.h"
#include "report/report.h"

/**
 * struct maps - the maps
 * @targets:	struct heatmap
 * @areas:	names of mappings
 * @fine:	what is known of regions' parts; NULL if they are not wanted
 * @events:	peaks and marks
 * @from_ns:	when the first interval began, on the clock of the recording
 * @to_ns:	when the last one ended
 */
struct maps {
	struct sorted targets;
	struct areas *areas;
	struct fine *fine;
	struct events events;
	__u64 from_ns;
	__u64 to_ns;
};

/** maps_new() - exits if there is no memory */
struct maps *maps_new(const struct report *rp);

/** maps_scan() - the first time: what is mapped, and when */
void maps_scan(struct maps *m, const struct report *rp,
	       const struct wsmon_record *rec);

/** maps_scanned() - Return: how many targets there is something to draw of */
size_t maps_scanned(struct maps *m, const struct report *rp);

/** maps_layout() - heatmap_layout() of each; exits if there is no memory */
void maps_layout(struct maps *m, const struct report *rp, unsigned int columns,
		 unsigned int lines, unsigned int fine);

/** maps_record() - the second time: what was accessed */
void maps_record(struct maps *m, const struct report *rp,
		 const struct wsmon_record *rec);

/** maps_free() - free it, and what is in it */
void maps_free(struct maps *m);

#endif /* WSMO_HEATMAP_MAPS_H */
