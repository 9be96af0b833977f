// SPDX-License-Identifier: GPL-2.0
/*
 * wss_args.c - the options of "wsmo report wss"
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "report.h"

enum { OPT_PERCENTILES = 310 };

static const struct argp_option options[] = {
	{ "percentiles", OPT_PERCENTILES, "P,...", OPTION_ARG_OPTIONAL, "Only the table of percentiles, of these (0,25,50,75,100)", 0 },
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
	case OPT_PERCENTILES:
		report_option(state, rp, &report_wss, "--percentiles");
		parse_percentiles(state, arg, &rp->wss);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void wss_check_sort(struct argp_state *state, struct report *rp)
{
	rp->wss.by_size = !strcmp(rp->sort, "size");
	if (!rp->wss.by_size && strcmp(rp->sort, "time"))
		usage_error(state, "--sort is by time or by size");
}

const struct argp wss_argp = { .options = options, .parser = parse_opt };
