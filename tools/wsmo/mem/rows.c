// SPDX-License-Identifier: GPL-2.0
/*
 * rows.c - what mappings add up to: by process, class and file
 */
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "libwsmon/util.h"
#include "rows.h"

static int compare(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->class, b->class) ?:
	       (a->path ? strcmp(a->path, b->path) : 0);
}

struct row *rows_get(struct rows *rows, const struct mem_process *p, const struct mem_mapping *m)
{
	struct row key = {
		.pid = rows->by & BY_PROCESS ? p->pid : 0,
		.class = rows->by & BY_CLASS ? m->class : WSMON_CLASS_ALL,
		.path = rows->by & BY_FILE ? (char *)(uintptr_t)m->path : NULL,
	};
	struct row **found = tfind(&key, &rows->tree, compare), *row;

	if (found)
		return *found;
	row = need(malloc(sizeof(*row)));
	*row = key;
	if (key.pid)
		memcpy(row->comm, p->comm, sizeof(row->comm));
	if (key.path)
		row->path = need(strdup(key.path));
	need(tsearch(row, &rows->tree, compare));
	if (rows->nr == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 64;
		rows->row = need(reallocarray(rows->row, rows->room, sizeof(struct row *)));
	}
	rows->row[rows->nr++] = row;
	return row;
}

const struct row *rows_find(const struct rows *rows, const struct row *like)
{
	struct row **found = tfind(like, &rows->tree, compare);

	return found ? *found : NULL;
}

void row_add(struct row *row, const struct mem_process *p, const struct mem_mapping *m, __u64 once)
{
	int i;

	for (i = 0; i < MEM_NR_BYTES; i++)
		row->sum[i] += m->bytes[i];
	row->once += once;
	row->processes += row->last != p->pid;
	row->last = p->pid;
}

__u64 row_bytes(const struct row *row, enum mem_bytes what)
{
	__u64 private = row->sum[MEM_PRIVATE];

	if (row->processes < 2)
		return row->sum[what];
	switch (what) {
	case MEM_RESIDENT:
		return row->once;
	case MEM_SHARED:
		return row->once > private ? row->once - private : 0;
	case MEM_SWAP:
		return row->sum[MEM_SWAP_PSS];
	default:
		return row->sum[what];
	}
}

__u64 row_in_use(const struct row *row)
{
	__u64 resident = row_bytes(row, MEM_RESIDENT);

	return row->processes > 1 && row->in_use > resident ? resident : whole(row->in_use);
}

static void leave(void *row __attribute__((unused)))
{
}

void rows_free(struct rows *rows)
{
	size_t i;

	tdestroy(rows->tree, leave);
	for (i = 0; i < rows->nr; i++) {
		free(rows->row[i]->path);
		free(rows->row[i]);
	}
	free(rows->row);
	*rows = (struct rows) { .by = rows->by };
}
