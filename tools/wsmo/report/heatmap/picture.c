// SPDX-License-Identifier: GPL-2.0
/*
 * picture.c - a heatmap as a picture
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "report/plot/events.h"
#include "view.h"

/* Pixels: a line with its label, a cell, and what is around the cells */
#define LINE		15
#define CELL_HEIGHT	3
#define CELL_WIDTH	3
#define LEFT		215
#define RIGHT		125
#define ABOVE		45
#define BELOW		96

/* Labels: where they begin, where sizes end and names begin, room for names */
#define MARGIN		12
#define SIZE_AT		108
#define NAME_AT		116
#define NAME_CHARS	14

/* matplotlib's viridis: even in brightness, also to eyes that lack a colour */
static const char palette[] =
	"set palette defined (0 '#440154', 1 '#482878', 2 '#3e4989', "
	"3 '#31688e', 4 '#26828e', 5 '#1f9e89', 6 '#35b779', 7 '#6ece58', "
	"8 '#b5de2b', 9 '#fde725')\n";

void heatmap_frame_grid(const struct heatmap_frame *f, unsigned int *columns,
			unsigned int *lines, unsigned int *fine)
{
	*columns = (f->width - LEFT - RIGHT) / CELL_WIDTH;
	*lines = (f->height - ABOVE - BELOW) / LINE;
	*fine = LINE / CELL_HEIGHT;
}

/* Where @y pixels from the frame's top are, as gnuplot counts */
static double screen_y(const struct heatmap_frame *f, unsigned int y)
{
	return 1 - (double)(f->top + y) / f->whole_height;
}

static void plot_frame(const struct heatmap *h, struct plot *p, __u64 zero_ns,
		       const struct heatmap_frame *f)
{
	double left = (double)LEFT / f->width;
	double right = 1 - (double)RIGHT / f->width;
	const char *unit;
	double per = plot_time_unit(h->to_ns - h->from_ns, &unit);
	double from = (__s64)(h->from_ns - zero_ns) / per;
	double to = (__s64)(h->to_ns - zero_ns) / per;

	plot_printf(p, "reset\n%sunset key\n", palette);
	plot_printf(p, "set lmargin at screen %g\nset rmargin at screen %g\n",
		    left, right);
	plot_printf(p, "set tmargin at screen %g\nset bmargin at screen %g\n",
		    screen_y(f, ABOVE), screen_y(f, f->height - BELOW));
	plot_printf(p, "set xrange [%.9g:%.9g]\nset yrange [0:%u]\n", from, to,
		    h->lines);
	plot_printf(p, "set xtics out nomirror\n");
	plot_printf(p, "set xlabel 'time, %s' offset 0,0.6\n", unit);
	plot_printf(p, "set colorbox horizontal user origin screen %g,%g size screen %g,%g\n",
		    left, screen_y(f, f->height - 30), right - left,
		    10.0 / f->whole_height);
	plot_printf(p, "set cbrange [0:1]\nset cbtics scale 0.4 offset 0,0.4 ('0' 0, '6' 0.25, '25' 0.5, '56' 0.75, '100 %%%%' 1)\nunset ytics\n");
	plot_printf(p, "set label \"share of pages accessed\\n(white: not mapped,\\nhatched: not observed)\" at screen %g,%g font ',8'\n",
		    (double)MARGIN / f->width, screen_y(f, f->height - 43));
}

/* Times at which nobody looked */
static void plot_unwatched(const struct heatmap *h, struct plot *p, double from, double step)
{
	unsigned int c, first;

	for (c = 0; c < h->columns; c++) {
		if (heatmap_watched(h, c))
			continue;
		for (first = c; c < h->columns && !heatmap_watched(h, c); c++)
			;
		plot_printf(p, "set object rectangle from %.9g, graph 0 to %.9g, graph 1 behind fc rgb '#999999' fs pattern 4 noborder\n",
			    from + first * step, from + c * step);
	}
}

