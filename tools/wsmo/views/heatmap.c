// SPDX-License-Identifier: GPL-2.0
/*
 * heatmap.c - "wsmo report heatmap": which addresses were accessed when
 *
 * The file is read twice: the first time for all ranges that were ever mapped, which determine the
 * addresses of a cell, the second time for the cells. So the view's memory depends on the size of
 * the map, not on the length of the file.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asset.h"
#include "core/cli.h"
#include "core/term.h"
#include "core/text.h"
#include "core/units.h"
#include "grid.h"
#include "libwsmon/events.h"
#include "libwsmon/names.h"
#include "plot.h"

/* Sizes and times shown in text and pictures */

#define HEATMAP_NARROW	60	/* columns; narrower maps have shorter lines of text */

/** struct heatmap_frame - the place of a map in a picture, in pixels from the top left */
struct heatmap_frame {
	unsigned int width;
	unsigned int height;
	unsigned int top;
	unsigned int whole_height;
};

/* Return: maximum bytes that a line represents, over all sections */
static __u64 heatmap_line_bytes(const struct heatmap *h)
{
	__u64 max = 0;
	size_t i;

	for (i = 0; i < h->nr_sections; i++)
		if (h->sections[i].bytes / h->sections[i].lines > max)
			max = h->sections[i].bytes / h->sections[i].lines;
	return max;
}

/**
 * heatmap_tick() - choose a round time between the marks of a time axis
 * @time_ns: length of the axis
 * @max: maximum number of marks
 */
static __u64 heatmap_tick(__u64 time_ns, unsigned int max)
{
	static const unsigned int minutes[] = {
		1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440
	};
	__u64 want = time_ns / (max ? max : 1), step;
	size_t i;

	for (step = 1; step < 20 * NSEC_PER_SEC; step *= 10)
		for (i = 1; i <= 5; i += i == 1 ? 1 : 3)
			if (step * i >= want)
				return step * i;
	for (i = 0; i < ARRAY_SIZE(minutes); i++)
		if (60 * NSEC_PER_SEC * minutes[i] >= want)
			return 60 * NSEC_PER_SEC * minutes[i];
	step = 86400 * NSEC_PER_SEC;
	return (want + step - 1) / step * step;
}

/*
 * A heatmap in characters, with 256, 16 or no colours
 *
 * With colours and block characters a line shows two rows of cells: the upper row is the
 * colour of an upper half block, the lower row its background.
 */

#define NOT_MAPPED	-1
#define NOT_WATCHED	'/'
#define LINE_COLUMNS	1024
#define LABEL_WHOLE	20	/* columns; narrower labels have no name */
#define UPPER_HALF	"\xe2\x96\x80"
#define LOWER_HALF	"\xe2\x96\x84"

/**
 * struct shades - how shares are shown
 * @fore, @back: format of the escape code for a colour; NULL: characters instead of colours
 * @level:	the colours, dark to bright, or the characters
 * @nr:		number of levels
 */
struct shades {
	const char *fore;
	const char *back;
	const unsigned char *level;
	int nr;
};

/* Terminal colours nearest to viridis, dark to bright */
static const unsigned char levels_256[] = { 53, 55, 25, 31, 36, 77, 148, 226 };
static const unsigned char levels_16[] = { 4, 12, 6, 2, 10, 11 };

static const struct shades shades[] = {
	[TERM_NONE] = { NULL, NULL, (const unsigned char *)".:-=+*#@", 8 },
	[TERM_16] = { "3%d", "4%d", levels_16, ARRAY_SIZE(levels_16) },
	[TERM_256] = { "38;5;%d", "48;5;%d", levels_256, ARRAY_SIZE(levels_256) },
};

/* Return: one of @nr levels, by the square root of @share, so that sparse use is visible */
static int level(double share, int nr)
{
	int l;

	if (share < 0)
		return NOT_MAPPED;
	l = sqrt(share) * nr;
	return l < nr ? l : nr - 1;
}

/** heatmap_text_fine() - get the number of rows of cells in a line of text */
static unsigned int heatmap_text_fine(enum term_color color)
{
	return color != TERM_NONE && term_unicode() ? 2 : 1;
}

