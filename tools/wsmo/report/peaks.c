// SPDX-License-Identifier: GPL-2.0
/*
 * peaks.c - "wsmo report peaks": peaks of the working set and marks, each
 * with the call stacks taken at it
 *
 * Stacks are resolved when their record is read, by the mappings of that time, and
 * printed at the end. Equal stacks are printed once and referred to by number.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "libwsmon/events.h"
#include "libwsmon/names.h"
#include "peaks.h"

enum {
	P_N, P_T, P_PID, P_GROUP, P_SIGN, P_DURATION, P_HEIGHT, P_BASELINE,
	P_THRESHOLD, P_BYTES, P_LOW, P_HIGH, P_FOUND,
};

static const struct column peak_columns[] = {
	[P_N]		= { "number", "N", COL_COUNT, 3, 0 },
	[P_T]		= { "t", "TIME", COL_T, 8, 0 },
	[P_PID]		= { "pid", "PID", COL_COUNT, 7, 0 },
	[P_GROUP]	= { "group", "GROUP", COL_TEXT, 5, 0 },
	[P_SIGN]	= { "sign", "SIGN", COL_TEXT, 4, 0 },
	[P_DURATION]	= { "duration_ns", "DURATION", COL_NS, 8, 0 },
	[P_HEIGHT]	= { "height", "HEIGHT", COL_SIZE, 10, 0 },
	[P_BASELINE]	= { "baseline", "BASELINE", COL_SIZE, 10, 0 },
	[P_THRESHOLD]	= { "threshold", "THRESHOLD", COL_SIZE, 10, 0 },
	[P_BYTES]	= { "bytes", "AT START", COL_SIZE, 10, 0 },
	[P_LOW]		= { "low", "LOW", COL_SIZE, 10, 0 },
	[P_HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0 },
	[P_FOUND]	= { "found", "FOUND", COL_TEXT, 5, 0 },
};

static const struct table_desc peak_desc = {
	.type = "peak", .columns = peak_columns, .nr = ARRAY_SIZE(peak_columns),
};

enum { M_N, M_T, M_TEXT };

static const struct column mark_columns[] = {
	[M_N]	 = { "number", "N", COL_COUNT, 3, 0 },
	[M_T]	 = { "t", "TIME", COL_T, 8, 0 },
	[M_TEXT] = { "text", "MARK", COL_TEXT, 8, 0 },
};

static const struct table_desc mark_desc = {
	.type = "mark", .columns = mark_columns, .nr = ARRAY_SIZE(mark_columns),
};

/** struct peaks_options - the command line */
static struct peaks_options {
	bool folded;
} options;

struct peaks_view {
	struct events events;
	struct after after;
	struct mappings *mappings;
	struct taken_list taken;
	struct calls *calls;
};

static void peaks_begin(struct report *rp)
{
	struct peaks_view *v = need(calloc(1, sizeof(*v)));

	v->mappings = need(mappings_new());
	v->calls = calls_new();
	rp->data = v;
}

static void peaks_record(struct report *rp, const struct wsmon_record *rec)
{
	struct peaks_view *v = rp->data;
	const struct wsmon_rec_stack *stack = (const void *)rec;

	mappings_add(v->mappings, rec);
	events_add(&v->events, rec);
	after_add(&v->after, &rp->reader.header.attrs, rec);
	/* the time of its peak or mark decides whether it is wanted */
	if (rec->type == WSMON_REC_STACK && stack->reason != WSMON_STACK_ALLOC &&
	    filter_wants_pid(&rp->filter, stack->pid))
		taken_add(&v->taken, v->calls, v->mappings, stack);
}

static bool wants_time(const struct report *rp, __u64 first_ns, __u64 last_ns)
{
	__u64 zero = rp->reader.header.mono_ns;

	return (__s64)(last_ns - zero) >= rp->filter.from_ns &&
	       (__s64)(first_ns - zero) <= rp->filter.to_ns;
}

