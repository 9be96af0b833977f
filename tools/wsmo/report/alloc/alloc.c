// SPDX-License-Identifier: GPL-2.0
/*
 * alloc.c - "wsmo report alloc": who allocated memory, and how much of it is used
 *
 * Allocations and what they became are taken up to each snapshot; figures are those of the
 * last one that is wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "libwsmon/fine.h"
#include "report/report.h"
#include "sites.h"

#define PROCESSES	65536
#define LIBRARY		"/libwsmo-alloc.so"

enum {
	LIVE, LIVE_LOW, LIVE_HIGH, USED, USED_LOW, USED_HIGH, IDLE, IDLE_LOW, IDLE_HIGH, LONG,
	LONG_LOW, LONG_HIGH, SAMPLES, SITE, FUNCTION, FILE_NAME, LINE, STACK,
};

#define AMOUNT(at, key, head, people)							\
	[at]		= { key, head, COL_SIZE, 9, 0 },				\
	[at + 1]	= { key "_low", "LOW", COL_SIZE, 9, people },			\
	[at + 2]	= { key "_high", "HIGH", COL_SIZE, 9, people }

static const struct column columns[] = {
	AMOUNT(LIVE, "live", "LIVE", NOT_HUMAN),
	AMOUNT(USED, "in_use", "IN USE", 0),
	AMOUNT(IDLE, "idle", "IDLE 10 s", 0),
	AMOUNT(LONG, "idle_1min", "IDLE 1 min", NOT_HUMAN),
	[SAMPLES]	= { "samples", "SAMPLES", COL_COUNT, 7, 0 },
	[SITE]		= { "site", "SITE", COL_TEXT, 4, NOT_JSON | NOT_CSV },
	[FUNCTION]	= { "function", "FUNCTION", COL_TEXT, 4, NOT_HUMAN },
	[FILE_NAME]	= { "file", "FILE", COL_TEXT, 4, NOT_HUMAN },
	[LINE]		= { "line", "LINE", COL_COUNT, 4, NOT_HUMAN },
	[STACK]		= { "stack", "STACK", COL_LIST, 4, NOT_HUMAN },
};

static const struct table_desc desc = {
	.type = "alloc", .columns = columns, .nr = ARRAY_SIZE(columns),
};

/** struct alloc_options - the command line */
static struct alloc_options {
	bool by_stack;
	bool folded;
	__u64 top;
} options = { .top = 20 };

/**
 * struct process - a process
 * @pid:	its pid
 * @comm:	its name
 * @rate:	mean bytes from one sample to the next, 0 is not known
 * @begun_ns:	when its program loaded the library
 * @new_ns:	when a program was seen that may not have loaded it, 0 if there is none
 * @watched_ns:	it is watched since then, 0 if that is not known yet
 * @live:	its samples at @snapshot
 * @snapshot:	its memory
 * @event:	@nr events, room for @room; those from @first on came since
 */
struct process {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	__u64 rate;
	__u64 begun_ns;
	__u64 new_ns;
	__u64 watched_ns;
	struct blocks live;
	struct snapshot snapshot;
	struct wsmon_rec_alloc *event;
	size_t first, nr, room;
};

/**
 * struct view - the view's own data
 * @processes:	struct process
 * @mappings:	for names
 * @sites:	for figures
 * @fine:	evidence for parts of regions
 * @events:	events in the recording
 * @lost:	events that were lost
 * @watched_ns:	for how long processes were watched, at most
 */
struct view {
	struct sorted processes;
	struct mappings *mappings;
	struct sites *sites;
	struct fine *fine;
	__u64 events;
	__u64 lost;
	__u64 watched_ns;
};

static int compare(const void *x, const void *y)
{
	const struct process *a = x, *b = y;

	return COMPARE(a->pid, b->pid);
}

static struct process *process(struct view *v, __u32 pid)
{
	return need(sorted_get(&v->processes, &(struct process){ .pid = pid }));
}

static void alloc_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->processes = (struct sorted) {
		.size = sizeof(struct process), .max = PROCESSES, .compare = compare, .lazy = true,
	};
	v->mappings = need(mappings_new());
	v->sites = sites_new(options.by_stack || options.folded);
	v->fine = need(fine_new(rp->reader.header.page_size));
	rp->data = v;
}

static void apply(struct process *p, const struct wsmon_rec_alloc *e)
{
	const struct block b = {
		.addr = e->addr, .size = e->bytes, .stack = e->stack, .born_ns = e->rec.time_ns,
		.weight = p->rate ? estimate_weight(e->bytes, p->rate) : 0,
	};

	switch (e->kind) {
	case WSMON_ALLOC_START:
		blocks_clear(&p->live);
		p->rate = e->bytes;
		p->begun_ns = e->rec.time_ns;
		break;
	case WSMON_ALLOC_MALLOC:
		if (p->rate && e->addr && e->bytes)
			blocks_add(&p->live, &b);
		break;
	case WSMON_ALLOC_FREE:
		blocks_free(&p->live, e->addr);
		break;
	case WSMON_ALLOC_MMAP:
		if (p->rate && e->addr && e->bytes && e->addr + e->bytes > e->addr)
			blocks_map(&p->live, &b);
		break;
	case WSMON_ALLOC_MUNMAP:
		blocks_unmap(&p->live, e->addr, e->addr + e->bytes);
		break;
	}
}

