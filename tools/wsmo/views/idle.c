// SPDX-License-Identifier: GPL-2.0
/*
 * idle.c - "wsmo report idle": memory by the time since its last use, at the end of the recording
 *
 * Memory not used since watching began has its own column, because its last use is unknown.
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

#define REGIONS_MAX	32768	/* maximum number in a snapshot */

#define UNSURE		1048576.0	/* bytes that USED may be off without a word */

/* Ends of the classes of age, in ms; the last class has none */
static const __u32 ends[] = { 1000, 10000, 60000, 300000 };

#define AGES	(ARRAY_SIZE(ends) + 1)

struct idle_row {
	double t;
	__u64 pid;
	const char *comm;
	__u64 watched_ns;
	const char *class, *path;
	__u64 mapped, used, used_low, used_high, idle_1s, idle_10s, idle_1min, idle_5min, idle_longer, unused, absent;
};

#define ROW struct idle_row

TABLE(idle_table, "idle",
	COL(t, T, 8, "TIME", NOT_HUMAN, "time of the snapshot"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(comm, TEXT, 4, "COMM", NOT_HUMAN, "its name"),
	COL(watched_ns, NS, 7, "WATCHED", NOT_HUMAN,
	    "time from the first look at its memory to ``t``"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory; ``all`` is the whole process"),
	COL(path, TEXT, 7, "MAPPING", OR_NULL,
	    "with ``--mappings``: name of the mapping; null for ``all``, and without "
	    "``--mappings``"),
	COL(mapped, SIZE, 10, "MAPPED", 0, "size of the regions"),
	COL(used, SIZE, 10, "USED", 0,
	    "accessed within an aggregation interval, a moving average"),
	COL(used_low, SIZE, 10, "LOW", OR_NULL | NOT_HUMAN,
	    "lower end of ``used``, from the working set at ``t``; null for a class or mapping"),
	COL(used_high, SIZE, 10, "HIGH", OR_NULL | NOT_HUMAN, "its upper end"),
	COL(idle_1s, SIZE, 10, "< 1 s", 0,
	    "the unused part of regions whose ``age_ms``, as in ``region``, is below 1 s"),
	COL(idle_10s, SIZE, 10, "< 10 s", 0, "the same, for 1 s to 10 s"),
	COL(idle_1min, SIZE, 10, "< 1 min", 0, "the same, for 10 s to 1 min"),
	COL(idle_5min, SIZE, 10, "< 5 min", 0, "the same, for 1 min to 5 min"),
	COL(idle_longer, SIZE, 10, "LONGER", 0, "the same, for 5 min or more"),
	COL(unused, SIZE, 10, "UNUSED", 0,
	    "not used during ``watched_ns``; it is not known how long it had been unused before"),
	COL(absent, SIZE, 10, "ABSENT", OR_NULL,
	    "at least this part of ``unused`` is not resident; null for a class or mapping"));

/** struct idle_options - the command line */
static struct idle_options {
	bool mappings;
} options;

/** struct bounds - the interval of the working set of a process, for its shortest window */
struct bounds {
	__u64 time_ns, low, high;
	__u32 window_us;	/* 0: unknown */
};

/**
 * struct last - the last snapshot of a process
 * @pid:	the process
 * @begun_ns:	when watching the process began; 0: unknown yet
 * @time_ns:	time of the snapshot
 * @interval_ns: length of its interval
 * @rss:	resident bytes at that time; 0: unknown
 * @bounds:	working set at @time_ns
 * @next:	working set of a time after @time_ns
 * @region:	its regions
 * @nr:		number of regions
 * @room:	number of regions allocated
 */
struct last {
	__u32 pid;
	__u64 begun_ns;
	__u64 time_ns;
	__u64 interval_ns;
	__u64 rss;
	struct bounds bounds, next;
	struct wsmon_region_entry *region;
	size_t nr, room;
};

/** struct row - sums of a class or mapping; @index is of the mapping's area, else 0 */
struct row {
	__u32 class, index;
	double mapped, used, idle[AGES], unused;
};

/** struct idle - the view's own data */
struct idle {
	struct collected names;
	struct sorted lasts;
};

static void idle_begin(struct report *rp)
{
	struct idle *v = need(calloc(1, sizeof(*v)));

	collect_init(&v->names);
	rp->reader.areas = need(areas_new());
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
	/* a forged file could have gigabytes of packed regions with one time */
	if (s->rec.time_ns != l->time_ns || !s->first || l->nr >= REGIONS_MAX)
		l->nr = 0;
	/* the working set of this interval may be recorded before the regions, or after them */
	if (s->rec.time_ns != l->time_ns && l->next.window_us) {
		l->bounds = l->next;
		l->next.window_us = 0;
	}
	l->time_ns = s->rec.time_ns;
	l->interval_ns = s->interval_ns;
	if (!s->nr)
		return;
	if (l->nr + s->nr > l->room) {
		l->room = 2 * (l->nr + s->nr);
		l->region = need(reallocarray(l->region, l->room, sizeof(*l->region)));
	}
	memcpy(l->region + l->nr, s->regions, s->nr * sizeof(*l->region));
	l->nr += s->nr;
}

/* Takes a TARGET record. A new program has new memory */
static void take_target(struct idle *v, const struct wsmon_rec_target *rec)
{
	struct last *l = sorted_get(&v->lasts, &(struct last){ .pid = rec->pid });

	if (l && (rec->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		l->begun_ns = rec->rec.time_ns;
}

static void take_wss(struct idle *v, const struct wsmon_rec_wss *w)
{
	struct last *l = sorted_get(&v->lasts, &(struct last){ .pid = w->pid });
	struct bounds *b;

	if (!l || w->class != WSMON_CLASS_ALL)
		return;
	b = w->rec.time_ns == l->time_ns ? &l->bounds : &l->next;
	if (!b->window_us || b->time_ns != w->rec.time_ns || w->window_us < b->window_us)
		*b = (struct bounds){ w->rec.time_ns, w->low, w->high, w->window_us };
}

static void idle_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_proc *proc = (const void *)rec;
	struct idle *v = rp->data;
	struct last *l;

	collect_name(&v->names, rec);
	if (rec->type == WSMON_REC_SNAPSHOT)
		take_snapshot(rp, (const void *)rec);
	else if (rec->type == WSMON_REC_TARGET)
		take_target(v, (const void *)rec);
	else if (rec->type == WSMON_REC_WSS && filter_wants(&rp->filter, rec))
		take_wss(v, (const void *)rec);
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

/* Adds a region: a share of it is in use; the rest has been idle since the share last changed */
static void add(struct row *row, const struct last *l, const struct wsmon_region_entry *e)
{
	double size = e->end - e->start, share = (double)e->share / WSMON_SHARE_ONE;
	size_t i = 0;

	row->mapped += size;
	row->used += size * share;
	/* the first share is known only after the first interval */
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
	bool known = row->class == WSMON_CLASS_ALL && l->bounds.window_us;
	double absent = fmin(fmax(row->mapped - l->rss, 0), row->unused);

	table_row(table, &(struct idle_row) {
		.t = filter_time(&rp->filter, l->time_ns),
		.pid = l->pid, .comm = collect_comm(&v->names, l->pid),
		.watched_ns = watched(l),
		.class = class_name(row->class),
		.path = options.mappings && row->class ?
			wsmon_area_path(&rp->reader, l->pid, row->index) : NULL,
		.mapped = row->mapped + 0.5, .used = row->used + 0.5,
		.used_low = known ? fmin(l->bounds.low, row->used) + 0.5 : UNKNOWN_U64,
		.used_high = known ? fmax(l->bounds.high, row->used) + 0.5 : UNKNOWN_U64,
		.idle_1s = row->idle[0] + 0.5, .idle_10s = row->idle[1] + 0.5,
		.idle_1min = row->idle[2] + 0.5, .idle_5min = row->idle[3] + 0.5,
		.idle_longer = row->idle[4] + 0.5,
		.unused = row->unused + 0.5,
		.absent = l->rss && row->class == WSMON_CLASS_ALL ? absent + 0.5 : UNKNOWN_U64,
	});
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

/* Says below the table how far USED may be off, if that is more than a quarter and UNSURE */
static void explain_used(const struct report *rp, const struct last *l)
{
	double used = 0, low, high;
	char text[2][UNITS_LEN];
	size_t i;

	if (!l->bounds.window_us || !filter_wants_class(&rp->filter, WSMON_CLASS_ALL))
		return;
	for (i = 0; i < l->nr; i++)
		used += (double)(l->region[i].end - l->region[i].start) * l->region[i].share / WSMON_SHARE_ONE;
	low = fmin(l->bounds.low, used);
	high = fmax(l->bounds.high, used);
	if (high - low > used / 4 + UNSURE)
		fprintf(rp->out.f, "USED of process %u is between %s and %s: it had few samples\n", l->pid,
			units_size(text[0], low), units_size(text[1], high));
}

/* Explains USED, UNUSED and ABSENT below the table */
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
		explain_used(rp, &l[i]);
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
	table = report_table(rp, &idle_table);
	table_show(table, offsetof(ROW, path), NOT_HUMAN, options.mappings);
	for (i = 0; i < v->lasts.nr; i++)
		print_last(rp, table, &l[i]);
	table_end(table);
	explain(rp);
	for (i = 0; i < v->lasts.nr; i++)
		free(l[i].region);
	free(l);
	collect_free(&v->names);
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
