// SPDX-License-Identifier: GPL-2.0
/* top_screen.c - the screen of "wsmo top", its keys, and its help */
#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli.h"
#include "core/secondary.h"
#include "core/term.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/names.h"
#include "top.h"

/* Draw the help of the screen */
static void top_help_draw(void)
{
	static const char * const lines[] = {
		"wsmo top: the memory processes really use",
		"",
		"q        quit, and end the monitoring that wsmo top started",
		"p space  pause, or go on",
		"s        sort by the next of wss, share, hot, rss, idle, pid, name",
		"r        reverse the order",
		"f /      show rows with a text in name, process id or class",
		"c        show or hide the classes of memory of each",
		"w        show the next window, if there are several",
		"arrows, PgUp, PgDn, Home, End  scroll",
		"",
		"WSS      working set: memory accessed within the window",
		"LOW HIGH its 95 % interval",
		"RSS IDLE resident memory; its part that is not in the working set",
		"SHARE    working set as a share of what is mapped",
		"HOT      regions with half or more of their pages accessed",
		"REGIONS  number of regions",
		"*        has a secondary MMU: memory that only its guest accesses reads as idle",
		"WHO      with --who: the function that touches most memory, and its share",
		"TREND    working set over time, the newest at the right",
		"K M G are powers of 1024.",
		"",
		"Any key goes back.",
	};
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(lines) && i < LINES; i++)
		mvaddnstr(i, 0, lines[i], COLS);
}

#define HEAD_LINES	3	/* the session, the settings of the screen, headings */
#define EVENT_LINES	4
#define MIN_ROWS	6	/* this many rows have priority over events */
#define KEY_ESCAPE	27

enum { PID, NAME, WSS, LOW, HIGH, RSS, IDLE, SHARE, HOT, REGIONS, WHO, TREND, NR_COLUMNS };

/* Kinds of rows: processes, processes with --who, or cgroups */
enum { PROCESSES, WHO_TOO, CGROUPS, NR_KINDS };

/*
 * @rank: a narrow screen leaves out the columns with the highest ranks; a column with a rank of
 * NR_COLUMNS or more is never shown
 */
static const struct screen_column {
	const char *head;
	int width;
	int rank[NR_KINDS];
} columns[NR_COLUMNS] = {
	[PID]	  = { "PID", 7, { 2, 2, 4 } },
	[NAME]	  = { "NAME", 15, { 0, 0, 0 } },
	[WSS]	  = { "WSS", 7, { 1, 1, 2 } },
	[LOW]	  = { "LOW", 7, { 4, 5, 6 } },
	[HIGH]	  = { "HIGH", 7, { 3, 4, 5 } },
	[RSS]	  = { "RSS", 7, { 5, 6, 3 } },
	[IDLE]	  = { "IDLE", 7, { 9, 10, 1 } },
	[SHARE]	  = { "SHARE", 5, { 6, 7, NR_COLUMNS } },
	[HOT]	  = { "HOT", 7, { 7, 8, NR_COLUMNS } },
	[REGIONS] = { "REGIONS", 7, { 10, 11, 8 } },
	[WHO]	  = { "WHO", 26, { NR_COLUMNS, 3, NR_COLUMNS } },
	[TREND]	  = { "TREND", 8, { 8, 9, 7 } },	/* or wider */
};

static int kind;

static int rank_of(int column)
{
	return columns[column].rank[kind];
}

/* In rows of cgroups, PID has the number of processes, which is narrower, and names are longer */
static int width_of(int column)
{
	return kind != CGROUPS ? columns[column].width :
	       column == PID ? 5 : column == NAME ? 32 : columns[column].width;
}

static SCREEN *screen;
static bool helping;
static bool typing;		/* the user is typing the filter */
static char before[TOP_FILTER];	/* the old filter, while the user types a new one */
static size_t first_row;

int top_screen_open(void)
{
	const char *term = getenv("TERM");

	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		msg("cannot draw on the terminal type '%s'; try --repeat",
		    term ? term : "");
		return -1;
	}
	msg_hold(true);
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return 0;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	msg_hold(false);
}

