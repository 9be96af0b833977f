/* SPDX-License-Identifier: GPL-2.0 */
/*
 * act.h - a run of "wsmo act"
 */
#ifndef WSMO_ACT_H
#define WSMO_ACT_H

#include "act_limits.h"
#include "act_match.h"
#include "act_scheme.h"
#include "act_target.h"
#include "core/table.h"
#include "libwsmon/wsmon_records.h"
#include "live/record.h"

/**
 * struct act_target - a target and the evidence about it
 * @process:	the process
 * @gone:	it has ended, or is left alone
 * @refused:	it has a secondary MMU, or another wsmo act acts on it
 * @evidence:	about its memory
 * @taken:	its memory that rules paged out
 * @region:	the snapshot being received, @nr of @total regions; @area is 1 if the area has gaps
 * @snapshot_ns: its time
 * @gaps:	of @nr_areas areas: does it have gaps?
 */
struct act_target {
	struct act_process process;
	bool gone;
	bool refused;
	struct evidence evidence;
	struct taken taken;
	struct wsmon_region_entry *region;
	__u32 nr, total, room;
	__u64 snapshot_ns;
	bool *gaps;
	size_t nr_areas;
};

/**
 * struct act - one run of "wsmo act"
 * @record:	the monitoring; first, so that its hooks find the rest
 * @cgroup:	act on processes of this cgroup; or NULL
 * @left_out:	number of its processes beyond the largest ones
 * @scanned_ns:	when its processes were listed
 * @scan_cpu_ns: CPU time that took
 * @cpu_ns:	CPU time of the sessions before this one
 * @scheme:	the rules
 * @limits:	budgets, pauses and goals
 * @classes:	classes of memory that may be acted on, a bit each
 * @dry_run:	do nothing, print what would be done
 * @log:	print each action
 * @show:	print the rules only
 * @force:	also act on targets with a secondary MMU
 * @refused:	a target with a secondary MMU was left alone
 * @format:	of the output
 * @target:	@nr_targets of them
 * @match:	the stretches of memory to act on
 * @stat:	each rule's ACT record, without the text
 * @refaulted:	bytes that each rule paged out and that came back
 * @refaulted_before: their sum at the last tick
 * @no_swap:	swap is full
 * @swap_said:	the last cgroup that a message said has no swap left; malloc()ed
 * @missed:	missed samples, as of the last STATS
 * @behind:	the stream's records are old: do nothing until they are recent again
 * @times_behind: how often that began
 * @behind_said_ns: when a message said so, 0 if none did
 * @spoilt:	DAMON clears the same Accessed bits: do nothing
 * @final:	the last ACT records are written
 * @table:	the log
 */
struct act {
	struct record record;
	char *cgroup;
	size_t left_out;
	__u64 scanned_ns;
	__u64 scan_cpu_ns;
	__u64 cpu_ns;
	struct act_scheme scheme;
	struct act_limits limits;
	__u32 classes;
	bool dry_run;
	bool log;
	bool show;
	bool force;
	bool refused;
	enum table_format format;
	struct act_target *target;
	size_t nr_targets;
	struct match match;
	struct wsmon_rec_act stat[ACT_RULES];
	__u64 refaulted[ACT_RULES];
	__u64 refaulted_before;
	bool no_swap;
	char *swap_said;
	__u64 missed;
	bool behind;
	__u64 times_behind;
	__u64 behind_said_ns;
	bool spoilt;
	bool final;
	struct table *table;
};

/* Classes that are reclaimed to swap */
#define ACT_SWAPPED_CLASSES					\
	(1U << WSMON_CLASS_HEAP | 1U << WSMON_CLASS_STACK |	\
	 1U << WSMON_CLASS_ANON | 1U << WSMON_CLASS_DATA |	\
	 1U << WSMON_CLASS_SHMEM)

/**
 * act_apply() - apply the rules to a target
 * @t:	a target with current evidence
 */
void act_apply(struct act *a, struct act_target *t);

/** act_write() - append an ACT record for each rule to the file */
void act_write(struct act *a);

/** act_print() - print what each rule did */
void act_print(const struct act *a);

#endif /* WSMO_ACT_H */
