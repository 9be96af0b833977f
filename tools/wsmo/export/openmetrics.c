// SPDX-License-Identifier: GPL-2.0
/*
 * openmetrics.c - "wsmo export openmetrics" of a recording
 *
 * OpenMetrics wants all samples of a metric together, so rows are kept until the end.
 */
#include <stdlib.h>

#include "cli/cli.h"
#include "export.h"
#include "metrics.h"
#include "report/collect.h"

struct metrics {
	struct collected kept;
	struct events events;
};

static void metrics_begin(struct report *rp)
{
	struct metrics *m = need(calloc(1, sizeof(*m)));

	collect_init(&m->kept);
	rp->data = m;
}

static void metrics_record(struct report *rp, const struct wsmon_record *rec)
{
	struct metrics *m = rp->data;

	/* a metric keeps its labels: the last name wins */
	collect_record(&m->kept, &rp->filter, rec);
	if (rec->type == WSMON_REC_PEAK && filter_wants(&rp->filter, rec))
		events_add(&m->events, rec);
}

static void metrics_done(struct report *rp)
{
	const struct wsmon_file_header *h = &rp->reader.header;
	struct metrics *m = rp->data;
	struct collected *kept = &m->kept;
	struct metrics_group group = { .name = kept->group.path, .cgroup = *kept->group.path };
	char name[GROUP_NAME];

	if (!group.cgroup)
		group.name = group_name(&kept->group, kept->names.nr, name);
	wsmon_wss_sort(&kept->rows, false);
	wsmon_wss_sort(&kept->rss, false);
	sorted_order(&kept->names);
	metrics_wss(&kept->rows, &kept->names, &group, h->mono_ns, h->real_ns);
	metrics_rss(&kept->rss, &kept->names, h->mono_ns, h->real_ns);
	metrics_peaks(&m->events, &kept->names, h->mono_ns, h->real_ns);
	metrics_end();
	collect_free(kept);
	events_free(&m->events);
	free(m);
}

const struct report_view export_openmetrics = {
	.name = "openmetrics",
	.begin = metrics_begin,
	.record = metrics_record,
	.end = metrics_done,
};
