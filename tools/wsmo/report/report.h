/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report.h - a view of a recording, and one run of it
 */
#ifndef WSMO_REPORT_H
#define WSMO_REPORT_H

#include "cli/options.h"
#include "libwsmon/filter.h"
#include "libwsmon/reader.h"
#include "plot/plot.h"

struct report_view;

/**
 * struct output - where and how a view prints
 * @f:		the file for text
 * @format:	format of tables
 * @picture:	its file is what -o names, NULL for none; its size is 0 where
 *		--size does not say, and in characters without a file
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
 * @options:	the options of that view alone
 * @file:	the recording; "-" is standard input
 * @filter:	what is wanted of it
 * @out:	where to print
 * @reader:	reads the recording
 * @windows_seen: bit n: window n of @filter was recorded
 * @of_cgroup:	it is the recording of a cgroup: no process has figures of its own
 * @any:	something of the recording is wanted
 * @processes:	TARGET records, of which @pids has the first ones' processes
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
 * @name:	its name on the command line
 * @help:	one line for the help text
 * @takes:	TAKES_*
 * @own:	its own options, or NULL
 * @options:	what they set, with the defaults
 * @of_processes: shows what only processes with figures of their own have
 * @no_snapshots: skip snapshots, which is much faster
 * @whole:	needs what was observed at other times than --time, too
 * @check:	NULL, or rejects options that do not go together
 * @begin:	called after the header was read
 * @scan:	NULL, or the recording is read twice and this is called for each
 *		record of the first reading
 * @scanned:	called between the two readings
 * @record:	called for each record, even if the filter does not want it. Of
 *		a snapshot that is not wanted only the head and the pid are valid
 * @end:	called after the last record; frees @data
 */
struct report_view {
	const char *name;
	const char *help;
	unsigned int takes;
	const struct option_desc *own;
	void *options;
	bool of_processes;
	bool no_snapshots;
	bool whole;
	void (*check)(struct argp_state *state, const struct report *rp);
	void (*begin)(struct report *rp);
	void (*scan)(struct report *rp, const struct wsmon_record *rec);
	void (*scanned)(struct report *rp);
	void (*record)(struct report *rp, const struct wsmon_record *rec);
	void (*end)(struct report *rp);
};

extern const struct report_view report_summary;
extern const struct report_view report_wss;
extern const struct report_view report_curve;
extern const struct report_view report_sizing;
extern const struct report_view report_peaks;
extern const struct report_view report_hot;
extern const struct report_view report_who;
extern const struct report_view report_regions;
extern const struct report_view report_idle;
extern const struct report_view report_heatmap;
extern const struct report_view report_html;
extern const struct report_view report_act;
extern const struct report_view report_alloc;
extern const struct report_view report_raw;

/** report_find() - find a view by its name; NULL if there is none */
const struct report_view *report_find(const char *name);

/** report_init() - the default file, everything of it, to standard output */
void report_init(struct report *rp, const struct report_view *view);

/* For struct sizing_choice */
extern const struct option_desc sizing_options[];

/* For struct report: -i and -p; --time; --class; --window */
extern const struct option_desc recording_options[];
extern const struct option_desc time_options[];
extern const struct option_desc class_options[];
extern const struct option_desc window_options[];

/**
 * report_parse() - parse the command line of a view
 * @name:	"wsmo report wss"
 * @doc:	the text above the options
 */
void report_parse(struct report *rp, const char *name, const char *doc,
		  int argc, char **argv);

/**
 * report_run() - read @rp->file for @rp->view
 * @file: NULL, or what the view prints goes to this file, which appears when it
 *	  is complete
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

#endif /* WSMO_REPORT_H */
