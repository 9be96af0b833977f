// SPDX-License-Identifier: GPL-2.0
/*
 * grid.c - the grid of "wsmo report heatmap"
 */
#include <stdlib.h>
#include <string.h>

#include "grid.h"

static __u64 span_bytes(const struct span *s)
{
	return s->end - s->start;
}

/* A band for each span */
static int one_each(struct heatmap *h)
{
	const struct span *s = h->spans.span;
	size_t i;

	h->bands = calloc(h->spans.nr ? h->spans.nr : 1, sizeof(*h->bands));
	if (!h->bands)
		return -1;
	h->nr_bands = h->spans.nr;
	for (i = 0; i < h->nr_bands; i++)
		h->bands[i] = (struct band) {
			.first = i, .last = i, .label = i,
			.bytes = span_bytes(&s[i]),
			.gap = i ? s[i].start - s[i - 1].end : 0,
		};
	return 0;
}

static void join(struct heatmap *h, size_t i)
{
	struct band *b = &h->bands[i], *next = b + 1;

	if (span_bytes(&h->spans.span[next->label]) >
	    span_bytes(&h->spans.span[b->label]))
		b->label = next->label;
	b->last = next->last;
	b->bytes += next->bytes;
	h->nr_bands--;
	memmove(next, next + 1, (h->nr_bands - i - 1) * sizeof(*b));
}

/* What it costs to show a band with the one below it: detail, and the gap */
static __u64 join_cost(const struct band *b)
{
	__u64 less = b->bytes < b[-1].bytes ? b->bytes : b[-1].bytes;

	return b->gap > ~0ULL - less ? ~0ULL : b->gap + less;
}

/* Does a line tell of the gap below the band? If it is worth that line. */
static bool folds(const struct band *b, __u64 line_bytes)
{
	return b->gap && b->gap >= line_bytes;
}

static void join_cheapest(struct heatmap *h)
{
	size_t i, best = 1;

	for (i = 2; i < h->nr_bands; i++)
		if (join_cost(&h->bands[i]) < join_cost(&h->bands[best]))
			best = i;
	join(h, best - 1);
}

static __u64 all_bytes(const struct heatmap *h)
{
	__u64 sum = 0;
	size_t i;

	for (i = 0; i < h->nr_bands; i++)
		sum += h->bands[i].bytes;
	return sum;
}

/*
 * Joins bands until they and the folds need no more than @most lines, then
 * marks the folds. Return: lines for folds
 */
static unsigned int fit(struct heatmap *h, unsigned int most, __u64 line_bytes)
{
	unsigned int nr_folds;
	size_t i;

	for (;;) {
		nr_folds = 0;
		for (i = 1; i < h->nr_bands; i++)
			nr_folds += folds(&h->bands[i], line_bytes);
		if (h->nr_bands < 2 || h->nr_bands + nr_folds <= most)
			break;
		join_cheapest(h);
	}
	for (i = 0; i < h->nr_bands; i++)
		h->bands[i].fold = i && folds(&h->bands[i], line_bytes);
	return nr_folds;
}

/* Each further line goes to the band whose lines stand for the most bytes. */
static void share_lines(struct heatmap *h, unsigned int lines)
{
	size_t i, best;

	for (i = 0; i < h->nr_bands; i++)
		h->bands[i].lines = 1;
	for (lines -= h->nr_bands; lines; lines--) {
		for (best = 0, i = 1; i < h->nr_bands; i++)
			if (h->bands[i].bytes / h->bands[i].lines >
			    h->bands[best].bytes / h->bands[best].lines)
				best = i;
		if (h->bands[best].bytes / h->bands[best].lines <= h->page_size)
			break;
		h->bands[best].lines++;
	}
}

/* Set the place of each span in its band, count gaps that are not shown */
static void settle(struct heatmap *h, __u64 line_bytes)
{
	struct span *s = h->spans.span;
	size_t i, j;

	h->unfolded = 0;
	for (i = 0; i < h->nr_bands; i++) {
		s[h->bands[i].first].offset = 0;
		for (j = h->bands[i].first + 1; j <= h->bands[i].last; j++) {
			s[j].offset = s[j - 1].offset + span_bytes(&s[j - 1]);
			h->unfolded += s[j].start - s[j - 1].end >= line_bytes;
		}
	}
}

