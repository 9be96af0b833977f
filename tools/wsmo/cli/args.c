// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - command lines: what all verbs share
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cli.h"
#include "text.h"

static char verb_name[32];
static const char *option_name;

void usage_option(const char *name)
{
	option_name = name;
}

static void help(struct argp_state *state, FILE *f, unsigned int flags)
{
	/* getopt's messages are not wanted, argp's help is */
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

/* Does @f return true for an option of a table, or of those below it? */
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
 * @name:	its option's, @len bytes; a letter if @len is 0
 * @found:	options of which it is the whole name, or the beginning
 * @nr:		how many begin so
 * @names:	of all options
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

/* Says what is wrong with a word of the command line, if something is */
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
 * argp's own --help would call the verb by argv[0], which is "wsmo" because
 * getopt begins its messages with it.
 */
enum { OPT_USAGE = 512 };

static const struct argp_option common_options[] = {
	{ "help", 'h', NULL, 0, "Print this help", -1 },
	{ "usage", OPT_USAGE, NULL, OPTION_HIDDEN, NULL, -1 },
	{ "version", 'V', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

static error_t parse_common(int key, char *arg __attribute__((unused)),
			    struct argp_state *state)
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
		/* getopt may stand at it, or behind it */
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

const struct argp_child verb_common[] = {
	{ .argp = &common_argp },
	{ 0 }
};

/* One line for each name of an option, with the name of its argument */
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

/* argp's paragraph about the arguments of short options helps nobody */
static char *help_filter(int key, const char *text,
			 void *input __attribute__((unused)))
{
	return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)(uintptr_t)text;
}

void verb_parse(const struct argp *argp, const char *name, int argc,
		char **argv, void *input)
{
	static char prefix[] = "wsmo";
	struct argp plain = *argp;

	if (argc == 2 && !strcmp(argv[1], LIST_OPTIONS)) {
		list_options(argp);
		exit(WSMO_OK);
	}
	snprintf(verb_name, sizeof(verb_name), "%s", name);
	argv[0] = prefix;
	if (!plain.help_filter)
		plain.help_filter = help_filter;
	if (argp_parse(&plain, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP | ARGP_NO_ERRS, NULL,
		       input))
		exit(WSMO_USAGE);
}
