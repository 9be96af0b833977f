// SPDX-License-Identifier: GPL-2.0
/* events.c - the peaks and marks of a recording */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "util.h"

static int compare(const void *x, const void *y)
{
	const struct peak *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->number, b->number);
}

static void add_peak(struct events *ev, const struct wsmon_rec_peak *rec)
{
	const struct peak key = { .pid = rec->pid, .number = rec->number };
	bool known = events_peak(ev, rec->pid, rec->number);
	struct peak *p;

	if (!ev->peaks.size)
		ev->peaks = SORTED(*p, EVENTS_MAX, compare, .lazy = true);
	p = sorted_get(&ev->peaks, &key);
	if (!p) {
		ev->lost++;
		return;
	}
	if (rec->edge == WSMON_PEAK_START || !known) {
		p->bytes = rec->bytes;
		p->low = rec->low;
		p->high = rec->high;
	}
	p->group = rec->group;
	p->sign = rec->sign;
	p->start_ns = rec->start_ns;
	p->end_ns = rec->end_ns;
	p->height = rec->height;
	p->baseline = rec->baseline;
	p->threshold = rec->threshold;
}

static void add_mark(struct events *ev, const struct wsmon_rec_mark *rec)
{
	struct mark *mark = ev->nr_marks < EVENTS_MAX ?
			    reallocarray(ev->mark, ev->nr_marks + 1, sizeof(*mark)) : NULL;

	ev->lost++;
	if (!mark)
		return;
	ev->mark = mark;
	mark += ev->nr_marks;
	mark->time_ns = rec->rec.time_ns;
	mark->number = rec->number;
	mark->text = strdup(rec->text);
	if (mark->text) {
		ev->nr_marks++;
		ev->lost--;
	}
}

void events_add(struct events *ev, const struct wsmon_record *rec)
{
	if (rec->type == WSMON_REC_PEAK)
		add_peak(ev, (const void *)rec);
	else if (rec->type == WSMON_REC_MARK)
		add_mark(ev, (const void *)rec);
}

const struct peak *events_peak(const struct events *ev, __u32 pid, __u32 number)
{
	const struct peak key = { .pid = pid, .number = number };

	return sorted_find(&ev->peaks, &key);
}

const struct peak *events_peak_at(const struct events *ev, size_t i)
{
	/* @peaks is lazy: the first call after an addition sorts it */
	if (ev->peaks.late)
		sorted_order((struct sorted *)(uintptr_t)&ev->peaks);
	return i < ev->peaks.nr ? (const struct peak *)ev->peaks.base + i : NULL;
}

size_t events_first(const struct events *ev, __u32 pid, __u64 from_ns)
{
	size_t i = 0, end = ev->peaks.nr, mid;
	const struct peak *p;

	/* bisect: there may be as many peaks as intervals */
	while (i < end) {
		mid = i + (end - i) / 2;
		p = events_peak_at(ev, mid);
		if (p->pid < pid || (p->pid == pid && p->start_ns < from_ns))
			i = mid + 1;
		else
			end = mid;
	}
	return i;
}

static void append(char *buf, const char *what, __u32 number)
{
	size_t len = strlen(buf);

	snprintf(buf + len, EVENTS_LABEL - len, "%s%s %u", len ? ", " : "",
		 what, number);
}

const char *events_label(char *buf, const struct events *ev, __u32 pid,
			 __u64 time_ns, __u64 interval_ns)
{
	__u64 from = time_ns - interval_ns / 2, to = time_ns + interval_ns / 2;
	size_t i = events_first(ev, pid, from);
	const struct peak *p;

	*buf = '\0';
	for (; (p = events_peak_at(ev, i)) && p->pid == pid && p->start_ns < to &&
	     strlen(buf) < EVENTS_LABEL - 1; i++)
		append(buf, peak_word(p), p->number);
	i = ev->nr_marks ? sorted_above(&ev->mark->time_ns, ev->nr_marks, sizeof(*ev->mark),
					time_ns - interval_ns) : 0;
	for (; i < ev->nr_marks && ev->mark[i].time_ns <= time_ns &&
	     strlen(buf) < EVENTS_LABEL - 1; i++)
		append(buf, "mark", ev->mark[i].number);
	return buf;
}

void events_free(struct events *ev)
{
	size_t i;

	for (i = 0; i < ev->nr_marks; i++)
		free(ev->mark[i].text);
	free(ev->mark);
	free(ev->peaks.base);
}
