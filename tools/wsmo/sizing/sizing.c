// SPDX-License-Identifier: GPL-2.0
/*
 * sizing.c - "wsmo sizing": tries a limit on a cgroup, and puts what it does beside what the
 * recording predicts
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/limits.h"
#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/curve.h"
#include "libwsmon/sizing.h"
#include "report/collect.h"
#include "report/report.h"
#include "session/cgroup.h"
#include "guard.h"
#include "verify.h"

enum {
	LIMIT, HIGH, MEMORY, SECONDS, PREDICTED, LOW, UP, MEASURED, ANON, FILES, VERDICT, SLOWDOWN,
	SLOW_LOW, SLOW_HIGH, STALLED,
};

static const struct column columns[] = {
	[LIMIT]	= { "limit", "limit", COL_SIZE, 0, 0 },
	[HIGH]	= { "high", "memory.high", COL_SIZE, 0, 0 },
	[MEMORY] = { "memory", "memory in use", COL_SIZE, 0, 0 },
	[SECONDS] = { "measured_us", "measured for", COL_US, 0, 0 },
	[PREDICTED] = { "predicted_per_s", "refaults/s predicted", COL_RATE, 0, 0 },
	[LOW]	= { "predicted_low_per_s", "  low", COL_RATE, 0, 0 },
	[UP]	= { "predicted_high_per_s", "  high", COL_RATE, 0, 0 },
	[MEASURED] = { "refaults_per_s", "refaults/s measured", COL_RATE, 0, 0 },
	[ANON]	= { "anon_per_s", "pages/s from swap", COL_RATE, 0, 0 },
	[FILES]	= { "file_per_s", "pages/s of files", COL_RATE, 0, 0 },
	[VERDICT] = { "verdict", "compared with the interval", COL_TEXT, 0, 0 },
	[SLOWDOWN] = { "slowdown", "slowdown predicted", COL_RATIO, 0, 0 },
	[SLOW_LOW] = { "slowdown_low", "  low", COL_RATIO, 0, 0 },
	[SLOW_HIGH] = { "slowdown_high", "  high", COL_RATIO, 0, 0 },
	[STALLED] = { "stalled", "some waited (PSI)", COL_RATIO, 0, 0 },
};

static const struct table_desc desc = {
	.type = "verify", .columns = columns, .nr = ARRAY_SIZE(columns), .list = true,
};

/**
 * struct job - the command line, and what comes of it
 * @rp:		reads the recording
 * @cgroup:	--verify
 * @limit:	the limit, 0 is the recommended one
 * @choice:	what to recommend, or the limit
 * @yes:	do not ask
 * @curves:	of the recording
 * @slowdown:	what refaults cost
 * @verify:	the trial
 * @restore:	no trial: end those that were killed
 */
struct job {
	struct report rp;
	const char *cgroup;
	__u64 limit;
	struct sizing_choice choice;
	bool yes;
	bool restore;
	struct wsmon_curves *curves;
	struct slowdown slowdown;
	struct verify verify;
};

static void begin(struct report *rp)
{
	struct job *job = rp->data;

	job->curves = need(wsmon_curves_new(&rp->reader.header));
	job->slowdown.files = need(wsmon_curves_new(&rp->reader.header));
}

static void record(struct report *rp, const struct wsmon_record *rec)
{
	struct job *job = rp->data;

	collect_curves(job->curves, &rp->filter, rec);
	collect_slowdown(&job->slowdown, &rp->filter, rec);
}

static void end(struct report *rp)
{
	struct job *job = rp->data;

	if (wsmon_curves_fit(job->curves) < 0 || wsmon_curves_fit(job->slowdown.files) < 0)
		need(NULL);
	if (job->choice.refault_cost_ns)
		slowdown_set(&job->slowdown, job->choice.refault_cost_ns / 1e9);
}

static const struct report_view view = {
	.name = "sizing", .no_snapshots = true, .begin = begin, .record = record, .end = end,
};

/* The curve of all together, or the only one; Return: NULL after a message */
static const struct wsmon_curve *find_curve(const struct job *job)
{
	const struct wsmon_curves *cs = job->curves;
	size_t i;

	for (i = 0; i < cs->nr; i++)
		if (!cs->of[i].pid || cs->nr == 1)
			return &cs->of[i];
	msg("%s predicts nothing: record with 'wsmo record --sizing', for five minutes", job->rp.file);
	return NULL;
}

