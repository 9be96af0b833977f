// SPDX-License-Identifier: GPL-2.0
/* top_model.c - the rows of "wsmo top", and their order */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/secondary.h"
#include "libwsmon/mappings.h"
#include "libwsmon/names.h"
#include "libwsmon/wsmon_records.h"
#include "live/mapper.h"
#include "names/calls.h"
#include "top.h"

/*
 * The function of each process that accesses most memory, for "wsmo top --who"
 *
 * A share is a part of the bytes for which the WHO records of the last seconds stand. "wsmo report
 * who" uses all records, and has confidence intervals.
 */

#define RECENT_NS	(10 * NSEC_PER_SEC)
#define TOUCHES		(1 << 14)	/* records kept, of all processes */

/**
 * struct touch - a WHO record; in top_who.found the sum of the records of a function
 * @time_ns:	time of the record
 * @pid:	the process
 * @name:	the function, or else its file; NULL: neither is known. Equal names have equal
 *		addresses
 * @bytes:	bytes for which the record stands
 */
struct touch {
	__u64 time_ns;
	__u32 pid;
	const char *name;
	double bytes;
};

/**
 * struct top_who - functions that access memory
 * @mappings:	mappings of the processes
 * @mapper:	reads @mappings
 * @calls:	names of functions
 * @touch:	ring of the last TOUCHES records
 * @nr:		number of records so far
 * @found:	@nr_found: for each process, the function that accessed most memory
 */
struct top_who {
	struct mappings *mappings;
	struct mapper mapper;
	struct calls *calls;
	struct touch touch[TOUCHES];
	__u64 nr;
	struct touch found[TOUCHES];
	size_t nr_found;
};

static void write_mapping(void *mappings, const struct wsmon_record *rec)
{
	mappings_add(mappings, rec);
}

static struct top_who *need_who(struct top *top)
{
	if (!top->who) {
		top->who = need(calloc(1, sizeof(*top->who)));
		top->who->mappings = need(mappings_new());
		top->who->mapper = (struct mapper) {
			.write = write_mapping, .data = top->who->mappings,
		};
		top->who->calls = calls_new();
	}
	return top->who;
}

static const char *name_of(struct top_who *w, __u32 pid, __u64 ip)
{
	_Alignas(struct wsmon_rec_stack) char room[sizeof(struct wsmon_rec_stack) + sizeof(ip)];
	struct wsmon_rec_stack *rec = memset(room, 0, sizeof(room));
	const struct callstack *s;
	const char *path, *last;

	if (!mappings_find(w->mappings, pid, ip))
		mapper_changed(&w->mapper, pid);
	rec->pid = pid;
	rec->nr = 1;
	rec->pc[0] = ip;
	s = calls_fold(w->calls, w->mappings, pid, calls_take(w->calls, w->mappings, rec));
	if (s->call[0].function)
		return s->call[0].function;
	path = s->call[0].path;
	last = path ? strrchr(path, '/') : NULL;
	return last ? last + 1 : path;
}

void top_who_take(struct top *top, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_who *who = (const void *)rec;
	struct top_who *w = top->who;

	if (rec->type == WSMON_REC_WHO) {
		w = need_who(top);
		w->touch[w->nr++ % TOUCHES] = (struct touch) {
			.time_ns = who->rec.time_ns, .pid = who->pid,
			.name = name_of(w, who->pid, who->ip), .bytes = who->bytes,
		};
	} else if (rec->type == WSMON_REC_TARGET && w) {
		/* the process may have executed another program */
		mapper_forget(&w->mapper, target->pid);
		mappings_add(w->mappings, rec);
	}
}

static int compare_touches(const void *x, const void *y)
{
	const struct touch *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->name, b->name);
}

/*
 * Adds up the records of each function, and keeps the function with the largest sum of each
 * process; its @bytes become its share. Return: number of processes
 */
