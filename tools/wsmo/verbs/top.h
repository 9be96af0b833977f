/* SPDX-License-Identifier: GPL-2.0 */
/*
 * top.h - what the parts of "wsmo top" share
 *
 * top.c has the options and the loop, top_model.c the figures and their order; top_screen.c
 * shows them. None of these calls one named before it.
 */
#ifndef WSMO_TOP_H
#define WSMO_TOP_H

#include <time.h>

#include "core/table.h"
#include "live/cgroups.h"
#include "live/live.h"
#include "live/record.h"

#define TOP_HISTORY	200	/* sizes a trend can show */
#define TOP_EVENTS	64
#define TOP_FILTER	32

/**
 * enum top_sort - order of targets, and of the classes below each
 *
 * The row of a total is always the first.
 */
enum top_sort {
	TOP_BY_WSS,
	TOP_BY_SHARE,
	TOP_BY_HOT,
	TOP_BY_RSS,
	TOP_BY_IDLE,
	TOP_BY_PID,
	TOP_BY_NAME,
	TOP_NR_SORTS
};

/** struct top_series - the sizes of a target's class in a window; pid as in struct top_row */
struct top_series {
	__u32 pid;
	__u32 class;
	__u64 window_us;
	unsigned int nr;		/* so far, the last TOP_HISTORY are kept */
	__u64 bytes[TOP_HISTORY];
};

/**
 * struct top_row - a line of the table: a target ("all") or one of its classes
 * @wss:	its working set; of a cgroup, @pid is the number of its session; @group: it is the
 *		total
 * @comm:	its name
 * @path:	of a cgroup, until the sessions change; or NULL
 * @processes:	of a cgroup
 * @guests:	of a cgroup, virtual machines
 * @have_rss:	@rss and @idle are known; no class has its own
 * @rss:	resident memory
 * @idle:	part of @rss that is not in the working set
 * @regions:	number of regions
 * @hot:	bytes in regions with half or more of their pages accessed
 * @share:	working set as a share of mapped memory, 0 if nothing is mapped
 * @who:	what touches most of its memory; NULL if unknown
 * @who_share:	share of its memory that @who touches
 * @series:	its sizes
 */
struct top_row {
	struct wsmon_wss_row wss;
	char comm[WSMON_COMM_LEN];
	const char *path;
	__u64 processes;
	size_t guests;
	bool have_rss;
	__u64 rss;
	__u64 idle;
	__u64 regions;
	__u64 hot;
	double share;
	const char *who;
	double who_share;
	const struct top_series *series;
};

/** struct top_event - something that happened */
struct top_event {
	time_t time;
	__u64 lost;			/* it is this many lost records */
	char text[128];
};

/**
 * struct top - a run of "wsmo top"
 * @record:	monitoring, if this command starts it
 * @output:	where the command's output goes
 * @interval_ns: time between two looks
 * @screen:	draw on the terminal, else print tables
 * @repeat:	@count tables, 0 for as many as come
 * @format:	of the tables
 * @window_us:	window to show, 0 is the shortest
 * @sort, @reverse, @no_classes, @filter: what to show, in which order
 * @changed:	one of these changed since top_arrange()
 * @paused:	do not update the figures
 * @who:	who touches memory; NULL before the first WHO record
 * @live:	the figures of the last interval, of all sessions of @cgroups
 * @cgroups:	sessions of cgroups, if one was named
 * @status:	"running" or "ended"
 * @start_ns:	when this began
 * @read_ns:	when the table was made, 0 before there were figures
 * @series:	struct top_series
 * @targets:	number of processes or cgroups, whatever the filter matches
 * @left_out:	number of cgroups left out, as of the last event about them
 * @refused:	number of cgroups that could not be watched, likewise
 * @guests:	there was an event about virtual machines
 * @rows:	the table, @nr_rows
 * @shown_us:	the window that the table shows, 0: none
 * @events:	the last ones; @nr_events so far
 */
struct top {
	struct record record;
	__u64 interval_ns;
	bool screen;
	bool repeat;
	__u64 count;
	enum table_format format;
	__u64 window_us;
	enum top_sort sort;
	bool reverse;
	bool no_classes;
	char filter[TOP_FILTER];
	bool changed;
	bool paused;

	struct top_who *who;
	struct live live;
	struct cgroups cgroups;
	char status[16];
	__u64 start_ns;
	__u64 read_ns;
	struct sorted series;
	size_t targets;
	size_t left_out;
	size_t refused;
	bool guests;
	struct top_row *rows;
	size_t nr_rows;
	__u64 shown_us;
	struct top_event events[TOP_EVENTS];
	unsigned int nr_events;
};

/** top_sort_names - of enum top_sort, as --sort has them */
extern const char * const top_sort_names[TOP_NR_SORTS];

/** top_own() - does this command start the monitoring it shows? */
static inline bool top_own(const struct top *top)
{
	return top->record.cmd || top->record.pids.nr || top->record.session.cgroup;
}

/** top_grouped() - are the rows of cgroups? */
static inline bool top_grouped(const struct top *top)
{
	return top->record.session.cgroup;
}

/** top_running() - does the monitoring go on? */
static inline bool top_running(const struct top *top)
{
	return top_grouped(top) ? !top->cgroups.ended : top->record.session.started;
}

/** top_who_shown() - is it asked for, or known, who touches memory? */
static inline bool top_who_shown(const struct top *top)
{
	return top->record.who || top->who;
}

/** top_init() - prepare for the first top_update() */
void top_init(struct top *top);

/**
 * top_update() - take the figures there are, make the table
 * Return: 0, or nonzero after a message
 */
int top_update(struct top *top);

/**
 * top_arrange() - make the table from the figures
 * Return: 0, or -1 after a message
 */
int top_arrange(struct top *top);

/** top_next_window() - show the next longer window, or the shortest again */
void top_next_window(struct top *top);

/** top_name() - Return: the name of a target as people see it */
const char *top_name(const struct top *top, const struct top_row *row);

/** top_free() - free the figures and the table */
void top_free(struct top *top);

/** top_who_take() - note who touched memory, if a record tells */
void top_who_take(struct top *top, const struct wsmon_record *rec);

/** top_screen_open() - take the terminal; Return: 0, or -1 after a message */
int top_screen_open(void);

/** top_screen_draw() - draw the screen */
void top_screen_draw(const struct top *top);

/** top_screen_key() - take a key, if there is one; Return: false to quit */
bool top_screen_key(struct top *top);

/** top_screen_close() - restore the terminal, print the messages held meanwhile */
void top_screen_close(void);

#endif /* WSMO_TOP_H */