/* Gets the number of ranks that fit on the screen. Return: number of characters left */
static int fit(int *ranks)
{
	int left = COLS, rank, i;

	for (rank = 0; rank < NR_COLUMNS; rank++) {
		for (i = 0; i < NR_COLUMNS && rank_of(i) != rank; i++)
			;
		if (i == NR_COLUMNS || left < width_of(i) + (rank > 0))
			break;
		left -= width_of(i) + (rank > 0);
	}
	*ranks = rank;
	return left;
}

/* Draws as much of a text as fits into @width columns */
static void draw_text(int y, int x, int width, const char *text)
{
	unsigned int used;

	mvaddnstr(y, x, text, width > 0 ? term_fit(text, width, &used) - text : 0);
}

/* Draws a text at the left or right end of a field */
static void field(int y, int x, int width, bool right, const char *text)
{
	mvprintw(y, x, right ? "%*s" : "%-*s", width, text);
}

/* Draws the last sizes that fit, the newest at the right; a full block is the largest */
static void draw_trend(int y, int x, int width, const struct top_series *s)
{
	static const char * const blocks[] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
	};
	static const char * const plain[] = {
		"_", ".", "-", "~", "=", "+", "*", "#"
	};
	const char * const *bars = term_unicode() ? blocks : plain;
	unsigned int nr, i;
	__u64 max = 0;

	if (!s)
		return;
	nr = s->nr < TOP_HISTORY ? s->nr : TOP_HISTORY;
	if (nr > (unsigned int)width)
		nr = width;
	for (i = s->nr - nr; i < s->nr; i++)
		if (s->bytes[i % TOP_HISTORY] > max)
			max = s->bytes[i % TOP_HISTORY];
	move(y, x + width - nr);
	for (i = s->nr - nr; i < s->nr; i++) {
		double part = max ? (double)s->bytes[i % TOP_HISTORY] / max : 0;

		addstr(bars[(int)(part * 7 + 0.5)]);
	}
}

static void cell_text(const struct top_row *row, int column, char *buf)
{
	const struct wsmon_wss_row *w = &row->wss;

	*buf = '\0';
	switch (column) {
	case PID:
		if (kind != CGROUPS)
			snprintf(buf, UNITS_LEN, "%u", w->pid);
		else if (w->class == WSMON_CLASS_ALL)
			snprintf(buf, UNITS_LEN, "%llu", row->processes);
		break;
	case WSS:
		units_short(buf, w->bytes);
		break;
	case LOW:
		units_short(buf, w->low);
		break;
	case HIGH:
		units_short(buf, w->high);
		break;
	case RSS:
		if (row->have_rss)
			units_short(buf, row->rss);
		else if (w->class == WSMON_CLASS_ALL)
			strcpy(buf, "-");
		break;
	case IDLE:
		if (row->have_rss)
			units_short(buf, row->idle);
		else if (w->class == WSMON_CLASS_ALL)
			strcpy(buf, "-");
		break;
	case SHARE:
		if (w->mapped)
			snprintf(buf, UNITS_LEN, "%.0f%%", 100 * row->share);
		else
			strcpy(buf, "-");
		break;
	case HOT:
		units_short(buf, row->hot);
		break;
	case REGIONS:
		snprintf(buf, UNITS_LEN, "%llu", row->regions);
		break;
	}
}

static void draw_name(const struct top *top, int y, int x, const struct top_row *row)
{
	const char *path = top_name(top, row), *last = strrchr(path, '/');
	bool mark = kind == CGROUPS ? row->guests : secondary_has(row->wss.pid);
	int width = width_of(NAME);
	char name[256];
	unsigned int used;

	if (row->wss.class != WSMON_CLASS_ALL) {
		mvprintw(y, x, "  %s", class_name(row->wss.class));
		return;
	}
	/* if a path does not fit, show its last part, which is the most specific */
	if (row->path && !row->wss.group && strlen(path) > (size_t)width && last)
		path = last + 1;
	text_clean(name, sizeof(name), path);
	name[term_fit(name, width - mark, &used) - name] = '\0';
	mvprintw(y, x, "%s%s", name, mark ? "*" : "");
}

