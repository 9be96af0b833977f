// SPDX-License-Identifier: GPL-2.0
/*
 * who.c - "wsmo report who": which threads and functions touch what memory
 *
 * A WHO record is the first access to a page after a random moment. It stands for some
 * memory of the target. The share of a row is what its records stand for, of all of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "libwsmon/mappings.h"
#include "libwsmon/sorted.h"
#include "report/report.h"
#include "symbols/calls.h"
#include "symbols/symbols.h"

#define OBJECT_TEXT	256
#define OBJECTS_MAX	(1 << 20)
#define SAMPLES_MAX	(1 << 24)

enum {
	SHARE, LOW, HIGH, READS, WRITES, PID, TID, COMM, CODE, FUNCTION, FILENAME, LINE, OBJECT,
};

static const struct column columns[] = {
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0 },
	[LOW]	= { "low", "LOW", COL_RATIO, 7, 0 },
	[HIGH]	= { "high", "HIGH", COL_RATIO, 7, 0 },
	[READS]	= { "reads", "READS", COL_COUNT, 6, 0 },
	[WRITES] = { "writes", "WRITES", COL_COUNT, 6, 0 },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[TID]	= { "tid", "TID", COL_COUNT, 7, 0 },
	[COMM]	= { "comm", "THREAD", COL_TEXT, 15, 0 },
	[CODE]	= { "code", "FUNCTION", COL_TEXT, 8, NOT_JSON | NOT_CSV },
	[FUNCTION] = { "function", "FUNCTION", COL_TEXT, 8, NOT_HUMAN },
	[FILENAME] = { "file", "FILE", COL_TEXT, 8, NOT_HUMAN },
	[LINE]	= { "line", "LINE", COL_COUNT, 5, NOT_HUMAN },
	[OBJECT] = { "object", "OBJECT", COL_TEXT, 8, 0 },
};

/* What a row is of, with --by */
enum by { BY_ALL, BY_FUNCTION, BY_THREAD, BY_OBJECT };

/* The columns that it leaves without values */
static const bool empty[][ARRAY_SIZE(columns)] = {
	[BY_FUNCTION]	= { [TID] = true, [COMM] = true, [OBJECT] = true },
	[BY_THREAD]	= { [CODE] = true, [OBJECT] = true },
	[BY_OBJECT]	= { [TID] = true, [COMM] = true, [CODE] = true },
};

struct who_options {
	enum by by;
	bool folded;
	__u32 top;
};

/**
 * struct seen - a record, or the sum of several
 * @pid:	the target
 * @tid:	the thread
 * @comm:	its name
 * @stack:	the instruction, with its function; NULL in a row of something else
 * @address:	what was accessed
 * @object:	what that is; kept once, so equal ones are at equal addresses. NULL if it
 *		was not known when the record was read, or in a row of something else
 * @reads:	records that were reads
 * @writes:	records that were writes
 * @bytes:	memory they stand for
 */
struct seen {
	__u32 pid;
	__u32 tid;
	char comm[WSMON_COMM_LEN];
	struct callstack *stack;
	__u64 address;
	const char *object;
	__u64 reads;
	__u64 writes;
	double bytes;
};

struct view {
	struct mappings *mappings;
	struct calls *calls;
	struct sorted objects;		/* char *, each once */
	struct seen *seen;
	size_t nr;
	size_t room;
	bool too_many;
	double bytes, squares;
	struct wsmon_rec_stats stats;
};

static int compare_strings(const void *x, const void *y)
{
	return strcmp(*(char * const *)x, *(char * const *)y);
}

static void who_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->mappings = need(mappings_new());
	v->calls = calls_new();
	v->objects = (struct sorted) {
		.size = sizeof(char *), .max = OBJECTS_MAX, .compare = compare_strings,
	};
	rp->data = v;
}

