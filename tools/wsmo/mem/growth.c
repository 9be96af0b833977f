// SPDX-License-Identifier: GPL-2.0
/*
 * growth.c - "wsmo mem --growth TIME": what grows, and how fast
 *
 * A straight line is fitted to the memory that only the process has, in RAM or in swap,
 * by least squares. What grows and shrinks again has an interval that includes 0.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/units.h"
#include "libwsmon/names.h"
#include "libwsmon/stats.h"
#include "mem.h"

/* Number of readings */
#define READINGS	11

enum { PID, COMM, CLASS, FIRST, BYTES, GROWTH, LOW, HIGH, PEOPLE, PATH };

static const struct column columns[] = {
	[PID]	 = { "pid", "PID", COL_COUNT, 7, 0 },
	[COMM]	 = { "comm", "NAME", COL_TEXT, 12, 0 },
	[CLASS]	 = { "class", "CLASS", COL_TEXT, 7, 0 },
	[FIRST]	 = { "first", "AT FIRST", COL_SIZE, 9, 0 },
	[BYTES]	 = { "bytes", "NOW", COL_SIZE, 9, 0 },
	[GROWTH] = { "growth", "GROWTH/S", COL_RATE, 9, NOT_HUMAN },
	[LOW]	 = { "low", "LOW", COL_RATE, 9, NOT_HUMAN },
	[HIGH]	 = { "high", "HIGH", COL_RATE, 9, NOT_HUMAN },
	[PEOPLE] = { "people", "GROWTH (95 % INTERVAL)", COL_TEXT, 20, NOT_JSON | NOT_CSV },
	[PATH]	 = { "path", "FILE", COL_TEXT, 4, 0 },
};

static const struct table_desc desc = {
	.type = "mem_growth", .columns = columns, .nr = ARRAY_SIZE(columns),
};

/* A row and its readings; those without it stay 0 */
struct series {
	const struct row *row;	/* the first one */
	double y[READINGS];
	double slope, half;
};

struct growth {
	struct rows rows[READINGS];
	double t[READINGS];
	struct rows *to;
	struct series *series;
	size_t nr;
};

static struct growth growing;

static void add(void *to, const struct mem_process *p, const struct mem_mapping *m)
{
	if (mem_wants(to, p, m))
		row_add(rows_get(growing.to, p, m), p, m, 0);
}

/* Return: 0 if there are no processes any more */
static __u64 read_all(struct mem *mem)
{
	const __u64 began = clock_now();
	int i;

	for (i = 0; i < READINGS; i++) {
		__u64 at = began + mem->growth_ns * i / (READINGS - 1);
		__u64 now;

		while ((now = clock_now()) < at) {
			struct timespec rest = { (at - now) / NSEC_PER_SEC, (at - now) % NSEC_PER_SEC };

			nanosleep(&rest, NULL);
		}
		growing.to = &growing.rows[i];
		growing.to->by = BY_PROCESS | BY_CLASS | BY_FILE;
		growing.t[i] = (double)(clock_now() - began) / NSEC_PER_SEC;
		mem_read(mem, add);
		if (!mem->read)
			return 0;
	}
	return mem->read;
}

static int compare_keys(const void *x, const void *y)
{
	const struct row *a = *(struct row * const *)x, *b = *(struct row * const *)y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->class, b->class) ?: strcmp(a->path, b->path);
}

/* The steepest first of which that is certain */
static int compare_series(const void *x, const void *y)
{
	const struct series *a = x, *b = y;

	return COMPARE(b->slope - b->half, a->slope - a->half) ?: compare_keys(&a->row, &b->row);
}

