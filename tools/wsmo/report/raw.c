// SPDX-License-Identifier: GPL-2.0
/*
 * raw.c - "wsmo report raw": every record with all its fields
 *
 * Records differ in their fields, so this is no table: text and JSON have one
 * line a record, CSV one line a field. Numbers are always exact.
 */
#include <json-c/json.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "libwsmon/names.h"
#include "raw_fields.h"
#include "record/buildid.h"
#include "report.h"

#define TEXT_MAX	(4 * WSMON_RECORD_MAX)

enum { T, N, TYPE, NAME, VALUE };

static const struct column columns[] = {
	[T]	= { "t", "TIME", COL_T, 8, 0 },
	[N]	= { "n", "N", COL_COUNT, 6, 0 },
	[TYPE]	= { "type", "TYPE", COL_TEXT, 8, 0 },
	[NAME]	= { "field", "FIELD", COL_TEXT, 8, 0 },
	[VALUE]	= { "value", "VALUE", COL_TEXT, 8, 0 },
};

static const struct table_desc desc = {
	.type = "raw", .columns = columns, .nr = ARRAY_SIZE(columns),
};

/**
 * struct raw - the line being made
 * @f:		where to
 * @format:	text, JSON or CSV
 * @n:		number of the record
 * @t:		its time
 * @type:	name of its type
 * @csv:	for CSV
 * @text:	room for a name made safe
 */
struct raw {
	FILE *f;
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
		fprintf(raw->f, " %s=\"%s\"", name,
		       text_clean(raw->text, TEXT_MAX, value));
}

static void put_name(struct raw *raw, struct json_object *obj,
		     const char *prefix, const char *name, const char *value)
{
	if (raw->format == TABLE_JSON || raw->format == TABLE_CSV)
		put_text(raw, obj, prefix, name, value);
	else
		fprintf(raw->f, " %s=%s", name, value);
}

static void put_signed(struct raw *raw, struct json_object *obj,
		       const char *prefix, const char *name, __s32 v)
{
	char text[16];

	if (raw->format == TABLE_JSON) {
		json_object_object_add(obj, name, json_object_new_int(v));
		return;
	}
	snprintf(text, sizeof(text), "%d", v);
	put_name(raw, obj, prefix, name, text);
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
		fprintf(raw->f, f->kind == ADDR ? " %s=%#llx" : " %s=%llu", f->name, v);
		return;
	}
	snprintf(text, sizeof(text), "%llu", v);
	csv_row(raw, prefix, f->name, text);
}

/* Fields after @size, which the writer did not know, are left out */
static void put_fields(struct raw *raw, struct json_object *obj,
		       const char *prefix, const struct field *f,
		       const void *from, size_t size)
{
	for (; f->name && f->offset < size; f++) {
		const void *p = (const char *)from + f->offset;
		char hex[BUILDID_TEXT];

		switch (f->kind) {
		case U16:
			put_number(raw, obj, prefix, f, *(const __u16 *)p);
			break;
		case U32:
			put_number(raw, obj, prefix, f, *(const __u32 *)p);
			break;
		case S32:
			put_signed(raw, obj, prefix, f->name, *(const __s32 *)p);
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
		case GROUP:
			put_name(raw, obj, prefix, f->name,
				 peak_group_name(*(const __u32 *)p));
			break;
		case REASON:
			put_text(raw, obj, prefix, f->name,
				 end_name(*(const __u32 *)p));
			break;
		case BUILD_ID:
			put_name(raw, obj, prefix, f->name,
				 buildid_text(hex, p, ((const struct wsmon_rec_mapping *)
						       from)->build_id_len));
			break;
		case TEXT:
			put_text(raw, obj, prefix, f->name, p);
			break;
		}
	}
}

static void put_attrs(struct raw *raw, struct json_object *obj, const void *from,
		      size_t offset, size_t size)
{
	if (size > offset)
		put_fields(raw, obj, "", raw_attrs_fields,
			   (const char *)from + offset, size - offset);
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
			fputs(" {", raw->f);
		}
		put_fields(raw, region, prefix, raw_region_fields, &s->regions[i],
			   sizeof(s->regions[i]));
		if (raw->format != TABLE_JSON && raw->format != TABLE_CSV)
			fputs(" }", raw->f);
	}
}

static void put_pcs(struct raw *raw, struct json_object *obj,
		    const struct wsmon_rec_stack *s)
{
	struct json_object *array = NULL;
	char name[16];
	__u32 i;

	if (raw->format == TABLE_JSON) {
		array = json_object_new_array_ext(s->nr ? s->nr : 1);
		json_object_object_add(obj, "pc", array);
	}
	for (i = 0; i < s->nr; i++) {
		const struct field pc = { name, ADDR, 0 };

		snprintf(name, sizeof(name), "pc%u", i);
		if (array)
			json_object_array_add(array,
					      json_object_new_uint64(s->pc[i]));
		else
			put_number(raw, NULL, "", &pc, s->pc[i]);
	}
}

static void put_line(struct report *rp, const struct field *fields,
		     __u64 time_ns, __u32 size, const void *from)
{
	struct raw *raw = rp->data;
	struct json_object *obj = NULL;

	raw->t = filter_time(&rp->filter, time_ns);
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
		fprintf(raw->f, "%12.6f %-8s size=%u", raw->t, raw->type, size);
	}
	if (fields != raw_attrs_fields)
		put_fields(raw, obj, "", fields, from, size);
	if (fields == raw_header_fields)
		put_attrs(raw, obj, from, offsetof(struct wsmon_file_header, attrs), size);
	if (fields == raw_attrs_fields)
		put_attrs(raw, obj, from, offsetof(struct wsmon_rec_attrs, attrs), size);
	if (fields == raw_area_fields && size > sizeof(struct wsmon_rec_area))
		put_text(raw, obj, "", "path",
			 ((const struct wsmon_rec_area *)from)->path);
	if (fields == raw_stack_fields)
		put_pcs(raw, obj, from);
	if (fields == raw_snapshot_fields)
		put_regions(raw, obj, from);
	if (obj)
		text_put_json(raw->f, json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN |
								     JSON_C_TO_STRING_NOZERO |
								     JSON_C_TO_STRING_NOSLASHESCAPE));
	if (raw->format != TABLE_CSV)
		fputc('\n', raw->f);
	json_object_put(obj);
}

static void raw_begin(struct report *rp)
{
	struct raw *raw = need(calloc(1, sizeof(*raw)));

	raw->text = need(malloc(TEXT_MAX));
	raw->format = rp->out.format;
	raw->f = rp->out.f;
	if (raw->format == TABLE_CSV)
		raw->csv = report_table(rp, &desc);
	raw->type = "header";
	rp->data = raw;
	put_line(rp, raw_header_fields, rp->reader.header.mono_ns,
		 rp->reader.header.header_size, &rp->reader.header);
}

static void raw_record(struct report *rp, const struct wsmon_record *rec)
{
	struct raw *raw = rp->data;

	raw->n++;
	if (!filter_wants(&rp->filter, rec))
		return;
	raw->type = record_name(rec->type);
	put_line(rp, raw_fields(rec->type), rec->time_ns, rec->size, rec);
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
	.help = "Every record with all its fields",
	.takes = TAKES_FORMAT,
	.begin = raw_begin,
	.record = raw_record,
	.end = raw_end,
};
