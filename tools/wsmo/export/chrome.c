// SPDX-License-Identifier: GPL-2.0
/*
 * chrome.c - "wsmo export chrome": counters of the Trace Event Format
 *
 * Each class and window has three counters, the estimate and the ends of its
 * interval: viewers would stack or split the values of one counter.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "export.h"
#include "libwsmon/names.h"
#include "libwsmon/wsmon_records.h"
#include "report/collect.h"

static void chrome_begin(struct report *rp)
{
	(void)rp;
	/* each further event begins with a comma */
	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
	      "{\"name\":\"wsmon\",\"ph\":\"M\",\"pid\":0,\"args\":{}}", stdout);
}

static void counter(const struct report *rp, __u64 time_ns, __u32 pid,
		    const char *name, __u64 bytes)
{
	printf(",\n{\"name\":\"%s\",\"ph\":\"C\",\"pid\":%u,\"ts\":%.3f,\"args\":{\"bytes\":%llu}}",
	       name, pid, filter_time(&rp->filter, time_ns) * 1e6, bytes);
}

/* The group's total is of no process */
static void working_set(const struct report *rp, const struct wsmon_wss_row *w)
{
	char window[UNITS_LEN], name[96];
	int len;

	len = snprintf(name, sizeof(name), "%sworking set %s, %s", w->group ? "total " : "",
		       class_name(w->class),
		       units_time(window, w->window_us * NSEC_PER_USEC));
	counter(rp, w->time_ns, w->pid, name, w->bytes);
	snprintf(name + len, sizeof(name) - len, " (low)");
	counter(rp, w->time_ns, w->pid, name, w->low);
	snprintf(name + len, sizeof(name) - len, " (high)");
	counter(rp, w->time_ns, w->pid, name, w->high);
}

/* @what: as JSON has it */
static void instant_json(const struct report *rp, const struct wsmon_record *rec,
			 __u32 pid, const char *scope, const char *what)
{
	printf(",\n{\"name\":%s,\"ph\":\"i\",\"s\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
	       what, scope, pid, pid, filter_time(&rp->filter, rec->time_ns) * 1e6);
}

static void instant(const struct report *rp, const struct wsmon_record *rec,
		    __u32 pid, const char *scope, const char *what)
{
	char text[EXPORT_JSON];

	instant_json(rp, rec, pid, scope,
		     export_json_text(text, sizeof(text), what));
}

static void peak(const struct report *rp, const struct wsmon_rec_peak *p)
{
	char text[64];

	snprintf(text, sizeof(text), "peak %u of %s %s%s", p->number,
		 peak_group_name(p->group), p->sign < 0 ? "down " : "",
		 p->edge == WSMON_PEAK_START ? "begins" : "ends");
	instant(rp, &p->rec, p->pid, "p", text);
}

static void mark(const struct report *rp, const struct wsmon_rec_mark *m)
{
	char text[EXPORT_TEXT], json[EXPORT_JSON];

	snprintf(text, sizeof(text), "mark %u: %s", m->number, m->text);
	instant_json(rp, &m->rec, 0, "g",
		     export_json_text(json, sizeof(json), text));
}

static void chrome_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_proc *proc = (const void *)rec;
	const struct wsmon_rec_lost *lost = (const void *)rec;
	char text[8 * WSMON_COMM_LEN];
	struct wsmon_wss_row row;

	/* filters do not apply to names and losses */
	if (rec->type == WSMON_REC_TARGET)
		printf(",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"args\":{\"name\":%s}}",
		       target->pid, export_json_text(text, sizeof(text),
						     target->comm));
	if (rec->type == WSMON_REC_LOST) {
		snprintf(text, sizeof(text), "%llu records lost", lost->records);
		instant(rp, rec, 0, "g", text);
	}
	if (!filter_wants(&rp->filter, rec))
		return;
	if (collect_row(&rp->filter, rec, &row)) {
		working_set(rp, &row);
	} else if (rec->type == WSMON_REC_PROC) {
		counter(rp, rec->time_ns, proc->pid, "resident", proc->rss);
		counter(rp, rec->time_ns, proc->pid, "swapped out", proc->swap);
	} else if (rec->type == WSMON_REC_PEAK) {
		peak(rp, (const void *)rec);
	} else if (rec->type == WSMON_REC_MARK) {
		mark(rp, (const void *)rec);
	} else if (rec->type == WSMON_REC_EXIT) {
		instant(rp, rec, ((const struct wsmon_rec_exit *)rec)->pid, "p",
			"exit");
	}
}

static void chrome_end(struct report *rp)
{
	(void)rp;
	puts("\n]}");
}

const struct report_view export_chrome = {
	.name = "chrome",
	.begin = chrome_begin,
	.record = chrome_record,
	.end = chrome_end,
};
