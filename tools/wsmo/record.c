// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - "wsmo record"
 */
#include "record.h"
#include "units.h"
#include "wsmo.h"

enum { OPT_NO_PACK = 512 };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "The record file (wsmon.data); one that is there becomes FILE.old", 0 },
	{ "no-pack", OPT_NO_PACK, NULL, 0, "Write snapshots as they come, not packed: a file ten to twenty times as large", 0 },
	{ "quiet", 'q', NULL, 0, "No progress, no closing words but what was lost", 0 },
	{ 0 }
};

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
	if (r->quiet)
		return;
	msg("wrote %llu records, %s, in %s to %s", r->records,
	    units_size(bytes, r->output.bytes), units_time(time, ran),
	    r->file);
	if (st->rec.size && ran)
		msg("monitoring took %.2f %% of one CPU; %llu rounds, %llu late; longest lock hold %s",
		    100.0 * st->cpu_ns / ran, st->rounds, st->late_rounds,
		    units_time(hold, st->max_hold_ns));
	msg("now see: wsmo report summary -i %s", r->file);
}

int cmd_record(int argc, char **argv)
{
	static struct record r = RECORD_INIT("record");

	r.file = "wsmon.data";
	r.hooks.tell = tell_end;
	verb_parse(&argp, "wsmo record", argc, argv, &r);
	return record_run(&r);
}
