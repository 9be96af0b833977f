// SPDX-License-Identifier: GPL-2.0
/* options.c - command lines, described by tables */
#include <limits.h>
#include <stdarg.h>
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

/* Help, and messages about wrong command lines, which explain more than argp's */

static char verb_name[32];
static const char *option_name;	/* the option that usage_error() names; NULL: none */

static void help(struct argp_state *state, FILE *f, unsigned int flags)
{
	/* ARGP_NO_ERRS hides getopt's messages, but would also hide argp's help */
	state->flags &= ~ARGP_NO_ERRS;
	state->name = verb_name;
	argp_state_help(state, f, flags);
}

void usage_error(struct argp_state *state, const char *fmt, ...)
{
	va_list ap;

	fputs("wsmo: ", stderr);
	if (option_name)
		fprintf(stderr, "--%s: ", option_name);
	va_start(ap, fmt);
	msg_put(stderr, fmt, ap);
	va_end(ap);
	help(state, stderr, ARGP_HELP_STD_ERR);
	exit(WSMO_USAGE);
}

/* Does @f return true for any option of @argp or its children? */
static bool any_option(const struct argp *argp, bool (*f)(const struct argp_option *o, void *data),
		       void *data)
{
	const struct argp_option *o = argp->options;
	const struct argp_child *c = argp->children;

	for (; o && (o->name || o->key || o->doc); o++)
		if (!(o->flags & OPTION_DOC) && f(o, data))
			return true;
	for (; c && c->argp; c++)
		if (any_option(c->argp, f, data))
			return true;
	return false;
}

/**
 * struct wrong - a word of the command line that getopt rejected
 * @name:	name of the option, @len bytes; @len 0: a single letter
 * @found:	the last option whose name is, or begins with, this name
 * @nr:		number of options whose names begin with this name
 * @names:	gets the names of all options
 */
struct wrong {
	const char *name;
	size_t len;
	const struct argp_option *found;
	unsigned int nr;
	FILE *names;
};

static bool look_up(const struct argp_option *o, void *data)
{
	struct wrong *w = data;

	if (!w->len) {
		if (o->key == *w->name)
			w->found = o;
		return w->found;
	}
	if (!o->name)
		return false;
	fprintf(w->names, "--%s|", o->name);
	if (strncmp(o->name, w->name, w->len))
		return false;
	w->found = o;
	w->nr = o->name[w->len] ? w->nr + 1 : 1;
	return !o->name[w->len];
}

static void explain_long(struct argp_state *state, const struct argp *argp, const char *word)
{
	struct wrong w = { .name = word + 2, .len = strcspn(word + 2, "=") };
	char *names = NULL;
	const char *near;
	size_t size;
	int len;

	w.names = open_memstream(&names, &size);
	if (!w.names || !w.len)
		return;
	any_option(argp, look_up, &w);
	fclose(w.names);
	near = text_nearest(word, names, &len);
	if (w.nr > 1)
		usage_error(state, "%.*s may be several options", (int)w.len + 2, word);
	if (!w.nr && near)
		usage_error(state, "there is no option %.*s; did you mean %.*s?", (int)w.len + 2, word, len,
			    near);
	if (!w.nr)
		usage_error(state, "there is no option %.*s", (int)w.len + 2, word);
	if (!w.found->arg)
		usage_error(state, "--%s takes no argument", w.found->name);
	usage_error(state, "--%s needs an argument: %s", w.found->name, w.found->arg);
}

/* Exits with a message if getopt rejects a word because of its options */
static void explain(struct argp_state *state, const struct argp *argp, const char *word)
{
	struct wrong w = { .name = word };

	if (!strncmp(word, "--", 2))
		explain_long(state, argp, word);
	if (word[0] != '-' || word[1] == '-')
		return;
	while (*++w.name) {
		w.found = NULL;
		if (!any_option(argp, look_up, &w))
			usage_error(state, "there is no option -%c", *w.name);
		if (w.found->arg && !w.name[1])
			usage_error(state, "-%c needs an argument: %s", *w.name, w.found->arg);
		if (w.found->arg)
			return;
	}
}

/*
 * Replaces argp's own --help, which would print argv[0] as the name of the verb. argv[0] is "wsmo"
 * because getopt begins its messages with it.
 */
enum { OPT_USAGE = 512 };

