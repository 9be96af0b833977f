// SPDX-License-Identifier: GPL-2.0
/*
 * diff.c - "wsmo diff": how working sets differ between two recordings, and whether one
 * is certainly larger
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "libwsmon/stats.h"
#include "model.h"
#include "report/report.h"

#define P	0.05	/* of 95 % intervals */

enum { BY, NAME, WINDOW, BEFORE, AFTER, CHANGE, LOW, HIGH, RATIO, ABOVE };

static struct column columns[] = {
	[BY]	= { "by", "BY", COL_TEXT, 7, NOT_HUMAN },
	[NAME]	= { "name", "NAME", COL_TEXT, 8, 0 },
	[WINDOW] = { "window_us", "WINDOW", COL_US, 6, 0 },
	[BEFORE] = { "a", "A", COL_SIZE, 10, 0 },
	[AFTER]	= { "b", "B", COL_SIZE, 10, 0 },
	[CHANGE] = { "change", "CHANGE", COL_CHANGE, 10, 0 },
	[LOW]	= { "low", "LOW", COL_CHANGE, 10, 0 },
	[HIGH]	= { "high", "HIGH", COL_CHANGE, 10, 0 },
	[RATIO]	= { "ratio", "OF A", COL_RATIO, 7, 0 },
	[ABOVE]	= { "above", "ABOVE", COL_TEXT, 5, 0 },
};

static const struct table_desc desc = {
	.type = "diff", .columns = columns, .nr = ARRAY_SIZE(columns),
};

/**
 * struct job - the command line, and what comes of it
 * @file:	the recordings
 * @by:		what the rows are
 * @fail_above:	share of A's total that no row may grow by; negative without --fail-above
 * @top:	number of rows beside the total
 * @rp:		reads the recordings
 * @diff:	what they hold
 */
struct job {
	const char *file[2];
	enum diff_by by;
	double fail_above;
	__u32 top;
	struct report rp;
	struct diff *diff;
};

/* A row, to be printed */
struct line {
	const struct diff_row *row;
	struct estimate of[2];
	double change;
	bool above;
};

static void begin(struct report *rp)
{
	struct job *job = rp->data;

	int at = job->rp.file == job->file[1];

	diff_begin(job->diff, at, &rp->reader.header.attrs,
		   rp->filter.nr_windows ? rp->filter.windows[0] : 0);
	job->diff->side[at].real_ns = rp->reader.header.real_ns;
}

static void record(struct report *rp, const struct wsmon_record *rec)
{
	diff_record(((struct job *)rp->data)->diff, &rp->filter, rec);
}

static void end(struct report *rp)
{
	diff_end(((struct job *)rp->data)->diff);
}

static struct report_view view = {
	.name = "diff", .begin = begin, .record = record, .end = end,
};

/* Return: 0, or -1 after a message */
static int read_all(struct job *job)
{
	int i;

	view.no_snapshots = job->by < DIFF_MAPPING;
	view.of_processes = job->by != DIFF_CLASS;
	for (i = 0; i < 2; i++) {
		job->rp.file = job->file[i];
		job->rp.windows_seen = 0;
		job->rp.of_cgroup = false;
		job->rp.data = job;
		if (report_run(&job->rp, NULL))
			return -1;
		if (job->diff->side[i].moments.nr)
			continue;
		msg("%s: has no %s to compare", job->file[i],
		    job->by < DIFF_MAPPING ? "working sets" : "snapshots");
		return -1;
	}
	return 0;
}

static int check_alike(const struct job *job)
{
	const struct diff_side *a = &job->diff->side[0], *b = &job->diff->side[1];
	char x[UNITS_LEN], y[UNITS_LEN];

	if (a->window_us == b->window_us)
		return 0;
	msg("the windows are %s and %s: %s", units_time(x, a->window_us * NSEC_PER_USEC),
	    units_time(y, b->window_us * NSEC_PER_USEC), job->by < DIFF_MAPPING ?
	    "name one of both with --window" : "record both with the same --aggr");
	return -1;
}

static void estimate(const struct job *job, const struct diff_row *row, struct line *line)
{
	const struct diff *d = job->diff;
	int i;

	line->row = row;
	for (i = 0; i < 2; i++)
		line->of[i] = batches_estimate(&row->of[i], &d->side[i].moments, d->side[i].apart);
	line->change = line->of[1].mean - line->of[0].mean;
}

