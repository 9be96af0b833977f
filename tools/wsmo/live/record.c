// SPDX-License-Identifier: GPL-2.0
/* record.c - "wsmo record" */
#include <string.h>

#include "core/cli.h"
#include "core/outfile.h"
#include "core/stack_request.h"
#include "core/units.h"
#include "libwsmon/wsmon_records.h"
#include "record.h"
#include "refault.h"
#include "targets.h"

/*
 * Sets the attributes for --sizing. The longest window is two minutes: if memory is idle for
 * longer, reclaiming it costs less than keeping it. Accessed bits stay set until they are cleared,
 * so two samples in the shortest window are enough.
 */
static void set_sizing(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	struct record *r = to;

	r->sizing = true;
	strcpy(record_setting(r, "sample_us", o->name), "500000");
	strcpy(record_setting(r, "aggr_us", o->name), "1000000");
	strcpy(record_setting(r, "window_us", o->name),
	       "1000000,2000000,4000000,8000000,15000000,30000000,60000000,120000000");
}

static void set_follow(void *to, const struct option_desc *o, __u64 follow)
{
	record_follow(to, follow, o->name);
}

static const struct option_desc options[] = {
	{ "output", 'o', "FILE", "Record to FILE (wsmon.data); rename an older file", OPT_TEXT,
	  OPT_AT(struct record, file) },
	{ "quiet", 'q', NULL, "Print only errors and losses", OPT_FLAG, OPT_AT(struct record, quiet) },
	{ "mark-at", 0, "TIME,...", "Set marks at these times, as 'wsmo mark' does", OPT_CALL,
	  OPT_AT(struct record, marks), .call = marks_parse },
	{ "alloc", 0, "BYTES", "Sample allocations, one each BYTES (512K)", OPT_SIZE,
	  OPT_AT(struct record, feed.rate), 1, FEED_RATE_MAX, .optional = true, .otherwise = FEED_RATE },
	{ "--no-children, --no-stacks", .help = "Do not monitor children; take no call stacks",
	  .kind = OPT_DOC },
	{ "no-stacks", 0, NULL, NULL, OPT_CLEAR, OPT_AT(struct record, stacks.wanted) },
	{ "no-children", 0, NULL, NULL, OPT_CLEAR, .set = set_follow },
	{ "sizing", 0, NULL, "For report sizing: windows of 1 s to 2 min", OPT_CALL, .call = set_sizing },
	WHO_OPTION("For report who: up to RATE pages a second (100)"),
	/* wsmo-record(1) describes these */
	{ "no-pack", 0, NULL, NULL, OPT_FLAG, OPT_AT(struct record, no_pack) },
	{ "stack-threads", 0, "N", NULL, OPT_COUNT, OPT_AT(struct record, stacks.threads), 1, STACK_THREADS },
	{ "stack-interval", 0, "TIME", NULL, OPT_TIME, OPT_AT(struct record, stacks.interval_ns) },
	{ 0 }
};

static int begin(struct record *r)
{
	__u32 pid[CONTENTS_TARGETS];
	struct pids members = { .pid = pid };

	if (!r->sizing)
		return 0;
	if (r->session.cgroup)
		members.nr = members_largest(r->session.cgroup, pid, ARRAY_SIZE(pid));
	refaults_measure(&r->refaults, r->session.cgroup ? &members : &r->pids);
	return 0;
}

/* Writes the measured times of refaults, as the first records of each file */
static void take(struct record *r, const struct wsmon_record *first)
{
	size_t i;

	if (!r->sizing || r->refaults_in > r->rotation.files)
		return;
	r->refaults_in = r->rotation.files + 1;
	for (i = 0; i < REFAULT_KINDS; i++) {
		struct wsmon_rec_refault *rec = &r->refaults.rec[i];

		rec->rec.time_ns = first->time_ns;
		output_named(&r->output, &rec->rec, sizeof(*rec), r->refaults.text[i]);
	}
}

static void report(const struct record *r)
{
	char bytes[UNITS_LEN], time[UNITS_LEN], hold[UNITS_LEN], text[BUDGET_TEXT];
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
	feed_report(&r->feed, r->quiet);
	if (r->quiet || !r->output.bytes)
		return;
	stacks_report(&r->stacks);
	msg("wrote %llu records, %s, in %s to %s", r->output.records,
	    units_size(bytes, r->output.bytes), units_time(time, ran),
	    outfile_is_stdout(r->file) ? "standard output" : r->file);
	if (r->rotation.files)
		msg("the recording was rotated %llu times: %s.1 is the previous file", r->rotation.files, r->file);
	if (st->rec.size && ran)
		msg("monitoring took %.2f %% of one CPU; %llu rounds, %llu late; longest lock hold %s",
		    100.0 * (st->cpu_ns + st->remote_ns) / ran, st->rounds, st->late_rounds,
		    units_time(hold, st->max_hold_ns));
	if (r->sizing)
		refaults_report(&r->refaults);
	if (budget_text(text, &r->budget))
		msg("%s", text);
	if (r->session.cgroup && r->reason == WSMON_END_TARGETS_GONE)
		msg("the cgroup was removed: %s", r->session.cgroup);
	if (outfile_is_stdout(r->file))
		return;
	msg("now see: wsmo report %s -i %s", r->sizing ? "sizing" : st->who_armed ? "who" : "summary",
	    r->file);
}

static void check(struct argp_state *state, void *to)
{
	struct record *r = to;

	record_check(state, r);
	rotate_check(state, &r->rotation);
	/* a later file would not have the allocations before its start */
	if (r->feed.rate && rotates(&r->rotation))
		usage_error(state, "--alloc writes one file: leave out --rotate");
	if (rotates(&r->rotation) && !r->rotation.keep)
		r->rotation.keep = 9;
	r->child.to_stderr = outfile_is_stdout(r->file);
}

int cmd_record(int argc, char **argv)
{
	static struct record r = RECORD_INIT("record");

	r.file = "wsmon.data";
	r.hooks = (struct record_hooks) { .begin = begin, .take = take, .report = report };
	record_follow(&r, true, NULL);
	r.stacks.wanted = true;
	r.stacks.threads = 16;
	r.stacks.interval_ns = NSEC_PER_SEC;
	_Static_assert(WSMON_DEFAULT_SAMPLE_US == 100000 && WSMON_DEFAULT_AGGR_US == 1000000 &&
		       WSMON_DEFAULT_MAX_REGIONS == 2000 && WSMON_DEFAULT_CPU_PERMILLE == 30, "as the help says");
	options_parse(&(struct command_line) {
		.name = "wsmo record",
		.args = "-p PID,... | --cgroup CGROUP | --all\n[--] COMMAND [ARG...]",
		.doc = "Record the working set of running processes, or of a command, to a file."
		       "\vDefaults: --sample 100ms --aggr 1s "
		       "--window 1s --max-regions 2000 --cpu 3%.\n"
		       "Ends with the command, last process or cgroup. --rotate: see wsmo-record(1).",
		.groups = {
			OPT_GROUP(options, &r), OPT_GROUP(rotate_options, &r.rotation),
			OPT_GROUP(record_cgroup_options, &r),
			OPT_GROUP(record_target_options, &r),
			OPT_GROUP(record_attr_options, &r), OPT_GROUP(debugfs_options, NULL),
		},
		.to = &r, .command = record_command, .check = check,
	}, argc, argv);
	return record_run(&r);
}
