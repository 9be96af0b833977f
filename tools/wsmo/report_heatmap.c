// SPDX-License-Identifier: GPL-2.0
/*
 * report_heatmap.c - "wsmo report heatmap": which addresses were accessed when
 *
 * The file is read twice: what was mapped in all of it decides what a cell
 * stands for. So memory depends on the picture, not on the file's length.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "areas.h"
#include "heatmap_view.h"
#include "names.h"
#include "report.h"
#include "sorted.h"
#include "units.h"
#include "wsmo.h"

#define TARGETS_MAX	1024	/* in one file */
#define PICTURES_MAX	8	/* in one picture */

/* Cells for --json and the like */
#define TABLE_COLUMNS_OF_CELLS	80
#define TABLE_LINES		40
#define LEAST_HEIGHT	300	/* of a map in a picture */

/* Lines of text around the lines of a map, the prompt among them */
#define AROUND		7

enum { T, T_END, PID, CLASS, START, END, SHARE, PATH };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0, "when the cell begins, seconds since the recording began" },
	[T_END]	= { "t_end", "TO", COL_T, 8, 0, "when it ends" },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of most of its memory" },
	[START]	= { "start", "START", COL_ADDR, 14, 0, "first address; what is not mapped does not count" },
	[END]	= { "end", "END", COL_ADDR, 14, 0, "address behind the last one" },
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0, "share of its pages accessed within an aggregation interval" },
	[PATH]	= { "path", "MAPPING", COL_TEXT, 8, NOT_JSON, "name of the mapping that most of it is" },
};