static const char *keep(struct view *v, const char *text)
{
	char **s = sorted_find(&v->objects, &text), *copy;

	if (s)
		return *s;
	copy = need(strdup(text));
	need(sorted_get(&v->objects, &copy));
	return copy;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Return: a variable, or what is mapped there; NULL if that is not known */
static const char *object_of(struct view *v, __u32 pid, __u64 address)
{
	const struct mapping *m = mappings_find(v->mappings, pid, address);
	char text[OBJECT_TEXT];
	struct module module;
	struct symbol symbol;

	if (!m)
		return NULL;
	if (mappings_module(v->mappings, pid, address, &module) &&
	    symbols_find(calls_symbols(v->calls), &module, address, &symbol))
		snprintf(text, sizeof(text), "%s", symbol.name);
	else if (m->tid && !*m->path)
		/* memory beside it may belong to the same mapping */
		snprintf(text, sizeof(text), "anonymous %#llx, with the stack of thread %u",
			 m->start, m->tid);
	else if (*m->path)
		snprintf(text, sizeof(text), "%s", base_name(m->path));
	else
		snprintf(text, sizeof(text), "anonymous %#llx", m->start);
	return keep(v, text);
}

static struct callstack *code_of(struct view *v, const struct wsmon_rec_who *who)
{
	_Alignas(struct wsmon_rec_stack) char room[sizeof(struct wsmon_rec_stack) + sizeof(who->ip)];
	struct wsmon_rec_stack *stack = memset(room, 0, sizeof(room));

	stack->pid = who->pid;
	stack->nr = 1;
	stack->pc[0] = who->ip;
	return calls_take(v->calls, v->mappings, stack);
}

static void take_who(struct view *v, const struct wsmon_rec_who *who)
{
	bool write = who->flags & WSMON_WHO_WRITE;
	struct seen *s;

	if (v->nr == SAMPLES_MAX) {
		v->too_many = true;
		return;
	}
	if (v->nr == v->room) {
		v->room = v->room ? 2 * v->room : 1024;
		v->seen = need(reallocarray(v->seen, v->room, sizeof(*v->seen)));
	}
	s = &v->seen[v->nr++];
	*s = (struct seen) {
		.pid = who->pid, .tid = who->tid, .address = who->address,
		.stack = code_of(v, who), .object = object_of(v, who->pid, who->address),
		.reads = !write, .writes = write, .bytes = who->bytes,
	};
	memcpy(s->comm, who->comm, sizeof(s->comm));
	v->bytes += s->bytes;
	v->squares += s->bytes * s->bytes;
}

static void who_record(struct report *rp, const struct wsmon_record *rec)
{
	struct view *v = rp->data;

	mappings_add(v->mappings, rec);
	if (rec->type == WSMON_REC_STATS)
		reader_copy(rec, &v->stats, sizeof(v->stats));
	else if (rec->type == WSMON_REC_WHO && filter_wants(&rp->filter, rec))
		take_who(v, (const void *)rec);
}

/* Rows by what they are of */
static int compare_keys(const void *x, const void *y)
{
	const struct seen *a = x, *b = y;
	/* calls_fold() and keep(): equal ones are at equal addresses */
	int c = COMPARE(a->pid, b->pid) ?: COMPARE(a->stack, b->stack) ?:
		COMPARE(a->object, b->object) ?: COMPARE(a->tid, b->tid);

	return c ?: strcmp(a->comm, b->comm);
}

static int compare_rows(const void *x, const void *y)
{
	const struct seen *a = x, *b = y;

	return COMPARE(b->bytes, a->bytes) ?: COMPARE(b->reads + b->writes, a->reads + a->writes) ?:
	       COMPARE(a->pid, b->pid) ?: COMPARE(a->tid, b->tid) ?:
	       COMPARE(a->address, b->address);
}

/* Names that came later, and what --by leaves */
static void name(struct view *v, struct seen *s, enum by by)
{
	s->stack = calls_fold(v->calls, v->mappings, s->pid, s->stack);
	if (!s->object)
		s->object = object_of(v, s->pid, s->address) ?: "";
	if (by == BY_FUNCTION || by == BY_OBJECT) {
		s->tid = 0;
		memset(s->comm, 0, sizeof(s->comm));
	}
	if (by == BY_THREAD || by == BY_OBJECT)
		s->stack = NULL;
	if (by == BY_THREAD || by == BY_FUNCTION)
		s->object = NULL;
}

/* Add equal ones up. Return: the number of rows, which come first */
static size_t sum_up(struct view *v, enum by by)
{
	size_t i, nr = 0;

	for (i = 0; i < v->nr; i++)
		name(v, &v->seen[i], by);
	if (v->nr)
		qsort(v->seen, v->nr, sizeof(*v->seen), compare_keys);
	for (i = 0; i < v->nr; i++) {
		struct seen *to = &v->seen[nr], *s = &v->seen[i];

		if (nr && !compare_keys(to - 1, s)) {
			to[-1].reads += s->reads;
			to[-1].writes += s->writes;
			to[-1].bytes += s->bytes;
			if (s->address < to[-1].address)
				to[-1].address = s->address;
			continue;
		}
		*to = *s;
		nr++;
	}
	if (nr)
		qsort(v->seen, nr, sizeof(*v->seen), compare_rows);
	return nr;
}

/* Wilson's interval at 95 %, of @n independent samples */
static void wilson(double p, double n, double *low, double *high)
{
	const double z = 1.96, d = 1 + z * z / n, mid = (p + z * z / (2 * n)) / d;
	double half = z / d * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

	*low = p > 0 ? fmax(mid - half, 0) : 0;
	*high = p < 1 ? fmin(mid + half, 1) : 1;
}

static struct cell text_or_none(const char *s)
{
	return s && *s ? cell_s(s) : (struct cell){ 0 };
}

static void print_row(struct view *v, struct table *table, const struct seen *s)
{
	const struct call *c = s->stack ? &s->stack->call[0] : NULL;
	/* records that stand for more than others count for fewer */
	double low, high, share = s->bytes / v->bytes, n = v->bytes * v->bytes / v->squares;
	char text[CALL_TEXT], comm[4 * WSMON_COMM_LEN + 1];

	wilson(share, n, &low, &high);
	table_row(table, (struct cell[]) {
		[SHARE]	= cell_d(share),
		[LOW]	= cell_d(low),
		[HIGH]	= cell_d(high),
		[READS]	= cell_u(s->reads),
		[WRITES] = cell_u(s->writes),
		[PID]	= cell_u(s->pid),
		[TID]	= s->tid ? cell_u(s->tid) : (struct cell){ 0 },
		[COMM]	= text_or_none(text_clean(comm, sizeof(comm), s->comm)),
		[CODE]	= c ? cell_s(calls_text(text, c)) : (struct cell){ 0 },
		[FUNCTION] = text_or_none(c ? c->function : NULL),
		[FILENAME] = text_or_none(c ? c->file : NULL),
		[LINE]	= c && c->file ? cell_u(c->line) : (struct cell){ 0 },
		[OBJECT] = text_or_none(s->object),
	});
}

static void print_folded(FILE *f, const struct seen *s, const char *how, __u64 nr)
{
	char text[CALL_TEXT];

	if (!nr)
		return;
	calls_print_part(f, *s->comm ? text_clean(text, sizeof(text), s->comm) : "all");
	if (s->stack) {
		fputc(';', f);
		calls_print_part(f, calls_text(text, &s->stack->call[0]));
	}
	if (s->object) {
		fputc(';', f);
		calls_print_part(f, text_clean(text, sizeof(text), s->object));
	}
	fprintf(f, ";%s %llu\n", how, nr);
}

static void print_all(struct report *rp, size_t nr)
{
	const struct who_options *opt = rp->options;
	struct column filled[ARRAY_SIZE(columns)];
	const struct table_desc desc = { .type = "who", .columns = filled, .nr = ARRAY_SIZE(columns) };
	struct view *v = rp->data;
	struct table *table;
	size_t i;

	memcpy(filled, columns, sizeof(filled));
	for (i = 0; i < desc.nr; i++) {
		if (empty[opt->by][i])
			filled[i].not_in |= NOT_HUMAN;
	}
	table = opt->folded ? NULL : report_table(rp, &desc);
	for (i = 0; i < nr; i++) {
		if (opt->folded) {
			print_folded(rp->out.f, &v->seen[i], "read", v->seen[i].reads);
			print_folded(rp->out.f, &v->seen[i], "write", v->seen[i].writes);
		} else if (i < opt->top) {
			print_row(v, table, &v->seen[i]);
		}
	}
	table_end(table);
}

static void who_end(struct report *rp)
{
	struct view *v = rp->data;
	const struct wsmon_rec_stats *st = &v->stats;
	const struct who_options *opt = rp->options;
	char **object;
	__u64 looked = st->who_armed + st->who_absent + st->who_huge;
	size_t i;

	if (v->nr)
		print_all(rp, sum_up(v, opt->by));
	else
		msg("no records of who touched memory: wsmo record --who makes them");
	if (v->nr && st->who_huge)
		msg("%.0f %% of the pages drawn are parts of huge pages: who touches these is not seen",
		    100.0 * st->who_huge / looked);
	if (v->too_many)
		msg("too many records: only the first %d are reported", SAMPLES_MAX);
	calls_free(v->calls);
	mappings_free(v->mappings);
	for (i = 0, object = v->objects.base; i < v->objects.nr; i++)
		free(object[i]);
	free(v->objects.base);
	free(v->seen);
	free(v);
}

static const struct option_desc own[] = {
	{ "by", 0, "all|function|thread|object", "What a row is of (all: each of the three)", OPT_CHOICE,
	  OPT_AT(struct who_options, by) },
	{ "top", 0, "N", "Rows, the largest shares first (50)", OPT_COUNT,
	  OPT_AT(struct who_options, top), 1, 1000000 },
	{ "folded", 0, NULL, "For flame graphs: 'thread;function;object;read count'", OPT_FLAG,
	  OPT_AT(struct who_options, folded) },
	{ 0 }
};

static struct who_options options = { .top = 50 };

const struct report_view report_who = {
	.name = "who",
	.help = "Which threads and functions touch what memory (record --who)",
	.takes = TAKES_FORMAT,
	.own = own,
	.options = &options,
	.of_processes = true,
	.no_snapshots = true,
	.begin = who_begin,
	.record = who_record,
	.end = who_end,
};
