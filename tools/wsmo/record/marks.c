// SPDX-License-Identifier: GPL-2.0
/*
 * marks.c - marks in the record file, set by --mark-at and by "wsmo mark"
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/options.h"
#include "mark_socket.h"
#include "marks.h"

static int compare(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void marks_parse(struct argp_state *state, char *list, struct marks *m)
{
	char *time;

	while ((time = strsep(&list, ","))) {
		if (m->nr_at == MARKS_AT)
			usage_error(state, "at most %d marks", MARKS_AT);
		m->at_ns[m->nr_at++] = option_time(state, time);
	}
	qsort(m->at_ns, m->nr_at, sizeof(m->at_ns[0]), compare);
}

void marks_open(struct marks *m)
{
	struct sockaddr_un addr;
	socklen_t len = mark_address(&addr);

	m->fd = mark_socket();
	if (m->fd >= 0 && len && !bind(m->fd, (struct sockaddr *)&addr, len))
		return;
	msg("'wsmo mark' will not reach this recording: %s", strerror(errno));
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static void set_mark(struct marks *m, const char *text, bool stacks)
{
	union {
		struct wsmon_rec_mark rec;
		char room[sizeof(struct wsmon_rec_mark) + MARK_TEXT];
	} mark = { .room = "" };
	size_t len = strlen(text) + 1;

	mark.rec.rec.type = WSMON_REC_MARK;
	mark.rec.rec.time_ns = clock_now();
	mark.rec.number = ++m->number;
	memcpy(mark.room + sizeof(mark.rec), text, len);
	mark.rec.rec.size = sizeof(mark.rec) + len + -len % 8;
	output_record(m->output, &mark.rec.rec);
	if (stacks)
		stacks_mark(m->stacks, m->targets, mark.rec.number);
}

__u64 marks_due(const struct marks *m)
{
	return m->next < m->nr_at ? m->start_ns + m->at_ns[m->next] : 0;
}

void marks_tick(struct marks *m)
{
	char text[UNITS_LEN + 8] = "at ";
	__u64 due;

	while ((due = marks_due(m)) && clock_now() >= due) {
		units_time(text + 3, m->at_ns[m->next++]);
		set_mark(m, text, true);
	}
}

static void set_asked(void *arg, const struct mark_request *rq,
		      struct mark_reply *reply)
{
	struct marks *m = arg;

	set_mark(m, rq->text, !(rq->flags & MARK_NO_STACKS));
	reply->number = m->number;
	reply->at_ns = clock_now() - m->start_ns;
}

void marks_take(struct marks *m)
{
	mark_serve(m->fd, set_asked, m);
}

void marks_close(struct marks *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	if (m->next < m->nr_at)
		msg("%zu of %zu marks of --mark-at were after the end",
		    m->nr_at - m->next, m->nr_at);
	m->next = m->nr_at;
}
