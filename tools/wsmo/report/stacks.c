// SPDX-License-Identifier: GPL-2.0
/*
 * stacks.c - prints the stacks of "wsmo report peaks"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "peaks.h"

enum {
	S_REASON, S_N, S_T, S_PID, S_STACK, S_THREADS, S_OF, S_COMM, S_STOPPED,
	S_ERROR,
};

static const struct column stack_columns[] = {
	[S_REASON]  = { "reason", "REASON", COL_TEXT, 6, 0 },
	[S_N]	    = { "number", "N", COL_COUNT, 3, 0 },
	[S_T]	    = { "t", "TIME", COL_T, 8, 0 },
	[S_PID]	    = { "pid", "PID", COL_COUNT, 7, 0 },
	[S_STACK]   = { "stack", "STACK", COL_COUNT, 5, 0 },
	[S_THREADS] = { "threads", "THREADS", COL_COUNT, 7, 0 },
	[S_OF]	    = { "threads_all", "OF", COL_COUNT, 5, 0 },
	[S_COMM]    = { "comm", "NAME", COL_TEXT, 15, 0 },
	[S_STOPPED] = { "stopped_ns", "STOPPED", COL_NS, 8, 0 },
	[S_ERROR]   = { "error", "ERROR", COL_TEXT, 8, 0 },
};

const struct table_desc peaks_stack_desc = {
	.type = "stack", .columns = stack_columns, .nr = ARRAY_SIZE(stack_columns),
};

enum { F_STACK, F_FRAME, F_FUNCTION, F_FILE, F_LINE, F_PATH, F_OFFSET, F_PC };

static const struct column frame_columns[] = {
	[F_STACK]    = { "stack", "STACK", COL_COUNT, 5, 0 },
	[F_FRAME]    = { "frame", "FRAME", COL_COUNT, 5, 0 },
	[F_FUNCTION] = { "function", "FUNCTION", COL_TEXT, 8, 0 },
	[F_FILE]     = { "file", "FILE", COL_TEXT, 8, 0 },
	[F_LINE]     = { "line", "LINE", COL_COUNT, 5, 0 },
	[F_PATH]     = { "path", "PATH", COL_TEXT, 8, 0 },
	[F_OFFSET]   = { "offset", "OFFSET", COL_ADDR, 8, 0 },
	[F_PC]	     = { "pc", "PC", COL_ADDR, 8, 0 },
};

const struct table_desc peaks_frame_desc = {
	.type = "frame", .columns = frame_columns, .nr = ARRAY_SIZE(frame_columns),
};

void taken_add(struct taken_list *l, struct calls *cs,
	       const struct mappings *ms, const struct wsmon_rec_stack *rec)
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
		t->stack = calls_take(cs, ms, rec);
}

/* By event, then by target */
static int compare(const void *x, const void *y)
{
	const struct taken *a = x, *b = y;

	return COMPARE(a->reason, b->reason) ?: COMPARE(a->number, b->number) ?:
	       COMPARE(a->pid, b->pid) ?: COMPARE(a->time_ns, b->time_ns);
}

/* Those of an event and a target that are alike together, in the order of the list */
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

void taken_fold(struct taken_list *l, struct calls *cs,
		const struct mappings *ms)
{
	size_t i;

	if (l->nr)
		qsort(l->t, l->nr, sizeof(*l->t), compare);
	for (i = 0; i < l->nr; i++)
		if (l->t[i].stack)
			l->t[i].stack = calls_fold(cs, ms, l->t[i].pid,
						   l->t[i].stack);
	count_alike(l);
}

static bool is_of(const struct taken *t, const struct taken_event *event)
{
	return t->reason == event->reason && t->number == event->number &&
	       (!event->pid || t->pid == event->pid);
}

