// SPDX-License-Identifier: GPL-2.0
/* grid.c - heatmaps: mapped addresses, and the share of them accessed over time */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "grid.h"
#include "libwsmon/events.h"
#include "libwsmon/fine.h"
#include "libwsmon/mappings.h"
#include "libwsmon/sorted.h"

/*
 * The grid of one target
 */

static __u64 range_bytes(const struct range *s)
{
	return s->end - s->start;
}

/* Makes a section for each range */
static void one_each(struct heatmap *h)
{
	const struct range *s = h->ranges.range;
	size_t i;

	h->sections = need(calloc(h->ranges.nr + 1, sizeof(*h->sections)));
	h->nr_sections = h->ranges.nr;
	for (i = 0; i < h->nr_sections; i++)
		h->sections[i] = (struct section) {
			.first = i, .last = i, .label = i,
			.bytes = range_bytes(&s[i]),
			.gap = i ? s[i].start - s[i - 1].end : 0,
		};
}

static void join(struct heatmap *h, size_t i)
{
	struct section *b = &h->sections[i], *next = b + 1;

	if (range_bytes(&h->ranges.range[next->label]) >
	    range_bytes(&h->ranges.range[b->label]))
		b->label = next->label;
	b->last = next->last;
	b->bytes += next->bytes;
	h->nr_sections--;
	memmove(next, next + 1, (h->nr_sections - i - 1) * sizeof(*b));
}

/*
 * Return: cost of joining a section with the section below it: the bytes of the smaller one, whose
 * details are hidden, plus the gap between them
 */
static __u64 join_cost(const struct section *b)
{
	__u64 less = b->bytes < b[-1].bytes ? b->bytes : b[-1].bytes;

	return b->gap > ~0ULL - less ? ~0ULL : b->gap + less;
}

/* Return: true if a line shows the gap below the section, because the gap is as large as a line */
static bool folds(const struct section *b, __u64 line_bytes)
{
	return b->gap && b->gap >= line_bytes;
}

static void join_cheapest(struct heatmap *h)
{
	size_t i, best = 1;

	for (i = 2; i < h->nr_sections; i++)
		if (join_cost(&h->sections[i]) < join_cost(&h->sections[best]))
			best = i;
	join(h, best - 1);
}

__u64 heatmap_mapped(const struct heatmap *h)
{
	__u64 sum = 0;
	size_t i;

	for (i = 0; i < h->nr_sections; i++)
		sum += h->sections[i].bytes;
	return sum;
}

/*
 * Joins sections until they and the folds fit into @max lines, then marks the folds. Return: number
 * of folds
 */
static unsigned int fit(struct heatmap *h, unsigned int max, __u64 line_bytes)
{
	unsigned int nr_folds;
	size_t i;

	for (;;) {
		nr_folds = 0;
		for (i = 1; i < h->nr_sections; i++)
			nr_folds += folds(&h->sections[i], line_bytes);
		if (h->nr_sections < 2 || h->nr_sections + nr_folds <= max)
			break;
		join_cheapest(h);
	}
	for (i = 0; i < h->nr_sections; i++)
		h->sections[i].fold = i && folds(&h->sections[i], line_bytes);
	return nr_folds;
}

/* Gives each remaining line to the section in which a line represents the most bytes */
static void share_lines(struct heatmap *h, unsigned int lines)
{
	size_t i, best;

	for (i = 0; i < h->nr_sections; i++)
		h->sections[i].lines = 1;
	for (lines -= h->nr_sections; lines; lines--) {
		for (best = 0, i = 1; i < h->nr_sections; i++)
			if (h->sections[i].bytes / h->sections[i].lines >
			    h->sections[best].bytes / h->sections[best].lines)
				best = i;
		if (h->sections[best].bytes / h->sections[best].lines <= h->page_size)
			break;
		h->sections[best].lines++;
	}
}

/* Sets the place of each range in its section, and counts gaps that are not shown */
static void settle(struct heatmap *h, __u64 line_bytes)
{
	struct range *s = h->ranges.range;
	size_t i, j;

	h->unfolded = 0;
	for (i = 0; i < h->nr_sections; i++) {
		s[h->sections[i].first].offset = 0;
		for (j = h->sections[i].first + 1; j <= h->sections[i].last; j++) {
			s[j].offset = s[j - 1].offset + range_bytes(&s[j - 1]);
			h->unfolded += s[j].start - s[j - 1].end >= line_bytes;
		}
	}
}