static void sgr(FILE *f, const struct shades *s, bool back, int l)
{
	int color = l == NOT_MAPPED ? 9 : s->level[l];

	if (l == NOT_MAPPED)
		fprintf(f, ";%d9", back ? 4 : 3);
	else if (s == &shades[TERM_16] && color >= 8)
		fprintf(f, ";%d", (back ? 100 : 90) + color - 8);
	else {
		putchar(';');
		fprintf(f, back ? s->back : s->fore, color);
	}
}

/* Prints a character for one or two cells, and escape codes if the colours change */
static void put_cell(FILE *f, const struct shades *s, int upper, int lower, int *was)
{
	bool swap = upper == NOT_MAPPED && lower != NOT_MAPPED;
	int fore = swap ? lower : upper, back = swap ? upper : lower;

	if (!s->fore) {
		fputc(upper == NOT_MAPPED ? ' ' : s->level[upper], f);
		return;
	}
	if (fore != was[0] || back != was[1]) {
		fputs("\033[0", f);
		sgr(f, s, false, fore);
		sgr(f, s, true, back);
		fputc('m', f);
	}
	was[0] = fore;
	was[1] = back;
	if (fore == back)
		fputc(' ', f);
	else
		fputs(swap ? LOWER_HALF : UPPER_HALF, f);
}

static void print_cells(FILE *f, const struct heatmap *h, const struct shades *s,
			unsigned int line)
{
	unsigned int low = line * h->fine, high = low + h->fine - 1, c;
	int was[2] = { -2, -2 };

	for (c = 0; c < h->columns; c++) {
		if (!heatmap_watched(h, c)) {
			fprintf(f, "%s%c", s->fore && was[0] != -2 ? "\033[0m" : "", NOT_WATCHED);
			was[0] = -2;
			continue;
		}
		put_cell(f, s, level(heatmap_share(h, high, c), s->nr),
			 level(heatmap_share(h, low, c), s->nr), was);
	}
	if (s->fore)
		fputs("\033[0m", f);
}

/* Prints a label: the uppermost line of a section has its name, the lowest line its address */
static void print_label(FILE *f, const struct heatmap *h, const struct section *b,
			unsigned int line, unsigned int width)
{
	char name[HEATMAP_NAME], size[UNITS_LEN];

	if (width < LABEL_WHOLE && line == b->line + b->lines - 1) {
		fprintf(f, "%-*.*s%6s", (int)width - 6, (int)width - 7,
			class_name(h->ranges.range[b->label].class), units_short(size, b->bytes));
	} else if (line == b->line + b->lines - 1) {
		fprintf(f, "%-7.7s%9s ", class_name(h->ranges.range[b->label].class),
		       units_size(size, b->bytes));
		term_print(f, heatmap_name(name, h, b), width - 17);
	} else if (width < LABEL_WHOLE && line == b->line) {
		fprintf(f, "%-*llx", (int)width, heatmap_address(h, b, 0));
	} else if (line == b->line) {
		fprintf(f, "  %-#*llx", (int)width - 2, heatmap_address(h, b, 0));
	} else {
		fprintf(f, "%*s", (int)width, "");
	}
}

static void print_fold(FILE *f, const struct heatmap *h, const struct section *b,
		       unsigned int width)
{
	char size[UNITS_LEN], where[48], left[UNITS_LEN + 16];
	int len, rest;

	snprintf(left, sizeof(left), "~ %s not mapped",
		 units_size(size, b->gap));
	len = snprintf(where, sizeof(where), "~ %#llx to %#llx ",
		       h->ranges.range[b[-1].last].end,
		       h->ranges.range[b->first].start);
	term_print(f, left, width);
	fputs(" |", f);
	if (len > (int)h->columns)
		len = 0;
	fprintf(f, "%.*s", len, where);
	for (rest = h->columns - len; rest > 0; rest--)
		fputc('~', f);
	fputc('\n', f);
}

static void print_times(FILE *f, const struct heatmap *h, __u64 zero_ns,
			unsigned int margin)
{
	__s64 from = h->from_ns - zero_ns, to = h->to_ns - zero_ns;
	__s64 step = heatmap_tick(to - from, h->columns / 8);
	double scale = h->columns / (double)(to - from);
	char line[LINE_COLUMNS], marks[LINE_COLUMNS], text[UNITS_LEN];
	unsigned int columns = h->columns;
	__s64 t = from > 0 ? (from + step - 1) / step * step : 0;

	if (columns > sizeof(line) - 1)
		columns = sizeof(line) - 1;
	memset(line, ' ', columns);
	memset(marks, '-', columns);
	line[columns] = marks[columns] = '\0';
	/* times of a broken file may be near the largest */
	for (; t <= to && t <= INT64_MAX - step; t += step) {
		unsigned int c = (t - from) * scale;
		size_t len = strlen(units_time(text, t));

		if (c >= columns)
			break;
		marks[c] = '+';
		if (c + len <= columns)
			memcpy(line + c, text, len);
	}
	fprintf(f, "%*s+%s\n%*s%s\n", margin - 1, "", marks, margin, "", line);
}

