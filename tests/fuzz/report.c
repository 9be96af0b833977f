// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - runs "wsmo report" on an input and compares what its views say
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "wsmo.h"

#define MAX_ARGS	8

static const char * const views[] = {
	"raw", "regions", "heatmap", "wss", "summary"
};
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

static int run(const char *file, const char *view, const char *format,
	       const char * const filter[2], char **messages)
{
	/* argp wants them writable */
	char words[MAX_ARGS][64], *argv[MAX_ARGS + 1];
	const char *args[MAX_ARGS] = {
		"report", view, "-i", file, format, filter[0], filter[1],
	};
	int argc = 0, status, i;

	for (i = 0; i < MAX_ARGS; i++) {
		if (!args[i])
			continue;
		argv[argc] = words[argc];
		snprintf(argv[argc++], sizeof(words[0]), "%s", args[i]);
	}
	argv[argc] = NULL;
	sink_begin(format && !strcmp(format, "--json"));
	status = cmd_report(argc, argv);
	*messages = sink_end();
	return status;
}

int report_run(const char *file, __u32 select)
{
	const char * const *filter = filters[select / 4 % ARRAY_SIZE(filters)];
	char *first = NULL, *messages;
	int status = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(views); i++) {
		int res = run(file, views[i],
			      formats[(select + i) % ARRAY_SIZE(formats)],
			      filter, &messages);
		int lines = check_messages(messages);

		if (res != WSMO_OK && res != WSMO_FAILURE)
			fuzz_fail("%s: exit status %d", views[i], res);
		if (res == WSMO_FAILURE && !lines)
			fuzz_fail("%s: fails without a word", views[i]);
		/* one that may find nothing to draw where others print nothing */
		if (!strcmp(views[i], "heatmap")) {
			free(messages);
			continue;
		}
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
	return status;
}
