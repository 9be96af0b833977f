// SPDX-License-Identifier: GPL-2.0
/*
 * curves.c - "wsmo report curve" and "wsmo report sizing": the working set as a function of its
 * window, and the memory limit that is enough
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "core/term.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/curve.h"
#include "libwsmon/names.h"
#include "libwsmon/sizing.h"
#include "libwsmon/wsmon_records.h"
#include "plot.h"
#include "report.h"

/*
 * Pictures of curves, and of limits
 *
 * Estimates are lines; the bands around them are 95 % intervals.
 */

#define CURVES_MAX	PLOT_COLORS

/* Points of a line */
#define STEPS		200

/* Lowest rate that is drawn */
#define RATE_MIN	1.0

/**
 * struct unit - the unit of sizes
 * @bytes:	bytes of the unit
 * @name:	name of the unit
 */
struct unit {
	double bytes;
	const char *name;
};

static struct unit size_unit(const struct wsmon_curves *cs)
{
	struct unit unit;
	double max = 0;
	size_t i;

	for (i = 0; i < cs->nr; i++)
		max = fmax(max, cs->of[i].point[cs->of[i].nr - 1].high);
	unit.bytes = plot_size_unit(max, &unit.name);
	return unit;
}

static int open_picture(struct plot *p, const struct picture *picture,
			const struct wsmon_curves *cs)
{
	if (cs->nr > CURVES_MAX) {
		msg("%s: no room for %zu curves; choose with --pid and --class",
		    picture->file, cs->nr);
		return -1;
	}
	return plot_open(p, picture);
}

static const char *title(char *buf, const struct wsmon_curve *of)
{
	char name[sizeof(of->comm) + 64];
	int len = snprintf(name, sizeof(name), "%.*s", (int)sizeof(of->comm),
			   of->comm);

	if (of->pid)
		len += snprintf(name + len, sizeof(name) - len, " (%u)", of->pid);
	if (of->class != WSMON_CLASS_ALL)
		snprintf(name + len, sizeof(name) - len, " %s",
			 class_name(of->class));
	return plot_text(buf, name);
}

static void plot_curves(struct plot *p, const struct wsmon_curves *cs, const char *dots)
{
	char text[PLOT_TEXT];
	size_t i;

	for (i = 0; i < cs->nr; i++)
		plot_printf(p, "title%zu = %s\n", i, title(text, &cs->of[i]));
	plot_lines(p, cs->nr, dots, 0);
}

/* Tics at the windows, which are seldom powers of ten */
static void plot_tics(struct plot *p, const struct wsmon_curves *cs)
{
	const struct wsmon_curve *c = &cs->of[0];
	char window[UNITS_LEN];
	size_t k;

	plot_printf(p, "set xtics (");
	for (k = 0; k < c->nr; k++)
		plot_printf(p, "%s'%s' %.9g", k ? ", " : "",
			    units_time(window, whole(c->point[k].window * 1e9)),
			    c->point[k].window);
	plot_printf(p, ")\nset xrange [%.9g:%.9g]\n", c->node[1],
		    c->node[c->nr] * 1.001);
}

/** curve_plot() - draw working sets by window. Return: 0, or -1 after a message */
static int curve_plot(const struct picture *picture, const struct wsmon_curves *cs)
{
	struct unit unit = size_unit(cs);
	struct plot p;
	size_t i, k;

	if (open_picture(&p, picture, cs))
		return -1;
	for (i = 0; i < cs->nr; i++) {
		const struct wsmon_curve *c = &cs->of[i];
		double first = c->node[1], last = c->node[c->nr];

		plot_printf(&p, "$points%zu << END\n", i);
		for (k = 0; k < c->nr; k++)
			plot_printf(&p, "%.9g %.9g\n", c->point[k].window,
				    c->point[k].size / unit.bytes);
		plot_printf(&p, "END\n$line%zu << END\n", i);
		for (k = 0; k <= STEPS; k++) {
			double window = first * pow(last / first, k / (double)STEPS);
			double low, high;

			curve_ends(c, window, &low, &high);
			plot_printf(&p, "%.9g %.9g %.9g %.9g\n", window,
				    curve_size(c, window) / unit.bytes,
				    low / unit.bytes, high / unit.bytes);
		}
		plot_printf(&p, "END\n");
	}
	plot_tics(&p, cs);
	plot_printf(&p, "set logscale x\nset yrange [0:*]\n");
	plot_printf(&p, "set xlabel 'window'\nset ylabel 'working set, %s (band: 95 %% interval)'\n",
		    unit.name);
	plot_curves(&p, cs, "ps 0.6");
	return plot_close(&p);
}

