// SPDX-License-Identifier: GPL-2.0
/*
 * peaks.c - "wsmo report peaks": peaks of the working set and marks, with their call stacks
 *
 * Stacks are resolved when their record is read, by the mappings of that time, and printed at
 * the end. Equal stacks are printed once and then referred to by number.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/events.h"
#include "libwsmon/names.h"
#include "libwsmon/series.h"
#include "libwsmon/wsmon_records.h"
#include "names/calls.h"
#include "report.h"

/*
 * The stacks of peaks and marks
 */

/**
 * struct taken - a STACK record: the stack of a thread at a peak or mark
 * @stack:	NULL if it could not be taken
 * @alike:	in the first of several records with the same event, target, and stack or error:
 *		their number; in the others: 0
 * @names:	in the first of them: their threads have different names
 * @longest_ns:	in the first of them: the longest time that one of their threads was stopped
 * @chosen:	print this record for flame graphs
 * @given:	set by taken_once()
 */
struct taken {
	__u64 time_ns;
	__u64 stopped_ns;
	__u32 pid;
	__u32 tid;
	__u32 reason;
	__u32 number;
	__u32 error;
	__u32 threads;
	char comm[WSMON_COMM_LEN];
	struct callstack *stack;
	__u64 longest_ns;
	__u32 alike;
	bool names;
	bool chosen;
	bool given;
};

/**
 * struct taken_list - the stacks of a recording
 * @t:		@nr records, room for @room
 * @mappings:	mappings recorded so far
 * @calls:	names of functions
 */
struct taken_list {
	struct taken *t;
	size_t nr, room;
	struct mappings *mappings;
	struct calls *calls;
};

/**
 * struct taken_event - a peak or mark that has stacks
 * @reason:	WSMON_STACK_*
 * @pid:	the target; 0 for a mark: all targets
 * @number:	number in the STACK records: that of the first of several peaks that share stacks
 * @of:		number of the peak or mark itself
 */
struct taken_event {
	__u32 reason;
	__u32 pid;
	__u32 number;
	__u32 of;
};

struct stack_row {
	const char *reason;
	__u64 number;
	double t;
	__u64 pid, stack, threads, threads_all;
	const char *comm;
	__u64 stopped_ns;
	const char *error;
};

#define ROW struct stack_row

