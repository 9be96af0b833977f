// SPDX-License-Identifier: GPL-2.0
/*
 * regions.c - "wsmo report regions": the regions of each snapshot
 */
#include <stdlib.h>

#include "collect.h"
#include "core/cli.h"
#include "libwsmon/fine.h"
#include "libwsmon/mappings.h"
#include "libwsmon/names.h"
#include "report.h"

enum { T, PID, COMM, CLASS, START, END, SIZE, SHARE, FREQ, AGE, PATH };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0 },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0 },
	[COMM]	= { "comm", "COMM", COL_TEXT, 4, NOT_HUMAN },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0 },
	[START]	= { "start", "START", COL_ADDR, 14, 0 },
	[END]	= { "end", "END", COL_ADDR, 14, 0 },
	[SIZE]	= { "size", "SIZE", COL_SIZE, 10, NOT_JSON | NOT_CSV },
	[SHARE]	= { "share", "SHARE", COL_RATIO, 7, 0 },
	[FREQ]	= { "freq", "FREQ", COL_RATIO, 7, 0 },
	[AGE]	= { "age_ms", "AGE", COL_MS, 7, 0 },
	[PATH]	= { "path", "MAPPING", COL_TEXT, 8, 0 },
};

static const struct table_desc desc = TABLE_DESC("region", columns);

/** struct regions_options - the command line */
static struct regions_options {
	bool fine;
} options;

/**
 * struct regions - the view's own data
 * @table:	the rows
 * @names:	names of processes
 * @areas:	names of mappings
 * @fine:	evidence for parts of regions; NULL without --fine
 * @rp:		the run of the report
 * @rec:	the snapshot being printed
 */
struct regions {
	struct table *table;
	struct collected names;
	struct areas *areas;
	struct fine *fine;
	struct report *rp;
	const struct wsmon_rec_snapshot *rec;
};

static void regions_begin(struct report *rp)
{
	struct regions *r = need(calloc(1, sizeof(*r)));

	collect_init(&r->names);
	r->areas = need(areas_new());
	if (options.fine)
		r->fine = need(fine_new(rp->reader.header.page_size));
	r->table = report_table(rp, &desc);
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
		[COMM]	= cell_s(collect_comm(&r->names, r->rec->pid)),
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

	collect_name(&r->names, rec);
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
		msg("too many processes or regions for --fine: some are not divided");
	collect_free(&r->names);
	areas_free(r->areas);
	fine_free(r->fine);
	free(r);
}

static const struct option_desc own[] = {
	{ "fine", 0, NULL, "Use recent samples to show which parts of a region were accessed",
	  OPT_FLAG, OPT_AT(struct regions_options, fine) },
	{ 0 }
};

REPORT_VIEW(regions_view) = {
	.order = 7,
	.name = "regions",
	.help = "The regions of each snapshot, in address order",
	.takes = TAKES_CLASS | TAKES_FORMAT,
	.own = own,
	.options = &options,
	.of_processes = true,
	.begin = regions_begin,
	.record = regions_record,
	.end = regions_end,
};
