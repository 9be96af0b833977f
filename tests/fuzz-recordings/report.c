// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - runs "wsmo report" and "wsmo export" on an input and compares what its views say
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli.h"
#include "fuzz.h"

#define MAX_ARGS	8

/* The latter do not look into snapshots, and do not mind what is in them. */
#define SNAPSHOT_VIEWS	4
static const char * const views[] = { "raw", "regions", "hot", "summary", "wss", "act" };
static const char * const formats[] = { NULL, "--json", "--csv", "--raw" };
static const char * const filters[][2] = {
	{ NULL },
	{ "--pid", "4242,77" },
	{ "--class", "all,heap,anon" },
	{ "--time", "1,2.5" },
	{ "--window", "1s,10s" },
	{ "--window", "1s" },
};

/* Does a view have the option? */
static bool takes(const char *view, const char *option)
{
	bool regions = !strcmp(view, "regions") || !strcmp(view, "hot") ||
		       !strcmp(view, "heatmap");
	bool records = !strcmp(view, "raw") || !strcmp(view, "act");

	if (option && !strcmp(option, "--class"))
		return !records;
	if (option && !strcmp(option, "--window"))
		return !records && !regions;
	return true;
}

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
	bool json = false, binary = false;

	for (i = 0; i < MAX_ARGS; i++) {
		if (!args[i])
			continue;
		json |= !strcmp(args[i], "--json") || !strcmp(args[i], "chrome");
		binary |= !strcmp(args[i], "damo");
		argv[argc] = words[argc];
		snprintf(argv[argc++], sizeof(words[0]), "%s", args[i]);
	}
	argv[argc] = NULL;
	sink_begin(json, binary);
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
	static const char * const exports[] = { "chrome", "damo", "openmetrics" };
	const char *format = formats[select % ARRAY_SIZE(formats)];
	const char *sized = select & 16 ? "curve" : "sizing";
	bool map = takes("heatmap", filter[0]);
	const char *export = exports[select % ARRAY_SIZE(exports)];
	char *messages;
	int status;

	status = run((const char * const[MAX_ARGS]) {
		"report", "heatmap", "--color=never", "-i", file, format,
		map ? filter[0] : NULL, map ? filter[1] : NULL,
	}, &messages);
	check("heatmap", status, messages);
	free(messages);
	status = run((const char * const[MAX_ARGS]) {
		"report", sized, "-i", file, format, filter[0], filter[1],
	}, &messages);
	check(sized, status, messages);
	free(messages);
	status = run((const char * const[MAX_ARGS]) {
		"export", export, "-i", file, filter[0], filter[1],
	}, &messages);
	check(export, status, messages);
	free(messages);
}

/* Is each line of some messages among others, but for what only says that there is nothing? */
static bool has_lines(const char *messages, const char *some)
{
	char line[1024];

	for (; *some; some = strchr(some, '\n') + 1) {
		snprintf(line, sizeof(line), "%.*s\n", (int)strcspn(some, "\n"), some);
		if (!strstr(line, ": nothing ") && !strstr(messages, line))
			return false;
	}
	return true;
}

/* Does a view fail only because there is nothing for it, which a line more says? */
static bool has_nothing(int status, const char *messages, int other, const char *others)
{
	return status == WSMO_FAILURE && other == WSMO_OK && has_lines(messages, others) &&
	       strlen(messages) > strlen(others);
}

/* Do two views of one file tell the same? */
static void compare(const char *view, int status, const char *messages,
		    const char *than, int other, const char *others)
{
	/* act may add that there is nothing, others that it is too much */
	bool adds = !strcmp(view, "act") || !strcmp(view, "summary") ||
		    !strcmp(view, "hot");

	if (has_nothing(status, messages, other, others) || has_nothing(other, others, status, messages))
		return;
	if (status != other || !has_lines(messages, others) || (!adds && !has_lines(others, messages)))
		fuzz_fail("%s: exit status %d, '%s'; %s: %d, '%s'", than, other,
			  others, view, status, messages);
}

int fuzz_report(const char *file, __u32 select)
{
	const char * const *filter = filters[select / 4 % ARRAY_SIZE(filters)];
	char *messages[ARRAY_SIZE(views)];
	int status[ARRAY_SIZE(views)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(views); i++) {
		/* with raw, all agree if there is nothing wrong with snapshots */
		size_t with = i >= SNAPSHOT_VIEWS && status[0] != WSMO_OK ?
			      SNAPSHOT_VIEWS : 0;
		bool filtered = takes(views[i], filter[0]);

		status[i] = run((const char * const[MAX_ARGS]) {
			"report", views[i], "-i", file,
			formats[(select + i) % ARRAY_SIZE(formats)],
			filtered ? filter[0] : NULL, filtered ? filter[1] : NULL,
		}, &messages[i]);
		check(views[i], status[i], messages[i]);
		if (i > with && filtered == takes(views[with], filter[0]))
			compare(views[i], status[i], messages[i], views[with],
				status[with], messages[with]);
	}
	for (i = 0; i < ARRAY_SIZE(views); i++)
		free(messages[i]);
	run_others(file, filter, select);
	return status[0];
}