/**
 * heatmap_layout() - divide the lines among the mapped ranges, clear the cells
 * @columns:	cells from left to right
 * @lines:	maximum number of lines, at least 3
 * @fine:	cells in a line
 */
static void heatmap_layout(struct heatmap *h, unsigned int columns, unsigned int lines,
			   unsigned int fine)
{
	unsigned int nr_folds, line = 0;
	__u64 line_bytes;
	size_t i;

	one_each(h);
	line_bytes = heatmap_mapped(h) / lines + 1;
	/* a third of the lines is kept for large sections */
	nr_folds = fit(h, lines - lines / 3, line_bytes);
	share_lines(h, lines - nr_folds);
	settle(h, line_bytes);
	for (i = 0; i < h->nr_sections; i++) {
		line += h->sections[i].fold;
		h->sections[i].line = line;
		line += h->sections[i].lines;
	}
	h->columns = columns;
	h->lines = line;
	h->fine = fine;
	h->cells = need(calloc((size_t)columns * line * fine + 1, sizeof(*h->cells)));
	h->watched = need(calloc(columns, sizeof(*h->watched)));
}

/** struct span - a time interval, in columns of a map */
struct span {
	double begin, end;
};

/* Gets the part of a time interval that is on the map. Return: false if no part is */
static bool clip_time(const struct heatmap *h, __u64 from_ns, __u64 to_ns, struct span *s)
{
	double scale = h->columns / (double)(h->to_ns - h->from_ns);

	if (from_ns < h->from_ns)
		from_ns = h->from_ns;
	if (to_ns > h->to_ns)
		to_ns = h->to_ns;
	if (from_ns >= to_ns)
		return false;
	s->begin = (from_ns - h->from_ns) * scale;
	s->end = (to_ns - h->from_ns) * scale;
	return true;
}

bool heatmap_watched(const struct heatmap *h, unsigned int column)
{
	return h->watched[column] > 0;
}

/* Adds bytes to one row */
static void add_row(struct heatmap *h, unsigned int row, const struct span *s, double bytes,
		    double share)
{
	struct heatmap_cell *cell = h->cells + (size_t)row * h->columns;
	unsigned int c;

	for (c = s->begin; c < h->columns && c < s->end; c++) {
		double left = s->begin > c ? s->begin : c;
		double part = (s->end < c + 1 ? s->end : c + 1) - left;

		cell[c].bytes += part * bytes;
		cell[c].accessed += part * bytes * share;
	}
}

static const struct section *section_of(const struct heatmap *h, size_t range)
{
	size_t low = 0, high = h->nr_sections - 1;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (h->sections[mid].last < range)
			low = mid + 1;
		else
			high = mid;
	}
	return &h->sections[low];
}

/* Adds the bytes @a to @z, counted in the mapped bytes of the section */
static void add_bytes(struct heatmap *h, const struct section *b, const struct span *s,
		      __u64 a, __u64 z, double share)
{
	unsigned int steps = b->lines * h->fine, step;
	double per = (double)b->bytes / steps;

	for (step = a / per; step < steps && step * per < z; step++) {
		double low = a > step * per ? a : step * per;
		double high = z < (step + 1) * per ? z : (step + 1) * per;

		if (high > low)
			add_row(h, b->line * h->fine + step, s, high - low, share);
	}
}

/* Adds a region of which @share was accessed in the time interval */
static void heatmap_add(struct heatmap *h, const struct span *time, __u64 start, __u64 end,
			double share)
{
	size_t i = ranges_find(&h->ranges, start);

	for (; i < h->ranges.nr && h->ranges.range[i].start < end; i++) {
		const struct range *s = &h->ranges.range[i];
		__u64 a = start > s->start ? start : s->start;
		__u64 z = end < s->end ? end : s->end;

		add_bytes(h, section_of(h, i), time, s->offset + a - s->start,
			  s->offset + z - s->start, share);
	}
}

double heatmap_share(const struct heatmap *h, unsigned int row,
		     unsigned int column)
{
	const struct heatmap_cell *c = h->cells + (size_t)row * h->columns +
				       column;

	return c->bytes > 0 ? c->accessed / c->bytes : -1;
}

