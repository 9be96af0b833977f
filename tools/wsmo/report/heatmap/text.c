// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - a heatmap in characters: 256 colours, 16, or none
 *
 * With colours and block characters a line shows two rows of cells: the upper
 * one as the colour of an upper half block, the lower one as its background.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "view.h"

#define NOT_MAPPED	-1
#define NOT_WATCHED	'/'
#define LINE_COLUMNS	1024
#define LABEL_WHOLE	20	/* less is without a name */
#define UPPER_HALF	"\xe2\x96\x80"
#define LOWER_HALF	"\xe2\x96\x84"

/**
 * struct shades - how shares look
 * @sgr:	what makes the foreground or background one of them, printf()
 *		format; NULL if there are characters instead
 * @level:	the shades, dark to bright, or the characters
 * @nr:		how many
 */
struct shades {
	const char *fore;
	const char *back;
	const unsigned char *level;
	int nr;
};

/* viridis, as near as the terminal's colours come; brighter with each step */
static const unsigned char levels_256[] = { 53, 55, 25, 31, 36, 77, 148, 226 };
static const unsigned char levels_16[] = { 4, 12, 6, 2, 10, 11 };

static const struct shades shades[] = {
	[TERM_NONE] = { NULL, NULL, (const unsigned char *)".:-=+*#@", 8 },
	[TERM_16] = { "3%d", "4%d", levels_16, ARRAY_SIZE(levels_16) },
	[TERM_256] = { "38;5;%d", "48;5;%d", levels_256, ARRAY_SIZE(levels_256) },
};

/* In a picture of @nr shades; the square root lets sparse use be seen. */
static int level(double share, int nr)
{
	int l;

	if (share < 0)
		return NOT_MAPPED;
	l = sqrt(share) * nr;
	return l < nr ? l : nr - 1;
}

unsigned int heatmap_text_fine(enum term_color color)
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

/* One character; colours are set only where they change */
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

/* A section is named on its uppermost line, its address is on the lowest. */
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
	for (; t <= to; t += step) {
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

/* "^p12" at its column, if there is room; Return: whether it is on the map */
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
	/* a peak begins at the end of its first interval: where it is seen is before that */
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
	for (i = events_first(events, h->pid, 0); (p = events_peak_at(events, i)) && p->pid == h->pid; i++) {
		if (p->start_ns == last_ns)
			continue;
		last_ns = p->start_ns;
		any |= put_event(line, h, p->start_ns - events->interval_ns / 2, p->sign < 0 ? 'd' : 'p', p->number);
	}
	if (any)
		fprintf(f, "%-*.*s  %s\n", (int)width, (int)width,
		       "peaks, dips, marks", line);
}

void heatmap_text(FILE *f, const struct heatmap *h, const struct events *events,
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
