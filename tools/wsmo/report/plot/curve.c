// SPDX-License-Identifier: GPL-2.0
/*
 * curve.c - working-set curves, and what follows for limits, as pictures
 *
 * Estimates are lines, their 95 % intervals bands around them.
 */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "curve.h"
#include "libwsmon/names.h"
#include "plot.h"

#define CURVES_MAX	PLOT_COLORS

/* Points of a line */
#define STEPS		200

/* Rates are drawn down to this */
#define RATE_MIN	1.0

/**
 * struct unit - what sizes are in
 * @bytes:	of one
 * @name:	its name
 */
struct unit {
	double bytes;
	const char *name;
};

static struct unit size_unit(const struct wsmon_curves *cs)
{
	static const char * const names[] = { "KiB", "MiB", "GiB", "TiB" };
	double max = 0;
	size_t i, unit = 0;

	for (i = 0; i < cs->nr; i++)
		max = fmax(max, cs->of[i].point[cs->of[i].nr - 1].high);
	while (unit + 1 < ARRAY_SIZE(names) && max >= 1ULL << (10 * (unit + 2)))
		unit++;
	return (struct unit){ 1ULL << (10 * (unit + 1)), names[unit] };
}

static int open_picture(struct plot *p, const struct picture *picture,
			const struct wsmon_curves *cs)
{
	if (cs->nr > CURVES_MAX) {
		msg("%s: no room for %zu curves; choose with --pid and --class",
		    picture->file, cs->nr);
		return -1;
	}
	if (plot_open(p, picture))
		return -1;
	plot_printf(p, "set grid lc rgb '#d0d0d0' lt 1\nset key above Left reverse\n");
	plot_printf(p, "set border 3\nset tics nomirror\n");
	return 0;
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

/* Each curve: its band, its line, and points on it */
static void plot_lines(struct plot *p, const struct wsmon_curves *cs,
		       const char *points)
{
	const char *comma = "plot";
	char text[PLOT_TEXT];
	size_t i;

	for (i = 0; i < cs->nr; i++, comma = ",") {
		plot_printf(p, "%s $line%zu using 1:3:4 with filledcurves fc rgb '#b0%s' notitle, $line%zu using 1:2 with lines lw 1.5 lc rgb '#%s' title %s",
			    comma, i, plot_colors[i], i, plot_colors[i],
			    title(text, &cs->of[i]));
		plot_printf(p, ", $points%zu using 1:2 with points pt 7 lc rgb '#%s' %s",
			    i, plot_colors[i], points);
	}
	plot_printf(p, "\n");
}

/* Marks at the windows: they are seldom powers of ten */
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

int curve_plot(const struct picture *picture, const struct wsmon_curves *cs)
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
	plot_lines(&p, cs, "ps 0.6 notitle");
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

int sizing_plot(const struct picture *picture, const struct wsmon_curves *cs,
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
	plot_lines(&p, cs, "ps 1.2 notitle");
	return plot_close(&p);
}
