// SPDX-License-Identifier: GPL-2.0
/* who.c - "wsmo report who": which threads and functions access which memory */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asset.h"
#include "collect.h"
#include "core/cli.h"
#include "core/table.h"
#include "core/text.h"
#include "libwsmon/filter.h"
#include "libwsmon/mappings.h"
#include "libwsmon/reader.h"
#include "libwsmon/sorted.h"
#include "libwsmon/stats.h"
#include "libwsmon/wsmon_records.h"
#include "names/calls.h"
#include "names/symbols.h"
#include "plot.h"
#include "report.h"
#include "who.h"

/*
 * The confidence interval of a share
 *
 * A record stands for a number of bytes. A share is a ratio of two sums of these bytes: over the
 * records of a row, and over all records. If records stand for different numbers of bytes, the
 * interval of a share is wider where few records stand for many bytes.
 *
 * All pages drawn at one moment are one draw. They have even distances from a random start, so each
 * draw has nearly the same number of pages of any large range of memory. So the records of a draw
 * are not independent of each other, but draws are.
 */

/**
 * struct evidence - sums over the records of a row, or over all records
 * @bytes:	sum over records: the bytes for which a record stands
 * @squares:	sum over records: the squares of these bytes
 * @draws:	sum over draws: the square of the bytes of the row's records in the draw
 * @cross:	sum over draws: the bytes of the row's records times the bytes of all records
 */
struct evidence {
	double bytes;
	double squares;
	double draws;
	double cross;
};

/**
 * evidence_add() - add a record
 * @e:		the sums
 * @bytes:	bytes for which the record stands
 * @before:	bytes of those records of its draw that were added to @e before
 * @all:	bytes of all records of its draw, whether added to @e or not
 */
static void evidence_add(struct evidence *e, double bytes, double before, double all)
{
	e->bytes += bytes;
	e->squares += bytes * bytes;
	e->draws += bytes * (bytes + 2 * before);
	e->cross += bytes * all;
}

/* The variance of a row's bytes if records were independent; @p: the row's share */
static double of_records(const struct evidence *row, const struct evidence *all, double p)
{
	return (1 - p) * (1 - p) * row->squares + p * p * (all->squares - row->squares);
}

/*
 * The variance of a row's bytes, by the differences between draws. A few draws may agree by chance,
 * so two more draws are added that have the variance @records of of_records(). The last factor
 * widens the interval from Z to Student's t.
 */
static double of_draws(const struct evidence *row, const struct evidence *all, double p,
		       size_t draws, double records)
{
	const double sum = fmax(row->draws - 2 * p * row->cross + p * p * all->draws, 0);
	const double free = draws + 1;

	return (sum * draws + 2 * records) / free * (1 + (Z * Z + 1) / (2 * free));
}

/**
 * evidence_interval() - get the 95 % interval of a share
 * @row:	the records of a row
 * @all:	all records
 * @draws:	number of draws
 * @low, @high:	get the ends of the interval
 */
static void evidence_interval(const struct evidence *row, const struct evidence *all, size_t draws,
			      double *low, double *high)
{
	const double p = row->bytes / all->bytes, square = all->bytes * all->bytes;
	double n = square / all->squares, records, variance;

	/* a share of 1, except for rounding, has no variance */
	if (p > 0 && p < 1 - 1e-9) {
		records = of_records(row, all, p);
		/* if draws differ by more than chance, the program changed: bound the variance */
		variance = draws < 2 ? records :
			   fmin(of_draws(row, all, p, draws, records),
				records * (1 + 2 * sqrt(2.0 / (draws - 1))));
		n = p * (1 - p) * square / variance;
	}
	wilson(p, n, low, high);
}

/*
 * The records of a recording, and their sums
 *
 * A WHO record is the first access to a page after the page was drawn. It stands for some memory of
 * the target.
 */

