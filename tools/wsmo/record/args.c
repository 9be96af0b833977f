// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - options of the verbs that monitor: whom, how long, and how
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/units.h"
#include "record.h"
#include "session/debugfs.h"

enum {
	OPT_SAMPLE = 256, OPT_AGGR, OPT_UPDATE, OPT_WINDOW, OPT_MIN, OPT_MAX,
	OPT_NO_FLUSH, OPT_SEED, OPT_CPU, OPT_PEAK_DETECTOR, OPT_PEAK_WINDOW,
	OPT_PEAK_GAIN, OPT_PEAK_ADAPT,
};

/* Flags of an option tell whether it is in --help; wsmo-record(1) has all */
#define OPTIONS(how) (const struct argp_option[]) {				\
	{ "pid", 'p', "PID,...", 0, "Monitor these processes", 0 },		\
	{ "duration", 'd', "TIME", 0, "End after this time: 500ms, 30 (seconds), 5m", 0 }, \
	{ "sample", OPT_SAMPLE, "TIME", how, "How often each sample is checked", 0 }, \
	{ "aggr", OPT_AGGR, "TIME", how, "How often the working set is estimated", 0 }, \
	{ "window", OPT_WINDOW, "TIME,...", how, "Windows of the working set, up to 8", 0 }, \
	{ "max-regions", OPT_MAX, "N", how, "Max. regions of all processes", 0 },	\
	{ "cpu", OPT_CPU, "PERCENT", how, "Max. CPU time for monitoring, of one CPU", 0 }, \
	{ "update", OPT_UPDATE, "TIME", OPTION_HIDDEN, NULL, 0 },		\
	{ "min-regions", OPT_MIN, "N", OPTION_HIDDEN, NULL, 0 },		\
	{ "no-flush", OPT_NO_FLUSH, NULL, OPTION_HIDDEN, NULL, 0 },		\
	{ "seed", OPT_SEED, "N", OPTION_HIDDEN, NULL, 0 },			\
	{ "peak-detector", OPT_PEAK_DETECTOR, "sigma|fano|off", OPTION_HIDDEN, NULL, 0 }, \
	{ "peak-window", OPT_PEAK_WINDOW, "N", OPTION_HIDDEN, NULL, 0 },	\
	{ "peak-gain", OPT_PEAK_GAIN, "X", OPTION_HIDDEN, NULL, 0 },		\
	{ "peak-adapt", OPT_PEAK_ADAPT, "X", OPTION_HIDDEN, NULL, 0 },		\
	{ 0 }									\
}

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

static void set_windows(struct argp_state *state, char *list, struct record *r)
{
	char *text = record_setting(r, "window_us"), *window;
	size_t len = 0, nr = 0;

	while ((window = strsep(&list, ","))) {
		__u64 us = option_time(state, window) / NSEC_PER_USEC;

		if (nr++ == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		if (!len)
			r->window_us = us;
		len += snprintf(text + len, SETTING_TEXT - len, "%s%llu",
				len ? "," : "", us);
		if (len >= SETTING_TEXT)
			usage_error(state, "windows are at most a day");
	}
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
		usage_error(state, "'%s' is not a peak detector: sigma, fano or off",
			    arg);
	strcpy(record_setting(r, "peak_detector"), arg);
}

static void set_cpu(struct argp_state *state, const char *arg, struct record *r)
{
	__u64 permille = option_percent(state, arg) * 1000 + 0.5;

	if (!permille)
		usage_error(state, "--cpu %s is too little: at least 0.1%%", arg);
	set_value(r, "cpu_permille", permille);
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct record *r = state->input;

	switch (key) {
	case 'p':
		parse_pids(state, arg, &r->pids);
		return 0;
	case 'd':
		r->duration_ns = option_time(state, arg);
		return 0;
	case OPT_SAMPLE:
		set_value(r, "sample_us", option_time(state, arg) / 1000);
		return 0;
	case OPT_AGGR:
		set_value(r, "aggr_us", option_time(state, arg) / 1000);
		return 0;
	case OPT_UPDATE:
		set_value(r, "update_us", option_time(state, arg) / 1000);
		return 0;
	case OPT_WINDOW:
		set_windows(state, arg, r);
		return 0;
	case OPT_MIN:
		set_value(r, "min_regions", option_count(state, arg, 0, UINT_MAX));
		return 0;
	case OPT_MAX:
		set_value(r, "max_regions", option_count(state, arg, 0, UINT_MAX));
		return 0;
	case OPT_NO_FLUSH:
		set_value(r, "flush_tlb", 0);
		return 0;
	case OPT_SEED:
		set_value(r, "seed", option_count(state, arg, 0, ~0ULL));
		return 0;
	case OPT_CPU:
		set_cpu(state, arg, r);
		return 0;
	case OPT_PEAK_DETECTOR:
		set_detector(state, arg, r);
		return 0;
	case OPT_PEAK_WINDOW:
		set_value(r, "peak_window", option_count(state, arg, 0, UINT_MAX));
		return 0;
	case OPT_PEAK_GAIN:
		set_decimal(state, arg, r, "peak_gain", 100);
		return 0;
	case OPT_PEAK_ADAPT:
		set_decimal(state, arg, r, "peak_adapt", 1);
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

static const struct argp_child children[] = {
	{ .argp = &debugfs_argp },
	{ 0 }
};

const struct argp record_argp = {
	.options = OPTIONS(0), .parser = parse_opt, .children = children,
};

const struct argp record_brief_argp = {
	.options = OPTIONS(OPTION_HIDDEN), .parser = parse_opt, .children = children,
};
