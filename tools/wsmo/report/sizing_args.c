// SPDX-License-Identifier: GPL-2.0
/*
 * sizing_args.c - the options of "wsmo report sizing"
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "report.h"

enum { OPT_MAX_REFAULTS = 330, OPT_LIMIT };

static const struct argp_option options[] = {
	{ "max-refaults", OPT_MAX_REFAULTS, "N", 0, "Mark the smallest limit with at most so many refaults a second (100)", 0 },
	{ "limit", OPT_LIMIT, "SIZE,...", 0, "What these limits mean", 0 },
	{ 0 }
};

static void parse_limits(struct argp_state *state, char *list,
			 struct sizing_choice *opt)
{
	char *text;
	__u64 size;

	while ((text = strsep(&list, ","))) {
		if (units_parse_size(text, &size) || !size)
			usage_error(state, "'%s' is not a size; try --limit 64M,1G",
				    text);
		if (opt->nr_limits == SIZING_LIMITS_MAX)
			usage_error(state, "at most %d limits", SIZING_LIMITS_MAX);
		opt->limits[opt->nr_limits++] = size;
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;

	switch (key) {
	case OPT_MAX_REFAULTS:
		report_option(state, rp, &report_sizing, "--max-refaults");
		if (units_parse_count(arg, 1000000000, &rp->sizing.max_refaults) ||
		    !rp->sizing.max_refaults)
			usage_error(state, "'%s' is not a number of refaults a second, 1 or more",
				    arg);
		return 0;
	case OPT_LIMIT:
		report_option(state, rp, &report_sizing, "--limit");
		parse_limits(state, arg, &rp->sizing);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp sizing_argp = { .options = options, .parser = parse_opt };
