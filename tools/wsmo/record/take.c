// SPDX-License-Identifier: GPL-2.0
/*
 * take.c - what "record" makes of the stream's records on their way into
 * the file: areas get names, what is mapped is told in full, RSS is put beside
 * the working set
 */
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "record.h"
#include "cli/secondary.h"

/* Least time between two PROC records of a target; they follow its WSS. */
#define MEMORY_INTERVAL	(NSEC_PER_SEC * 9 / 10)

/*
 * Least time between two with PSS, and how many times as long as reading it took:
 * the kernel holds the target's mmap lock meanwhile. How long that will be at first
 * goes by the pages it has to look at, a few cache misses each; up to 50 ms are not
 * put off.
 */
#define PSS_INTERVAL	(10 * NSEC_PER_SEC)
#define PSS_PACE	1000
#define PSS_PAGE_NS	50
#define PSS_AT_ONCE	(NSEC_PER_SEC / 20)

struct live_target {
	__u32 pid;
	bool gone;
	__u64 memory_ns;	/* time of its last PROC, 0 if there was none */
	__u64 pss_ns;		/* when PSS is to be read again */
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

static void write_mapping(void *data, const struct wsmon_rec_mapping *rec)
{
	record_write(data, rec, rec->rec.size);
}

static struct mapper_writer mapping_writer(struct record *r)
{
	return (struct mapper_writer){ .write = write_mapping, .data = r };
}

void record_mappings(struct record *r)
{
	const struct mapper_writer w = mapping_writer(r);

	mapper_tick(&r->mapper, &w);
}

static void write_area(struct record *r, const struct wsmon_rec_area *area)
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

static void take_area(struct record *r, const struct wsmon_rec_area *area)
{
	const struct mapper_writer w = mapping_writer(r);

	write_area(r, area);
	if (r->file && area->index == area->total - 1)
		mapper_changed(&r->mapper, area->pid, &w);
}

static void take_target(struct record *r, const struct wsmon_rec_target *target)
{
	note_target(r, target->pid, false);
	secondary_take(&target->rec, "");
	if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		mapper_forget(&r->mapper, target->pid);
}

static __u64 read_pss(struct live_target *t, __u64 rss)
{
	__u64 begin = record_now(), pss, took;

	if (!t->pss_ns) {
		took = rss / 4096 * PSS_PAGE_NS;
		/* of a large target not before it has run for long enough */
		t->pss_ns = took > PSS_AT_ONCE ? begin + took * PSS_PACE : begin;
	}
	if (begin < t->pss_ns)
		return 0;
	pss = proc_pss(t->pid);
	took = (record_now() - begin) * PSS_PACE;
	t->pss_ns = begin + (took > PSS_INTERVAL ? took : PSS_INTERVAL);
	return pss;
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
	if (proc_memory(t->pid, &proc))
		return;
	proc.pss = read_pss(t, proc.rss);
	record_write(r, &proc, sizeof(proc));
}

__u32 record_next_target(const struct record *r, size_t *i)
{
	const struct live_target *t = r->targets.base;

	while (*i < r->targets.nr) {
		const struct live_target *this = &t[(*i)++];

		if (!this->gone)
			return this->pid;
	}
	return 0;
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
	/* nothing follows it */
	if (rec->type == WSMON_REC_END)
		stacks_end(r);
	write_packed(r, rec);
	switch (rec->type) {
	case WSMON_REC_TARGET:
		take_target(r, (const void *)rec);
		break;
	case WSMON_REC_EXIT:
		note_target(r, ((const struct wsmon_rec_exit *)rec)->pid, true);
		mapper_forget(&r->mapper,
			      ((const struct wsmon_rec_exit *)rec)->pid);
		break;
	case WSMON_REC_WSS:
		take_wss(r, (const void *)rec);
		break;
	case WSMON_REC_PEAK:
		stacks_peak(r, (const void *)rec);
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
