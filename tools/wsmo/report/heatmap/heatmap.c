// SPDX-License-Identifier: GPL-2.0
/*
 * heatmap.c - "wsmo report heatmap": which addresses were accessed when
 *
 * The file is read twice: everything mapped in it decides what a cell stands for.
 * So memory depends on the size of the map, not on the length of the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "maps.h"
#include "report/report.h"
#include "view.h"

#define PICTURES_MAX	8	/* in one picture */

/* Cells for --json and the like */
#define TABLE_COLUMNS_OF_CELLS	80
#define TABLE_LINES		40
#define MIN_HEIGHT	300	/* of a map in a picture */

/* Lines of text around the lines of a map, the prompt among them */
#define AROUND		7

enum { T, T_END, PID, CLASS, START, END, SHARE, PATH };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0 },
	[T_END]	= { "t_end", "TO", COL_T, 8, 0 },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[START]	= { "start", "START", COL_ADDR, 14, 0 },
	[END]	= { "end", "END", COL_ADDR, 14, 0 },
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0 },
	[PATH]	= { "path", "MAPPING", COL_TEXT, 8, NOT_JSON },
};

static const struct table_desc desc = {
	.type = "cell", .columns = columns, .nr = ARRAY_SIZE(columns),
};

/**
 * struct heatmap_options - the command line
 * @maps:	what to draw
 * @color:	colours wanted
 */
static struct heatmap_options {
	struct maps_options maps;
	enum term_color color;
} options = { .maps.to = ~0ULL };

static void heatmap_begin(struct report *rp)
{
	rp->data = maps_new(rp, &options.maps);
}

static void heatmap_scan(struct report *rp, const struct wsmon_record *rec)
{
	maps_scan(rp->data, rp, rec);
}

static void heatmap_record(struct report *rp, const struct wsmon_record *rec)
{
	if (!rp->failed)
		maps_record(rp->data, rp, rec);
}

static unsigned int or_default(unsigned int size, unsigned int other)
{
	return size ? size : other;
}

