// SPDX-License-Identifier: GPL-2.0
/*
 * curves.c - "wsmo report curve" and "wsmo report sizing": the working set against
 * its window, and which memory limit is enough
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "collect.h"
#include "libwsmon/names.h"
#include "libwsmon/sizing.h"
#include "plot/curve.h"
#include "report.h"

/* Columns of a line beside the bar */
#define BESIDE_BAR	70

enum { PID, CLASS, WINDOW, BYTES, LOW, HIGH, P5, P50, P95, BAR };

static const struct column curve_columns[] = {
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 5, 0 },
	[WINDOW] = { "window_us", "WINDOW", COL_US, 6, 0 },
	[BYTES]	= { "bytes", "WSS", COL_SIZE, 9, 0 },
	[LOW]	= { "low", "LOW", COL_SIZE, 9, 0 },
	[HIGH]	= { "high", "HIGH", COL_SIZE, 9, 0 },
	[P5]	= { "p5", "5 %", COL_SIZE, 9, 0 },
	[P50]	= { "p50", "50 %", COL_SIZE, 9, 1U << TABLE_HUMAN },
	[P95]	= { "p95", "95 %", COL_SIZE, 9, 0 },
	[BAR]	= { "bar", "BAR", COL_TEXT, BAR_MIN, NOT_CSV | NOT_JSON | 1U << TABLE_RAW },
};

static const struct table_desc curve_desc = {
	.type = "curve", .columns = curve_columns, .nr = ARRAY_SIZE(curve_columns),
};

enum {
	S_PID, S_CLASS, S_LIMIT, S_OF_RSS, S_KEEPS, S_BOUND, S_REFAULTS, S_LOW, S_HIGH,
	S_MISSED, S_SLOWDOWN, S_SLOW_LOW, S_SLOW_HIGH, S_MARK,
};

/* People see the slowdown if it is known */
static struct column sizing_columns[] = {
	[S_PID]	   = { "pid", "PID", COL_COUNT, 7, 0 },
	[S_CLASS]  = { "class", "CLASS", COL_TEXT, 5, 0 },
	[S_LIMIT]  = { "limit", "LIMIT", COL_SIZE, 10, 0 },
	[S_OF_RSS] = { "of_rss", "OF RSS", COL_RATIO, 7, 0 },
	[S_KEEPS]  = { "keeps_us", "KEEPS", COL_US, 7, 0 },
	[S_BOUND]  = { "bound", "", COL_TEXT, 1, 0 },
	[S_REFAULTS] = { "refaults_per_s", "REFAULTS/S", COL_RATE, 10, 0 },
	[S_LOW]	   = { "refaults_low_per_s", "LOW", COL_RATE, 7, 0 },
	[S_HIGH]   = { "refaults_high_per_s", "HIGH", COL_RATE, 7, 0 },
	[S_MISSED] = { "missed", "MISSED", COL_RATIO, 7, 0 },
	[S_SLOWDOWN] = { "slowdown", "SLOWDOWN", COL_RATIO, 8, NOT_HUMAN },
	[S_SLOW_LOW] = { "slowdown_low", "LOW", COL_RATIO, 6, NOT_HUMAN },
	[S_SLOW_HIGH] = { "slowdown_high", "HIGH", COL_RATIO, 6, NOT_HUMAN },
	[S_MARK]   = { "mark", "", COL_TEXT, 4, 0 },
};

static const struct table_desc sizing_desc = {
	.type = "sizing", .columns = sizing_columns, .nr = ARRAY_SIZE(sizing_columns),
};

/**
 * struct view - state of the view
 * @curves:	the curves
 * @slowdown:	of sizing, what refaults cost
 * @group:	names the group if it is a cgroup
 */
struct view {
	struct wsmon_curves *curves;
	struct slowdown slowdown;
	struct group group;
};

static void curves_view_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->curves = need(wsmon_curves_new(&rp->reader.header));
	rp->data = v;
}

static void curves_view_record(struct report *rp, const struct wsmon_record *rec)
{
	struct view *v = rp->data;

	collect_curves(v->curves, &rp->filter, rec);
	group_take(&v->group, &rp->filter, rec);
}

static void explain_no_curve(const struct wsmon_curves *cs)
{
	if (!cs->seen)
		msg("--time, --pid, --class and --window leave no working set over");
	else
		msg("a curve takes %d windows, each observed for 1.25 times its length; record with 'wsmo record --sizing', for five minutes",
		    CURVES_WINDOWS);
}

