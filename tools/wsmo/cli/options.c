// SPDX-License-Identifier: GPL-2.0
/*
 * options.c - options, and arguments of options, that several verbs take
 */
#include "args.h"
#include "cli.h"
#include "options.h"
#include "units.h"

enum { OPT_JSON = 1280, OPT_CSV, OPT_RAW };

static const struct argp_option options[] = {
	{ "--json, --csv, --raw", 0, NULL, OPTION_DOC, "JSON lines; CSV; a table of exact numbers", 0 },
	{ "json", OPT_JSON, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "csv", OPT_CSV, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "raw", OPT_RAW, NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg __attribute__((unused)),
			 struct argp_state *state)
{
	static const enum table_format formats[] = {
		[OPT_JSON - OPT_JSON] = TABLE_JSON,
		[OPT_CSV - OPT_JSON] = TABLE_CSV,
		[OPT_RAW - OPT_JSON] = TABLE_RAW,
	};

	if (key < OPT_JSON || key > OPT_RAW)
		return ARGP_ERR_UNKNOWN;
	set_format(state, state->input, formats[key - OPT_JSON]);
	return 0;
}

const struct argp format_argp = {
	.options = options, .parser = parse_opt,
};

__u64 option_time(struct argp_state *state, const char *arg)
{
	__u64 ns;

	if (units_parse_time(arg, &ns) || ns < NSEC_PER_USEC)
		usage_error(state, "'%s' is not a time; write 500us, 100ms, 2s or 5m",
			    arg);
	return ns;
}

double option_percent(struct argp_state *state, const char *arg)
{
	double share;

	if (units_parse_percent(arg, &share))
		usage_error(state, "'%s' is not a percentage from 0%% to 100%%", arg);
	return share;
}

__u64 option_count(struct argp_state *state, const char *arg, __u64 min,
		   __u64 max)
{
	__u64 n;

	if (units_parse_count(arg, max, &n) || n < min)
		usage_error(state, "'%s' is not a number from %llu to %llu", arg,
			    min, max);
	return n;
}
