// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - "wsmo export --csv" and "--json": a row for each working set size
 */
#include <stdlib.h>

#include "cli/cli.h"
#include "export.h"
#include "libwsmon/names.h"

enum { TIME, T, PID, COMM, CLASS, TAU, BYTES, LOW, HIGH, MAPPED, RSS, SWAP };

static const struct column columns[] = {
	[TIME]	= { "time", "", COL_T, 0, 0 },
	[T]	= { "t", "", COL_T, 0, 0 },
	[PID]	= { "pid", "", COL_COUNT, 0, 0 },
	[COMM]	= { "comm", "", COL_TEXT, 0, 0 },
	[CLASS]	= { "class", "", COL_TEXT, 0, 0 },
	[TAU]	= { "window_us", "", COL_US, 0, 0 },
	[BYTES]	= { "bytes", "", COL_SIZE, 0, 0 },
	[LOW]	= { "low", "", COL_SIZE, 0, 0 },
	[HIGH]	= { "high", "", COL_SIZE, 0, 0 },
	[MAPPED] = { "mapped", "", COL_SIZE, 0, 0 },
	[RSS]	= { "rss", "", COL_SIZE, 0, 0 },
	[SWAP]	= { "swap", "", COL_SIZE, 0, 0 },
};

static const struct table_desc desc = {
	.type = "wss", .columns = columns, .nr = ARRAY_SIZE(columns),
};

struct export_rows {
	struct table *table;
	struct sorted targets;
};

static void table_begin(struct report *rp)
{
	struct export_rows *e = calloc(1, sizeof(*e));

	if (!e) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	export_targets_init(&e->targets);
	e->table = table_new(&desc, rp->out.format);
	rp->data = e;
}

static struct cell known(bool is, __u64 u)
{
	return is ? cell_u(u) : (struct cell){ 0 };
}

static void table_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_wss *w = (const void *)rec;
	struct export_rows *e = rp->data;
	struct export_target target;
	double t;

	export_target_note(&e->targets, rec);
	if (rec->type != WSMON_REC_WSS || !filter_wants(&rp->filter, rec) ||
	    !filter_wants_class(&rp->filter, w->class) || !filter_wants_window(&rp->filter, w->tau_us))
		return;
	target = export_target(&e->targets, w->pid);
	t = filter_time(&rp->filter, rec->time_ns);
	table_row(e->table, (struct cell[]) {
		[TIME]	= cell_d(rp->reader.header.real_ns / 1e9 + t),
		[T]	= cell_d(t),
		[PID]	= cell_u(w->pid),
		[COMM]	= cell_s(target.comm),
		[CLASS]	= cell_s(class_name(w->class)),
		[TAU]	= cell_u(w->tau_us),
		[BYTES]	= cell_u(w->bytes),
		[LOW]	= cell_u(w->low),
		[HIGH]	= cell_u(w->high),
		[MAPPED] = cell_u(w->mapped),
		[RSS]	= known(target.have_rss, target.rss),
		[SWAP]	= known(target.have_rss, target.swap),
	});
}

static void table_done(struct report *rp)
{
	struct export_rows *e = rp->data;

	table_end(e->table);
	free(e->targets.base);
	free(e);
}

const struct report_view export_table = {
	.name = "table",
	.begin = table_begin,
	.record = table_record,
	.end = table_done,
};