static double longest_window(const struct wsmon_curves *cs)
{
	double window = 0;
	size_t i;

	for (i = 0; i < cs->nr; i++)
		window = fmax(window, cs->of[i].node[cs->of[i].nr]);
	return window;
}

static void explain_left_out(const struct wsmon_curves *cs)
{
	char longest[UNITS_LEN], used[UNITS_LEN];
	double window = longest_window(cs);

	if (whole(window * 1e6) < cs->longest_us)
		msg("windows above %s, up to %s, do not count: they were observed for less than 1.25 times their length",
		    units_time(used, whole(window * 1e9)),
		    units_time(longest, cs->longest_us * NSEC_PER_USEC));
}

/* @draw and @print are the two ways to show the curves */
static void curves_view_end(struct report *rp,
			    int (*draw)(const struct report *rp, const struct wsmon_curves *cs),
			    void (*print)(const struct report *rp, const struct wsmon_curves *cs))
{
	struct view *v = rp->data;
	struct wsmon_curves *cs = v->curves;
	int nr = wsmon_curves_fit(cs);

	if (nr < 0)
		need(NULL);
	if (!nr) {
		explain_no_curve(cs);
		rp->failed = true;
	} else {
		if (rp->out.picture.file)
			rp->failed = draw(rp, cs) != 0;
		else
			print(rp, cs);
		explain_left_out(cs);
	}
	wsmon_curves_free(cs);
	wsmon_curves_free(v->slowdown.files);
	free(v);
}

static struct cell pid_cell(const struct wsmon_curve *of)
{
	return of->pid ? cell_u(of->pid) : (struct cell){ };
}

static struct cell range_cell(const struct wsmon_curve *of, __u64 size)
{
	return of->pid || of->group ? cell_u(size) : (struct cell){ };
}

static void print_curve(const struct report *rp, const struct wsmon_curves *cs)
{
	struct table *t = report_table(rp, &curve_desc);
	unsigned int width = bar_width(BESIDE_BAR);
	char bar[BAR_TEXT];
	double max = 0;
	size_t i, k;

	for (i = 0; i < cs->nr; i++)
		for (k = 0; k < cs->of[i].nr; k++)
			max = fmax(max, cs->of[i].point[k].high);
	for (i = 0; i < cs->nr; i++) {
		const struct wsmon_curve *of = &cs->of[i];

		for (k = 0; k < of->nr; k++) {
			const struct wsmon_curve_point *p = &of->point[k];

			table_row(t, (struct cell[]) {
				[PID]	= pid_cell(of),
				[CLASS]	= cell_s(class_name(of->class)),
				[WINDOW] = cell_u(whole(p->window * 1e6)),
				[BYTES]	= cell_u(whole(p->size)),
				[LOW]	= cell_u(whole(p->low)),
				[HIGH]	= cell_u(whole(p->high)),
				[P5]	= range_cell(of, p->p5),
				[P50]	= range_cell(of, p->p50),
				[P95]	= range_cell(of, p->p95),
				[BAR]	= cell_s(bar_text(bar, whole(p->low), whole(p->high),
							  whole(max), width)),
			});
		}
	}
	table_end(t);
}

static int draw_curve(const struct report *rp, const struct wsmon_curves *cs)
{
	return curve_plot(&rp->out.picture, cs);
}

static void curve_end(struct report *rp)
{
	curves_view_end(rp, draw_curve, print_curve);
}

const struct report_view report_curve = {
	.name = "curve",
	.help = "The mean working set for each length of window",
	.takes = TAKES_CLASS | TAKES_WINDOW | TAKES_FORMAT | TAKES_PICTURE,
	.no_snapshots = true,
	.begin = curves_view_begin,
	.record = curves_view_record,
	.end = curve_end,
};

static struct cell known(const struct wsmon_limit *at, double value)
{
	return at->bound == WSMON_EXACT ? cell_d(value) : (struct cell){ };
}

