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

void record_mappings(struct record *r)
{
	const struct mapper_writer w = mapping_writer(r);

	mapper_tick(&r->mapper, &w);
}

static void write_area(struct record *r, const struct wsmon_rec_area *area)
{
	char name[MAPS_NAME];

	if (area->rec.size > sizeof(*area) && area->path[0]) {
		output_record(&r->output, &area->rec);
		return;
	}
	maps_name(&r->maps, area, name);
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
	/* nothing follows END */
	if (rec->type == WSMON_REC_END)
		stacks_end(&r->stacks, &r->output);
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
		reader_copy(rec, &r->stats, sizeof(r->stats));
		break;
	case WSMON_REC_END:
		r->ended = true;
		r->reason = ((const struct wsmon_rec_end *)(const void *)rec)->reason;
		break;
	}
}
