// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - options of the verbs that monitor: whom, how long, and how
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/identity.h"
#include "cli/units.h"
#include "record.h"
#include "session/cgroup.h"
#include "session/session.h"

/* What the module takes: wsmon_attrs_check() */
#define INTERVAL_MIN	(100 * NSEC_PER_USEC)
#define INTERVAL_MAX	(86400 * NSEC_PER_SEC)
#define WINDOW_MAX	INTERVAL_MAX
#define REGIONS_MAX	32768

/* Faults a second, where --who does not say */
#define WHO_RATE	100ULL

static struct setting *setting(struct record *r, const char *key)
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
	return &s->settings[i];
}

char *record_setting(struct record *r, const char *key, const char *option)
{
	struct setting *set = setting(r, key);

	if (option)
		set->option = option;
	return set->value;
}

void record_follow(struct record *r, bool follow, const char *option)
{
	struct setting *set = setting(r, "follow");

	set->option = option;
	strcpy(set->value, follow ? "1" : "0");
	set->missing = follow ? "this module does not follow children: they are not recorded; load a newer one, or use --no-children" :
				"";
}

static void set_value(struct record *r, const struct option_desc *o, __u64 value)
{
	snprintf(record_setting(r, o->data, o->name), SETTING_TEXT, "%llu", value);
}

/* The next ones set @data, a key of debugfs attrs */
static void set_us(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	set_value(to, o, option_time_within(state, arg, INTERVAL_MIN, INTERVAL_MAX) / NSEC_PER_USEC);
}

static void set_count(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	set_value(to, o, option_count(state, arg, o->min, o->max));
}

static void set_zero(struct argp_state *state __attribute__((unused)),
		     char *arg __attribute__((unused)), const struct option_desc *o, void *to)
{
	set_value(to, o, 0);
}

static void set_decimal(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	__u64 milli;

	if (units_parse_milli(arg, o->max * 1000, &milli) || milli < o->min)
		usage_error(state, "'%s' is not a number from %s to %llu with at most three decimals",
			    arg, o->min ? "0.001" : "0", o->max);
	snprintf(record_setting(to, o->data, o->name), SETTING_TEXT, "%llu.%03llu",
		 milli / 1000, milli % 1000);
}

static void set_word(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	option_choice(state, arg, o->arg);
	strcpy(record_setting(to, o->data, o->name), arg);
}

static void set_cpu(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	__u64 permille = option_percent(state, arg) * 1000 + 0.5;

	if (!permille)
		usage_error(state, "'%s' is too little: at least 0.1%%", arg);
	set_value(to, o, permille);
}

static void set_precision(struct argp_state *state, char *arg, const struct option_desc *o,
			  void *to)
{
	set_value(to, o, option_precision(state, arg));
}

