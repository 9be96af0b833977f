// SPDX-License-Identifier: GPL-2.0
/*
 * summary.c - "wsmo report summary": the recording, each target and
 * class over all of it, what monitoring cost
 *
 * Means and variances are updated record by record (Welford, "Note on a method
 * for calculating corrected sums of squares and products", 1962).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "libwsmon/names.h"
#include "libwsmon/sorted.h"
#include "report.h"
#include "summary.h"

/* A file with more targets, or windows, than this is told to be too much. */
#define SUMMARY_ROWS	16384

enum {
	W_PID, W_COMM, W_CLASS, W_TAU, W_MEAN, W_SD, W_PEAK, W_PEAK_T, W_LOW,
	W_HIGH, W_MAPPED, W_N,
};

static const struct column wss_columns[] = {
	[W_PID]		= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[W_COMM]	= { "comm", "NAME", COL_TEXT, 4, 0, "its name" },
	[W_CLASS]	= { "class", "CLASS", COL_TEXT, 7, 0, "class of memory; all is the whole target" },
	[W_TAU]		= { "window_us", "WINDOW", COL_US, 6, 0, "the window, microseconds" },
	[W_MEAN]	= { "mean", "WSS", COL_SIZE, 10, 0, "working set: mean over the intervals" },
	[W_SD]		= { "sd", "SD", COL_SIZE, 10, 0, "its standard deviation" },
	[W_PEAK]	= { "peak", "PEAK", COL_SIZE, 10, 0, "its greatest value" },
	[W_PEAK_T]	= { "peak_t", "AT", COL_T, 8, 0, "when that was" },
	[W_LOW]		= { "low", "LOW", COL_SIZE, 10, 0, "mean lower end of the 95 % interval" },
	[W_HIGH]	= { "high", "HIGH", COL_SIZE, 10, 0, "mean upper end" },
	[W_MAPPED]	= { "mapped", "MAPPED", COL_SIZE, 10, 0, "mean bytes mapped" },
	[W_N]		= { "intervals", "N", COL_COUNT, 4, 0, "intervals it is made of" },
};

enum {
	M_PID, M_COMM, M_RSS, M_RSS_MAX, M_PSS, M_PSS_MAX, M_SWAP_MAX, M_VSIZE,
	M_VSIZE_MAX, M_EXIT,
};

static const struct column memory_columns[] = {
	[M_PID]		= { "pid", "PID", COL_COUNT, 7, 0, "the target" },
	[M_COMM]	= { "comm", "NAME", COL_TEXT, 4, 0, "its name" },
	[M_RSS]		= { "rss_mean", "RSS", COL_SIZE, 10, 0, "resident memory, mean" },
	[M_RSS_MAX]	= { "rss_max", "MAX RSS", COL_SIZE, 10, 0, "resident memory, greatest" },
	[M_PSS]		= { "pss_mean", "PSS", COL_SIZE, 10, 0, "proportional share of resident memory, mean; read each 10 s at most" },
	[M_PSS_MAX]	= { "pss_max", "MAX PSS", COL_SIZE, 10, 0, "proportional share of resident memory, greatest read" },
	[M_SWAP_MAX]	= { "swap_max", "MAX SWAP", COL_SIZE, 10, 0, "swapped out, greatest" },
	[M_VSIZE]	= { "vsize_mean", "VSZ", COL_SIZE, 10, 0, "mapped memory, mean" },
	[M_VSIZE_MAX]	= { "vsize_max", "MAX VSZ", COL_SIZE, 10, 0, "mapped memory, greatest" },
	[M_EXIT]	= { "exit_t", "GONE AT", COL_T, 8, 0, "when it was gone" },
};

static const struct table_desc wss_desc = {
	.type = "wss_summary",
	.columns = wss_columns, .nr = ARRAY_SIZE(wss_columns),
};

static const struct table_desc memory_desc = {
	.type = "memory",
	.columns = memory_columns, .nr = ARRAY_SIZE(memory_columns),
};

static const struct table_desc * const tables[] = {
	&summary_recording_desc, &wss_desc, &summary_touched_desc, &memory_desc,
};

static void series_add(struct series *s, __u64 value, double t)
{
	double delta = value - s->mean;

	s->n++;
	s->mean += delta / s->n;
	s->m2 += delta * (value - s->mean);
	if (s->n == 1 || value > s->max) {
		s->max = value;
		s->max_t = t;
	}
}

static double series_sd(const struct series *s)
{
	return s->n > 1 ? sqrt(s->m2 / (s->n - 1)) : 0;
}

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tau_us != b->tau_us)
		return a->tau_us < b->tau_us ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return 0;
}

