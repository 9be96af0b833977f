/* SPDX-License-Identifier: GPL-2.0 */
/*
 * metrics.h - the metrics, and how OpenMetrics 1.0 and Prometheus write them
 *
 * Prometheus' text format, which node_exporter reads, declares counters by another name, and has
 * no units; "# EOF" is a comment in it.
 */
#ifndef WSMO_OPENMETRICS_H
#define WSMO_OPENMETRICS_H

#include "libwsmon/events.h"
#include "libwsmon/filter.h"
#include "libwsmon/series.h"

/** metrics_prometheus() - write Prometheus' text format from now on, not OpenMetrics */
void metrics_prometheus(void);

/**
 * struct metrics_group - the group that a recording or session has a total of
 * @name:	what names it
 * @cgroup:	it is a cgroup, and @name its path
 */
struct metrics_group {
	const char *name;
	bool cgroup;
};

/**
 * metrics_wss() - the families about working set sizes
 * @rows: rows of a series lie together, in the order of time
 * @names: struct wss_name
 * @group: the group, if there are rows of it
 * @mono_ns: when the recording began; 0 for figures of now, without a time
 * @real_ns: the same moment, since 1970
 */
void metrics_wss(const struct wsmon_wss_rows *rows, const struct sorted *names,
		 const struct metrics_group *group, __u64 mono_ns, __u64 real_ns);

/** metrics_rss() - the family about resident sizes, otherwise the same */
void metrics_rss(const struct wsmon_wss_rows *rows, const struct sorted *names,
		 __u64 mono_ns, __u64 real_ns);

/**
 * metrics_peaks() - how many peaks of the working set there were, and whether it is one
 * @names:	the targets
 * @mono_ns:	0 for those that last now; else as in metrics_wss(), each with its time
 */
void metrics_peaks(const struct events *ev, const struct sorted *names,
		   __u64 mono_ns, __u64 real_ns);

/**
 * metric_plain() - a family that has one sample
 * @name: with its unit, without "_total"
 * @unit: "seconds", or NULL
 * @counter: whether it only grows; a gauge otherwise
 * @root: its label of that name, or NULL
 */
void metric_plain(const char *name, const char *unit, bool counter,
		  const char *help, const char *root, double value);

/** metrics_running() - whether monitoring runs, and what it costs; @root as in metric_plain() */
void metrics_running(const char *root, bool running, __u64 cpu_ns, __u64 lost);

struct fleet;

/**
 * metrics_fleet() - the families about cgroups, of those that have figures
 * @filter: which classes
 */
void metrics_fleet(const struct fleet *fleet, const struct filter *filter);

/** metrics_end() - nothing follows */
void metrics_end(void);

#endif /* WSMO_OPENMETRICS_H */
