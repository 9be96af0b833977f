// SPDX-License-Identifier: GPL-2.0
/* records.c - "wsmo report records": number and size of the records of each type */
#include <stdlib.h>

#include "core/cli.h"
#include "libwsmon/names.h"
#include "libwsmon/sorted.h"
#include "report.h"

#define TYPES_MAX	1024	/* types; a forged file may have many */

struct records_row {
	__u32 type;	/* first, for order_u32() */
	const char *record;
	__u64 count, bytes;
};

#define ROW struct records_row

TABLE(records_table, "records",
	COL(record, TEXT, 8, "RECORD", 0, "type of the records, as in ``raw``"),
	COL(count, COUNT, 8, "COUNT", 0, "their number"),
	COL(bytes, SIZE, 10, "SIZE", 0, "their size, before they are packed"));

static void records_begin(struct report *rp)
{
	struct sorted *types = need(calloc(1, sizeof(*types)));

	*types = (struct sorted) {
		.size = sizeof(struct records_row), .max = TYPES_MAX, .compare = order_u32,
	};
	rp->data = types;
}

static void records_record(struct report *rp, const struct wsmon_record *rec)
{
	struct records_row *row;

	if (!filter_wants(&rp->filter, rec))
		return;
	row = sorted_get(rp->data, &(struct records_row){ .type = rec->type });
	if (row) {
		row->count++;
		row->bytes += rec->size;
	}
}

static void records_end(struct report *rp)
{
	struct table *table = report_table(rp, &records_table);
	struct sorted *types = rp->data;
	struct records_row *row = types->base;
	size_t i;

	for (i = 0; i < types->nr; i++) {
		row[i].record = record_name(row[i].type);
		table_row(table, &row[i]);
	}
	table_end(table);
	free(types->base);
	free(types);
}

REPORT_VIEW(records_view) = {
	.order = 14,
	.name = "records",
	.help = "Number and size of the records of each type",
	.takes = TAKES_FORMAT,
	.shows_all = true,
	.begin = records_begin,
	.record = records_record,
	.end = records_end,
};