TABLE(stack_table, "stack",
	COL(reason, TEXT, 6, "REASON", 0, "``peak`` or ``mark``"),
	COL(number, COUNT, 3, "N", 0, "number of this peak or mark"),
	COL(t, T, 8, "TIME", 0, "when the stack was taken"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(stack, COUNT, 5, "STACK", OR_NULL,
	    "number of the stack, see ``frame``; null if it could not be taken"),
	COL(threads, COUNT, 7, "THREADS", 0, "threads with this stack"),
	COL(threads_all, COUNT, 5, "OF", 0, "threads of the process"),
	COL(comm, TEXT, 15, "NAME", 0, "name of the first thread"),
	COL(stopped_ns, NS, 8, "STOPPED", 0, "longest time that one of these threads was stopped"),
	COL(error, TEXT, 8, "ERROR", OR_NULL, "why the stack could not be taken"));

struct frame_row {
	__u64 stack, frame;
	const char *function, *file;
	__u64 line;
	const char *path;
	__u64 offset, pc;
};

#undef ROW
#define ROW struct frame_row

TABLE(frame_table, "frame",
	COL(stack, COUNT, 5, "STACK", 0, "number of the stack"),
	COL(frame, COUNT, 5, "FRAME", 0, "0 is the innermost call"),
	COL(function, TEXT, 8, "FUNCTION", OR_NULL, "the function"),
	COL(file, TEXT, 8, "FILE", OR_NULL, "its source file"),
	COL(line, COUNT, 5, "LINE", OR_NULL, "line in this file"),
	COL(path, TEXT, 8, "PATH", OR_NULL, "program or library"),
	COL(offset, ADDR, 8, "OFFSET", OR_NULL, "offset from the beginning of ``path`` in memory"),
	COL(pc, ADDR, 8, "PC", 0, "return address in the first thread with this stack"));

/** taken_add() - add a record */
static void taken_add(struct taken_list *l, const struct wsmon_rec_stack *rec)
{
	struct taken *t;

	if (l->nr == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->t = need(reallocarray(l->t, l->room, sizeof(*t)));
	}
	t = &l->t[l->nr++];
	*t = (struct taken) {
		.time_ns = rec->rec.time_ns,
		.stopped_ns = rec->stopped_ns,
		.pid = rec->pid,
		.tid = rec->tid,
		.reason = rec->reason,
		.number = rec->number,
		.error = rec->error,
		.threads = rec->threads,
	};
	memcpy(t->comm, rec->comm, sizeof(t->comm));
	if (!rec->error && rec->nr)
		t->stack = calls_take(l->calls, l->mappings, rec);
}

/* Orders by event, then by target, then by time */
static int compare_taken(const void *x, const void *y)
{
	const struct taken *a = x, *b = y;

	return COMPARE(a->reason, b->reason) ?: COMPARE(a->number, b->number) ?:
	       COMPARE(a->pid, b->pid) ?: COMPARE(a->time_ns, b->time_ns);
}

/* Orders by event, target, and stack or error, then as in the list */
static int compare_alike(const void *x, const void *y)
{
	const struct taken *a = *(struct taken * const *)x, *b = *(struct taken * const *)y;

	return COMPARE(a->reason, b->reason) ?: COMPARE(a->number, b->number) ?:
	       COMPARE(a->pid, b->pid) ?: COMPARE(a->stack, b->stack) ?:
	       COMPARE(a->error, b->error) ?: COMPARE(a, b);
}

static bool is_alike(const struct taken *a, const struct taken *b)
{
	return a->reason == b->reason && a->number == b->number && a->pid == b->pid &&
	       a->stack == b->stack && a->error == b->error;
}

static void count_alike(struct taken_list *l)
{
	struct taken **by = need(calloc(l->nr + 1, sizeof(*by))), *first = NULL;
	size_t i;

	for (i = 0; i < l->nr; i++)
		by[i] = &l->t[i];
	qsort(by, l->nr, sizeof(*by), compare_alike);
	for (i = 0; i < l->nr; i++) {
		if (!first || !is_alike(first, by[i]))
			first = by[i];
		first->alike++;
		first->names |= strcmp(first->comm, by[i]->comm) != 0;
		if (by[i]->stopped_ns > first->longest_ns)
			first->longest_ns = by[i]->stopped_ns;
	}
	free(by);
}

/** taken_fold() - sort the list and merge equal stacks, after the last record */
static void taken_fold(struct taken_list *l)
{
	size_t i;

	if (l->nr)
		qsort(l->t, l->nr, sizeof(*l->t), compare_taken);
	for (i = 0; i < l->nr; i++)
		if (l->t[i].stack)
			l->t[i].stack = calls_fold(l->calls, l->mappings, l->t[i].pid,
						   l->t[i].stack);
	count_alike(l);
}

/*
 * Finds the stacks of a peak or mark. Context: after taken_fold()
 * Return: number of stacks; @first gets the first
 */
static size_t taken_of(const struct taken_list *l, const struct taken_event *event,
		       struct taken **first)
{
	const struct taken key = {
		.reason = event->reason, .number = event->number,
		.pid = event->pid,
	};
	size_t low = 0, high = l->nr, end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_taken(&l->t[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*first = l->t + low;
	for (end = low; end < l->nr; end++)
		if (l->t[end].reason != event->reason || l->t[end].number != event->number ||
		    (event->pid && l->t[end].pid != event->pid))
			break;
	return end - low;
}

/* Is this the first call for the stacks of an event? */
static bool taken_once(struct taken_list *l, const struct taken_event *event)
{
	struct taken *t;
	bool again;

	if (!taken_of(l, event, &t))
		return true;
	again = t->given;
	t->given = true;
	return !again;
}

static void print_calls(const struct report *rp, const struct callstack *s)
{
	char text[CALL_TEXT];
	FILE *f = rp->out.f;
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		fputs("        ", f);
		if (rp->out.format == TABLE_RAW)
			fprintf(f, "%#llx ", s->call[i].pc);
		fprintf(f, "%s\n", calls_text(text, &s->call[i]));
	}
	if (s->cut)
		fputs("        ...\n", f);
}

/*
 * Finds the innermost call of a function that is not in a shared library: in most stacks the
 * innermost calls are in a library that waits.
 */
static const struct call *telling_call(const struct callstack *s)
{
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		const char *path = s->call[i].path, *slash = path ? strrchr(path, '/') : NULL;

		if (s->call[i].function && path && !strstr(slash ? slash : path, ".so"))
			return &s->call[i];
	}
	return s->call;
}

/* Print the threads with one stack or error; @t is the first of them */
static void print_alike(const struct report *rp, struct calls *cs, const struct taken *t)
{
	char name[4 * WSMON_COMM_LEN + 1], text[CALL_TEXT], time[UNITS_LEN];
	struct callstack *s = t->stack;
	bool is_new = s && calls_number(cs, s);
	FILE *f = rp->out.f;

	text_clean(name, sizeof(name), t->comm);
	fprintf(f, "    %u of %u threads of %u (%s%s): ", t->alike,
	       t->threads, t->pid, name, t->names ? ", ..." : "");
	if (!s) {
		fprintf(f, "no stack: %s\n", strerror(t->error));
		return;
	}
	if (!is_new) {
		fprintf(f, "stack %u again, %s\n", s->number,
		       calls_text(text, telling_call(s)));
		return;
	}
	if (rp->out.format == TABLE_RAW)
		fprintf(f, "stack %u, stopped_ns=%llu\n", s->number, t->longest_ns);
	else
		fprintf(f, "stack %u, stopped for %s\n", s->number,
		       units_time(time, t->longest_ns));
	print_calls(rp, s);
}

/** taken_print() - print the stacks of a peak or mark for people */
static void taken_print(const struct report *rp, const struct taken_list *l,
			const struct taken_event *event)
{
	struct taken *t;
	size_t n = taken_of(l, event, &t);

	if (!n)
		fputs("    no stacks\n", rp->out.f);
	for (; n; n--, t++)
		if (t->alike)
			print_alike(rp, l->calls, t);
}

/** taken_rows() - print the stacks of a peak or mark as rows of stack_table */
static void taken_rows(const struct report *rp, const struct taken_list *l,
		       const struct taken_event *event, struct table *table)
{
	struct taken *t;
	size_t n;

	for (n = taken_of(l, event, &t); n; n--, t++) {
		if (!t->alike)
			continue;
		if (t->stack)
			calls_number(l->calls, t->stack);
		table_row(table, &(struct stack_row) {
			.reason = event->reason == WSMON_STACK_PEAK ?
					     "peak" : "mark",
			.number = event->of, .t = filter_time(&rp->filter, t->time_ns),
			.pid = t->pid,
			.stack = t->stack ? t->stack->number :
						 UNKNOWN_U64,
			.threads = t->alike, .threads_all = t->threads,
			.comm = t->comm,
			.stopped_ns = t->longest_ns,
			.error = t->stack ? NULL :
						 strerror(t->error),
		});
	}
}

/** taken_frames() - print the frames of numbered stacks as rows of frame_table */
static void taken_frames(const struct report *rp, const struct taken_list *l)
{
	struct table *table = report_table(rp, &frame_table);
	const struct callstack *s;
	__u32 number, i;

	for (number = 1; (s = calls_numbered(l->calls, number)); number++) {
		for (i = 0; i < s->nr; i++) {
			const struct call *c = &s->call[i];

			table_row(table, &(struct frame_row) {
				.stack = s->number, .frame = i,
				.function = text_or_none(c->function),
				.file = text_or_none(c->file),
				.line = c->file ? (__u64)c->line : UNKNOWN_U64,
				.path = text_or_none(c->path),
				.offset = c->path ? c->offset : UNKNOWN_U64,
				.pc = c->pc,
			});
		}
	}
	table_end(table);
}

static char *folded_line(const struct taken *t)
{
	char text[CALL_TEXT], *line = NULL;
	size_t size;
	FILE *f = need(open_memstream(&line, &size));

	calls_print_part(f, text_clean(text, sizeof(text), t->comm));
	fputc(';', f);
	calls_print_folded(f, t->stack);
	fclose(f);
	return line;
}

/** taken_print_folded() - print a line for each thread name and stack, with a count */
static void taken_print_folded(const struct report *rp, const struct taken_list *l)
{
	char **line = need(calloc(l->nr + 1, sizeof(*line)));
	size_t i, n = 0, count = 0;

	for (i = 0; i < l->nr; i++)
		if (l->t[i].chosen && l->t[i].stack)
			line[n++] = folded_line(&l->t[i]);
	if (n)
		qsort(line, n, sizeof(*line), compare_strings);
	for (i = 0; i < n; i++) {
		count++;
		if (i + 1 < n && !strcmp(line[i], line[i + 1]))
			continue;
		fprintf(rp->out.f, "%s %zu\n", line[i], count);
		count = 0;
	}
	for (i = 0; i < n; i++)
		free(line[i]);
	free(line);
	if (!n)
		msg("no stacks");
}

/*
 * Peaks among the first estimates of a target, found afterwards
 *
 * While the module learns the usual value, it reports no peaks, or only high peaks. So the view
 * judges these estimates again by the rule "sigma", with the median of all estimates in the
 * recording and the median distance from it. A peak must follow a usual value, so the start of a
 * program is not a peak.
 */

/* Max. number of first estimates that are judged */
#define FIRST	32

/**
 * struct after - data to find peaks afterwards; empty if zeroed
 * @rows:	working sets of whole targets within the shortest window
 * @runs:	struct run
 * @peak:	@nr peaks found, without numbers, by target and time
 */
struct after {
	struct wsmon_wss_rows rows;
	struct sorted runs;
	struct peak *peak;
	size_t nr;
};

/** struct run - the number of programs @pid has executed so far */
struct run {
	__u32 pid;
	__u32 nr;
};

static struct run *get_run(struct after *a, __u32 pid)
{
	const struct run key = { .pid = pid };

	if (!a->runs.size)
		a->runs = SORTED(key, TARGETS_MAX, order_u32);
	return sorted_get(&a->runs, &key);
}

/** after_add() - take WSS and TARGET records; others are ignored */
static void after_add(struct after *a, const struct wsmon_attrs *attrs,
		      const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_wss *w = (const void *)rec;
	struct run *run;

	if (attrs->peak_detector != WSMON_PEAK_SIGMA)
		return;
	if (rec->type == WSMON_REC_TARGET && target->flags == WSMON_TARGET_EXEC) {
		run = get_run(a, target->pid);
		if (run)
			run->nr++;
	}
	/* like the module, ignore estimates whose interval is from 0 to all mapped memory */
	if (rec->type != WSMON_REC_WSS || w->class != WSMON_CLASS_ALL ||
	    w->window_us != attrs->windows_us[0] || (!w->low && w->high == w->mapped))
		return;
	run = get_run(a, w->pid);
	need(wsmon_wss_add(&a->rows, &(struct wsmon_wss_row){
		.time_ns = rec->time_ns, .bytes = w->bytes, .low = w->low,
		.high = w->high, .pid = w->pid,
		/* a series for each program */
		.class = run ? run->nr : 0,
	}));
}

static int compare_doubles(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return COMPARE(a, b);
}

static double median(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), compare_doubles);
	return (v[(nr - 1) / 2] + v[nr / 2]) / 2;
}