static void plot_title(const struct heatmap *h, struct plot *p,
		       const struct heatmap_frame *f)
{
	char text[PLOT_TEXT], title[200], size[UNITS_LEN], row[UNITS_LEN];
	int len;

	len = snprintf(title, sizeof(title),
		       "%s (%u): %s mapped; a row of cells is %s at most",
		       h->comm, h->pid, units_size(size, heatmap_mapped(h)),
		       units_size(row, heatmap_line_bytes(h) / h->fine));
	if (h->unfolded)
		snprintf(title + len, sizeof(title) - len,
			 "; gaps not shown: %zu", h->unfolded);
	plot_printf(p, "set label %s at screen %g,%g\n", plot_text(text, title),
		    (double)MARGIN / f->width, screen_y(f, 16));
}

/* Makes it safe, then as long as there is room for, whole characters only */
static void fit_name(char *out, size_t size, const char *name)
{
	size_t len = strlen(text_clean(out, size, name));

	if (len <= NAME_CHARS)
		return;
	for (len = NAME_CHARS; (out[len] & 0xc0) == 0x80; len--)
		;
	strcpy(out + len, "~");
}

/* Class, size and name on the left, the first address on the right */
static void plot_label(const struct heatmap *h, struct plot *p,
		       const struct heatmap_frame *f, const struct section *b)
{
	char text[PLOT_TEXT], name[HEATMAP_NAME], fits[4 * HEATMAP_NAME];
	char size[UNITS_LEN];
	double y = b->line + b->lines / 2.0;

	fit_name(fits, sizeof(fits), heatmap_name(name, h, b));
	plot_printf(p, "set label '%s' at screen %g, first %g font ',8'\n",
		    class_name(h->ranges.range[b->label].class),
		    (double)MARGIN / f->width, y);
	plot_printf(p, "set label '%s' at screen %g, first %g right font ',8'\n",
		    units_size(size, b->bytes), (double)SIZE_AT / f->width, y);
	plot_printf(p, "set label %s at screen %g, first %g font ',8'\n",
		    plot_text(text, fits), (double)NAME_AT / f->width, y);
	plot_printf(p, "set label '%#llx' at graph 1.01, first %g font ',8'\n",
		    heatmap_address(h, b, 0), b->line + 0.5);
}

/* Labels, not tics: these take their text for a printf() format */
static void plot_bands(const struct heatmap *h, struct plot *p,
		       const struct heatmap_frame *f)
{
	char size[UNITS_LEN];
	size_t i;

	for (i = 0; i < h->nr_sections; i++)
		plot_label(h, p, f, &h->sections[i]);
	for (i = 1; i < h->nr_sections; i++) {
		const struct section *b = &h->sections[i];

		plot_printf(p, "set arrow from graph 0, first %u to graph 1, first %u nohead front lc rgb '#c0c0c0' lw 0.5\n",
			    b->line, b->line);
		if (!b->fold)
			continue;
		plot_printf(p, "set object rectangle from graph 0, first %u to graph 1, first %u fc rgb '#e8e8e8' fs solid noborder\n",
			    b->line - 1, b->line);
		plot_printf(p, "set label '%s not mapped' at graph 0.5, first %g center font ',8' front\n",
			    units_size(size, b->gap), b->line - 0.5);
	}
}

void heatmap_plot(const struct heatmap *h, const struct events *events,
		  struct plot *p, __u64 zero_ns, const struct heatmap_frame *f)
{
	const char *unit;
	double per = plot_time_unit(h->to_ns - h->from_ns, &unit);
	double from = (__s64)(h->from_ns - zero_ns) / per;
	double step = (h->to_ns - h->from_ns) / per / h->columns;
	unsigned int row, c;

	plot_frame(h, p, zero_ns, f);
	plot_title(h, p, f);
	plot_bands(h, p, f);
	plot_unwatched(h, p, from, step);
	plot_events_over(p, events, h->pid, zero_ns, per);
	plot_printf(p, "$cells << END\n");
	for (row = 0; row < h->lines * h->fine; row++) {
		for (c = 0; c < h->columns; c++) {
			double share = heatmap_share(h, row, c);

			plot_printf(p, "%u %u ", c, row);
			if (share < 0)
				plot_printf(p, "NaN\n");
			else
				plot_printf(p, "%.3g\n", sqrt(share));
		}
	}
	plot_printf(p, "END\nplot $cells using (%.9g + ($1 + 0.5) * %.9g):(($2 + 0.5) / %u):3 with image\n",
		    from, step, h->fine);
}
