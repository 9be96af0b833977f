// SPDX-License-Identifier: GPL-2.0
/* collect.c - data of a recording that several views keep: sizes, names, the group */
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "core/cli.h"
#include "libwsmon/reader.h"
#include "libwsmon/wsmon_records.h"

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

void collect_init(struct collected *c)
{
	*c = (struct collected) {
		.names = SORTED(struct wss_name, TARGETS_MAX, order_u32, .lazy = true),
	};
}

void collect_name(struct collected *c, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	struct wss_name *name;

	if (rec->type != WSMON_REC_TARGET)
		return;
	name = sorted_get(&c->names, &(struct wss_name){ .pid = target->pid });
	if (name)
		memcpy(name->comm, target->comm, sizeof(name->comm));
}

bool collect_row(const struct filter *filter, const struct wsmon_record *rec,
		 struct wsmon_wss_row *row)
{
	return wss_row_get(rec, row) && filter_wants(filter, rec) &&
	       filter_wants_class(filter, row->class) &&
	       filter_wants_window(filter, row->window_us);
}

void collect_record(struct collected *c, const struct filter *filter,
		    const struct wsmon_record *rec)
{
	const struct wsmon_rec_proc *proc = (const void *)rec;
	struct wsmon_wss_row row;

	collect_name(c, rec);
	group_take(&c->group, filter, rec);
	if (rec->type == WSMON_REC_PROC && filter_wants(filter, rec))
		need(wsmon_wss_add(&c->rss, &(struct wsmon_wss_row) {
			.time_ns = rec->time_ns, .pid = proc->pid,
			.bytes = proc->rss, .low = proc->rss, .high = proc->rss,
		}));
	else if (collect_row(filter, rec, &row))
		need(wsmon_wss_add(&c->rows, &row));
}

void collect_curves(struct wsmon_curves *cs, const struct filter *filter,
		    const struct wsmon_record *rec)
{
	struct filter classes = *filter;
	struct wsmon_wss_row row;

	/* names are needed even for times that the filter leaves out */
	if (rec->type != WSMON_REC_TARGET && !filter_wants(filter, rec))
		return;
	if (!classes.classes)
		classes.classes = 1U << WSMON_CLASS_ALL;
	if (wss_row_get(rec, &row) && !collect_row(&classes, rec, &row))
		return;
	if (wsmon_curves_record(cs, rec))
		need(NULL);
}

void collect_slowdown(struct slowdown *s, const struct filter *filter,
		      const struct wsmon_record *rec)
{
	struct filter files = *filter;

	slowdown_record(s, rec);
	files.classes = 1U << WSMON_CLASS_TEXT | 1U << WSMON_CLASS_FILE;
	collect_curves(s->files, &files, rec);
}

const char *collect_comm(const struct collected *c, __u32 pid)
{
	const struct wss_name key = { .pid = pid };
	const struct wss_name *name = sorted_find(&c->names, &key);

	return name ? name->comm : "";
}

const char *collect_group(const struct collected *c, char *name)
{
	return group_name(&c->group, c->names.nr, name);
}

void collect_free(struct collected *c)
{
	wsmon_wss_free(&c->rows);
	wsmon_wss_free(&c->rss);
	free(c->names.base);
}

/*
 * The group: its name, its members
 */

static void take_target(struct group *g, const struct wsmon_rec_target *target)
{
	if (g->named && target->pid != g->pid)
		return;
	g->named = true;
	g->pid = target->pid;
	memcpy(g->comm, target->comm, sizeof(g->comm));
}

static void take_members(struct group *g, const struct wsmon_rec_group *rec)
{
	if (!g->intervals++ || rec->members < g->min)
		g->min = rec->members;
	if (rec->members > g->max)
		g->max = rec->members;
	g->came += rec->came;
	g->went += rec->went;
	g->missed += rec->missed;
}

static void take_stats(struct group *g, const struct wsmon_record *rec)
{
	struct wsmon_rec_stats stats;

	wsmon_record_copy(rec, &stats, sizeof(stats));
	g->unfollowed = stats.unfollowed;
}

void group_take(struct group *g, const struct filter *filter, const struct wsmon_record *rec)
{
	if (!*g->path)
		snprintf(g->path, sizeof(g->path), "%s", reader_cgroup(rec));
	if (rec->type == WSMON_REC_TARGET)
		take_target(g, (const void *)rec);
	else if (rec->type == WSMON_REC_GROUP && filter_wants(filter, rec))
		take_members(g, (const void *)rec);
	else if (rec->type == WSMON_REC_STATS)
		take_stats(g, rec);
}

const char *group_name(const struct group *g, size_t targets, char *name)
{
	if (*g->path)
		return strcmp(g->path, "/") ? g->path : "all processes";
	if (targets > 1)
		snprintf(name, GROUP_NAME, "%s and %zu more", g->comm, targets - 1);
	else
		snprintf(name, GROUP_NAME, "%s", g->comm);
	return name;
}

void group_explain(const struct group *g, FILE *f)
{
	if (g->missed)
		fprintf(f, "Not in the total, only in its upper end: memory that %llu processes accessed in the interval in which they ended.\n",
			g->missed);
	if (g->unfollowed)
		fprintf(f, "Not in the total: %llu processes that there was no room for.\n",
			g->unfollowed);
}

void collect_events_free(struct events *ev)
{
	if (ev->lost)
		msg("%zu records of peaks and marks are left out: a report has room for %u of each",
		    ev->lost, EVENTS_MAX);
	events_free(ev);
}