/* Takes the events up to a time, in the order in which they are */
static void apply_until(struct process *p, __u64 time_ns)
{
	while (p->first < p->nr && p->event[p->first].rec.time_ns <= time_ns)
		apply(p, &p->event[p->first++]);
}

static void take_event(struct view *v, const struct wsmon_rec_alloc *rec)
{
	struct process *p = process(v, rec->pid);

	v->events++;
	if (rec->kind == WSMON_ALLOC_LOST) {
		v->lost += rec->bytes;
		return;
	}
	/* once half of them are taken */
	if (p->nr && p->nr == p->room && 2 * p->first >= p->nr) {
		p->nr -= p->first;
		memmove(p->event, p->event + p->first, p->nr * sizeof(*p->event));
		p->first = 0;
	}
	if (p->nr == p->room) {
		p->room = p->room ? 2 * p->room : 256;
		p->event = need(reallocarray(p->event, p->room, sizeof(*p->event)));
	}
	p->event[p->nr++] = *rec;
}

static void take_part(void *arg, const struct wsmon_region_entry *e)
{
	struct snapshot *s = arg;

	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->part = need(reallocarray(s->part, s->room, sizeof(*s->part)));
	}
	s->part[s->nr++] = (struct part) {
		.start = e->start, .end = e->end, .share = (double)e->share / WSMON_SHARE_ONE,
		.age_ns = e->age_ms * 1000000ULL,
	};
}

static void take_snapshot(struct report *rp, const struct wsmon_rec_snapshot *rec)
{
	struct view *v = rp->data;
	struct process *p = process(v, rec->pid);
	struct snapshot *s = &p->snapshot;

	if (!p->watched_ns)
		p->watched_ns = rec->rec.time_ns - rec->interval_ns;
	if (rec->rec.time_ns < rp->filter.zero_ns ||
	    (__s64)(rec->rec.time_ns - rp->filter.zero_ns) <= rp->filter.to_ns)
		apply_until(p, rec->rec.time_ns);
	if (!filter_wants(&rp->filter, &rec->rec))
		return;
	if (rec->rec.time_ns != s->time_ns)
		s->nr = 0;
	s->time_ns = rec->rec.time_ns;
	s->interval_ns = rec->interval_ns;
	fine_snapshot(v->fine, rec, take_part, s);
}

