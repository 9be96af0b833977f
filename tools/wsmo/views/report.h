/* SPDX-License-Identifier: GPL-2.0 */
/* report.h - a view of a recording, and one run of it */
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
 * @picture:	file as named by -o, NULL without -o; size as given by --size, 0 without --size, in
 *		characters without -o
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
 * @filter:	the wanted part of the recording
 * @out:	where and how to print
 * @reader:	reads the recording
 * @windows_seen: bit n: window n of @filter was recorded
 * @of_cgroup:	a cgroup was recorded as a whole, so processes have no figures of their own
 * @any:	the recording has records to show
 * @processes:	number of processes in TARGET records; @pids has the first ones
 * @first_ns, @last_ns: times of the first and last record
 * @cut:	the recording ends inside a record; valid after the last record
 * @failed:	the view failed, after a message
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

/* struct report_view.takes: options that several views share */
#define TAKES_CLASS	0x01	/* --class */
#define TAKES_WINDOW	0x02	/* --window */
#define TAKES_FORMAT	0x04	/* --json, --csv and --raw */
#define TAKES_PICTURE	0x08	/* -o FILE.png and --size */
#define TAKES_PAGE	0x10	/* -o FILE.html */
#define TAKES_TEXT_SIZE	0x20	/* --size without -o: columns and lines */

/**
 * struct report_view - a view
 * @order:	place in the list of views, unique; the first view is the default
 * @name:	name on the command line
 * @help:	one line of the help text
 * @takes:	TAKES_*
 * @own:	the view's own options, or NULL
 * @options:	structure that the own options set, with the defaults
 * @of_processes: shows figures of processes, which recordings of a cgroup lack
 * @no_snapshots: skip snapshots, which is much faster
 * @whole:	needs records outside --time, too
 * @shows_all:	shows records of any type
 * @shows_memory: shows PROC and STATS records, except with --class
 * @check:	rejects options that do not go together; may be NULL
 * @begin:	called after the header was read
 * @scan:	called for each record of a first reading. NULL: the recording is read only once
 * @scanned:	called between the two readings
 * @record:	called for all records, unwanted ones included. Of an unwanted snapshot only the
 *		head and the pid are valid
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
 * @var: name of the variable
 *
 * The linker collects pointers to all views in a section, for report.c. The program with "wsmo
 * report" links this whole folder, even views that nothing refers to.
 */
#define REPORT_VIEW(var)								\
	static const struct report_view var;						\
	static const struct report_view * const var##_entry				\
		__attribute__((used, section("report_views"))) = &var;			\
	static const struct report_view var

/** report_find() - find a view by its name; NULL if there is none */
const struct report_view *report_find(const char *name);

/** report_init() - prepare to print the whole default file to standard output */
void report_init(struct report *rp, const struct report_view *view);

/* Options that set a struct sizing_choice */
extern const struct option_desc sizing_options[];

/* Options that set a struct report: -i and -p; --time; --class; --window */
extern const struct option_desc recording_options[];
extern const struct option_desc time_options[];
extern const struct option_desc class_options[];
extern const struct option_desc window_options[];

/**
 * report_run() - read @rp->file for @rp->view
 * @file: gets the output, and appears when complete; NULL: standard output
 *
 * Return: exit status, if not WSMO_OK after a message
 */
int report_run(struct report *rp, const char *file);

/** report_table() - begin a table in the view's format */
static inline struct table *report_table(const struct report *rp,
					 const struct table_desc *desc)
{
	return table_new_on(rp->out.f, desc, rp->out.format);
}

/** text_or_none() - replace an empty text by NULL */
static inline const char *text_or_none(const char *s)
{
	return s && *s ? s : NULL;
}

#endif /* WSMO_REPORT_H */