/**
 * struct who_row - a record, or the sum of the records of a row
 * @pid:	the target
 * @tid:	the thread; 0 in rows that are not by thread
 * @comm:	name of the thread
 * @stack:	the instruction, with its function; NULL in rows that are not by function
 * @address:	lowest address accessed
 * @object:	name of the object, "" if unknown; NULL in rows that are not by object. Equal names
 *		are stored once, at one address
 * @cpu_node:	NUMA node of the processor; -1 if unknown, and in rows that are not by node
 * @node:	NUMA node of the memory; -1 if unknown, and in rows that are not by node
 * @reads:	number of reads
 * @writes:	number of writes
 * @first:	number of reads and writes of pages without an entry in the page table
 * @bytes:	bytes for which the records stand
 * @written:	bytes of @bytes that were written
 * @placed:	bytes of @bytes for which both nodes are known
 * @remote:	bytes of @placed for which the nodes differ
 * @of:		evidence of a sum
 * @armed_ns:	time when the page was drawn; in a sum, of the last record added
 */
struct who_row {
	__u32 pid;
	__u32 tid;
	char comm[WSMON_COMM_LEN];
	struct callstack *stack;
	__u64 address;
	const char *object;
	__s32 cpu_node;
	__s32 node;
	__u64 reads;
	__u64 writes;
	__u64 first;
	double bytes;
	double written;
	double placed;
	double remote;
	struct evidence of;
	__u64 armed_ns;
};

#define OBJECT_TEXT	256
#define OBJECTS_MAX	(1 << 20)
#define SAMPLES_MAX	(1 << 24)

/* Pages drawn at one moment; @bytes: sum over the draw's records */
struct draw {
	__u64 armed_ns;
	double bytes;
};

/**
 * struct who - the records, later their sums
 * @row:	@nr records, later sums; room for @room
 * @bytes:	bytes for which all records stand
 * @all:	evidence of @bytes
 * @draws:	struct draw
 * @drawn:	used while adding up: bytes added so far for the present row and draw
 * @nodes:	there are several NUMA nodes
 * @node:	the first NUMA node seen, of a processor or of memory; -1: none
 * @mappings:	mappings recorded so far
 * @calls:	names of functions
 * @objects:	names of objects, char *
 * @too_many:	there were more than SAMPLES_MAX records
 * @stats:	the last STATS record
 */
struct who {
	struct who_row *row;
	size_t nr, room;
	double bytes;
	struct evidence all;
	struct sorted draws;
	double drawn;
	bool nodes;
	__s32 node;
	struct mappings *mappings;
	struct calls *calls;
	struct sorted objects;
	bool too_many;
	struct wsmon_rec_stats stats;
};

static int compare_draws(const void *x, const void *y)
{
	const struct draw *a = x, *b = y;

	return COMPARE(a->armed_ns, b->armed_ns);
}

struct who *who_new(void)
{
	struct who *w = need(calloc(1, sizeof(*w)));

	w->mappings = need(mappings_new());
	w->calls = calls_new();
	w->node = -1;
	w->objects = SORTED(char *, OBJECTS_MAX, compare_strings, .lazy = true);
	w->draws = SORTED(struct draw, SAMPLES_MAX, compare_draws, .lazy = true);
	return w;
}

static const char *keep(struct who *w, const char *text)
{
	char **s = sorted_find(&w->objects, &text), *copy;

	if (s)
		return *s;
	copy = need(strdup(text));
	need(sorted_get(&w->objects, &copy));
	return copy;
}

/* Return: the name of the variable or the mapping at an address; NULL if unknown */
static const char *object_of(struct who *w, __u32 pid, __u64 address)
{
	const struct mapping *m = mappings_find(w->mappings, pid, address);
	char text[OBJECT_TEXT];
	struct module module;
	struct symbol symbol;

	if (!m)
		return NULL;
	if (mappings_module(w->mappings, pid, address, &module) &&
	    symbols_find(calls_symbols(w->calls), &module, address, &symbol))
		snprintf(text, sizeof(text), "%s", symbol.name);
	else if (m->tid && !*m->path)
		/* the mapping may contain more than the stack */
		snprintf(text, sizeof(text), "anonymous %#llx, with the stack of thread %u",
			 m->start, m->tid);
	else if (*m->path)
		snprintf(text, sizeof(text), "%s", base_name(m->path));
	else
		snprintf(text, sizeof(text), "anonymous %#llx", m->start);
	return keep(w, text);
}

