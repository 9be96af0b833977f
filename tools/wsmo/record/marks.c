// SPDX-License-Identifier: GPL-2.0
/*
 * marks.c - moments the user marks while a recording runs
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "mark_socket.h"
#include "record.h"

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
		m->at_ns[m->nr_at++] = record_time(state, time);
	}
	qsort(m->at_ns, m->nr_at, sizeof(m->at_ns[0]), compare);
}

void marks_open(struct record *r)
{
	struct sockaddr_un addr;
	socklen_t len = mark_address(&addr);
	struct marks *m = &r->marks;

	m->fd = mark_socket();
	if (m->fd >= 0 && len && !bind(m->fd, (struct sockaddr *)&addr, len))
		return;
	msg("'wsmo mark' will not reach this recording: %s", strerror(errno));
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static void set_mark(struct record *r, const char *text, bool stacks)
{
	union {
		struct wsmon_rec_mark rec;
		char room[sizeof(struct wsmon_rec_mark) + MARK_TEXT];
	} mark = { .room = "" };
	size_t len = strlen(text) + 1;

	mark.rec.rec.type = WSMON_REC_MARK;
	mark.rec.rec.time_ns = record_now();
	mark.rec.number = ++r->marks.number;
	memcpy(mark.room + sizeof(mark.rec), text, len);
	mark.rec.rec.size = sizeof(mark.rec) + len + -len % 8;
	record_write(r, &mark, mark.rec.rec.size);
	if (stacks)
		stacks_mark(r, mark.rec.number);
}

__u64 marks_due(const struct record *r)
{
	const struct marks *m = &r->marks;

	return m->next < m->nr_at ? r->start_ns + m->at_ns[m->next] : 0;
}

void marks_tick(struct record *r)
{
	char text[UNITS_LEN + 8] = "at ";
	__u64 due;

	while ((due = marks_due(r)) && record_now() >= due) {
		units_time(text + 3, r->marks.at_ns[r->marks.next++]);
		set_mark(r, text, true);
	}
}

static void set_asked(void *arg, const struct mark_request *rq,
		      struct mark_reply *reply)
{
	struct record *r = arg;

	set_mark(r, rq->text, !(rq->flags & MARK_NO_STACKS));
	reply->number = r->marks.number;
	reply->at_ns = record_now() - r->start_ns;
}

void marks_take(struct record *r)
{
	mark_serve(r->marks.fd, set_asked, r);
}

void marks_close(struct record *r)
{
	struct marks *m = &r->marks;

	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	if (m->next < m->nr_at)
		msg("%zu of %zu marks of --mark-at would have come after the end",
		    m->nr_at - m->next, m->nr_at);
	m->next = m->nr_at;
}
