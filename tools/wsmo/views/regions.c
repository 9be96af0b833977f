// SPDX-License-Identifier: GPL-2.0
/* regions.c - "wsmo report regions": the regions of each snapshot */
#include <stdlib.h>

#include "collect.h"
#include "core/cli.h"
#include "libwsmon/fine.h"
#include "libwsmon/mappings.h"
#include "libwsmon/names.h"
#include "report.h"

struct region_row {
	double t;
	__u64 pid;
	const char *comm, *class;
	__u64 start, end, size;
	double share, freq;
	__u64 age_ms;
	const char *path;
};

#define ROW struct region_row

TABLE(regions_table, "region",
	COL(t, T, 8, "TIME", 0, "time of the snapshot"),
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(comm, TEXT, 4, "COMM", NOT_HUMAN, "its name"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory"),
	COL(start, ADDR, 14, "START", 0, "first address"),
	COL(end, ADDR, 14, "END", 0, "end, exclusive"),
	COL(size, SIZE, 10, "SIZE", NOT_JSON | NOT_CSV, ""),
	COL(share, RATIO, 7, "SHARE", 0,
	    "share of its pages accessed within an aggregation interval, a moving average"),
	COL(freq, RATIO, 7, "FREQ", 0, "share of sampling rounds that found its samples accessed"),
	COL(age_ms, MS, 7, "AGE", 0, "time since the share last changed much"),
	COL(path, TEXT, 8, "MAPPING", 0, "name of the mapping"));

/** struct regions_options - the command line */
static struct regions_options {
	bool fine;
} options;

/**
 * struct regions - the view's own data
 * @table:	the rows
 * @names:	names of processes
 * @fine:	evidence for parts of regions; NULL without --fine
 * @rp:		the run of the report
 * @rec:	the snapshot being printed
 */
struct regions {
	struct table *table;
	struct collected names;
	struct fine *fine;
	struct report *rp;
	const struct wsmon_rec_snapshot *rec;
};

static void regions_begin(struct report *rp)
{
	struct regions *r = need(calloc(1, sizeof(*r)));

	collect_init(&r->names);
	rp->reader.areas = need(areas_new());
	if (options.fine)
		r->fine = need(fine_new(rp->reader.header.page_size));
	r->table = report_table(rp, &regions_table);
	r->rp = rp;
	rp->data = r;
}

static void row(void *arg, const struct wsmon_region_entry *e)
{
	const struct regions *r = arg;

	if (!filter_wants_class(&r->rp->filter, e->class))
		return;
	table_row(r->table, &(struct region_row) {
		.t = filter_time(&r->rp->filter, r->rec->rec.time_ns),
		.pid = r->rec->pid, .comm = collect_comm(&r->names, r->rec->pid),
		.class = class_name(e->class),
		.start = e->start, .end = e->end, .size = e->end - e->start,
		.share = (double)e->share / WSMON_SHARE_ONE,
		.freq = (double)e->freq / WSMON_SHARE_ONE,
		.age_ms = e->age_ms,
		.path = wsmon_area_path(&r->rp->reader, r->rec->pid, e->area),
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
