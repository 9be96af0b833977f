// SPDX-License-Identifier: GPL-2.0
/* mark.c - "wsmo mark": mark a moment in running recordings */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/cli.h"
#include "core/options.h"
#include "session.h"
#include "wsmon.h"

/* The text of the mark: all arguments */
struct text {
	char bytes[WSMON_MARK_TEXT];
	size_t len;
};

static void take_word(struct argp_state *state, const char *word, void *to)
{
	struct text *t = to;

	t->len += snprintf(t->bytes + t->len, sizeof(t->bytes) - t->len, "%s%s",
			   t->len ? " " : "", word);
	if (t->len >= sizeof(t->bytes))
		usage_error(state, "the text is too long: at most %d bytes", WSMON_MARK_TEXT - 1);
}

static void check(struct argp_state *state, void *to)
{
	const struct text *t = to;

	if (!t->len)
		usage_error(state, "the mark needs a text: 'wsmo mark TEXT'");
	if (strchr(t->bytes, '\n'))
		usage_error(state, "the text must be one line");
}

int cmd_mark(int argc, char **argv)
{
	struct text text = { .len = 0 };
	int err;

	options_parse(&(struct command_line) {
		.name = "wsmo mark",
		.args = "TEXT...",
		.doc = "Mark this moment in all running recordings, with the targets' call stacks."
		       "\v'wsmo report peaks' shows marks.",
		.groups = { OPT_GROUP(debugfs_options, NULL) },
		.to = &text, .arg = take_word, .check = check,
	}, argc, argv);
	err = session_mark(NULL, text.bytes);
	if (err == -ESRCH)
		msg("no recording is running; start one with 'wsmo record'");
	else if (err)
		device_explain("mark", err);
	return err ? WSMO_FAILURE : WSMO_OK;
}
