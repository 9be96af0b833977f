// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - runs "wsmo report" and "wsmo export" on an input and compares what its views say
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "wsmo.h"

#define MAX_ARGS	8

static const char * const views[] = { "raw", "regions", "wss", "act", "summary" };
static const char * const formats[] = { NULL, "--json", "--csv", "--raw" };
static const char * const filters[][2] = {
	{ NULL },
	{ "--pid", "4242,77" },
	{ "--class", "all,heap,anon" },
	{ "--time", "1,2.5" },
	{ "--tau", "1s,10s" },
	{ "--tau", "1s" },
};

/* A message is one line of wsmo's own. */
static int check_messages(const char *text)
{
	int lines = 0;

	for (; *text; text = strchr(text, '\n') + 1) {
		if (strncmp(text, "wsmo: ", 6) || !strchr(text, '\n'))
			fuzz_fail("not a message: %s", text);
		lines++;
	}
	return lines;
}

static int run(const char * const args[MAX_ARGS], char **messages)
{
	/* argp wants them writable */
	char words[MAX_ARGS][64], *argv[MAX_ARGS + 1];
	int argc = 0, status, i;
	bool json = false;

	for (i = 0; i < MAX_ARGS; i++) {
		if (!args[i])
			continue;
		json |= !strcmp(args[i], "--json") || !strcmp(args[i], "--chrome");
		argv[argc] = words[argc];
		snprintf(argv[argc++], sizeof(words[0]), "%s", args[i]);
	}
	argv[argc] = NULL;
	sink_begin(json);
	status = strcmp(args[0], "export") ? cmd_report(argc, argv) :
					     cmd_export(argc, argv);
	*messages = sink_end();
	return status;
}

static void check(const char *what, int status, const char *messages)
{
	int lines = check_messages(messages);

	if (status != WSMO_OK && status != WSMO_FAILURE)
		fuzz_fail("%s: exit status %d", what, status);
	if (status == WSMO_FAILURE && !lines)
		fuzz_fail("%s: fails without a word", what);
}

/* What may find nothing to draw, or too much, where reports only print less */
static void run_others(const char *file, const char * const filter[2],
		       __u32 select)
{
	static const char * const exports[] = {
		"--csv", "--json", "--chrome", "--damo", "--openmetrics",
	};
	const char *format = formats[select % ARRAY_SIZE(formats)];
	const char *export = exports[select % ARRAY_SIZE(exports)];
	char *messages;
	int status;

	status = run((const char * const[MAX_ARGS]) {
		"report", "heatmap", "--color=never", "-i", file, format,
		filter[0], filter[1],
	}, &messages);
	check("heatmap", status, messages);
	free(messages);
	status = run((const char * const[MAX_ARGS]) {
		"export", export, "-i", file, filter[0], filter[1],
	}, &messages);
	check(export, status, messages);
	free(messages);
}

int fuzz_report(const char *file, __u32 select)
{
	const char * const *filter = filters[select / 4 % ARRAY_SIZE(filters)];
	char *first = NULL, *messages;
	int status = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(views); i++) {
		const char *format = formats[(select + i) % ARRAY_SIZE(formats)];
		int res = run((const char * const[MAX_ARGS]) {
			"report", views[i], "-i", file, format, filter[0],
			filter[1],
		}, &messages);

		check(views[i], res, messages);
		/* the last, the summary, may add that it was too much for it */
		if (first && (res != status ||
			      (i + 1 < ARRAY_SIZE(views) ?
			       strcmp(messages, first) :
			       !strstr(messages, first))))
			fuzz_fail("%s: exit status %d, '%s'; %s: %d, '%s'",
				  views[0], status, first, views[i], res,
				  messages);
		status = res;
		if (first)
			free(messages);
		else
			first = messages;
	}
	free(first);
	run_others(file, filter, select);
	return status;
}
