// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_stream.c - encodes records, and writes them to the buffers of a monitor
 *
 * Callers hold the monitor's lock. include/wsmon.h describes the records.
 */
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/topology.h>

#include "wsmon_group.h"
#include "wsmon_hintfault.h"

#define SNAPSHOT_MAX \
	((WSMON_RECORD_MAX - sizeof(struct wsmon_rec_snapshot)) / \
	 sizeof(struct wsmon_region_entry))

/* Return: the pid in the namespace that started the session; 0 if it is not visible there. */
static u32 target_pid(const struct wsmon_target *t)
{
	return pid_nr_ns(t->pid, t->session->ns);
}

static void stream_put(const struct wsmon_session *ss, struct wsmon_record *rec, u32 type,
		       u32 size, u64 now)
{
	rec->type = type;
	rec->size = size;
	rec->time_ns = now;
	wsmon_buffers_put(ss->mon, rec);
}

/** wsmon_stream_attrs - write the attributes in force, for session @ss */
void wsmon_stream_attrs(const struct wsmon_session *ss)
{
	struct wsmon_rec_attrs rec = { .attrs = ss->mon->attrs };

	stream_put(ss, &rec.rec, WSMON_REC_ATTRS, sizeof(rec), ktime_get_ns());
}

/**
 * wsmon_stream_target - write a target
 * @t:		the target
 * @flags:	the reason: WSMON_TARGET_START, _EXEC or _AGAIN
 */
void wsmon_stream_target(const struct wsmon_target *t, u32 flags)
{
	const struct wsmon_session *ss = t->session;
	struct wsmon_rec_target rec = {
		.pid = target_pid(t),
		.flags = flags | (t->secondary_mmu ? WSMON_TARGET_SECONDARY_MMU : 0),
	};

	memcpy(rec.comm, t->comm, sizeof(rec.comm));
	stream_put(ss, &rec.rec, WSMON_REC_TARGET, sizeof(rec), ktime_get_ns());
}

/** wsmon_stream_areas - write the areas of a target */
void wsmon_stream_areas(const struct wsmon_target *t)
{
	const struct wsmon_session *ss = t->session;
	const struct wsmon_space *sp = &wsmon_target_data(t)->space;
	u64 now = ktime_get_ns();
	u32 i;

	for (i = 0; i < sp->nr_area; i++) {
		const struct wsmon_area *a = &sp->area[i];
		u64 end = wsmon_area_end(sp, a);
		struct wsmon_rec_area rec = {
			.pid = target_pid(t),
			.class = a->class,
			.index = i,
			.total = sp->nr_area,
			.start = wsmon_area_start(sp, a) << PAGE_SHIFT,
			.end = end << PAGE_SHIFT,
			.mapped = wsmon_area_rank(sp, a, end) << PAGE_SHIFT,
		};

		stream_put(ss, &rec.rec, WSMON_REC_AREA, sizeof(rec), now);
	}
}

static void stream_fill_region(struct wsmon_region_entry *e,
			       const struct wsmon_target *t,
		       const struct wsmon_region *r, u64 now)
{
	memset(e, 0, sizeof(*e));
	e->start = r->start << PAGE_SHIFT;
	e->end = r->end << PAGE_SHIFT;
	e->share = wsmon_region_share(r);
	e->freq = r->checks ? (u64)r->hits * WSMON_ONE / r->checks : 0;
	e->class = t->space.area[r->area].class;
	e->samples = wsmon_region_samples(r, t->interval_ns);
	e->age_ms = min_t(u64, div_u64(now - r->since_ns, NSEC_PER_MSEC),
			  U32_MAX);
	e->area = r->area;
}