static bool wants_peak(const struct report *rp, const struct peak *p)
{
	if (!filter_wants_pid(&rp->filter, p->pid))
		return false;
	return wants_time(rp, p->start_ns, p->end_ns ? p->end_ns : ~0ULL >> 1);
}

/*
 * A peak of the text and one of all memory that begin in the same interval share
 * stacks, which are in the file once, with the first of the two.
 */
static struct taken_event peak_event(const struct peaks_view *v,
				     const struct peak *p)
{
	struct taken_event event = {
		.reason = WSMON_STACK_PEAK, .pid = p->pid, .of = p->number,
	};
	const struct peak *q = p;
	__u32 i;

	/* at most one of each group begins in an interval */
	for (i = 0; i < WSMON_PEAK_GROUPS && q && q->start_ns == p->start_ns;
	     i++, q = events_peak(&v->events, p->pid, q->number - 1)) {
		event.number = q->number;
		if (taken_any(&v->taken, &event))
			return event;
	}
	event.number = p->number;
	return event;
}

static void print_peak(struct report *rp, struct table *t, const struct peak *p)
{
	table_row(t, (struct cell[]) {
		[P_N]		= p->number ? cell_u(p->number) : (struct cell){ 0 },
		[P_T]		= cell_d(filter_time(&rp->filter, p->start_ns)),
		[P_PID]		= cell_u(p->pid),
		[P_GROUP]	= cell_s(peak_group_name(p->group)),
		[P_SIGN]	= cell_s(p->sign < 0 ? "down" : "up"),
		[P_DURATION]	= p->end_ns ? cell_u(p->end_ns - p->start_ns) :
					      (struct cell){ 0 },
		[P_HEIGHT]	= cell_u(p->height),
		[P_BASELINE]	= cell_u(p->baseline),
		[P_THRESHOLD]	= cell_u(p->threshold),
		[P_BYTES]	= cell_u(p->bytes),
		[P_LOW]		= cell_u(p->low),
		[P_HIGH]	= cell_u(p->high),
		[P_FOUND]	= cell_s(p->number ? "live" : "afterwards"),
	});
}

static bool for_people(const struct report *rp)
{
	return rp->out.format == TABLE_HUMAN || rp->out.format == TABLE_RAW;
}

static size_t print_peaks(struct report *rp)
{
	struct table *t = report_table(rp, &peak_desc);
	struct peaks_view *v = rp->data;
	const struct peak *p;
	size_t i, n = 0;

	for (i = 0; i < v->after.nr; i++) {
		if (!wants_peak(rp, &v->after.peak[i]))
			continue;
		n++;
		print_peak(rp, t, &v->after.peak[i]);
	}
	for (i = 0; (p = events_peak_at(&v->events, i)); i++) {
		struct taken_event event = peak_event(v, p);

		if (!wants_peak(rp, p))
			continue;
		n++;
		print_peak(rp, t, p);
		/* no stacks are taken of a peak downwards */
		if (!for_people(rp) || p->sign < 0)
			continue;
		table_flush(t);
		taken_print(rp, &v->taken, v->calls, &event);
	}
	table_end(t);
	return n;
}

static size_t print_marks(struct report *rp)
{
	struct table *t = report_table(rp, &mark_desc);
	struct peaks_view *v = rp->data;
	size_t i, n = 0;

	for (i = 0; i < v->events.nr_marks; i++) {
		const struct mark *m = &v->events.mark[i];
		struct taken_event event = {
			.reason = WSMON_STACK_MARK, .number = m->number,
			.of = m->number,
		};

		if (!wants_time(rp, m->time_ns, m->time_ns))
			continue;
		if (!n++ && for_people(rp) && (v->events.peaks.nr || v->after.nr))
			fputc('\n', rp->out.f);
		table_row(t, (struct cell[]) {
			[M_N]	 = cell_u(m->number),
			[M_T]	 = cell_d(filter_time(&rp->filter, m->time_ns)),
			[M_TEXT] = cell_s(m->text),
		});
		if (!for_people(rp))
			continue;
		table_flush(t);
		if (taken_once(&v->taken, &event))
			taken_print(rp, &v->taken, v->calls, &event);
		else
			fputs("    stacks as of the one before with this number\n", rp->out.f);
	}
	table_end(t);
	return n;
}