static void print_limit(const struct report *rp, struct table *t,
			const struct wsmon_curve *of, const struct sizing_row *row)
{
	/* an empty text would print as "-", a missing value */
	const char *none = rp->out.format == TABLE_HUMAN ? " " : "";
	const char * const bounds[] = { none, "<", ">" };
	const struct wsmon_limit *at = &row->at;
	bool exact = at->bound == WSMON_EXACT;

	table_row(t, (struct cell[]) {
		[S_PID]	   = pid_cell(of),
		[S_CLASS]  = cell_s(class_name(of->class)),
		[S_LIMIT]  = cell_u(whole(at->bytes)),
		[S_OF_RSS] = cell_d(of->rss > 0 ? at->bytes / of->rss : NAN),
		[S_KEEPS]  = exact ? cell_u(whole(at->window * 1e6)) : (struct cell){ },
		[S_BOUND]  = cell_s(bounds[at->bound]),
		[S_REFAULTS] = known(at, at->refaults),
		[S_LOW]	   = cell_d(at->low),
		[S_HIGH]   = cell_d(at->high),
		[S_MISSED] = known(at, at->missed),
		[S_SLOWDOWN] = cell_d(row->slowdown.mean),
		[S_SLOW_LOW] = cell_d(row->slowdown.low),
		[S_SLOW_HIGH] = cell_d(row->slowdown.high),
		[S_MARK]   = cell_s(row->knee ? "enough" : none),
	});
}

/* What the recommended limit keeps to, or what even the largest may not */
static void print_bounds(FILE *f, const struct sizing_choice *choice, bool kept)
{
	bool both = choice->max_refaults && choice->max_slowdown > 0;

	if (choice->max_refaults)
		fprintf(f, kept ? "keep refaults below %llu a second" :
				  "may cause more than %llu refaults a second",
			choice->max_refaults);
	if (both)
		fputs(kept ? " and " : ", or ", f);
	if (choice->max_slowdown > 0)
		fprintf(f, kept ? "%sthe slowdown below %g %%" : "%sa slowdown above %g %%",
			both ? "" : kept ? "keep " : "may cause ", 100 * choice->max_slowdown);
}

/* The answer in a sentence or two */
static void print_words(const struct report *rp, const struct wsmon_curve *of)
{
	const struct sizing_choice *choice = rp->options;
	const struct view *v = rp->data;
	double knee = sizing_knee(choice, &v->slowdown, of);
	char size[UNITS_LEN], name[GROUP_PATH];
	bool cgroup = of->group && *v->group.path;
	FILE *f = rp->out.f;

	fprintf(f, "\n%s", text_clean(name, sizeof(name),
				      cgroup ? group_name(&v->group, 0, NULL) : of->comm));
	if (of->pid)
		fprintf(f, " (%u)", of->pid);
	if (of->class != WSMON_CLASS_ALL)
		fprintf(f, ", %s", class_name(of->class));
	if (isinf(knee))
		fprintf(f, ": even %s ", units_size(size, whole(of->size[of->nr])));
	else
		fprintf(f, ": %s %s ", units_size(size, whole(knee)),
			knee <= of->size[1] ? "or less" : "of memory");
	print_bounds(f, choice, !isinf(knee));
	if (isinf(knee))
		fprintf(f, "; record longer windows");
	if (of->rss > 0)
		fprintf(f, "; it had %s", units_size(size, whole(of->rss)));
	fprintf(f, ".\n");
	if (of->growth >= of->page_size)
		fprintf(f, "It also used %s a second for the first time: faults that occur with any limit.\n",
			units_size(size, whole(of->growth)));
}

/* What a refault costs, and how that is known */
static void print_costs(const struct report *rp)
{
	static const char * const kinds[REFAULT_KINDS] = {
		[WSMON_REFAULT_SWAP] = "from swap", [WSMON_REFAULT_FILE] = "of a file",
	};
	const struct slowdown *s = &((struct view *)rp->data)->slowdown;
	char text[REFAULT_TEXT], mean[UNITS_LEN], half[UNITS_LEN];
	FILE *f = rp->out.f;
	size_t i;

	if (((const struct sizing_choice *)rp->options)->refault_cost_ns)
		return;
	for (i = 0; i < REFAULT_KINDS; i++) {
		const struct refault_cost *c = &s->cost[i];

		if (c->refaults)
			fprintf(f, "%sA refault %s takes %s, +/- %s: mean of %u (%s) before the recording.\n",
				i ? "" : "\n", kinds[i], units_time(mean, whole(c->mean * 1e9)),
				units_time(half, whole(c->half * 1e9)), c->refaults,
				text_clean(text, sizeof(text), c->text));
		else if (*c->text)
			fprintf(f, "%sWhat a refault %s takes was not measured: %s. See --refault-cost.\n",
				i ? "" : "\n", kinds[i], text_clean(text, sizeof(text), c->text));
	}
	if (s->unmapped > 0)
		fprintf(f, "%.0f %% of a limit's pages of files are read around others.\n", 100 * s->unmapped);
}