static void print_legend(FILE *f, const struct heatmap *h, const struct shades *s, bool narrow)
{
	char size[UNITS_LEN], time[UNITS_LEN];
	unsigned int c = 0;
	int i, was[2] = { -2, -2 };

	fputs(narrow ? "Accessed: 0 " : "Share of pages accessed: 0 ", f);
	for (i = 0; i < s->nr; i++) {
		if (i == s->nr / 4 || i == s->nr / 2 || i == 3 * s->nr / 4) {
			if (s->fore)
				fputs("\033[0m", f);
			was[0] = -2;
			fprintf(f, " %.0f ", 100.0 * i * i / s->nr / s->nr);
		}
		put_cell(f, s, i, i, was);
		if (s->fore && !narrow)
			put_cell(f, s, i, i, was);
	}
	fprintf(f, "%s 100 %%\n", s->fore ? "\033[0m" : "");
	while (c < h->columns && heatmap_watched(h, c))
		c++;
	fprintf(f, "Blank: not mapped.%s%sLine: up to %s, column: %s.\n",
		c < h->columns ? " /: not observed." : "", narrow ? "\n" : " ",
	       units_size(size, heatmap_line_bytes(h)),
	       units_time(time, (h->to_ns - h->from_ns) / h->columns));
	if (h->unfolded)
		fprintf(f, "Gaps not shown: %zu.\n", h->unfolded);
}

/* Puts "^p12" at its column, if there is room. Return: false if the time is not on the map */
static bool put_event(char *line, const struct heatmap *h, __u64 time_ns, char what,
		__u32 number)
{
	double per = (double)h->columns / (h->to_ns - h->from_ns);
	char text[16];
	size_t len, at, i;

	if (time_ns < h->from_ns || time_ns > h->to_ns)
		return false;
	at = (time_ns - h->from_ns) * per;
	len = snprintf(text, sizeof(text), "^%c%u", what, number);
	if (at && at + len > strlen(line))
		at = strlen(line) > len ? strlen(line) - len : 0;
	for (i = at ? at - 1 : 0; i < at + len && i < strlen(line); i++)
		if (line[i] != ' ')
			return true;
	if (at + len <= strlen(line))
		memcpy(line + at, text, len);
	return true;
}

static void print_events(FILE *f, const struct heatmap *h,
			 const struct events *events, unsigned int width)
{
	/* peaks are shown from the start of their first interval; records have its end */
	char line[LINE_COLUMNS];
	size_t columns = h->columns, i;
	const struct peak *p;
	__u64 last_ns = 0;
	bool any = false;

	if (columns >= sizeof(line))
		columns = sizeof(line) - 1;
	memset(line, ' ', columns);
	line[columns] = '\0';
	for (i = 0; i < events->nr_marks; i++)
		any |= put_event(line, h, events->mark[i].time_ns, 'm',
			   events->mark[i].number);
	for (i = events_first(events, h->pid, 0);
	     (p = events_peak_at(events, i)) && p->pid == h->pid; i++) {
		if (p->start_ns == last_ns)
			continue;
		last_ns = p->start_ns;
		any |= put_event(line, h, p->start_ns - events->interval_ns / 2,
				 p->sign < 0 ? 'd' : 'p', p->number);
	}
	if (any)
		fprintf(f, "%-*.*s  %s\n", (int)width, (int)width,
		       "peaks, dips, marks", line);
}

/**
 * heatmap_text() - print a map
 * @events: peaks and marks
 * @color: not TERM_AUTO
 * @zero_ns: when the recording began
 * @width: columns for the labels; the cells are two columns to the right
 */
static void heatmap_text(FILE *f, const struct heatmap *h, const struct events *events,
			 enum term_color color, __u64 zero_ns, unsigned int width)
{
	char size[UNITS_LEN], comm[4 * WSMON_COMM_LEN];
	size_t i;
	int line;