/* Calls @f for each peak and mark that is wanted */
static void each_event(struct report *rp,
		       void (*f)(void *arg, const struct taken_event *event),
		       void *arg)
{
	struct peaks_view *v = rp->data;
	struct taken_event event;
	const struct peak *p;
	size_t i;

	for (i = 0; (p = events_peak_at(&v->events, i)); i++) {
		event = peak_event(v, p);
		if (wants_peak(rp, p))
			f(arg, &event);
	}
	for (i = 0; i < v->events.nr_marks; i++) {
		const struct mark *m = &v->events.mark[i];

		event = (struct taken_event) {
			.reason = WSMON_STACK_MARK, .number = m->number,
			.of = m->number,
		};
		/* stacks belong to the first one of a number */
		if (wants_time(rp, m->time_ns, m->time_ns) && taken_once(&v->taken, &event))
			f(arg, &event);
	}
}

struct rows {
	struct report *rp;
	struct table *table;
};

static void print_rows_of(void *arg, const struct taken_event *event)
{
	struct rows *rows = arg;
	struct peaks_view *v = rows->rp->data;

	taken_rows(rows->rp, &v->taken, v->calls, event, rows->table);
}

static void print_stacks(struct report *rp)
{
	struct rows rows = { rp, report_table(rp, &peaks_stack_desc) };
	struct peaks_view *v = rp->data;

	each_event(rp, print_rows_of, &rows);
	table_end(rows.table);
	if (rp->out.format == TABLE_CSV)
		fputc('\n', rp->out.f);
	taken_frames(rp, v->calls);
}

static void fold_event(void *arg, const struct taken_event *event)
{
	struct peaks_view *v = arg;

	taken_choose(&v->taken, event);
}

static void print_all(struct report *rp)
{
	size_t n = print_peaks(rp);

	if (rp->out.format == TABLE_CSV)
		fputc('\n', rp->out.f);
	n += print_marks(rp);
	if (!for_people(rp)) {
		if (rp->out.format == TABLE_CSV)
			fputc('\n', rp->out.f);
		print_stacks(rp);
	} else if (!n) {
		msg(rp->of_cgroup ? "no marks; peaks are found of processes, and a cgroup was recorded as a whole" :
				    "no peaks and no marks");
	}
}

static void peaks_end(struct report *rp)
{
	struct peaks_view *v = rp->data;

	taken_fold(&v->taken, v->calls, v->mappings);
	after_judge(&v->after, &v->events, &rp->reader.header.attrs);
	if (options.folded) {
		each_event(rp, fold_event, v);
		taken_print_folded(rp, &v->taken);
	} else {
		print_all(rp);
	}
	fflush(rp->out.f);
	calls_free(v->calls);
	free(v->taken.t);
	mappings_free(v->mappings);
	events_free(&v->events);
	after_free(&v->after);
	free(v);
}

static const struct option_desc own[] = {
	{ "folded", 0, NULL, "Only stacks, for flame graphs: 'thread;outer;...;inner count'", OPT_FLAG,
	  OPT_AT(struct peaks_options, folded) },
	{ 0 }
};

const struct report_view report_peaks = {
	.name = "peaks",
	.help = "Peaks of the working set, and marks, with their call stacks",
	.takes = TAKES_FORMAT,
	.own = own,
	.options = &options,
	.no_snapshots = true,
	.whole = true,
	.begin = peaks_begin,
	.record = peaks_record,
	.end = peaks_end,
};