static size_t sum_up(struct touch *t, size_t nr)
{
	size_t i = 0, found = 0;

	while (i < nr) {
		struct touch most = { .pid = t[i].pid };
		double all = 0;

		while (i < nr && t[i].pid == most.pid) {
			struct touch sum = { .pid = most.pid, .name = t[i].name };

			for (; i < nr && !compare_touches(&t[i], &sum); i++)
				sum.bytes += t[i].bytes;
			all += sum.bytes;
			if (sum.name && sum.bytes > most.bytes)
				most = sum;
		}
		most.bytes /= all;
		if (most.name)
			t[found++] = most;
	}
	return found;
}

static void top_who_update(struct top *top)
{
	struct top_who *w = top->who;
	__u64 i, newest;

	if (!w)
		return;
	newest = w->touch[(w->nr - 1) % TOUCHES].time_ns;
	w->nr_found = 0;
	for (i = 0; i < w->nr && i < TOUCHES; i++) {
		if (w->touch[i].time_ns + RECENT_NS > newest)
			w->found[w->nr_found++] = w->touch[i];
	}
	qsort(w->found, w->nr_found, sizeof(*w->found), compare_touches);
	w->nr_found = sum_up(w->found, w->nr_found);
}

/*
 * Finds the function that accesses most memory of a process, as of the last top_who_update()
 * @share: gets its share of the process's accesses
 * Return: a function or a file, valid until top_who_free(); NULL if none is known
 */
static const char *top_who_of(const struct top *top, __u32 pid, double *share)
{
	const struct touch *t = top->who ? top->who->found : NULL;
	size_t i;

	for (i = 0; t && i < top->who->nr_found; i++) {
		if (t[i].pid == pid) {
			*share = t[i].bytes;
			return t[i].name;
		}
	}
	return NULL;
}

static void top_who_free(struct top *top)
{
	if (!top->who)
		return;
	calls_free(top->who->calls);
	mappings_free(top->who->mappings);
	mapper_free(&top->who->mapper);
	free(top->who);
}

#define SERIES_MAX	8192

const char * const top_sort_names[TOP_NR_SORTS] = {
	[TOP_BY_WSS]   = "wss",
	[TOP_BY_SHARE] = "share",
	[TOP_BY_HOT]   = "hot",
	[TOP_BY_RSS]   = "rss",
	[TOP_BY_IDLE]  = "idle",
	[TOP_BY_PID]   = "pid",
	[TOP_BY_NAME]  = "name",
};

static int compare_series(const void *x, const void *y)
{
	const struct top_series *a = x, *b = y;

	if (a->pid != b->pid)
		return COMPARE(a->pid, b->pid);
	if (a->window_us != b->window_us)
		return COMPARE(a->window_us, b->window_us);
	return COMPARE(a->class, b->class);
}

void top_init(struct top *top)
{
	top->start_ns = clock_now();
	live_init(&top->live);
	top->series = SORTED(struct top_series, SERIES_MAX, compare_series);
}

static struct top_series series_key(const struct wsmon_wss_row *row)
{
	return (struct top_series) {
		.pid = row->pid, .class = row->class, .window_us = row->window_us,
	};
}

static void note_sizes(struct top *top)
{
	size_t i;

	for (i = 0; i < top->live.now.rows.nr; i++) {
		const struct wsmon_wss_row *row = &top->live.now.rows.row[i];
		const struct top_series key = series_key(row);
		struct top_series *s = sorted_get(&top->series, &key);

		if (s)
			s->bytes[s->nr++ % TOP_HISTORY] = row->bytes;
	}
}

