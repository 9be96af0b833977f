// SPDX-License-Identifier: GPL-2.0
/* series.c - the working set sizes of a recording */
#include <errno.h>
#include <stdlib.h>

#include "series.h"
#include "stats.h"
#include "util.h"

struct wsmon_wss_row *wsmon_wss_add(struct wsmon_wss_rows *rows, const struct wsmon_wss_row *row)
{
	if (rows->nr == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 256;
		struct wsmon_wss_row *more = reallocarray(rows->row, room, sizeof(*row));

		if (!more)
			return NULL;
		rows->row = more;
		rows->room = room;
	}
	rows->row[rows->nr] = *row;
	return &rows->row[rows->nr++];
}

bool wss_row_get(const struct wsmon_record *rec, struct wsmon_wss_row *row)
{
	const struct wsmon_rec_total *total = (const void *)rec;
	const struct wsmon_rec_wss *w = (const void *)rec;

	if (rec->type == WSMON_REC_WSS)
		*row = (struct wsmon_wss_row) {
			.time_ns = rec->time_ns, .window_us = w->window_us,
			.bytes = w->bytes, .low = w->low, .high = w->high,
			.mapped = w->mapped, .pid = w->pid, .class = w->class,
		};
	else if (rec->type == WSMON_REC_TOTAL)
		*row = (struct wsmon_wss_row) {
			.time_ns = rec->time_ns, .window_us = total->window_us,
			.bytes = total->bytes, .low = total->low, .high = total->high,
			.mapped = total->mapped, .class = total->class, .group = true,
		};
	else
		return false;
	return true;
}

int wsmon_wss_record(struct wsmon_wss_rows *rows, const struct wsmon_record *rec)
{
	struct wsmon_wss_row row;

	return wss_row_get(rec, &row) && !wsmon_wss_add(rows, &row) ? -ENOMEM : 0;
}

void wsmon_wss_free(struct wsmon_wss_rows *rows)
{
	free(rows->row);
	*rows = (struct wsmon_wss_rows){ 0 };
}

static int compare_series(const struct wsmon_wss_row *a, const struct wsmon_wss_row *b)
{
	return COMPARE(b->group, a->group) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->window_us, b->window_us) ?: COMPARE(a->class, b->class);
}

static int by_time(const void *x, const void *y)
{
	const struct wsmon_wss_row *a = x, *b = y;

	return compare_series(a, b) ?: COMPARE(a->time_ns, b->time_ns);
}

static int by_bytes(const void *x, const void *y)
{
	const struct wsmon_wss_row *a = x, *b = y;

	return compare_series(a, b) ?: COMPARE(a->bytes, b->bytes) ?: by_time(x, y);
}

void wsmon_wss_sort(struct wsmon_wss_rows *rows, bool by_size)
{
	if (rows->nr)
		qsort(rows->row, rows->nr, sizeof(*rows->row), by_size ? by_bytes : by_time);
}

size_t wsmon_wss_series(const struct wsmon_wss_rows *rows, size_t first)
{
	size_t i = first + 1;

	while (i < rows->nr && !compare_series(&rows->row[i], &rows->row[first]))
		i++;
	return i;
}

const struct wsmon_wss_row *wsmon_wss_percentile(const struct wsmon_wss_row *series, size_t nr,
						 unsigned int percent)
{
	return &series[nearest_rank(nr, percent)];
}
