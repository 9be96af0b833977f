// SPDX-License-Identifier: GPL-2.0
/*
 * metrics.c - the metrics, and how OpenMetrics 1.0 and Prometheus write them
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "fleet.h"
#include "libwsmon/names.h"
#include "metrics.h"
#include "report/collect.h"

/* The first ones are those of cgroups, too */
#define FLEET_FAMILIES	3

/* Families with a sample for each row: the name, and the offset of its value */
static const struct family {
	const char *name;
	const char *help;
	size_t offset;
	bool classes;
} wss_families[] = {
	{ "wsmon_working_set_bytes", "Memory accessed within the window (seconds), estimate.",
	  offsetof(struct wsmon_wss_row, bytes), true },
	{ "wsmon_working_set_low_bytes", "Lower end of its 95 % interval.",
	  offsetof(struct wsmon_wss_row, low), true },
	{ "wsmon_working_set_high_bytes", "Upper end of its 95 % interval.",
	  offsetof(struct wsmon_wss_row, high), true },
	{ "wsmon_mapped_bytes", "Memory mapped.",
	  offsetof(struct wsmon_wss_row, mapped), true },
}, rss_family = {
	"wsmon_resident_bytes", "Memory resident.",
	offsetof(struct wsmon_wss_row, bytes), false,
};

static bool prometheus;

void metrics_prometheus(void)
{
	prometheus = true;
}

/* Prometheus takes the name of the samples for a counter's, and no unit */
static void head(const char *name, bool counter, const char *unit, const char *help)
{
	const char *suffix = prometheus && counter ? "_total" : "";

	printf("# TYPE %s%s %s\n", name, suffix, counter ? "counter" : "gauge");
	if (unit && !prometheus)
		printf("# UNIT %s %s\n", name, unit);
	printf("# HELP %s%s %s\n", name, suffix, help);
}

/* Escapes quotes and backslashes */
static void put_label(const char *text)
{
	char clean[4 * GROUP_PATH];
	const char *s = text_clean(clean, sizeof(clean), text);

	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

/* The labels all samples have; others may follow */
static void put_target(const char *name, __u32 pid, const char *comm)
{
	printf("%s{pid=\"%u\",comm=\"", name, pid);
	put_label(comm);
	putchar('"');
}

static void sample(const struct family *f, const struct wsmon_wss_row *row,
		   const struct sorted *names, const struct metrics_group *group,
		   __u64 mono_ns, __u64 real_ns)
{
	const struct wss_name key = { .pid = row->pid };
	const struct wss_name *name = row->group ? NULL : sorted_find(names, &key);

	if (row->group) {
		printf("%s{%s=\"", f->name, group->cgroup ? "cgroup" : "group");
		put_label(group->name);
		putchar('"');
	} else {
		put_target(f->name, row->pid, name ? name->comm : "");
	}
	if (f->classes)
		printf(",class=\"%s\",window=\"%.15g\"",
		       class_name(row->class), row->window_us / 1e6);
	printf("} %llu", *(const __u64 *)((const char *)row + f->offset));
	if (mono_ns)
		printf(" %.3f", (real_ns + (row->time_ns - mono_ns)) / 1e9);
	putchar('\n');
}

static void family(const struct family *f, const struct wsmon_wss_rows *rows,
		   const struct sorted *names, const struct metrics_group *group,
		   __u64 mono_ns, __u64 real_ns)
{
	size_t i;

	head(f->name, false, "bytes", f->help);
	for (i = 0; i < rows->nr; i++)
		sample(f, &rows->row[i], names, group, mono_ns, real_ns);
}

void metrics_wss(const struct wsmon_wss_rows *rows, const struct sorted *names,
		 const struct metrics_group *group, __u64 mono_ns, __u64 real_ns)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wss_families); i++)
		family(&wss_families[i], rows, names, group, mono_ns, real_ns);
}

void metrics_rss(const struct wsmon_wss_rows *rows, const struct sorted *names,
		 __u64 mono_ns, __u64 real_ns)
{
	family(&rss_family, rows, names, NULL, mono_ns, real_ns);
}

/**
 * struct value - a sample of a series that is to be printed
 * @name:	the target
 * @group:	of peaks, or WSMON_PEAK_GROUPS: it counts those of all groups
 * @ms:		since 1970; 0 is now, without a time
 * @value:	the latest of that time
 * @there:	there is one
 */
struct value {
	const struct wss_name *name;
	__u32 group;
	__u64 ms;
	int value;
	bool there;
};

static void put_value(const struct value *v)
{
	bool count = v->group == WSMON_PEAK_GROUPS;

	if (!v->there)
		return;
	put_target(count ? "wsmon_peaks_total" : "wsmon_peak", v->name->pid,
		   v->name->comm);
	if (!count)
		printf(",group=\"%s\"", peak_group_name(v->group));
	printf("} %d", v->value);
	if (v->ms)
		printf(" %llu.%03llu", v->ms / 1000, v->ms % 1000);
	putchar('\n');
}

/* The last value of a time is its sample */
static void next_value(struct value *v, __u64 ms, int value)
{
	if (v->ms != ms)
		put_value(v);
	v->ms = ms;
	v->value = value;
	v->there = true;
}

