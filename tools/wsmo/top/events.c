// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - events that "wsmo top" shows
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/secondary.h"
#include "cli/text.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "session/cgroup.h"
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
	char clean[64];

	text_clean(clean, sizeof(clean), live_comm(&top->live, pid));
	snprintf(buf, size, "%u%s%s", pid, *clean ? " " : "", clean);
	return buf;
}

static void peak_event(struct top *top, const struct wsmon_rec_peak *p)
{
	char name[80], size[UNITS_LEN], usual[UNITS_LEN];

	top_event(top, "%s: %s %u of %s, %s; usual is %s",
		  who(top, p->pid, name, sizeof(name)), p->sign < 0 ? "dip" : "peak", p->number,
		  peak_group_name(p->group), units_size(size, p->bytes),
		  units_size(usual, p->baseline));
}

static void target_event(struct top *top, const struct wsmon_rec_target *target)
{
	char name[WSMON_COMM_LEN + 1], clean[64], text[SECONDARY_TEXT];

	if (target->flags & WSMON_TARGET_SECONDARY_MMU && secondary_add(target->pid))
		top_event(top, "%s", secondary_text(text, target->pid, target->comm));
	if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_EXEC)
		return;
	snprintf(name, sizeof(name), "%.*s", WSMON_COMM_LEN, target->comm);
	top_event(top, "%u executed %s", target->pid, text_clean(clean, sizeof(clean), name));
}

void top_record(struct top *top, const struct wsmon_record *rec)
{
	const struct wsmon_rec_lost *lost = (const void *)rec;
	const struct wsmon_rec_peak *peak = (const void *)rec;
	const struct wsmon_rec_exit *gone = (const void *)rec;
	const struct wsmon_rec_mark *mark = (const void *)rec;
	const struct wsmon_rec_end *end = (const void *)rec;
	char name[80], clean[4 * WSMON_MARK_TEXT];

	switch (rec->type) {
	case WSMON_REC_TARGET:
		target_event(top, (const void *)rec);
		break;
	case WSMON_REC_PEAK:
		if (peak->edge == WSMON_PEAK_START)
			peak_event(top, peak);
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
		top_ended(top, end->reason);
		break;
	}
}

void top_ended(struct top *top, __u32 reason)
{
	snprintf(top->status, sizeof(top->status), "ended");
	top_event(top, "monitoring ended: %s", end_name(reason));
}

void top_left_out(struct top *top)
{
	const struct cgroups *c = &top->cgroups;

	if (c->left_out != top->left_out)
		top_event(top, "%zu smaller cgroup%s no row: there is room for %zu", c->left_out,
			  c->left_out == 1 ? " has" : "s have", c->nr - 1);
	top->left_out = c->left_out;
	if (c->refused != top->refused)
		top_event(top, "%zu cgroup%s not be watched: it is gone, or its path is too long",
			  c->refused, c->refused == 1 ? " could" : "s could");
	top->refused = c->refused;
}

void top_guests(struct top *top)
{
	char text[128];

	if (top->guests || !guests_text(text, sizeof(text), top->record.session.cgroup))
		return;
	top->guests = true;
	top_event(top, "%s", text);
}
