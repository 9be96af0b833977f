/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report.h - what the views of "wsmo report" share
 */
#ifndef WSMO_REPORT_H
#define WSMO_REPORT_H

#include "cli/args.h"
#include "cli/table.h"
#include "cli/term.h"
#include "libwsmon/filter.h"
#include "libwsmon/numbers/sizing.h"
#include "libwsmon/reader.h"

struct report_view;

/**
 * struct heatmap_options - what is for the heatmap alone
 * @from:	lowest address
 * @to:		leave out what is behind it
 * @color:	the user's choice
 */
struct heatmap_options {
	__u64 from;
	__u64 to;
	enum term_color color;
};

#define WSS_PERCENTILES_MAX	32

/**
 * struct wss_options - what is for the working set's report alone
 * @by_size:	its rows are in that order
 * @only_percentiles: no row but percentiles
 * @percentiles: which, @nr_percentiles of them
 */
struct wss_options {
	bool by_size;
	bool only_percentiles;
	unsigned int percentiles[WSS_PERCENTILES_MAX];
	size_t nr_percentiles;
};

/** enum hot_sort - orders of the hot regions' report */
enum hot_sort {
	HOT_BY_FREQ,
	HOT_BY_SHARE,
	HOT_BY_SIZE,
	HOT_BY_AGE,
	HOT_BY_ADDRESS,
};

/**
 * struct hot_options - what is for the hot regions' report alone
 * @top:	rows of each class
 * @sort:	their order
 */
struct hot_options {
	__u32 top;
	enum hot_sort sort;
};

/**
 * struct peaks_options - what is for the report of peaks alone
 * @folded:	stacks alone, as flame graphs are made of
 */
struct peaks_options {
	bool folded;
};

/**
 * struct report - one run of "wsmo report"
 * @view:	what to print
 * @file:	the record file, "-" for stdin
 * @format:	how to print it
 * @filter:	what is wanted of it; without a window the shortest, where there
 *		can be but one
 * @windows_seen: bit n: window n of @filter was recorded
 * @output:	write a picture or a page to this file; NULL for standard output
 * @width:	pixels of the picture, or columns; 0 for what fits
 * @height:	pixels, or lines; 0 likewise
 * @sort:	what to sort by, NULL for the view's own order
 * @plot:	a picture is wanted, of a view that can also do without
 * @fine:	regions in parts are wanted, of a view that shows regions
 * @option:	an option that is of one view alone, NULL if there was none
 * @option_of:	that view
 * @heatmap:	options of that view
 * @wss:	likewise
 * @peaks:	likewise
 * @hot:	likewise
 * @sizing:	likewise
 * @reader:	the file
 * @cut:	the file ends inside a record (known at the end)
 * @failed:	the view could not do its work, and has told so
 * @data:	the view's own
 */
struct report {
	const struct report_view *view;
	const char *file;
	enum table_format format;
	struct filter filter;
	__u32 windows_seen;
	const char *output;
	unsigned int width;
	unsigned int height;
	const char *sort;
	bool plot;
	bool fine;
	const char *option;
	const struct report_view *option_of;
	struct heatmap_options heatmap;
	struct wss_options wss;
	struct peaks_options peaks;
	struct hot_options hot;
	struct sizing_choice sizing;
	struct reader reader;
	bool cut;
	bool failed;
	void *data;
};

/**
 * struct report_view - a view
 * @name:	what the user calls it
 * @help:	what it prints
 * @tables:	its tables, for the help text
 * @nr_tables:	how many
 * @no_snapshots: it does not look into snapshots: they are skipped, which is much
 *		faster
 * @plots:	it draws pictures: --plot
 * @places:	it shows regions, or parts of them: --fine
 * @begin:	called once the header is read
 * @scan:	if it is there the file is read twice, and this is called for
 *		each record of the first time
 * @scanned:	called between the two times
 * @record:	called for each record, whatever the filters are: the names of
 *		areas are needed even if their time is not. Nothing but the head
 *		and the pid of a snapshot that filter_wants() does not want may be
 *		looked at
 * @end:	called behind the last one; frees @data
 */
struct report_view {
	const char *name;
	const char *help;
	const struct table_desc * const *tables;
	size_t nr_tables;
	bool no_snapshots;
	bool plots;
	bool places;
	void (*begin)(struct report *rp);
	void (*scan)(struct report *rp, const struct wsmon_record *rec);
	void (*scanned)(struct report *rp);
	void (*record)(struct report *rp, const struct wsmon_record *rec);
	void (*end)(struct report *rp);
};

extern const struct report_view report_wss;
extern const struct report_view report_curve;
extern const struct report_view report_sizing;
extern const struct report_view report_regions;
extern const struct report_view report_hot;
extern const struct report_view report_summary;
extern const struct report_view report_peaks;
extern const struct report_view report_act;
extern const struct report_view report_raw;
extern const struct report_view report_heatmap;
extern const struct report_view report_html;

/* -i, --time, --pid, --class and --tau; the input is struct report */
extern const struct argp report_filter_argp;

/* The options that are of one view alone; the input is the same */
extern const struct argp heatmap_argp;
extern const struct argp wss_argp;
extern const struct argp peaks_argp;
extern const struct argp hot_argp;

/* What --sort means to a view, which has that option */
void wss_check_sort(struct argp_state *state, struct report *rp);
void hot_check_sort(struct argp_state *state, struct report *rp);
extern const struct argp sizing_argp;

/** report_option() - note that an option is there which only one view has */
void report_option(struct argp_state *state, struct report *rp,
		   const struct report_view *view, const char *name);

/** report_picture() - draw a picture: @file is the user's */
void report_picture(struct argp_state *state, struct report *rp,
		    const char *file);

/**
 * report_run() - read @rp->file for @rp->view
 * @file: write to this file, which is there whole or not at all, what the view
 *	  prints; NULL for standard output
 *
 * Return: exit status, after a message if it is not WSMO_OK
 */
int report_run(struct report *rp, const char *file);

#endif /* WSMO_REPORT_H */
