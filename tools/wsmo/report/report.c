// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - "wsmo report": its views and what they have in common
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "report.h"
#include "report/plot/plot.h"

static const struct report_view * const views[] = {
	&report_summary, &report_wss, &report_curve, &report_sizing, &report_peaks,
	&report_hot, &report_regions,
	&report_heatmap, &report_html, &report_act, &report_raw,
};

/* Sizes: characters, or pixels of a picture, of which --output is one */
#define LEAST_COLUMNS	60
#define LEAST_LINES	12
#define LEAST_WIDTH	600
#define LEAST_HEIGHT	300
#define MOST		10000

enum { OPT_JSON = 256, OPT_CSV, OPT_RAW, OPT_SIZE, OPT_SORT, OPT_PLOT, OPT_FINE };

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "One JSON object a line", 0 },
	{ "csv", OPT_CSV, NULL, 0, "Comma separated values", 0 },
	{ "raw", OPT_RAW, NULL, 0, "Exact numbers: bytes, nanoseconds, shares", 0 },
	{ "output", 'o', "FILE", 0, "Write html there; draw the heatmap as a picture: FILE.png, .svg or .pdf", 0 },
	{ "plot", OPT_PLOT, "FILE", 0, "Draw wss, curve or sizing: FILE.png, .svg or .pdf", 0 },
	{ "fine", OPT_FINE, NULL, 0, "For regions and heatmap: tell regions of which only parts were accessed in parts, by which of their pages the last intervals found accessed", 0 },
	{ "size", OPT_SIZE, "WxH", 0, "Pixels of a picture (1200x700), or columns and lines of the heatmap (the terminal's)", 0 },
	{ "sort", OPT_SORT, "KEY", 0, "One of time size freq share age address: the order of rows. wss takes time and size, the smallest first in each class; hot takes freq, share, size and age, the most first, and address", 0 },
	{ 0 }
};

static void parse_view(struct argp_state *state, const char *arg,
		       struct report *rp)
{
	size_t i;

	if (rp->view)
		usage_error(state, "one report at a time: '%s' is too much", arg);
	for (i = 0; i < ARRAY_SIZE(views); i++)
		if (!strcmp(views[i]->name, arg))
			rp->view = views[i];
	if (!rp->view)
		usage_error(state, "there is no report '%s'", arg);
}

void report_option(struct argp_state *state, struct report *rp,
		   const struct report_view *view, const char *name)
{
	if (rp->option_of && rp->option_of != view)
		usage_error(state, "%s and %s are options of different reports",
			    rp->option, name);
	rp->option_of = view;
	rp->option = name;
}

void report_picture(struct argp_state *state, struct report *rp,
		    const char *file)
{
	if (!plot_can(file))
		usage_error(state, "'%s' is no name of a picture: it ends in .png, .svg or .pdf",
			    file);
	rp->output = file;
}

static void parse_size(struct argp_state *state, char *arg,
		       struct report *rp)
{
	char *by = strchr(arg, 'x');
	__u64 width, height;

	if (by)
		*by++ = '\0';
	if (!by || units_parse_count(arg, MOST, &width) ||
	    units_parse_count(by, MOST, &height) || width < LEAST_COLUMNS ||
	    height < LEAST_LINES)
		usage_error(state, "--size wants width and height, %dx%d at least, %dx%d at most",
			    LEAST_COLUMNS, LEAST_LINES, MOST, MOST);
	rp->width = width;
	rp->height = height;
}

static void check_sort(struct argp_state *state, struct report *rp)
{
	if (rp->view == &report_wss)
		wss_check_sort(state, rp);
	else if (rp->view == &report_hot)
		hot_check_sort(state, rp);
	else
		usage_error(state, "--sort is for the reports wss and hot");
}

static void check_html(struct argp_state *state, const struct report *rp)
{
	if (rp->format != TABLE_HUMAN || rp->width)
		usage_error(state, "html is a page: it takes none of --json, --csv, --raw and --size");
}

