// SPDX-License-Identifier: GPL-2.0
/*
 * filter.c - what of a recording is wanted: options, and what they let pass
 */
#include <limits.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "report.h"

double report_time(const struct report *rp, __u64 time_ns)
{
	return (double)(__s64)(time_ns - rp->reader.header.mono_ns) /
	       NSEC_PER_SEC;
}

bool report_wants(const struct report *rp, const struct wsmon_record *rec)
{
	__s64 t = rec->time_ns - rp->reader.header.mono_ns;
	__u32 pid;

	if (t < rp->from_ns || t > rp->to_ns)
		return false;
	/* a mark is of all targets */
	if (!rp->pids.nr || rec->type == WSMON_REC_MARK)
		return true;
	return reader_pid(rec, &pid) && has_pid(&rp->pids, pid);
}

bool report_wants_class(const struct report *rp, __u32 class)
{
	if (!rp->classes)
		return true;
	return class < 32 && (rp->classes & (1U << class));
}

bool report_wants_tau(const struct report *rp, __u64 tau_us)
{
	__u32 i;

	for (i = 0; i < rp->nr_taus; i++)
		if (rp->taus[i] == tau_us)
			return true;
	return !rp->nr_taus;
}

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
	parse_bound(state, arg, &rp->from_ns);
	parse_bound(state, comma + 1, &rp->to_ns);
	if (rp->from_ns > rp->to_ns)
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
		if (rp->nr_taus == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		rp->taus[rp->nr_taus++] = ns / 1000;
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
		parse_pids(state, arg, &rp->pids);
		return 0;
	case OPT_CLASS:
		parse_classes(state, arg, &rp->classes);
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
