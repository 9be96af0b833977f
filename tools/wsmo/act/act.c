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
#include "cli/outfile.h"
#include "cli/units.h"
#include "session/cgroup.h"

static void load_scheme(struct argp_state *state __attribute__((unused)), char *arg,
			const struct option_desc *o __attribute__((unused)), void *to)
{
	if (act_scheme_load(&((struct act *)to)->scheme, arg))
		exit(WSMO_USAGE);
}

static void set_cgroup(struct argp_state *state, char *arg,
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct act *a = to;

	a->cgroup = cgroup_option(state, arg, a->cgroup);
}

static void set_available(struct argp_state *state, char *arg,
			  const struct option_desc *o __attribute__((unused)), void *to)
{
	__u64 bytes = strchr(arg, '%') ? option_percent(state, arg) * memory_total() :
					 option_size(state, arg);

	if (!bytes)
		usage_error(state, "'%s' would never reclaim", arg);
	((struct act *)to)->limits.available_below = bytes;
}

static void set_cpu(struct argp_state *state, char *arg,
		    const struct option_desc *o __attribute__((unused)), void *to)
{
	((struct act *)to)->limits.cpu_per_s = option_percent(state, arg) * NSEC_PER_SEC;
}

static void set_goal(struct argp_state *state, char *arg,
		     const struct option_desc *o __attribute__((unused)), void *to)
{
	struct act_goal *goal = ((struct act *)to)->limits.goals.goal;
	char *value = strchr(arg, '=');
	double target;
	int i = 0;

	while (value && i < ACT_NR_GOALS && strncmp(arg, act_goal_name(i), value - arg))
		i++;
	if (!value || value == arg || i == ACT_NR_GOALS || act_goal_name(i)[value - arg])
		usage_error(state, "'%s' is not a goal: available=SIZE|PERCENT or pressure=PERCENT", arg);
	value++;
	if (i == GOAL_AVAILABLE && !strchr(value, '%'))
		target = (double)option_size(state, value) / memory_total();
	else
		target = option_percent(state, value);
	if (target <= 0)
		usage_error(state, "'%s' would never reclaim", arg);
	if (target > 1)
		usage_error(state, "'%s' is more than this machine has", arg);
	goal[i].target = target;
}

#define AT(member)	OPT_AT(struct act, member)

static const struct option_desc options[] = {
	{ "scheme", 's', "NAME", "Rules: a preset (reclaim, thp) or a file", OPT_CALL, .call = load_scheme },
	{ "dry-run", 'n', NULL, "Do nothing, print what would be done", OPT_FLAG, AT(dry_run) },
	{ "--cgroup=CGROUP, --all", .help = "Act on processes of a cgroup, or all", .kind = OPT_DOC },
	{ "cgroup", 0, "CGROUP", NULL, OPT_CALL, .call = set_cgroup },
	{ "all", 0, NULL, NULL, OPT_CALL, .call = set_cgroup },
	{ "show", 0, NULL, NULL, OPT_FLAG, AT(show) },
	{ "log", 'l', NULL, "Print each action, as --dry-run does", OPT_FLAG, AT(log) },
	{ "output", 'o', "FILE", "Also record to FILE", OPT_TEXT, AT(record.file) },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(record.quiet) },
	{ "force", 0, NULL, NULL, OPT_FLAG, AT(force) },
	{ "class", 0, "CLASS,...", "Act on these classes only (data,heap,stack,anon)", OPT_CLASSES, AT(classes) },
	{ "quota-bytes", 0, "SIZE", "Act on at most SIZE a second (256M)", OPT_SIZE, AT(limits.bytes_per_s) },
	{ "quota-cpu", 0, "PERCENT", "Use at most this much of one CPU to act (50%)", OPT_CALL, .call = set_cpu },
	{ "max-refaults", 0, "N", "Pause if N pages a second come back (100)", OPT_COUNT,
	  AT(limits.max_refaults), 0, INT_MAX },
	{ "max-pressure", 0, "PERCENT", "Pause above this memory pressure (10%)", OPT_PERCENT,
	  AT(limits.max_pressure) },
	{ "goal", 0, "GOAL", "Reclaim just enough: available=10%, pressure=0.5%", OPT_CALL, .call = set_goal },
	{ "when-available", 0, "SIZE", "Reclaim only while less is available; 1G, 10%", OPT_CALL, .call = set_available },
	{ "when-pressure", 0, "PERCENT", "Reclaim only above this pressure", OPT_PERCENT,
	  AT(limits.pressure_above) },
	{ 0 }
};

