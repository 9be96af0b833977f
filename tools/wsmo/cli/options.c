// SPDX-License-Identifier: GPL-2.0
/*
 * options.c - command lines, described by tables
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "libwsmon/filter.h"
#include "libwsmon/libwsmon.h"
#include "libwsmon/names.h"
#include "options.h"
#include "text.h"
#include "units.h"

#define OPTIONS_MAX	48

static struct {
	const struct command_line *cl;
	struct argp_option option[OPTIONS_MAX + 1];
	const struct option_desc *desc[OPTIONS_MAX];
	void *to[OPTIONS_MAX];
	size_t nr;
} parser;

const struct option_desc format_options[] = {
	{ "--json, --csv, --raw", .help = "JSON lines; CSV; a table of exact numbers", .kind = OPT_DOC },
	{ "json", .kind = OPT_FORMAT, .min = TABLE_JSON },
	{ "csv", .kind = OPT_FORMAT, .min = TABLE_CSV },
	{ "raw", .kind = OPT_FORMAT, .min = TABLE_RAW },
	{ 0 }
};

__u64 option_time(struct argp_state *state, const char *arg)
{
	__u64 ns;

	if (units_parse_time(arg, &ns) || ns < NSEC_PER_USEC)
		usage_error(state, "'%s' is not a time; write 500us, 100ms, 2s or 5m", arg);
	return ns;
}

double option_percent(struct argp_state *state, const char *arg)
{
	double share;

	if (units_parse_percent(arg, &share))
		usage_error(state, "'%s' is not a percentage from 0%% to 100%%", arg);
	return share;
}

__u32 option_precision(struct argp_state *state, const char *arg)
{
	__u32 permille;

	if (!strcmp(arg, "max"))
		return 0;
	permille = option_percent(state, arg) * 1000 + 0.5;
	if (!permille)
		usage_error(state, "'%s' is too little: at least 0.1%%, or max", arg);
	return permille;
}

__u64 option_count(struct argp_state *state, const char *arg, __u64 min, __u64 max)
{
	__u64 n;

	if (units_parse_count(arg, max, &n) || n < min)
		usage_error(state, "'%s' is not a number from %llu to %llu", arg, min, max);
	return n;
}

__u64 option_size(struct argp_state *state, const char *arg)
{
	__u64 bytes;

	if (units_parse_size(arg, &bytes))
		usage_error(state, "'%s' is not a size; write 64M or 1G", arg);
	return bytes;
}

unsigned int option_choice(struct argp_state *state, const char *arg, const char *words)
{
	const char *word = words, *near;
	size_t len = strlen(arg);
	unsigned int n;
	int size;

	for (n = 0; ; n++) {
		size_t end = strcspn(word, "|");

		if (end == len && !memcmp(word, arg, len))
			return n;
		if (!word[end]) {
			near = text_nearest(arg, words, &size);
			usage_error(state, "'%s' is not one of %s%s%.*s%s", arg, words,
				    near ? "; did you mean " : "", near ? size : 0, near ? near : "",
				    near ? "?" : "");
		}
		word += end + 1;
	}
}

char *option_pair(struct argp_state *state, char *arg, const char *what)
{
	char *comma = strchr(arg, ',');

	if (!comma)
		usage_error(state, "'%s' is not two %s A,B; either may be empty", arg, what);
	*comma = '\0';
	return comma + 1;
}

/* With commas or, as pidof prints them, blanks between */
static void add_pids(struct argp_state *state, char *list, struct pids *pids)
{
	static const char blanks[] = " \t\n";
	char *pid, *rest = list + strspn(list, blanks);
	size_t len;

	for (pid = rest; pid; pid = rest) {
		__u64 v;

		len = strcspn(pid, ", \t\n");
		rest = pid + len + strspn(pid + len, blanks);
		if (*rest == ',')
			rest += 1 + strspn(rest + 1, blanks);
		else if (!*rest)
			rest = NULL;
		pid[len] = '\0';
		if (units_parse_count(pid, INT_MAX, &v) || !v)
			usage_error(state, "'%s' is not a process id", pid);
		/* once is enough */
		if (pids->nr && pids_has(pids, v))
			continue;
		pids->pid = need(reallocarray(pids->pid, pids->nr + 1, sizeof(*pids->pid)));
		pids->pid[pids->nr++] = v;
	}
}

static void reject_class(struct argp_state *state, const char *name)
{
	char names[256] = "";
	const char *near;
	size_t len = 0;
	int size;
	__u32 i;

	for (i = 0; i < WSMON_NR_CLASSES; i++)
		len += snprintf(names + len, sizeof(names) - len, "%s%s", i ? "|" : "", class_name(i));
	near = text_nearest(name, names, &size);
	if (near)
		usage_error(state, "'%s' is not a class of memory; did you mean %.*s?", name, size, near);
	usage_error(state, "'%s' is not a class of memory: %s", name, names);
}