/* Return: 0, or -1 after a message */
static int choose_limit(struct job *job, const struct wsmon_curve *of)
{
	double knee = sizing_knee(&job->choice, &job->slowdown, of), low = of->point[0].low;
	char size[UNITS_LEN], least[UNITS_LEN], window[UNITS_LEN];

	if (!job->limit && isinf(knee)) {
		msg("the recording recommends no limit, see 'wsmo report sizing': name one with --limit");
		return -1;
	}
	if (!job->limit)
		job->limit = whole(knee);
	if (job->limit >= low)
		return 0;
	msg("%s is below %s, which it uses within %s: that would stop it",
	    units_size(size, job->limit), units_size(least, whole(low)),
	    units_time(window, whole(of->point[0].window * 1e9)));
	return -1;
}

/* The directory of --verify; Return: malloc()ed, or NULL after a message */
static char *find_dir(const char *name)
{
	char file[PATH_MAX], *path, *dir;

	snprintf(file, sizeof(file), "%s/memory.high", name);
	if (!access(file, F_OK))
		return need(strdup(name));
	path = cgroup_path(name);
	dir = cgroup_file(path, "");
	free(path);
	snprintf(file, sizeof(file), "%s/memory.high", dir);
	if (!access(file, F_OK))
		return dir;
	msg("%s: no cgroup (of version 2) with the memory controller", name);
	free(dir);
	return NULL;
}

/* Sets the trial up; Return: 0, or -1 after a message */
static int prepare(struct job *job)
{
	struct verify *v = &job->verify;
	char size[UNITS_LEN], has[UNITS_LEN];
	__u64 protected = cgroup_protected(v->dir);
	struct usage now;

	if (usage_read(&now, v->dir))
		return -1;
	if (protected > job->limit) {
		msg("memory.min of cgroups below it keeps %s, more than %s: the limit would not be felt",
		    units_size(has, protected), units_size(size, job->limit));
		return -1;
	}
	/* page tables, sockets and the like are charged, too */
	v->high = job->limit;
	if (now.current > now.anon + now.file)
		v->high += now.current - now.anon - now.file;
	if (now.anon > job->limit && !swap_free()) {
		msg("there is no swap for the %s of anonymous memory that %s leaves no room for",
		    units_size(has, now.anon - job->limit), units_size(size, job->limit));
		return -1;
	}
	if (now.current <= v->high)
		msg("it has %s, less than %s: there is nothing to reclaim now",
		    units_size(has, now.current), units_size(size, v->high));
	if (now.pressure < 0)
		msg("%s/memory.pressure cannot be read: high pressure will not end this", v->dir);
	return 0;
}

/* Return: exit status; WSMO_OK to go on */
static int ask(const struct job *job)
{
	char size[UNITS_LEN], time[UNITS_LEN], answer[16];

	if (job->yes)
		return WSMO_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		msg("this sets memory.high of %s: confirm with --yes", job->cgroup);
		return WSMO_USAGE;
	}
	fprintf(stderr, "Set memory.high of %s to %s for %s? [y/N] ", job->cgroup,
		units_size(size, job->verify.high), units_time(time, job->verify.duration_ns));
	if (fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y'))
		return WSMO_OK;
	msg("nothing was changed");
	return WSMO_FAILURE;
}

static const char *verdict(double measured, const struct wsmon_limit *at)
{
	return measured < at->low ? "below" : measured > at->high ? "above" : "within";
}

/* Beyond the windows of a recording only bounds are predicted */
static void print_verdict(const struct wsmon_limit *at, double measured)
{
	fputs("Refaults a second: predicted ", stdout);
	if (at->bound == WSMON_EXACT)
		printf("%.1f (%.1f to %.1f)", at->refaults, at->low, at->high);
	else if (isfinite(at->high))
		printf("%.1f to %.1f", at->low, at->high);
	else
		printf("at least %.1f", at->low);
	printf(", measured %.1f, which is %s.\n\n", measured, verdict(measured, at));
}

static void print(const struct job *job, const struct wsmon_curve *of)
{
	const struct verify *v = &job->verify;
	struct wsmon_limit at = slowdown_limit(&job->slowdown, of, job->limit);
	struct slowdown_range slow = slowdown_at(&job->slowdown, of, &at);
	double us = (v->to.time_ns - v->from.time_ns) / 1e3;
	double waited = (v->to.major_faults - v->from.major_faults) / us * 1e6;
	double anon = (v->to.anon_refaults - v->from.anon_refaults) / us * 1e6;
	double file = (v->to.file_refaults - v->from.file_refaults) / us * 1e6;
	struct table *t;

	if (job->rp.out.format == TABLE_HUMAN)
		print_verdict(&at, waited);
	t = table_new(&desc, job->rp.out.format);
	table_row(t, (struct cell[]) {
		[LIMIT]	= cell_u(job->limit),
		[HIGH]	= cell_u(v->high),
		[MEMORY] = cell_u(v->to.anon + v->to.file),
		[SECONDS] = cell_u(whole(us)),
		[PREDICTED] = at.bound == WSMON_EXACT ? cell_d(at.refaults) : (struct cell){ },
		[LOW]	= cell_d(at.low),
		[UP]	= cell_d(at.high),
		[MEASURED] = cell_d(waited),
		[ANON]	= cell_d(anon),
		[FILES]	= cell_d(file),
		[VERDICT] = cell_s(verdict(waited, &at)),
		[SLOWDOWN] = cell_d(slow.mean),
		[SLOW_LOW] = cell_d(slow.low),
		[SLOW_HIGH] = cell_d(slow.high),
		[STALLED] = cell_d(v->to.pressure < 0 ? NAN : (v->to.stall_us - v->from.stall_us) / us),
	});
	table_end(t);
}