int heatmap_layout(struct heatmap *h, unsigned int columns, unsigned int lines,
		   unsigned int fine)
{
	unsigned int nr_folds, line = 0;
	__u64 line_bytes;
	size_t i;

	if (one_each(h))
		return -1;
	line_bytes = all_bytes(h) / lines + 1;
	/* a third is for showing large bands at length */
	nr_folds = fit(h, lines - lines / 3, line_bytes);
	share_lines(h, lines - nr_folds);
	settle(h, line_bytes);
	for (i = 0; i < h->nr_bands; i++) {
		line += h->bands[i].fold;
		h->bands[i].line = line;
		line += h->bands[i].lines;
	}
	h->columns = columns;
	h->lines = line;
	h->fine = fine;
	h->cells = calloc((size_t)columns * line * fine, sizeof(*h->cells));
	return h->cells ? 0 : -1;
}

/* Adds to one row, from time @t0 to @t1 in columns */
static void add_row(struct heatmap *h, unsigned int row, double t0, double t1,
		    double bytes, double share)
{
	struct heatmap_cell *cell = h->cells + (size_t)row * h->columns;
	unsigned int c;

	for (c = t0; c < h->columns && c < t1; c++) {
		double left = t0 > c ? t0 : c;
		double right = t1 < c + 1 ? t1 : c + 1;

		cell[c].bytes += (right - left) * bytes;
		cell[c].accessed += (right - left) * bytes * share;
	}
}

static const struct band *band_of(const struct heatmap *h, size_t span)
{
	size_t low = 0, high = h->nr_bands - 1;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (h->bands[mid].last < span)
			low = mid + 1;
		else
			high = mid;
	}
	return &h->bands[low];
}

/* Adds the part of a span from byte @a to byte @z of what its band has mapped */
static void add_bytes(struct heatmap *h, const struct band *b, double t0,
		      double t1, __u64 a, __u64 z, double share)
{
	unsigned int steps = b->lines * h->fine, step;
	double per = (double)b->bytes / steps;

	for (step = a / per; step < steps && step * per < z; step++) {
		double low = a > step * per ? a : step * per;
		double high = z < (step + 1) * per ? z : (step + 1) * per;

		if (high > low)
			add_row(h, b->line * h->fine + step, t0, t1,
				high - low, share);
	}
}

void heatmap_add(struct heatmap *h, __u64 from_ns, __u64 to_ns, __u64 start,
		 __u64 end, double share)
{
	double scale = h->columns / (double)(h->to_ns - h->from_ns);
	size_t i = spans_find(&h->spans, start);

	if (from_ns < h->from_ns)
		from_ns = h->from_ns;
	if (to_ns > h->to_ns)
		to_ns = h->to_ns;
	if (from_ns >= to_ns)
		return;
	for (; i < h->spans.nr && h->spans.span[i].start < end; i++) {
		const struct span *s = &h->spans.span[i];
		__u64 a = start > s->start ? start : s->start;
		__u64 z = end < s->end ? end : s->end;

		add_bytes(h, band_of(h, i), (from_ns - h->from_ns) * scale,
			  (to_ns - h->from_ns) * scale, s->offset + a - s->start,
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

__u64 heatmap_time(const struct heatmap *h, unsigned int column)
{
	return h->from_ns + (double)(h->to_ns - h->from_ns) * column /
	       h->columns;
}

__u64 heatmap_address(const struct heatmap *h, const struct band *b,
		      unsigned int step)
{
	__u64 offset = (double)b->bytes * step / (b->lines * h->fine);
	size_t i = b->last;

	while (h->spans.span[i].offset > offset)
		i--;
	return h->spans.span[i].start + offset - h->spans.span[i].offset;
}

__u64 heatmap_line_bytes(const struct heatmap *h)
{
	__u64 most = 0;
	size_t i;

	for (i = 0; i < h->nr_bands; i++)
		if (h->bands[i].bytes / h->bands[i].lines > most)
			most = h->bands[i].bytes / h->bands[i].lines;
	return most;
}

void heatmap_free(struct heatmap *h)
{
	spans_free(&h->spans);
	free(h->bands);
	free(h->cells);
}
