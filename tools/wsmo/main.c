// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - wsmo: the verbs
 *
 * record runs beside what it records and is to be small, so what reads and what
 * draws are programs of their own, which are executed: their libraries would take
 * it a quarter of its memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "program.h"
#include "wsmo.h"

/* @run: NULL if it is part of wsmo-@program */
static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *program;
	const char *help;
} verbs[] = {
	{ "record", cmd_record, NULL, "record the working set of processes to a file" },
	{ "mark", cmd_mark, NULL, "note a moment in the recording that runs" },
	{ "act", NULL, "report", "act on memory by how it is used: reclaim, huge pages" },
	{ "report", NULL, "report", "print what a record file holds" },
	{ "top", NULL, "top", "show the working sets of processes as they are now" },
	{ "export", NULL, "report", "write a record file in a format of other programs" },
	{ "check", NULL, "report", "tell whether recording would work here, and what is missing" },
};

static void usage(FILE *f)
{
	size_t i;

	fputs("Usage: wsmo VERB [OPTION...]\n"
	      "How much memory processes really use, where, and when.\n\n", f);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(f, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n'wsmo VERB --help' tells more. To begin with:\n\n"
	      "  sudo wsmo record -d 10 -p PID\n"
	      "  sudo wsmo record -- COMMAND\n"
	      "  wsmo report summary\n", f);
}

int main(int argc, char **argv)
{
	size_t i;

	begin_program();
	if (argc < 2) {
		usage(stderr);
		return WSMO_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?")) {
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
	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, argv[1]))
			continue;
		if (!verbs[i].run)
			return program_execute(verbs[i].program, argv + 1);
		return end_program(verbs[i].run(argc - 1, argv + 1));
	}
	msg("there is no verb '%s'; 'wsmo --help' lists them", argv[1]);
	return WSMO_USAGE;
}