static struct callstack *code_of(struct who *w, const struct wsmon_rec_who *who)
{
	_Alignas(struct wsmon_rec_stack)
		char room[sizeof(struct wsmon_rec_stack) + sizeof(who->ip)];
	struct wsmon_rec_stack *stack = memset(room, 0, sizeof(room));

	stack->pid = who->pid;
	stack->nr = 1;
	stack->pc[0] = who->ip;
	return calls_take(w->calls, w->mappings, stack);
}

static void take_node(struct who *w, __s32 node)
{
	if (node < 0)
		return;
	if (w->node < 0)
		w->node = node;
	w->nodes |= w->node != node;
}

static void take_who(struct who *w, const struct wsmon_rec_who *who)
{
	bool write = who->flags & WSMON_WHO_WRITE, placed = who->node >= 0 && who->cpu_node >= 0;
	struct draw key = { .armed_ns = who->rec.time_ns - who->waited_ns }, *draw;
	double bytes = who->bytes;
	struct who_row *row;

	if (w->nr == SAMPLES_MAX) {
		w->too_many = true;
		return;
	}
	if (w->nr == w->room) {
		w->room = w->room ? 2 * w->room : 1024;
		w->row = need(reallocarray(w->row, w->room, sizeof(*w->row)));
	}
	row = &w->row[w->nr++];
	*row = (struct who_row) {
		.pid = who->pid, .tid = who->tid, .address = who->address,
		.stack = code_of(w, who), .object = object_of(w, who->pid, who->address),
		.cpu_node = who->cpu_node, .node = who->node,
		.reads = !write, .writes = write, .first = !!(who->flags & WSMON_WHO_NEW),
		.bytes = bytes, .written = write ? bytes : 0, .placed = placed ? bytes : 0,
		.remote = placed && who->node != who->cpu_node ? bytes : 0,
		.armed_ns = key.armed_ns,
	};
	memcpy(row->comm, who->comm, sizeof(row->comm));
	w->bytes += bytes;
	draw = need(sorted_get(&w->draws, &key));
	evidence_add(&w->all, bytes, draw->bytes, 0);
	draw->bytes += bytes;
	take_node(w, who->node);
	take_node(w, who->cpu_node);
}

void who_record(struct who *w, const struct filter *filter, bool first,
		const struct wsmon_record *rec)
{
	const struct wsmon_rec_who *who = (const void *)rec;

	mappings_add(w->mappings, rec);
	if (rec->type == WSMON_REC_STATS)
		wsmon_record_copy(rec, &w->stats, sizeof(w->stats));
	else if (rec->type == WSMON_REC_WHO && filter_wants(filter, rec) &&
		 (!first || who->flags & WSMON_WHO_NEW))
		take_who(w, who);
}