static void check(struct argp_state *state, void *to)
{
	struct act *a = to;

	if (!a->limits.bytes_per_s || !a->limits.cpu_per_s)
		usage_error(state, "--quota-%s 0 would never act; see --dry-run",
			    a->limits.cpu_per_s ? "bytes" : "cpu");
	if (a->limits.goals.goal[GOAL_PRESSURE].target > a->limits.max_pressure)
		usage_error(state, "--goal pressure is above --max-pressure, which pauses reclaim");
	a->record.optional = a->show || a->cgroup;
	record_check(state, &a->record);
	if (a->cgroup && (a->record.cmd || a->record.pids.nr))
		usage_error(state, "--cgroup and --all name the processes: neither -p nor a command");
	if (!a->scheme.nr)
		usage_error(state, "no rules: name a preset or a file with --scheme; presets are in %s",
			    act_scheme_dir());
	if (a->record.file && outfile_is_stdout(a->record.file))
		usage_error(state, "standard output has the actions: name a file with -o");
	a->log |= a->dry_run;
	if (!a->classes)
		a->classes = 1U << WSMON_CLASS_DATA | 1U << WSMON_CLASS_HEAP |
			     1U << WSMON_CLASS_STACK | 1U << WSMON_CLASS_ANON;
}

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
		    units_time(time, ran), 100.0 * (a->cpu_ns + r->stats.cpu_ns) / ran,
		    100.0 * cpu / ran, a->limits.pauses);
	if (r->file)
		msg("now see: wsmo report act -i %s", r->file);
}

/* Return: 0, or -1 after a message */
static int list_processes(struct act *a)
{
	if (act_list(a)) {
		msg("no such cgroup (of version 2): %s", a->cgroup);
		return -1;
	}
	if (!a->record.pids.nr) {
		msg("%s has no process with at least 1 MiB of memory", a->cgroup);
		return -1;
	}
	return 0;
}

int cmd_act(int argc, char **argv)
{
	static struct act a = {
		.record = RECORD_INIT("act on"),
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
	options_parse(&(struct command_line) {
		.name = "wsmo act",
		.args = "-s NAME -p PID,... | --cgroup CGROUP\n-s NAME [--] COMMAND [ARG...]",
		.doc = "Page out cold memory, put hot memory into huge pages."
		       "\vwsmo-act(1) describes the rules and more options, wsmo-record(1) how to "
		       "monitor. Its defaults here: --sample 100ms --aggr 200ms --cpu 6%.",
		.groups = {
			OPT_GROUP(options, &a), OPT_GROUP(record_target_options, &a.record),
			OPT_GROUP(record_attr_options, &a.record, .hidden = true),
			OPT_GROUP(format_options, &a.format), OPT_GROUP(debugfs_options, NULL, .hidden = true),
		},
		.to = &a, .command = record_command, .check = check,
	}, argc, argv);
	if (a.show) {
		act_show_rules(&a);
		act_report_overlaps(&a);
		return WSMO_OK;
	}
	record_follow(&a.record, false, NULL);
	if (a.cgroup) {
		a.limits.psi = cgroup_file(a.cgroup, "memory.pressure");
		a.record.hooks.gone = act_gone;
		if (list_processes(&a))
			return WSMO_FAILURE;
	}
	status = record_run(&a.record);
	free(a.cgroup);
	free(a.limits.psi);
	act_free(&a);
	return status;
}
