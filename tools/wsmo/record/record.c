// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - "wsmo record"
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/units.h"
#include "record.h"
#include "cli/stack_request.h"

enum {
	OPT_NO_PACK = 512, OPT_NO_STACKS, OPT_STACK_THREADS, OPT_STACK_INTERVAL,
	OPT_MARK_AT, OPT_SIZING,
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Record to FILE (wsmon.data); an old one becomes FILE.old", 0 },
	{ "quiet", 'q', NULL, 0, "Print only errors and losses", 0 },
	{ "mark-at", OPT_MARK_AT, "TIME,...", 0, "Set marks at these times, as 'wsmo mark' does", 0 },
	{ "no-stacks", OPT_NO_STACKS, NULL, 0, "Take no call stacks at peaks and marks", 0 },
	{ "sizing", OPT_SIZING, NULL, 0, "For report sizing: windows of 1 s to 2 min", 0 },
	/* wsmo-record(1) describes these */
	{ "no-pack", OPT_NO_PACK, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "stack-threads", OPT_STACK_THREADS, "N", OPTION_HIDDEN, NULL, 0 },
	{ "stack-interval", OPT_STACK_INTERVAL, "TIME", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

/*
 * The longest window is two minutes: memory idle for longer costs less to take away
 * than to keep. Accessed bits stay set until they are cleared, so two samples in the
 * shortest window are enough.
 */
static void set_sizing(struct record *r)
{
	r->sizing = true;
	strcpy(record_setting(r, "sample_us"), "500000");
	strcpy(record_setting(r, "aggr_us"), "1000000");
	strcpy(record_setting(r, "window_us"),
	       "1000000,2000000,4000000,8000000,15000000,30000000,60000000,120000000");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct record *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = r;
		return 0;
	case 'o':
		r->file = arg;
		return 0;
	case 'q':
		r->quiet = true;
		return 0;
	case OPT_SIZING:
		set_sizing(r);
		return 0;
	case OPT_NO_PACK:
		r->no_pack = true;
		return 0;
	case OPT_NO_STACKS:
		r->stacks.wanted = false;
		return 0;
	case OPT_STACK_THREADS:
		r->stacks.threads = option_count(state, arg, 1, STACK_THREADS);
		return 0;
	case OPT_STACK_INTERVAL:
		r->stacks.interval_ns = option_time(state, arg);
		return 0;
	case OPT_MARK_AT:
		marks_parse(state, arg, &r->marks);
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
	.args_doc = "-p PID,...\n[--] COMMAND [ARG...]",
	.doc = "Record the working set of running processes, or of a command, to a file."
	       "\vDefaults, unless the module is set otherwise: --sample 100ms --aggr 1s "
	       "--window 1s --max-regions 2000 --cpu 3%. wsmo-record(1) has more options.\n"
	       "Ends with the command or the last process, after --duration, or on Ctrl-C. "
	       "Returns the command's exit status. Under sudo the command runs as the "
	       "user who called sudo.",
};

static void report(const struct record *r)
{
	char bytes[UNITS_LEN], time[UNITS_LEN], hold[UNITS_LEN];
	const struct wsmon_rec_stats *st = &r->stats;
	__u64 ran = r->end_ns - r->start_ns, lost = record_lost(r);

	if (lost)
		msg("LOST %llu records (%s) that found no room in the module's buffer",
		    lost, units_size(bytes, r->lost.bytes > st->lost_bytes ?
				     r->lost.bytes : st->lost_bytes));
	if (r->mapper.left_out)
		msg("up to %u mappings were left out of the file: reports have no names for them",
		    r->mapper.left_out);
	marks_report(&r->marks);
	if (r->quiet)
		return;
	stacks_report(&r->stacks);
	msg("wrote %llu records, %s, in %s to %s", r->output.records,
	    units_size(bytes, r->output.bytes), units_time(time, ran),
	    r->file);
	if (st->rec.size && ran)
		msg("monitoring took %.2f %% of one CPU; %llu rounds, %llu late; longest lock hold %s",
		    100.0 * (st->cpu_ns + st->remote_ns) / ran, st->rounds, st->late_rounds,
		    units_time(hold, st->max_hold_ns));
	msg("now see: wsmo report %s -i %s", r->sizing ? "sizing" : "summary",
	    r->file);
}

int cmd_record(int argc, char **argv)
{
	static struct record r = RECORD_INIT("record");

	r.file = "wsmon.data";
	r.hooks.report = report;
	r.stacks.wanted = true;
	r.stacks.threads = 16;
	r.stacks.interval_ns = NSEC_PER_SEC;
	verb_parse(&argp, "wsmo record", argc, argv, &r);
	return record_run(&r);
}
