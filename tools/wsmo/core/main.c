// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - the verbs of wsmo
 *
 * "wsmo record" runs beside its targets and must be small. So reports and pictures are other
 * programs: their libraries would make "wsmo" a third larger. Each program contains this file, and
 * the verbs that the linker's option -u names. For another verb it executes the program that
 * contains the verb.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "options.h"
#include "text.h"

static const struct verb {
	const char *name;
	const char *program;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "record", NULL, cmd_record, "record the working set of processes to a file" },
	{ "mark", NULL, cmd_mark, "mark this moment in running recordings" },
	{ "report", "report", cmd_report, "print or draw a view of a recording" },
	{ "diff", "report", cmd_diff, "print the differences between two recordings" },
	{ "sizing", "report", cmd_sizing, "try a memory limit on a cgroup: refaults predicted and measured" },
	{ "top", "top", cmd_top, "show the working sets of processes as they are now" },
	{ "mem", "report", cmd_mem, "show which memory is mapped, resident and in use" },
	{ "act", "act", cmd_act, "page out cold memory, put hot memory into huge pages" },
	{ "export", "report", cmd_export, "write a recording in another program's format" },
	{ "check", "report", cmd_check, "check whether recording works here, and what is missing" },
};

static void usage(FILE *f)
{
	size_t i;

	fputs("Usage: wsmo VERB [OPTION...]\n"
	      "How much memory processes really use, where, and when.\n\n", f);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(f, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n'wsmo VERB --help' lists its options. To begin with:\n\n"
	      "  sudo wsmo record -d 10 -p PID\n"
	      "  sudo wsmo record -- COMMAND\n"
	      "  wsmo report summary\n", f);
}

static const struct verb *find_verb(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* Finds the verb in the name of a program, such as "wsmo-report", executed by wsmo or by hand */
static const struct verb *verb_of_program(const char *name)
{
	const char *dash = strrchr(name, '-');
	const struct verb *verb = find_verb(dash ? dash + 1 : name);

	return verb && verb->run ? verb : NULL;
}

static int no_verb(const char *name)
{
	char names[256] = "";
	const char *near;
	size_t len = 0, i;
	int size;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		len += snprintf(names + len, sizeof(names) - len, "%s%s", i ? "|" : "", verbs[i].name);
	near = text_nearest(name, names, &size);
	if (near)
		msg("there is no verb '%s'; did you mean %.*s? 'wsmo --help' lists them", name, size, near);
	else
		msg("there is no verb '%s'; 'wsmo --help' lists them", name);
	return WSMO_USAGE;
}

int main(int argc, char **argv)
{
	static char help[] = "--help";
	const struct verb *verb = argc ? verb_of_program(argv[0]) : NULL;
	size_t i;

	begin_program();
	if (verb) {
		setlocale(LC_CTYPE, "");
		return end_program(verb->run(argc, argv));
	}
	if (argc < 2) {
		usage(stderr);
		return WSMO_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return end_program(WSMO_OK);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(argp_program_version);
		return end_program(WSMO_OK);
	}
	if (!strcmp(argv[1], LIST_OPTIONS)) {
		for (i = 0; i < ARRAY_SIZE(verbs); i++)
			puts(verbs[i].name);
		return end_program(WSMO_OK);
	}
	if (!strcmp(argv[1], "help")) {
		if (argc == 2) {
			usage(stdout);
			return end_program(WSMO_OK);
		}
		/* "help VERB" is "VERB --help" */
		argv[1] = argv[2];
		argv[2] = help;
	}
	verb = find_verb(argv[1]);
	if (!verb)
		return no_verb(argv[1]);
	if (!verb->run)
		return program_execute(verb->program, argv + 1);
	return end_program(verb->run(argc - 1, argv + 1));
}
