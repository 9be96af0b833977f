// SPDX-License-Identifier: GPL-2.0
/*
 * sizing.c - working-set curves and limits, for the page of "report html"
 */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "libwsmon/names.h"
#include "libwsmon/numbers/sizing.h"
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

static void put_row(const struct sizing_row *row)
{
	const double number[] = {
		row->limit, row->window, row->refaults, row->low, row->high,
		row->missed,
	};
	size_t i;

	printf("{\"bound\":%u,\"knee\":%s,\"of\":[", row->bound,
	       row->knee ? "true" : "false");
	for (i = 0; i < ARRAY_SIZE(number); i++) {
		fputs(i ? "," : "", stdout);
		put_number(number[i]);
	}
	fputs("]}", stdout);
}

static void put_curve(const struct curve_of *of, __u32 page_size)
{
	const struct curve *c = &of->curve;
	static const struct sizing_choice choice = { .max_refaults = SIZING_REFAULTS };
	struct sizing_row row[SIZING_ROWS];
	size_t n = sizing_rows(&choice, of, page_size, row), i;

	printf("{\"pid\":%u,\"class\":\"%s\",\"rss\":%.0f,\"growth\":%.0f,\"points\":[",
	       of->pid, class_name(of->class), of->rss, of->growth);
	for (i = 0; i < c->nr; i++)
		printf("%s[%.6f,%.0f,%.0f,%.0f]", i ? "," : "", c->point[i].window,
		       c->point[i].size, c->point[i].low, c->point[i].high);
	fputs("],\"line\":[", stdout);
	for (i = 0; i <= STEPS; i++) {
		double size = c->size[1] + (c->size[c->nr] - c->size[1]) * i / STEPS;
		struct sizing_row at = sizing_row(of, size, page_size);

		fputs(i ? "," : "", stdout);
		put_row(&at);
	}
	fputs("],\"rows\":[", stdout);
	for (i = 0; i < n; i++) {
		fputs(i ? "," : "", stdout);
		put_row(&row[i]);
	}
	fputs("]}", stdout);
}

void html_put_sizing(struct curves *cs, __u32 page_size)
{
	size_t i;

	curves_make(cs);
	if (cs->failed)
		need(NULL);
	fputs("\"sizing\":[", stdout);
	for (i = 0; i < cs->nr; i++) {
		fputs(i ? ",\n" : "", stdout);
		put_curve(&cs->of[i], page_size);
	}
	puts("],");
}
