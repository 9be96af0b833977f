// SPDX-License-Identifier: GPL-2.0
/*
 * wss_args.c - the options of "wsmo report wss"
 */
#include <string.h>

#include "report.h"
#include "units.h"
#include "wsmo.h"

enum { OPT_PLOT = 310, OPT_PERCENTILES, OPT_SORT };

static const struct argp_option options[] = {
	{ "plot", OPT_PLOT, "FILE", 0, "Draw it over time, with RSS beside it: FILE.png, .svg or .pdf", 0 },
	{ "percentiles", OPT_PERCENTILES, "P,...", OPTION_ARG_OPTIONAL, "Only the table of percentiles, of these (0,25,50,75,100)", 0 },
	{ "sort", OPT_SORT, "time|size", 0, "Order of the rows; by size the smallest is first in each class", 0 },
	{ 0 }
};

static void parse_percentiles(struct argp_state *state, char *arg,
			      struct wss_options *opt)
{
	char *text;
	__u64 v;

	opt->only_percentiles = true;
	if (!arg)
		return;
	opt->nr_percentiles = 0;
	while ((text = strsep(&arg, ","))) {
		if (units_parse_count(text, 100, &v))
			usage_error(state, "'%s' is not a percentile, a whole number from 0 to 100",
				    text);
		if (opt->nr_percentiles == WSS_PERCENTILES_MAX)
			usage_error(state, "at most %d percentiles",
				    WSS_PERCENTILES_MAX);
		opt->percentiles[opt->nr_percentiles++] = v;
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;

	switch (key) {
	case OPT_PLOT:
		report_option(state, rp, &report_wss, "--plot");
		report_picture(state, rp, arg);
		rp->wss.plot = true;
		return 0;
	case OPT_PERCENTILES:
		report_option(state, rp, &report_wss, "--percentiles");
		parse_percentiles(state, arg, &rp->wss);
		return 0;
	case OPT_SORT:
		report_option(state, rp, &report_wss, "--sort");
		rp->wss.by_size = !strcmp(arg, "size");
		if (!rp->wss.by_size && strcmp(arg, "time"))
			usage_error(state, "--sort is by time or by size");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp wss_argp = { .options = options, .parser = parse_opt };