/* @offset_ns: from the records' clock to time since 1970; 0 is figures of now */
static void put_peaks(const struct events *ev, const struct wss_name *name,
		      __u32 group, __s64 offset_ns)
{
	struct value v = { .name = name, .group = group };
	const struct peak *p;
	size_t i;

	if (!offset_ns)
		next_value(&v, 0, 0);
	for (i = events_first(ev, name->pid, 0); (p = events_peak_at(ev, i)) && p->pid == name->pid; i++) {
		__u64 start = offset_ns ? (p->start_ns + offset_ns) / NSEC_PER_MSEC : 0;
		__u64 end = offset_ns ? (p->end_ns + offset_ns) / NSEC_PER_MSEC : 0;

		/* its number is that among the target's peaks of all groups */
		if (group == WSMON_PEAK_GROUPS)
			next_value(&v, start, p->number);
		if (p->group != group)
			continue;
		next_value(&v, start, p->sign);
		if (p->end_ns)
			next_value(&v, end, 0);
	}
	put_value(&v);
}

void metrics_peaks(const struct events *ev, const struct sorted *names,
		   __u64 mono_ns, __u64 real_ns)
{
	const struct wss_name *name = names->base;
	__s64 offset_ns = mono_ns ? real_ns - mono_ns : 0;
	__u32 group;
	size_t i;

	head("wsmon_peaks", true, NULL, "Peaks of the working set so far.");
	for (i = 0; i < names->nr; i++)
		put_peaks(ev, &name[i], WSMON_PEAK_GROUPS, offset_ns);
	head("wsmon_peak", false, NULL,
	     "1 while more is used than usual, -1 while less, else 0.");
	for (i = 0; i < names->nr; i++)
		for (group = 0; group < WSMON_PEAK_GROUPS; group++)
			put_peaks(ev, &name[i], group, offset_ns);
}

void metric_plain(const char *name, const char *unit, bool counter,
		  const char *help, const char *root, double value)
{
	head(name, counter, unit, help);
	printf("%s%s", name, counter ? "_total" : "");
	if (root) {
		fputs("{root=\"", stdout);
		put_label(root);
		fputs("\"}", stdout);
	}
	printf(" %.15g\n", value);
}

void metrics_running(const char *root, bool running, __u64 cpu_ns, __u64 lost)
{
	metric_plain("wsmon_monitoring", NULL, false, "Whether monitoring runs.", root, running);
	metric_plain("wsmon_cpu_seconds", "seconds", true,
		     "CPU time of the kernel threads since monitoring started.", root, cpu_ns / 1e9);
	metric_plain("wsmon_lost_records", NULL, true,
		     "Records that found no room in the buffer since then.", root, lost);
}

static void put_cgroup(const char *name, const struct watched *w)
{
	printf("%s{cgroup=\"", name);
	put_label(w->session.cgroup);
	fputs("\"} ", stdout);
}

/* A family with the working set sizes of each cgroup that has figures */
static void fleet_family(const struct family *f, const struct fleet *fleet,
			 const struct filter *filter)
{
	struct watched * const *w = fleet->list.base;
	size_t i, j;

	head(f->name, false, "bytes", f->help);
	for (i = 0; i < fleet->list.nr; i++) {
		const struct metrics_group group = { w[i]->session.cgroup, .cgroup = true };

		for (j = 0; j < w[i]->rows.nr; j++)
			if (filter_wants_class(filter, w[i]->rows.row[j].class))
				sample(f, &w[i]->rows.row[j], NULL, &group, 0, 0);
	}
}

void metrics_fleet(const struct fleet *fleet, const struct filter *filter)
{
	struct watched * const *w = fleet->list.base;
	size_t i;

	for (i = 0; i < FLEET_FAMILIES; i++)
		fleet_family(&wss_families[i], fleet, filter);
	head(rss_family.name, false, "bytes", rss_family.help);
	for (i = 0; i < fleet->list.nr; i++) {
		if (!w[i]->time_ms || !w[i]->resident)
			continue;
		put_cgroup(rss_family.name, w[i]);
		printf("%llu\n", w[i]->resident);
	}
	head("wsmon_processes", false, NULL,
	     "Processes of the cgroup when its working set was estimated.");
	for (i = 0; i < fleet->list.nr; i++) {
		if (!w[i]->time_ms)
			continue;
		put_cgroup("wsmon_processes", w[i]);
		printf("%u\n", w[i]->processes);
	}
	head("wsmon_guests", false, NULL,
	     "Virtual machines: what only their guests access reads as idle. Without any: no sample.");
	for (i = 0; i < fleet->list.nr; i++) {
		if (!w[i]->time_ms || !w[i]->guests)
			continue;
		put_cgroup("wsmon_guests", w[i]);
		printf("%zu\n", w[i]->guests);
	}
	head("wsmon_estimate_timestamp_seconds", false, "seconds",
	     "When the working set of the cgroup was estimated, since 1970.");
	for (i = 0; i < fleet->list.nr; i++) {
		if (!w[i]->time_ms)
			continue;
		put_cgroup("wsmon_estimate_timestamp_seconds", w[i]);
		printf("%llu.%03llu\n", w[i]->time_ms / 1000, w[i]->time_ms % 1000);
	}
}

void metrics_end(void)
{
	puts("# EOF");
}