/* What can only be told when all options and the view are known */
static void check_options(struct argp_state *state, struct report *rp)
{
	if (!rp->view)
		rp->view = &report_summary;
	if (rp->option && rp->option_of != rp->view)
		usage_error(state, "%s is an option of 'wsmo report %s'",
			    rp->option, rp->option_of->name);
	if (rp->sort)
		check_sort(state, rp);
	if (rp->plot && !rp->view->plots)
		usage_error(state, "--plot is an option of 'wsmo report wss', curve and sizing");
	if (rp->fine && !rp->view->places)
		usage_error(state, "--fine is an option of 'wsmo report regions' and heatmap");
	if (rp->view == &report_html) {
		check_html(state, rp);
		return;
	}
	if (rp->output && rp->view != &report_heatmap && !rp->plot)
		usage_error(state, "--output is for the reports html and heatmap");
	if (rp->output && rp->view == &report_heatmap)
		report_picture(state, rp, rp->output);
	if (rp->output && rp->format != TABLE_HUMAN)
		usage_error(state, "%s is a picture: it takes none of --json, --csv and --raw",
			    rp->output);
	if (rp->width && !rp->output && rp->view != &report_heatmap)
		usage_error(state, "--size is for pictures and the heatmap");
	if (rp->width && rp->output && (rp->width < LEAST_WIDTH ||
					rp->height < LEAST_HEIGHT))
		usage_error(state, "a picture has %dx%d pixels at least; see --size",
			    LEAST_WIDTH, LEAST_HEIGHT);
}

static const struct argp_child children[] = {
	{ .argp = &report_filter_argp },
	{ .argp = &wss_argp, .header = "For wss:", .group = 1 },
	{ .argp = &sizing_argp, .header = "For sizing:", .group = 2 },
	{ .argp = &hot_argp, .header = "For hot:", .group = 3 },
	{ .argp = &heatmap_argp, .header = "For heatmap:", .group = 4 },
	{ .argp = &peaks_argp, .header = "For peaks:", .group = 5 },
	/* this one takes no input */
	{ .argp = &verb_common_argp },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;
	size_t i;

	switch (key) {
	case ARGP_KEY_INIT:
		for (i = 0; i < ARRAY_SIZE(children) - 2; i++)
			state->child_inputs[i] = rp;
		return 0;
	case 'o':
		rp->output = arg;
		return 0;
	case OPT_PLOT:
		report_picture(state, rp, arg);
		rp->plot = true;
		return 0;
	case OPT_FINE:
		rp->fine = true;
		return 0;
	case OPT_SIZE:
		parse_size(state, arg, rp);
		return 0;
	case OPT_SORT:
		rp->sort = arg;
		return 0;
	case OPT_JSON:
		set_format(state, &rp->format, TABLE_JSON);
		return 0;
	case OPT_CSV:
		set_format(state, &rp->format, TABLE_CSV);
		return 0;
	case OPT_RAW:
		set_format(state, &rp->format, TABLE_RAW);
		return 0;
	case ARGP_KEY_ARG:
		parse_view(state, arg, rp);
		return 0;
	case ARGP_KEY_END:
		check_options(state, rp);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void help_view(FILE *f, const struct report_view *view)
{
	size_t i;

	fprintf(f, "%s: %s\n", view->name, view->help);
	for (i = 0; i < view->nr_tables; i++) {
		char *columns = table_help(view->tables[i]);

		fprintf(f, "%s\n", columns);
		free(columns);
	}
}

static char *help_filter(int key, const char *text, void *input)
{
	const struct report *rp = input;
	char *extra = NULL;
	size_t size, i;
	FILE *f;

	if (key != ARGP_KEY_HELP_EXTRA)
		return (char *)(uintptr_t)text;
	f = open_memstream(&extra, &size);
	if (!f)
		return NULL;
	fputs("Reports and what they tell:\n\n", f);
	for (i = 0; i < ARRAY_SIZE(views); i++)
		if (!rp || !rp->view || rp->view == views[i])
			help_view(f, views[i]);
	fclose(f);
	return extra;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = children,
	.args_doc = "[summary|wss|curve|sizing|peaks|hot|regions|heatmap|html|act|raw]",
	.doc = "Print what a record file holds. Without a name: the summary.",
	.help_filter = help_filter,
};

int cmd_report(int argc, char **argv)
{
	struct report rp = {
		.file = "wsmon.data",
		.heatmap.to = ~0ULL,
		.hot.top = 10,
		.wss = { .percentiles = { 0, 25, 50, 75, 100 }, .nr_percentiles = 5 },
		.sizing.max_refaults = SIZING_REFAULTS,
	};

	filter_init(&rp.filter);
	verb_parse(&argp, "wsmo report", argc, argv, &rp);
	return report_run(&rp, rp.view == &report_html ? rp.output : NULL);
}