	fprintf(f, "%s (%u): %s mapped\n", text_clean(comm, sizeof(comm), h->comm),
	       h->pid, units_size(size, heatmap_mapped(h)));
	for (i = h->nr_sections; i-- > 0;) {
		const struct section *b = &h->sections[i];

		for (line = b->lines - 1; line >= 0; line--) {
			print_label(f, h, b, b->line + line, width);
			fputs(" |", f);
			print_cells(f, h, &shades[color], b->line + line);
			fputc('\n', f);
		}
		if (b->fold)
			print_fold(f, h, b, width);
	}
	print_times(f, h, zero_ns, width + 2);
	print_events(f, h, events, width);
	print_legend(f, h, &shades[color], h->columns + width + 2 < HEATMAP_NARROW);
}

/*
 * A heatmap as a picture
 */

/* Pixels: a line with its label, a cell, the margins around the cells */
#define LINE		15
#define CELL_HEIGHT	3
#define CELL_WIDTH	3
#define LEFT		215
#define RIGHT		125
#define ABOVE		45
#define BELOW		96

/* Pixels: start of labels, end of sizes, start of names. Characters of a name */
#define MARGIN		12
#define SIZE_AT		108
#define NAME_AT		116
#define NAME_CHARS	14

/* matplotlib's viridis: brightness rises evenly, for colour-blind readers, too */
ASSET(heatmap_gp, "tools/wsmo/views/heatmap.gp");

/**
 * heatmap_frame_grid() - get the grid that fits a frame
 * @columns: gets the number of columns
 * @lines: gets the number of lines, each with a label
 * @fine: gets the rows of cells in a line
 */
static void heatmap_frame_grid(const struct heatmap_frame *f, unsigned int *columns,
			       unsigned int *lines, unsigned int *fine)
{
	*columns = (f->width - LEFT - RIGHT) / CELL_WIDTH;
	*lines = (f->height - ABOVE - BELOW) / LINE;
	*fine = LINE / CELL_HEIGHT;
}

/* Return: gnuplot's coordinate of the point @y pixels below the frame's top */
static double screen_y(const struct heatmap_frame *f, unsigned int y)
{
	return 1 - (double)(f->top + y) / f->whole_height;
}

/* Sets the edges of the map and of the texts around it */
static void plot_frame(struct plot *p, const struct heatmap_frame *f)
{
	double left = (double)LEFT / f->width, right = 1 - (double)RIGHT / f->width;

	plot_printf(p, "reset\nleft = %g\nright = %g\ntop = %g\nbottom = %g\n", left, right,
		    screen_y(f, ABOVE), screen_y(f, f->height - BELOW));
	plot_printf(p, "scale_y = %g\nscale_width = %g\nscale_height = %g\n",
		    screen_y(f, f->height - 30), right - left, 10.0 / f->whole_height);
	plot_printf(p, "legend_x = %g\nlegend_y = %g\n", (double)MARGIN / f->width,
		    screen_y(f, f->height - 43));
}

/* Hatch the times at which the process was not watched */
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

/* Class, size and name on the left, the first address on the right */
static void plot_label(const struct heatmap *h, struct plot *p,
		       const struct heatmap_frame *f, const struct section *b)
{
	char text[PLOT_TEXT], name[HEATMAP_NAME], size[UNITS_LEN];
	double y = b->line + b->lines / 2.0;

	plot_printf(p, "set label '%s' at screen %g, first %g font ',8'\n",
		    class_name(h->ranges.range[b->label].class),
		    (double)MARGIN / f->width, y);
	plot_printf(p, "set label '%s' at screen %g, first %g right font ',8'\n",
		    units_size(size, b->bytes), (double)SIZE_AT / f->width, y);
	plot_printf(p, "set label %s at screen %g, first %g font ',8'\n",
		    plot_name(text, heatmap_name(name, h, b), NAME_CHARS),
		    (double)NAME_AT / f->width, y);
	plot_printf(p, "set label '%#llx' at graph 1.01, first %g font ',8'\n",
		    heatmap_address(h, b, 0), b->line + 0.5);
}

/* Writes labels instead of tics, because gnuplot takes the text of a tic as a printf() format */
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