/* Return: index of the first stack of an event, or where it would be */
static size_t find(const struct taken_list *l, const struct taken_event *event)
{
	const struct taken key = {
		.reason = event->reason, .number = event->number,
		.pid = event->pid,
	};
	size_t low = 0, high = l->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(&l->t[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool taken_any(const struct taken_list *l, const struct taken_event *event)
{
	size_t i = find(l, event);

	return i < l->nr && is_of(&l->t[i], event);
}

bool taken_once(struct taken_list *l, const struct taken_event *event)
{
	size_t i = find(l, event);
	bool again;

	if (i == l->nr || !is_of(&l->t[i], event))
		return true;
	again = l->t[i].given;
	l->t[i].given = true;
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

/* The program's innermost function: most stacks end in a library that waits */
static const struct call *telling(const struct callstack *s)
{
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		const char *path = s->call[i].path, *slash = path ? strrchr(path, '/') : NULL;

		if (s->call[i].function && path && !strstr(slash ? slash : path, ".so"))
			return &s->call[i];
	}
	return s->call;
}

/* Of threads that are alike the first */
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
		       calls_text(text, telling(s)));
		return;
	}
	if (rp->out.format == TABLE_RAW)
		fprintf(f, "stack %u, stopped_ns=%llu\n", s->number, t->longest_ns);
	else
		fprintf(f, "stack %u, stopped for %s\n", s->number,
		       units_time(time, t->longest_ns));
	print_calls(rp, s);
}

void taken_print(const struct report *rp, const struct taken_list *l,
		 struct calls *cs, const struct taken_event *event)
{
	size_t i;

	if (!taken_any(l, event))
		fputs("    no stacks\n", rp->out.f);
	for (i = find(l, event); i < l->nr && is_of(&l->t[i], event); i++)
		if (l->t[i].alike)
			print_alike(rp, cs, &l->t[i]);
}

void taken_rows(const struct report *rp, const struct taken_list *l,
		struct calls *cs, const struct taken_event *event,
		struct table *table)
{
	size_t i;

	for (i = find(l, event); i < l->nr && is_of(&l->t[i], event); i++) {
		const struct taken *t = &l->t[i];

		if (!t->alike)
			continue;
		if (t->stack)
			calls_number(cs, t->stack);
		table_row(table, (struct cell[]) {
			[S_REASON]  = cell_s(event->reason == WSMON_STACK_PEAK ?
					     "peak" : "mark"),
			[S_N]	    = cell_u(event->of),
			[S_T]	    = cell_d(filter_time(&rp->filter, t->time_ns)),
			[S_PID]	    = cell_u(t->pid),
			[S_STACK]   = t->stack ? cell_u(t->stack->number) :
						 (struct cell){ 0 },
			[S_THREADS] = cell_u(t->alike),
			[S_OF]	    = cell_u(t->threads),
			[S_COMM]    = cell_s(t->comm),
			[S_STOPPED] = cell_u(t->longest_ns),
			[S_ERROR]   = t->stack ? (struct cell){ 0 } :
						 cell_s(strerror(t->error)),
		});
	}
}

static struct cell text_or_none(const char *s)
{
	return s ? cell_s(s) : (struct cell){ 0 };
}

static void frame_rows(struct table *table, const struct callstack *s)
{
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		const struct call *c = &s->call[i];

		table_row(table, (struct cell[]) {
			[F_STACK]    = cell_u(s->number),
			[F_FRAME]    = cell_u(i),
			[F_FUNCTION] = text_or_none(c->function),
			[F_FILE]     = text_or_none(c->file),
			[F_LINE]     = c->file ? cell_u(c->line) :
						 (struct cell){ 0 },
			[F_PATH]     = text_or_none(c->path),
			[F_OFFSET]   = c->path ? cell_u(c->offset) :
						 (struct cell){ 0 },
			[F_PC]	     = cell_u(c->pc),
		});
	}
}

void taken_frames(const struct report *rp, const struct calls *cs)
{
	struct table *table = report_table(rp, &peaks_frame_desc);
	const struct callstack *s;
	__u32 number;

	for (number = 1; (s = calls_numbered(cs, number)); number++)
		frame_rows(table, s);
	table_end(table);
}

void taken_choose(struct taken_list *l, const struct taken_event *event)
{
	size_t i;

	for (i = find(l, event); i < l->nr && is_of(&l->t[i], event); i++)
		l->t[i].chosen = true;
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

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

void taken_print_folded(const struct report *rp, const struct taken_list *l)
{
	char **line = need(calloc(l->nr + 1, sizeof(*line)));
	size_t i, n = 0, count = 0;

	for (i = 0; i < l->nr; i++)
		if (l->t[i].chosen && l->t[i].stack)
			line[n++] = folded_line(&l->t[i]);
	if (n)
		qsort(line, n, sizeof(*line), compare_lines);
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