static const struct argp_option common_options[] = {
	{ "help", 'h', NULL, 0, "Print this help", -1 },
	{ "usage", OPT_USAGE, NULL, OPTION_HIDDEN, NULL, -1 },
	{ "version", 'V', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	const struct argp *argp = state->root_argp;

	switch (key) {
	case 'h':
		help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case OPT_USAGE:
		help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case ARGP_KEY_ERROR:
		/* the wrong word is at getopt's position, or before it */
		if (state->next > 1)
			explain(state, argp, state->argv[state->next - 1]);
		if (state->next < state->argc)
			explain(state, argp, state->argv[state->next]);
		usage_error(state, "the options are not understood");
	case 'V':
		puts(argp_program_version);
		exit(WSMO_OK);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp common_argp = {
	.options = common_options, .parser = parse_common,
};

/* --help and --version */
static const struct argp_child verb_common[] = {
	{ .argp = &common_argp },
	{ 0 }
};

/* Prints a line for each name of an option, with the name of its argument */
static void list_options(const struct argp *argp)
{
	const struct argp_option *o = argp->options;
	const struct argp_child *c = argp->children;

	if (argp->args_doc && !strchr(argp->args_doc, '\n'))
		printf("args %s\n", argp->args_doc);
	for (; o && (o->name || o->key || o->doc); o++) {
		const char *arg = o->arg ? o->arg : "";
		const char *maybe = o->flags & OPTION_ARG_OPTIONAL ? "?" : "";

		if ((o->flags & OPTION_DOC) || (o->name && !strcmp(o->name, "usage")))
			continue;
		if (o->name)
			printf("--%s %s%s\n", o->name, arg, maybe);
		if (o->key > ' ' && o->key < 127)
			printf("-%c %s%s\n", o->key, arg, maybe);
	}
	for (; c && c->argp; c++)
		list_options(c->argp);
}

/* Leaves out argp's paragraph about the arguments of short options */
static char *help_filter(int key, const char *text, void *input)
{
	return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)(uintptr_t)text;
}

/* Options described by tables */

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

/* @or: for the message, another allowed argument */
static __u32 permille_of(struct argp_state *state, const char *arg, const char *or)
{
	__u32 permille = option_percent(state, arg) * 1000 + 0.5;

	if (!permille)
		usage_error(state, "'%s' is too small: at least 0.1%%%s", arg, or);
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

/* Parses pids separated by commas or, as pidof prints them, by blanks */
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
		/* a pid that is named twice counts once */
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

static __u64 size_within(struct argp_state *state, const char *arg, __u64 min, __u64 max)
{
	__u64 bytes = option_size(state, arg);
	char text[UNITS_LEN], end[UNITS_LEN];

	if (bytes < min && !max)
		usage_error(state, "'%s' is too small; at least %s", arg, units_size(text, min));
	if (bytes < min || (max && bytes > max))
		usage_error(state, "'%s' is not from %s to %s", arg, units_size(text, min),
			    units_size(end, max));
	return bytes;
}

/* Return: the number in an argument */
static __u64 number_of(struct argp_state *state, const char *arg, const struct option_desc *o)
{
	if (o->optional && !arg)
		return o->otherwise;
	switch (o->kind) {
	case OPT_TIME:
		return option_time_within(state, arg, o->min, o->max);
	case OPT_COUNT:
		return option_count(state, arg, o->min, o->max);
	case OPT_SIZE:
		return size_within(state, arg, o->min, o->max);
	case OPT_PERMILLE:
		return permille_of(state, arg, "");
	case OPT_PRECISION:
		return strcmp(arg, "max") ? permille_of(state, arg, ", or max") : 0;
	case OPT_CHOICE:
		return option_choice(state, arg, o->arg);
	default:
		return o->kind == OPT_FLAG;
	}
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
	__u64 value;

	switch (o->kind) {
	case OPT_TEXT:
		*(const char **)at = arg;
		break;
	case OPT_PERCENT:
		share = option_percent(state, arg);
		memcpy(at, &share, sizeof(share));
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
		o->call(state, arg, o, at);
		break;
	case OPT_DOC:
		break;
	default:
		value = number_of(state, arg, o);
		if (o->set)
			o->set(to, o, value);
		else
			/* little-endian machines only, as the recording is */
			memcpy(at, &value, o->size);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct command_line *cl = parser.cl;
	size_t i;

	option_name = NULL;
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
			option_name = parser.desc[i]->name;
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
		.args_doc = cl->args, .doc = cl->doc, .help_filter = help_filter,
	};
	static char prefix[] = "wsmo";
	const struct option_group *g;
	const struct option_desc *o;

	parser.cl = cl;
	parser.nr = 0;
	for (g = cl->groups; g->options; g++)
		for (o = g->options; o->name; o++)
			add_option(g, o);
	parser.option[parser.nr] = (struct argp_option){ 0 };
	if (argc == 2 && !strcmp(argv[1], LIST_OPTIONS)) {
		list_options(&argp);
		exit(WSMO_OK);
	}
	if (argc == 2 && !strcmp(argv[1], LIST_COLUMNS) && table_list) {
		table_list();
		exit(WSMO_OK);
	}
	snprintf(verb_name, sizeof(verb_name), "%s", cl->name);
	argv[0] = prefix;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP | ARGP_NO_ERRS, NULL, NULL))
		exit(WSMO_USAGE);
	option_name = NULL;
}
