// SPDX-License-Identifier: GPL-2.0
/*
 * who.c - which function of each process touches most memory, for "wsmo top --who"
 *
 * A share is what its WHO records stand for, of those of the last seconds. "wsmo report who"
 * has all of them, and intervals.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "libwsmon/mappings.h"
#include "libwsmon/wsmon_records.h"
#include "record/mapper.h"
#include "symbols/calls.h"
#include "top.h"

#define RECENT_NS	(10 * NSEC_PER_SEC)
#define TOUCHES		(1 << 14)	/* of all processes */

/**
 * struct touch - a WHO record; in top_who.found the sum of those of a function
 * @time_ns:	of the record
 * @pid:	the process
 * @name:	the function, or else the file it is in; NULL: neither is known. Equal ones are
 *		at equal addresses
 * @bytes:	memory it stands for
 */
struct touch {
	__u64 time_ns;
	__u32 pid;
	const char *name;
	double bytes;
};

/**
 * struct top_who - what is known
 * @mappings:	of the processes
 * @mapper:	reads them
 * @calls:	names
 * @touch:	a ring, @nr so far
 * @found:	the @nr_found functions that touched most, one of each process
 */
struct top_who {
	struct mappings *mappings;
	struct mapper mapper;
	struct calls *calls;
	struct touch touch[TOUCHES];
	__u64 nr;
	struct touch found[TOUCHES];
	size_t nr_found;
};

static void write_mapping(void *data, const struct wsmon_rec_mapping *rec)
{
	mappings_add(data, &rec->rec);
}

static struct top_who *need_who(struct top *top)
{
	if (!top->who) {
		top->who = need(calloc(1, sizeof(*top->who)));
		top->who->mappings = need(mappings_new());
		top->who->calls = calls_new();
	}
	return top->who;
}

static const char *name_of(struct top_who *w, __u32 pid, __u64 ip)
{
	_Alignas(struct wsmon_rec_stack) char room[sizeof(struct wsmon_rec_stack) + sizeof(ip)];
	struct wsmon_rec_stack *rec = memset(room, 0, sizeof(room));
	const struct mapper_writer writer = { .write = write_mapping, .data = w->mappings };
	const struct callstack *s;
	const char *path, *last;

	if (!mappings_find(w->mappings, pid, ip))
		mapper_changed(&w->mapper, pid, &writer);
	rec->pid = pid;
	rec->nr = 1;
	rec->pc[0] = ip;
	s = calls_fold(w->calls, w->mappings, pid, calls_take(w->calls, w->mappings, rec));
	if (s->call[0].function)
		return s->call[0].function;
	path = s->call[0].path;
	last = path ? strrchr(path, '/') : NULL;
	return last ? last + 1 : path;
}

void top_who_take(struct top *top, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_who *who = (const void *)rec;
	struct top_who *w = top->who;

	if (rec->type == WSMON_REC_WHO) {
		w = need_who(top);
		w->touch[w->nr++ % TOUCHES] = (struct touch) {
			.time_ns = who->rec.time_ns, .pid = who->pid,
			.name = name_of(w, who->pid, who->ip), .bytes = who->bytes,
		};
	} else if (rec->type == WSMON_REC_TARGET && w) {
		/* it may have executed another program */
		mapper_forget(&w->mapper, target->pid);
		mappings_add(w->mappings, rec);
	}
}

static int compare_touches(const void *x, const void *y)
{
	const struct touch *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->name, b->name);
}

/* Of equal ones the sum, of each process the largest; @bytes becomes the share */
static size_t sum_up(struct touch *t, size_t nr)
{
	size_t i = 0, found = 0;

	while (i < nr) {
		struct touch most = { .pid = t[i].pid };
		double all = 0;

		while (i < nr && t[i].pid == most.pid) {
			struct touch sum = { .pid = most.pid, .name = t[i].name };

			for (; i < nr && !compare_touches(&t[i], &sum); i++)
				sum.bytes += t[i].bytes;
			all += sum.bytes;
			if (sum.name && sum.bytes > most.bytes)
				most = sum;
		}
		most.bytes /= all;
		if (most.name)
			t[found++] = most;
	}
	return found;
}

void top_who_update(struct top *top)
{
	struct top_who *w = top->who;
	__u64 i, newest;

	if (!w)
		return;
	newest = w->touch[(w->nr - 1) % TOUCHES].time_ns;
	w->nr_found = 0;
	for (i = 0; i < w->nr && i < TOUCHES; i++) {
		if (w->touch[i].time_ns + RECENT_NS > newest)
			w->found[w->nr_found++] = w->touch[i];
	}
	qsort(w->found, w->nr_found, sizeof(*w->found), compare_touches);
	w->nr_found = sum_up(w->found, w->nr_found);
}

const char *top_who_of(const struct top *top, __u32 pid, double *share)
{
	const struct touch *t = top->who ? top->who->found : NULL;
	size_t i;

	for (i = 0; t && i < top->who->nr_found; i++) {
		if (t[i].pid == pid) {
			*share = t[i].bytes;
			return t[i].name;
		}
	}
	return NULL;
}

void top_who_free(struct top *top)
{
	if (!top->who)
		return;
	calls_free(top->who->calls);
	mappings_free(top->who->mappings);
	mapper_free(&top->who->mapper);
	free(top->who);
}