/** heatmap_plot() - draw a map into its frame of a picture */
static void heatmap_plot(const struct heatmap *h, const struct events *events, struct plot *p,
			 __u64 zero_ns, const struct heatmap_frame *f)
{
	const char *unit;
	double per = plot_time_unit(h->to_ns - h->from_ns, &unit);
	double from = (__s64)(h->from_ns - zero_ns) / per;
	double step = (h->to_ns - h->from_ns) / per / h->columns;
	unsigned int row, c;

	plot_frame(p, f);
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
	plot_printf(p, "END\nfrom = %.9g\nto = %.9g\nunit = '%s'\nstep = %.9g\nlines = %u\nfine = %u\n%s",
		    from, (__s64)(h->to_ns - zero_ns) / per, unit, step, h->lines, h->fine, heatmap_gp);
}

/*
 * The view
 */

#define PICTURES_MAX	8	/* maximum number of maps in a picture */

/* Cells for --json, --csv and --raw */
#define TABLE_COLUMNS_OF_CELLS	80
#define TABLE_LINES		40
#define MIN_HEIGHT	300	/* pixels of a map in a picture */

/* Lines of text around a map, including the prompt */
#define AROUND		7

struct heatmap_row {
	double t, t_end;
	__u64 pid;
	const char *class;
	__u64 start, end;
	double share;
	const char *path;
};

#define ROW struct heatmap_row

TABLE(heatmap_table, "cell",
	COL(t, T, 8, "TIME", 0, "beginning of the cell"),
	COL(t_end, T, 8, "TO", 0, "end of the cell"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(class, TEXT, 7, "CLASS", 0, "class of most of its memory"),
	COL(start, ADDR, 14, "START", 0, "first address; memory that is not mapped does not count"),
	COL(end, ADDR, 14, "END", 0, "end, exclusive"),
	COL(share, RATIO, 7, "SHARE", 0,
	    "share of its pages accessed within an aggregation interval"),
	COL(path, TEXT, 8, "MAPPING", NOT_JSON, ""));

/**
 * struct heatmap_options - the command line
 * @maps:	parameters of the maps
 * @color:	wanted colours
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

/* Columns of the labels beside a map in characters */
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
		/* the legend of a narrow map is a line longer */
		lines -= AROUND + (width < HEATMAP_NARROW);
		width -= label_width(width) + 2;
		fine = heatmap_text_fine(color_of(rp));
	} else {
		width = or_default(rp->out.picture.width, TABLE_COLUMNS_OF_CELLS);
		lines = or_default(rp->out.picture.height, TABLE_LINES);
	}
	maps_layout(m, rp, width, lines, fine);
}

/* Return: start of a column, in nanoseconds */
static __u64 heatmap_time(const struct heatmap *h, unsigned int column)
{
	return h->from_ns + (double)(h->to_ns - h->from_ns) * column /
	       h->columns;
}

static void print_row(const struct report *rp, struct table *t,
		      const struct heatmap *h, const struct section *b,
		      unsigned int step)
{
	const struct range *s = &h->ranges.range[b->label];
	unsigned int row = b->line * h->fine + step, c;
	/* the last cell ends with its section, not where the next section begins */
	__u64 end = step + 1 < b->lines * h->fine ?
		    heatmap_address(h, b, step + 1) :
		    h->ranges.range[b->last].end;

	for (c = 0; c < h->columns; c++) {
		double share = heatmap_share(h, row, c);

		if (share < 0)
			continue;
		table_row(t, &(struct heatmap_row) {
			.t = filter_time(&rp->filter, heatmap_time(h, c)),
			.t_end = filter_time(&rp->filter, heatmap_time(h, c + 1)),
			.pid = h->pid,
			.class = class_name(s->class),
			.start = heatmap_address(h, b, step), .end = end,
			.share = share,
			.path = s->name,
		});
	}
}

static void print_table(const struct report *rp)
{
	const struct maps *m = rp->data;
	const struct heatmap *h = m->targets.base;
	struct table *t = report_table(rp, &heatmap_table);
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
		/* a message was printed */
	} else if (!m->targets.nr && rp->out.format == TABLE_HUMAN) {
		if (!rp->of_cgroup)
			msg("there is nothing to draw: --time, --pid, --class or --address leave no region");
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

REPORT_VIEW(heatmap_view) = {
	.order = 9,
	.name = "heatmap",
	.help = "Accessed addresses over time",
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
