/* SPDX-License-Identifier: GPL-2.0 */
/* act.h - a run of "wsmo act" */
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
 * struct act_target - a target and the evidence about its memory
 * @process:	the process
 * @gone:	the process has ended, or is left alone
 * @refused:	the process has a secondary MMU, or another wsmo act acts on it
 * @evidence:	results of the samples of its memory
 * @taken:	memory that rules paged out
 * @region:	the snapshot being received: @nr of @total regions. Their @area is 1 if the area has
 *		gaps, else 0
 * @snapshot_ns: time of this snapshot
 * @gaps:	by index of the area, @nr_areas of them: the area has gaps
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
 * @record:	the monitoring; the first member, so that hooks can convert its address to struct
 *		act
 * @cgroup:	act on processes of this cgroup; or NULL
 * @left_out:	number of processes of the cgroup that are too small to be targets
 * @scanned_ns:	when the processes of the cgroup were listed
 * @scan_cpu_ns: CPU time of this listing
 * @cpu_ns:	CPU time of earlier sessions
 * @scheme:	the rules
 * @limits:	budgets, pauses and goals
 * @classes:	classes of memory that may be acted on: bit n is class n
 * @dry_run:	do nothing, print the actions that rules would take
 * @log:	print each action
 * @show:	only print the rules
 * @force:	also act on targets with a secondary MMU
 * @refused:	a target with a secondary MMU was left alone
 * @format:	format of the output
 * @target:	@nr_targets targets
 * @match:	stretches of memory to act on
 * @stat:	each rule's ACT record, without the text
 * @refaulted:	bytes that each rule paged out and that came back
 * @refaulted_before: sum of @refaulted at the last tick
 * @no_swap:	swap is full
 * @swap_said:	cgroup without swap left that the last message named; malloc()ed
 * @missed:	number of missed samples in the last STATS record
 * @behind:	records of the stream are late: do nothing until they are recent again
 * @times_behind: how often @behind was set
 * @behind_said_ns: time of the last message about @behind; 0: none yet
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

/* Classes whose memory is reclaimed to swap */
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

/** act_print() - print the totals of each rule */
void act_print(const struct act *a);

#endif /* WSMO_ACT_H */