/* Gathers the figures of all sessions in @live; there, numbers of sessions replace process ids */
static void gather(struct top *top)
{
	struct live *all = &top->live;
	size_t i, k;

	all->now.rows.nr = 0;
	all->rss.nr = 0;
	all->cpu = 0;
	all->lost = 0;
	for (i = 0; i < top->cgroups.nr; i++) {
		const struct cgroup_session *s = top->cgroups.list[i];

		for (k = 0; k < s->live.now.rows.nr; k++) {
			struct wsmon_wss_row row = s->live.now.rows.row[k];

			row.pid = s->number;
			row.group = !i;
			need(wsmon_wss_add(&all->now.rows, &row));
		}
		if (s->has_resident)
			need(wsmon_wss_add(&all->rss, &(struct wsmon_wss_row) {
				.pid = s->number, .bytes = s->resident,
			}));
		if (s->live.cpu > 0)
			all->cpu += s->live.cpu;
		all->lost += s->live.lost;
	}
}

int top_update(struct top *top)
{
	top->read_ns = clock_now();
	if (top_grouped(top))
		gather(top);
	top_who_update(top);
	note_sizes(top);
	return top_arrange(top);
}

void top_free(struct top *top)
{
	live_free(&top->live);
	top_who_free(top);
	free(top->series.base);
	free(top->rows);
}

/* The shortest window above @window_us; 0 if there is none */
static __u64 next_window(const struct top *top, __u64 window_us)
{
	__u64 next = 0;
	size_t i;

	for (i = 0; i < top->live.now.rows.nr; i++) {
		__u64 us = top->live.now.rows.row[i].window_us;

		if (us > window_us && (!next || us < next))
			next = us;
	}
	return next;
}

void top_next_window(struct top *top)
{
	top->window_us = next_window(top, top->shown_us);
	top->changed = true;
}

/* Fills in the columns of cgroups and of the group's total */
static void fill_group(const struct top *top, struct top_row *row)
{
	const struct wsmon_rec_group *group = row->wss.group ? &top->live.now.group : NULL;
	size_t i;

	for (i = 0; i < top->cgroups.nr; i++) {
		const struct cgroup_session *s = top->cgroups.list[i];

		if (s->number != row->wss.pid)
			continue;
		row->path = s->session.cgroup;
		row->guests = s->guests;
		group = &s->live.now.group;
	}
	if (!group || row->wss.class != WSMON_CLASS_ALL)
		return;
	row->processes = group->members;
	row->regions = group->regions;
}

const char *top_name(const struct top *top, const struct top_row *row)
{
	const char *root = top->record.session.cgroup, *name = row->path;

	if (!name)
		return row->wss.group ? "total" : row->comm;
	if (row->wss.group)
		return root[1] ? root : "all processes";
	/* names of cgroups are relative to the cgroup on the command line */
	return name + (root[1] ? strlen(root) : 0) + 1;
}

static void fill_row(const struct top *top, const struct wsmon_wss_row *wss,
		     struct top_row *row)
{
	const struct live_class class = { .pid = wss->pid, .class = wss->class };
	const struct top_series key = series_key(wss);
	const struct live_class *c = sorted_find(&top->live.now.classes, &class);
	__u64 used;
	size_t i;

	*row = (struct top_row) { .wss = *wss };
	snprintf(row->comm, sizeof(row->comm), "%s", live_comm(&top->live, wss->pid));
	if (c) {
		row->regions = c->regions;
		row->hot = c->hot;
	}
	if (wss->mapped)
		row->share = (double)wss->bytes / wss->mapped;
	row->series = sorted_find(&top->series, &key);
	fill_group(top, row);
	if (wss->class != WSMON_CLASS_ALL)
		return;
	row->who = top_who_of(top, wss->pid, &row->who_share);
	/* memory that a guest may use is not idle: take the upper end, which includes it */
	used = row->guests || secondary_has(wss->pid) ? wss->high : wss->bytes;
	for (i = 0; i < top->live.rss.nr; i++) {
		if (top->live.rss.row[i].pid == wss->pid) {
			row->have_rss = true;
			row->rss = top->live.rss.row[i].bytes;
			row->idle = row->rss > used ? row->rss - used : 0;
		}
	}
}

