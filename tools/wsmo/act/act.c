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
#include "cli/options.h"
#include "cli/units.h"

enum {
	OPT_SHOW = 768, OPT_CLASS, OPT_BYTES, OPT_CPU, OPT_REFAULTS,
	OPT_PRESSURE, OPT_WHEN_AVAILABLE, OPT_WHEN_PRESSURE, OPT_FORCE,
};

static const struct argp_option options[] = {
	{ "scheme", 's', "NAME", 0, "Rules: a preset (reclaim, thp) or a file", 0 },
	{ "dry-run", 'n', NULL, 0, "Do nothing, print what would be done", 0 },
	{ "show", OPT_SHOW, NULL, 0, "Print the rules and exit", 0 },
	{ "log", 'l', NULL, 0, "Print each action, as --dry-run does", 0 },
	{ "output", 'o', "FILE", 0, "Also record to FILE", 0 },
	{ "quiet", 'q', NULL, 0, "Print only results, errors and losses", 0 },
	{ "force", OPT_FORCE, NULL, 0, "Also act on virtual machines: see wsmo-act(1)", 0 },
	{ "class", OPT_CLASS, "CLASS,...", 0, "Act on these (data,heap,stack,anon)", 0 },
	{ "quota-bytes", OPT_BYTES, "SIZE", 0, "Act on at most SIZE a second (256M)", 0 },
	{ "quota-cpu", OPT_CPU, "PERCENT", 0, "Use at most this much of one CPU to act (50%)", 0 },
	{ "max-refaults", OPT_REFAULTS, "N", 0, "Back off above N pages a second coming back (100)", 0 },
	{ "max-pressure", OPT_PRESSURE, "PERCENT", 0, "Back off above this memory pressure (10%)", 0 },
	{ "when-available", OPT_WHEN_AVAILABLE, "SIZE", 0, "Reclaim only below; 1G, or 10%", 0 },
	{ "when-pressure", OPT_WHEN_PRESSURE, "PERCENT", 0, "Reclaim only above this pressure", 0 },
	{ 0 }
};

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
		bytes = option_percent(state, arg) * memory_total();
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
		state->child_inputs[1] = &a->format;
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
		a->limits.cpu_per_s = option_percent(state, arg) * NSEC_PER_SEC;
		if (!a->limits.cpu_per_s)
			usage_error(state, "a quota of 0 would never act; see --dry-run");
		return 0;
	case OPT_REFAULTS:
		a->limits.max_refaults = option_count(state, arg, 0, INT_MAX);
		return 0;
	case OPT_PRESSURE:
		a->limits.max_pressure = option_percent(state, arg);
		return 0;
	case OPT_WHEN_AVAILABLE:
		a->limits.available_below = parse_available(state, arg);
		return 0;
	case OPT_WHEN_PRESSURE:
		a->limits.pressure_above = option_percent(state, arg);
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
	{ .argp = &record_brief_argp },
	{ .argp = &format_argp },
	{ .argp = &verb_common_argp },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = children,
	.args_doc = "-s NAME -p PID,...\n-s NAME [--] COMMAND [ARG...]\n-s NAME --show",
	.doc = "Act on memory by how it is used: page out cold, make huge pages of hot memory."
	       "\vwsmo-act(1) describes the rules, wsmo-record(1) options that say how to "
	       "monitor. Their defaults here: --sample 100ms --aggr 200ms --cpu 6%.",
};

static void report(const struct record *r)
{
	const struct act *a = (const struct act *)(const void *)r;
	__u64 lost = record_lost(r), ran = r->end_ns - r->start_ns, cpu = 0;
	char time[UNITS_LEN];
	size_t i;

	act_print(a);
	if (lost)
		msg("LOST %llu records that found no room in the module's buffer: actions were delayed",
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
			.cpu_per_s = NSEC_PER_SEC / 2,
			.max_refaults = 100,
			.max_pressure = 0.1,
			.pressure_above = -1,
		},
	};
	int status;

	a.record.hooks = (struct record_hooks) {
		.begin = act_begin, .take = act_take, .tick = act_tick,
		.end = act_end, .report = report,
	};
	verb_parse(&argp, "wsmo act", argc, argv, &a);
	if (a.show) {
		act_show_rules(&a);
		act_report_overlaps(&a);
		return WSMO_OK;
	}
	status = record_run(&a.record);
	act_free(&a);
	return status;
}
