// SPDX-License-Identifier: GPL-2.0
/*
 * hot_args.c - the options of "wsmo report hot"
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "report.h"

enum { OPT_TOP = 330 };

#define TOP_MAX	65536

static const struct argp_option options[] = {
	{ "top", OPT_TOP, "N", 0, "Only the first N regions of each class (10)", 0 },
	{ 0 }
};

void hot_check_sort(struct argp_state *state, struct report *rp)
{
	static const char * const names[] = {
		[HOT_BY_FREQ]		= "freq",
		[HOT_BY_SHARE]		= "share",
		[HOT_BY_SIZE]		= "size",
		[HOT_BY_AGE]		= "age",
		[HOT_BY_ADDRESS]	= "address",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], rp->sort)) {
			rp->hot.sort = i;
			return;
		}
	}
	usage_error(state, "--sort is by freq, share, size, age or address");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;
	__u64 v;

	switch (key) {
	case OPT_TOP:
		report_option(state, rp, &report_hot, "--top");
		if (units_parse_count(arg, TOP_MAX, &v) || !v)
			usage_error(state, "--top wants a number from 1 to %d",
				    TOP_MAX);
		rp->hot.top = v;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp hot_argp = { .options = options, .parser = parse_opt };
