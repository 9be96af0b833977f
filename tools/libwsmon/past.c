// SPDX-License-Identifier: GPL-2.0
/*
 * past.c - what packed snapshots build on, and what they let one expect
 */
#include <stdlib.h>

#include "cli/units.h"
#include "past.h"
#include "reader.h"

#define PAST_TARGETS	4096

/*
 * Most regions kept, of two snapshots of all targets: twice what the module can
 * have. A file that claims more needs no more memory than this, 4 MiB.
 */
#define PAST_REGIONS	(1U << 17)
#define PAST_CHUNK	64

/* What a share moves by towards what was seen: wsmon's averages weigh 7/8 */
#define SHARE_WEIGHT	8

static int compare(const void *x, const void *y)
{
	const struct past *a = x, *b = y;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

struct past *past_get(struct pasts *ps, __u32 pid)
{
	const struct past key = { .pid = pid };

	if (!ps->targets.size)
		ps->targets = (struct sorted) {
			.size = sizeof(key), .max = PAST_TARGETS, .compare = compare,
		};
	return sorted_get(&ps->targets, &key);
}

static int make_room(struct pasts *ps, struct past_list *l, __u32 nr)
{
	__u32 cap = l->nr + nr;
	struct past_region *r;

	if (cap <= l->cap)
		return 0;
	/* a few regions more each time are not to move all of them each time */
	cap += -cap % PAST_CHUNK;
	if (cap - l->cap > PAST_REGIONS - ps->regions)
		return -1;
	r = reallocarray(l->r, cap, sizeof(*r));
	if (!r)
		return -1;
	ps->regions += cap - l->cap;
	l->r = r;
	l->cap = cap;
	return 0;
}

/* Is it the next part of the snapshot that @p is at? */
static bool continues(const struct past *p, const struct wsmon_rec_snapshot *s,
		      __u32 number)
{
	return p->known && number == p->number && s->first == p->now.nr &&
	       s->total == p->total && s->rec.time_ns == p->time_ns;
}

const char *past_begin(struct pasts *ps, struct past *p,
		       const struct wsmon_rec_snapshot *s, __u32 number)
{
	if (s->first) {
		if (!continues(p, s, number))
			return "a part that does not fit to the one before";
	} else {
		struct past_list old = p->now;

		if (number && (!p->known || number != p->number + 1 ||
			       p->now.nr != p->total))
			return "nothing there that it builds on";
		if (!number) {
			old.nr = 0;
			p->key_ns = s->rec.time_ns;
		}
		p->now = p->old;
		p->old = old;
		p->now.nr = 0;
		p->cursor = 0;
		p->known = true;
		p->number = number;
		p->total = s->total;
		p->time_ns = s->rec.time_ns;
	}
	if (make_room(ps, &p->now, s->nr))
		return "more regions than there is memory for";
	return NULL;
}

struct past_region *past_expect(struct past *p, __u64 start, __u64 end,
				__u32 *age_ms)
{
	struct past_region *r = &p->now.r[p->now.nr++];

	while (p->cursor < p->old.nr && p->old.r[p->cursor].end <= start)
		p->cursor++;
	if (p->cursor < p->old.nr && p->old.r[p->cursor].start <= start)
		*r = p->old.r[p->cursor];
	else
		*r = (struct past_region) {
			.since_ns = p->time_ns, .share = PAST_NO_SHARE,
		};
	r->start = start;
	r->end = end;
	*age_ms = (p->time_ns - r->since_ns) / NSEC_PER_MSEC;
	return r;
}

/* Ages are rounded down: each that is told comes nearer to when it began. */
void past_age(const struct past *p, struct past_region *r, __u32 age_ms)
{
	r->since_ns = p->time_ns - age_ms * NSEC_PER_MSEC;
}

/*
 * The samples of a region were accessed all the time, or never, or else one of
 * the two is supposed to have been. An age of 0 is a new belief.
 */
__u16 past_share(const struct past_region *r, const struct wsmon_region_entry *e)
{
	int seen = WSMON_SHARE_ONE / 2;

	if (!e->freq)
		seen = 0;
	else if (e->freq == WSMON_SHARE_ONE)
		seen = WSMON_SHARE_ONE;
	if (r->share == PAST_NO_SHARE || !e->age_ms)
		return seen;
	return r->share + (seen - r->share) / SHARE_WEIGHT;
}

bool past_may_end(const struct wsmon_record *rec)
{
	return rec->type == WSMON_REC_TARGET || rec->type == WSMON_REC_EXIT ||
	       rec->type == WSMON_REC_SNAPSHOT || rec->type == WSMON_REC_LOST;
}

bool past_ends(const struct wsmon_record *rec, __u32 pid)
{
	__u32 about;

	switch (rec->type) {
	case WSMON_REC_TARGET:
	case WSMON_REC_EXIT:
	case WSMON_REC_SNAPSHOT:
		return reader_pid(rec, &about) && about == pid;
	case WSMON_REC_LOST:
		return true;
	default:
		return false;
	}
}

void past_note(struct pasts *ps, const struct wsmon_record *rec)
{
	struct past *p = ps->targets.base;
	size_t i;

	for (i = 0; past_may_end(rec) && i < ps->targets.nr; i++)
		if (past_ends(rec, p[i].pid))
			p[i].known = false;
}

void past_free(struct pasts *ps)
{
	struct past *p = ps->targets.base;
	size_t i;

	for (i = 0; i < ps->targets.nr; i++) {
		free(p[i].now.r);
		free(p[i].old.r);
	}
	free(ps->targets.base);
}