static const struct table_desc desc = {
	.type = "cell", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const struct table_desc * const tables[] = { &desc };

struct maps {
	struct sorted targets;
	struct areas *areas;
	__u64 from_ns;
	__u64 to_ns;
};

static int compare(const void *a, const void *b)
{
	const struct heatmap *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void out_of_memory(void)
{
	msg("out of memory");
	exit(WSMO_FAILURE);
}

static void heatmap_begin(struct report *rp)
{
	struct maps *m = calloc(1, sizeof(*m));
	struct areas *areas = areas_new();

	if (!m || !areas)
		out_of_memory();
	m->areas = areas;
	m->from_ns = ~0ULL;
	m->targets = (struct sorted) {
		.size = sizeof(struct heatmap), .max = TARGETS_MAX,
		.compare = compare,
	};
	rp->data = m;
}

static struct heatmap *target_of(struct maps *m, __u32 pid)
{
	const struct heatmap key = { .pid = pid };

	return sorted_get(&m->targets, &key);
}

/* The part of a region that --address and --class let pass; Return: is any? */
static bool clip(const struct report *rp, const struct wsmon_region_entry *e,
		 __u64 *start, __u64 *end)
{
	const struct heatmap_options *opt = &rp->heatmap;

	if (!report_wants_class(rp, e->class))
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

static void scan_snapshot(struct report *rp, const struct wsmon_rec_snapshot *s)
{
	struct maps *m = rp->data;
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

		if (!clip(rp, e, &start, &end))
			continue;
		if (begin == stop)
			begin = start;
		stop = end;
		/* regions of an area that touch are one span */
		if (i + 1 < s->nr && e[1].start == end &&
		    e[1].area == e->area && e[1].class == e->class)
			continue;
		spans_add(&h->spans, begin, stop, e->class,
			  areas_path(m->areas, s->pid, e->area));
		begin = stop;
	}
}

static void heatmap_scan(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	struct maps *m = rp->data;
	struct heatmap *h;

	if (rec->type == WSMON_REC_AREA)
		areas_add(m->areas, (const void *)rec);
	else if (rec->type == WSMON_REC_SNAPSHOT && report_wants(rp, rec))
		scan_snapshot(rp, (const void *)rec);
	else if (rec->type == WSMON_REC_TARGET) {
		h = target_of(m, target->pid);
		if (h)
			memcpy(h->comm, target->comm, sizeof(h->comm));
	}
}

/* What is to be shown: those of which anything was mapped */
static size_t drop_empty(struct maps *m)
{
	struct heatmap *h = m->targets.base;
	size_t i, n = 0;

	for (i = 0; i < m->targets.nr; i++)
		if (h[i].spans.nr)
			h[n++] = h[i];
	m->targets.nr = n;
	return n;
}

/*
 * When it begins: with the first interval, or inside of it if the recording did,
 * or if --time says so
 */
static void set_times(const struct report *rp, struct maps *m)
{
	__u64 zero = rp->reader.header.mono_ns;
	__s64 begin = rp->from_ns > 0 ? rp->from_ns : 0;

	if ((__s64)(m->from_ns - zero) < begin && begin < (__s64)(m->to_ns - zero))
		m->from_ns = zero + begin;
	if (m->to_ns <= m->from_ns)
		m->to_ns = m->from_ns + 1;
}

static unsigned int or_default(unsigned int size, unsigned int other)
{
	return size ? size : other;
}

static void picture_frame(const struct report *rp, size_t targets,
			  struct heatmap_frame *f)
{
	f->width = or_default(rp->width, PLOT_WIDTH);
	f->whole_height = or_default(rp->height,
				     PLOT_HEIGHT * targets);
	f->height = f->whole_height / targets;
	f->top = 0;
}

/* Columns for labels beside a map in characters */
static unsigned int label_width(unsigned int width)
{
	return width / 3 < 44 ? width / 3 : 44;
}

static enum term_color color_of(const struct report *rp)
{
	return rp->format == TABLE_HUMAN ? term_color(rp->heatmap.color) :
					   TERM_NONE;
}

static void text_size(const struct report *rp, unsigned int *width,
		      unsigned int *height)
{
	term_size(width, height);
	*width = or_default(rp->width, *width);
	*height = or_default(rp->height, *height);
}

static void heatmap_scanned(struct report *rp)
{
	struct maps *m = rp->data;
	size_t n = drop_empty(m), i;
	unsigned int width, lines, fine = 1;
	struct heatmap_frame frame;

	set_times(rp, m);
	if (rp->output && n) {
		picture_frame(rp, n, &frame);
		if (n > PICTURES_MAX || frame.height < LEAST_HEIGHT) {
			msg("%s: no room for %zu processes; choose some with --pid, or a --size",
			    rp->output, n);
			rp->failed = true;
			return;
		}
		heatmap_frame_grid(&frame, &width, &lines, &fine);
	} else if (rp->format == TABLE_HUMAN) {
		text_size(rp, &width, &lines);
		width -= label_width(width) + 2;
		lines -= AROUND;
		fine = heatmap_text_fine(color_of(rp));
	} else {
		width = or_default(rp->width, TABLE_COLUMNS_OF_CELLS);
		lines = or_default(rp->height, TABLE_LINES);
	}
	for (i = 0; i < n; i++) {
		struct heatmap *h = (struct heatmap *)m->targets.base + i;

		h->from_ns = m->from_ns;
		h->to_ns = m->to_ns;
		h->page_size = rp->reader.header.page_size;
		if (heatmap_layout(h, width, lines, fine))
			out_of_memory();
		if (h->spans.full)
			msg("process %u mapped too many different things: some are left out; choose with --address or --class",
			    h->pid);
	}
}

static void heatmap_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_snapshot *s = (const void *)rec;
	struct maps *m = rp->data;
	const struct heatmap key = {
		.pid = rec->type == WSMON_REC_SNAPSHOT ? s->pid : 0,
	};
	struct heatmap *h;
	__u64 start, end;
	__u32 i;

	if (rec->type != WSMON_REC_SNAPSHOT || !report_wants(rp, rec) || rp->failed)
		return;
	h = sorted_find(&m->targets, &key);
	if (!h)
		return;
	for (i = 0; i < s->nr; i++)
		if (clip(rp, &s->regions[i], &start, &end))
			heatmap_add(h, interval_begin(s), s->rec.time_ns, start,
				    end, (double)s->regions[i].share /
					 WSMON_SHARE_ONE);
}

static void print_row(const struct report *rp, struct table *t,
		      const struct heatmap *h, const struct band *b,
		      unsigned int step)
{
	const struct span *s = &h->spans.span[b->label];
	unsigned int row = b->line * h->fine + step, c;
	/* the last one ends with the band, not where the next band begins */
	__u64 end = step + 1 < b->lines * h->fine ?
		    heatmap_address(h, b, step + 1) :
		    h->spans.span[b->last].end;

	for (c = 0; c < h->columns; c++) {
		double share = heatmap_share(h, row, c);

		if (share < 0)
			continue;
		table_row(t, (struct cell[]) {
			[T]	= cell_d(report_time(rp, heatmap_time(h, c))),
			[T_END]	= cell_d(report_time(rp, heatmap_time(h, c + 1))),
			[PID]	= cell_u(h->pid),
			[CLASS]	= cell_s(class_name(s->class)),
			[START]	= cell_u(heatmap_address(h, b, step)),
			[END]	= cell_u(end),
			[SHARE]	= cell_d(share),
			[PATH]	= cell_s(s->name),
		});
	}
}

static void print_table(const struct report *rp)
{
	const struct maps *m = rp->data;
	const struct heatmap *h = m->targets.base;
	struct table *t = table_new(&desc, rp->format);
	unsigned int step;
	size_t i, j;

	for (i = 0; i < m->targets.nr; i++)
		for (j = 0; j < h[i].nr_bands; j++)
			for (step = 0; step < h[i].bands[j].lines * h[i].fine;
			     step++)
				print_row(rp, t, &h[i], &h[i].bands[j], step);
	table_end(t);
}

static void print_text(const struct report *rp)
{
	const struct maps *m = rp->data;
	unsigned int width, height;
	size_t i;

	text_size(rp, &width, &height);
	for (i = 0; i < m->targets.nr; i++) {
		if (i)
			putchar('\n');
		heatmap_text((struct heatmap *)m->targets.base + i,
			     color_of(rp), rp->reader.header.mono_ns,
			     label_width(width));
	}
}

static int draw(const struct report *rp)
{
	const struct maps *m = rp->data;
	struct heatmap_frame f;
	struct plot p;
	size_t i;

	picture_frame(rp, m->targets.nr, &f);
	if (plot_open(&p, rp->output, f.width, f.whole_height))
		return -1;
	plot_printf(&p, "set multiplot\n");
	for (i = 0; i < m->targets.nr; i++) {
		f.top = i * f.height;
		heatmap_plot((struct heatmap *)m->targets.base + i, &p,
			     rp->reader.header.mono_ns, &f);
	}
	plot_printf(&p, "unset multiplot\n");
	return plot_close(&p);
}

static void heatmap_end(struct report *rp)
{
	struct maps *m = rp->data;
	size_t i;

	if (rp->failed) {
		/* told already */
	} else if (!m->targets.nr && rp->format == TABLE_HUMAN) {
		msg("there is nothing to draw: no region was recorded that --time, --pid, --class and --address let pass");
		rp->failed = true;
	} else if (rp->output) {
		rp->failed = draw(rp) != 0;
	} else if (rp->format == TABLE_HUMAN) {
		print_text(rp);
	} else {
		print_table(rp);
	}
	for (i = 0; i < m->targets.nr; i++)
		heatmap_free((struct heatmap *)m->targets.base + i);
	free(m->targets.base);
	areas_free(m->areas);
	free(m);
}

const struct report_view report_heatmap = {
	.name = "heatmap",
	.help = "which addresses were accessed when; --json and the like print its cells",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.begin = heatmap_begin,
	.scan = heatmap_scan,
	.scanned = heatmap_scanned,
	.record = heatmap_record,
	.end = heatmap_end,
};
