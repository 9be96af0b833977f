// SPDX-License-Identifier: GPL-2.0
/*
 * curve_rows.c - takes the records that working-set curves are made of
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "curve_data.h"
#include "series.h"
#include "libwsmon/util.h"

#define TARGETS_MAX	65536

static int compare_targets(const void *a, const void *b)
{
	const struct curves_target *x = a, *y = b;

	return COMPARE(x->pid, y->pid);
}

struct wsmon_curves *wsmon_curves_new(const struct wsmon_file_header *header)
{
	struct wsmon_curves *cs = malloc(sizeof(*cs));

	if (!cs)
		return NULL;
	*cs = (struct wsmon_curves) {
		.start_ns = header->mono_ns,
		.page_size = header->page_size,
		.targets = {
			.size = sizeof(struct curves_target),
			.max = TARGETS_MAX, .compare = compare_targets,
		},
	};
	return cs;
}

void wsmon_curves_free(struct wsmon_curves *cs)
{
	if (!cs)
		return;
	wsmon_wss_free(&cs->rows);
	wsmon_wss_free(&cs->rss);
	free(cs->targets.base);
	free(cs->of);
	free(cs);
}

struct curves_target *curves_target(const struct wsmon_curves *cs, __u32 pid)
{
	const struct curves_target key = { .pid = pid };

	return sorted_find(&cs->targets, &key);
}

static void forget(struct wsmon_wss_rows *rows, __u32 pid)
{
	size_t i, n = 0;

	for (i = 0; i < rows->nr; i++)
		if (rows->row[i].pid != pid)
			rows->row[n++] = rows->row[i];
	rows->nr = n;
}

/* After an exec it is another program: drops what was before */
static void take_target(struct wsmon_curves *cs, const struct wsmon_rec_target *rec)
{
	const struct curves_target key = {
		.pid = rec->pid, .since_ns = rec->rec.time_ns,
	};
	bool known = curves_target(cs, rec->pid);
	struct curves_target *t = sorted_get(&cs->targets, &key);

	if (!t)
		return;
	memcpy(t->comm, rec->comm, sizeof(t->comm));
	if (!known || (rec->flags & WSMON_TARGET_REASON) == WSMON_TARGET_AGAIN)
		return;
	t->since_ns = rec->rec.time_ns;
	forget(&cs->rows, rec->pid);
	forget(&cs->rss, rec->pid);
}

/* When observation of the target of a row began, or that of the group */
static __u64 since(struct wsmon_curves *cs, const struct wsmon_wss_row *row)
{
	const struct curves_target *t;

	if (row->group) {
		if (!cs->group_ns)
			cs->group_ns = row->time_ns;
		return cs->group_ns;
	}
	t = curves_target(cs, row->pid);
	return t ? t->since_ns : cs->start_ns;
}

static int take_size(struct wsmon_curves *cs, const struct wsmon_wss_row *row)
{
	if (!row->window_us)
		return 0;
	cs->seen++;
	if (row->window_us > cs->longest_us)
		cs->longest_us = row->window_us;
	if (row->time_ns < since(cs, row) + row->window_us * NSEC_PER_USEC)
		return 0;
	return wsmon_wss_add(&cs->rows, row) ? 0 : -ENOMEM;
}

static int take_proc(struct wsmon_curves *cs, const struct wsmon_rec_proc *rec)
{
	return wsmon_wss_add(&cs->rss, &(struct wsmon_wss_row) {
		.time_ns = rec->rec.time_ns, .pid = rec->pid,
		.bytes = rec->rss, .high = rec->rss + rec->swap,
	}) ? 0 : -ENOMEM;
}

int wsmon_curves_record(struct wsmon_curves *cs, const struct wsmon_record *rec)
{
	struct wsmon_wss_row row;
	int err = 0;

	if (rec->type == WSMON_REC_TARGET)
		take_target(cs, (const void *)rec);
	else if (wss_row_get(rec, &row))
		err = take_size(cs, &row);
	else if (rec->type == WSMON_REC_PROC)
		err = take_proc(cs, (const void *)rec);
	cs->failed |= err != 0;
	return err;
}
