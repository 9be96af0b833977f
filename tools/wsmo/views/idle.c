// SPDX-License-Identifier: GPL-2.0
/*
 * idle.c - "wsmo report idle": memory by how long it was not used, at the end
 *
 * Memory not used since watching began has a column of its own, because it is unknown for how
 * long it had not been used before.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/units.h"
#include "libwsmon/mappings.h"
#include "libwsmon/names.h"
#include "libwsmon/wsmon_records.h"
#include "report.h"

#define REGIONS_MAX	32768	/* in a snapshot */

/* Ends of the classes of age, in ms; the last class has none */
static const __u32 ends[] = { 1000, 10000, 60000, 300000 };

#define AGES	(ARRAY_SIZE(ends) + 1)

enum { T, PID, COMM, WATCHED, CLASS, PATH, MAPPED, USED, AGE, UNUSED = AGE + AGES, ABSENT };

#define AGE_COLUMN(key, head)	{ key, head, COL_SIZE, 10, 0 }

static struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, NOT_HUMAN },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[COMM]	= { "comm", "COMM", COL_TEXT, 4, NOT_HUMAN },
	[WATCHED] = { "watched_ns", "WATCHED", COL_NS, 7, NOT_HUMAN },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[PATH]	= { "path", "MAPPING", COL_TEXT, 7, 0 },
	[MAPPED] = { "mapped", "MAPPED", COL_SIZE, 10, 0 },
	[USED]	= { "used", "USED", COL_SIZE, 10, 0 },
	[AGE]	= AGE_COLUMN("idle_1s", "< 1 s"),
	AGE_COLUMN("idle_10s", "< 10 s"), AGE_COLUMN("idle_1min", "< 1 min"),
	AGE_COLUMN("idle_5min", "< 5 min"), AGE_COLUMN("idle_longer", "LONGER"),
	[UNUSED] = { "unused", "UNUSED", COL_SIZE, 10, 0 },
	[ABSENT] = { "absent", "ABSENT", COL_SIZE, 10, 0 },
};

static const struct table_desc desc = TABLE_DESC("idle", columns);

/** struct idle_options - the command line */
static struct idle_options {
	bool mappings;
} options;

/**
 * struct last - the last snapshot of a process
 * @pid:	the process
 * @begun_ns:	when watching the process began, 0 if unknown yet
 * @time_ns:	time of the snapshot
 * @interval_ns: length of its interval
 * @rss:	resident bytes then, 0 if unknown
 * @region:	its regions
 * @nr:		their number
 * @room:	regions there is memory for
 */
struct last {
	__u32 pid;
	__u64 begun_ns;
	__u64 time_ns;
	__u64 interval_ns;
	__u64 rss;
	struct wsmon_region_entry *region;
	size_t nr, room;
};

/** struct row - sums of a class or mapping; @index: of the mapping's area, else 0 */
struct row {
	__u32 class, index;
	double mapped, used, idle[AGES], unused;
};

/** struct idle - the view's own data */
struct idle {
	struct collected names;
	struct areas *areas;
	struct sorted lasts;
};

static void idle_begin(struct report *rp)
{
	struct idle *v = need(calloc(1, sizeof(*v)));

	collect_init(&v->names);
	v->areas = need(areas_new());
	v->lasts = SORTED(struct last, TARGETS_MAX, order_u32, .lazy = true);
	rp->data = v;
}

static void take_snapshot(const struct report *rp, const struct wsmon_rec_snapshot *s)
{
	struct idle *v = rp->data;
	struct last *l = sorted_get(&v->lasts, &(struct last){ .pid = s->pid });

	if (!l)
		return;
	if (!l->begun_ns)
		l->begun_ns = s->rec.time_ns - s->interval_ns;
	if (!filter_wants(&rp->filter, &s->rec))
		return;
	/* a forged file could have gigabytes of packed regions of one time */
	if (s->rec.time_ns != l->time_ns || !s->first || l->nr >= REGIONS_MAX)
		l->nr = 0;
	l->time_ns = s->rec.time_ns;
	l->interval_ns = s->interval_ns;
	if (l->nr + s->nr > l->room) {
		l->room = 2 * (l->nr + s->nr);
		l->region = need(reallocarray(l->region, l->room, sizeof(*l->region)));
	}
	memcpy(l->region + l->nr, s->regions, s->nr * sizeof(*l->region));
	l->nr += s->nr;
}

