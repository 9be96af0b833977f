// SPDX-License-Identifier: GPL-2.0
/*
 * peaks_after.c - peaks among the first estimates of a target, found afterwards
 *
 * While the module learns what is usual, it reports no peaks, or only high ones. The
 * whole recording allows to judge those estimates again by the rule of "sigma", with
 * the median of all estimates and the median distance from it. A peak rises from a
 * usual value, so the start of a program is none.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "collect.h"
#include "peaks.h"

/* As many as the module starts with, at most */
#define FIRST	32

/** struct run - the number of programs @pid has executed so far */
struct run {
	__u32 pid;
	__u32 nr;
};

static struct run *get_run(struct after *a, __u32 pid)
{
	const struct run key = { .pid = pid };

	if (!a->runs.size)
		a->runs = (struct sorted) {
			.size = sizeof(key), .max = 65536, .compare = compare_pids,
		};
	return sorted_get(&a->runs, &key);
}

void after_add(struct after *a, const struct wsmon_attrs *attrs,
	       const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_wss *w = (const void *)rec;
	struct run *run;

	if (attrs->peak_detector != WSMON_PEAK_SIGMA)
		return;
	if (rec->type == WSMON_REC_TARGET && target->flags == WSMON_TARGET_EXEC) {
		run = get_run(a, target->pid);
		if (run)
			run->nr++;
	}
	/* the module ignores estimates that say nothing */
	if (rec->type != WSMON_REC_WSS || w->class != WSMON_CLASS_ALL ||
	    w->window_us != attrs->windows_us[0] || (!w->low && w->high == w->mapped))
		return;
	run = get_run(a, w->pid);
	need(wsmon_wss_add(&a->rows, &(struct wsmon_wss_row){
		.time_ns = rec->time_ns, .bytes = w->bytes, .low = w->low,
		.high = w->high, .pid = w->pid,
		/* a series for each program */
		.class = run ? run->nr : 0,
	}));
}

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return COMPARE(a, b);
}

static double median(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), compare);
	return (v[(nr - 1) / 2] + v[nr / 2]) / 2;
}

/* Return: the threshold; design.rst has the formulas */
static double usual(const struct wsmon_wss_row *row, size_t nr, double gain,
		    double *mean)
{
	double *v = need(calloc(nr, sizeof(*v))), s, c;
	size_t i;

	for (i = 0; i < nr; i++)
		v[i] = row[i].bytes;
	*mean = median(v, nr);
	for (i = 0; i < nr; i++)
		v[i] = fabs(row[i].bytes - *mean);
	s = 1.4826 * median(v, nr);
	free(v);
	c = *mean > 0 ? 1 - exp(-50 * (s / *mean) * (s / *mean)) : 1;
	return c * gain * s + (1 - c) * gain / 10 * *mean;
}

static bool was_found(const struct events *ev, const struct peak *p)
{
	const struct peak *q;
	size_t i;

	for (i = events_first(ev, p->pid, 0); (q = events_peak_at(ev, i)) && q->pid == p->pid; i++)
		if (q->group == WSMON_PEAK_ALL && q->sign > 0 &&
		    q->start_ns < (p->end_ns ? p->end_ns : ~0ULL) &&
		    (!q->end_ns || p->start_ns < q->end_ns))
			return true;
	return false;
}

static void add(struct after *a, const struct peak *p)
{
	a->peak = need(reallocarray(a->peak, a->nr + 1, sizeof(*a->peak)));
	a->peak[a->nr++] = *p;
}

static void judge(struct after *a, const struct events *ev,
		  const struct wsmon_attrs *attrs, const struct wsmon_wss_row *row,
		  size_t nr)
{
	size_t first = attrs->peak_window < FIRST ? attrs->peak_window : FIRST, i;
	double mean, far = usual(row, nr, attrs->peak_gain / 1000.0, &mean);

	for (i = 1; i < nr && i < first; i++) {
		struct peak p = {
			.pid = row->pid, .group = WSMON_PEAK_ALL, .sign = 1,
			.start_ns = row[i].time_ns, .bytes = row[i].bytes,
			.low = row[i].low, .high = row[i].high,
			.baseline = mean, .threshold = far,
		};

		if (row[i].low <= mean + far || fabs(row[i - 1].bytes - mean) > far)
			continue;
		for (; i < nr && row[i].bytes > mean + far; i++)
			if (row[i].bytes > p.height)
				p.height = row[i].bytes;
		p.end_ns = i < nr ? row[i].time_ns : 0;
		if (!was_found(ev, &p))
			add(a, &p);
	}
}

void after_judge(struct after *a, const struct events *ev,
		 const struct wsmon_attrs *attrs)
{
	size_t i, end;

	wsmon_wss_sort(&a->rows, false);
	for (i = 0; i < a->rows.nr; i = end) {
		end = wsmon_wss_series(&a->rows, i);
		judge(a, ev, attrs, a->rows.row + i, end - i);
	}
}

void after_free(struct after *a)
{
	wsmon_wss_free(&a->rows);
	free(a->runs.base);
	free(a->peak);
}