/** wsmon_stream_snapshot - write the regions at the end of an interval */
void wsmon_stream_snapshot(const struct wsmon_target *t, u64 now)
{
	const struct wsmon_session *ss = t->session;
	const struct wsmon_target *of = wsmon_target_data(t);
	struct wsmon_rec_snapshot *rec = ss->scratch;
	u32 first = 0, i;

	do {
		u32 nr = min_t(u32, of->regions.nr - first, SNAPSHOT_MAX);

		memset(rec, 0, sizeof(*rec));
		rec->pid = target_pid(t);
		rec->nr = nr;
		rec->first = first;
		rec->total = of->regions.nr;
		rec->interval_ns = now - of->interval_ns;
		rec->rounds = of->rounds;
		rec->budget = of->regions.budget;
		for (i = 0; i < nr; i++)
			stream_fill_region(&rec->regions[i], of,
					   &of->regions.r[first + i], now);
		stream_put(ss, &rec->rec, WSMON_REC_SNAPSHOT,
			   struct_size(rec, regions, nr), now);
		first += nr;
		cond_resched();
	} while (first < of->regions.nr);
}

static void stream_put_wss(const struct wsmon_target *t, u32 k, u32 c, u64 now)
{
	const struct wsmon_session *ss = t->session;
	const struct wsmon_wss *w = &wsmon_target_data(t)->wss[k][c];
	struct wsmon_rec_wss rec = {
		.pid = target_pid(t),
		.class = c,
		.window_us = ss->mon->attrs.windows_us[k],
		.bytes = w->pages << PAGE_SHIFT,
		.low = w->low << PAGE_SHIFT,
		.high = w->high << PAGE_SHIFT,
		.mapped = w->mapped << PAGE_SHIFT,
	};

	stream_put(ss, &rec.rec, WSMON_REC_WSS, sizeof(rec), now);
}

/**
 * wsmon_stream_wss - write the working set sizes at the end of an interval
 * @t:		the target
 * @first:	index of the first window to write
 * @now:	end of the interval
 */
void wsmon_stream_wss(const struct wsmon_target *t, u32 first, u64 now)
{
	const struct wsmon_session *ss = t->session;
	const struct wsmon_target *of = wsmon_target_data(t);
	u32 k, c;

	for (k = first; k < ss->mon->attrs.nr_windows; k++) {
		for (c = 0; c < WSMON_NR_CLASSES; c++) {
			if (c == WSMON_CLASS_ALL || of->wss[k][c].mapped)
				stream_put_wss(t, k, c, now);
		}
	}
}

/**
 * wsmon_stream_peak - write an edge of a peak
 * @t:		the target
 * @rec:	the record; all but its header and @pid is filled in
 * @now:	the time, nanoseconds
 */
void wsmon_stream_peak(const struct wsmon_target *t, struct wsmon_rec_peak *rec,
		       u64 now)
{
	rec->pid = target_pid(t);
	stream_put(t->session, &rec->rec, WSMON_REC_PEAK, sizeof(*rec), now);
}

/**
 * wsmon_stream_mark - write a moment that the user marked
 * @ss:		the session
 * @number:	number of the mark
 * @text:	the mark's name, not terminated
 * @len:	bytes of @text, less than WSMON_MARK_TEXT
 */
void wsmon_stream_mark(const struct wsmon_session *ss, u32 number, const char *text, size_t len)
{
	char room[sizeof(struct wsmon_rec_mark) + WSMON_MARK_TEXT] __aligned(8) = { };
	struct wsmon_rec_mark *rec = (void *)room;

	rec->number = number;
	memcpy(rec->text, text, len);
	stream_put(ss, &rec->rec, WSMON_REC_MARK, struct_size(rec, text, ALIGN(len + 1, 8)),
		   ktime_get_ns());
}

/** wsmon_stream_exited - write that a target is gone */
void wsmon_stream_exited(const struct wsmon_target *t)
{
	struct wsmon_rec_exit rec = { .pid = target_pid(t) };

	stream_put(t->session, &rec.rec, WSMON_REC_EXIT, sizeof(rec), ktime_get_ns());
}

/**
 * wsmon_stream_who - write the first access to a page (hint fault)
 * @t:	the target
 * @s:	the page's slot, as the probe left it
 */
void wsmon_stream_who(const struct wsmon_target *t, const struct wsmon_who_slot *s)
{
	struct wsmon_rec_who rec = {
		.pid = target_pid(t),
		.tid = s->tid,
		.address = s->address,
		.ip = s->ip,
		.bytes = (s->pages << PAGE_SHIFT) >> 8,
		.waited_ns = s->seen_ns > s->armed_ns ? s->seen_ns - s->armed_ns : 0,
		.flags = s->flags | (s->hint == WSMON_HINT_ABSENT ? WSMON_WHO_NEW : 0),
		.cpu = s->cpu,
		.node = s->node,
		.cpu_node = cpu_to_node(s->cpu),
	};

	memcpy(rec.comm, s->comm, sizeof(rec.comm));
	stream_put(t->session, &rec.rec, WSMON_REC_WHO, sizeof(rec), s->seen_ns);
}

