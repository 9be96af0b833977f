// SPDX-License-Identifier: GPL-2.0
/*
 * mark.c - "wsmo mark": mark a moment in the running recording
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "session/debugfs.h"
#include "wsmon.h"

/* The mark's name, made of all arguments */
struct text {
	char bytes[WSMON_MARK_TEXT];
	size_t len;
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct text *t = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		t->len += snprintf(t->bytes + t->len, sizeof(t->bytes) - t->len, "%s%s",
				   t->len ? " " : "", arg);
		if (t->len >= sizeof(t->bytes))
			usage_error(state, "the text is too long: at most %d bytes",
				    WSMON_MARK_TEXT - 1);
		return 0;
	case ARGP_KEY_END:
		if (!t->len)
			usage_error(state, "the mark needs a text: 'wsmo mark TEXT'");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &debugfs_argp },
	{ .argp = &verb_common_argp },
	{ 0 }
};

static const struct argp argp = {
	.parser = parse_opt,
	.children = children,
	.args_doc = "TEXT...",
	.doc = "Mark this moment in the running recording, with the targets' call stacks."
	       "\v'wsmo report peaks' shows marks.",
};

int cmd_mark(int argc, char **argv)
{
	struct text text = { .len = 0 };
	int err;

	verb_parse(&argp, "wsmo mark", argc, argv, &text);
	err = debugfs_write("mark", text.bytes);
	if (err == -ESRCH)
		msg("no recording is running; start one with 'wsmo record'");
	else if (err)
		debugfs_explain("mark", err);
	return err ? WSMO_FAILURE : WSMO_OK;
}