/* @quantile: of Student's t */
static void fit(struct series *s, double quantile)
{
	double t = 0, y = 0, tt = 0, ty = 0, rest = 0;
	int i;

	for (i = 0; i < READINGS; i++) {
		t += growing.t[i] / READINGS;
		y += s->y[i] / READINGS;
	}
	for (i = 0; i < READINGS; i++) {
		tt += (growing.t[i] - t) * (growing.t[i] - t);
		ty += (growing.t[i] - t) * (s->y[i] - y);
	}
	s->slope = ty / tt;
	for (i = 0; i < READINGS; i++)
		rest += pow(s->y[i] - y - s->slope * (growing.t[i] - t), 2);
	s->half = quantile * sqrt(rest / (READINGS - 2) / tt);
}

/* Of the rows of the last reading: those of processes that still run */
static void make_series(void)
{
	struct rows *last = &growing.rows[READINGS - 1];
	double quantile = student(0.05, READINGS - 2);
	size_t i;
	int k;

	growing.series = need(calloc(last->nr + 1, sizeof(*growing.series)));
	for (i = 0; i < last->nr; i++) {
		struct series *s = &growing.series[growing.nr++];

		s->row = last->row[i];
		for (k = 0; k < READINGS; k++) {
			const struct row *row = rows_find(&growing.rows[k], s->row);

			if (row)
				s->y[k] = row->sum[MEM_PRIVATE] + row->sum[MEM_SWAP];
		}
		fit(s, quantile);
	}
	qsort(growing.series, growing.nr, sizeof(*growing.series), compare_series);
}

static const char *rate(char *buf, double bytes)
{
	char size[UNITS_LEN];

	snprintf(buf, 2 * UNITS_LEN, "%s%s", bytes < 0 ? "-" : "", units_size(size, fabs(bytes)));
	return buf;
}

static void print_series(const struct mem *mem, struct table *t, const struct series *s)
{
	char slope[2 * UNITS_LEN], low[2 * UNITS_LEN], high[2 * UNITS_LEN], people[8 * UNITS_LEN];
	const bool exact = mem->format == TABLE_JSON || mem->format == TABLE_CSV;

	if (mem->format == TABLE_RAW)
		snprintf(people, sizeof(people), "%.0f/s (%.0f to %.0f)", s->slope, s->slope - s->half,
			 s->slope + s->half);
	else
		snprintf(people, sizeof(people), "%s/s (%s to %s)", rate(slope, s->slope),
			 rate(low, s->slope - s->half), rate(high, s->slope + s->half));
	table_row(t, (struct cell[]) {
		[PID]	 = cell_u(s->row->pid),
		[COMM]	 = cell_s(s->row->comm),
		[CLASS]	 = cell_s(class_name(s->row->class)),
		[FIRST]	 = cell_u(s->y[0]),
		[BYTES]	 = cell_u(s->y[READINGS - 1]),
		[GROWTH] = cell_d(s->slope),
		[LOW]	 = cell_d(s->slope - s->half),
		[HIGH]	 = cell_d(s->slope + s->half),
		[PEOPLE] = cell_s(people),
		[PATH]	 = cell_s(exact ? s->row->path : mem_path(s->row->path)),
	});
}

int mem_growth(struct mem *mem)
{
	const bool people = mem->format == TABLE_HUMAN || mem->format == TABLE_RAW;
	char time[UNITS_LEN];
	struct table *t;
	size_t i, nr = 0;

	if (!read_all(mem))
		return WSMO_FAILURE;
	make_series();
	t = table_new(&desc, mem->format);
	for (i = 0; i < growing.nr && (!mem->top || i < mem->top); i++) {
		const struct series *s = &growing.series[i];

		/* people want to see what grows for certain */
		if (people && s->slope - s->half <= 0)
			break;
		print_series(mem, t, s);
		nr++;
	}
	table_end(t);
	if (!nr && people)
		printf("Nothing grew steadily within %s.\n", units_time(time, mem->growth_ns));
	for (i = 0; i < READINGS; i++)
		rows_free(&growing.rows[i]);
	free(growing.series);
	return mem->failed ? WSMO_FAILURE : WSMO_OK;
}