static void sizing_line(struct plot *p, const struct wsmon_curve *of, size_t nr,
			struct unit unit, const struct slowdown *s, double knee)
{
	double min = of->size[1], max = of->size[of->nr];
	struct wsmon_limit at[STEPS + 1];
	size_t k;

	for (k = 0; k <= STEPS; k++)
		at[k] = slowdown_limit(s, of, min + (max - min) * k / STEPS);
	plot_printf(p, "$line%zu << END\n", nr);
	for (k = 0; k <= STEPS; k++)
		plot_printf(p, "%.9g %.9g %.9g %.9g\n", at[k].bytes / unit.bytes,
			    fmax(RATE_MIN, at[k].refaults),
			    fmax(RATE_MIN, at[k].low),
			    fmax(RATE_MIN, at[k].high));
	plot_printf(p, "END\n$points%zu << END\n", nr);
	if (!isinf(knee))
		plot_printf(p, "%.9g %.9g\n", knee / unit.bytes,
			    fmax(RATE_MIN, slowdown_limit(s, of, knee).high));
	else
		plot_printf(p, "NaN NaN\n");
	plot_printf(p, "END\n");
}

static void mark_knees(struct plot *p, const struct sizing_choice *choice, struct unit unit)
{
	plot_printf(p, "set xlabel 'limit, %s (dots: enough, the smallest whose band ends at", unit.name);
	if (choice->max_refaults) {
		plot_printf(p, " %llu refaults a second (dashed)", choice->max_refaults);
		plot_printf(p, "%s", choice->max_slowdown > 0 ? " and" : "");
	}
	if (choice->max_slowdown > 0)
		plot_printf(p, " %g %% slowdown", 100 * choice->max_slowdown);
	plot_printf(p, ")'\n");
	if (choice->max_refaults)
		plot_printf(p, "set arrow from graph 0, first %llu to graph 1, first %llu nohead dt 2 lc rgb '#444444'\n",
			    choice->max_refaults, choice->max_refaults);
}

/**
 * sizing_plot() - draw refaults against limits
 * @choice: bounds of the recommended limit, which is marked
 * @s: cost of refaults
 *
 * Return: 0, or -1 after a message
 */
static int sizing_plot(const struct picture *picture, const struct wsmon_curves *cs,
		       const struct sizing_choice *choice, const struct slowdown *s)
{
	struct unit unit = size_unit(cs);
	struct plot p;
	size_t i;

	if (open_picture(&p, picture, cs))
		return -1;
	for (i = 0; i < cs->nr; i++)
		sizing_line(&p, &cs->of[i], i, unit, s, sizing_knee(choice, s, &cs->of[i]));
	plot_printf(&p, "set logscale y\nset xrange [0:*]\n");
	plot_printf(&p, "set ylabel 'refaults a second (band: 95 %% interval)'\n");
	mark_knees(&p, choice, unit);
	plot_curves(&p, cs, "ps 1.2");
	return plot_close(&p);
}

/*
 * The view
 */

/* Columns of a line beside the bar */
#define BESIDE_BAR	70

struct curve_row {
	__u64 pid;
	const char *class;
	__u64 window_us, bytes, low, high, p5, p50, p95;
	const char *bar;
};

#define ROW struct curve_row

TABLE(curve_table, "curve",
	COL(pid, COUNT, 7, "PID", OR_NULL, "the process; null for all together"),
	COL(class, TEXT, 5, "CLASS", 0, "class of memory; ``all`` is the whole process"),
	COL(window_us, US, 6, "WINDOW", 0, "the window"),
	COL(bytes, SIZE, 9, "WSS", 0, "mean of the working set"),
	COL(low, SIZE, 9, "LOW", 0, "lower end of its 95 % interval"),
	COL(high, SIZE, 9, "HIGH", 0, "upper end"),
	COL(p5, SIZE, 9, "5 %", OR_NULL,
	    "5 % of the moments had at most this working set; null for a sum of processes"),
	COL(p50, SIZE, 9, "50 %", 1U << TABLE_HUMAN | OR_NULL,
	    "50 % of the moments had at most this working set"),
	COL(p95, SIZE, 9, "95 %", OR_NULL, "95 % of the moments had at most this working set"),
	COL(bar, TEXT, BAR_MIN, "BAR", NOT_CSV | NOT_JSON | 1U << TABLE_RAW, ""));

struct limit_row {
	__u64 pid;
	const char *class;
	__u64 limit;
	double of_rss;
	__u64 keeps_us;
	const char *bound;
	double refaults_per_s, refaults_low_per_s, refaults_high_per_s, missed, slowdown;
	double slowdown_low, slowdown_high;
	const char *mark;
};

#undef ROW
#define ROW struct limit_row