static void stream_put_total(const struct wsmon_session *ss, const struct wsmon_wss *w,
			     u32 k, u32 c, u64 now)
{
	struct wsmon_rec_total rec = {
		.class = c,
		.window_us = ss->mon->attrs.windows_us[k],
		.bytes = w->pages << PAGE_SHIFT,
		.low = w->low << PAGE_SHIFT,
		.high = w->high << PAGE_SHIFT,
		.mapped = w->mapped << PAGE_SHIFT,
	};

	stream_put(ss, &rec.rec, WSMON_REC_TOTAL, sizeof(rec), now);
}

/** wsmon_stream_group - write the members and working set sizes of a group */
void wsmon_stream_group(const struct wsmon_session *ss, u64 now)
{
	const struct wsmon_group *g = ss->group;
	struct wsmon_rec_group rec = {
		.interval_ns = now - g->interval_ns,
		.members = READ_ONCE(ss->nr_members),
		.came = g->came,
		.went = g->went,
		.missed = g->missed,
		.regions = g->regions.nr,
		.visits = g->nr_visits,
	};
	u32 k, c;

	stream_put(ss, &rec.rec, WSMON_REC_GROUP, sizeof(rec), now);
	for (k = 0; k < ss->mon->attrs.nr_windows; k++) {
		for (c = 0; c < WSMON_NR_CLASSES; c++) {
			if (c == WSMON_CLASS_ALL || g->wss[k][c].mapped)
				stream_put_total(ss, &g->wss[k][c], k, c, now);
		}
	}
}

static void stats_add_regions(struct wsmon_rec_stats *rec, const struct wsmon_regions *rs)
{
	u32 i;

	rec->regions += rs->nr;
	rec->budget += rs->budget;
	for (i = 0; i < rs->nr; i++) {
		wsmon_loop_resched(i);
		rec->samples += rs->r[i].n[1] ? 2 : 1;
	}
}

/**
 * wsmon_stats_fill - fill in the counters of a session
 * @rec:	the record; the caller sets its header, and the losses of a buffer
 * @ss:		the session
 *
 * Context: the monitor's lock held.
 */
void wsmon_stats_fill(struct wsmon_rec_stats *rec, const struct wsmon_session *ss)
{
	u32 i;

	*rec = ss->stats;
	rec->targets = ss->nr_alive;
	rec->sample_ns = ss->pace.step_ns;
	rec->remote_ns = wsmon_tlb_remote_ns(ss->mon) - ss->remote_start_ns;
	rec->members = READ_ONCE(ss->nr_members);
	rec->unfollowed = READ_ONCE(ss->unfollowed);
	rec->late_p50_ns = wsmon_hist_percentile(&ss->late, 50);
	rec->late_p99_ns = wsmon_hist_percentile(&ss->late, 99);
	rec->late_max_ns = ss->late.max;
	rec->hold_p99_ns = wsmon_hist_percentile(&ss->hold, 99);
	for (i = 0; i < ss->nr_targets; i++)
		stats_add_regions(rec, &ss->targets[i].regions);
	if (ss->group)
		stats_add_regions(rec, &ss->group->regions);
}

/** wsmon_stream_stats - write the counters of a session */
void wsmon_stream_stats(const struct wsmon_session *ss)
{
	struct wsmon_rec_stats rec;

	wsmon_stats_fill(&rec, ss);
	stream_put(ss, &rec.rec, WSMON_REC_STATS, sizeof(rec), ktime_get_ns());
}

/** wsmon_stream_end - write the last record of a session */
void wsmon_stream_end(const struct wsmon_session *ss, u32 reason)
{
	struct wsmon_rec_end rec = { .reason = reason };

	stream_put(ss, &rec.rec, WSMON_REC_END, sizeof(rec), ktime_get_ns());
}