/* Return: the threshold; @mean gets the usual value. design.rst has the formulas */
static double usual(const struct wsmon_wss_row *row, size_t nr, double gain,
		    double *mean)
{
	double *v = need(calloc(nr, sizeof(*v))), s, c;
	size_t i;

	for (i = 0; i < nr; i++)
		v[i] = row[i].bytes;
	*mean = median(v, nr);
	for (i = 0; i < nr; i++)
		v[i] = fabs(row[i].bytes - *mean);
	s = 1.4826 * median(v, nr);
	free(v);
	c = *mean > 0 ? 1 - exp(-50 * (s / *mean) * (s / *mean)) : 1;
	return c * gain * s + (1 - c) * gain / 10 * *mean;
}

static bool was_found(const struct events *ev, const struct peak *p)
{
	const struct peak *q;
	size_t i;

	for (i = events_first(ev, p->pid, 0); (q = events_peak_at(ev, i)) && q->pid == p->pid; i++)
		if (q->group == WSMON_PEAK_ALL && q->sign > 0 &&
		    q->start_ns < (p->end_ns ? p->end_ns : ~0ULL) &&
		    (!q->end_ns || p->start_ns < q->end_ns))
			return true;
	return false;
}

static void add_peak(struct after *a, const struct peak *p)
{
	a->peak = need(reallocarray(a->peak, a->nr + 1, sizeof(*a->peak)));
	a->peak[a->nr++] = *p;
}