/* A new program has new memory */
static void take_target(struct idle *v, const struct wsmon_rec_target *rec)
{
	struct last *l = sorted_get(&v->lasts, &(struct last){ .pid = rec->pid });

	if (l && (rec->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		l->begun_ns = rec->rec.time_ns;
}

static void idle_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_proc *proc = (const void *)rec;
	struct idle *v = rp->data;
	struct last *l;

	collect_name(&v->names, rec);
	/* names are looked up at the end; areas after --time may have other names */
	if (rec->type == WSMON_REC_AREA &&
	    (__s64)(rec->time_ns - rp->filter.zero_ns) <= rp->filter.to_ns)
		areas_add(v->areas, (const void *)rec);
	if (rec->type == WSMON_REC_SNAPSHOT)
		take_snapshot(rp, (const void *)rec);
	else if (rec->type == WSMON_REC_TARGET)
		take_target(v, (const void *)rec);
	if (rec->type == WSMON_REC_PROC && filter_wants(&rp->filter, rec)) {
		l = sorted_get(&v->lasts, &(struct last){ .pid = proc->pid });
		if (l)
			l->rss = proc->rss;
	}
}

static __u64 watched(const struct last *l)
{
	return l->time_ns > l->begun_ns ? l->time_ns - l->begun_ns : 0;
}

/* The share of a region is in use; the rest has been idle since the share last changed */
static void add(struct row *row, const struct last *l, const struct wsmon_region_entry *e)
{
	double size = e->end - e->start, share = (double)e->share / WSMON_SHARE_ONE;
	size_t i = 0;

	row->mapped += size;
	row->used += size * share;
	/* the first share is known only at the end of the first interval */
	if (e->age_ms * NSEC_PER_MSEC + 3 * l->interval_ns / 2 >= watched(l)) {
		row->unused += size * (1 - share);
		return;
	}

	while (i < ARRAY_SIZE(ends) && e->age_ms >= ends[i])
		i++;
	row->idle[i] += size * (1 - share);
}

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return COMPARE(a->class, b->class) ?: COMPARE(a->index, b->index);
}

static void print_row(const struct report *rp, struct table *table, const struct last *l,
		      const struct row *row)
{
	const struct idle *v = rp->data;
	double absent = fmin(fmax(row->mapped - l->rss, 0), row->unused);
	struct cell cells[ARRAY_SIZE(columns)] = {
		[T]	= cell_d(filter_time(&rp->filter, l->time_ns)),
		[PID]	= cell_u(l->pid),
		[COMM]	= cell_s(collect_comm(&v->names, l->pid)),
		[WATCHED] = cell_u(watched(l)),
		[CLASS]	= cell_s(class_name(row->class)),
		[PATH]	= options.mappings && row->class ?
			  cell_s(areas_path(v->areas, l->pid, row->index)) : (struct cell){ 0 },
		[MAPPED] = cell_u(row->mapped + 0.5),
		[USED]	= cell_u(row->used + 0.5),
		[UNUSED] = cell_u(row->unused + 0.5),
		[ABSENT] = l->rss && row->class == WSMON_CLASS_ALL ? cell_u(absent + 0.5) :
								     (struct cell){ 0 },
	};
	size_t i;

	for (i = 0; i < AGES; i++)
		cells[AGE + i] = cell_u(row->idle[i] + 0.5);
	table_row(table, cells);
}

static void print_last(const struct report *rp, struct table *table, const struct last *l)
{
	struct sorted rows = SORTED(struct row, l->nr + 1, compare_rows, .lazy = true);
	const struct row *row;
	size_t i;

	for (i = 0; i < l->nr; i++) {
		const struct wsmon_region_entry *e = &l->region[i];
		const struct row keys[] = {
			{ .class = WSMON_CLASS_ALL },
			{ .class = e->class, .index = options.mappings ? e->area : 0 },
		};

		if (filter_wants_class(&rp->filter, WSMON_CLASS_ALL))
			add(need(sorted_get(&rows, &keys[0])), l, e);
		if (filter_wants_class(&rp->filter, e->class))
			add(need(sorted_get(&rows, &keys[1])), l, e);
	}
	sorted_order(&rows);
	row = rows.base;
	for (i = 0; i < rows.nr; i++)
		print_row(rp, table, l, &row[i]);
	free(rows.base);
}

/* Explain UNUSED and ABSENT below the table */
static void explain(const struct report *rp)
{
	const struct idle *v = rp->data;
	const struct last *l = v->lasts.base;
	char time[UNITS_LEN];
	bool any = false;
	size_t i;

	if (rp->out.format != TABLE_HUMAN)
		return;
	for (i = 0; i < v->lasts.nr; i++) {
		if (!l[i].nr)
			continue;
		fprintf(rp->out.f, "%sUNUSED: not used in the %s in which process %u was watched; for how long before is not known\n",
			any ? "" : "\n", units_time(time, watched(&l[i])), l[i].pid);
		any = true;
	}
	if (any)
		fputs("ABSENT: at least this part of UNUSED is not resident\n", rp->out.f);
}

static void idle_end(struct report *rp)
{
	struct idle *v = rp->data;
	struct last *l;
	struct table *table;
	size_t i;

	sorted_order(&v->lasts);
	l = v->lasts.base;
	columns[PATH].not_in = options.mappings ? 0 : NOT_HUMAN;
	table = report_table(rp, &desc);
	for (i = 0; i < v->lasts.nr; i++)
		print_last(rp, table, &l[i]);
	table_end(table);
	explain(rp);
	for (i = 0; i < v->lasts.nr; i++)
		free(l[i].region);
	free(l);
	collect_free(&v->names);
	areas_free(v->areas);
	free(v);
}

static const struct option_desc own[] = {
	{ "mappings", 0, NULL, "A row for each mapping instead of each class", OPT_FLAG,
	  OPT_AT(struct idle_options, mappings) },
	{ 0 }
};

REPORT_VIEW(idle_view) = {
	.order = 8,
	.name = "idle",
	.help = "Memory by how long it was not used, at the end",
	.takes = TAKES_CLASS | TAKES_FORMAT,
	.own = own,
	.options = &options,
	.of_processes = true,
	.begin = idle_begin,
	.record = idle_record,
	.end = idle_end,
};