TABLE(sizing_table, "sizing",
	COL(pid, COUNT, 7, "PID", OR_NULL, "the process; null for all together"),
	COL(class, TEXT, 5, "CLASS", 0, "class of memory; ``all`` is the whole process"),
	COL(limit, SIZE, 10, "LIMIT", 0, "the limit"),
	COL(of_rss, RATIO, 7, "OF RSS", OR_NULL,
	    "the limit as a share of the mean resident size; may exceed 1"),
	COL(keeps_us, US, 7, "KEEPS", OR_NULL,
	    "unused memory stays resident for this time; null outside of the recorded windows"),
	COL(bound, TEXT, 1, "", 0,
	    "``<``: only the upper end is known; ``>``: only the lower end is known; otherwise "
	    "empty"),
	COL(refaults_per_s, RATE, 10, "REFAULTS/S", OR_NULL,
	    "pages a second that are used again after they were reclaimed"),
	COL(refaults_low_per_s, RATE, 7, "LOW", OR_NULL, "lower end of the 95 % interval"),
	COL(refaults_high_per_s, RATE, 7, "HIGH", OR_NULL, "upper end"),
	COL(missed, RATIO, 7, "MISSED", OR_NULL,
	    "upper bound of the share of accesses that refault; accesses to a page within the "
	    "shortest window count as one"),
	COL(slowdown, RATIO, 8, "SLOWDOWN", NOT_HUMAN | OR_NULL,
	    "time that threads wait for refaults, as a share of the time; may exceed 1; null "
	    "if not known"),
	COL(slowdown_low, RATIO, 6, "LOW", NOT_HUMAN | OR_NULL,
	    "lower end of the 95 % interval; may exceed 1"),
	COL(slowdown_high, RATIO, 6, "HIGH", NOT_HUMAN | OR_NULL, "upper end; may exceed 1"),
	COL(mark, TEXT, 4, "", 0,
	    "``enough``: the smallest limit whose upper end is at most ``--max-refaults`` or "
	    "``--max-slowdown``; otherwise empty"));

/**
 * struct view - state of the view
 * @curves:	the curves
 * @slowdown:	for sizing: cost of refaults
 * @group:	the group, for the name of its cgroup
 */
struct view {
	struct wsmon_curves *curves;
	struct slowdown slowdown;
	struct group group;
};

/* Only sizing has options */
static bool is_sizing(const struct report *rp)
{
	return rp->options;
}

static void curves_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->curves = need(wsmon_curves_new(&rp->reader.header));
	if (is_sizing(rp))
		v->slowdown.files = need(wsmon_curves_new(&rp->reader.header));
	rp->data = v;
}

static void curves_record(struct report *rp, const struct wsmon_record *rec)
{
	struct view *v = rp->data;

	collect_curves(v->curves, &rp->filter, rec);
	group_take(&v->group, &rp->filter, rec);
	if (is_sizing(rp))
		collect_slowdown(&v->slowdown, &rp->filter, rec);
}

static void explain_no_curve(const struct wsmon_curves *cs)
{
	if (!cs->seen)
		msg("--time, --pid, --class or --window leave no working set");
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

static __u64 pid_or_none(const struct wsmon_curve *of)
{
	return of->pid ?: UNKNOWN_U64;
}

static __u64 range_or_none(const struct wsmon_curve *of, __u64 size)
{
	return of->pid || of->group ? size : UNKNOWN_U64;
}

static void print_curve(const struct report *rp, const struct wsmon_curves *cs)
{
	struct table *t = report_table(rp, &curve_table);
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

			table_row(t, &(struct curve_row) {
				.pid = pid_or_none(of),
				.class = class_name(of->class),
				.window_us = whole(p->window * 1e6),
				.bytes = whole(p->size), .low = whole(p->low),
				.high = whole(p->high),
				.p5 = range_or_none(of, p->p5),
				.p50 = range_or_none(of, p->p50),
				.p95 = range_or_none(of, p->p95),
				.bar = bar_text(bar, whole(p->low), whole(p->high), whole(max),
						width),
			});
		}
	}
	table_end(t);
}

static double known(const struct wsmon_limit *at, double value)
{
	return at->bound == WSMON_EXACT ? value : NAN;
}

static void print_limit(const struct report *rp, struct table *t,
			const struct wsmon_curve *of, const struct sizing_row *row)
{
	/* an empty text would print as "-", a missing value */
	const char *none = rp->out.format == TABLE_HUMAN ? " " : "";
	const char * const bounds[] = { none, "<", ">" };
	const struct wsmon_limit *at = &row->at;
	bool exact = at->bound == WSMON_EXACT;

	table_row(t, &(struct limit_row) {
		.pid = pid_or_none(of),
		.class = class_name(of->class),
		.limit = whole(at->bytes),
		.of_rss = of->rss > 0 ? at->bytes / of->rss : NAN,
		.keeps_us = exact ? whole(at->window * 1e6) : UNKNOWN_U64,
		.bound = bounds[at->bound],
		.refaults_per_s = known(at, at->refaults),
		.refaults_low_per_s = at->low, .refaults_high_per_s = at->high,
		.missed = known(at, at->missed),
		.slowdown = row->slowdown.mean, .slowdown_low = row->slowdown.low,
		.slowdown_high = row->slowdown.high,
		.mark = row->knee ? "enough" : none,
	});
}