static void print_sizing(const struct report *rp, const struct wsmon_curves *cs)
{
	const struct slowdown *s = &((struct view *)rp->data)->slowdown;
	struct sizing_row row[SIZING_ROWS];
	char window[UNITS_LEN];
	struct table *t;
	size_t i, j, n;

	for (i = S_SLOWDOWN; i <= S_SLOW_HIGH && slowdown_known(s); i++)
		sizing_columns[i].not_in = 0;
	t = report_table(rp, &sizing_desc);
	for (i = 0; i < cs->nr; i++) {
		n = sizing_rows(rp->options, s, &cs->of[i], row);
		for (j = 0; j < n; j++)
			print_limit(rp, t, &cs->of[i], &row[j]);
	}
	table_end(t);
	if (rp->out.format != TABLE_HUMAN)
		return;
	for (i = 0; i < cs->nr; i++)
		print_words(rp, &cs->of[i]);
	print_costs(rp);
	fprintf(rp->out.f, "\nMemory not used for %s, the longest window, counts as cold: above the largest limits refaults are rarer than shown.\n",
		units_time(window, whole(longest_window(cs) * 1e9)));
}

static int draw_sizing(const struct report *rp, const struct wsmon_curves *cs)
{
	const struct view *v = rp->data;

	return sizing_plot(&rp->out.picture, cs, rp->options, &v->slowdown);
}

static void sizing_begin(struct report *rp)
{
	struct view *v;

	curves_view_begin(rp);
	v = rp->data;
	v->slowdown.files = need(wsmon_curves_new(&rp->reader.header));
}

static void sizing_record(struct report *rp, const struct wsmon_record *rec)
{
	struct view *v = rp->data;

	curves_view_record(rp, rec);
	collect_slowdown(&v->slowdown, &rp->filter, rec);
}

static void sizing_end(struct report *rp)
{
	struct sizing_choice *choice = rp->options;
	struct view *v = rp->data;

	if (choice->refault_cost_ns)
		slowdown_set(&v->slowdown, choice->refault_cost_ns / 1e9);
	sizing_defaults(choice);
	if (choice->max_slowdown > 0 && !slowdown_known(&v->slowdown))
		msg("what a refault takes was not measured with this recording: say so by --refault-cost");
	if (wsmon_curves_fit(v->slowdown.files) < 0)
		need(NULL);
	curves_view_end(rp, draw_sizing, print_sizing);
}

static void set_slowdown(struct argp_state *state, char *arg,
			 const struct option_desc *o __attribute__((unused)), void *to)
{
	double share = option_percent(state, arg);

	if (share <= 0)
		usage_error(state, "'%s' would allow no refault", arg);
	((struct sizing_choice *)to)->max_slowdown = share;
}

static void add_limits(struct argp_state *state, char *list,
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct sizing_choice *choice = to;
	char *text;

	while ((text = strsep(&list, ","))) {
		__u64 size = option_size(state, text);

		if (!size)
			usage_error(state, "'%s' is not a size; try --limit 64M,1G", text);
		if (choice->nr_limits == SIZING_LIMITS_MAX)
			usage_error(state, "at most %d limits", SIZING_LIMITS_MAX);
		choice->limits[choice->nr_limits++] = size;
	}
}

const struct option_desc sizing_options[] = {
	{ "max-refaults", 0, "N", "Mark the smallest limit with at most N refaults a second (100)", OPT_COUNT,
	  OPT_AT(struct sizing_choice, max_refaults), 1, 1000000000 },
	{ "max-slowdown", 0, "PERCENT", "Or the smallest with at most this slowdown", OPT_CALL,
	  .call = set_slowdown },
	{ "refault-cost", 0, "TIME", "What a refault takes (as was measured)", OPT_TIME,
	  OPT_AT(struct sizing_choice, refault_cost_ns) },
	{ "limit", 0, "SIZE,...", "Only these limits (steps from the working set of the shortest window to that of the longest)",
	  OPT_CALL, .call = add_limits },
	{ 0 }
};

static struct sizing_choice sizing_choice;

const struct report_view report_sizing = {
	.name = "sizing",
	.help = "Memory limits and the refaults they cause: which limit is enough",
	.takes = TAKES_CLASS | TAKES_WINDOW | TAKES_FORMAT | TAKES_PICTURE,
	.own = sizing_options,
	.options = &sizing_choice,
	.no_snapshots = true,
	.begin = sizing_begin,
	.record = sizing_record,
	.end = sizing_end,
};
