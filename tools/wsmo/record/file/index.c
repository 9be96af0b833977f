// SPDX-License-Identifier: GPL-2.0
/*
 * index.c - makes INDEX records, so that reports of a time read only their part of the file
 */
#include "index.h"
#include "libwsmon/reader.h"

/* Skipping a shorter run gains little; a longer one makes a report of a short time read too much */
#define RUN_MIN		(16 << 10)
#define RUN_MAX		(256 << 10)

static bool full(struct index *x)
{
	struct wsmon_rec_index *h = &x->head;

	h->rec.type = WSMON_REC_INDEX;
	h->rec.size = sizeof(*h) + h->nr * sizeof(*x->runs);
	return h->nr == WSMON_INDEX_RUNS;
}

static void end_run(struct index *x)
{
	if (x->run.bytes >= RUN_MIN)
		x->runs[x->head.nr++] = x->run;
	x->run.bytes = 0;
}

bool index_add(struct index *x, const struct wsmon_record *rec, __u64 offset)
{
	struct wsmon_index_run *run = &x->run;

	x->head.rec.time_ns = rec->time_ns;
	if (!index_has(rec->type)) {
		end_run(x);
		return full(x);
	}
	if (!run->bytes)
		*run = (struct wsmon_index_run){ offset, 0, rec->time_ns, rec->time_ns };
	run->bytes += rec->size;
	if (rec->time_ns < run->from_ns)
		run->from_ns = rec->time_ns;
	if (rec->time_ns > run->to_ns)
		run->to_ns = rec->time_ns;
	if (run->bytes >= RUN_MAX)
		end_run(x);
	return full(x);
}

bool index_end(struct index *x)
{
	end_run(x);
	full(x);
	return x->head.nr;
}

void index_written(struct index *x, __u64 offset)
{
	x->head.before = offset;
	x->head.nr = 0;
	full(x);
}