/*
 * Prints the bounds that the recommended limit keeps or, without @kept, that even the largest may
 * exceed
 */
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

/* Prints the result in a sentence or two */
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

/* Prints the time of a refault, and how it was measured */
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
			fprintf(f, "%sThe time of a refault %s was not measured: %s. See --refault-cost.\n",
				i ? "" : "\n", kinds[i], text_clean(text, sizeof(text), c->text));
	}
	if (s->unmapped > 0)
		fprintf(f, "%.0f %% of the file pages under a limit are read around accessed pages.\n", 100 * s->unmapped);
}

static void print_sizing(const struct report *rp, const struct wsmon_curves *cs)
{
	const struct slowdown *s = &((struct view *)rp->data)->slowdown;
	struct sizing_row row[SIZING_ROWS];
	char window[UNITS_LEN];
	struct table *t;
	size_t i, j, n;

	t = report_table(rp, &sizing_table);
	for (i = offsetof(ROW, slowdown); i <= offsetof(ROW, slowdown_high); i += sizeof(double))
		table_show(t, i, NOT_HUMAN, slowdown_known(s));
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
	fprintf(rp->out.f, "\nMemory not used for %s, the longest window, counts as cold: above the largest limit shown, expect fewer refaults.\n",
		units_time(window, whole(longest_window(cs) * 1e9)));
}

static void prepare_sizing(struct sizing_choice *choice, struct slowdown *s)
{
	if (choice->refault_cost_ns)
		slowdown_set(s, choice->refault_cost_ns / 1e9);
	sizing_defaults(choice);
	if (choice->max_slowdown > 0 && !slowdown_known(s))
		msg("the time of a refault was not measured with this recording: give it with --refault-cost");
	if (wsmon_curves_fit(s->files) < 0)
		need(NULL);
}

static int draw(const struct report *rp, const struct wsmon_curves *cs)
{
	const struct view *v = rp->data;

	if (is_sizing(rp))
		return sizing_plot(&rp->out.picture, cs, rp->options, &v->slowdown);
	return curve_plot(&rp->out.picture, cs);
}

static void curves_end(struct report *rp)
{
	struct view *v = rp->data;
	struct wsmon_curves *cs = v->curves;
	int nr;

	if (is_sizing(rp))
		prepare_sizing(rp->options, &v->slowdown);
	nr = wsmon_curves_fit(cs);
	if (nr < 0)
		need(NULL);
	if (!nr) {
		explain_no_curve(cs);
		rp->failed = true;
	} else {
		if (rp->out.picture.file)
			rp->failed = draw(rp, cs) != 0;
		else if (is_sizing(rp))
			print_sizing(rp, cs);
		else
			print_curve(rp, cs);
		explain_left_out(cs);
	}
	wsmon_curves_free(cs);
	wsmon_curves_free(v->slowdown.files);
	free(v);
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
	{ "max-slowdown", 0, "PERCENT", "Mark the smallest with at most this slowdown", OPT_CALL,
	  .call = set_slowdown },
	{ "refault-cost", 0, "TIME", "Time of a refault (the measured time)", OPT_TIME,
	  OPT_AT(struct sizing_choice, refault_cost_ns) },
	{ "limit", 0, "SIZE,...", "Only these limits (steps from the working set of the shortest window to that of the longest)",
	  OPT_CALL, .call = add_limits },
	{ 0 }
};

static struct sizing_choice sizing_choice;

REPORT_VIEW(curve_view) = {
	.order = 2,
	.name = "curve",
	.help = "The mean working set for each length of window",
	.takes = TAKES_CLASS | TAKES_WINDOW | TAKES_FORMAT | TAKES_PICTURE,
	.no_snapshots = true,
	.begin = curves_begin,
	.record = curves_record,
	.end = curves_end,
};

REPORT_VIEW(sizing_view) = {
	.order = 3,
	.name = "sizing",
	.help = "Memory limits and the refaults they cause: which limit is enough",
	.takes = TAKES_CLASS | TAKES_WINDOW | TAKES_FORMAT | TAKES_PICTURE,
	.own = sizing_options,
	.options = &sizing_choice,
	.no_snapshots = true,
	.begin = curves_begin,
	.record = curves_record,
	.end = curves_end,
};
