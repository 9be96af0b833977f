// SPDX-License-Identifier: GPL-2.0
/*
 * model.c - who touched memory: the records of a recording, and their sums
 *
 * A WHO record is the first access to a page after a random moment. It stands for some
 * memory of the target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "libwsmon/mappings.h"
#include "libwsmon/reader.h"
#include "libwsmon/sorted.h"
#include "model.h"
#include "symbols/symbols.h"

#define OBJECT_TEXT	256
#define OBJECTS_MAX	(1 << 20)
#define SAMPLES_MAX	(1 << 24)

/* Pages that were drawn at one moment: what those that were touched stand for */
struct draw {
	__u64 armed_ns;
	double bytes;
};

/**
 * struct who_private - how records get their names
 * @mappings:	what was mapped so far
 * @calls:	names of functions
 * @objects:	char *, each once
 * @room:	rows there is memory for
 * @too_many:	there were more than SAMPLES_MAX records
 * @draws:	struct draw
 * @drawn:	what is added up of the draw and the row that are being added up
 * @node:	the first NUMA node seen, of a processor or of memory; -1: none
 * @stats:	the last counters
 */
struct who_private {
	struct mappings *mappings;
	struct calls *calls;
	struct sorted objects;
	size_t room;
	bool too_many;
	struct sorted draws;
	double drawn;
	__s32 node;
	struct wsmon_rec_stats stats;
};

static int compare_strings(const void *x, const void *y)
{
	return strcmp(*(char * const *)x, *(char * const *)y);
}

static int compare_draws(const void *x, const void *y)
{
	const struct draw *a = x, *b = y;

	return COMPARE(a->armed_ns, b->armed_ns);
}

struct who *who_new(void)
{
	struct who *w = need(calloc(1, sizeof(*w)));
	struct who_private *v = w->private = need(calloc(1, sizeof(*v)));

	v->mappings = need(mappings_new());
	v->calls = calls_new();
	v->node = -1;
	v->objects = (struct sorted) {
		.size = sizeof(char *), .max = OBJECTS_MAX, .compare = compare_strings,
		.lazy = true,
	};
	v->draws = (struct sorted) {
		.size = sizeof(struct draw), .max = SAMPLES_MAX, .compare = compare_draws,
		.lazy = true,
	};
	return w;
}

static const char *keep(struct who_private *v, const char *text)
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
static const char *object_of(struct who_private *v, __u32 pid, __u64 address)
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

static struct callstack *code_of(struct who_private *v, const struct wsmon_rec_who *who)
{
	_Alignas(struct wsmon_rec_stack) char room[sizeof(struct wsmon_rec_stack) + sizeof(who->ip)];
	struct wsmon_rec_stack *stack = memset(room, 0, sizeof(room));

	stack->pid = who->pid;
	stack->nr = 1;
	stack->pc[0] = who->ip;
	return calls_take(v->calls, v->mappings, stack);
}

static void take_node(struct who *w, __s32 node)
{
	if (node < 0)
		return;
	if (w->private->node < 0)
		w->private->node = node;
	w->nodes |= w->private->node != node;
}

static void take_who(struct who *w, const struct wsmon_rec_who *who)
{
	bool write = who->flags & WSMON_WHO_WRITE, placed = who->node >= 0 && who->cpu_node >= 0;
	struct draw key = { .armed_ns = who->rec.time_ns - who->waited_ns }, *draw;
	struct who_private *v = w->private;
	double bytes = who->bytes;
	struct who_row *row;

	if (w->nr == SAMPLES_MAX) {
		v->too_many = true;
		return;
	}
	if (w->nr == v->room) {
		v->room = v->room ? 2 * v->room : 1024;
		w->row = need(reallocarray(w->row, v->room, sizeof(*w->row)));
	}
	row = &w->row[w->nr++];
	*row = (struct who_row) {
		.pid = who->pid, .tid = who->tid, .address = who->address,
		.stack = code_of(v, who), .object = object_of(v, who->pid, who->address),
		.cpu_node = who->cpu_node, .node = who->node,
		.reads = !write, .writes = write, .first = !!(who->flags & WSMON_WHO_NEW),
		.bytes = bytes, .written = write ? bytes : 0, .placed = placed ? bytes : 0,
		.remote = placed && who->node != who->cpu_node ? bytes : 0,
		.armed_ns = key.armed_ns,
	};
	memcpy(row->comm, who->comm, sizeof(row->comm));
	w->bytes += bytes;
	draw = need(sorted_get(&v->draws, &key));
	evidence_add(&w->all, bytes, draw->bytes, 0);
	draw->bytes += bytes;
	w->draws = v->draws.nr;
	take_node(w, who->node);
	take_node(w, who->cpu_node);
}

