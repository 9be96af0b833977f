// SPDX-License-Identifier: GPL-2.0
/*
 * group.c - the group of a recording: its name, its members
 */
#include <string.h>

#include "group.h"
#include "libwsmon/reader.h"

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
		fprintf(f, "Not in the total, only in its upper end: what %llu processes accessed in the interval in which they ended.\n",
			g->missed);
	if (g->unfollowed)
		fprintf(f, "Not in the total: %llu processes that there was no room for.\n",
			g->unfollowed);
}
