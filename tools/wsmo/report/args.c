// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - the options that several views share
 */
#include <limits.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/units.h"
#include "report.h"

/* Sizes: pixels of a picture, columns and lines of text */
#define MIN_WIDTH	600
#define MIN_HEIGHT	300
#define MIN_COLUMNS	60
#define MIN_LINES	12
#define MAX_SIZE	10000

enum { OPT_TIME = 256, OPT_CLASS, OPT_WINDOW, OPT_SIZE };

static const struct argp_option recording_options[] = {
	{ "input", 'i', "FILE", 0, "The recording (wsmon.data); - is standard input", 0 },
	{ "pid", 'p', "PID,...", 0, "Only these processes", 0 },
	{ "time", OPT_TIME, "A,B", 0, "Only from time A to time B; either may be empty", 0 },
	{ 0 }
};

static const struct argp_option class_options[] = {
	{ "class", OPT_CLASS, "CLASS,...", 0, "Only these: all text data heap stack anon file shmem hugetlb mixed", 0 },
	{ 0 }
};

static const struct argp_option window_options[] = {
	{ "window", OPT_WINDOW, "TIME,...", 0, "Only these windows of the working set", 0 },
	{ 0 }
};

static const struct argp_option picture_options[] = {
	{ "output", 'o', "FILE", 0, "Draw FILE.png, .svg or .pdf", 0 },
	{ "size", OPT_SIZE, "WxH", 0, "Pixels of the picture (1200x700)", 0 },
	{ 0 }
};

static const struct argp_option map_options[] = {
	{ "output", 'o', "FILE", 0, "Draw FILE.png, .svg or .pdf", 0 },
	{ "size", OPT_SIZE, "WxH", 0, "Pixels of the picture (1200x700 each process), or columns and lines of text (the terminal's)", 0 },
	{ 0 }
};

static const struct argp_option page_options[] = {
	{ "output", 'o', "FILE", 0, "Write FILE.html (standard output)", 0 },
	{ 0 }
};

static void parse_bound(struct argp_state *state, const char *text, __s64 *ns)
{
	__u64 v;

	if (!*text)
		return;
	if (units_parse_time(text, &v) || v > LLONG_MAX)
		usage_error(state, "'%s' is not a time; try --time 1.5,90 or --time 500ms,2m",
			    text);
	*ns = v;
}

static void parse_time(struct argp_state *state, char *arg, struct filter *filter)
{
	char *comma = strchr(arg, ',');

	if (!comma)
		usage_error(state, "--time takes two times, A,B, one of which may be empty");
	*comma = '\0';
	parse_bound(state, arg, &filter->from_ns);
	parse_bound(state, comma + 1, &filter->to_ns);
	if (filter->from_ns > filter->to_ns)
		usage_error(state, "--time takes the earlier time first");
}

static void parse_windows(struct argp_state *state, char *arg,
			  struct filter *filter)
{
	char *window;
	__u64 ns;

	while ((window = strsep(&arg, ","))) {
		if (units_parse_time(window, &ns) || ns < NSEC_PER_USEC)
			usage_error(state, "'%s' is not a time; try --window 100ms,10s",
				    window);
		if (filter->nr_windows == WSMON_WINDOWS_MAX)
			usage_error(state, "at most %d windows", WSMON_WINDOWS_MAX);
		filter->windows[filter->nr_windows++] = ns / NSEC_PER_USEC;
	}
}

static void parse_size(struct argp_state *state, char *arg,
		       struct picture *picture)
{
	char *by = strchr(arg, 'x');
	__u64 width, height;

	if (by)
		*by++ = '\0';
	if (!by || units_parse_count(arg, MAX_SIZE, &width) ||
	    units_parse_count(by, MAX_SIZE, &height) || !width || !height)
		usage_error(state, "--size takes width and height, as 1200x700, at most %dx%d",
			    MAX_SIZE, MAX_SIZE);
	picture->width = width;
	picture->height = height;
}