/* Orders by thread, function, object and nodes: the keys of a row */
static int compare_keys(const void *x, const void *y)
{
	const struct who_row *a = x, *b = y;
	/* calls_fold() and keep() store equal stacks and objects once, so compare addresses */
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

/* Find names that were recorded after the record; clear keys that @by ignores */
static void name_row(struct who *w, struct who_row *row, enum who_by by)
{
	bool all = by == WHO_BY_ALL;

	if (!all && by != WHO_BY_THREAD) {
		row->tid = 0;
		memset(row->comm, 0, sizeof(row->comm));
	}
	row->stack = all || by == WHO_BY_FUNCTION ?
		     calls_fold(w->calls, w->mappings, row->pid, row->stack) : NULL;
	if (!all && by != WHO_BY_OBJECT)
		row->object = NULL;
	else if (!row->object)
		row->object = object_of(w, row->pid, row->address) ?: keep(w, "");
	if (by != WHO_BY_NODE)
		row->cpu_node = row->node = -1;
}

static void add_row(struct who_row *to, const struct who_row *row)
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

/* Add a record to its row's evidence; @before: draw of the row's previous record, or NULL */
static void add_evidence(struct who *w, struct evidence *of, double bytes, __u64 armed_ns,
			 const __u64 *before)
{
	const struct draw key = { .armed_ns = armed_ns }, *draw = sorted_find(&w->draws, &key);

	if (!before || *before != armed_ns)
		w->drawn = 0;
	evidence_add(of, bytes, w->drawn, draw->bytes);
	w->drawn += bytes;
}

void who_sum_up(struct who *w, enum who_by by)
{
	size_t i, nr = 0;

	if (!w->nr)
		return;
	for (i = 0; i < w->nr; i++)
		name_row(w, &w->row[i], by);
	qsort(w->row, w->nr, sizeof(*w->row), compare_records);
	for (i = 0; i < w->nr; i++) {
		const struct who_row row = w->row[i];
		const bool more = nr && !compare_keys(&w->row[nr - 1], &row);
		struct who_row *to = &w->row[more ? nr - 1 : nr++];

		if (more)
			add_row(to, &row);
		else
			*to = row;
		add_evidence(w, &to->of, row.bytes, row.armed_ns,
			     more ? &to->armed_ns : NULL);
		to->armed_ns = row.armed_ns;
	}
	w->nr = nr;
	qsort(w->row, nr, sizeof(*w->row), compare_rows);
}

void who_free(struct who *w)
{
	const struct wsmon_rec_stats *st = &w->stats;
	char **object = w->objects.base;
	size_t i;

	if (w->nr && st->who_huge)
		msg("%.0f %% of the pages drawn are parts of huge pages: the threads that touch these are not seen",
		    100.0 * st->who_huge / (st->who_armed + st->who_absent + st->who_huge));
	if (w->too_many)
		msg("too many records: only the first %d are reported", SAMPLES_MAX);
	calls_free(w->calls);
	mappings_free(w->mappings);
	for (i = 0; i < w->objects.nr; i++)
		free(object[i]);
	free(w->objects.base);
	free(w->draws.base);
	free(w->row);
	free(w);
}

/*
 * The map of threads and objects
 */

static int compare_parts(const void *x, const void *y)
{
	const struct who_part *a = x, *b = y;
	/* equal names of objects have equal addresses */
	int c = COMPARE(a->object, b->object) ?: COMPARE(a->pid, b->pid) ?: COMPARE(a->tid, b->tid);

	return c ?: strcmp(a->comm, b->comm);
}

static int compare_shares(const void *x, const void *y)
{
	const struct who_part *a = x, *b = y;

	return COMPARE(b->share, a->share) ?: compare_parts(a, b);
}

/* In a broken recording all records may stand for 0 bytes */
static double share_of(const struct who *w, double bytes)
{
	return w->bytes > 0 ? bytes / w->bytes : 0;
}

static struct who_part part_of(const struct who_row *row, bool object)
{
	struct who_part p = { 0 };

	if (object) {
		p.object = row->object;
		return p;
	}
	p.pid = row->pid;
	p.tid = row->tid;
	memcpy(p.comm, row->comm, sizeof(p.comm));
	return p;
}

/* Add up shares by thread or object; the last part sums the rest. Return: number of parts */
static size_t make_parts(const struct who *w, bool object, size_t max, struct who_part **parts)
{
	struct who_part *p = need(calloc(w->nr + 1, sizeof(*p)));
	size_t nr = 0, i;

	for (i = 0; i < w->nr; i++) {
		p[i] = part_of(&w->row[i], object);
		p[i].share = share_of(w, w->row[i].bytes);
	}
	qsort(p, w->nr, sizeof(*p), compare_parts);
	for (i = 0; i < w->nr; i++) {
		if (nr && !compare_parts(&p[nr - 1], &p[i]))
			p[nr - 1].share += p[i].share;
		else
			p[nr++] = p[i];
	}
	qsort(p, nr, sizeof(*p), compare_shares);
	*parts = p;
	if (nr <= max)
		return nr;
	for (i = max; i < nr; i++)
		p[max - 1].share += p[i].share;
	p[max - 1].more = nr - max + 1;
	return max;
}

static size_t find_part(const struct who_part *p, size_t nr, const struct who_row *row, bool object)
{
	struct who_part key = part_of(row, object);
	size_t i;

	for (i = 0; i < nr - 1 && compare_parts(&p[i], &key); i++)
		;
	return i;
}

void who_map_make(struct who_map *m, const struct who *w, size_t threads, size_t objects)
{
	size_t i;

	m->threads = make_parts(w, false, threads, &m->thread);
	m->objects = make_parts(w, true, objects, &m->object);
	m->cell = need(calloc(m->threads * m->objects + 1, sizeof(*m->cell)));
	for (i = 0; i < w->nr; i++) {
		const struct who_row *row = &w->row[i];
		size_t thread = find_part(m->thread, m->threads, row, false);
		size_t object = find_part(m->object, m->objects, row, true);
		struct who_cell *c = &m->cell[thread * m->objects + object];

		c->read += share_of(w, row->bytes - row->written);
		c->written += share_of(w, row->written);
	}
}

double who_map_max(const struct who_map *m)
{
	double max = 0;
	size_t i;

	for (i = 0; i < m->threads * m->objects; i++)
		max = fmax(max, fmax(m->cell[i].read, m->cell[i].written));
	return max;
}

const char *who_map_name(char *buf, const struct who_part *p)
{
	if (p->more)
		snprintf(buf, WHO_MAP_NAME, "%zu others", p->more);
	else if (!p->object)
		snprintf(buf, WHO_MAP_NAME, "%.*s (%u)", WSMON_COMM_LEN, p->comm, p->tid);
	else
		snprintf(buf, WHO_MAP_NAME, "%s", *p->object ? p->object : "unknown");
	return buf;
}

void who_map_free(struct who_map *m)
{
	free(m->thread);
	free(m->object);
	free(m->cell);
}

/*
 * Rows
 *
 * The share of a row is the memory for which its records stand, as a part of all records' memory.
 */

struct who_cells {
	double share, low, high;
	__u64 reads, writes, first;
	double remote;
	__u64 pid, tid;
	const char *comm, *code, *function, *file;
	__u64 line;
	const char *object;
	__u64 cpu_node, node;
};

#define ROW struct who_cells

TABLE(who_columns, "who",
	COL(share, RATIO, 7, "SHARE", 0,
	    "part of the working set that the row was the first to touch after a random moment"),
	COL(low, RATIO, 7, "LOW", 0, "lower end of the 95 % interval"),
	COL(high, RATIO, 7, "HIGH", 0, "upper end"),
	COL(reads, COUNT, 6, "READS", 0, "samples that were reads or fetches of instructions"),
	COL(writes, COUNT, 6, "WRITES", 0, "samples that were writes"),
	COL(first, COUNT, 5, "FIRST", 0,
	    "reads and writes of pages for which the process had no page-table entry: new memory, "
	    "or mapped anew"),
	COL(remote, RATIO, 7, "REMOTE", OR_NULL,
	    "part of the memory that CPUs of other NUMA nodes touched; memory of unknown nodes "
	    "does not count"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(tid, COUNT, 7, "TID", OR_NULL, "the thread"),
	COL(comm, TEXT, 15, "THREAD", OR_NULL, "its name"),
	COL(code, TEXT, 8, "FUNCTION", NOT_JSON | NOT_CSV, ""),
	COL(function, TEXT, 8, "FUNCTION", NOT_HUMAN | OR_NULL,
	    "the function, or the function that made the system call"),
	COL(file, TEXT, 8, "FILE", NOT_HUMAN | OR_NULL, "its source file"),
	COL(line, COUNT, 5, "LINE", NOT_HUMAN | OR_NULL, "the line"),
	COL(object, TEXT, 8, "OBJECT", OR_NULL, "variable, file, or other name of the mapping"),
	COL(cpu_node, COUNT, 8, "CPU-NODE", OR_NULL, "NUMA node of the CPU"),
	COL(node, COUNT, 4, "NODE", OR_NULL,
	    "NUMA node of the memory before the access; null if not known, for example for "
	    "``first`` samples"));

/* Columns left out for each enum who_by; 0 ends a list */
#define AT(field)	offsetof(struct who_cells, field)
static const size_t empty[][5] = {
	[WHO_BY_ALL]	= { AT(cpu_node), AT(node) },
	[WHO_BY_FUNCTION] = { AT(tid), AT(comm), AT(object), AT(cpu_node), AT(node) },
	[WHO_BY_THREAD]	= { AT(code), AT(object), AT(cpu_node), AT(node) },
	[WHO_BY_OBJECT]	= { AT(tid), AT(comm), AT(code), AT(cpu_node), AT(node) },
	/* the columns of nodes show what is remote */
	[WHO_BY_NODE]	= { AT(remote), AT(tid), AT(comm), AT(code), AT(object) },
};

static __u64 node_or_none(__s32 node)
{
	return node >= 0 ? (__u64)node : UNKNOWN_U64;
}

static void print_row(struct table *table, const struct who *w, const struct who_row *row)
{
	const struct call *c = row->stack ? &row->stack->call[0] : NULL;
	char text[CALL_TEXT], comm[4 * WSMON_COMM_LEN + 1];
	double low, high, share = row->bytes / w->bytes;

	evidence_interval(&row->of, &w->all, w->draws.nr, &low, &high);
	table_row(table, &(struct who_cells) {
		.share = share, .low = low, .high = high,
		.reads = row->reads, .writes = row->writes, .first = row->first,
		.remote = row->placed > 0 ? row->remote / row->placed : NAN,
		.pid = row->pid,
		.tid = row->tid ? row->tid : UNKNOWN_U64,
		.comm = text_or_none(text_clean(comm, sizeof(comm), row->comm)),
		.code = c ? calls_text(text, c) : NULL,
		.function = text_or_none(c ? c->function : NULL),
		.file = text_or_none(c ? c->file : NULL),
		.line = c && c->file ? (__u64)c->line : UNKNOWN_U64,
		.object = text_or_none(row->object),
		.cpu_node = node_or_none(row->cpu_node), .node = node_or_none(row->node),
	});
}

void who_table(FILE *f, enum table_format format, const struct who *w, enum who_by by, size_t top,
	       bool code)
{
	struct table *table = table_new_on(f, &who_columns, format);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(empty[by]) && empty[by][i]; i++)
		table_show(table, empty[by][i], NOT_HUMAN, false);
	if (!w->nodes)
		table_show(table, AT(remote), NOT_HUMAN, false);
	if (code)
		table_show(table, AT(code), ~0U, true);
	for (i = 0; i < w->nr && i < top; i++)
		print_row(table, w, &w->row[i]);
	table_end(table);
}

static void print_folded(FILE *f, const struct who_row *row, const char *how, __u64 nr)
{
	char text[CALL_TEXT];

	if (!nr)
		return;
	calls_print_part(f, *row->comm ? text_clean(text, sizeof(text), row->comm) : "all");
	if (row->stack) {
		fputc(';', f);
		calls_print_part(f, calls_text(text, &row->stack->call[0]));
	}
	if (row->object) {
		fputc(';', f);
		calls_print_part(f, text_clean(text, sizeof(text), row->object));
	}
	fprintf(f, ";%s %llu\n", how, nr);
}

/** who_folded() - print all rows for flame graphs */
static void who_folded(FILE *f, const struct who *w)
{
	size_t i;

	for (i = 0; i < w->nr; i++) {
		print_folded(f, &w->row[i], "read", w->row[i].reads);
		print_folded(f, &w->row[i], "write", w->row[i].writes);
	}
}

/*
 * The picture of the map
 *
 * Each line is a thread, each column an object. A cell has two halves: above, the share that was
 * read; below, the share that was written.
 */

ASSET(who_gp, "tools/wsmo/views/who.gp");

/* Pixels: min. size of a cell, height of a line if there is room, margins */
#define CELL_WIDTH	46
#define LINE_HEIGHT		30
#define LINE_WANTED	44
#define LEFT		190
#define RIGHT		70
#define ABOVE		58
#define BELOW		176
#define MIN_HEIGHT	300

/* Characters of a name */
#define NAME_CHARS	26
/* A smaller share is not printed in its cell */
#define SHARE_MIN	0.0005

/* Red, green and blue of the largest share; smaller shares are lighter, down to white */
static const unsigned char read_color[] = { 0x34, 0x8e, 0xc3 };
static const unsigned char write_color[] = { 0xdf, 0x7d, 0x33 };

static unsigned int color_of(const unsigned char *color, double level)
{
	unsigned int rgb = 0, i;

	for (i = 0; i < 3; i++)
		rgb = rgb << 8 | (unsigned int)lround(255 - (255 - color[i]) * level);
	return rgb;
}

static void plot_half(struct plot *p, size_t column, double low, double share, double max,
		      const unsigned char *color)
{
	char text[32] = "";

	if (share >= SHARE_MIN)
		snprintf(text, sizeof(text), "%.1f %%", 100 * share);
	plot_printf(p, "%zu %g %g %g %g %g %u \"%s\"\n", column, low + 0.23, column - 0.48,
		    column + 0.48, low, low + 0.46, share > 0 ? color_of(color, sqrt(share / max)) : 0xf4f4f4, text);
}

static void plot_cells(struct plot *p, const struct who_map *m)
{
	double max = who_map_max(m);
	size_t i, j;

	plot_printf(p, "$cells << END\n");
	for (i = 0; i < m->threads; i++) {
		for (j = 0; j < m->objects; j++) {
			const struct who_cell *c = &m->cell[i * m->objects + j];
			double line = m->threads - 1 - i;

			plot_half(p, j, line + 0.5, c->read, max, read_color);
			plot_half(p, j, line + 0.04, c->written, max, write_color);
		}
	}
	plot_printf(p, "END\n");
}

static void plot_names(struct plot *p, const struct who_map *m)
{
	char text[PLOT_TEXT], name[WHO_MAP_NAME];
	size_t i;

	for (i = 0; i < m->threads; i++) {
		double y = m->threads - i - 0.5;

		plot_printf(p, "set label %s at graph 0, first %g right offset -1,0\n",
			    plot_name(text, who_map_name(name, &m->thread[i]), NAME_CHARS), y);
		plot_printf(p, "set label '%.1f %%' at graph 1, first %g offset 1,0\n",
			    100 * m->thread[i].share, y);
	}
	for (i = 0; i < m->objects; i++) {
		plot_printf(p, "set label %s at first %zu, graph 0 right rotate by 45 offset 0.7,-0.6\n",
			    plot_name(text, who_map_name(name, &m->object[i]), NAME_CHARS), i);
		plot_printf(p, "set label '%.1f %%' at first %zu, graph 1 center offset 0,0.6\n",
			    100 * m->object[i].share, i);
	}
}

static void plot_legend(struct plot *p, unsigned int width, unsigned int height)
{
	const struct {
		const char *text;
		unsigned int color, left;
	} of[] = {
		{ "upper half: read", color_of(read_color, 1), 12 },
		{ "lower half: written", color_of(write_color, 1), 152 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		plot_printf(p, "set object rectangle from screen %g,%g to screen %g,%g fc rgb %u fs solid noborder\n",
			    (double)of[i].left / width, 8.0 / height, (of[i].left + 14.0) / width,
			    22.0 / height, of[i].color);
		plot_printf(p, "set label '%s' at screen %g,%g\n", of[i].text,
			    (of[i].left + 20.0) / width, 15.0 / height);
	}
}

/**
 * who_picture() - draw the map
 * @top:	max. number of threads, and of objects
 * @title:	text above the map
 *
 * Return: 0, or -1 after a message
 */
static int who_picture(const struct picture *picture, const struct who *w, size_t top,
		       const char *title)
{
	struct picture sized = *picture;
	unsigned int width = sized.width ?: PLOT_WIDTH, height = sized.height ?: PLOT_HEIGHT;
	size_t across = (width - LEFT - RIGHT) / CELL_WIDTH;
	size_t down = (height - ABOVE - BELOW) / LINE_HEIGHT;
	char text[PLOT_TEXT];
	struct who_map m;
	struct plot p;
	int err;

	who_map_make(&m, w, down < top ? down : top, across < top ? across : top);
	if (!sized.height && ABOVE + BELOW + LINE_WANTED * m.threads < height) {
		height = ABOVE + BELOW + LINE_WANTED * m.threads;
		sized.height = height = height < MIN_HEIGHT ? MIN_HEIGHT : height;
	}
	err = plot_open(&p, &sized);
	if (!err) {
		plot_printf(&p, "left = %g\nright = %g\ntop = %g\nbottom = %g\nobjects = %zu\nthreads = %zu\n",
			    (double)LEFT / width, 1 - (double)RIGHT / width, 1 - (double)ABOVE / height,
			    (double)BELOW / height, m.objects, m.threads);
		plot_printf(&p, "set label %s at screen %g,%g\n", plot_text(text, title), 12.0 / width,
			    1 - 16.0 / height);
		plot_names(&p, &m);
		plot_legend(&p, width, height);
		plot_cells(&p, &m);
		plot_printf(&p, "%s", who_gp);
		err = plot_close(&p);
	}
	who_map_free(&m);
	return err;
}

/*
 * The view
 */

struct who_options {
	enum who_by by;
	bool first;
	bool folded;
	__u32 top;
};

/**
 * struct view - state of the view
 * @who:	the records
 * @pid:	the first process; 0: none yet
 * @comm:	name of @pid
 */
struct view {
	struct who *who;
	__u32 pid;
	char comm[WSMON_COMM_LEN];
};

static void who_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->who = who_new();
	rp->data = v;
}

static void view_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct who_options *opt = rp->options;
	struct view *v = rp->data;

	if (rec->type == WSMON_REC_TARGET && filter_wants_pid(&rp->filter, target->pid) &&
	    (!v->pid || target->pid == v->pid)) {
		v->pid = target->pid;
		memcpy(v->comm, target->comm, sizeof(v->comm));
	}
	who_record(v->who, &rp->filter, opt->first, rec);
}