static void picture_frame(const struct report *rp, size_t targets,
			  struct heatmap_frame *f)
{
	f->width = or_default(rp->out.picture.width, PLOT_WIDTH);
	f->whole_height = or_default(rp->out.picture.height,
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
	return rp->out.format == TABLE_HUMAN ? term_color(options.color) :
					   TERM_NONE;
}

static void text_size(const struct report *rp, unsigned int *width,
		      unsigned int *height)
{
	term_size(width, height);
	*width = or_default(rp->out.picture.width, *width);
	*height = or_default(rp->out.picture.height, *height);
}

static void heatmap_scanned(struct report *rp)
{
	struct maps *m = rp->data;
	size_t n = maps_scanned(m, rp);
	unsigned int width, lines, fine = 1;
	struct heatmap_frame frame;

	if (rp->out.picture.file && n) {
		picture_frame(rp, n, &frame);
		if (n > PICTURES_MAX || frame.height < MIN_HEIGHT) {
			msg("%s: no room for %zu processes; choose some with --pid, or a --size",
			    rp->out.picture.file, n);
			rp->failed = true;
			return;
		}
		heatmap_frame_grid(&frame, &width, &lines, &fine);
	} else if (rp->out.format == TABLE_HUMAN) {
		text_size(rp, &width, &lines);
		/* the legend of a narrow one is a line longer */
		lines -= AROUND + (width < HEATMAP_NARROW);
		width -= label_width(width) + 2;
		fine = heatmap_text_fine(color_of(rp));
	} else {
		width = or_default(rp->out.picture.width, TABLE_COLUMNS_OF_CELLS);
		lines = or_default(rp->out.picture.height, TABLE_LINES);
	}
	maps_layout(m, rp, width, lines, fine);
}

static void print_row(const struct report *rp, struct table *t,
		      const struct heatmap *h, const struct section *b,
		      unsigned int step)
{
	const struct range *s = &h->ranges.range[b->label];
	unsigned int row = b->line * h->fine + step, c;
	/* the last one ends with the section, not where the next section begins */
	__u64 end = step + 1 < b->lines * h->fine ?
		    heatmap_address(h, b, step + 1) :
		    h->ranges.range[b->last].end;

	for (c = 0; c < h->columns; c++) {
		double share = heatmap_share(h, row, c);

		if (share < 0)
			continue;
		table_row(t, (struct cell[]) {
			[T]	= cell_d(filter_time(&rp->filter, heatmap_time(h, c))),
			[T_END]	= cell_d(filter_time(&rp->filter, heatmap_time(h, c + 1))),
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
	struct table *t = report_table(rp, &desc);
	unsigned int step;
	size_t i, j;

	for (i = 0; i < m->targets.nr; i++)
		for (j = 0; j < h[i].nr_sections; j++)
			for (step = 0; step < h[i].sections[j].lines * h[i].fine;
			     step++)
				print_row(rp, t, &h[i], &h[i].sections[j], step);
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
			fputc('\n', rp->out.f);
		heatmap_text(rp->out.f, (struct heatmap *)m->targets.base + i,
			     &m->events, color_of(rp), rp->reader.header.mono_ns,
			     label_width(width));
	}
}

static int draw(const struct report *rp)
{
	const struct maps *m = rp->data;
	struct picture picture = rp->out.picture;
	struct heatmap_frame f;
	struct plot p;
	size_t i;

	picture_frame(rp, m->targets.nr, &f);
	picture.height = f.whole_height;
	if (plot_open(&p, &picture))
		return -1;
	plot_printf(&p, "set multiplot\n");
	for (i = 0; i < m->targets.nr; i++) {
		f.top = i * f.height;
		heatmap_plot((struct heatmap *)m->targets.base + i, &m->events,
			     &p, rp->reader.header.mono_ns, &f);
	}
	plot_printf(&p, "unset multiplot\n");
	return plot_close(&p);
}

static void heatmap_end(struct report *rp)
{
	struct maps *m = rp->data;

	if (rp->failed) {
		/* with a message */
	} else if (!m->targets.nr && rp->out.format == TABLE_HUMAN) {
		if (!rp->of_cgroup)
			msg("there is nothing to draw: --time, --pid, --class and --address leave no region over");
		rp->failed = true;
	} else if (rp->out.picture.file) {
		rp->failed = draw(rp) != 0;
	} else if (rp->out.format == TABLE_HUMAN) {
		print_text(rp);
	} else {
		print_table(rp);
	}
	maps_free(m);
}

static void set_address(struct argp_state *state, const char *text, __u64 *addr)
{
	bool hex = !strncmp(text, "0x", 2);
	const char *digits = hex ? text + 2 : text;

	if (!*text)
		return;
	errno = 0;
	*addr = strtoull(digits, NULL, hex ? 16 : 10);
	if (errno || !*digits ||
	    digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")])
		usage_error(state, "'%s' is not an address", text);
}

static void set_addresses(struct argp_state *state, char *arg,
			  const struct option_desc *o __attribute__((unused)),
			  void *to __attribute__((unused)))
{
	const char *end = option_pair(state, arg, "addresses");

	set_address(state, arg, &options.maps.from);
	set_address(state, end, &options.maps.to);
	if (options.maps.from >= options.maps.to)
		usage_error(state, "'%s' is not below '%s'", arg, end);
}

static const struct option_desc own[] = {
	{ "address", 0, "A,B", "Only addresses A up to B, exclusive; either may be empty", OPT_CALL,
	  .call = set_addresses },
	{ "color", 0, "auto|never|16|256", "Colours (auto: what the terminal has)", OPT_CHOICE,
	  OPT_AT(struct heatmap_options, color) },
	{ "fine", 0, NULL, "Use recent samples to show which parts of a region were accessed",
	  OPT_FLAG, OPT_AT(struct heatmap_options, maps.fine) },
	{ 0 }
};

const struct report_view report_heatmap = {
	.name = "heatmap",
	.help = "Which addresses were accessed when",
	.takes = TAKES_CLASS | TAKES_FORMAT | TAKES_PICTURE | TAKES_TEXT_SIZE,
	.own = own,
	.options = &options,
	.of_processes = true,
	.begin = heatmap_begin,
	.scan = heatmap_scan,
	.scanned = heatmap_scanned,
	.record = heatmap_record,
	.end = heatmap_end,
};
