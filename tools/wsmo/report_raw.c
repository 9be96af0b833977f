// SPDX-License-Identifier: GPL-2.0
/*
 * report_raw.c - "wsmo report raw": every record with all its fields
 *
 * Records differ in their fields, so this is no table: text and JSON have one
 * line a record, CSV one line a field. Numbers are always exact.
 */
#include <json-c/json.h>
#include <stddef.h>
#include <stdlib.h>

#include "names.h"
#include "report.h"
#include "text.h"
#include "wsmo.h"

#define TEXT_MAX	(4 * WSMON_RECORD_MAX)

enum field_kind { U16, U32, U64, ADDR, CLASS16, CLASS, REASON, TEXT };

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset;
};

#define FIELD(type, kind, name)	{ #name, kind, offsetof(struct type, name) }
#define ATTR(kind, name) \
	{ #name, kind, offsetof(struct wsmon_rec_attrs, attrs.name) }
#define ACT_ERROR(n) \
	{ "error" #n, U32, offsetof(struct wsmon_rec_act, error[n]) }, \
	{ "failed" #n, U32, offsetof(struct wsmon_rec_act, failed[n]) }
#define HEAD_ATTR(kind, name) \
	{ #name, kind, offsetof(struct wsmon_file_header, attrs.name) }

static const struct field header_fields[] = {
	FIELD(wsmon_file_header, U32, version),
	FIELD(wsmon_file_header, U32, header_size),
	FIELD(wsmon_file_header, U32, page_size),
	FIELD(wsmon_file_header, U32, clock_id),
	FIELD(wsmon_file_header, U64, mono_ns),
	FIELD(wsmon_file_header, U64, real_ns),
	HEAD_ATTR(U64, sample_us),
	HEAD_ATTR(U64, aggr_us),
	HEAD_ATTR(U64, update_us),
	HEAD_ATTR(U64, window_us),
	HEAD_ATTR(U64, seed),
	HEAD_ATTR(U32, min_regions),
	HEAD_ATTR(U32, max_regions),
	HEAD_ATTR(U32, flags),
	HEAD_ATTR(U32, cpu_permille),
	{ 0 }
};

static const struct field attrs_fields[] = {
	ATTR(U64, sample_us),
	ATTR(U64, aggr_us),
	ATTR(U64, update_us),
	ATTR(U64, window_us),
	ATTR(U64, seed),
	ATTR(U32, min_regions),
	ATTR(U32, max_regions),
	ATTR(U32, flags),
	ATTR(U32, cpu_permille),
	{ 0 }
};

static const struct field target_fields[] = {
	FIELD(wsmon_rec_target, U32, pid),
	FIELD(wsmon_rec_target, U32, flags),
	FIELD(wsmon_rec_target, TEXT, comm),
	{ 0 }
};

static const struct field area_fields[] = {
	FIELD(wsmon_rec_area, U32, pid),
	FIELD(wsmon_rec_area, CLASS, class),
	FIELD(wsmon_rec_area, U32, index),
	FIELD(wsmon_rec_area, U32, total),
	FIELD(wsmon_rec_area, ADDR, start),
	FIELD(wsmon_rec_area, ADDR, end),
	FIELD(wsmon_rec_area, U64, mapped),
	{ 0 }
};

static const struct field snapshot_fields[] = {
	FIELD(wsmon_rec_snapshot, U32, pid),
	FIELD(wsmon_rec_snapshot, U32, nr),
	FIELD(wsmon_rec_snapshot, U32, first),
	FIELD(wsmon_rec_snapshot, U32, total),
	FIELD(wsmon_rec_snapshot, U64, interval_ns),
	FIELD(wsmon_rec_snapshot, U32, rounds),
	FIELD(wsmon_rec_snapshot, U32, budget),
	{ 0 }
};

static const struct field region_fields[] = {
	FIELD(wsmon_region_entry, ADDR, start),
	FIELD(wsmon_region_entry, ADDR, end),
	FIELD(wsmon_region_entry, U16, share),
	FIELD(wsmon_region_entry, U16, freq),
	FIELD(wsmon_region_entry, CLASS16, class),
	FIELD(wsmon_region_entry, U32, age_ms),
	FIELD(wsmon_region_entry, U32, area),
	{ 0 }
};

static const struct field wss_fields[] = {
	FIELD(wsmon_rec_wss, U32, pid),
	FIELD(wsmon_rec_wss, CLASS, class),
	FIELD(wsmon_rec_wss, U64, tau_us),
	FIELD(wsmon_rec_wss, U64, bytes),
	FIELD(wsmon_rec_wss, U64, low),
	FIELD(wsmon_rec_wss, U64, high),
	FIELD(wsmon_rec_wss, U64, mapped),
	{ 0 }
};

static const struct field exit_fields[] = {
	FIELD(wsmon_rec_exit, U32, pid),
	{ 0 }
};

static const struct field lost_fields[] = {
	FIELD(wsmon_rec_lost, U64, records),
	FIELD(wsmon_rec_lost, U64, bytes),
	{ 0 }
};

static const struct field stats_fields[] = {
	FIELD(wsmon_rec_stats, U64, rounds),
	FIELD(wsmon_rec_stats, U64, late_rounds),
	FIELD(wsmon_rec_stats, U64, missed),
	FIELD(wsmon_rec_stats, U64, checks),
	FIELD(wsmon_rec_stats, U64, arms),
	FIELD(wsmon_rec_stats, U64, flushes),
	FIELD(wsmon_rec_stats, U64, walk_ns),
	FIELD(wsmon_rec_stats, U64, flush_ns),
	FIELD(wsmon_rec_stats, U64, adapt_ns),
	FIELD(wsmon_rec_stats, U64, emit_ns),
	FIELD(wsmon_rec_stats, U64, cpu_ns),
	FIELD(wsmon_rec_stats, U64, max_hold_ns),
	FIELD(wsmon_rec_stats, U64, lost_records),
	FIELD(wsmon_rec_stats, U64, lost_bytes),
	FIELD(wsmon_rec_stats, U32, regions),
	FIELD(wsmon_rec_stats, U32, samples),
	FIELD(wsmon_rec_stats, U32, targets),
	FIELD(wsmon_rec_stats, U32, budget),
	FIELD(wsmon_rec_stats, U64, sample_ns),
	FIELD(wsmon_rec_stats, U64, remote_ns),
	FIELD(wsmon_rec_stats, U64, idle_rounds),
	FIELD(wsmon_rec_stats, U64, late_p50_ns),
	FIELD(wsmon_rec_stats, U64, late_p99_ns),
	FIELD(wsmon_rec_stats, U64, late_max_ns),
	{ 0 }
};

static const struct field end_fields[] = {
	FIELD(wsmon_rec_end, REASON, reason),
	{ 0 }
};

static const struct field proc_fields[] = {
	FIELD(wsmon_rec_proc, U32, pid),
	FIELD(wsmon_rec_proc, U64, rss),
	FIELD(wsmon_rec_proc, U64, swap),
	FIELD(wsmon_rec_proc, U64, vsize),
	{ 0 }
};

static const struct field act_fields[] = {
	FIELD(wsmon_rec_act, U32, rule),
	FIELD(wsmon_rec_act, U32, nr_rules),
	FIELD(wsmon_rec_act, U32, action),
	FIELD(wsmon_rec_act, U32, flags),
	FIELD(wsmon_rec_act, U64, tried),
	FIELD(wsmon_rec_act, U64, applied),
	FIELD(wsmon_rec_act, U64, tried_bytes),
	FIELD(wsmon_rec_act, U64, applied_bytes),
	FIELD(wsmon_rec_act, U64, refaulted_bytes),
	FIELD(wsmon_rec_act, U64, skipped_bytes),
	FIELD(wsmon_rec_act, U64, gone_bytes),
	FIELD(wsmon_rec_act, U64, shadowed_bytes),
	FIELD(wsmon_rec_act, U64, cpu_ns),
	ACT_ERROR(0), ACT_ERROR(1), ACT_ERROR(2),
	ACT_ERROR(3), ACT_ERROR(4), ACT_ERROR(5),
	FIELD(wsmon_rec_act, TEXT, text),
	{ 0 }
};

static const struct field no_fields[] = {
	{ 0 }
};

static const struct field * const record_fields[] = {
	[WSMON_REC_ATTRS]	= attrs_fields,
	[WSMON_REC_TARGET]	= target_fields,
	[WSMON_REC_AREA]	= area_fields,
	[WSMON_REC_SNAPSHOT]	= snapshot_fields,
	[WSMON_REC_WSS]		= wss_fields,
	[WSMON_REC_EXIT]	= exit_fields,
	[WSMON_REC_LOST]	= lost_fields,
	[WSMON_REC_STATS]	= stats_fields,
	[WSMON_REC_END]		= end_fields,
	[WSMON_REC_PROC]	= proc_fields,
	[WSMON_REC_ACT]		= act_fields,
};

enum { T, N, TYPE, NAME, VALUE };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0, "seconds since the recording began" },
	[N]	= { "n", "N", COL_COUNT, 6, 0, "number of the record in the file (--csv)" },
	[TYPE]	= { "type", "TYPE", COL_TEXT, 8, 0, "its type" },
	[NAME]	= { "field", "FIELD", COL_TEXT, 8, 0, "name of a field, as in include/wsmon.h" },
	[VALUE]	= { "value", "VALUE", COL_TEXT, 8, 0, "its value" },
};

static const struct table_desc desc = {
	.type = "raw", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const struct table_desc * const tables[] = { &desc };

/**
 * struct raw - the line being made
 * @format:	text, JSON or CSV
 * @n:		number of the record
 * @t:		its time
 * @type:	name of its type
 * @csv:	for CSV
 * @text:	room for a name made safe
 */
struct raw {
	enum table_format format;
	__u64 n;
	double t;
	const char *type;
	struct table *csv;
	char *text;
};

static void csv_row(struct raw *raw, const char *prefix, const char *name,
		    const char *value)
{
	char field[64];

	snprintf(field, sizeof(field), "%s%s", prefix, name);
	table_row(raw->csv, (struct cell[]) {
		[T]	= cell_d(raw->t),
		[N]	= cell_u(raw->n),
		[TYPE]	= cell_s(raw->type),
		[NAME]	= cell_s(field),
		[VALUE]	= cell_s(value),
	});
}

static void put_text(struct raw *raw, struct json_object *obj,
		     const char *prefix, const char *name, const char *value)
{
	if (raw->format == TABLE_JSON)
		json_object_object_add(obj, name, json_object_new_string(
				text_utf8(raw->text, TEXT_MAX, value)));
	else if (raw->format == TABLE_CSV)
		csv_row(raw, prefix, name, value);
	else
		printf(" %s=\"%s\"", name,
		       text_clean(raw->text, TEXT_MAX, value));
}

static void put_name(struct raw *raw, struct json_object *obj,
		     const char *prefix, const char *name, const char *value)
{
	if (raw->format == TABLE_JSON || raw->format == TABLE_CSV)
		put_text(raw, obj, prefix, name, value);
	else
		printf(" %s=%s", name, value);
}

static void put_number(struct raw *raw, struct json_object *obj,
		       const char *prefix, const struct field *f, __u64 v)
{
	char text[32];

	if (raw->format == TABLE_JSON) {
		json_object_object_add(obj, f->name, json_object_new_uint64(v));
		return;
	}
	if (raw->format != TABLE_CSV) {
		printf(f->kind == ADDR ? " %s=%#llx" : " %s=%llu", f->name, v);
		return;
	}
	snprintf(text, sizeof(text), "%llu", v);
	csv_row(raw, prefix, f->name, text);
}

/* @size: what older writers did not know is behind it, and left out */
static void put_fields(struct raw *raw, struct json_object *obj,
		       const char *prefix, const struct field *f,
		       const void *from, size_t size)
{
	for (; f->name && f->offset < size; f++) {
		const void *p = (const char *)from + f->offset;

		switch (f->kind) {
		case U16:
			put_number(raw, obj, prefix, f, *(const __u16 *)p);
			break;
		case U32:
			put_number(raw, obj, prefix, f, *(const __u32 *)p);
			break;
		case U64:
		case ADDR:
			put_number(raw, obj, prefix, f, *(const __u64 *)p);
			break;
		case CLASS16:
			put_name(raw, obj, prefix, f->name,
				 class_name(*(const __u16 *)p));
			break;
		case CLASS:
			put_name(raw, obj, prefix, f->name,
				 class_name(*(const __u32 *)p));
			break;
		case REASON:
			put_text(raw, obj, prefix, f->name,
				 end_name(*(const __u32 *)p));
			break;
		case TEXT:
			put_text(raw, obj, prefix, f->name, p);
			break;
		}
	}
}

static void put_regions(struct raw *raw, struct json_object *obj,
			const struct wsmon_rec_snapshot *s)
{
	struct json_object *array = NULL;
	__u32 i;

	if (raw->format == TABLE_JSON) {
		array = json_object_new_array_ext(s->nr ? s->nr : 1);
		json_object_object_add(obj, "regions", array);
	}
	for (i = 0; i < s->nr; i++) {
		struct json_object *region = NULL;
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "region%u.", s->first + i);
		if (array) {
			region = json_object_new_object();
			json_object_array_add(array, region);
		} else if (raw->format != TABLE_CSV) {
			fputs(" {", stdout);
		}
		put_fields(raw, region, prefix, region_fields, &s->regions[i],
			   sizeof(s->regions[i]));
		if (raw->format != TABLE_JSON && raw->format != TABLE_CSV)
			fputs(" }", stdout);
	}
}

static void put_line(struct report *rp, const struct field *fields,
		     __u64 time_ns, __u32 size, const void *from)
{
	struct raw *raw = rp->data;
	struct json_object *obj = NULL;

	raw->t = report_time(rp, time_ns);
	if (raw->format == TABLE_JSON) {
		obj = json_object_new_object();
		json_object_object_add(obj, "type",
				       json_object_new_string(raw->type));
		json_object_object_add(obj, "t",
				       json_object_new_double(raw->t));
		json_object_set_serializer(json_object_object_get(obj, "t"),
				json_object_double_to_json_string,
				(void *)(uintptr_t)"%.6f", NULL);
		json_object_object_add(obj, "time_ns",
				       json_object_new_uint64(time_ns));
		json_object_object_add(obj, "size",
				       json_object_new_uint64(size));
	} else if (raw->format != TABLE_CSV) {
		printf("%12.6f %-8s size=%u", raw->t, raw->type, size);
	}
	put_fields(raw, obj, "", fields, from, size);
	if (fields == area_fields && size > sizeof(struct wsmon_rec_area))
		put_text(raw, obj, "", "path",
			 ((const struct wsmon_rec_area *)from)->path);
	if (fields == snapshot_fields)
		put_regions(raw, obj, from);
	if (obj)
		puts(json_object_to_json_string_ext(obj,
				JSON_C_TO_STRING_PLAIN |
				JSON_C_TO_STRING_NOZERO |
				JSON_C_TO_STRING_NOSLASHESCAPE));
	else if (raw->format != TABLE_CSV)
		putchar('\n');
	json_object_put(obj);
}

static void raw_begin(struct report *rp)
{
	struct raw *raw = calloc(1, sizeof(*raw));

	if (raw)
		raw->text = malloc(TEXT_MAX);
	if (!raw || !raw->text) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	raw->format = rp->format;
	if (raw->format == TABLE_CSV)
		raw->csv = table_new(&desc, raw->format);
	raw->type = "header";
	rp->data = raw;
	put_line(rp, header_fields, rp->reader.header.mono_ns,
		 rp->reader.header.header_size, &rp->reader.header);
}

static void raw_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct field *fields = NULL;
	struct raw *raw = rp->data;

	raw->n++;
	if (!report_wants(rp, rec))
		return;
	if (rec->type < ARRAY_SIZE(record_fields))
		fields = record_fields[rec->type];
	raw->type = record_name(rec->type);
	put_line(rp, fields ? fields : no_fields, rec->time_ns, rec->size, rec);
}

static void raw_end(struct report *rp)
{
	struct raw *raw = rp->data;

	table_end(raw->csv);
	free(raw->text);
	free(raw);
}

const struct report_view report_raw = {
	.name = "raw",
	.help = "every record with all its fields, numbers exact",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.begin = raw_begin,
	.record = raw_record,
	.end = raw_end,
};