static void judge(struct after *a, const struct events *ev,
		  const struct wsmon_attrs *attrs, const struct wsmon_wss_row *row,
		  size_t nr)
{
	size_t first = attrs->peak_window < FIRST ? attrs->peak_window : FIRST, i;
	double mean, far = usual(row, nr, attrs->peak_gain / 1000.0, &mean);

	for (i = 1; i < nr && i < first; i++) {
		struct peak p = {
			.pid = row->pid, .group = WSMON_PEAK_ALL, .sign = 1,
			.start_ns = row[i].time_ns, .bytes = row[i].bytes,
			.low = row[i].low, .high = row[i].high,
			.baseline = mean, .threshold = far,
		};

		if (row[i].low <= mean + far || fabs(row[i - 1].bytes - mean) > far)
			continue;
		for (; i < nr && row[i].bytes > mean + far; i++)
			if (row[i].bytes > p.height)
				p.height = row[i].bytes;
		p.end_ns = i < nr ? row[i].time_ns : 0;
		if (!was_found(ev, &p))
			add_peak(a, &p);
	}
}

/** after_judge() - find peaks that are not in @ev, after the last record */
static void after_judge(struct after *a, const struct events *ev, const struct wsmon_attrs *attrs)
{
	size_t i, end;

	wsmon_wss_sort(&a->rows, false);
	for (i = 0; i < a->rows.nr; i = end) {
		end = wsmon_wss_series(&a->rows, i);
		judge(a, ev, attrs, a->rows.row + i, end - i);
	}
}

