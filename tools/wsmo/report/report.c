// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - "wsmo report": finds the view and runs it
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "report.h"

static const struct report_view * const views[] = {
	&report_summary, &report_wss, &report_curve, &report_sizing, &report_peaks,
	&report_hot, &report_who, &report_regions, &report_idle, &report_heatmap, &report_html,
	&report_act, &report_alloc, &report_raw,
};

const struct report_view *report_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(views); i++)
		if (!strcmp(views[i]->name, name))
			return views[i];
	return NULL;
}

/* Return: malloc()ed text */
static char *all_views(void)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = need(open_memstream(&text, &size));

	fputs("Print a view of a recording (summary). Its options: wsmo report VIEW --help", f);
	for (i = 0; i < ARRAY_SIZE(views); i++)
		/* one line for two, so that the text fits on a terminal of 24 */
		if (views[i] == &report_hot)
			fprintf(f, "\n  hot, who %s; by whom", views[i]->help);
		else if (views[i] != &report_who)
			fprintf(f, "\n  %-8s %s", views[i]->name, views[i]->help);
	fclose(f);
	return text;
}

/* For completion.sh */
static void list_views(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(views); i++)
		printf("%s%s", i ? "|" : "args ", views[i]->name);
	putchar('\n');
}

static int no_view(const char *name)
{
	char names[256] = "";
	const char *near;
	size_t len = 0, i;
	int size;

	for (i = 0; i < ARRAY_SIZE(views); i++)
		len += snprintf(names + len, sizeof(names) - len, "%s%s", i ? "|" : "", views[i]->name);
	near = text_nearest(name, names, &size);
	if (near)
		msg("there is no view '%s'; did you mean %.*s? 'wsmo report --help' lists them", name, size,
		    near);
	else
		msg("there is no view '%s'; 'wsmo report --help' lists them", name);
	return WSMO_USAGE;
}

int cmd_report(int argc, char **argv)
{
	bool named = argc > 1 && argv[1][0] != '-';
	const struct report_view *view = named ? report_find(argv[1]) :
						 &report_summary;
	struct report rp;
	char name[32];

	if (!view)
		return no_view(argv[1]);
	report_init(&rp, view);
	if (named) {
		snprintf(name, sizeof(name), "wsmo report %s", view->name);
		report_parse(&rp, name, view->help, argc - 1, argv + 1);
	} else {
		char *doc = all_views();

		if (argc == 2 && !strcmp(argv[1], LIST_OPTIONS))
			list_views();
		report_parse(&rp, "wsmo report", doc, argc, argv);
		free(doc);
	}
	return report_run(&rp, view->takes & TAKES_PAGE ? rp.out.picture.file : NULL);
}
