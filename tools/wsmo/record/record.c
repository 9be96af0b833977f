// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - "wsmo record"
 */
#include "cli/cli.h"
#include "cli/units.h"
#include "record.h"
#include "stack/stack.h"

enum {
	OPT_NO_PACK = 512, OPT_NO_STACKS, OPT_STACK_THREADS,
	OPT_STACK_INTERVAL, OPT_MARK_AT,
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "The record file (wsmon.data); one that is there becomes FILE.old", 0 },
	{ "no-pack", OPT_NO_PACK, NULL, 0, "Write snapshots as they come, not packed: a file ten to twenty times as large", 0 },
	{ "mark-at", OPT_MARK_AT, "TIME,...", 0, "Set marks at these times, as 'wsmo mark' does", 0 },
	{ "no-stacks", OPT_NO_STACKS, NULL, 0, "Take no call stacks at peaks and marks", 0 },
	{ "stack-threads", OPT_STACK_THREADS, "N", 0, "Most threads of a process whose stacks are taken (16), those that run first", 0 },
	{ "stack-interval", OPT_STACK_INTERVAL, "TIME", 0, "Least time between two peaks of a process with stacks (1s)", 0 },
	{ "quiet", 'q', NULL, 0, "No progress, no closing words but what was lost", 0 },
	{ 0 }
};

static __u32 parse_threads(struct argp_state *state, const char *arg)
{
	__u64 n;

	if (units_parse_count(arg, STACK_THREADS, &n) || !n)
		usage_error(state, "'%s' is not a number of threads, 1 to %d",
			    arg, STACK_THREADS);
	return n;
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
	case OPT_NO_PACK:
		r->no_pack = true;
		return 0;
	case OPT_NO_STACKS:
		r->stacks.wanted = false;
		return 0;
	case OPT_STACK_THREADS:
		r->stacks.threads = parse_threads(state, arg);
		return 0;
	case OPT_STACK_INTERVAL:
		r->stacks.interval_ns = record_time(state, arg);
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
	       "\vEnds with the command or the last process, after --duration, or on Ctrl-C. "
	       "Returns the command's exit status. Run by sudo, the command runs as the "
	       "user who called sudo.",
};

static void tell_end(const struct record *r)
{
	char bytes[UNITS_LEN], time[UNITS_LEN], hold[UNITS_LEN];
	const struct wsmon_rec_stats *st = &r->stats;
	__u64 ran = r->end_ns - r->start_ns, lost = record_lost(r);

	if (lost)
		msg("LOST %llu records (%s) that found no room in the module's buffer",
		    lost, units_size(bytes, r->lost.bytes > st->lost_bytes ?
				     r->lost.bytes : st->lost_bytes));
	if (r->mapper.left_out)
		msg("up to %u mappings were left out of the file: what is in them will have no name",
		    r->mapper.left_out);
	if (r->quiet)
		return;
	stacks_tell(r);
	msg("wrote %llu records, %s, in %s to %s", r->records,
	    units_size(bytes, r->output.bytes), units_time(time, ran),
	    r->file);
	if (st->rec.size && ran)
		msg("monitoring took %.2f %% of one CPU; %llu rounds, %llu late; longest lock hold %s",
		    100.0 * (st->cpu_ns + st->remote_ns) / ran, st->rounds, st->late_rounds,
		    units_time(hold, st->max_hold_ns));
	msg("now see: wsmo report %s -i %s", r->sizing ? "sizing" : "summary",
	    r->file);
}

static int begin(struct record *r)
{
	marks_open(r);
	return 0;
}

int cmd_record(int argc, char **argv)
{
	static struct record r = RECORD_INIT("record");

	r.file = "wsmon.data";
	r.hooks.begin = begin;
	r.hooks.end = marks_close;
	r.hooks.tell = tell_end;
	r.stacks.wanted = true;
	r.stacks.threads = 16;
	r.stacks.interval_ns = NSEC_PER_SEC;
	verb_parse(&argp, "wsmo record", argc, argv, &r);
	return record_run(&r);
}