static int draw(const struct report *rp, const struct view *v)
{
	const struct who_options *opt = rp->options;
	bool others = false;
	char title[200];
	size_t i;

	for (i = 0; i < v->who->nr; i++)
		others |= v->who->row[i].pid != v->pid;
	snprintf(title, sizeof(title), "%.*s (%u)%s: who touches what, as share of %s",
		 WSMON_COMM_LEN, v->comm, v->pid, others ? " and others" : "",
		 opt->first ? "what was touched for the first time" : "the working set");
	return who_picture(&rp->out.picture, v->who, opt->top, title);
}

static void who_end(struct report *rp)
{
	const struct who_options *opt = rp->options;
	struct view *v = rp->data;

	if (!v->who->nr)
		msg(opt->first ? "no records of first touches" :
		    "no records of who touched memory: wsmo record --who makes them");
	else
		who_sum_up(v->who, opt->by);
	rp->failed = !v->who->nr;
	if (rp->out.picture.file && v->who->nr)
		rp->failed = draw(rp, v) != 0;
	else if (opt->folded)
		who_folded(rp->out.f, v->who);
	else if (v->who->nr)
		who_table(rp->out.f, rp->out.format, v->who, opt->by, opt->top, false);
	who_free(v->who);
	free(v);
}

static void who_check(struct argp_state *state, const struct report *rp)
{
	const struct who_options *opt = rp->options;

	if (rp->out.picture.file && (opt->by != WHO_BY_ALL || opt->folded))
		usage_error(state, "a picture is of threads and objects: leave out --by and --folded");
	if (opt->folded && opt->by == WHO_BY_NODE)
		usage_error(state, "--folded does not go with --by node");
}

static const struct option_desc own[] = {
	{ "by", 0, "all|function|thread|object|node",
	  "Keys of a row (all: thread, function and object; node: of the CPU and of the memory)", OPT_CHOICE,
	  OPT_AT(struct who_options, by) },
	{ "first", 0, NULL, "Only memory touched for the first time, or mapped anew", OPT_FLAG,
	  OPT_AT(struct who_options, first) },
	{ "top", 0, "N", "Rows, the largest shares first (50); in a picture threads and objects", OPT_COUNT,
	  OPT_AT(struct who_options, top), 1, 1000000 },
	{ "folded", 0, NULL, "For flame graphs: 'thread;function;object;read count'", OPT_FLAG,
	  OPT_AT(struct who_options, folded) },
	{ 0 }
};

static struct who_options options = { .top = 50 };

REPORT_VIEW(who_view) = {
	.order = 6,
	.name = "who",
	.help = "Which threads and functions touch which memory (record --who)",
	.takes = TAKES_FORMAT | TAKES_PICTURE,
	.own = own,
	.options = &options,
	.of_processes = true,
	.no_snapshots = true,
	.check = who_check,
	.begin = who_begin,
	.record = view_record,
	.end = who_end,
};
