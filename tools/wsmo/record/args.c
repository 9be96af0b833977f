// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - options of the verbs that monitor: whom, how long, and how
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "record.h"
#include "session/debugfs.h"

enum {
	OPT_SAMPLE = 256, OPT_AGGR, OPT_UPDATE, OPT_WINDOW, OPT_MIN, OPT_MAX,
	OPT_NO_FLUSH, OPT_SEED, OPT_CPU, OPT_SIZING, OPT_PEAK_DETECTOR,
	OPT_PEAK_WINDOW, OPT_PEAK_GAIN, OPT_PEAK_ADAPT, OPT_DEBUGFS,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID,...", 0, "Monitor these processes", 0 },
	{ "duration", 'd', "TIME", 0, "End after this time; a plain number is seconds", 0 },
	{ NULL, 0, NULL, 0, "How to monitor (else as the module is set; act has defaults of its own):", 1 },
	{ "sample", OPT_SAMPLE, "TIME", 0, "Sampling interval", 1 },
	{ "aggr", OPT_AGGR, "TIME", 0, "Aggregation interval: one working set size each", 1 },
	{ "update", OPT_UPDATE, "TIME", 0, "How often mappings are read again", 1 },
	{ "window", OPT_WINDOW, "TIME,...", 0, "The window of the working set, or several", 1 },
	{ "min-regions", OPT_MIN, "N", 0, "Least regions of a target", 1 },
	{ "max-regions", OPT_MAX, "N", 0, "Most regions of all targets", 1 },
	{ "no-flush", OPT_NO_FLUSH, NULL, 0, "Do not flush TLBs: cheaper, blind to small working sets", 1 },
	{ "seed", OPT_SEED, "N", 0, "Seed of the sample positions", 1 },
	{ "cpu-permille", OPT_CPU, "N", 0, "CPU time monitoring may take, in 1/1000 of one CPU", 1 },
	{ "sizing", OPT_SIZING, NULL, 0, "For report sizing: windows from 1 s to 2 min, a sample every 500 ms", 1 },
	{ "peak-detector", OPT_PEAK_DETECTOR, "NAME", 0, "How peaks are found: sigma, fano (as valgrind-ws), off", 1 },
	{ "peak-window", OPT_PEAK_WINDOW, "N", 0, "Intervals that tell what is usual", 1 },
	{ "peak-gain", OPT_PEAK_GAIN, "X", 0, "How unusual a peak is: standard deviations", 1 },
	{ "peak-adapt", OPT_PEAK_ADAPT, "X", 0, "How fast a peak becomes usual, 0 to 1", 1 },
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
	if (i == ARRAY_SIZE(s->settings))
		abort();
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

/*
 * What "report sizing" wants to know. Two minutes: memory that was not used for so
 * long costs less to take away than to keep. Accessed bits stay until they are
 * cleared, so two rounds in the shortest window are enough.
 */
static void set_sizing(struct record *r)
{
	r->sizing = true;
	set_value(r, "sample_us", 500000);
	set_value(r, "aggr_us", 1000000);
	strcpy(record_setting(r, "window_us"),
	       "1000000,2000000,4000000,8000000,15000000,30000000,60000000,120000000");
}

static __u64 parse_count(struct argp_state *state, const char *arg, __u64 max)
{
	__u64 n;

	if (units_parse_count(arg, max, &n))
		usage_error(state, "'%s' is not a number from 0 to %llu", arg,
			    max);
	return n;
}

static void set_decimal(struct argp_state *state, const char *arg,
			struct record *r, const char *key, unsigned int max)
{
	__u64 milli;

	if (units_parse_milli(arg, max * 1000, &milli))
		usage_error(state, "'%s' is not a number from 0 to %u with at most three decimals",
			    arg, max);
	snprintf(record_setting(r, key), SETTING_TEXT, "%llu.%03llu",
		 milli / 1000, milli % 1000);
}

static void set_detector(struct argp_state *state, const char *arg,
			 struct record *r)
{
	if (strcmp(arg, "sigma") && strcmp(arg, "fano") && strcmp(arg, "off"))
		usage_error(state, "'%s' is no detector; there are sigma, fano and off",
			    arg);
	strcpy(record_setting(r, "peak_detector"), arg);
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
	case OPT_SIZING:
		set_sizing(r);
		return 0;
	case OPT_PEAK_DETECTOR:
		set_detector(state, arg, r);
		return 0;
	case OPT_PEAK_WINDOW:
		set_value(r, "peak_window", parse_count(state, arg, UINT_MAX));
		return 0;
	case OPT_PEAK_GAIN:
		set_decimal(state, arg, r, "peak_gain", 100);
		return 0;
	case OPT_PEAK_ADAPT:
		set_decimal(state, arg, r, "peak_adapt", 1);
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
