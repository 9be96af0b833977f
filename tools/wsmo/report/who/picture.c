// SPDX-License-Identifier: GPL-2.0
/*
 * picture.c - who touched memory, as a picture
 *
 * A line is a thread, a column an object. A cell has two halves: what was read, above what
 * was written.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "map.h"

/* Pixels: a cell and its line at least, a line if there is room, what is around the cells */
#define CELL_WIDTH	46
#define LINE		30
#define LINE_WANTED	44
#define LEFT		190
#define RIGHT		70
#define ABOVE		58
#define BELOW		176
#define MIN_HEIGHT	300

/* Characters of a name */
#define NAME_CHARS	26
/* Shares below it are not written into their cells */
#define SHARE_MIN	0.0005

/* Red, green and blue of the largest share; the smallest is white. Black is readable on all. */
static const unsigned char read_color[] = { 0x34, 0x8e, 0xc3 };
static const unsigned char write_color[] = { 0xdf, 0x7d, 0x33 };

static unsigned int color_of(const unsigned char *color, double level)
{
	unsigned int rgb = 0, i;

	for (i = 0; i < 3; i++)
		rgb = rgb << 8 | (unsigned int)lround(255 - (255 - color[i]) * level);
	return rgb;
}

/* Safe, and as long as there is room for: whole characters */
static const char *fit_name(char *text, const struct who_part *p)
{
	char name[WHO_MAP_NAME], clean[4 * WHO_MAP_NAME];
	size_t i, chars = 0;

	text_clean(clean, sizeof(clean), who_map_name(name, p));
	for (i = 0; clean[i]; i++) {
		if ((clean[i] & 0xc0) == 0x80)
			continue;
		if (chars++ == NAME_CHARS) {
			strcpy(clean + i, "~");
			break;
		}
	}
	return plot_text(text, clean);
}

static void plot_half(struct plot *p, size_t column, double low, double share, double max,
		      const unsigned char *color)
{
	char text[32] = "";

	if (share >= SHARE_MIN)
		snprintf(text, sizeof(text), "%.1f %%", 100 * share);
	plot_printf(p, "%zu %g %g %g %g %g %u \"%s\"\n", column, low + 0.23, column - 0.48, column + 0.48,
		    low, low + 0.46, share > 0 ? color_of(color, sqrt(share / max)) : 0xf4f4f4, text);
}

static void plot_cells(struct plot *p, const struct who_map *m)
{
	double max = who_map_max(m);
	size_t i, j;

	plot_printf(p, "$cells << END\n");
	for (i = 0; i < m->threads; i++) {
		for (j = 0; j < m->objects; j++) {
			const struct who_cell *c = &m->cell[i * m->objects + j];
			double line = m->threads - 1 - i;

			plot_half(p, j, line + 0.5, c->read, max, read_color);
			plot_half(p, j, line + 0.04, c->written, max, write_color);
		}
	}
	plot_printf(p, "END\n");
}

static void plot_names(struct plot *p, const struct who_map *m)
{
	char text[PLOT_TEXT];
	size_t i;

	for (i = 0; i < m->threads; i++) {
		double y = m->threads - i - 0.5;

		plot_printf(p, "set label %s at graph 0, first %g right offset -1,0\n",
			    fit_name(text, &m->thread[i]), y);
		plot_printf(p, "set label '%.1f %%' at graph 1, first %g offset 1,0\n",
			    100 * m->thread[i].share, y);
	}
	for (i = 0; i < m->objects; i++) {
		plot_printf(p, "set label %s at first %zu, graph 0 right rotate by 45 offset 0.7,-0.6\n",
			    fit_name(text, &m->object[i]), i);
		plot_printf(p, "set label '%.1f %%' at first %zu, graph 1 center offset 0,0.6\n",
			    100 * m->object[i].share, i);
	}
}

static void plot_legend(struct plot *p, unsigned int width, unsigned int height)
{
	const struct {
		const char *text;
		unsigned int color, left;
	} of[] = {
		{ "upper half: read", color_of(read_color, 1), 12 },
		{ "lower half: written", color_of(write_color, 1), 152 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		plot_printf(p, "set object rectangle from screen %g,%g to screen %g,%g fc rgb %u fs solid noborder\n",
			    (double)of[i].left / width, 8.0 / height, (of[i].left + 14.0) / width,
			    22.0 / height, of[i].color);
		plot_printf(p, "set label '%s' at screen %g,%g\n", of[i].text,
			    (of[i].left + 20.0) / width, 15.0 / height);
	}
}

int who_picture(const struct picture *picture, const struct who *w, size_t top, const char *title)
{
	struct picture sized = *picture;
	unsigned int width = sized.width ?: PLOT_WIDTH, height = sized.height ?: PLOT_HEIGHT;
	size_t columns = (width - LEFT - RIGHT) / CELL_WIDTH, lines = (height - ABOVE - BELOW) / LINE;
	char text[PLOT_TEXT];
	struct who_map m;
	struct plot p;
	int err;

	who_map_make(&m, w, lines < top ? lines : top, columns < top ? columns : top);
	if (!sized.height && ABOVE + BELOW + LINE_WANTED * m.threads < height) {
		height = ABOVE + BELOW + LINE_WANTED * m.threads;
		sized.height = height = height < MIN_HEIGHT ? MIN_HEIGHT : height;
	}
	err = plot_open(&p, &sized);
	if (!err) {
		plot_printf(&p, "unset key\nunset tics\nunset border\n");
		plot_printf(&p, "set lmargin at screen %g\nset rmargin at screen %g\n",
			    (double)LEFT / width, 1 - (double)RIGHT / width);
		plot_printf(&p, "set tmargin at screen %g\nset bmargin at screen %g\n",
			    1 - (double)ABOVE / height, (double)BELOW / height);
		plot_printf(&p, "set xrange [-0.5:%g]\nset yrange [0:%zu]\n", m.objects - 0.5, m.threads);
		plot_printf(&p, "set label %s at screen %g,%g\n", plot_text(text, title), 12.0 / width,
			    1 - 16.0 / height);
		plot_names(&p, &m);
		plot_legend(&p, width, height);
		plot_cells(&p, &m);
		plot_printf(&p, "plot $cells using 1:2:3:4:5:6:7 with boxxyerror fc rgb variable fs solid noborder, $cells using 1:2:8 with labels font ',8'\n");
		err = plot_close(&p);
	}
	who_map_free(&m);
	return err;
}
