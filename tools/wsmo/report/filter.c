// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - what of a recording is wanted: options, and what they let pass
 */
#include <limits.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "report.h"

enum { OPT_TIME = 290, OPT_PID, OPT_CLASS, OPT_TAU };

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0, "The record file (wsmon.data); - is standard input", 0 },
	{ "time", OPT_TIME, "A,B", 0, "Only from time A to time B of the recording; either may be empty", 0 },
	{ "pid", OPT_PID, "PID,...", 0, "Only these targets", 0 },
	{ "class", OPT_CLASS, "CLASS,...", 0, "Only these: all text data heap stack anon file shmem hugetlb mixed", 0 },
	{ "tau", OPT_TAU, "TIME,...", 0, "Only these windows of the working set; the summary is of the first", 0 },
	{ 0 }
};

static void parse_bound(struct argp_state *state, const char *text, __s64 *ns)
{
	__u64 v;

	if (!*text)
		return;
	if (units_parse_time(text, &v) || v > LLONG_MAX)
		usage_error(state, "'%s' is not a time; try --time 1.5,90 or --time 500ms,2m",
			    text);
	*ns = v;
}

static void parse_time(struct argp_state *state, char *arg, struct report *rp)
{
	char *comma = strchr(arg, ',');

	if (!comma)
		usage_error(state, "--time wants two times, A,B, one of which may be empty");
	*comma = '\0';
	parse_bound(state, arg, &rp->filter.from_ns);
	parse_bound(state, comma + 1, &rp->filter.to_ns);
	if (rp->filter.from_ns > rp->filter.to_ns)
		usage_error(state, "--time wants the earlier time first");
}

static void parse_taus(struct argp_state *state, char *arg, struct report *rp)
{
	char *tau;
	__u64 ns;

	while ((tau = strsep(&arg, ","))) {
		if (units_parse_time(tau, &ns) || ns < NSEC_PER_USEC)
			usage_error(state, "'%s' is not a time; try --tau 100ms,10s",
				    tau);
		if (rp->filter.nr_windows == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		rp->filter.windows[rp->filter.nr_windows++] = ns / 1000;
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;

	switch (key) {
	case 'i':
		rp->file = arg;
		return 0;
	case OPT_TIME:
		parse_time(state, arg, rp);
		return 0;
	case OPT_PID:
		parse_pids(state, arg, &rp->filter.pids);
		return 0;
	case OPT_CLASS:
		parse_classes(state, arg, &rp->filter.classes);
		return 0;
	case OPT_TAU:
		parse_taus(state, arg, rp);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp report_filter_argp = {
	.options = options, .parser = parse_opt,
};