static void set_windows(struct argp_state *state, char *list, const struct option_desc *o, void *to)
{
	struct record *r = to;
	char *text = record_setting(r, o->data, o->name), *window;
	size_t len = 0, nr = 0;

	while ((window = strsep(&list, ","))) {
		__u64 us = option_time_within(state, window, INTERVAL_MIN, WINDOW_MAX) / NSEC_PER_USEC;

		if (nr++ == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		if (!len)
			r->window_us = us;
		len += snprintf(text + len, SETTING_TEXT - len, "%s%llu", len ? "," : "", us);
		if (len >= SETTING_TEXT)
			usage_error(state, "'%s' is too long; at most a day", window);
	}
}

static void set_cgroup(struct argp_state *state, char *arg,
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct record *r = to;

	/* no process is a target: there are no stacks */
	r->stacks.wanted = false;
	r->session.cgroup = cgroup_option(state, arg, r->session.cgroup);
}

const struct option_desc record_cgroup_options[] = {
	{ "--cgroup=CGROUP, --all", .help = "Monitor all processes of a cgroup, or all", .kind = OPT_DOC },
	{ "cgroup", 0, "CGROUP", NULL, OPT_CALL, .call = set_cgroup },
	{ "all", 0, NULL, NULL, OPT_CALL, .call = set_cgroup },
	{ 0 }
};

const struct option_desc record_target_options[] = {
	{ "pid", 'p', "PID,...", "Monitor these processes", OPT_PIDS, OPT_AT(struct record, pids) },
	{ "duration", 'd', "TIME", "End after this time: 500ms, 30 (seconds), 5m", OPT_TIME,
	  OPT_AT(struct record, duration_ns) },
	/* wsmo-record(1) describes it */
	{ "user", 0, "NAME", NULL, OPT_TEXT, OPT_AT(struct record, child.user) },
	{ 0 }
};

#define SETTING(how, key)	OPT_CALL, .call = set_##how, .data = key

const struct option_desc record_attr_options[] = {
	{ "aggr", 0, "TIME", "Estimate the working set this often", SETTING(us, "aggr_us") },
	{ "window", 0, "TIME,...", "How far back an access counts; up to 8 windows", SETTING(windows, "window_us") },
	{ "max-regions", 0, "N", "Max. regions of all processes", SETTING(count, "max_regions"), .min = 1, .max = REGIONS_MAX },
	{ "cpu", 0, "PERCENT", "Max. CPU time for monitoring, of one CPU", SETTING(cpu, "cpu_permille") },
	{ "precision", 0, "PERCENT", "Half-width wanted; spend no more than it takes", SETTING(precision, "precision") },
	/* wsmo-record(1) describes these */
	{ "sample", 0, "TIME", NULL, SETTING(us, "sample_us") },
	{ "update", 0, "TIME", NULL, SETTING(us, "update_us") },
	{ "min-regions", 0, "N", NULL, SETTING(count, "min_regions"), .min = 1, .max = REGIONS_MAX },
	{ "no-flush", 0, NULL, NULL, SETTING(zero, "flush_tlb") },
	{ "seed", 0, "N", NULL, SETTING(count, "seed"), .max = ~0ULL },
	{ "peak-detector", 0, "sigma|fano|off", NULL, SETTING(word, "peak_detector") },
	{ "peak-window", 0, "N", NULL, SETTING(count, "peak_window"), .min = 2, .max = 10000 },
	{ "peak-gain", 0, "X", NULL, SETTING(decimal, "peak_gain"), .min = 1, .max = 100 },
	{ "peak-adapt", 0, "X", NULL, SETTING(decimal, "peak_adapt"), .max = 1 },
	{ 0 }
};

void record_command(char **argv, void *to)
{
	((struct record *)to)->cmd = argv;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* A command that begins with a digit is likely something else */
static void check_command(struct argp_state *state, const struct record *r)
{
	const char *before = r->cmd[-1];
	size_t i;

	if (!strchr("0123456789", *r->cmd[0]))
		return;
	if (!strncmp(before, "--", 2) && before[2] && !strchr(before, '='))
		usage_error(state, "for %s to be the argument of %s write %s=%s", r->cmd[0], before, before,
			    r->cmd[0]);
	for (i = 0; r->cmd[i] && is_number(r->cmd[i]); i++)
		;
	if (r->cmd[i])
		return;
	if (r->pids.nr)
		usage_error(state, "several processes are one argument of -p: -p %u,%s%s", r->pids.pid[0],
			    r->cmd[0], i > 1 ? ",..." : "");
	usage_error(state, "for a process use -p %s; a command of this name is ./%s", r->cmd[0], r->cmd[0]);
}

void record_set_who(struct argp_state *state, char *rate, const struct option_desc *o, void *to)
{
	((struct record *)to)->who = true;
	snprintf(record_setting(to, "who_rate", o->name), SETTING_TEXT, "%llu",
		 rate ? option_count(state, rate, o->min, o->max) : WHO_RATE);
}

void record_check(struct argp_state *state, void *to)
{
	const struct record *r = to;
	struct identity user;

	if (r->cmd)
		check_command(state, r);
	if (r->cmd && r->pids.nr)
		usage_error(state, "either -p or a command, not both");
	if (r->child.user && !r->cmd)
		usage_error(state, "--user is for a command: it says who runs it");
	if (r->child.user && identity_get(&user, r->child.user))
		usage_error(state, "there is no user '%s'", r->child.user);
	if (r->feed.rate && !r->cmd)
		usage_error(state, "--alloc is for a command: it is loaded into it when it starts");
	if (r->session.cgroup && (r->cmd || r->pids.nr))
		usage_error(state, "--cgroup and --all name the processes: neither -p nor a command");
	if (!r->cmd && !r->pids.nr && !r->session.cgroup && !r->optional)
		usage_error(state, "nothing to %s: name processes with -p, or a command", r->verb);
	if (r->who && r->session.cgroup)
		usage_error(state, "--who needs processes: it cannot do all of a cgroup");
}
