// SPDX-License-Identifier: GPL-2.0
/*
 * mark.c - "wsmo mark": mark a moment in the running recording
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/units.h"
#include "mark_socket.h"
#include "session/debugfs.h"

#define PATIENCE_MS	3000

#define OPT_NO_STACKS	256

static const struct argp_option options[] = {
	{ "no-stacks", OPT_NO_STACKS, NULL, 0, "Take no call stacks", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct mark_request *rq = state->input;
	size_t len = strlen(rq->text);
	const char *blank = len ? " " : "";

	switch (key) {
	case OPT_NO_STACKS:
		rq->flags |= MARK_NO_STACKS;
		return 0;
	case ARGP_KEY_ARG:
		if (snprintf(rq->text + len, sizeof(rq->text) - len, "%s%s",
			     blank, arg) >= (int)(sizeof(rq->text) - len))
			usage_error(state, "the text is too long: at most %d bytes",
				    MARK_TEXT - 1);
		return 0;
	case ARGP_KEY_END:
		if (!len)
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
	.options = options,
	.parser = parse_opt,
	.children = children,
	.args_doc = "TEXT...",
	.doc = "Mark this moment in the running recording, with the targets' call stacks."
	       "\vPrints the mark's number and time. 'wsmo report peaks' shows marks.",
};

/* Return: 0, or -1 after a message */
static int ask(int fd, const struct mark_request *rq)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX }, addr;
	socklen_t len = mark_address(&addr);

	if (!len) {
		debugfs_explain("buffer", -errno);
		return -1;
	}
	/* the kernel chooses a name, for the reply */
	if (bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family))) {
		msg("no mark: %s", strerror(errno));
		return -1;
	}
	if (sendto(fd, rq, sizeof(*rq), 0, (struct sockaddr *)&addr, len) >= 0)
		return 0;
	if (errno == ECONNREFUSED)
		msg("no recording is running; start one with 'wsmo record'");
	else
		msg("no mark: %s", strerror(errno));
	return -1;
}

/* Return: 0, or -1 after a message */
static int hear(int fd, struct mark_reply *reply)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct sockaddr_un from;
	socklen_t len = sizeof(from);

	if (poll(&p, 1, PATIENCE_MS) == 1 &&
	    mark_receive(fd, reply, sizeof(*reply), &from, &len) == sizeof(*reply))
		return 0;
	msg("the recording did not answer: it is another user's, or about to end");
	return -1;
}

int cmd_mark(int argc, char **argv)
{
	struct mark_request rq = { 0 };
	struct mark_reply reply;
	int fd, status = WSMO_FAILURE;

	verb_parse(&argp, "wsmo mark", argc, argv, &rq);
	fd = mark_socket();
	if (fd < 0) {
		msg("no mark: %s", strerror(errno));
		return WSMO_FAILURE;
	}
	if (!ask(fd, &rq) && !hear(fd, &reply)) {
		printf("mark %llu at %.3f s\n", reply.number,
		       (double)reply.at_ns / NSEC_PER_SEC);
		status = WSMO_OK;
	}
	close(fd);
	return status;
}