static void parse_output(struct argp_state *state, const char *arg,
			 struct report *rp)
{
	const char *dot = strrchr(arg, '.');
	bool page = rp->view->takes & TAKES_PAGE;

	if (page ? !dot || strcmp(dot, ".html") : !plot_can(arg))
		usage_error(state, "the name '%s' does not end in %s", arg,
			    page ? ".html" : ".png, .svg or .pdf");
	rp->out.picture.file = arg;
}

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

static void check(struct argp_state *state, const struct report *rp)
{
	const struct picture *p = &rp->out.picture;

	if (p->file && rp->out.format != TABLE_HUMAN)
		usage_error(state, "%s is a picture: leave out --json, --csv and --raw",
			    p->file);
	check_size(state, rp);
}

/* One parser for all: argp asks it about those options only that a view has. */
static error_t parse_shared(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;

	switch (key) {
	case 'i':
		rp->file = arg;
		return 0;
	case 'p':
		parse_pids(state, arg, &rp->filter.pids);
		return 0;
	case OPT_TIME:
		parse_time(state, arg, &rp->filter);
		return 0;
	case OPT_CLASS:
		parse_classes(state, arg, &rp->filter.classes);
		return 0;
	case OPT_WINDOW:
		parse_windows(state, arg, &rp->filter);
		return 0;
	case 'o':
		parse_output(state, arg, rp);
		return 0;
	case OPT_SIZE:
		parse_size(state, arg, &rp->out.picture);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp recording_argp = { .options = recording_options, .parser = parse_shared };
static const struct argp class_argp = { .options = class_options, .parser = parse_shared };
static const struct argp window_argp = { .options = window_options, .parser = parse_shared };
static const struct argp picture_argp = { .options = picture_options, .parser = parse_shared };
static const struct argp map_argp = { .options = map_options, .parser = parse_shared };
static const struct argp page_argp = { .options = page_options, .parser = parse_shared };

#define CHILDREN	8

static error_t parse_view(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;
	size_t i;

	switch (key) {
	case ARGP_KEY_INIT:
		for (i = 0; state->root_argp->children[i].argp; i++)
			state->child_inputs[i] =
				state->root_argp->children[i].argp == &format_argp ?
				(void *)&rp->out.format : rp;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "'%s' is one argument too many; a view comes before its options, a recording after -i",
			    arg);
	case ARGP_KEY_END:
		check(state, rp);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void report_parse(struct report *rp, const char *name, const char *doc,
		  int argc, char **argv)
{
	const unsigned int takes = rp->view->takes;
	struct argp_child children[CHILDREN] = { { 0 } };
	const struct argp argp = {
		.parser = parse_view, .doc = doc, .children = children,
	};
	int n = 0;

	children[n++].argp = &recording_argp;
	if (takes & TAKES_CLASS)
		children[n++].argp = &class_argp;
	if (takes & TAKES_WINDOW)
		children[n++].argp = &window_argp;
	if (takes & TAKES_FORMAT)
		children[n++].argp = &format_argp;
	if (takes & TAKES_PAGE)
		children[n++].argp = &page_argp;
	else if (takes & TAKES_PICTURE)
		children[n++].argp = takes & TAKES_TEXT_SIZE ? &map_argp :
							       &picture_argp;
	if (rp->view->argp)
		children[n++].argp = rp->view->argp;
	children[n].argp = &verb_common_argp;
	verb_parse(&argp, name, argc, argv, rp);
}

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	size_t i;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	for (i = 0; i < 3; i++)
		state->child_inputs[i] = state->input;
	return 0;
}

static const struct argp_child filter_children[] = {
	{ .argp = &recording_argp }, { .argp = &class_argp },
	{ .argp = &window_argp }, { 0 }
};

const struct argp report_filter_argp = {
	.parser = parse_filter, .children = filter_children,
};
