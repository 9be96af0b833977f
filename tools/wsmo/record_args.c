// SPDX-License-Identifier: GPL-2.0
/*
 * record_args.c - options of the verbs that monitor: whom, how long, and how
 */
#include <stdio.h>
#include <string.h>

#include "debugfs.h"
#include "record.h"
#include "units.h"
#include "wsmo.h"

enum {
	OPT_SAMPLE = 256, OPT_AGGR, OPT_UPDATE, OPT_WINDOW, OPT_MIN, OPT_MAX,
	OPT_NO_FLUSH, OPT_SEED, OPT_CPU, OPT_DEBUGFS,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID,...", 0, "Monitor these processes", 0 },
	{ "duration", 'd', "TIME", 0, "End after this time; a plain number is seconds", 0 },
	{ NULL, 0, NULL, 0, "How to monitor (what the module is set to, else):", 1 },
	{ "sample", OPT_SAMPLE, "TIME", 0, "Sampling interval", 1 },
	{ "aggr", OPT_AGGR, "TIME", 0, "Aggregation interval: one working set size each", 1 },
	{ "update", OPT_UPDATE, "TIME", 0, "How often mappings are read again", 1 },
	{ "window", OPT_WINDOW, "TIME,...", 0, "The window of the working set, or several", 1 },
	{ "min-regions", OPT_MIN, "N", 0, "Least regions of a target", 1 },
	{ "max-regions", OPT_MAX, "N", 0, "Most regions of all targets", 1 },
	{ "no-flush", OPT_NO_FLUSH, NULL, 0, "Do not flush TLBs: cheaper, blind to small working sets", 1 },
	{ "seed", OPT_SEED, "N", 0, "Seed of the sample positions", 1 },
	{ "cpu-permille", OPT_CPU, "N", 0, "CPU time monitoring may take, in 1/1000 of one CPU", 1 },
	{ "debugfs", OPT_DEBUGFS, "DIR", 0, "The module's directory (" DEBUGFS_DEFAULT ")", 2 },
	{ 0 }
};

char *record_setting(struct record *r, const char *key)
{
	struct session *s = &r->session;
	size_t i;

	for (i = 0; i < s->nr_settings; i++)
		if (!strcmp(s->settings[i].key, key))
			break;
	if (i == s->nr_settings)
		s->nr_settings++;
	s->settings[i].key = key;
	return s->settings[i].value;
}

static void set_value(struct record *r, const char *key, __u64 value)
{
	snprintf(record_setting(r, key), SETTING_TEXT, "%llu", value);
}

__u64 record_time(struct argp_state *state, const char *arg)
{
	__u64 ns;

	if (units_parse_time(arg, &ns) || ns < NSEC_PER_USEC)
		usage_error(state, "'%s' is not a time; write 500us, 100ms, 2s or 5m",
			    arg);
	return ns;
}

static void set_windows(struct argp_state *state, char *list, struct record *r)
{
	char *text = record_setting(r, "window_us"), *window;
	size_t len = 0, nr = 0;

	while ((window = strsep(&list, ","))) {
		if (nr++ == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		len += snprintf(text + len, SETTING_TEXT - len, "%s%llu",
				len ? "," : "", record_time(state, window) / 1000);
		if (len >= SETTING_TEXT)
			usage_error(state, "windows are at most a day");
	}
}

static __u64 parse_count(struct argp_state *state, const char *arg, __u64 max)
{
	__u64 n;

	if (units_parse_count(arg, max, &n))
		usage_error(state, "'%s' is not a number from 0 to %llu", arg,
			    max);
	return n;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct record *r = state->input;

	switch (key) {
	case 'p':
		parse_pids(state, arg, &r->pids);
		return 0;
	case 'd':
		r->duration_ns = record_time(state, arg);
		return 0;
	case OPT_SAMPLE:
		set_value(r, "sample_us", record_time(state, arg) / 1000);
		return 0;
	case OPT_AGGR:
		set_value(r, "aggr_us", record_time(state, arg) / 1000);
		return 0;
	case OPT_UPDATE:
		set_value(r, "update_us", record_time(state, arg) / 1000);
		return 0;
	case OPT_WINDOW:
		set_windows(state, arg, r);
		return 0;
	case OPT_MIN:
		set_value(r, "min_regions", parse_count(state, arg, UINT_MAX));
		return 0;
	case OPT_MAX:
		set_value(r, "max_regions", parse_count(state, arg, UINT_MAX));
		return 0;
	case OPT_NO_FLUSH:
		set_value(r, "flush_tlb", 0);
		return 0;
	case OPT_SEED:
		set_value(r, "seed", parse_count(state, arg, ~0ULL));
		return 0;
	case OPT_CPU:
		set_value(r, "cpu_permille", parse_count(state, arg, 1000));
		return 0;
	case OPT_DEBUGFS:
		debugfs_dir(arg);
		return 0;
	case ARGP_KEY_ARGS:
		r->cmd = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (r->cmd && r->pids.nr)
			usage_error(state, "either -p or a command, not both");
		if (!r->cmd && !r->pids.nr && !r->optional)
			usage_error(state, "nothing to %s: name processes with -p, or a command",
				    r->verb);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp record_argp = {
	.options = options, .parser = parse_opt,
};
