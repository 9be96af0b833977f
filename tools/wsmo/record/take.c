// SPDX-License-Identifier: GPL-2.0
/*
 * take.c - completes the stream's records on their way into the file: names of areas,
 * mappings, resident memory beside the working set
 */
#include <string.h>

#include "cli/secondary.h"
#include "record.h"

static void write_mapping(void *data, const struct wsmon_rec_mapping *rec)
{
	output_record(data, &rec->rec);
}

static struct mapper_writer mapping_writer(struct record *r)
{
	return (struct mapper_writer){ .write = write_mapping, .data = &r->output };
}

static void write_record(void *data, const struct wsmon_record *rec)
{
	output_record(data, rec);
}

void record_allocations(struct record *r)
{
	const struct feed_writer w = { .write = write_record, .data = &r->output };

	/* the file begins with the header */
	if (r->session.header_size)
		feed_take(&r->feed, r->child.pid, &w);
}

void record_mappings(struct record *r)
{
	const struct mapper_writer w = mapping_writer(r);

	mapper_tick(&r->mapper, &w);
}

static void write_area(struct record *r, const struct wsmon_rec_area *area)
{
	char name[MAPS_NAME];

	if (area->rec.size > sizeof(*area) && area->path[0]) {
		rotate_note(&r->rotation, &area->rec, area->path);
		output_record(&r->output, &area->rec);
		return;
	}
	maps_name(&r->maps, area, name);
	rotate_note(&r->rotation, &area->rec, name);
	output_named(&r->output, &area->rec, sizeof(*area), name);
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
	targets_note(&r->targets, target->pid, false);
	secondary_take(&target->rec, "");
	if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
		mapper_forget(&r->mapper, target->pid);
}

static void take_exit(struct record *r, const struct wsmon_rec_exit *gone)
{
	targets_note(&r->targets, gone->pid, true);
	mapper_forget(&r->mapper, gone->pid);
}

static void take_wss(struct record *r, const struct wsmon_rec_wss *w)
{
	if (w->class != WSMON_CLASS_ALL)
		return;
	if (w->pid == r->targets.first)
		r->wss = *w;
	targets_memory(&r->targets, w->pid, &r->output);
}

/* An interval ended, so no snapshot is cut apart */
static void rotate_if_due(struct record *r)
{
	const struct mapper_writer w = mapping_writer(r);
	__u64 now_ns = r->stats.rec.time_ns;
	size_t i = 0;
	__u32 pid;

	/* the first file began with the stream */
	if (!r->rotation.begun_ns)
		r->rotation.begun_ns = r->session.reader.header.mono_ns;
	if (!rotates(&r->rotation) || !rotate_due(&r->rotation, &r->output, now_ns))
		return;
	if (rotate(&r->rotation, &r->output, &r->session, &r->stats)) {
		r->failed = true;
		return;
	}
	if (r->session.cgroup)
		members_again(&r->targets, &r->output);
	while (!r->session.cgroup && (pid = targets_next(&r->targets, &i))) {
		mapper_forget(&r->mapper, pid);
		mapper_changed(&r->mapper, pid, &w);
	}
	rotate_begun(&r->rotation, &r->output);
}

void record_take(struct record *r, const struct wsmon_record *rec)
{
	const struct wsmon_rec_total *total = (const void *)rec;
	const struct wsmon_rec_lost *lost = (const void *)rec;
	const struct wsmon_rec_mark *mark = (const void *)rec;

	if (r->hooks.take)
		r->hooks.take(r, rec);
	budget_take(&r->budget, rec);
	if (rec->type == WSMON_REC_AREA) {
		take_area(r, (const void *)rec);
		return;
	}
	rotate_note(&r->rotation, rec, "");
	/* nothing follows END; what is allocated stands before the regions that it is in */
	if (rec->type == WSMON_REC_END)
		stacks_end(&r->stacks, &r->output);
	if (rec->type == WSMON_REC_END || rec->type == WSMON_REC_SNAPSHOT)
		record_allocations(r);
	if (rec->type == WSMON_REC_GROUP && r->session.cgroup)
		output_named(&r->output, rec, sizeof(r->group), r->session.cgroup);
	else
		output_record(&r->output, r->file && !r->no_pack ?
			      packer_take(&r->packer, rec) : rec);
	switch (rec->type) {
	case WSMON_REC_TARGET:
		take_target(r, (const void *)rec);
		break;
	case WSMON_REC_EXIT:
		take_exit(r, (const void *)rec);
		break;
	case WSMON_REC_WSS:
		take_wss(r, (const void *)rec);
		break;
	case WSMON_REC_GROUP:
		r->group = *(const struct wsmon_rec_group *)(const void *)rec;
		break;
	case WSMON_REC_TOTAL:
		if (total->class == WSMON_CLASS_ALL)
			r->total = *total;
		break;
	case WSMON_REC_PEAK:
		stacks_peak(&r->stacks, (const void *)rec);
		break;
	case WSMON_REC_MARK:
		stacks_mark(&r->stacks, &r->targets, mark->number);
		break;
	case WSMON_REC_LOST:
		r->lost.records += lost->records;
		r->lost.bytes += lost->bytes;
		break;
	case WSMON_REC_STATS:
		wsmon_record_copy(rec, &r->stats, sizeof(r->stats));
		rotate_if_due(r);
		break;
	case WSMON_REC_END:
		r->ended = true;
		r->reason = ((const struct wsmon_rec_end *)(const void *)rec)->reason;
		break;
	}
}
