// SPDX-License-Identifier: GPL-2.0
/* report.c - "wsmo report": finds the view, parses its command line and runs it */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli.h"
#include "core/outfile.h"
#include "core/text.h"
#include "core/units.h"
#include "report.h"

/* Defined by the linker: the section that REPORT_VIEW() fills */
extern const struct report_view * const __start_report_views[];
extern const struct report_view * const __stop_report_views[];

/* Return: the view after @last, or the first view if @last is NULL; NULL if there is none */
static const struct report_view *next_view(const struct report_view *last)
{
	const struct report_view * const *v;
	const struct report_view *next = NULL;

	for (v = __start_report_views; v < __stop_report_views; v++)
		if ((!last || (*v)->order > last->order) && (!next || (*v)->order < next->order))
			next = *v;
	return next;
}

const struct report_view *report_find(const char *name)
{
	const struct report_view *v = NULL;

	while ((v = next_view(v)))
		if (!strcmp(v->name, name))
			break;
	return v;
}

/* Bounds of --size: pixels of a picture, columns and lines of text */
#define MIN_WIDTH	600
#define MIN_HEIGHT	300
#define MIN_COLUMNS	60
#define MIN_LINES	12
#define MAX_SIZE	10000

static void set_bound(struct argp_state *state, const char *text, __s64 *ns)
{
	__u64 v;

	if (!*text)
		return;
	if (units_parse_time(text, &v) || v > LLONG_MAX)
		usage_error(state, "'%s' is not a time; try --time 1.5,90 or --time 500ms,2m", text);
	*ns = v;
}

static void set_time(struct argp_state *state, char *arg,
		     const struct option_desc *o __attribute__((unused)), void *to)
{
	struct filter *filter = &((struct report *)to)->filter;
	const char *end = option_pair(state, arg, "times");

	set_bound(state, arg, &filter->from_ns);
	set_bound(state, end, &filter->to_ns);
	if (filter->from_ns > filter->to_ns)
		usage_error(state, "'%s' is later than '%s'", arg, end);
}

