// SPDX-License-Identifier: GPL-2.0
/*
 * marks.c - marks at given times of a recording: --mark-at
 */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/units.h"
#include "marks.h"
#include "session/session.h"

static int compare(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void marks_parse(struct argp_state *state, char *list, struct marks *m)
{
	char *time;

	while ((time = strsep(&list, ","))) {
		if (m->nr == MARKS_AT)
			usage_error(state, "at most %d marks", MARKS_AT);
		m->at_ns[m->nr++] = option_time(state, time);
	}
	qsort(m->at_ns, m->nr, sizeof(m->at_ns[0]), compare);
}

__u64 marks_due(const struct marks *m)
{
	return m->next < m->nr ? m->start_ns + m->at_ns[m->next] : 0;
}

void marks_tick(struct marks *m, const struct session *s)
{
	char text[UNITS_LEN + 8] = "at ";
	__u64 due;
	int err;

	while ((due = marks_due(m)) && clock_now() >= due) {
		units_time(text + 3, m->at_ns[m->next]);
		err = session_mark(s, text);
		if (err) {
			msg("no mark %s: %s", text, strerror(-err));
			/* the session has ended, or the module cannot: no more tries */
			m->nr = m->next;
			return;
		}
		m->next++;
	}
}

void marks_report(const struct marks *m)
{
	if (m->next < m->nr)
		msg("%zu of %zu marks of --mark-at were after the end", m->nr - m->next, m->nr);
}