static void draw_who(int y, int x, int width, const struct top_row *row)
{
	char clean[256];

	mvprintw(y, x - 1, "%*s", width + 1, "");
	if (!row->who)
		return;
	mvprintw(y, x, "%3.0f%% ", 100 * row->who_share);
	draw_text(y, x + 5, width - 5, text_clean(clean, sizeof(clean), row->who));
}

/* Draws a row; @row NULL: the headings */
static void draw_row(const struct top *top, int y, const struct top_row *row)
{
	int ranks, left = fit(&ranks), x[NR_COLUMNS], width, at = 0, i;
	char buf[UNITS_LEN];

	for (i = 0; i < NR_COLUMNS; i++) {
		x[i] = at;
		if (rank_of(i) < ranks)
			at += width_of(i) + 1;
	}
	if (row)
		draw_name(top, y, x[NAME], row);
	for (i = 0; i < NR_COLUMNS; i++) {
		if (rank_of(i) >= ranks || (row && i == NAME))
			continue;
		width = width_of(i) + (i == TREND ? left : 0);
		if (!row) {
			field(y, x[i], width, i != NAME && i < WHO,
			      kind == CGROUPS && i == PID ? "PROCS" : columns[i].head);
		} else if (i == TREND) {
			mvprintw(y, x[i] - 1, "%*s", width + 1, "");
			draw_trend(y, x[i], width, row->series);
		} else if (i == WHO) {
			draw_who(y, x[i], width, row);
		} else {
			cell_text(row, i, buf);
			if (i > NAME)
				field(y, x[i] - 1, width + 1, true, buf);
			else
				field(y, x[i], width, true, buf);
		}
	}
}

static void draw_head(const struct top *top)
{
	char window[UNITS_LEN], line[256], cpu[32] = "";
	__u64 regions = 0;
	const struct live_class *c = top->live.now.classes.base;
	size_t i;

	for (i = 0; i < top->live.now.classes.nr; i++)
		if (c[i].class == WSMON_CLASS_ALL)
			regions += c[i].regions;
	for (i = 0; i < top->cgroups.nr; i++)
		regions += top->cgroups.list[i]->live.now.group.regions;
	if (top->live.cpu >= 0)
		snprintf(cpu, sizeof(cpu), ", %.1f %% of one CPU", 100 * top->live.cpu);
	snprintf(line, sizeof(line), "wsmo top: %s, %zu %s%s, %llu regions, window %s%s, %llu lost",
		 top->status, top->targets, kind == CGROUPS ? "cgroup" : "process",
		 top->targets == 1 ? "" : kind == CGROUPS ? "s" : "es", regions,
		 top->shown_us ? units_time(window, top->shown_us * NSEC_PER_USEC) :
				 "-",
		 cpu, top->live.lost);
	draw_text(0, 0, COLS, line);
	snprintf(line, sizeof(line), "by %s%s%s%s%s%s",
		 kind == CGROUPS && top->sort == TOP_BY_PID ? "processes" : top_sort_names[top->sort],
		 top->reverse ? ", reversed" : "",
		 top->no_classes ? ", without classes" : "",
		 *top->filter ? ", only " : "", top->filter,
		 top->paused ? ", PAUSED" : "");
	draw_text(1, 0, COLS, line);
	attron(A_REVERSE);
	mvprintw(2, 0, "%*s", COLS, "");
	draw_row(top, 2, NULL);
	attroff(A_REVERSE);
}

/* Draws the last events; Return: number of lines */
static int draw_events(const struct top *top)
{
	int room = LINES - HEAD_LINES - 1 - MIN_ROWS, nr, i;
	char clock[16];

	nr = top->nr_events < EVENT_LINES ? (int)top->nr_events : EVENT_LINES;
	if (nr > room)
		nr = room > 0 ? room : 0;
	for (i = 0; i < nr; i++) {
		const struct top_event *e =
			&top->events[(top->nr_events - nr + i) % TOP_EVENTS];
		struct tm tm;

		localtime_r(&e->time, &tm);
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
		if (e->lost)
			attron(A_BOLD);
		mvprintw(LINES - 1 - nr + i, 0, "%s ", clock);
		draw_text(LINES - 1 - nr + i, 9, COLS - 9, e->text);
		attroff(A_BOLD);
	}
	return nr;
}

