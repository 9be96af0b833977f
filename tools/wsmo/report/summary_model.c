// SPDX-License-Identifier: GPL-2.0
/*
 * summary_model.c - sums over a recording, for "wsmo report summary"
 *
 * Means and variances are updated record by record (Welford, "Note on a method
 * for calculating corrected sums of squares and products", 1962).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "collect.h"
#include "libwsmon/reader.h"
#include "summary.h"

static void running_add(struct running *r, __u64 value, double t)
{
	double delta = value - r->mean;

	r->n++;
	r->mean += delta / r->n;
	r->m2 += delta * (value - r->mean);
	if (r->n == 1 || value > r->max) {
		r->max = value;
		r->max_t = t;
	}
}

double running_sd(const struct running *r)
{
	return r->n > 1 ? sqrt(r->m2 / (r->n - 1)) : 0;
}

static int compare_sums(const void *x, const void *y)
{
	const struct wss_sums *a = x, *b = y;

	return COMPARE(b->group, a->group) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->window_us, b->window_us) ?: COMPARE(a->class, b->class);
}

/* Return: the element equal to @key, which may be new; NULL if there is no room */
static void *find_or_add(struct summary *s, struct sorted *in, const void *key)
{
	void *p = sorted_get(in, key);

	if (!p)
		s->too_many = true;
	return p;
}

static struct target_sums *find_target(struct summary *s, __u32 pid)
{
	const struct target_sums key = { .pid = pid };

	return find_or_add(s, &s->targets, &key);
}

static void end_moment(struct together *all, __u64 time_ns)
{
	if (all->total && all->bytes)
		running_add(&all->sums, all->bytes, 0);
	all->bytes = 0;
	all->total = false;
	all->time_ns = time_ns;
}

/* Records of a moment have the same time */
static void add_together(struct together *all, const struct wsmon_wss_row *w)
{
	if (w->time_ns != all->time_ns)
		end_moment(all, w->time_ns);
	if (w->group)
		all->total = true;
	else if (__builtin_add_overflow(all->bytes, w->bytes, &all->bytes))
		all->bytes = ~0ULL;
}

const struct running *summary_targets(struct summary *s)
{
	end_moment(&s->together, 0);
	return &s->together.sums;
}

static void add_wss(struct summary *s, const struct wsmon_wss_row *w, double t)
{
	const struct wss_sums key = {
		.group = w->group, .pid = w->pid, .class = w->class, .window_us = w->window_us,
	};
	struct wss_sums *row = find_or_add(s, &s->wss, &key);

	if (!row)
		return;
	running_add(&row->wss, w->bytes, t);
	running_add(&row->low, w->low, t);
	running_add(&row->high, w->high, t);
	running_add(&row->mapped, w->mapped, t);
	if (!w->group && w->class == WSMON_CLASS_ALL && row->wss.n > s->intervals)
		s->intervals = row->wss.n;
}

static void add_proc(struct summary *s, const struct wsmon_record *rec, double t)
{
	struct wsmon_rec_proc p;
	struct target_sums *target;

	wsmon_record_copy(rec, &p, sizeof(p));
	target = find_target(s, p.pid);
	if (!target)
		return;
	running_add(&target->rss, p.rss, t);
	if (p.pss)
		running_add(&target->pss, p.pss, t);
	running_add(&target->swap, p.swap, t);
	running_add(&target->vsize, p.vsize, t);
}

static void add_target(struct summary *s, const struct wsmon_rec_target *rec)
{
	const struct target_sums key = { .pid = rec->pid };
	bool known = sorted_find(&s->targets, &key);
	struct target_sums *target = find_target(s, rec->pid);

	if (target)
		memcpy(target->comm, rec->comm, sizeof(target->comm));
	if (!known && (rec->flags & WSMON_TARGET_REASON) == WSMON_TARGET_AGAIN)
		s->late_reader = true;
}

static void add_exit(struct summary *s, const struct wsmon_rec_exit *rec,
		     double t)
{
	struct target_sums *target = find_target(s, rec->pid);

	if (target) {
		target->gone = true;
		target->exit_t = t;
	}
}