static int compare_keys(const struct top *top, const struct top_row *a,
			const struct top_row *b)
{
	int c = 0;

	switch (top->sort) {
	case TOP_BY_WSS:
		return COMPARE(b->wss.bytes, a->wss.bytes);
	case TOP_BY_SHARE:
		return a->share < b->share ? 1 : -(a->share > b->share);
	case TOP_BY_HOT:
		return COMPARE(b->hot, a->hot);
	case TOP_BY_RSS:
		return COMPARE(b->rss, a->rss);
	case TOP_BY_IDLE:
		return COMPARE(b->idle, a->idle);
	case TOP_BY_NAME:
		c = strcmp(top_name(top, a), top_name(top, b));
		break;
	case TOP_BY_PID:
		c = COMPARE(b->processes, a->processes);
		break;
	default:
		break;
	}
	return c ? c : COMPARE(a->wss.pid, b->wss.pid);
}

/* Orders by the chosen column, then by process and class, so that equal rows keep their places */
static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct top_row *a = x, *b = y;
	const struct top *top = arg;
	int c = COMPARE(b->wss.group, a->wss.group);

	if (c)
		return c;
	c = compare_keys(top, a, b);
	if (c)
		return top->reverse ? -c : c;
	c = COMPARE(a->wss.pid, b->wss.pid);
	return c ? c : COMPARE(a->wss.class, b->wss.class);
}

/* Does the filter match a target, with all its classes? */
static bool target_matches(const struct top *top, const struct top_row *row)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", row->wss.pid);
	return !*top->filter || strcasestr(top_name(top, row), top->filter) ||
	       (!row->path && strstr(pid, top->filter));
}

/* Appends a target and its classes, if the filter matches them */
static void add_target(struct top *top, const struct top_row *target)
{
	bool whole = target_matches(top, target);
	size_t first = top->nr_rows, i;

	top->rows[top->nr_rows++] = *target;
	for (i = 0; i < top->live.now.rows.nr; i++) {
		const struct wsmon_wss_row *wss = &top->live.now.rows.row[i];

		if (wss->pid != target->wss.pid ||
		    wss->window_us != target->wss.window_us ||
		    wss->class == WSMON_CLASS_ALL)
			continue;
		if (whole || strstr(class_name(wss->class), top->filter))
			fill_row(top, wss, &top->rows[top->nr_rows++]);
	}
	if (!whole && top->nr_rows == first + 1)
		top->nr_rows = first;
	else if (top->no_classes)
		top->nr_rows = first + 1;
	else
		qsort_r(&top->rows[first + 1], top->nr_rows - first - 1,
			sizeof(*top->rows), compare_rows, top);
}

int top_arrange(struct top *top)
{
	size_t nr = top->live.now.rows.nr, targets = 0, i;
	struct top_row *target;

	top->changed = false;
	top->nr_rows = 0;
	free(top->rows);
	top->rows = calloc(nr + 1, sizeof(*top->rows));
	target = calloc(nr + 1, sizeof(*target));
	if (!top->rows || !target) {
		free(target);
		msg("out of memory");
		return -1;
	}
	top->shown_us = top->window_us ? next_window(top, top->window_us - 1) : 0;
	if (!top->shown_us || top->shown_us != top->window_us)
		top->shown_us = next_window(top, 0);
	for (i = 0; i < nr; i++) {
		const struct wsmon_wss_row *wss = &top->live.now.rows.row[i];

		if (wss->class == WSMON_CLASS_ALL &&
		    wss->window_us == top->shown_us)
			fill_row(top, wss, &target[targets++]);
	}
	top->targets = targets - (targets && target[0].wss.group);
	qsort_r(target, targets, sizeof(*target), compare_rows, top);
	for (i = 0; i < targets; i++)
		add_target(top, &target[i]);
	free(target);
	return 0;
}
