// SPDX-License-Identifier: GPL-2.0
/*
 * maps.c - the heatmaps of a recording's targets, made in two readings
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "maps.h"
#include "report/collect.h"

#define TARGETS_MAX	1024	/* in one file */

struct maps *maps_new(const struct report *rp, const struct maps_options *options)
{
	struct maps *m = need(calloc(1, sizeof(*m)));

	m->options = options;
	m->areas = need(areas_new());
	if (options->fine)
		m->fine = need(fine_new(rp->reader.header.page_size));
	m->from_ns = ~0ULL;
	m->targets = (struct sorted) {
		.size = sizeof(struct heatmap), .max = TARGETS_MAX,
		.compare = compare_pids,
	};
	return m;
}

static struct heatmap *target_of(struct maps *m, __u32 pid)
{
	const struct heatmap key = { .pid = pid };

	return sorted_get(&m->targets, &key);
}

/* The part of a region that is wanted; Return: whether there is any */
static bool clip(const struct report *rp, const struct maps_options *opt,
		 const struct wsmon_region_entry *e, __u64 *start, __u64 *end)
{
	if (!filter_wants_class(&rp->filter, e->class))
		return false;
	*start = e->start > opt->from ? e->start : opt->from;
	*end = e->end < opt->to ? e->end : opt->to;
	return *start < *end;
}

static __u64 interval_begin(const struct wsmon_rec_snapshot *s)
{
	return s->interval_ns < s->rec.time_ns ?
	       s->rec.time_ns - s->interval_ns : 0;
}

static void scan_snapshot(struct maps *m, const struct report *rp,
			  const struct wsmon_rec_snapshot *s)
{
	struct heatmap *h = target_of(m, s->pid);
	__u64 start, end, begin = 0, stop = 0;
	__u32 i;

	if (!h)
		return;
	if (interval_begin(s) < m->from_ns)
		m->from_ns = interval_begin(s);
	if (s->rec.time_ns > m->to_ns)
		m->to_ns = s->rec.time_ns;
	for (i = 0; i < s->nr; i++) {
		const struct wsmon_region_entry *e = &s->regions[i];

		if (!clip(rp, m->options, e, &start, &end))
			continue;
		if (begin == stop)
			begin = start;
		stop = end;
		/* regions of an area that touch are one range, if they are wanted */
		if (i + 1 < s->nr && e[1].start == end && end < m->options->to &&
		    e[1].area == e->area && e[1].class == e->class)
			continue;
		ranges_add(&h->ranges, begin, stop, e->class,
			  areas_path(m->areas, s->pid, e->area));
		begin = stop;
	}
}

void maps_scan(struct maps *m, const struct report *rp,
	       const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	struct heatmap *h;

	if (filter_wants(&rp->filter, rec))
		events_add(&m->events, rec);
	m->events.interval_ns = rp->reader.header.attrs.aggr_us * 1000;
	if (rec->type == WSMON_REC_AREA)
		areas_add(m->areas, (const void *)rec);
	else if (rec->type == WSMON_REC_SNAPSHOT && filter_wants(&rp->filter, rec))
		scan_snapshot(m, rp, (const void *)rec);
	else if (rec->type == WSMON_REC_TARGET) {
		h = target_of(m, target->pid);
		if (h)
			memcpy(h->comm, target->comm, sizeof(h->comm));
	}
}

/* Keep the targets of which anything was mapped; Return: how many */
static size_t drop_empty(struct maps *m)
{
	struct heatmap *h = m->targets.base;
	size_t i, n = 0;

	for (i = 0; i < m->targets.nr; i++)
		if (h[i].ranges.nr)
			h[n++] = h[i];
	m->targets.nr = n;
	return n;
}

/* A map begins with the first interval, or in it, when the recording or --time begins */
static void set_times(const struct report *rp, struct maps *m)
{
	__u64 zero = rp->reader.header.mono_ns;
	__s64 begin = rp->filter.from_ns > 0 ? rp->filter.from_ns : 0;

	if ((__s64)(m->from_ns - zero) < begin && begin < (__s64)(m->to_ns - zero))
		m->from_ns = zero + begin;
	if (m->to_ns <= m->from_ns)
		m->to_ns = m->from_ns + 1;
}

size_t maps_scanned(struct maps *m, const struct report *rp)
{
	set_times(rp, m);
	return drop_empty(m);
}

void maps_layout(struct maps *m, const struct report *rp, unsigned int columns,
		 unsigned int lines, unsigned int fine)
{
	size_t i;

	for (i = 0; i < m->targets.nr; i++) {
		struct heatmap *h = (struct heatmap *)m->targets.base + i;

		h->from_ns = m->from_ns;
		h->to_ns = m->to_ns;
		h->page_size = rp->reader.header.page_size;
		if (heatmap_layout(h, columns, lines, fine))
			need(NULL);
		if (h->ranges.full)
			msg("process %u has too many mappings: some are left out; choose with --address or --class",
			    h->pid);
	}
}

/**
 * struct drawing - a snapshot being drawn
 * @rp:	the run of the report
 * @opt: what to draw
 * @s:	the snapshot
 * @h:	the map
 */
struct drawing {
	const struct report *rp;
	const struct maps_options *opt;
	const struct wsmon_rec_snapshot *s;
	struct heatmap *h;
};

static void draw_region(void *arg, const struct wsmon_region_entry *e)
{
	const struct drawing *d = arg;
	__u64 start, end;

	if (clip(d->rp, d->opt, e, &start, &end))
		heatmap_add(d->h, interval_begin(d->s), d->s->rec.time_ns, start,
			    end, (double)e->share / WSMON_SHARE_ONE);
}

static void draw_snapshot(struct maps *m, const struct report *rp,
			  const struct wsmon_rec_snapshot *s)
{
	const struct heatmap key = { .pid = s->pid };
	struct drawing d = { rp, m->options, s, sorted_find(&m->targets, &key) };
	__u32 i;

	if (!d.h)
		return;
	heatmap_watch(d.h, interval_begin(s), s->rec.time_ns);
	if (m->fine) {
		fine_snapshot(m->fine, s, draw_region, &d);
		return;
	}
	for (i = 0; i < s->nr; i++)
		draw_region(&d, &s->regions[i]);
}

void maps_record(struct maps *m, const struct report *rp,
		 const struct wsmon_record *rec)
{
	if (rec->type != WSMON_REC_SNAPSHOT) {
		if (m->fine)
			fine_note(m->fine, rec);
	} else if (filter_wants(&rp->filter, rec)) {
		draw_snapshot(m, rp, (const void *)rec);
	}
}

void maps_free(struct maps *m)
{
	size_t i;

	for (i = 0; i < m->targets.nr; i++)
		heatmap_free((struct heatmap *)m->targets.base + i);
	free(m->targets.base);
	areas_free(m->areas);
	if (m->fine && fine_full(m->fine))
		msg("too many processes or regions for --fine: some are not divided");
	fine_free(m->fine);
	events_free(&m->events);
	free(m);
}
