// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_trace.c - peaks and tracepoints at the end of an aggregation interval
 *
 * Callers hold the monitor's lock: kwsmond after it made estimates and when a target or the
 * session ends, and a task that changes attributes.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/seq_file.h>

#include "wsmon_session.h"

#define CREATE_TRACE_POINTS
#include "wsmon_trace.h"

/* Return: the estimate of a group (WSMON_PEAK_ALL ...) in the shortest window. */
static const struct wsmon_wss *group_wss(const struct wsmon_target *t, u32 group)
{
	static const u32 sums[WSMON_PEAK_GROUPS] = {
		[WSMON_PEAK_ALL] = WSMON_CLASS_ALL,
		[WSMON_PEAK_TEXT] = WSMON_CLASS_TEXT,
		[WSMON_PEAK_REST] = WSMON_WSS_REST,
	};

	return &wsmon_target_data(t)->wss[0][sums[group]];
}

/* Return: the entry of peak @i in the history, a ring of the last WSMON_PEAKS_KEPT peaks. */
static struct wsmon_peak *peaks_entry(struct wsmon_session *ss, u64 i)
{
	return &ss->peaks[i % WSMON_PEAKS_KEPT];
}

/* Return: the present or last peak of a group; NULL if the history no longer has it. */
static struct wsmon_peak *group_last_peak(struct wsmon_session *ss,
					  const struct wsmon_target *t, u32 group)
{
	u64 i = t->groups[group].entry;

	return i + WSMON_PEAKS_KEPT >= ss->nr_peaks ? peaks_entry(ss, i) : NULL;
}

static void group_report_edge(struct wsmon_session *ss, struct wsmon_target *t, u32 group,
			      u32 edge, s32 sign, u64 now)
{
	const struct wsmon_peak_group *g = &t->groups[group];
	const struct wsmon_wss *w = group_wss(t, group);
	struct wsmon_rec_peak rec = {
		.group = group,
		.edge = edge,
		.sign = sign,
		.number = g->number,
		.start_ns = g->start_ns,
		.end_ns = edge == WSMON_PEAK_END ? now : 0,
		.window_us = ss->mon->attrs.windows_us[0],
		.bytes = w->pages << PAGE_SHIFT,
		.low = w->low << PAGE_SHIFT,
		.high = w->high << PAGE_SHIFT,
		.height = g->detector.height << PAGE_SHIFT,
		.baseline = wsmon_peak_size(&g->detector, g->detector.baseline,
					    PAGE_SHIFT),
		.threshold = wsmon_peak_size(&g->detector,
					     g->detector.threshold, PAGE_SHIFT),
	};
	struct wsmon_peak *p = group_last_peak(ss, t, group);

	/*
	 * The target that had the estimates, in the same address space, is gone, and they with
	 * it: report the sizes of the peak's start.
	 */
	if (!w->mapped && p && edge == WSMON_PEAK_END) {
		rec.bytes = p->rec.bytes;
		rec.low = p->rec.low;
		rec.high = p->rec.high;
	}
	wsmon_stream_peak(t, &rec, now);
	trace_wsmon_peak(pid_nr(t->pid), &rec);
	if (p) {
		p->target = t;
		p->rec = rec;
	}
}

static void group_begin_peak(struct wsmon_session *ss, struct wsmon_target *t, u32 group,
			     u64 now)
{
	struct wsmon_peak_group *g = &t->groups[group];

	g->number = ++t->nr_peaks;
	g->start_ns = now;
	g->entry = ss->nr_peaks++;
	group_report_edge(ss, t, group, WSMON_PEAK_START, g->detector.sign, now);
}

/* Report the start or end of a peak. While the target sleeps (@slept), no peak begins. */
static void group_judge(struct wsmon_session *ss, struct wsmon_target *t, u32 group,
			bool slept, u64 now)
{
	struct wsmon_detector *d = &t->groups[group].detector;
	const struct wsmon_wss *w = group_wss(t, group);

	/* skip an interval from 0 to all memory: no sample has been observed for a window yet */
	if (w->mapped && !w->low && w->high == w->mapped) {
		wsmon_peak_skip(d, w);
		return;
	}
	if (wsmon_peak_ends(d, &ss->mon->attrs, w))
		group_report_edge(ss, t, group, WSMON_PEAK_END, d->ended, now);
	if (slept)
		return;
	if (wsmon_peak_begins(d, &ss->mon->attrs, w))
		group_begin_peak(ss, t, group, now);
	wsmon_peak_learn(d, &ss->mon->attrs, w);
}

