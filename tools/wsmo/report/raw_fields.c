// SPDX-License-Identifier: GPL-2.0
/*
 * raw_fields.c - the fields of records, for "wsmo report raw"
 */
#include "cli/cli.h"
#include "libwsmon/wsmon_records.h"
#include "raw_fields.h"

/* A field of struct RECORD, which is defined before each table */
#define AS(kind, member)	{ #member, kind, offsetof(struct RECORD, member) }
#define N32(member)	AS(U32, member)
#define N64(member)	AS(U64, member)
#define NTH(member, n)	{ #member #n, U64, offsetof(struct RECORD, member[n]) }
#define ACT_ERROR(n) \
	{ "error" #n, U32, offsetof(struct RECORD, error[n]) }, \
	{ "failed" #n, U32, offsetof(struct RECORD, failed[n]) }

#define RECORD wsmon_file_header
const struct field raw_header_fields[] = {
	N32(version), N32(header_size), N32(page_size), N32(clock_id), N64(mono_ns),
	N64(real_ns), { 0 }
};

#undef RECORD
#define RECORD wsmon_attrs
const struct field raw_attrs_fields[] = {
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
const struct field raw_area_fields[] = {
	N32(pid), AS(CLASS, class), N32(index), N32(total), AS(ADDR, start),
	AS(ADDR, end), N64(mapped), { 0 }
};

#undef RECORD
#define RECORD wsmon_rec_snapshot
const struct field raw_snapshot_fields[] = {
	N32(pid), N32(nr), N32(first), N32(total), N64(interval_ns), N32(rounds),
	N32(budget), { 0 }
};

#undef RECORD
#define RECORD wsmon_region_entry
const struct field raw_region_fields[] = {
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
const struct field raw_stack_fields[] = {
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
	[WSMON_REC_ATTRS]	= raw_attrs_fields,
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
	[WSMON_REC_GROUP]	= group_fields,
	[WSMON_REC_TOTAL]	= total_fields,
	[WSMON_REC_WHO]		= who_fields,
	[WSMON_REC_ALLOC]	= alloc_fields,
	[WSMON_REC_REFAULT]	= refault_fields,
};

const struct field *raw_fields(__u32 type)
{
	static const struct field none[] = { { 0 } };

	if (type < ARRAY_SIZE(record_fields) && record_fields[type])
		return record_fields[type];
	return none;
}
