/* SPDX-License-Identifier: GPL-2.0 */
/*
 * top.h - shared by the parts of "wsmo top"
 *
 * top.c has the options and the loop, and calls the others. top_model.c has the figures and their
 * order. top_screen.c shows them.
 */
#ifndef WSMO_TOP_H
#define WSMO_TOP_H

#include <time.h>

#include "core/table.h"
#include "live/cgroups.h"
#include "live/live.h"
#include "live/record.h"

#define TOP_HISTORY	200	/* maximum number of sizes in a trend */
#define TOP_EVENTS	64
#define TOP_FILTER	32

/**
 * enum top_sort - order of targets, and of the classes below each
 *
 * The total's row always comes first.
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

/** struct top_series - past sizes of a target's class in a window; @pid is as in struct top_row */
struct top_series {
	__u32 pid;
	__u32 class;
	__u64 window_us;
	unsigned int nr;		/* number of sizes so far; the last TOP_HISTORY are kept */
	__u64 bytes[TOP_HISTORY];
};

/**
 * struct top_row - a line of the table: a target ("all") or one of its classes
 * @wss:	working set; its @pid is the session's number if the row is a cgroup, its @group is
 *		set in the total's row
 * @comm:	name of the target
 * @path:	path of a cgroup, valid until the sessions change; else NULL
 * @processes:	number of processes of a cgroup
 * @guests:	number of virtual machines of a cgroup
 * @have_rss:	@rss and @idle are valid; never set in rows of classes
 * @rss:	resident memory
 * @idle:	part of @rss that is not in the working set
 * @regions:	number of regions
 * @hot:	bytes in regions with at least half of the pages accessed
 * @share:	working set as a share of mapped memory; 0 if nothing is mapped
 * @who:	function that touches most of the target's memory; NULL: unknown
 * @who_share:	share of the target's memory that @who touches
 * @series:	past sizes of the row
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

/** struct top_event - an event to show */
struct top_event {
	time_t time;
	__u64 lost;			/* number of lost records, if the event is a loss */
	char text[128];
};

/**
 * struct top - a run of "wsmo top"
 * @record:	the monitoring, if this command starts it
 * @output:	where the command's output goes
 * @interval_ns: time between two updates
 * @screen:	draw on the terminal, else print tables
 * @repeat:	print @count tables; 0: no limit
 * @format:	of the tables
 * @window_us:	window to show; 0: the shortest
 * @sort, @reverse, @no_classes, @filter: which rows to show, in which order
 * @changed:	one of the four above changed since top_arrange()
 * @paused:	do not update the figures
 * @who:	who touches memory; NULL before the first WHO record
 * @live:	figures of the last interval; with @cgroups, of all their sessions
 * @cgroups:	sessions of cgroups, if the user named a cgroup
 * @status:	"running" or "ended"
 * @start_ns:	when the command began
 * @read_ns:	when the table was made; 0: no figures yet
 * @series:	struct top_series
 * @targets:	number of processes or cgroups, before the filter
 * @left_out:	number of cgroups left out at the last event about them
 * @refused:	number of cgroups that could not be watched at the last event about them
 * @guests:	an event about virtual machines was shown
 * @rows:	the table: @nr_rows rows
 * @shown_us:	window of the table; 0: none
 * @events:	the last events of @nr_events so far
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

/** top_sort_names - words of --sort, by enum top_sort */
extern const char * const top_sort_names[TOP_NR_SORTS];

/** top_own() - tell whether this command starts the monitoring */
static inline bool top_own(const struct top *top)
{
	return top->record.cmd || top->record.pids.nr || top->record.session.cgroup;
}

/** top_grouped() - tell whether rows are cgroups */
static inline bool top_grouped(const struct top *top)
{
	return top->record.session.cgroup;
}

/** top_running() - tell whether monitoring still runs */
static inline bool top_running(const struct top *top)
{
	return top_grouped(top) ? !top->cgroups.ended : top->record.session.started;
}

/**
 * top_who_shown() - tell whether to show who touches memory: requested, or recorded by the session
 */
static inline bool top_who_shown(const struct top *top)
{
	return top->record.who || top->who;
}

/** top_init() - prepare for the first top_update() */
void top_init(struct top *top);

/**
 * top_update() - take the latest figures and make the table
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

/** top_name() - get the name of a target for people */
const char *top_name(const struct top *top, const struct top_row *row);

/** top_free() - free the figures and the table */
void top_free(struct top *top);

/** top_who_take() - take a WHO or TARGET record; ignore other records */
void top_who_take(struct top *top, const struct wsmon_record *rec);

/** top_screen_open() - take over the terminal. Return: 0, or -1 after a message */
int top_screen_open(void);

/** top_screen_draw() - draw the screen */
void top_screen_draw(const struct top *top);

/** top_screen_key() - handle a key, if one was pressed. Return: false to quit */
bool top_screen_key(struct top *top);

/** top_screen_close() - restore the terminal; print messages held meanwhile */
void top_screen_close(void);

#endif /* WSMO_TOP_H */