__u64 heatmap_address(const struct heatmap *h, const struct section *b,
		      unsigned int step)
{
	__u64 offset = (double)b->bytes * step / (b->lines * h->fine);
	size_t i = b->last;

	while (h->ranges.range[i].offset > offset)
		i--;
	return h->ranges.range[i].start + offset - h->ranges.range[i].offset;
}

const char *heatmap_name(char *buf, const struct heatmap *h,
			 const struct section *b)
{
	char more[24] = "";

	if (b->last > b->first)
		snprintf(more, sizeof(more), " +%zu", b->last - b->first);
	snprintf(buf, HEATMAP_NAME, "%.200s%s", base_name(h->ranges.range[b->label].name), more);
	return buf;
}

/** heatmap_free() - free the contents of a map */
static void heatmap_free(struct heatmap *h)
{
	ranges_free(&h->ranges);
	free(h->sections);
	free(h->cells);
	free(h->watched);
}

/*
 * The heatmaps of a recording's targets, made in two readings
 */

#define MAPS_MAX	1024	/* maps of one recording */

struct maps *maps_new(struct report *rp, const struct maps_options *options)
{
	struct maps *m = need(calloc(1, sizeof(*m)));

	m->options = options;
	rp->reader.areas = need(areas_new());
	if (options->fine)
		m->fine = need(fine_new(rp->reader.header.page_size));
	m->from_ns = ~0ULL;
	m->targets = SORTED(struct heatmap, MAPS_MAX, order_u32);
	return m;
}

static struct heatmap *target_of(struct maps *m, __u32 pid)
{
	const struct heatmap key = { .pid = pid };

	return sorted_get(&m->targets, &key);
}

/* Gets the wanted part of a region. Return: false if there is none */
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
		/* adjacent wanted regions of an area form one range */
		if (i + 1 < s->nr && e[1].start == end && end < m->options->to &&
		    e[1].area == e->area && e[1].class == e->class)
			continue;
		ranges_add(&h->ranges, begin, stop, e->class,
			  wsmon_area_path(&rp->reader, s->pid, e->area));
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
	if (rec->type == WSMON_REC_SNAPSHOT && filter_wants(&rp->filter, rec))
		scan_snapshot(m, rp, (const void *)rec);
	else if (rec->type == WSMON_REC_TARGET) {
		h = target_of(m, target->pid);
		if (h)
			memcpy(h->comm, target->comm, sizeof(h->comm));
	}
}

/* Drops targets without mapped memory. Return: number of targets left */
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

/*
 * Sets the times of the maps; a map does not begin before the recording or --time, even if the
 * first interval does
 */
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
		heatmap_layout(h, columns, lines, fine);
		if (h->ranges.full)
			msg("process %u has too many mappings: some are left out; choose with --address or --class",
			    h->pid);
	}
}

/**
 * struct drawing - a snapshot being drawn
 * @rp:	the run of the report
 * @opt: parameters of the maps
 * @h:	the map
 * @time: the interval of the snapshot
 */
struct drawing {
	const struct report *rp;
	const struct maps_options *opt;
	struct heatmap *h;
	struct span time;
};

static void draw_region(void *arg, const struct wsmon_region_entry *e)
{
	const struct drawing *d = arg;
	__u64 start, end;

	if (clip(d->rp, d->opt, e, &start, &end))
		heatmap_add(d->h, &d->time, start, end, (double)e->share / WSMON_SHARE_ONE);
}

static void draw_snapshot(struct maps *m, const struct report *rp,
			  const struct wsmon_rec_snapshot *s)
{
	const struct heatmap key = { .pid = s->pid };
	struct drawing d = { rp, m->options, sorted_find(&m->targets, &key), { 0, 0 } };
	__u32 i, c;

	if (!d.h)
		return;
	if (clip_time(d.h, interval_begin(s), s->rec.time_ns, &d.time))
		for (c = d.time.begin; c < d.h->columns && c < d.time.end; c++)
			d.h->watched[c] += fmin(d.time.end, c + 1) - fmax(d.time.begin, c);
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
	if (m->fine && fine_full(m->fine))
		msg("too many processes or regions for --fine: some are not divided");
	fine_free(m->fine);
	collect_events_free(&m->events);
	free(m);
}