static void draw_rows(const struct top *top, int room)
{
	size_t i;

	if (first_row + room > top->nr_rows)
		first_row = top->nr_rows > (size_t)room ? top->nr_rows - room : 0;
	for (i = first_row; i < top->nr_rows && (int)(i - first_row) < room; i++) {
		bool target = top->rows[i].wss.class == WSMON_CLASS_ALL;

		if (target)
			attron(A_BOLD);
		draw_row(top, HEAD_LINES + i - first_row, &top->rows[i]);
		attroff(A_BOLD);
	}
	if (!top->nr_rows && room > 0)
		mvaddnstr(HEAD_LINES, 0, top->live.now.rows.nr ?
			  "nothing matches the filter" :
			  "no figures yet", COLS);
}

static void draw_last_line(const struct top *top)
{
	if (typing) {
		mvprintw(LINES - 1, 0, "only: %s_  (a name, process id or class; Enter, or Esc)",
			 top->filter);
		return;
	}
	attron(A_DIM);
	mvaddnstr(LINES - 1, 0, "q quit  h help  p pause  s sort  r reverse  f filter  c classes  w window",
		  COLS);
	attroff(A_DIM);
}

void top_screen_draw(const struct top *top)
{
	kind = top_grouped(top) ? CGROUPS : top_who_shown(top) ? WHO_TOO : PROCESSES;
	erase();
	if (helping) {
		top_help_draw();
	} else {
		draw_head(top);
		draw_rows(top, LINES - HEAD_LINES - 1 - draw_events(top));
		draw_last_line(top);
	}
	refresh();
}

static void type_filter(struct top *top, int key)
{
	size_t len = strlen(top->filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		typing = false;
	} else if (key == KEY_ESCAPE) {
		typing = false;
		strcpy(top->filter, before);
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		if (len)
			top->filter[len - 1] = '\0';
	} else if (key >= ' ' && key < 127 && len + 1 < sizeof(top->filter)) {
		top->filter[len] = key;
		top->filter[len + 1] = '\0';
	}
	top->changed = true;
}

static void scroll_to(int lines)
{
	if (lines < 0 && first_row < (size_t)-lines)
		first_row = 0;
	else
		first_row += lines;
}

static void take_key(struct top *top, int key)
{
	switch (key) {
	case 'h':
	case '?':
		helping = true;
		break;
	case 'p':
	case ' ':
		top->paused = !top->paused;
		break;
	case 's':
		top->sort = (top->sort + 1) % TOP_NR_SORTS;
		top->changed = true;
		break;
	case 'r':
		top->reverse = !top->reverse;
		top->changed = true;
		break;
	case 'c':
		top->no_classes = !top->no_classes;
		top->changed = true;
		break;
	case 'w':
		top_next_window(top);
		break;
	case 'f':
	case '/':
		typing = true;
		strcpy(before, top->filter);
		*top->filter = '\0';
		top->changed = true;
		break;
	case KEY_UP:
		scroll_to(-1);
		break;
	case KEY_DOWN:
		scroll_to(1);
		break;
	case KEY_PPAGE:
		scroll_to(-(LINES / 2));
		break;
	case KEY_NPAGE:
		scroll_to(LINES / 2);
		break;
	case KEY_HOME:
		first_row = 0;
		break;
	case KEY_END:
		first_row = top->nr_rows;
		break;
	case 'L' & 31:
		clearok(curscr, TRUE);
		break;
	}
}

bool top_screen_key(struct top *top)
{
	int key;

	while ((key = getch()) != ERR) {
		if (key == KEY_RESIZE)
			continue;
		if (typing)
			type_filter(top, key);
		else if (helping)
			helping = false;
		else if (key == 'q')
			return false;
		else
			take_key(top, key);
	}
	return true;
}
