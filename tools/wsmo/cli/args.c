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

static char verb_name[32];
static const char *option_name;

void usage_option(const char *name)
{
	option_name = name;
}

void usage_error(struct argp_state *state, const char *fmt, ...)
{
	va_list ap;

	fputs("wsmo: ", stderr);
	if (option_name)
		fprintf(stderr, "--%s: ", option_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	state->name = verb_name;
	argp_state_help(state, stderr, ARGP_HELP_STD_ERR);
	exit(WSMO_USAGE);
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
	switch (key) {
	case 'h':
		state->name = verb_name;
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case OPT_USAGE:
		state->name = verb_name;
		argp_state_help(state, stdout,
				ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
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
	if (argp_parse(&plain, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL,
		       input))
		exit(WSMO_USAGE);
}