/* Return: true if the estimate is new; if all regions are stale, it is of an earlier interval. */
static bool target_was_observed(const struct wsmon_target *t)
{
	u32 i;

	for (i = 0; i < t->regions.nr; i++) {
		if (!t->regions.r[i].stale)
			return true;
	}
	return false;
}

static void target_trace(const struct wsmon_target *t, const struct wsmon_target *of, u64 now)
{
	const struct wsmon_attrs *attrs = &t->session->mon->attrs;
	pid_t pid = pid_nr(t->pid);
	u32 k, c;

	trace_wsmon_snapshot(pid, now - of->interval_ns, of->rounds,
			     of->regions.nr,
			     of->wss[0][WSMON_CLASS_ALL].mapped << PAGE_SHIFT);
	if (!trace_wsmon_wss_enabled())
		return;
	for (k = 0; k < attrs->nr_windows; k++) {
		for (c = 0; c < WSMON_NR_CLASSES; c++) {
			if (c == WSMON_CLASS_ALL || of->wss[k][c].mapped)
				trace_wsmon_wss(pid, c, attrs->windows_us[k],
						&of->wss[k][c]);
		}
	}
}

/**
 * wsmon_events_interval - report peaks and trace events at the end of an interval
 * @ss:		the session
 * @t:		the target, with its estimates
 * @now:	end of the interval
 */
void wsmon_events_interval(struct wsmon_session *ss, struct wsmon_target *t, u64 now)
{
	const struct wsmon_target *of = wsmon_target_data(t);
	u32 group;

	target_trace(t, of, now);
	if (ss->mon->attrs.peak_detector == WSMON_PEAK_OFF || !target_was_observed(of))
		return;
	for (group = 0; group < WSMON_PEAK_GROUPS; group++)
		group_judge(ss, t, group, of->idle == of->rounds, now);
}

/**
 * wsmon_events_restart - end the present peaks of a target, and reset its peak detectors
 * @ss:	the session
 * @t:	the target
 *
 * Peaks end with the last estimate. The detectors learn the usual size anew.
 */
void wsmon_events_restart(struct wsmon_session *ss, struct wsmon_target *t)
{
	u32 group;

	for (group = 0; group < WSMON_PEAK_GROUPS; group++) {
		struct wsmon_detector *d = &t->groups[group].detector;

		if (d->sign)
			group_report_edge(ss, t, group, WSMON_PEAK_END, d->sign,
					  ktime_get_ns());
		memset(d, 0, sizeof(*d));
	}
}

/** wsmon_events_restart_all - do so for all targets that are not gone */
void wsmon_events_restart_all(struct wsmon_session *ss)
{
	u32 i;

	for (i = 0; i < ss->nr_targets; i++) {
		if (!ss->targets[i].gone)
			wsmon_events_restart(ss, &ss->targets[i]);
	}
}

/**
 * wsmon_events_show - print a peak of the history as one line
 * @m:	the text
 * @p:	the peak
 * @ns:	the reader's pid namespace
 */
void wsmon_events_show(struct seq_file *m, const struct wsmon_peak *p,
		       struct pid_namespace *ns)
{
	const struct wsmon_rec_peak *r = &p->rec;

	seq_printf(m, "pid=%d group=%s number=%u sign=%+d start_ns=%llu end_ns=%llu window_us=%llu bytes=%llu low=%llu high=%llu height=%llu baseline=%llu threshold=%llu\n",
		   pid_nr_ns(p->target->pid, ns), wsmon_peak_group_name(r->group), r->number,
		   r->sign, r->start_ns, r->end_ns, r->window_us, r->bytes, r->low,
		   r->high, r->height, r->baseline, r->threshold);
}