/** after_free() - free all but @a itself */
static void after_free(struct after *a)
{
	wsmon_wss_free(&a->rows);
	free(a->runs.base);
	free(a->peak);
}

/*
 * The view
 */

struct peak_row {
	__u64 number;
	double t;
	__u64 pid;
	const char *group, *sign;
	__u64 duration_ns, height, baseline, threshold, bytes, low, high;
	const char *found;
};

#undef ROW
#define ROW struct peak_row

TABLE(peak_table, "peak",
	COL(number, COUNT, 3, "N", OR_NULL,
	    "number among the peaks of the process; null if found afterwards"),
	COL(t, T, 8, "TIME", 0, "end of the first interval of the peak"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(group, TEXT, 5, "GROUP", 0,
	    "the working set that peaks: ``all``, ``text`` or ``rest``"),
	COL(sign, TEXT, 4, "SIGN", 0, "``up`` or ``down``"),
	COL(duration_ns, NS, 8, "DURATION", OR_NULL,
	    "length of the peak; null if it lasts to the end of the recording"),
	COL(height, SIZE, 10, "HEIGHT", 0, "the working set furthest from the baseline"),
	COL(baseline, SIZE, 10, "BASELINE", 0, "moving mean before the peak"),
	COL(threshold, SIZE, 10, "THRESHOLD", 0, "minimum distance of a peak from the baseline"),
	COL(bytes, SIZE, 10, "AT START", 0, "working set in the first interval of the peak"),
	COL(low, SIZE, 10, "LOW", 0, "lower end of its 95 % interval"),
	COL(high, SIZE, 10, "HIGH", 0, "upper end"),
	COL(found, TEXT, 5, "FOUND", 0,
	    "``live``: found by the module; ``afterwards``: found by the report, without stacks"));

struct mark_row {
	__u64 number;
	double t;
	const char *text;
};

#undef ROW
#define ROW struct mark_row

TABLE(mark_table, "mark",
	COL(number, COUNT, 3, "N", 0, "number of the mark"),
	COL(t, T, 8, "TIME", 0, "time of the mark"),
	COL(text, TEXT, 8, "MARK", 0, "text of the user"));

/** struct peaks_options - the command line */
static struct peaks_options {
	bool folded;
} options;

struct peaks_view {
	struct events events;
	struct after after;
	struct taken_list taken;
};

static void peaks_begin(struct report *rp)
{
	struct peaks_view *v = need(calloc(1, sizeof(*v)));

	v->taken.mappings = need(mappings_new());
	v->taken.calls = calls_new();
	rp->data = v;
}

static void peaks_record(struct report *rp, const struct wsmon_record *rec)
{
	struct peaks_view *v = rp->data;
	const struct wsmon_rec_stack *stack = (const void *)rec;

	mappings_add(v->taken.mappings, rec);
	events_add(&v->events, rec);
	after_add(&v->after, &rp->reader.header.attrs, rec);
	/* whatever the time of a stack, it is printed if its peak or mark is */
	if (rec->type == WSMON_REC_STACK && stack->reason != WSMON_STACK_ALLOC &&
	    filter_wants_pid(&rp->filter, stack->pid))
		taken_add(&v->taken, stack);
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
 * Peaks of several working sets (all, text, rest) that begin in the same interval share their
 * stacks. The recording has these stacks once, with the number of the first of the peaks.
 */
static struct taken_event peak_event(const struct peaks_view *v,
				     const struct peak *p)
{
	struct taken_event event = {
		.reason = WSMON_STACK_PEAK, .pid = p->pid, .of = p->number,
	};
	const struct peak *q = p;
	struct taken *t;
	__u32 i;

	/* at most one peak of each working set begins in an interval */
	for (i = 0; i < WSMON_PEAK_GROUPS && q && q->start_ns == p->start_ns;
	     i++, q = events_peak(&v->events, p->pid, q->number - 1)) {
		event.number = q->number;
		if (taken_of(&v->taken, &event, &t))
			return event;
	}
	event.number = p->number;
	return event;
}

static struct taken_event mark_event(const struct mark *m)
{
	return (struct taken_event) {
		.reason = WSMON_STACK_MARK, .number = m->number, .of = m->number,
	};
}

static void print_peak(struct report *rp, struct table *t, const struct peak *p)
{
	table_row(t, &(struct peak_row) {
		.number = p->number ? p->number : UNKNOWN_U64,
		.t = filter_time(&rp->filter, p->start_ns),
		.pid = p->pid,
		.group = peak_group_name(p->group),
		.sign = p->sign < 0 ? "down" : "up",
		.duration_ns = p->end_ns ? p->end_ns - p->start_ns :
					      UNKNOWN_U64,
		.height = p->height,
		.baseline = p->baseline, .threshold = p->threshold,
		.bytes = p->bytes, .low = p->low, .high = p->high,
		.found = p->number ? "live" : "afterwards",
	});
}

static bool for_people(const struct report *rp)
{
	return rp->out.format == TABLE_HUMAN || rp->out.format == TABLE_RAW;
}

static size_t print_peaks(struct report *rp)
{
	struct table *t = report_table(rp, &peak_table);
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
		/* dips have no stacks */
		if (!for_people(rp) || p->sign < 0)
			continue;
		table_flush(t);
		taken_print(rp, &v->taken, &event);
	}
	table_end(t);
	return n;
}

static size_t print_marks(struct report *rp)
{
	struct table *t = report_table(rp, &mark_table);
	struct peaks_view *v = rp->data;
	size_t i, n = 0;

	for (i = 0; i < v->events.nr_marks; i++) {
		const struct mark *m = &v->events.mark[i];
		struct taken_event event = mark_event(m);

		if (!wants_time(rp, m->time_ns, m->time_ns))
			continue;
		if (!n++ && for_people(rp) && (v->events.peaks.nr || v->after.nr))
			fputc('\n', rp->out.f);
		table_row(t, &(struct mark_row) {
			.number = m->number, .t = filter_time(&rp->filter, m->time_ns),
			.text = m->text,
		});
		if (!for_people(rp))
			continue;
		table_flush(t);
		if (taken_once(&v->taken, &event))
			taken_print(rp, &v->taken, &event);
		else
			fputs("    same stacks as the earlier mark with this number\n", rp->out.f);
	}
	table_end(t);
	return n;
}

/*
 * Lists the wanted peaks and marks. Leaves out a mark with the number of an earlier mark, because
 * stacks are recorded once for each number. Return: malloc()ed; @nr gets their number
 */
static struct taken_event *wanted_events(struct report *rp, size_t *nr)
{
	struct peaks_view *v = rp->data;
	struct taken_event *event =
		need(calloc(v->events.peaks.nr + v->events.nr_marks + 1, sizeof(*event)));
	const struct peak *p;
	size_t i, n = 0;

	for (i = 0; (p = events_peak_at(&v->events, i)); i++)
		if (wants_peak(rp, p))
			event[n++] = peak_event(v, p);
	for (i = 0; i < v->events.nr_marks; i++) {
		const struct mark *m = &v->events.mark[i];

		event[n] = mark_event(m);
		n += wants_time(rp, m->time_ns, m->time_ns) && taken_once(&v->taken, &event[n]);
	}
	*nr = n;
	return event;
}

static void print_stacks(struct report *rp)
{
	struct table *table = report_table(rp, &stack_table);
	struct peaks_view *v = rp->data;
	size_t i, nr;
	struct taken_event *event = wanted_events(rp, &nr);

	for (i = 0; i < nr; i++)
		taken_rows(rp, &v->taken, &event[i], table);
	free(event);
	table_end(table);
	if (rp->out.format == TABLE_CSV)
		fputc('\n', rp->out.f);
	taken_frames(rp, &v->taken);
}

static void print_folded(struct report *rp)
{
	struct peaks_view *v = rp->data;
	size_t i, n, nr;
	struct taken_event *event = wanted_events(rp, &nr);
	struct taken *t;

	for (i = 0; i < nr; i++)
		for (n = taken_of(&v->taken, &event[i], &t); n; n--, t++)
			t->chosen = true;
	free(event);
	taken_print_folded(rp, &v->taken);
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
		msg(rp->of_cgroup ? "no marks and no peaks: peaks are found only for processes, and a cgroup was recorded as a whole" :
				    "no peaks and no marks");
	}
}

static void peaks_end(struct report *rp)
{
	struct peaks_view *v = rp->data;

	taken_fold(&v->taken);
	after_judge(&v->after, &v->events, &rp->reader.header.attrs);
	if (options.folded)
		print_folded(rp);
	else
		print_all(rp);
	fflush(rp->out.f);
	calls_free(v->taken.calls);
	free(v->taken.t);
	mappings_free(v->taken.mappings);
	collect_events_free(&v->events);
	after_free(&v->after);
	free(v);
}

static const struct option_desc own[] = {
	{ "folded", 0, NULL, "Only stacks, for flame graphs: 'thread;outer;...;inner count'", OPT_FLAG,
	  OPT_AT(struct peaks_options, folded) },
	{ 0 }
};

REPORT_VIEW(peaks_view) = {
	.order = 4,
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
