// SPDX-License-Identifier: GPL-2.0
/* live.c - the present figures of a session, from its stream */
#include <stdlib.h>
#include <string.h>

#include "core/cli.h"
#include "libwsmon/reader.h"
#include "libwsmon/wsmon_records.h"
#include "live.h"
#include "procfs.h"

#define TARGETS_MAX	4096	/* the module has at most 256 */

static int compare_class(const void *x, const void *y)
{
	const struct live_class *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->class, b->class);
}

void live_init(struct live *live)
{
	const struct sorted classes = SORTED(struct live_class, TARGETS_MAX * WSMON_NR_CLASSES,
					     compare_class);

	*live = (struct live) {
		.now.classes = classes, .next.classes = classes,
		.names = SORTED(struct wss_name, TARGETS_MAX, order_u32),
		.cpu = -1,
	};
}

const char *live_comm(const struct live *live, __u32 pid)
{
	const struct wss_name key = { .pid = pid };
	const struct wss_name *name = sorted_find(&live->names, &key);

	return name ? name->comm : "";
}

static void take_target(struct live *live, const struct wsmon_rec_target *target)
{
	const struct wss_name key = { .pid = target->pid };
	struct wss_name *name = sorted_get(&live->names, &key);

	if (!name)
		return;
	memcpy(name->comm, target->comm, sizeof(name->comm) - 1);
	name->gone = false;
	name->secondary_mmu = target->flags & WSMON_TARGET_SECONDARY_MMU;
}

static void take_exit(struct live *live, const struct wsmon_rec_exit *gone)
{
	const struct wss_name key = { .pid = gone->pid };
	struct wss_name *name = sorted_find(&live->names, &key);

	if (name)
		name->gone = true;
}

/* Drops the names of targets that are gone, after their last figures were printed */
static void drop_names(struct live *live)
{
	struct wss_name *name = live->names.base;
	size_t i;

	for (i = live->names.nr; i-- > 0;)
		if (name[i].gone)
			sorted_remove(&live->names, &name[i]);
}

static void begin_interval(struct live *live)
{
	live->next.classes.nr = 0;
	live->next.rows.nr = 0;
	live->next.group.rec.size = 0;
}

static void add_region(struct sorted *classes, __u32 pid, __u32 class,
		       const struct wsmon_region_entry *e)
{
	const struct live_class key = { .pid = pid, .class = class };
	struct live_class *c = sorted_get(classes, &key);

	if (!c)
		return;
	c->regions++;
	if (e->share >= WSMON_SHARE_ONE / 2)
		c->hot += e->end - e->start;
}

static void take_snapshot(struct live *live, const struct wsmon_rec_snapshot *s)
{
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		add_region(&live->next.classes, s->pid, s->regions[i].class, &s->regions[i]);
		add_region(&live->next.classes, s->pid, WSMON_CLASS_ALL, &s->regions[i]);
	}
}

static void read_memory(struct live *live)
{
	__u32 before = 0;
	size_t i;

	wsmon_wss_free(&live->rss);
	for (i = 0; i < live->now.rows.nr; i++) {
		struct wsmon_rec_proc proc = { .pid = live->now.rows.row[i].pid };

		if (proc.pid != before && !proc_memory(proc.pid, &proc))
			need(wsmon_wss_add(&live->rss, &(struct wsmon_wss_row) {
				.pid = proc.pid, .bytes = proc.rss,
			}));
		before = proc.pid;
	}
}

/* Takes STATS, the last record of an interval */
static void take_stats(struct live *live, const struct wsmon_record *rec)
{
	struct live_interval before = live->now;
	struct wsmon_rec_stats st;

	wsmon_record_copy(rec, &st, sizeof(st));
	/* the last STATS of a session follows no figures */
	if (!live->held && live->next.rows.nr) {
		live->cpu = live->time_ns && rec->time_ns > live->time_ns ?
			    (double)(st.cpu_ns - live->cpu_ns) / (rec->time_ns - live->time_ns) : -1;
		live->time_ns = rec->time_ns;
		live->cpu_ns = st.cpu_ns;
		live->lost = st.lost_records;
		live->now = live->next;
		live->next = before;
		wsmon_wss_sort(&live->now.rows, false);
		read_memory(live);
		drop_names(live);
	}
	begin_interval(live);
}

void live_take(struct live *live, const struct wsmon_record *rec)
{
	struct wsmon_wss_row row;

	switch (rec->type) {
	case WSMON_REC_TARGET:
		take_target(live, (const void *)rec);
		break;
	case WSMON_REC_EXIT:
		take_exit(live, (const void *)rec);
		break;
	case WSMON_REC_SNAPSHOT:
		take_snapshot(live, (const void *)rec);
		break;
	case WSMON_REC_WSS:
	case WSMON_REC_TOTAL:
		if (wss_row_get(rec, &row))
			need(wsmon_wss_add(&live->next.rows, &row));
		break;
	case WSMON_REC_GROUP:
		wsmon_record_copy(rec, &live->next.group, sizeof(live->next.group));
		break;
	case WSMON_REC_PEAK:
		events_add(&live->events, rec);
		break;
	case WSMON_REC_LOST:
		/* drop the figures so far: the next records may be of a later interval */
		begin_interval(live);
		break;
	case WSMON_REC_STATS:
		take_stats(live, rec);
		break;
	}
}

void live_free(struct live *live)
{
	wsmon_wss_free(&live->now.rows);
	wsmon_wss_free(&live->next.rows);
	free(live->now.classes.base);
	free(live->next.classes.base);
	wsmon_wss_free(&live->rss);
	free(live->names.base);
	events_free(&live->events);
}
