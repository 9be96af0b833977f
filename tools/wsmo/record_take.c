// SPDX-License-Identifier: GPL-2.0
/*
 * record_take.c - what "record" makes of the stream's records on their way into
 * the file: areas get names, RSS is put beside the working set
 */
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "units.h"

/* Least time between two PROC records of a target; they follow its WSS. */
#define MEMORY_INTERVAL	(NSEC_PER_SEC * 9 / 10)

struct live_target {
	__u32 pid;
	bool gone;
	__u64 memory_ns;	/* time of its last PROC, 0 if there was none */
};

static int compare(const void *x, const void *y)
{
	const struct live_target *a = x, *b = y;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

void record_write(struct record *r, const void *rec, size_t size)
{
	output_put(&r->output, rec, size);
	r->records++;
}

static void write_packed(struct record *r, const struct wsmon_record *rec)
{
	if (r->file && !r->no_pack)
		rec = packer_take(&r->packer, rec);
	record_write(r, rec, rec->size);
}

static void note_target(struct record *r, __u32 pid, bool gone)
{
	const struct live_target key = { .pid = pid };
	struct live_target *t;

	if (!r->targets.size)
		r->targets = (struct sorted) {
			.size = sizeof(*t), .max = 65536, .compare = compare,
		};
	if (!r->first_pid)
		r->first_pid = pid;
	t = sorted_get(&r->targets, &key);
	if (t)
		t->gone = gone;
}

static void take_area(struct record *r, const struct wsmon_rec_area *area)
{
	static const char zeroes[8];
	struct wsmon_rec_area head = *area;
	char name[MAPS_NAME];
	size_t len, pad;

	if (area->rec.size > sizeof(*area) && area->path[0]) {
		record_write(r, area, area->rec.size);
		return;
	}
	maps_name(&r->maps, area, name);
	len = *name ? strlen(name) + 1 : 0;
	pad = -len % 8;
	head.rec.size = sizeof(head) + len + pad;
	output_put(&r->output, &head, sizeof(head));
	output_put(&r->output, name, len);
	record_write(r, zeroes, pad);
}

static void add_memory(struct record *r, struct live_target *t)
{
	struct wsmon_rec_proc proc = {
		.rec = {
			.type = WSMON_REC_PROC,
			.size = sizeof(proc),
			.time_ns = record_now(),
		},
		.pid = t->pid,
	};

	if (t->gone || (t->memory_ns &&
			proc.rec.time_ns - t->memory_ns < MEMORY_INTERVAL))
		return;
	t->memory_ns = proc.rec.time_ns;
	if (!proc_memory(t->pid, &proc))
		record_write(r, &proc, sizeof(proc));
}

void record_memory(struct record *r)
{
	struct live_target *t = r->targets.base;
	size_t i;

	for (i = 0; i < r->targets.nr; i++)
		add_memory(r, &t[i]);
}

static void take_wss(struct record *r, const struct wsmon_rec_wss *w)
{
	const struct live_target key = { .pid = w->pid };
	struct live_target *t;

	if (w->class != WSMON_CLASS_ALL)
		return;
	if (w->pid == r->first_pid)
		r->wss = *w;
	t = r->targets.size ? sorted_find(&r->targets, &key) : NULL;
	if (t)
		add_memory(r, t);
}

void record_take(struct record *r, const struct wsmon_record *rec)
{
	const struct wsmon_rec_lost *lost = (const void *)rec;

	if (r->hooks.take)
		r->hooks.take(r, rec);
	if (rec->type == WSMON_REC_AREA) {
		take_area(r, (const void *)rec);
		return;
	}
	write_packed(r, rec);
	switch (rec->type) {
	case WSMON_REC_TARGET:
		note_target(r, ((const struct wsmon_rec_target *)rec)->pid,
			    false);
		break;
	case WSMON_REC_EXIT:
		note_target(r, ((const struct wsmon_rec_exit *)rec)->pid, true);
		break;
	case WSMON_REC_WSS:
		take_wss(r, (const void *)rec);
		break;
	case WSMON_REC_LOST:
		r->lost.records += lost->records;
		r->lost.bytes += lost->bytes;
		break;
	case WSMON_REC_STATS:
		reader_copy(rec, &r->stats, sizeof(r->stats));
		break;
	case WSMON_REC_END:
		r->ended = true;
		break;
	}
}
