// SPDX-License-Identifier: GPL-2.0
/*
 * openmetrics.c - "wsmo export openmetrics" of a recording
 *
 * OpenMetrics wants all samples of a metric together, so rows are kept until the end.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "export.h"
#include "metrics.h"

struct metrics {
	struct wsmon_wss_rows rows;
	struct wsmon_wss_rows rss;
	struct events events;
	struct sorted names;
};

static void metrics_begin(struct report *rp)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	m->names = (struct sorted) {
		.size = sizeof(struct wss_name), .max = EXPORT_TARGETS,
		.compare = wss_name_compare,
	};
	rp->data = m;
}

static void take_wss(struct report *rp, const struct wsmon_rec_wss *w)
{
	struct metrics *m = rp->data;

	if (filter_wants_class(&rp->filter, w->class) &&
	    filter_wants_window(&rp->filter, w->window_us) &&
	    wsmon_wss_record(&m->rows, &w->rec))
		need(NULL);
}

static void metrics_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_proc *proc = (const void *)rec;
	struct metrics *m = rp->data;

	if (rec->type == WSMON_REC_TARGET) {
		const struct wss_name key = { .pid = target->pid };
		struct wss_name *name = sorted_get(&m->names, &key);

		/* a metric keeps its labels: the last name wins */
		if (name)
			memcpy(name->comm, target->comm, sizeof(name->comm));
	}
	if (!filter_wants(&rp->filter, rec))
		return;
	if (rec->type == WSMON_REC_PEAK)
		events_add(&m->events, rec);
	else if (rec->type == WSMON_REC_WSS)
		take_wss(rp, (const void *)rec);
	else if (rec->type == WSMON_REC_PROC)
		need(wsmon_wss_add(&m->rss, &(struct wsmon_wss_row) {
			.time_ns = rec->time_ns, .pid = proc->pid,
			.bytes = proc->rss,
		}));
}

static void metrics_done(struct report *rp)
{
	const struct wsmon_file_header *h = &rp->reader.header;
	struct metrics *m = rp->data;

	wsmon_wss_sort(&m->rows, false);
	wsmon_wss_sort(&m->rss, false);
	metrics_wss(&m->rows, &m->names, h->mono_ns, h->real_ns);
	metrics_rss(&m->rss, &m->names, h->mono_ns, h->real_ns);
	metrics_peaks(&m->events, &m->names, h->mono_ns, h->real_ns);
	metrics_end();
	wsmon_wss_free(&m->rows);
	wsmon_wss_free(&m->rss);
	free(m->names.base);
	events_free(&m->events);
	free(m);
}

const struct report_view export_openmetrics = {
	.name = "openmetrics",
	.begin = metrics_begin,
	.record = metrics_record,
	.end = metrics_done,
};