/* Half the interval of a row's change */
static double half_width(const struct line *l, double p)
{
	double variance = l->of[0].variance + l->of[1].variance;

	if (isinf(variance))
		return INFINITY;
	return student(p, estimates_freedom(&l->of[0], &l->of[1])) * sqrt(variance);
}

/*
 * Is it certain that a row grew by more than --fail-above of the total? @rows are asked
 * (Bonferroni): an error in one of them is as improbable as in one interval. The errors of
 * a part and the total may be alike.
 */
static bool is_above(const struct job *job, const struct line *l, const struct line *total, size_t rows)
{
	struct line grown = *l;
	double limit = job->fail_above * total->of[0].mean;

	grown.of[0].variance = pow(sqrt(l->of[0].variance) +
				   job->fail_above * sqrt(total->of[0].variance), 2);
	/* and varies with as few degrees of freedom */
	grown.of[0].in_time = pow(sqrt(l->of[0].in_time) +
				  job->fail_above * sqrt(total->of[0].in_time), 2);
	return job->fail_above >= 0 && l->change - half_width(&grown, P / rows) > limit;
}

static int by_change(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	double c = fabs(b->change) - fabs(a->change);

	/* what must not grow is not to be overlooked */
	if (a->above != b->above)
		return b->above - a->above;
	return c ? (c > 0) - (c < 0) : a->row < b->row ? -1 : 1;
}

static struct cell size_cell(double v)
{
	return cell_u(v < 0x1p64 ? (__u64)(v + 0.5) : ~0ULL);
}

static void print(const struct job *job, struct table *table, const struct line *l)
{
	static const char * const by[] = { "class", "process", "mapping", "function" };
	double half = half_width(l, P), a = l->of[0].mean;

	table_row(table, (struct cell[]) {
		[BY]	= cell_s(l->row->name ? by[job->by] : "total"),
		[NAME]	= cell_s(l->row->name ?: "total"),
		[WINDOW] = cell_u(job->diff->side[0].window_us),
		[BEFORE] = size_cell(a),
		[AFTER]	= size_cell(l->of[1].mean),
		[CHANGE] = cell_d(l->change),
		[LOW]	= cell_d(l->change - half),
		[HIGH]	= cell_d(l->change + half),
		[RATIO]	= cell_d(l->change / a),
		[ABOVE]	= job->fail_above < 0 ? (struct cell){ 0 } : cell_s(l->above ? "yes" : "no"),
	});
}

/* The first line: what to think of it */
static void print_verdict(const struct line *total)
{
	double half = half_width(total, P), by = total->change, a = total->of[0].mean;
	char size[UNITS_LEN], low[UNITS_LEN], high[UNITS_LEN], part[32] = "";

	if (a > 0)
		snprintf(part, sizeof(part), " (%.0f %%)", 100 * fabs(by) / a);
	if (isinf(half))
		printf("Too short to tell whether B uses more than A.\n");
	else if (!by && !half)
		printf("B uses as much as A.\n");
	else if (fabs(by) <= half)
		printf("No difference is certain: B uses %s%s %s than A, give or take %s.\n",
		       units_size(size, fabs(by)), part, by < 0 ? "less" : "more", units_size(high, half));
	else if (!strcmp(units_size(low, fabs(by) - half), units_size(high, fabs(by) + half)))
		printf("B surely uses %s%s %s than A.\n", high, part, by < 0 ? "less" : "more");
	else
		printf("B surely uses %s%s %s than A, %s to %s.\n", units_size(size, fabs(by)), part,
		       by < 0 ? "less" : "more", low, high);
}

static void print_side(const struct job *job, int i)
{
	const struct diff_side *side = &job->diff->side[i];
	time_t start = side->real_ns / NSEC_PER_SEC;
	char file[512], time[UNITS_LEN], when[40] = "";
	struct tm tm;

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	printf("%c: %s, %s%s, of %s, %s\n", 'A' + i, text_clean(file, sizeof(file), job->file[i]),
	       *side->what ? side->what : "?", side->processes > 1 ? " and others" : "", when,
	       units_time(time, side->last_ns - side->first_ns + side->aggr_us * NSEC_PER_USEC));
}

