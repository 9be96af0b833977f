// SPDX-License-Identifier: GPL-2.0
/*
 * report_wss.c - "wsmo report wss": each working set size, with its interval
 */
#include "names.h"
#include "report.h"
#include "wsmo.h"

enum { T, PID, CLASS, TAU, BYTES, LOW, HIGH };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0, "seconds since the recording began" },
	[PID]	= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of memory; all is the whole target" },
	[TAU]	= { "tau_ms", "WINDOW", COL_MS, 6, 0, "the window tau, milliseconds" },
	[BYTES]	= { "bytes", "WSS", COL_SIZE, 10, 0, "working set: bytes accessed within the window" },
	[LOW]	= { "low", "LOW", COL_SIZE, 10, 0, "lower end of its 95 % interval" },
	[HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0, "upper end" },
};

static const struct table_desc desc = {
	.type = "wss", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const struct table_desc * const tables[] = { &desc };

static void wss_begin(struct report *rp)
{
	rp->data = table_new(&desc, rp->format);
}

static void wss_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_wss *w = (const void *)rec;

	if (rec->type != WSMON_REC_WSS || !report_wants(rp, rec) ||
	    !report_wants_class(rp, w->class) || !report_wants_tau(rp, w->tau_us))
		return;
	table_row(rp->data, (struct cell[]) {
		[T]	= cell_d(report_time(rp, rec->time_ns)),
		[PID]	= cell_u(w->pid),
		[CLASS]	= cell_s(class_name(w->class)),
		[TAU]	= cell_u(w->tau_us / 1000),
		[BYTES]	= cell_u(w->bytes),
		[LOW]	= cell_u(w->low),
		[HIGH]	= cell_u(w->high),
	});
}

static void wss_end(struct report *rp)
{
	table_end(rp->data);
}

const struct report_view report_wss = {
	.name = "wss",
	.help = "the working set size of each target and class, each interval",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.begin = wss_begin,
	.record = wss_record,
	.end = wss_end,
};
