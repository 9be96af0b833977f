// SPDX-License-Identifier: GPL-2.0
/*
 * consumer.c - prints the working set sizes of a recording, over time and as a curve with
 * limits, and sums up its regions: a program that uses nothing of wsmon but the installed
 * library
 */
#include <libwsmon.h>
#include <stdio.h>
#include <string.h>

static void print_wss(const struct wsmon_reader *r, const struct wsmon_rec_wss *w)
{
	(void)r;
	printf("wss %u %s %llu %llu %llu %llu\n", w->pid, wsmon_class_name(w->class),
	       w->window_us, w->bytes, w->low, w->high);
}

static void print_snapshot(const struct wsmon_reader *r, const struct wsmon_rec_snapshot *s)
{
	unsigned long long bytes = 0;
	__u32 i, named = 0;

	for (i = 0; i < s->nr; i++) {
		bytes += s->regions[i].end - s->regions[i].start;
		named += *wsmon_area_path(r, s->pid, s->regions[i].area) != '\0';
	}
	printf("snapshot %u %u %llu %u\n", s->pid, s->nr, bytes, named);
}

/* The median of each series, then its rows by time */
static void print_series(struct wsmon_wss_rows *rows)
{
	size_t i, end;

	wsmon_wss_sort(rows, true);
	for (i = 0; i < rows->nr; i = end) {
		end = wsmon_wss_series(rows, i);
		printf("median %u %s %llu %llu\n", rows->row[i].pid,
		       wsmon_class_name(rows->row[i].class), rows->row[i].window_us,
		       wsmon_wss_percentile(&rows->row[i], end - i, 50)->bytes);
	}
	wsmon_wss_sort(rows, false);
	for (i = 0; i < rows->nr; i++)
		printf("row %u %llu %s %llu\n", rows->row[i].pid, rows->row[i].window_us,
		       wsmon_class_name(rows->row[i].class), rows->row[i].bytes);
}

static void print_curve(const struct wsmon_curve *c)
{
	double knee = wsmon_knee(c, 100);
	struct wsmon_limit at = wsmon_limit(c, c->point[c->nr / 2].size);
	size_t i;

	for (i = 0; i < c->nr; i++)
		printf("point %u %s %.0f %.0f %.0f %.0f %llu\n", c->pid, wsmon_class_name(c->class),
		       c->point[i].window * 1e6, c->point[i].size, c->point[i].low,
		       c->point[i].high, c->point[i].p50);
	printf("limit %u %s %.0f %.3f %.3f\n", c->pid, wsmon_class_name(c->class), at.bytes,
	       at.refaults, at.high);
	printf("knee %u %s %.0f\n", c->pid, wsmon_class_name(c->class), knee);
}

int main(int argc, char **argv)
{
	struct wsmon_reader *r = argc > 1 ? wsmon_open(argv[1]) : wsmon_open_fd(0);
	struct wsmon_wss_rows rows = { 0 };
	struct wsmon_curves *curves;
	const struct wsmon_curve *c;
	const struct wsmon_record *rec;
	int res, i;

	if (!r || !wsmon_header(r)) {
		fprintf(stderr, "error %s\n", r ? wsmon_error(r) : "cannot be opened");
		wsmon_close(r);
		return 1;
	}
	if (argc > 2 && !strcmp(argv[2], "--no-snapshots"))
		wsmon_skip_snapshots(r);
	curves = wsmon_curves_new(wsmon_header(r));
	while (curves && (res = wsmon_next(r, &rec)) > 0) {
		wsmon_wss_record(&rows, rec);
		wsmon_curves_record(curves, rec);
		if (rec->type == WSMON_REC_WSS)
			print_wss(r, (const void *)rec);
		else if (rec->type == WSMON_REC_SNAPSHOT)
			print_snapshot(r, (const void *)rec);
	}
	if (res < 0)
		fprintf(stderr, "error %s\n", wsmon_error(r));
	print_series(&rows);
	printf("curves %d\n", wsmon_curves_fit(curves));
	for (i = 0; (c = wsmon_curves_get(curves, i)); i++)
		print_curve(c);
	wsmon_wss_free(&rows);
	wsmon_curves_free(curves);
	wsmon_close(r);
	return res ? 1 : 0;
}