static void explain_end(const struct verify *v)
{
	if (v->end == VERIFY_PRESSURE)
		msg("stopped early: memory pressure was %.1f %%, --max-pressure is %.1f %%",
		    100 * v->to.pressure, 100 * v->max_pressure);
	if (v->end == VERIFY_SIGNAL)
		msg("interrupted");
	if (v->end && v->from.time_ns == 0)
		msg("nothing was measured: that begins after half of the time");
}

/* Return: exit status */
static int verify(struct job *job)
{
	struct verify *v = &job->verify;
	const struct wsmon_curve *of = find_curve(job);
	char *dir = of && !choose_limit(job, of) ? find_dir(job->cgroup) : NULL;
	int status = WSMO_FAILURE;

	v->dir = dir;
	if (!dir || prepare(job)) {
		free(dir);
		return status;
	}
	status = ask(job);
	if (!status) {
		status = verify_run(v) || v->end ? WSMO_FAILURE : WSMO_OK;
		explain_end(v);
		if (v->from.time_ns && v->to.time_ns > v->from.time_ns && v->end != VERIFY_GONE)
			print(job, of);
	}
	free(dir);
	return status;
}

static const struct option_desc options[] = {
	{ "verify", 0, "CGROUP", "Set memory.high of this cgroup, and restore it", OPT_TEXT,
	  OPT_AT(struct job, cgroup) },
	{ "duration", 'd', "TIME", "Half to settle, half to measure (1m)", OPT_TIME,
	  OPT_AT(struct job, verify.duration_ns), .min = 2 * NSEC_PER_SEC },
	{ "max-pressure", 0, "PERCENT", "Stop above this memory pressure (25%)", OPT_PERCENT,
	  OPT_AT(struct job, verify.max_pressure) },
	{ "restore", 0, NULL, "Restore what a run left that was killed", OPT_FLAG, OPT_AT(struct job, restore) },
	{ "yes", 'y', NULL, "Do not ask", OPT_FLAG, OPT_AT(struct job, yes) },
	{ 0 }
};

static void reject(struct argp_state *state, const char *arg, void *to __attribute__((unused)))
{
	usage_error(state, "'%s' is one argument too many; a recording comes after -i", arg);
}

static void check(struct argp_state *state, void *to)
{
	struct job *job = to;

	if (job->restore) {
		if (job->cgroup)
			usage_error(state, "--restore is alone: --verify restores before it begins");
		return;
	}
	if (!job->cgroup)
		usage_error(state, "name a cgroup with --verify; 'wsmo report sizing' predicts without one");
	if (job->choice.nr_limits > 1)
		usage_error(state, "one limit at a time");
	job->limit = job->choice.limits[0];
	sizing_defaults(&job->choice);
}

int cmd_sizing(int argc, char **argv)
{
	static struct job job = {
		.verify = { .duration_ns = 60 * NSEC_PER_SEC, .max_pressure = 0.25 },
	};
	int status;

	report_init(&job.rp, &view);
	job.rp.data = &job;
	options_parse(&(struct command_line) {
		.name = "wsmo sizing",
		.args = "--verify CGROUP\n--restore",
		.doc = "Try a memory limit on a cgroup: refaults predicted and measured."
		       "\vThe old value is restored whatever ends this, even SIGKILL; if the process that does "
		       "so is also killed, by the next run, or --restore. memory.high slows processes down, "
		       "and never kills them.",
		.groups = {
			OPT_GROUP(options, &job), OPT_GROUP(recording_options, &job.rp),
			OPT_GROUP(sizing_options, &job.choice),
			OPT_GROUP(format_options, &job.rp.out.format),
		},
		.to = &job, .arg = reject, .check = check,
	}, argc, argv);
	if (job.restore)
		return guard_restore() ? WSMO_FAILURE : WSMO_OK;
	status = report_run(&job.rp, NULL);
	if (!status)
		status = verify(&job);
	wsmon_curves_free(job.curves);
	wsmon_curves_free(job.slowdown.files);
	return status;
}