static void print_head(const struct job *job, const struct line *total)
{
	const struct diff_side *side = job->diff->side;

	if (job->rp.out.format == TABLE_HUMAN) {
		print_verdict(total);
		print_side(job, 0);
		print_side(job, 1);
		putchar('\n');
	}
	if (strcmp(side[0].what, side[1].what))
		msg("A is of %s, B of %s: not the same program", *side[0].what ? side[0].what : "?",
		    *side[1].what ? side[1].what : "?");
}

/* Return: exit status */
static int print_all(const struct job *job)
{
	struct diff_row **row = job->diff->rows.base;
	size_t nr = job->diff->rows.nr, above, i;
	struct line *line = need(calloc(nr + 1, sizeof(*line)));
	struct table *table;

	columns[ABOVE].not_in = job->fail_above < 0 ? NOT_HUMAN : 0;
	estimate(job, &job->diff->total, &line[0]);
	print_head(job, &line[0]);
	table = table_new(&desc, job->rp.out.format);
	above = line[0].above = is_above(job, &line[0], &line[0], nr + 1);
	for (i = 1; i <= nr; i++) {
		estimate(job, row[i - 1], &line[i]);
		line[i].above = is_above(job, &line[i], &line[0], nr + 1);
		above += line[i].above;
	}
	qsort(line + 1, nr, sizeof(*line), by_change);
	for (i = 0; i <= nr && i <= job->top; i++)
		print(job, table, &line[i]);
	table_end(table);
	if (isinf(line[0].of[0].variance + line[0].of[1].variance))
		msg("too short for intervals: record for longer than twice the window");
	if (job->diff->too_many)
		msg("too many rows: some were left out");
	if (above)
		msg("%zu row%s grew by more than %g %% of the total of %s", above, above == 1 ? "" : "s",
		    100 * job->fail_above, job->file[0]);
	free(line);
	return above ? WSMO_FAILURE : WSMO_OK;
}

static void set_file(struct argp_state *state, const char *name, void *to)
{
	struct job *job = to;

	if (job->file[1])
		usage_error(state, "'%s' is one recording too many", name);
	job->file[job->file[0] ? 1 : 0] = name;
}

static void check(struct argp_state *state, void *to)
{
	const struct job *job = to;

	if (!job->file[1])
		usage_error(state, "name two recordings");
	if (job->rp.filter.nr_windows > 1)
		usage_error(state, "one window at a time");
	if (job->rp.filter.nr_windows && job->by >= DIFF_MAPPING)
		usage_error(state, "--window is for classes and processes; mappings and functions have that of an aggregation interval");
}

static const struct option_desc options[] = {
	{ "by", 0, "class|process|mapping|function", "What the rows below the total are (class)",
	  OPT_CHOICE, OPT_AT(struct job, by) },
	{ "fail-above", 0, "PERCENT", "Exit with status 1 if a row surely grew by more than this part of A's total",
	  OPT_PERCENT, OPT_AT(struct job, fail_above) },
	{ "top", 0, "N", "Rows below the total (20), those that changed most", OPT_COUNT,
	  OPT_AT(struct job, top), 1, 1000000 },
	{ 0 }
};

int cmd_diff(int argc, char **argv)
{
	static struct job job = { .fail_above = -1, .top = 20 };
	int status = WSMO_USAGE;

	report_init(&job.rp, &view);
	options_parse(&(struct command_line) {
		.name = "wsmo diff",
		.args = "A B",
		.doc = "Compare the mean working sets of two recordings, with 95 % intervals."
		       "\vExit status: 0; 1 if a row is above --fail-above; 2 if something is wrong.",
		.groups = {
			OPT_GROUP(options, &job), OPT_GROUP(time_options, &job.rp),
			OPT_GROUP(window_options, &job.rp), OPT_GROUP(format_options, &job.rp.out.format),
		},
		.to = &job, .arg = set_file, .check = check,
	}, argc, argv);
	job.diff = diff_new(job.by);
	if (!read_all(&job) && !check_alike(&job))
		status = print_all(&job);
	diff_free(job.diff);
	return status;
}
