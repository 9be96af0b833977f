// SPDX-License-Identifier: GPL-2.0
/*
 * act.c - "wsmo act": options and closing words
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act.h"
#include "cli/cli.h"
#include "cli/units.h"

enum {
	OPT_SHOW = 768, OPT_CLASS, OPT_BYTES, OPT_CPU, OPT_REFAULTS,
	OPT_PRESSURE, OPT_WHEN_AVAILABLE, OPT_WHEN_PRESSURE, OPT_JSON, OPT_CSV,
	OPT_RAW, OPT_FORCE,
};

static const struct argp_option options[] = {
	{ "scheme", 's', "NAME", 0, "The rules: a preset (reclaim, thp) or a file; several add up", 0 },
	{ "dry-run", 'n', NULL, 0, "Do nothing, tell what would be done", 0 },
	{ "show", OPT_SHOW, NULL, 0, "Print the rules and end", 0 },
	{ "output", 'o', "FILE", 0, "Record to this file, too", 0 },
	{ "force", OPT_FORCE, NULL, 0, "Also on processes with a secondary MMU, as virtual machines are: all that only the guest accesses reads as idle", 0 },
	{ "quiet", 'q', NULL, 0, "No progress, no closing words but what was lost", 0 },
	{ NULL, 0, NULL, 0, "Limits:", 3 },
	{ "class", OPT_CLASS, "CLASS,...", 0, "Act on these (data,heap,stack,anon): text data heap stack anon file shmem hugetlb", 3 },
	{ "quota-bytes", OPT_BYTES, "SIZE", 0, "Act on so much a second at most (256M)", 3 },
	{ "quota-cpu", OPT_CPU, "PERMILLE", 0, "Spend so many thousandths of one CPU at most (500)", 3 },
	{ "max-refaults", OPT_REFAULTS, "N", 0, "Back off when more pages a second come back (100)", 3 },
	{ "max-pressure", OPT_PRESSURE, "PERCENT", 0, "Back off when somebody waits for memory for more of the time (10%)", 3 },
	{ "when-available", OPT_WHEN_AVAILABLE, "SIZE|PERCENT", 0, "Reclaim only while less memory is available", 3 },
	{ "when-pressure", OPT_WHEN_PRESSURE, "PERCENT", 0, "Reclaim only while there is more memory pressure", 3 },
	{ NULL, 0, NULL, 0, "What is printed:", 4 },
	{ "log", 'l', NULL, 0, "Each action, not only the sum of each rule (--dry-run does)", 4 },
	{ "json", OPT_JSON, NULL, 0, "One JSON object a line", 4 },
	{ "csv", OPT_CSV, NULL, 0, "Comma separated values", 4 },
	{ "raw", OPT_RAW, NULL, 0, "Exact numbers", 4 },
	{ 0 }
};

static __u64 parse_number(struct argp_state *state, const char *arg, __u64 min,
			  __u64 max)
{
	__u64 n;

	if (units_parse_count(arg, max, &n) || n < min)
		usage_error(state, "'%s' is not a number from %llu to %llu", arg,
			    min, max);
	return n;
}

/* "10%" or "10"; Return: 0 to 1 */
static double parse_percent(struct argp_state *state, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || arg[strspn(arg, "0123456789.%")] ||
	    (*end && strcmp(end, "%")) || v > 100)
		usage_error(state, "'%s' is not a percentage from 0%% to 100%%", arg);
	return v / 100;
}

static __u64 parse_bytes(struct argp_state *state, const char *arg)
{
	__u64 bytes;

	if (units_parse_size(arg, &bytes))
		usage_error(state, "'%s' is not a size; write 64M or 1G", arg);
	return bytes;
}

