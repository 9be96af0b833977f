// SPDX-License-Identifier: GPL-2.0
/*
 * raw_fields.c - the fields of records, for "wsmo report raw"
 */
#include "cli/cli.h"
#include "raw_fields.h"

#define FIELD(type, kind, name)	{ #name, kind, offsetof(struct type, name) }
#define ATTR(kind, name) \
	{ #name, kind, offsetof(struct wsmon_rec_attrs, attrs.name) }
#define LONGER(n) \
	{ "longer_us" #n, U64, offsetof(struct wsmon_rec_attrs, attrs.longer_us[n]) }
#define ACT_ERROR(n) \
	{ "error" #n, U32, offsetof(struct wsmon_rec_act, error[n]) }, \
	{ "failed" #n, U32, offsetof(struct wsmon_rec_act, failed[n]) }
#define HEAD_ATTR(kind, name) \
	{ #name, kind, offsetof(struct wsmon_file_header, attrs.name) }
#define HEAD_LONGER(n) \
	{ "longer_us" #n, U64, \
	  offsetof(struct wsmon_file_header, attrs.longer_us[n]) }

const struct field raw_header_fields[] = {
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
	HEAD_ATTR(U32, peak_detector),
	HEAD_ATTR(U32, peak_window),
	HEAD_ATTR(U32, peak_gain),
	HEAD_ATTR(U32, peak_adapt),
	HEAD_ATTR(U32, nr_windows),
	HEAD_LONGER(0),
	HEAD_LONGER(1),
	HEAD_LONGER(2),
	HEAD_LONGER(3),
	HEAD_LONGER(4),
	HEAD_LONGER(5),
	HEAD_LONGER(6),
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
	ATTR(U32, peak_detector),
	ATTR(U32, peak_window),
	ATTR(U32, peak_gain),
	ATTR(U32, peak_adapt),
	ATTR(U32, nr_windows),
	LONGER(0),
	LONGER(1),
	LONGER(2),
	LONGER(3),
	LONGER(4),
	LONGER(5),
	LONGER(6),
	{ 0 }
};

static const struct field target_fields[] = {
	FIELD(wsmon_rec_target, U32, pid),
	FIELD(wsmon_rec_target, U32, flags),
	FIELD(wsmon_rec_target, TEXT, comm),
	{ 0 }
};

const struct field raw_area_fields[] = {
	FIELD(wsmon_rec_area, U32, pid),
	FIELD(wsmon_rec_area, CLASS, class),
	FIELD(wsmon_rec_area, U32, index),
	FIELD(wsmon_rec_area, U32, total),
	FIELD(wsmon_rec_area, ADDR, start),
	FIELD(wsmon_rec_area, ADDR, end),
	FIELD(wsmon_rec_area, U64, mapped),
	{ 0 }
};

const struct field raw_snapshot_fields[] = {
	FIELD(wsmon_rec_snapshot, U32, pid),
	FIELD(wsmon_rec_snapshot, U32, nr),
	FIELD(wsmon_rec_snapshot, U32, first),
	FIELD(wsmon_rec_snapshot, U32, total),
	FIELD(wsmon_rec_snapshot, U64, interval_ns),
	FIELD(wsmon_rec_snapshot, U32, rounds),
	FIELD(wsmon_rec_snapshot, U32, budget),
	{ 0 }
};

const struct field raw_region_fields[] = {
	FIELD(wsmon_region_entry, ADDR, start),
	FIELD(wsmon_region_entry, ADDR, end),
	FIELD(wsmon_region_entry, U16, share),
	FIELD(wsmon_region_entry, U16, freq),
	FIELD(wsmon_region_entry, CLASS16, class),
	FIELD(wsmon_region_entry, U16, samples),
	FIELD(wsmon_region_entry, U32, age_ms),
	FIELD(wsmon_region_entry, U32, area),
	{ 0 }
};

static const struct field wss_fields[] = {
	FIELD(wsmon_rec_wss, U32, pid),
	FIELD(wsmon_rec_wss, CLASS, class),
	{ "window_us", U64, offsetof(struct wsmon_rec_wss, tau_us) },
	FIELD(wsmon_rec_wss, U64, bytes),
	FIELD(wsmon_rec_wss, U64, low),
	FIELD(wsmon_rec_wss, U64, high),
	FIELD(wsmon_rec_wss, U64, mapped),
	{ 0 }
};

static const struct field peak_fields[] = {
	FIELD(wsmon_rec_peak, U32, pid),
	FIELD(wsmon_rec_peak, GROUP, group),
	FIELD(wsmon_rec_peak, U32, edge),
	FIELD(wsmon_rec_peak, S32, sign),
	FIELD(wsmon_rec_peak, U32, number),
	FIELD(wsmon_rec_peak, U64, start_ns),
	FIELD(wsmon_rec_peak, U64, end_ns),
	{ "window_us", U64, offsetof(struct wsmon_rec_peak, tau_us) },
	FIELD(wsmon_rec_peak, U64, bytes),
	FIELD(wsmon_rec_peak, U64, low),
	FIELD(wsmon_rec_peak, U64, high),
	FIELD(wsmon_rec_peak, U64, height),
	FIELD(wsmon_rec_peak, U64, baseline),
	FIELD(wsmon_rec_peak, U64, threshold),
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
	FIELD(wsmon_rec_stats, U64, hold_p99_ns),
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
	FIELD(wsmon_rec_proc, U64, pss),
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

static const struct field mapping_fields[] = {
	FIELD(wsmon_rec_mapping, U32, pid),
	FIELD(wsmon_rec_mapping, U32, prot),
	FIELD(wsmon_rec_mapping, ADDR, start),
	FIELD(wsmon_rec_mapping, ADDR, end),
	FIELD(wsmon_rec_mapping, U64, offset),
	FIELD(wsmon_rec_mapping, U64, inode),
	FIELD(wsmon_rec_mapping, BUILD_ID, build_id),
	FIELD(wsmon_rec_mapping, U32, tid),
	FIELD(wsmon_rec_mapping, TEXT, path),
	{ 0 }
};

const struct field raw_stack_fields[] = {
	FIELD(wsmon_rec_stack, U32, pid),
	FIELD(wsmon_rec_stack, U32, tid),
	FIELD(wsmon_rec_stack, U32, reason),
	FIELD(wsmon_rec_stack, U32, number),
	FIELD(wsmon_rec_stack, U64, stopped_ns),
	FIELD(wsmon_rec_stack, U32, flags),
	FIELD(wsmon_rec_stack, U32, error),
	FIELD(wsmon_rec_stack, U32, nr),
	FIELD(wsmon_rec_stack, U32, threads),
	FIELD(wsmon_rec_stack, TEXT, comm),
	{ 0 }
};

static const struct field mark_fields[] = {
	FIELD(wsmon_rec_mark, U32, number),
	FIELD(wsmon_rec_mark, TEXT, text),
	{ 0 }
};

static const struct field * const record_fields[] = {
	[WSMON_REC_ATTRS]	= attrs_fields,
	[WSMON_REC_TARGET]	= target_fields,
	[WSMON_REC_AREA]	= raw_area_fields,
	[WSMON_REC_SNAPSHOT]	= raw_snapshot_fields,
	[WSMON_REC_WSS]		= wss_fields,
	[WSMON_REC_PEAK]	= peak_fields,
	[WSMON_REC_STACK]	= raw_stack_fields,
	[WSMON_REC_MARK]	= mark_fields,
	[WSMON_REC_EXIT]	= exit_fields,
	[WSMON_REC_LOST]	= lost_fields,
	[WSMON_REC_STATS]	= stats_fields,
	[WSMON_REC_END]		= end_fields,
	[WSMON_REC_PROC]	= proc_fields,
	[WSMON_REC_ACT]		= act_fields,
	[WSMON_REC_MAPPING]	= mapping_fields,
};

const struct field *raw_fields(__u32 type)
{
	static const struct field none[] = { { 0 } };

	if (type < ARRAY_SIZE(record_fields) && record_fields[type])
		return record_fields[type];
	return none;
}
