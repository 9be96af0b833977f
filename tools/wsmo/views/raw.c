// SPDX-License-Identifier: GPL-2.0
/*
 * raw.c - "wsmo report raw": every record with all its fields
 *
 * Types of records have different fields, so the view prints no table: text and JSON have one line
 * for each record, CSV has one line for each field. Numbers are always exact.
 */
#include <json-c/json.h>
#include <linux/types.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/cli.h"
#include "core/text.h"
#include "libwsmon/names.h"
#include "libwsmon/wsmon_records.h"
#include "live/buildid.h"
#include "report.h"

/*
 * The fields of records
 */

enum field_kind {
	U16, U32, S32, U64, ADDR, CLASS16, CLASS, GROUP, REASON, TEXT, BUILD_ID
};

/**
 * struct field - a field of a record
 * @name:	name as in include/wsmon.h; NULL after the last field
 * @kind:	how to read and print the field
 * @offset:	its offset in the record
 */
struct field {
	const char *name;
	enum field_kind kind;
	size_t offset;
};

/* A field of struct RECORD, a macro that is defined before each table */
#define AS(kind, member)	{ #member, kind, offsetof(struct RECORD, member) }
#define N32(member)	AS(U32, member)
#define N64(member)	AS(U64, member)
#define NTH(member, n)	{ #member #n, U64, offsetof(struct RECORD, member[n]) }
#define ACT_ERROR(n) \
	{ "error" #n, U32, offsetof(struct RECORD, error[n]) }, \
	{ "failed" #n, U32, offsetof(struct RECORD, failed[n]) }

#define RECORD wsmon_file_header
static const struct field header_fields[] = {
	N32(version), N32(header_size), N32(page_size), N32(clock_id), N64(mono_ns),
	N64(real_ns), { 0 }
};

#undef RECORD
#define RECORD wsmon_attrs
static const struct field attrs_fields[] = {
	N64(sample_us), N64(aggr_us), N64(update_us), N64(seed),
	N32(min_regions), N32(max_regions), N32(flags), N32(nr_windows),
	NTH(windows_us, 0), NTH(windows_us, 1), NTH(windows_us, 2), NTH(windows_us, 3),
	NTH(windows_us, 4), NTH(windows_us, 5), NTH(windows_us, 6), NTH(windows_us, 7),
	N32(cpu_permille), N32(peak_detector), N32(peak_window), N32(peak_gain),
	N32(peak_adapt), N32(follow), N32(who_rate), N32(precision), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_target
static const struct field target_fields[] = {
	N32(pid), N32(flags), AS(TEXT, comm), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_area
static const struct field area_fields[] = {
	N32(pid), AS(CLASS, class), N32(index), N32(total), AS(ADDR, start),
	AS(ADDR, end), N64(mapped), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_snapshot
static const struct field snapshot_fields[] = {
	N32(pid), N32(nr), N32(first), N32(total), N64(interval_ns), N32(rounds),
	N32(budget), { 0 }
};

#undef RECORD
#define RECORD wsmon_region_entry
static const struct field region_fields[] = {
	AS(ADDR, start), AS(ADDR, end), AS(U16, share), AS(U16, freq),
	AS(CLASS16, class), AS(U16, samples), N32(age_ms), N32(area), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_wss
static const struct field wss_fields[] = {
	N32(pid), AS(CLASS, class),
	N64(window_us), N64(bytes), N64(low),
	N64(high), N64(mapped), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_peak
static const struct field peak_fields[] = {
	N32(pid), AS(GROUP, group), N32(edge), AS(S32, sign), N32(number),
	N64(start_ns), N64(end_ns),
	N64(window_us), N64(bytes), N64(low),
	N64(high), N64(height), N64(baseline), N64(threshold), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_exit
static const struct field exit_fields[] = {
	N32(pid), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_lost
static const struct field lost_fields[] = {
	N64(records), N64(bytes), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_stats
static const struct field stats_fields[] = {
	N64(rounds), N64(late_rounds), N64(missed), N64(checks), N64(arms),
	N64(flushes), N64(walk_ns), N64(flush_ns), N64(adapt_ns), N64(emit_ns),
	N64(cpu_ns), N64(max_hold_ns), N64(lost_records), N64(lost_bytes),
	N32(regions), N32(samples), N32(targets), N32(budget), N64(sample_ns),
	N64(remote_ns), N64(idle_rounds), N64(late_p50_ns), N64(late_p99_ns),
	N64(late_max_ns), N64(hold_p99_ns), N64(members), N64(unfollowed),
	N64(who_armed), N64(who_absent), N64(who_seen), N64(who_restored), N64(who_skipped),
	N64(who_huge), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_end
static const struct field end_fields[] = {
	AS(REASON, reason), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_proc
static const struct field proc_fields[] = {
	N32(pid), N64(rss), N64(swap), N64(vsize), N64(pss), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_act
static const struct field act_fields[] = {
	N32(rule), N32(nr_rules), N32(action), N32(flags), N64(tried), N64(applied),
	N64(tried_bytes), N64(applied_bytes), N64(refaulted_bytes), N64(skipped_bytes),
	N64(gone_bytes), N64(shadowed_bytes), N64(cpu_ns), ACT_ERROR(0), ACT_ERROR(1),
	ACT_ERROR(2), ACT_ERROR(3), ACT_ERROR(4), ACT_ERROR(5), AS(TEXT, text), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_mapping
static const struct field mapping_fields[] = {
	N32(pid), N32(prot), AS(ADDR, start), AS(ADDR, end), N64(offset), N64(inode),
	AS(BUILD_ID, build_id), N32(tid), AS(TEXT, path), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_stack
static const struct field stack_fields[] = {
	N32(pid), N32(tid), N32(reason), N32(number), N64(stopped_ns), N32(flags),
	N32(error), N32(nr), N32(threads), AS(TEXT, comm), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_mark
static const struct field mark_fields[] = {
	N32(number), AS(TEXT, text), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_group
static const struct field group_fields[] = {
	N64(interval_ns), N32(members), N32(came), N32(went), N32(missed), N32(regions),
	N32(visits), { "path", TEXT, sizeof(struct wsmon_rec_group) }, { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_total
static const struct field total_fields[] = {
	AS(CLASS, class), N64(window_us), N64(bytes), N64(low), N64(high), N64(mapped), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_who
static const struct field who_fields[] = {
	N32(pid), N32(tid), AS(ADDR, address), AS(ADDR, ip), N64(bytes), N64(waited_ns),
	N32(flags), N32(cpu), AS(S32, node), AS(S32, cpu_node), AS(TEXT, comm), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_alloc
static const struct field alloc_fields[] = {
	N32(pid), N32(kind), N32(stack), AS(ADDR, addr), N64(bytes), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_refault
static const struct field refault_fields[] = {
	N32(kind), N32(refaults), N64(median_ns), N64(mean_ns), N64(half_ns), N64(unmapped),
	AS(TEXT, text), { 0 }
};

static const struct field * const record_fields[] = {
	[WSMON_REC_ATTRS]	= attrs_fields,
	[WSMON_REC_TARGET]	= target_fields,
	[WSMON_REC_AREA]	= area_fields,
	[WSMON_REC_SNAPSHOT]	= snapshot_fields,
	[WSMON_REC_WSS]		= wss_fields,
	[WSMON_REC_PEAK]	= peak_fields,
	[WSMON_REC_STACK]	= stack_fields,
	[WSMON_REC_MARK]	= mark_fields,
	[WSMON_REC_EXIT]	= exit_fields,
	[WSMON_REC_LOST]	= lost_fields,
	[WSMON_REC_STATS]	= stats_fields,
	[WSMON_REC_END]		= end_fields,
	[WSMON_REC_PROC]	= proc_fields,
	[WSMON_REC_ACT]		= act_fields,
	[WSMON_REC_MAPPING]	= mapping_fields,
	[WSMON_REC_GROUP]	= group_fields,
	[WSMON_REC_TOTAL]	= total_fields,
	[WSMON_REC_WHO]		= who_fields,
	[WSMON_REC_ALLOC]	= alloc_fields,
	[WSMON_REC_REFAULT]	= refault_fields,
};

/** fields_of() - get the fields of a type of record; an unknown type has none */
static const struct field *fields_of(__u32 type)
{
	static const struct field none[] = { { 0 } };

	if (type < ARRAY_SIZE(record_fields) && record_fields[type])
		return record_fields[type];
	return none;
}

/*
 * The view
 */

#define TEXT_MAX	(4 * WSMON_RECORD_MAX)

struct raw_row {
	double t;
	__u64 n;
	const char *type, *field, *value;
};

#define ROW struct raw_row

TABLE(raw_table, "raw",
	COL(t, T, 8, "TIME", 0, ""),
	COL(n, COUNT, 6, "N", 0, ""),
	COL(type, TEXT, 8, "TYPE", 0, ""),
	COL(field, TEXT, 8, "FIELD", 0, ""),
	COL(value, TEXT, 8, "VALUE", 0, ""));

/**
 * struct raw - a record being printed
 * @f:		output
 * @format:	text, JSON or CSV
 * @n:		number of the record
 * @t:		its time
 * @type:	name of its type
 * @csv:	rows of CSV
 * @text:	buffer for a text made safe to print
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

/* Print a field in formats other than JSON. @quoted: make it safe and quote it. @prefix: for CSV */
static void put_value(struct raw *raw, const char *prefix, const char *name, const char *value,
		      bool quoted)
{
	char field[64];

	if (raw->format != TABLE_CSV) {
		fprintf(raw->f, quoted ? " %s=\"%s\"" : " %s=%s", name,
			quoted ? text_clean(raw->text, TEXT_MAX, value) : value);
		return;
	}
	snprintf(field, sizeof(field), "%s%s", prefix, name);
	table_row(raw->csv, &(struct raw_row) {
		.t = raw->t,
		.n = raw->n,
		.type = raw->type,
		.field = field,
		.value = value,
	});
}

static void put_text(struct raw *raw, struct json_object *obj, const char *prefix,
		     const char *name, const char *value, bool quoted)
{
	if (raw->format == TABLE_JSON)
		json_object_object_add(obj, name, json_object_new_string(
				text_utf8(raw->text, TEXT_MAX, value)));
	else
		put_value(raw, prefix, name, value, quoted);
}

static void put_number(struct raw *raw, struct json_object *obj, const char *prefix,
		       const char *name, __u64 v, bool address)
{
	char text[32];

	if (raw->format == TABLE_JSON) {
		json_object_object_add(obj, name, json_object_new_uint64(v));
		return;
	}
	if (raw->format != TABLE_CSV) {
		fprintf(raw->f, address ? " %s=%#llx" : " %s=%llu", name, v);
		return;
	}
	snprintf(text, sizeof(text), "%llu", v);
	put_value(raw, prefix, name, text, false);
}

static void put_signed(struct raw *raw, struct json_object *obj, const char *prefix,
		       const char *name, __s32 v)
{
	char text[16];

	if (raw->format == TABLE_JSON) {
		json_object_object_add(obj, name, json_object_new_int(v));
		return;
	}
	snprintf(text, sizeof(text), "%d", v);
	put_value(raw, prefix, name, text, false);
}

/* Print the fields in the first @size bytes; the writer of the file did not know later fields */
static void put_fields(struct raw *raw, struct json_object *obj, const char *prefix,
		       const struct field *f, const void *from, size_t size)
{
	for (; f->name && f->offset < size; f++) {
		const void *p = (const char *)from + f->offset;
		char hex[BUILDID_TEXT];

		switch (f->kind) {
		case U16:
			put_number(raw, obj, prefix, f->name, *(const __u16 *)p, false);
			break;
		case U32:
			put_number(raw, obj, prefix, f->name, *(const __u32 *)p, false);
			break;
		case S32:
			put_signed(raw, obj, prefix, f->name, *(const __s32 *)p);
			break;
		case U64:
		case ADDR:
			put_number(raw, obj, prefix, f->name, *(const __u64 *)p, f->kind == ADDR);
			break;
		case CLASS16:
			put_text(raw, obj, prefix, f->name, class_name(*(const __u16 *)p), false);
			break;
		case CLASS:
			put_text(raw, obj, prefix, f->name, class_name(*(const __u32 *)p), false);
			break;
		case GROUP:
			put_text(raw, obj, prefix, f->name, peak_group_name(*(const __u32 *)p),
				 false);
			break;
		case REASON:
			put_text(raw, obj, prefix, f->name, end_name(*(const __u32 *)p), true);
			break;
		case BUILD_ID:
			put_text(raw, obj, prefix, f->name,
				 buildid_text(hex, p, ((const struct wsmon_rec_mapping *)
						       from)->build_id_len), false);
			break;
		case TEXT:
			put_text(raw, obj, prefix, f->name, p, true);
			break;
		}
	}
}

static void put_attrs(struct raw *raw, struct json_object *obj, const void *from,
		      size_t offset, size_t size)
{
	if (size > offset)
		put_fields(raw, obj, "", attrs_fields,
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
		put_fields(raw, region, prefix, region_fields, &s->regions[i],
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
		snprintf(name, sizeof(name), "pc%u", i);
		if (array)
			json_object_array_add(array,
					      json_object_new_uint64(s->pc[i]));
		else
			put_number(raw, NULL, "", name, s->pc[i], true);
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
	if (fields != attrs_fields)
		put_fields(raw, obj, "", fields, from, size);
	if (fields == header_fields)
		put_attrs(raw, obj, from, offsetof(struct wsmon_file_header, attrs), size);
	if (fields == attrs_fields)
		put_attrs(raw, obj, from, offsetof(struct wsmon_rec_attrs, attrs), size);
	if (fields == area_fields && size > sizeof(struct wsmon_rec_area))
		put_text(raw, obj, "", "path",
			 ((const struct wsmon_rec_area *)from)->path, true);
	if (fields == stack_fields)
		put_pcs(raw, obj, from);
	if (fields == snapshot_fields)
		put_regions(raw, obj, from);
	if (obj)
		text_put_json(raw->f, json_object_to_json_string_ext(
				obj, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOZERO |
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
		raw->csv = report_table(rp, &raw_table);
	raw->type = "header";
	rp->data = raw;
	put_line(rp, header_fields, rp->reader.header.mono_ns,
		 rp->reader.header.header_size, &rp->reader.header);
}

static void raw_record(struct report *rp, const struct wsmon_record *rec)
{
	struct raw *raw = rp->data;

	raw->n++;
	if (!filter_wants(&rp->filter, rec))
		return;
	raw->type = record_name(rec->type);
	put_line(rp, fields_of(rec->type), rec->time_ns, rec->size, rec);
}

static void raw_end(struct report *rp)
{
	struct raw *raw = rp->data;

	table_end(raw->csv);
	free(raw->text);
	free(raw);
}

REPORT_VIEW(raw_view) = {
	.order = 13,
	.name = "raw",
	.help = "Every record with all its fields",
	.takes = TAKES_FORMAT,
	.shows_all = true,
	.begin = raw_begin,
	.record = raw_record,
	.end = raw_end,
};