static void add_classes(struct argp_state *state, char *list, __u32 *classes)
{
	char *name;

	while ((name = strsep(&list, ","))) {
		int class = wsmon_class_by_name(name);

		if (class < 0)
			reject_class(state, name);
		*classes |= 1U << class;
	}
}

static void set_number(const struct option_desc *o, void *at, __u64 v)
{
	/* little-endian machines only, as the recording is */
	memcpy(at, &v, o->size);
}

__u64 option_time_within(struct argp_state *state, const char *arg, __u64 min, __u64 max)
{
	__u64 ns = option_time(state, arg);
	char text[UNITS_LEN], end[UNITS_LEN];

	if (ns < min)
		usage_error(state, "'%s' is too short; at least %s", arg, units_time(text, min));
	if (max && ns > max)
		usage_error(state, "'%s' is not from %s to %s", arg, units_time(text, min),
			    units_time(end, max));
	return ns;
}

static void set_format(struct argp_state *state, enum table_format *format,
		       enum table_format wanted)
{
	if (*format != TABLE_HUMAN && *format != wanted)
		usage_error(state, "only one of --json, --csv and --raw");
	*format = wanted;
}

static void apply(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	void *at = to ? (char *)to + o->offset : NULL;
	double share;

	switch (o->kind) {
	case OPT_FLAG:
	case OPT_CLEAR:
		*(bool *)at = o->kind == OPT_FLAG;
		break;
	case OPT_TEXT:
		*(const char **)at = arg;
		break;
	case OPT_TIME:
		set_number(o, at, option_time_within(state, arg, o->min, o->max));
		break;
	case OPT_COUNT:
		set_number(o, at, option_count(state, arg, o->min, o->max));
		break;
	case OPT_SIZE:
		set_number(o, at, option_size(state, arg));
		break;
	case OPT_PERCENT:
		share = option_percent(state, arg);
		memcpy(at, &share, sizeof(share));
		break;
	case OPT_CHOICE:
		set_number(o, at, option_choice(state, arg, o->arg));
		break;
	case OPT_PIDS:
		add_pids(state, arg, at);
		break;
	case OPT_CLASSES:
		add_classes(state, arg, at);
		break;
	case OPT_FORMAT:
		set_format(state, at, o->min);
		break;
	case OPT_CALL:
		o->call(state, arg, o, to);
		break;
	case OPT_DOC:
		break;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct command_line *cl = parser.cl;
	size_t i;

	usage_option(NULL);
	switch (key) {
	case ARGP_KEY_ARG:
		if (cl->command)
			return ARGP_ERR_UNKNOWN;
		if (!cl->arg)
			usage_error(state, "unexpected argument '%s'", arg);
		cl->arg(state, arg, cl->to);
		return 0;
	case ARGP_KEY_ARGS:
		cl->command(state->argv + state->next, cl->to);
		return 0;
	case ARGP_KEY_END:
		if (cl->check)
			cl->check(state, cl->to);
		return 0;
	}
	for (i = 0; i < parser.nr; i++) {
		if (parser.option[i].key == key) {
			usage_option(parser.desc[i]->name);
			apply(state, arg, parser.desc[i], parser.to[i]);
			return 0;
		}
	}
	return ARGP_ERR_UNKNOWN;
}

static void add_option(const struct option_group *g, const struct option_desc *o)
{
	size_t i = parser.nr++;

	if (i == OPTIONS_MAX)
		abort();
	parser.desc[i] = o;
	parser.to[i] = g->to;
	parser.option[i] = (struct argp_option) {
		.name = o->name, .key = o->key, .arg = o->arg, .doc = o->help,
		.flags = (g->hidden || !o->help ? OPTION_HIDDEN : 0) |
			 (o->optional ? OPTION_ARG_OPTIONAL : 0) |
			 (o->kind == OPT_DOC ? OPTION_DOC | OPTION_NO_USAGE : 0),
	};
	if (!o->key && o->kind != OPT_DOC)
		parser.option[i].key = UCHAR_MAX + 1 + i;
}

void options_parse(const struct command_line *cl, int argc, char **argv)
{
	const struct argp argp = {
		.options = parser.option, .parser = parse, .children = verb_common,
		.args_doc = cl->args, .doc = cl->doc,
	};
	const struct option_group *g;
	const struct option_desc *o;

	parser.cl = cl;
	parser.nr = 0;
	for (g = cl->groups; g->options; g++)
		for (o = g->options; o->name; o++)
			add_option(g, o);
	parser.option[parser.nr] = (struct argp_option){ 0 };
	verb_parse(&argp, cl->name, argc, argv, NULL);
	usage_option(NULL);
}