static int compare_targets(const void *x, const void *y)
{
	const struct target *a = x, *b = y;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* The element equal to @key, added if it is new; NULL if there is no room */
static void *find_or_add(struct summary *s, struct sorted *in, const void *key)
{
	void *p = sorted_get(in, key);

	if (!p)
		s->too_many = true;
	return p;
}

static struct target *find_target(struct summary *s, __u32 pid)
{
	const struct target key = { .pid = pid };

	return find_or_add(s, &s->targets, &key);
}

static void add_wss(struct summary *s, const struct wsmon_rec_wss *w, double t)
{
	const struct row key = {
		.pid = w->pid, .class = w->class, .tau_us = w->tau_us,
	};
	struct row *row = find_or_add(s, &s->rows, &key);

	if (!row)
		return;
	series_add(&row->wss, w->bytes, t);
	series_add(&row->low, w->low, t);
	series_add(&row->high, w->high, t);
	series_add(&row->mapped, w->mapped, t);
	if (w->class == WSMON_CLASS_ALL && row->wss.n > s->intervals)
		s->intervals = row->wss.n;
}

static void add_proc(struct summary *s, const struct wsmon_record *rec, double t)
{
	struct wsmon_rec_proc p;
	struct target *target;

	reader_copy(rec, &p, sizeof(p));
	target = find_target(s, p.pid);
	if (!target)
		return;
	series_add(&target->rss, p.rss, t);
	if (p.pss)
		series_add(&target->pss, p.pss, t);
	series_add(&target->swap, p.swap, t);
	series_add(&target->vsize, p.vsize, t);
}

static void add_target(struct summary *s, const struct wsmon_rec_target *rec)
{
	const struct target key = { .pid = rec->pid };
	bool known = sorted_find(&s->targets, &key);
	struct target *target = find_target(s, rec->pid);

	if (target)
		memcpy(target->comm, rec->comm, sizeof(target->comm));
	if (!known && (rec->flags & WSMON_TARGET_REASON) == WSMON_TARGET_AGAIN)
		s->late_reader = true;
}

static void add_exit(struct summary *s, const struct wsmon_rec_exit *rec,
		     double t)
{
	struct target *target = find_target(s, rec->pid);

	if (target) {
		target->gone = true;
		target->exit_t = t;
	}
}

/* What counts for the recording as a whole, whatever is filtered */
static void add_to_recording(struct summary *s, const struct wsmon_record *rec)
{
	const struct wsmon_rec_lost *lost = (const void *)rec;
	struct wsmon_rec_attrs attrs;

	if (!s->records++)
		s->first_ns = rec->time_ns;
	if (rec->time_ns > s->last_ns)
		s->last_ns = rec->time_ns;
	switch (rec->type) {
	case WSMON_REC_ATTRS:
		reader_copy(rec, &attrs, sizeof(attrs));
		s->attrs = attrs.attrs;
		break;
	case WSMON_REC_LOST:
		s->lost.records += lost->records;
		s->lost.bytes += lost->bytes;
		break;
	case WSMON_REC_STATS:
		reader_copy(rec, &s->stats, sizeof(s->stats));
		if (!s->have_stats)
			s->first_stats = s->stats;
		s->have_stats = true;
		break;
	case WSMON_REC_END:
		s->ended = true;
		s->reason = ((const struct wsmon_rec_end *)rec)->reason;
		break;
	}
}

/* Which mapping it was does not matter here, only its class */
static __u32 no_place(void *data, __u32 pid, const struct wsmon_region_entry *e)
{
	(void)data;
	(void)pid;
	(void)e;
	return 0;
}

static void summary_begin(struct report *rp)
{
	struct summary *s = calloc(1, sizeof(*s));

	if (!s) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	s->rows = (struct sorted) {
		.size = sizeof(struct row),
		.max = SUMMARY_ROWS,
		.compare = compare_rows,
	};
	s->targets = (struct sorted) {
		.size = sizeof(struct target),
		.max = SUMMARY_ROWS,
		.compare = compare_targets,
	};
	s->hot.place = no_place;
	s->attrs = rp->reader.header.attrs;
	rp->data = s;
}

static void summary_record(struct report *rp, const struct wsmon_record *rec)
{
	double t = filter_time(&rp->filter, rec->time_ns);
	const struct wsmon_rec_wss *wss;
	struct summary *s = rp->data;

	add_to_recording(s, rec);
	if (rec->type == WSMON_REC_TARGET) {
		const struct wsmon_rec_target *target = (const void *)rec;

		/* names are needed whatever --time says */
		add_target(s, target);
		if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
			hot_exec(&s->hot, target->pid);
		return;
	}
	if (!filter_wants(&rp->filter, rec))
		return;
	switch (rec->type) {
	case WSMON_REC_WSS:
		wss = (const void *)rec;
		if (filter_wants_class(&rp->filter, wss->class) &&
		    filter_wants_window(&rp->filter, wss->tau_us) &&
		    wss->tau_us == summary_window(rp))
			add_wss(s, wss, t);
		break;
	case WSMON_REC_SNAPSHOT:
		hot_snapshot(&s->hot, (const void *)rec);
		break;
	case WSMON_REC_PROC:
		add_proc(s, rec, t);
		break;
	case WSMON_REC_EXIT:
		add_exit(s, (const void *)rec, t);
		break;
	}
}

const char *summary_comm(const struct summary *s, __u32 pid)
{
	const struct target key = { .pid = pid };
	const struct target *t = sorted_find(&s->targets, &key);

	return t ? t->comm : "";
}

struct cell summary_rounded(double v)
{
	return cell_u(v < 0x1p64 ? (__u64)(v + 0.5) : ~0ULL);
}

const struct row *summary_row(const struct report *rp, __u32 pid, __u32 class)
{
	const struct row key = {
		.pid = pid, .class = class, .tau_us = summary_window(rp),
	};

	return sorted_find(&((const struct summary *)rp->data)->rows, &key);
}

static void print_wss(struct report *rp)
{
	struct table *table = table_new(&wss_desc, rp->format);
	const struct summary *s = rp->data;
	size_t i;

	for (i = 0; i < s->rows.nr; i++) {
		const struct row *r = (const struct row *)s->rows.base + i;

		table_row(table, (struct cell[]) {
			[W_PID]		= cell_u(r->pid),
			[W_COMM]	= cell_s(summary_comm(s, r->pid)),
			[W_CLASS]	= cell_s(class_name(r->class)),
			[W_TAU]		= cell_u(r->tau_us),
			[W_MEAN]	= summary_rounded(r->wss.mean),
			[W_SD]		= summary_rounded(series_sd(&r->wss)),
			[W_PEAK]	= cell_u(r->wss.max),
			[W_PEAK_T]	= cell_d(r->wss.max_t),
			[W_LOW]		= summary_rounded(r->low.mean),
			[W_HIGH]	= summary_rounded(r->high.mean),
			[W_MAPPED]	= summary_rounded(r->mapped.mean),
			[W_N]		= cell_u(r->wss.n),
		});
	}
	table_end(table);
}

static struct cell mean_cell(const struct series *s)
{
	return s->n ? summary_rounded(s->mean) : (struct cell){ 0 };
}

static struct cell max_cell(const struct series *s)
{
	return s->n ? cell_u(s->max) : (struct cell){ 0 };
}

static void print_memory(struct report *rp)
{
	struct table *table = table_new(&memory_desc, rp->format);
	const struct summary *s = rp->data;
	size_t i;

	for (i = 0; i < s->targets.nr; i++) {
		const struct target *t =
			(const struct target *)s->targets.base + i;

		if (!filter_wants_pid(&rp->filter, t->pid))
			continue;
		table_row(table, (struct cell[]) {
			[M_PID]		= cell_u(t->pid),
			[M_COMM]	= cell_s(t->comm),
			[M_RSS]		= mean_cell(&t->rss),
			[M_RSS_MAX]	= max_cell(&t->rss),
			[M_PSS]		= mean_cell(&t->pss),
			[M_PSS_MAX]	= max_cell(&t->pss),
			[M_SWAP_MAX]	= max_cell(&t->swap),
			[M_VSIZE]	= mean_cell(&t->vsize),
			[M_VSIZE_MAX]	= max_cell(&t->vsize),
			[M_EXIT]	= t->gone ? cell_d(t->exit_t) :
						    (struct cell){ 0 },
		});
	}
	table_end(table);
}

static void summary_end(struct report *rp)
{
	struct summary *s = rp->data;
	bool blank = rp->format != TABLE_JSON;

	summary_recording(rp);
	if (blank)
		putchar('\n');
	print_wss(rp);
	if (blank)
		putchar('\n');
	summary_touched(rp);
	if (blank)
		putchar('\n');
	print_memory(rp);
	if (s->too_many)
		msg("more than %d targets, classes and windows: the summary is of the first ones",
		    SUMMARY_ROWS);
	hot_free(&s->hot);
	free(s->rows.base);
	free(s->targets.base);
	free(s);
}

const struct report_view report_summary = {
	.name = "summary",
	.help = "the recording, each target and class over all of it, what was touched at all, what it cost",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.begin = summary_begin,
	.record = summary_record,
	.end = summary_end,
};
