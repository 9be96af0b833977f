// SPDX-License-Identifier: GPL-2.0
/*
 * sizing.c - working-set curves and limits, for the page of "report html"
 */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "libwsmon/names.h"
#include "libwsmon/sizing.h"
#include "sizing.h"

/* Points of a curve */
#define STEPS	60

/* JSON has no infinity */
static void put_number(double x)
{
	if (isfinite(x))
		printf("%.3f", x);
	else
		fputs("null", stdout);
}

static void put_limit(const struct wsmon_limit *at, bool knee)
{
	const double number[] = {
		at->bytes, at->window, at->refaults, at->low, at->high, at->missed,
	};
	size_t i;

	printf("{\"bound\":%u,\"knee\":%s,\"of\":[", at->bound,
	       knee ? "true" : "false");
	for (i = 0; i < ARRAY_SIZE(number); i++) {
		fputs(i ? "," : "", stdout);
		put_number(number[i]);
	}
	fputs("]}", stdout);
}

static void put_curve(const struct wsmon_curve *c, const struct slowdown *s)
{
	static const struct sizing_choice choice = { .max_refaults = SIZING_REFAULTS };
	struct sizing_row row[SIZING_ROWS];
	size_t n = sizing_rows(&choice, s, c, row), i;

	printf("{\"pid\":%u,\"class\":\"%s\",\"rss\":%.0f,\"growth\":%.0f,\"points\":[",
	       c->pid, class_name(c->class), c->rss, c->growth);
	for (i = 0; i < c->nr; i++)
		printf("%s[%.6f,%.0f,%.0f,%.0f]", i ? "," : "", c->point[i].window,
		       c->point[i].size, c->point[i].low, c->point[i].high);
	fputs("],\"line\":[", stdout);
	for (i = 0; i <= STEPS; i++) {
		double size = c->size[1] + (c->size[c->nr] - c->size[1]) * i / STEPS;
		struct wsmon_limit at = slowdown_limit(s, c, size);

		fputs(i ? "," : "", stdout);
		put_limit(&at, false);
	}
	fputs("],\"rows\":[", stdout);
	for (i = 0; i < n; i++) {
		fputs(i ? "," : "", stdout);
		put_limit(&row[i].at, row[i].knee);
	}
	fputs("]}", stdout);
}

void html_put_sizing(struct wsmon_curves *cs, const struct slowdown *s)
{
	const struct wsmon_curve *c;
	size_t i;

	if (wsmon_curves_fit(cs) < 0 || wsmon_curves_fit(s->files) < 0)
		need(NULL);
	fputs("\"sizing\":[", stdout);
	for (i = 0; (c = wsmon_curves_get(cs, i)); i++) {
		fputs(i ? ",\n" : "", stdout);
		put_curve(c, s);
	}
	puts("],");
}