/* A program that was executed is one with the library, or without */
static void take_target(struct view *v, const struct wsmon_rec_target *rec)
{
	struct process *p = process(v, rec->pid);

	memcpy(p->comm, rec->comm, sizeof(p->comm));
	if ((rec->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		p->new_ns = p->watched_ns = rec->rec.time_ns;
}

static void take_mapping(struct view *v, const struct wsmon_rec_mapping *rec)
{
	const char *name = strrchr(rec->path, '/');

	if (name && !strcmp(name, LIBRARY))
		process(v, rec->pid)->new_ns = 0;
}

static void alloc_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_stack *stack = (const void *)rec;
	struct view *v = rp->data;

	mappings_add(v->mappings, rec);
	if (rec->type == WSMON_REC_SNAPSHOT)
		take_snapshot(rp, (const void *)rec);
	else
		fine_note(v->fine, rec);
	if (rec->type == WSMON_REC_ALLOC)
		take_event(v, (const void *)rec);
	else if (rec->type == WSMON_REC_TARGET)
		take_target(v, (const void *)rec);
	else if (rec->type == WSMON_REC_MAPPING)
		take_mapping(v, (const void *)rec);
	else if (rec->type == WSMON_REC_STACK && stack->reason == WSMON_STACK_ALLOC)
		sites_stack(v->sites, v->mappings, stack);
}

/* Adds the figures of a process */
static void add_process(const struct report *rp, const struct process *p)
{
	struct view *v = rp->data;
	struct block *b;
	size_t nr;

	if (!p->snapshot.nr || !filter_wants_pid(&rp->filter, p->pid))
		return;
	if (!p->rate || p->new_ns > p->begun_ns) {
		msg("no allocations of process %u (%.16s) are known: its program did not load libwsmo-alloc.so",
		    p->pid, p->comm);
		return;
	}
	if (p->snapshot.time_ns - p->watched_ns > v->watched_ns)
		v->watched_ns = p->snapshot.time_ns - p->watched_ns;
	b = blocks_sorted(&p->live, &nr);
	estimate_add(b, nr, &p->snapshot, sites_get, v->sites);
	free(b);
}

/* One line a call, outermost last; only the telling one unless by stack. Return: malloc()ed */
static char *stack_text(const struct place *p)
{
	char text[CALL_TEXT], *lines = NULL;
	size_t size;
	FILE *f = need(open_memstream(&lines, &size));
	__u32 i;

	if (options.by_stack && p->stack)
		for (i = 0; i < p->stack->nr; i++)
			fprintf(f, "%s%s", i ? "\n" : "", calls_text(text, &p->stack->call[i]));
	else if (p->call)
		fputs(calls_text(text, p->call), f);
	fclose(f);
	return lines;
}

static void set_amount(struct cell *cell, double bytes, struct bounds b)
{
	cell[0] = cell_u(bytes + 0.5);
	cell[1] = cell_u(b.low + 0.5);
	cell[2] = cell_u(b.high + 0.5);
}

/* What nothing was watched for is not known */
static void set_idle(const struct view *v, struct cell *cell, const struct site *s, unsigned int i)
{
	if (v->watched_ns < estimate_idle_ns[i])
		memset(cell, 0, 3 * sizeof(*cell));
	else
		set_amount(cell, s->idle[i].bytes, estimate_bounds(s, &s->idle[i]));
}

static struct cell text_or_none(const char *s)
{
	return s ? cell_s(s) : (struct cell){ 0 };
}

static void print_place(const struct report *rp, struct table *table, const struct place *p)
{
	struct cell cells[ARRAY_SIZE(columns)];
	const struct site *s = &p->site;
	char text[CALL_TEXT], *stack = stack_text(p);
	__u32 i;

	set_amount(&cells[LIVE], s->live, estimate_live(s));
	set_amount(&cells[USED], s->used.bytes, estimate_bounds(s, &s->used));
	set_idle(rp->data, &cells[IDLE], s, 0);
	set_idle(rp->data, &cells[LONG], s, 1);
	cells[SAMPLES] = cell_u(s->samples);
	cells[SITE] = cell_s(p->call ? calls_text(text, p->call) : "unknown");
	cells[FUNCTION] = text_or_none(p->call ? p->call->function : NULL);
	cells[FILE_NAME] = text_or_none(p->call ? p->call->file : NULL);
	cells[LINE] = p->call && p->call->file ? cell_u(p->call->line) : (struct cell){ 0 };
	cells[STACK] = cell_s(stack);
	table_row(table, cells);
	free(stack);
	if (!options.by_stack || !p->stack ||
	    (rp->out.format != TABLE_HUMAN && rp->out.format != TABLE_RAW))
		return;
	table_flush(table);
	for (i = 0; i < p->stack->nr; i++)
		fprintf(rp->out.f, "        %s\n", calls_text(text, &p->stack->call[i]));
}

static void print_rows(const struct report *rp, struct place **p, size_t nr)
{
	struct table *table = report_table(rp, &desc);
	size_t i;

	for (i = 0; i < nr && i < options.top; i++)
		print_place(rp, table, p[i]);
	table_end(table);
}

static void print_folded(const struct report *rp, struct place **p, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (p[i]->site.idle[0].bytes < 1)
			continue;
		if (p[i]->stack && p[i]->stack->nr)
			calls_print_folded(rp->out.f, p[i]->stack);
		else
			fputs("unknown", rp->out.f);
		fprintf(rp->out.f, " %.0f\n", p[i]->site.idle[0].bytes);
	}
}

static void alloc_end(struct report *rp)
{
	struct view *v = rp->data;
	struct process *p;
	struct place **places;
	char time[UNITS_LEN];
	size_t i, nr;

	sorted_order(&v->processes);
	p = v->processes.base;
	sites_named(v->sites, v->mappings);
	for (i = 0; v->events && i < v->processes.nr; i++)
		add_process(rp, &p[i]);
	places = sites_sorted(v->sites, &nr);
	if (options.folded)
		print_folded(rp, places, nr);
	else
		print_rows(rp, places, nr);
	fflush(rp->out.f);
	rp->failed = !v->events;
	if (!v->events)
		msg("no allocations in this recording: see wsmo record --alloc");
	else if (nr && v->watched_ns < estimate_idle_ns[0])
		msg("what is idle for 10 s is not known: memory was watched for %s; record for longer",
		    units_time(time, v->watched_ns));
	if (v->lost)
		msg("LOST %llu events: what was freed may be shown as live, and the reverse", v->lost);
	for (i = 0; i < v->processes.nr; i++) {
		blocks_clear(&p[i].live);
		free(p[i].snapshot.part);
		free(p[i].event);
	}
	free(p);
	sites_free(v->sites);
	mappings_free(v->mappings);
	fine_free(v->fine);
	free(v);
}

static const struct option_desc own[] = {
	{ "by", 0, "site|stack", "A row for each place that allocates (site), or each stack",
	  OPT_CHOICE, OPT_AT(struct alloc_options, by_stack) },
	{ "top", 0, "N", "Rows, those with most idle bytes first (20)", OPT_COUNT,
	  OPT_AT(struct alloc_options, top), 1, 1000000000 },
	{ "folded", 0, NULL, "Only stacks and bytes idle for 10 s, for flame graphs", OPT_FLAG,
	  OPT_AT(struct alloc_options, folded) },
	{ 0 }
};

const struct report_view report_alloc = {
	.name = "alloc",
	.help = "Who allocated memory, and how much of it is in use",
	.takes = TAKES_FORMAT,
	.own = own,
	.options = &options,
	.of_processes = true,
	.begin = alloc_begin,
	.record = alloc_record,
	.end = alloc_end,
};