static __u64 parse_available(struct argp_state *state, const char *arg)
{
	__u64 bytes;

	if (strchr(arg, '%'))
		bytes = parse_percent(state, arg) * memory_total();
	else
		bytes = parse_bytes(state, arg);
	if (!bytes)
		usage_error(state, "--when-available %s would never reclaim", arg);
	return bytes;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct act *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->record;
		return 0;
	case 's':
		if (act_scheme_load(&a->scheme, arg))
			exit(WSMO_USAGE);
		return 0;
	case 'n':
		a->dry_run = true;
		a->log = true;
		return 0;
	case OPT_SHOW:
		a->show = true;
		a->record.optional = true;
		return 0;
	case OPT_FORCE:
		a->force = true;
		return 0;
	case 'o':
		a->record.file = arg;
		return 0;
	case 'q':
		a->record.quiet = true;
		return 0;
	case 'l':
		a->log = true;
		return 0;
	case OPT_CLASS:
		a->classes = 0;
		parse_classes(state, arg, &a->classes);
		return 0;
	case OPT_BYTES:
		a->limits.bytes_per_s = parse_bytes(state, arg);
		if (!a->limits.bytes_per_s)
			usage_error(state, "a quota of 0 would never act; see --dry-run");
		return 0;
	case OPT_CPU:
		a->limits.cpu_permille = parse_number(state, arg, 1, 1000);
		return 0;
	case OPT_REFAULTS:
		a->limits.max_refaults = parse_number(state, arg, 0, INT_MAX);
		return 0;
	case OPT_PRESSURE:
		a->limits.max_pressure = parse_percent(state, arg);
		return 0;
	case OPT_WHEN_AVAILABLE:
		a->limits.available_below = parse_available(state, arg);
		return 0;
	case OPT_WHEN_PRESSURE:
		a->limits.pressure_above = parse_percent(state, arg);
		return 0;
	case OPT_JSON:
		set_format(state, &a->format, TABLE_JSON);
		return 0;
	case OPT_CSV:
		set_format(state, &a->format, TABLE_CSV);
		return 0;
	case OPT_RAW:
		set_format(state, &a->format, TABLE_RAW);
		return 0;
	case ARGP_KEY_END:
		if (!a->scheme.nr)
			usage_error(state, "no rules: name a preset or a file with --scheme; presets are in %s",
				    act_scheme_dir());
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &record_argp },
	{ .argp = &verb_common_argp },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = children,
	.args_doc = "-s SCHEME -p PID,...\n-s SCHEME [--] COMMAND [ARG...]\n-s SCHEME --show",
	.doc = "Act on memory by how it is used: page out what is cold, put into huge pages what is hot."
	       "\vEnds with the command or the last process, after --duration, or on Ctrl-C. "
	       "Returns the command's exit status.",
};

static void tell(const struct record *r)
{
	const struct act *a = (const struct act *)(const void *)r;
	__u64 lost = record_lost(r), ran = r->end_ns - r->start_ns, cpu = 0;
	char time[UNITS_LEN];
	size_t i;

	act_print(a);
	if (lost)
		msg("LOST %llu records that found no room in the module's buffer: actions came later for that",
		    lost);
	if (r->quiet)
		return;
	for (i = 0; i < a->scheme.nr; i++)
		cpu += a->stat[i].cpu_ns;
	if (r->stats.rec.size && ran)
		msg("in %s: monitoring took %.2f %% of one CPU, acting %.2f %%; backed off %llu times",
		    units_time(time, ran), 100.0 * r->stats.cpu_ns / ran,
		    100.0 * cpu / ran, a->limits.pauses);
	if (r->file)
		msg("now see: wsmo report act -i %s", r->file);
}

int cmd_act(int argc, char **argv)
{
	static struct act a = {
		.record = RECORD_INIT("act on"),
		.classes = 1U << WSMON_CLASS_DATA | 1U << WSMON_CLASS_HEAP |
			   1U << WSMON_CLASS_STACK | 1U << WSMON_CLASS_ANON,
		.limits = {
			.bytes_per_s = 256ULL << 20,
			.cpu_permille = 500,
			.max_refaults = 100,
			.max_pressure = 0.1,
			.pressure_above = -1,
		},
	};
	int status;

	a.record.hooks = (struct record_hooks) {
		.begin = act_begin, .take = act_take, .tick = act_tick,
		.end = act_end, .tell = tell,
	};
	verb_parse(&argp, "wsmo act", argc, argv, &a);
	if (a.show) {
		act_show_rules(&a);
		act_tell_overlaps(&a);
		return WSMO_OK;
	}
	status = record_run(&a.record);
	act_free(&a);
	return status;
}
