// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - events that "wsmo top" shows
 *
 * Its own session's come from the stream. The stream of another session belongs to
 * whoever records it, so successive contents of the text files are compared.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/text.h"
#include "libwsmon/names.h"
#include "top.h"

static struct top_event *last_event(struct top *top)
{
	return &top->events[(top->nr_events - 1) % TOP_EVENTS];
}

void top_event(struct top *top, const char *fmt, ...)
{
	struct top_event *e;
	va_list ap;

	top->nr_events++;
	e = last_event(top);
	e->time = time(NULL);
	e->lost = 0;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (!top->screen)
		msg("%s", e->text);
}

void top_lost(struct top *top, __u64 records)
{
	if (top->nr_events && last_event(top)->lost) {
		records += last_event(top)->lost;
		top->nr_events--;
	}
	top_event(top, "LOST %llu records that found no room in the module's buffer",
		  records);
	last_event(top)->lost = records;
}

/* A target's process id and last known name */
static const char *who(const struct top *top, __u32 pid, char *buf, size_t size)
{
	const struct wss_name key = { .pid = pid };
	const struct wss_name *name = top->now.names.size ?
				      sorted_find(&top->now.names, &key) : NULL;
	char clean[64];

	text_clean(clean, sizeof(clean), name ? name->comm : "");
	snprintf(buf, size, "%u%s%s", pid, *clean ? " " : "", clean);
	return buf;
}

static void peak_event(struct top *top, const struct peak *p)
{
	char name[80], size[UNITS_LEN], usual[UNITS_LEN];

	top_event(top, "%s: %s %u of %s, %s; usual is %s",
		  who(top, p->pid, name, sizeof(name)), peak_word(p), p->number,
		  peak_group_name(p->group), units_size(size, p->bytes),
		  units_size(usual, p->baseline));
}

void top_record(struct top *top, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_lost *lost = (const void *)rec;
	const struct wsmon_rec_peak *peak = (const void *)rec;
	const struct wsmon_rec_exit *gone = (const void *)rec;
	const struct wsmon_rec_mark *mark = (const void *)rec;
	const struct wsmon_rec_end *end = (const void *)rec;
	char name[80], clean[4 * WSMON_MARK_TEXT];

	switch (rec->type) {
	case WSMON_REC_TARGET:
		if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_EXEC)
			break;
		snprintf(name, sizeof(name), "%.*s", WSMON_COMM_LEN,
			 target->comm);
		top_event(top, "%u executed %s", target->pid,
			  text_clean(clean, sizeof(clean), name));
		break;
	case WSMON_REC_PEAK:
		if (peak->edge == WSMON_PEAK_START)
			peak_event(top, &(struct peak) {
				.pid = peak->pid, .number = peak->number,
				.group = peak->group, .sign = peak->sign, .bytes = peak->bytes,
				.baseline = peak->baseline,
			});
		break;
	case WSMON_REC_EXIT:
		top_event(top, "%s ended",
			  who(top, gone->pid, name, sizeof(name)));
		break;
	case WSMON_REC_MARK:
		top_event(top, "mark %u: %s", mark->number,
			  text_clean(clean, sizeof(clean), mark->text));
		break;
	case WSMON_REC_LOST:
		top_lost(top, lost->records);
		break;
	case WSMON_REC_END:
		top->record.session.started = false;
		top_event(top, "monitoring ended: %s", end_name(end->reason));
		break;
	}
}

static void compare_target(struct top *top, const struct live *now,
			   const struct wss_name *was)
{
	const struct wss_name *is = sorted_find(&now->names, was);
	char name[80], clean[64], path[32];

	who(top, was->pid, name, sizeof(name));
	snprintf(path, sizeof(path), "/proc/%u", was->pid);
	if (is) {
		if (*was->comm && strcmp(was->comm, is->comm))
			top_event(top, "%s is now %s: it executed a program or renamed itself",
				  name, text_clean(clean, sizeof(clean),
						   is->comm));
	} else if (access(path, F_OK)) {
		top_event(top, "%s ended", name);
	} else if (now->running) {
		top_event(top, "%s is no longer monitored", name);
	}
}

/* A session that began since then numbers its peaks from 1 */
static void compare_peaks(struct top *top, const struct live *now)
{
	const struct peak *is, *was;
	size_t i;

	for (i = 0; (is = events_peak_at(&now->events, i)); i++) {
		was = events_peak(&top->now.events, is->pid, is->number);
		if (!was || was->start_ns != is->start_ns)
			peak_event(top, is);
	}
}

void top_compare(struct top *top, const struct live *now)
{
	const struct wss_name *name = top->now.names.base;
	size_t i;

	if (top_own(top) || !top->read_ns)
		return;
	if (top->running) {
		for (i = 0; i < top->now.names.nr; i++)
			compare_target(top, now, &name[i]);
		compare_peaks(top, now);
		if (now->lost > top->now.lost)
			top_lost(top, now->lost - top->now.lost);
		if (!now->running)
			top_event(top, "monitoring ended: %s", now->status);
	} else if (now->running) {
		top_event(top, "monitoring started");
	}
}