static void add_windows(struct argp_state *state, char *list,
			const struct option_desc *o __attribute__((unused)), void *to)
{
	struct filter *filter = &((struct report *)to)->filter;
	char *window;

	while ((window = strsep(&list, ","))) {
		if (filter->nr_windows == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		filter->windows[filter->nr_windows++] = option_time(state, window) / NSEC_PER_USEC;
	}
}

static void set_size(struct argp_state *state, char *arg,
		     const struct option_desc *o __attribute__((unused)), void *to)
{
	struct picture *picture = &((struct report *)to)->out.picture;
	char *by = strchr(arg, 'x');
	__u64 width, height;

	if (by)
		*by++ = '\0';
	if (!by || units_parse_count(arg, MAX_SIZE, &width) ||
	    units_parse_count(by, MAX_SIZE, &height) || !width || !height)
		usage_error(state, "takes width and height, as 1200x700, at most %dx%d",
			    MAX_SIZE, MAX_SIZE);
	picture->width = width;
	picture->height = height;
}

static void set_output(struct argp_state *state, char *arg,
		       const struct option_desc *o __attribute__((unused)), void *to)
{
	struct report *rp = to;
	const char *dot = strrchr(arg, '.');
	bool page = rp->view->takes & TAKES_PAGE;

	if (page ? (!dot || strcmp(dot, ".html")) && !outfile_is_stdout(arg) : !plot_can(arg))
		usage_error(state, "the name '%s' does not end in %s", arg,
			    page ? ".html" : ".png, .svg or .pdf");
	rp->out.picture.file = arg;
}

const struct option_desc recording_options[] = {
	{ "input", 'i', "FILE", "The recording (wsmon.data); - is standard input", OPT_TEXT,
	  OPT_AT(struct report, file) },
	{ "pid", 'p', "PID,...", "Only these processes", OPT_PIDS, OPT_AT(struct report, filter.pids) },
	{ 0 }
};

const struct option_desc time_options[] = {
	{ "time", 0, "A,B", "Only from time A to time B; either may be empty", OPT_CALL, .call = set_time },
	{ 0 }
};

const struct option_desc class_options[] = {
	{ "class", 0, "CLASS,...", "Only these: all text data heap stack anon file shmem hugetlb mixed",
	  OPT_CLASSES, OPT_AT(struct report, filter.classes) },
	{ 0 }
};

const struct option_desc window_options[] = {
	{ "window", 0, "TIME,...", "Only these windows of the working set", OPT_CALL, .call = add_windows },
	{ 0 }
};

#define PICTURE	{ "output", 'o', "FILE", "Draw FILE.png, .svg or .pdf", OPT_CALL, .call = set_output }
#define PIXELS(help)	{ "size", 0, "WxH", help, OPT_CALL, .call = set_size }

static const struct option_desc picture_options[] = {
	PICTURE, PIXELS("Pixels of the picture (1200x700)"), { 0 }
};

static const struct option_desc map_options[] = {
	PICTURE, PIXELS("Pixels of the picture (1200x700 each process), or columns and lines of text (the terminal's)"),
	{ 0 }
};

static const struct option_desc page_options[] = {
	{ "output", 'o', "FILE", "Write FILE.html (standard output)", OPT_CALL, .call = set_output },
	{ 0 }
};

static void check_size(struct argp_state *state, const struct report *rp)
{
	const struct picture *p = &rp->out.picture;
	bool text = !p->file && rp->view->takes & TAKES_TEXT_SIZE;
	unsigned int width = text ? MIN_COLUMNS : MIN_WIDTH;
	unsigned int height = text ? MIN_LINES : MIN_HEIGHT;

	if (!p->width)
		return;
	if (!p->file && !text)
		usage_error(state, "--size is for pictures: name one with -o");
	if (p->width < width || p->height < height)
		usage_error(state, "--size is at least %ux%u%s", width, height,
			    text ? "" : " for a picture");
}

static void check(struct argp_state *state, void *to)
{
	const struct report *rp = to;
	const struct picture *p = &rp->out.picture;

	if (p->file && rp->out.format != TABLE_HUMAN)
		usage_error(state, "%s is a picture: leave out --json, --csv and --raw", p->file);
	check_size(state, rp);
	if (rp->view->check)
		rp->view->check(state, rp);
}

static void reject(struct argp_state *state, const char *arg, void *to)
{
	const struct report *rp = to;

	if (rp->view == next_view(NULL) && report_find(arg))
		usage_error(state, "a view comes before its options: wsmo report %s ...", arg);
	usage_error(state, "'%s' is one argument too many; a view comes before its options, a recording after -i",
		    arg);
}

/* @name: "wsmo report wss"; @doc: the text above the options */
static void parse(struct report *rp, const char *name, const char *doc, int argc, char **argv)
{
	const unsigned int takes = rp->view->takes;
	struct command_line cl = {
		.name = name, .doc = doc,
		.groups = { OPT_GROUP(recording_options, rp), OPT_GROUP(time_options, rp) },
		.to = rp, .arg = reject, .check = check,
	};
	struct option_group *g = &cl.groups[2];

	if (takes & TAKES_CLASS)
		*g++ = (struct option_group) OPT_GROUP(class_options, rp);
	if (takes & TAKES_WINDOW)
		*g++ = (struct option_group) OPT_GROUP(window_options, rp);
	if (takes & TAKES_FORMAT)
		*g++ = (struct option_group) OPT_GROUP(format_options, &rp->out.format);
	if (takes & (TAKES_PAGE | TAKES_PICTURE))
		*g++ = (struct option_group) OPT_GROUP(
			takes & TAKES_PAGE ? page_options :
			takes & TAKES_TEXT_SIZE ? map_options : picture_options, rp);
	if (rp->view->own)
		*g++ = (struct option_group) OPT_GROUP(rp->view->own, rp->options);
	options_parse(&cl, argc, argv);
}

/* The help text, or only the names, with | between them. Return: malloc()ed */
static char *list_views(bool help)
{
	const struct report_view *v = NULL, *first = next_view(NULL);
	char *text = NULL;
	size_t size;
	FILE *f = need(open_memstream(&text, &size));

	if (help)
		fprintf(f, "Print a view of a recording (%s). Its options: wsmo report VIEW --help",
			first->name);
	while ((v = next_view(v)))
		if (help)
			fprintf(f, "\n  %-8s %s", v->name, v->help);
		else
			fprintf(f, "%s%s", v == first ? "" : "|", v->name);
	fclose(f);
	return text;
}

static int no_view(const char *name)
{
	char *names = list_views(false);
	const char *near;
	int size;

	near = text_nearest(name, names, &size);
	if (near)
		msg("there is no view '%s'; did you mean %.*s? 'wsmo report --help' lists them", name, size,
		    near);
	else
		msg("there is no view '%s'; 'wsmo report --help' lists them", name);
	free(names);
	return WSMO_USAGE;
}

int cmd_report(int argc, char **argv)
{
	bool named = argc > 1 && argv[1][0] != '-';
	const struct report_view *view = named ? report_find(argv[1]) : next_view(NULL);
	struct report rp;
	char name[32], *text;

	if (!view)
		return no_view(argv[1]);
	report_init(&rp, view);
	if (named) {
		snprintf(name, sizeof(name), "wsmo report %s", view->name);
		parse(&rp, name, view->help, argc - 1, argv + 1);
	} else {
		/* for completion.sh */
		if (argc == 2 && !strcmp(argv[1], LIST_OPTIONS)) {
			text = list_views(false);
			printf("args %s\n", text);
			free(text);
		}
		text = list_views(true);
		parse(&rp, "wsmo report", text, argc, argv);
		free(text);
	}
	return report_run(&rp, view->takes & TAKES_PAGE ? rp.out.picture.file : NULL);
}