void who_record(struct who *w, const struct filter *filter, bool first, const struct wsmon_record *rec)
{
	const struct wsmon_rec_who *who = (const void *)rec;
	struct who_private *v = w->private;

	mappings_add(v->mappings, rec);
	if (rec->type == WSMON_REC_STATS)
		wsmon_record_copy(rec, &v->stats, sizeof(v->stats));
	else if (rec->type == WSMON_REC_WHO && filter_wants(filter, rec) &&
		 (!first || who->flags & WSMON_WHO_NEW))
		take_who(w, who);
}

/* Rows by what they are of */
static int compare_keys(const void *x, const void *y)
{
	const struct who_row *a = x, *b = y;
	/* calls_fold() and keep(): equal ones are at equal addresses */
	int c = COMPARE(a->pid, b->pid) ?: COMPARE(a->stack, b->stack) ?:
		COMPARE(a->object, b->object) ?: COMPARE(a->tid, b->tid) ?:
		COMPARE(a->cpu_node, b->cpu_node) ?: COMPARE(a->node, b->node);

	return c ?: strcmp(a->comm, b->comm);
}

static int compare_records(const void *x, const void *y)
{
	const struct who_row *a = x, *b = y;

	return compare_keys(a, b) ?: COMPARE(a->armed_ns, b->armed_ns);
}

static int compare_rows(const void *x, const void *y)
{
	const struct who_row *a = x, *b = y;

	return COMPARE(b->bytes, a->bytes) ?: COMPARE(b->reads + b->writes, a->reads + a->writes) ?:
	       COMPARE(a->pid, b->pid) ?: COMPARE(a->tid, b->tid) ?:
	       COMPARE(a->address, b->address) ?: COMPARE(a->cpu_node, b->cpu_node) ?:
	       COMPARE(a->node, b->node);
}

/* Names that came later, and what @by leaves */
static void name(struct who_private *v, struct who_row *row, enum who_by by)
{
	bool all = by == WHO_BY_ALL;

	if (!all && by != WHO_BY_THREAD) {
		row->tid = 0;
		memset(row->comm, 0, sizeof(row->comm));
	}
	row->stack = all || by == WHO_BY_FUNCTION ?
		     calls_fold(v->calls, v->mappings, row->pid, row->stack) : NULL;
	if (!all && by != WHO_BY_OBJECT)
		row->object = NULL;
	else if (!row->object)
		row->object = object_of(v, row->pid, row->address) ?: keep(v, "");
	if (by != WHO_BY_NODE)
		row->cpu_node = row->node = -1;
}

static void add(struct who_row *to, const struct who_row *row)
{
	to->reads += row->reads;
	to->writes += row->writes;
	to->first += row->first;
	to->bytes += row->bytes;
	to->written += row->written;
	to->placed += row->placed;
	to->remote += row->remote;
	if (row->address < to->address)
		to->address = row->address;
}

/* Of records of one row by their draws; @before: the one before this one, or NULL */
static void add_evidence(struct who_private *v, struct evidence *of, double bytes, __u64 armed_ns,
			 const __u64 *before)
{
	const struct draw key = { .armed_ns = armed_ns }, *draw = sorted_find(&v->draws, &key);

	if (!before || *before != armed_ns)
		v->drawn = 0;
	evidence_add(of, bytes, v->drawn, draw->bytes);
	v->drawn += bytes;
}

void who_sum_up(struct who *w, enum who_by by)
{
	size_t i, nr = 0;

	if (!w->nr)
		return;
	for (i = 0; i < w->nr; i++)
		name(w->private, &w->row[i], by);
	qsort(w->row, w->nr, sizeof(*w->row), compare_records);
	for (i = 0; i < w->nr; i++) {
		const struct who_row row = w->row[i];
		const bool more = nr && !compare_keys(&w->row[nr - 1], &row);
		struct who_row *to = &w->row[more ? nr - 1 : nr++];

		if (more)
			add(to, &row);
		else
			*to = row;
		add_evidence(w->private, &to->of, row.bytes, row.armed_ns,
			     more ? &to->armed_ns : NULL);
		to->armed_ns = row.armed_ns;
	}
	w->nr = nr;
	qsort(w->row, nr, sizeof(*w->row), compare_rows);
}

void who_free(struct who *w)
{
	struct who_private *v = w->private;
	const struct wsmon_rec_stats *st = &v->stats;
	char **object = v->objects.base;
	size_t i;

	if (w->nr && st->who_huge)
		msg("%.0f %% of the pages drawn are parts of huge pages: who touches these is not seen",
		    100.0 * st->who_huge / (st->who_armed + st->who_absent + st->who_huge));
	if (v->too_many)
		msg("too many records: only the first %d are reported", SAMPLES_MAX);
	calls_free(v->calls);
	mappings_free(v->mappings);
	for (i = 0; i < v->objects.nr; i++)
		free(object[i]);
	free(v->objects.base);
	free(v->draws.base);
	free(v);
	free(w->row);
	free(w);
}