/* The recording as a whole, whatever the filter says */
static void add_to_recording(struct summary *s, const struct wsmon_record *rec)
{
	const struct wsmon_rec_lost *lost = (const void *)rec;
	struct wsmon_rec_attrs attrs;

	if (!s->records++)
		s->first_ns = rec->time_ns;
	if (rec->time_ns > s->last_ns)
		s->last_ns = rec->time_ns;
	budget_take(&s->budget, rec);
	switch (rec->type) {
	case WSMON_REC_ATTRS:
		wsmon_record_copy(rec, &attrs, sizeof(attrs));
		s->attrs = attrs.attrs;
		break;
	case WSMON_REC_LOST:
		s->lost.records += lost->records;
		s->lost.bytes += lost->bytes;
		break;
	case WSMON_REC_STATS:
		wsmon_record_copy(rec, &s->stats, sizeof(s->stats));
		if (!s->have_stats)
			s->first_stats = s->stats;
		/* as a file begins that continues another */
		if (rec->time_ns <= s->first_ns)
			s->late_reader = true;
		s->have_stats = true;
		break;
	case WSMON_REC_END:
		s->ended = true;
		s->reason = ((const struct wsmon_rec_end *)rec)->reason;
		break;
	}
}

/* Only the class counts here, not the mapping */
static __u32 no_place(void *data, __u32 pid, const struct wsmon_region_entry *e)
{
	(void)data;
	(void)pid;
	(void)e;
	return 0;
}

struct summary *summary_new(const struct filter *filter,
			    const struct wsmon_attrs *attrs)
{
	struct summary *s = need(calloc(1, sizeof(*s)));

	s->wss = (struct sorted) {
		.size = sizeof(struct wss_sums),
		.max = SUMMARY_ROWS,
		.compare = compare_sums,
	};
	s->targets = (struct sorted) {
		.size = sizeof(struct target_sums),
		.max = SUMMARY_ROWS,
		.compare = compare_pids,
	};
	s->hot.place = no_place;
	s->attrs = *attrs;
	s->budget.attrs = *attrs;
	s->window_us = filter->nr_windows ? filter->windows[0] : attrs->windows_us[0];
	return s;
}

void summary_add(struct summary *s, const struct filter *filter,
		 const struct wsmon_record *rec)
{
	double t = filter_time(filter, rec->time_ns);
	struct wsmon_wss_row row;

	add_to_recording(s, rec);
	group_take(&s->group, filter, rec);
	if (rec->type == WSMON_REC_TARGET) {
		const struct wsmon_rec_target *target = (const void *)rec;

		/* names are needed whatever --time says */
		add_target(s, target);
		if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
			hot_exec(&s->hot, target->pid);
		return;
	}
	if (!filter_wants(filter, rec))
		return;
	if (wss_row_get(rec, &row) && (filter->nr_windows ? filter_wants_window(filter, row.window_us) :
				       row.window_us == s->window_us)) {
		if (row.class == WSMON_CLASS_ALL && row.window_us == s->window_us)
			add_together(&s->together, &row);
		if (filter_wants_class(filter, row.class))
			add_wss(s, &row, t);
	}
	switch (rec->type) {
	case WSMON_REC_SNAPSHOT:
		if (hot_snapshot(&s->hot, (const void *)rec))
			need(NULL);
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
	const struct target_sums key = { .pid = pid };
	const struct target_sums *t = sorted_find(&s->targets, &key);

	return t ? t->comm : "";
}

const struct wss_sums *summary_wss(const struct summary *s, __u32 pid, __u32 class)
{
	const struct wss_sums key = {
		.pid = pid, .class = class, .window_us = s->window_us,
	};

	return sorted_find(&s->wss, &key);
}

const struct wss_sums *summary_group(const struct summary *s, __u32 class)
{
	const struct wss_sums key = {
		.group = true, .class = class, .window_us = s->window_us,
	};

	return sorted_find(&s->wss, &key);
}

void summary_free(struct summary *s)
{
	hot_free(&s->hot);
	free(s->wss.base);
	free(s->targets.base);
	free(s);
}
