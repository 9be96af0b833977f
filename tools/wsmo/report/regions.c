// SPDX-License-Identifier: GPL-2.0
/*
 * regions.c - "wsmo report regions": each snapshot's regions
 */
#include <stdlib.h>

#include "cli/cli.h"
#include "libwsmon/areas.h"
#include "libwsmon/fine/fine.h"
#include "libwsmon/names.h"
#include "report.h"

enum { T, PID, CLASS, START, END, SIZE, SHARE, FREQ, AGE, PATH };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0, "seconds since the recording began" },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of memory" },
	[START]	= { "start", "START", COL_ADDR, 14, 0, "first address" },
	[END]	= { "end", "END", COL_ADDR, 14, 0, "address behind the last one" },
	[SIZE]	= { "size", "SIZE", COL_SIZE, 10, NOT_JSON | NOT_CSV, "bytes between them" },
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0, "share of its pages accessed in an aggregation interval, a moving average" },
	[FREQ]	= { "freq", "FREQ", COL_RATIO, 7, 0, "share of sampling rounds that found its samples accessed" },
	[AGE]	= { "age_ms", "AGE", COL_MS, 7, 0, "milliseconds since the share last changed much" },
	[PATH]	= { "path", "MAPPING", COL_TEXT, 8, NOT_JSON, "name of the mapping" },
};

static const struct table_desc desc = {
	.type = "region", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const struct table_desc * const tables[] = { &desc };

/**
 * struct regions - the view's own data
 * @table:	the rows
 * @areas:	names of mappings
 * @fine:	what is known of regions' parts; NULL if they are not wanted
 * @rp:		the run of the report
 * @rec:	the snapshot whose rows are made
 */
struct regions {
	struct table *table;
	struct areas *areas;
	struct fine *fine;
	struct report *rp;
	const struct wsmon_rec_snapshot *rec;
};

static void no_memory(void)
{
	msg("out of memory");
	exit(WSMO_FAILURE);
}

static void regions_begin(struct report *rp)
{
	struct regions *r = calloc(1, sizeof(*r));

	if (!r)
		no_memory();
	r->areas = areas_new();
	r->fine = rp->fine ? fine_new(rp->reader.header.page_size) : NULL;
	if (!r->areas || (rp->fine && !r->fine))
		no_memory();
	r->table = table_new(&desc, rp->format);
	r->rp = rp;
	rp->data = r;
}

static void row(void *arg, const struct wsmon_region_entry *e)
{
	const struct regions *r = arg;

	if (!filter_wants_class(&r->rp->filter, e->class))
		return;
	table_row(r->table, (struct cell[]) {
		[T]	= cell_d(filter_time(&r->rp->filter, r->rec->rec.time_ns)),
		[PID]	= cell_u(r->rec->pid),
		[CLASS]	= cell_s(class_name(e->class)),
		[START]	= cell_u(e->start),
		[END]	= cell_u(e->end),
		[SIZE]	= cell_u(e->end - e->start),
		[SHARE]	= cell_d((double)e->share / WSMON_SHARE_ONE),
		[FREQ]	= cell_d((double)e->freq / WSMON_SHARE_ONE),
		[AGE]	= cell_u(e->age_ms),
		[PATH]	= cell_s(areas_path(r->areas, r->rec->pid, e->area)),
	});
}

static void snapshot(struct regions *r, const struct wsmon_rec_snapshot *s)
{
	__u32 i;

	r->rec = s;
	if (!r->fine) {
		for (i = 0; i < s->nr; i++)
			row(r, &s->regions[i]);
	} else {
		fine_snapshot(r->fine, s, row, r);
	}
}

static void regions_record(struct report *rp, const struct wsmon_record *rec)
{
	struct regions *r = rp->data;

	if (rec->type == WSMON_REC_AREA)
		areas_add(r->areas, (const void *)rec);
	if (rec->type == WSMON_REC_SNAPSHOT && filter_wants(&rp->filter, rec))
		snapshot(r, (const void *)rec);
	else if (r->fine && rec->type != WSMON_REC_SNAPSHOT)
		fine_note(r->fine, rec);
}

static void regions_end(struct report *rp)
{
	struct regions *r = rp->data;

	table_end(r->table);
	if (r->fine && fine_full(r->fine))
		msg("too many processes or regions for --fine: some are told as they are");
	areas_free(r->areas);
	fine_free(r->fine);
	free(r);
}

const struct report_view report_regions = {
	.name = "regions",
	.help = "the regions of each snapshot, in address order",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.places = true,
	.begin = regions_begin,
	.record = regions_record,
	.end = regions_end,
};
