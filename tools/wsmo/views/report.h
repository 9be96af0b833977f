/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report.h - a view of a recording, and one run of it
 */
#ifndef WSMO_REPORT_H
#define WSMO_REPORT_H

#include "core/options.h"
#include "libwsmon/filter.h"
#include "libwsmon/reader.h"
#include "plot.h"

struct report_view;

/**
 * struct output - where and how a view prints
 * @f:		the file for text
 * @format:	format of tables
 * @picture:	its file is named by -o, NULL without; its size is 0 without --size, and in
 *		characters without a file
 */
struct output {
	FILE *f;
	enum table_format format;
	struct picture picture;
};

#define REPORT_PIDS	4

/**
 * struct report - one run of a view
 * @view:	the view
 * @options:	the view's own options
 * @file:	the recording; "-" is standard input
 * @filter:	says which records are wanted
 * @out:	where to print
 * @reader:	reads the recording
 * @windows_seen: bit n: window n of @filter was recorded
 * @of_cgroup:	a cgroup was recorded as a whole: no process has figures of its own
 * @any:	the recording has something to show
 * @processes:	number of processes in TARGET records; @pids has the first of them
 * @first_ns, @last_ns: times of the first and last record
 * @cut:	the recording ends inside a record; known at the end
 * @failed:	the view failed, and has printed a message
 * @data:	state of the view
 */
struct report {
	const struct report_view *view;
	void *options;
	const char *file;
	struct filter filter;
	struct output out;
	struct wsmon_reader reader;
	__u32 windows_seen;
	bool of_cgroup;
	bool any;
	__u32 processes;
	__u32 pids[REPORT_PIDS];
	__u64 first_ns, last_ns;
	bool cut;
	bool failed;
	void *data;
};

/* In struct report_view.takes: the options that several views share */
#define TAKES_CLASS	0x01	/* --class */
#define TAKES_WINDOW	0x02	/* --window */
#define TAKES_FORMAT	0x04	/* --json, --csv and --raw */
#define TAKES_PICTURE	0x08	/* -o FILE.png and --size */
#define TAKES_PAGE	0x10	/* -o FILE.html */
#define TAKES_TEXT_SIZE	0x20	/* --size without -o: columns and lines */

/**
 * struct report_view - a view
 * @order:	place in the list of views, unique; the first view is the default
 * @name:	its name on the command line
 * @help:	one line for the help text
 * @takes:	TAKES_*
 * @own:	its own options, or NULL
 * @options:	what they set, with the defaults
 * @of_processes: shows figures of processes, which recordings of a cgroup lack
 * @no_snapshots: skip snapshots, which is much faster
 * @whole:	also needs records of times outside --time
 * @shows_all:	shows records of any type
 * @shows_memory: shows PROC and STATS records, unless there is --class
 * @check:	NULL, or rejects options that do not go together
 * @begin:	called after the header was read
 * @scan:	NULL, or called for each record of a first reading; the recording is then
 *		read twice
 * @scanned:	called between the two readings
 * @record:	called for each record, even if the filter does not want it. Only the head
 *		and the pid of an unwanted snapshot are valid
 * @end:	called after the last record; frees @data
 */
struct report_view {
	int order;
	const char *name;
	const char *help;
	unsigned int takes;
	const struct option_desc *own;
	void *options;
	bool of_processes;
	bool no_snapshots;
	bool whole;
	bool shows_all;
	bool shows_memory;
	void (*check)(struct argp_state *state, const struct report *rp);
	void (*begin)(struct report *rp);
	void (*scan)(struct report *rp, const struct wsmon_record *rec);
	void (*scanned)(struct report *rp);
	void (*record)(struct report *rp, const struct wsmon_record *rec);
	void (*end)(struct report *rp);
};

/**
 * REPORT_VIEW() - define a view, which registers itself
 * @var: its name in the file
 *
 * The linker collects pointers to all views in a section, for report.c. The program that has
 * "wsmo report" links this whole folder, whether or not anything refers to a view.
 */
#define REPORT_VIEW(var)								\
	static const struct report_view var;						\
	static const struct report_view * const var##_entry				\
		__attribute__((used, section("report_views"))) = &var;			\
	static const struct report_view var

/** report_find() - find a view by its name; NULL if there is none */
const struct report_view *report_find(const char *name);

/** report_init() - prepare to print all of the default file to standard output */
void report_init(struct report *rp, const struct report_view *view);

/* For struct sizing_choice */
extern const struct option_desc sizing_options[];

/* For struct report: -i and -p; --time; --class; --window */
extern const struct option_desc recording_options[];
extern const struct option_desc time_options[];
extern const struct option_desc class_options[];
extern const struct option_desc window_options[];

/**
 * report_run() - read @rp->file for @rp->view
 * @file: NULL, or the file that gets the output; it appears when it is complete
 *
 * Return: exit status, after a message if it is not WSMO_OK
 */
int report_run(struct report *rp, const char *file);

/** report_table() - begin a table of the view's output */
static inline struct table *report_table(const struct report *rp,
					 const struct table_desc *desc)
{
	return table_new_on(rp->out.f, desc, rp->out.format);
}

/** text_or_none() - Return: the text, NULL also if it is empty */
static inline const char *text_or_none(const char *s)
{
	return s && *s ? s : NULL;
}

#endif /* WSMO_REPORT_H */
