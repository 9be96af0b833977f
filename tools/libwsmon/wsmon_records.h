/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * wsmon_records.h - the records that only wsmo writes ("wsmo record", "wsmo act")
 *
 * wsmon.h has the list of all types, the conventions for fields, and the records that the
 * module writes.
 */
#ifndef WSMON_RECORDS_H
#define WSMON_RECORDS_H

#include "wsmon.h"

/* struct wsmon_rec_stack.reason */
#define WSMON_STACK_PEAK	0	/* a peak began, with this @number */
#define WSMON_STACK_MARK	1	/* the user set a mark, with this @number */
#define WSMON_STACK_ALLOC	2	/* calls of the ALLOC records that have @stack @number */

/* Maximum number of frames of a stack */
#define WSMON_STACK_FRAMES	256

/* struct wsmon_rec_stack.flags */
#define WSMON_STACK_CUT		0x1	/* outer frames are missing: too many, or not unwound */

/* WSMON_REC_STACK: a thread's call stack */
struct wsmon_rec_stack {
	struct wsmon_record rec;
	__u32 pid;		/* the target; its MAPPING records name the files at @pc */
	__u32 tid;		/* the thread, in the pid namespace of @pid */
	__u32 reason;		/* WSMON_STACK_* */
	__u32 number;		/* number of the peak or mark; with _ALLOC, of this stack */
	__u64 stopped_ns;	/* how long the thread was stopped */
	__u32 flags;		/* WSMON_STACK_CUT */
	__u32 error;		/* errno if the stack could not be read, and @nr is 0; else 0 */
	__u32 nr;		/* number of frames */
	/* number of the target's threads at @rec.time_ns; some may have no record */
	__u32 threads;
	char comm[WSMON_COMM_LEN]; /* name of the thread */
	/*
	 * frames, innermost first. The innermost frame and signal frames have the address of
	 * the next instruction; the other frames, and all with WSMON_STACK_ALLOC, have their
	 * return address minus 1, which lies in the call instruction.
	 */
	__u64 pc[];
};

/* Maximum bytes of a build ID */
#define WSMON_BUILD_ID		32

/*
 * WSMON_REC_MAPPING: a line of /proc/PID/maps. It replaces earlier mappings of the target in
 * its range. A TARGET record, unless its reason is WSMON_TARGET_AGAIN, removes all mappings of
 * the target.
 */
struct wsmon_rec_mapping {
	struct wsmon_record rec;
	__u32 pid;
	__u32 prot;		/* flags: PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4, shared 8 */
	__u64 start;
	__u64 end;
	__u64 offset;		/* offset of @start in the file */
	__u64 inode;		/* inode of the file; 0 without a file */
	__u8 build_id[WSMON_BUILD_ID]; /* build ID of the ELF file */
	__u32 build_id_len;	/* valid bytes of @build_id; 0: no ELF file, or no build ID */
	__u32 tid;		/* thread that has its stack here; 0: none, or unknown */
	char path[];		/* as in /proc/PID/maps, without octal escapes */
};

/* WSMON_REC_PROC: sizes of a process from /proc/PID, about once a second */
struct wsmon_rec_proc {
	struct wsmon_record rec;
	__u32 pid;
	__u32 reserved;
	/* resident bytes: VmRSS plus hugetlbfs pages, minus an estimate of KSM's savings */
	__u64 rss;
	__u64 swap;		/* bytes swapped out (VmSwap) */
	__u64 vsize;		/* mapped bytes (VmSize) */
	/*
	 * proportional set size in bytes (Pss of smaps_rollup): each page is divided by the
	 * number of processes that map it. Read less often, because it costs more; 0: not read
	 */
	__u64 pss;
};

/* struct wsmon_rec_act.action: enum wsmon_action */
#define WSMON_ACTIONS(X)								\
	X(STAT, "stat")			/* count only */				\
	X(PAGEOUT, "pageout")		/* reclaim now: write to swap, or drop */	\
	X(COLD, "cold")			/* let the kernel reclaim these pages first */	\
	X(WILLNEED, "willneed")		/* read from swap ahead of use */		\
	X(HUGEPAGE, "hugepage")		/* collapse into huge pages */			\
	X(NOHUGEPAGE, "nohugepage")	/* split huge pages */

#define WSMON_ACT_ENUM(id, name)	WSMON_ACT_##id,
enum wsmon_action { WSMON_ACTIONS(WSMON_ACT_ENUM) WSMON_NR_ACTIONS };

/* struct wsmon_rec_act.flags */
#define WSMON_ACT_DRY_RUN	0x1	/* the rule only counts, as with --dry-run */
#define WSMON_ACT_PAUSED	0x2	/* reclaim was paused at that moment */

/* Entries of @error and @failed */
#define WSMON_ACT_ERRORS	6

/*
 * WSMON_REC_ACT: totals of a rule of "wsmo act" since it began. About once a second, each rule
 * of the scheme has a record.
 */
struct wsmon_rec_act {
	struct wsmon_record rec;
	__u32 rule;		/* number of the rule, 0 to @nr_rules - 1 */
	__u32 nr_rules;		/* rules of the scheme */
	__u32 action;		/* enum wsmon_action */
	__u32 flags;		/* WSMON_ACT_* */
	__u64 tried;		/* ranges of memory that the rule was applied to */
	__u64 applied;		/* ranges of @tried in which the rule had an effect */
	__u64 tried_bytes;	/* memory that the action could have an effect on */
	__u64 applied_bytes;	/* memory that the action had an effect on */
	__u64 refaulted_bytes;	/* memory of @applied_bytes that was paged out and came back */
	/* memory left alone: other classes, locked, no swap, or it came back after a pageout */
	__u64 skipped_bytes;
	__u64 gone_bytes;	/* memory unmapped before the action */
	__u64 shadowed_bytes;	/* memory that fits the rule, but belongs to an earlier rule */
	__u64 cpu_ns;		/* CPU time that the rule took */
	/*
	 * errno values of failed actions, each once; 0 after the last one. With all entries in
	 * use, the last entry is the latest of all further errors.
	 */
	__u32 error[WSMON_ACT_ERRORS];
	__u32 failed[WSMON_ACT_ERRORS]; /* number of failures for each entry of @error */
	char text[];		/* the rule */
};

/* struct wsmon_rec_alloc.kind */
#define WSMON_ALLOC_START	0	/* a program began: earlier allocations are gone */
#define WSMON_ALLOC_MALLOC	1	/* malloc() or a function of its family allocated */
#define WSMON_ALLOC_FREE	2	/* a sampled allocation was freed or reallocated */
#define WSMON_ALLOC_MMAP	3	/* anonymous memory was mapped */
#define WSMON_ALLOC_MUNMAP	4	/* a range was unmapped or mapped anew */
#define WSMON_ALLOC_LOST	5	/* events were lost */

/*
 * WSMON_REC_ALLOC: a sampled allocation of a target, its release, or another event: see @kind. An
 * allocation is sampled with probability 1 - exp(-size / rate), independently of all others.
 */
struct wsmon_rec_alloc {
	struct wsmon_record rec;
	__u32 pid;
	__u32 kind;		/* WSMON_ALLOC_* */
	__u32 stack;		/* MALLOC, MMAP: @number of an earlier STACK record */
	__u32 reserved;
	__u64 addr;		/* start of the memory that was allocated or freed */
	/* size of the memory; FREE: 0; START: the sampling rate; LOST: the number of events */
	__u64 bytes;
};

/* struct wsmon_rec_refault.kind */
#define WSMON_REFAULT_SWAP	0	/* a page of anonymous memory, read from swap */
#define WSMON_REFAULT_FILE	1	/* a page of a file */

/*
 * WSMON_REC_REFAULT: the time of a refault. The recorder measured it before monitoring began, in a
 * separate process that accessed more memory than the limit of its cgroup.
 *
 * The time of a refault is the time of all accesses since the end of the previous refault. So it
 * includes the time to make room for the page.
 */
struct wsmon_rec_refault {
	struct wsmon_record rec;
	__u32 kind;		/* WSMON_REFAULT_* */
	__u32 refaults;		/* number of refaults measured; 0: none, see @text */
	__u64 median_ns;	/* median of their times */
	__u64 mean_ns;		/* mean of their times */
	__u64 half_ns;		/* half-width of the 95 % confidence interval of the mean */
	/*
	 * FILE: share of the cgroup's file pages that were not mapped: faults had read them
	 * around the accessed pages. WSMON_SHARE_ONE is all
	 */
	__u64 unmapped;
	char text[];		/* the device; if no refaults were measured, the reason */
};

/* WSMON_REC_PACKED: a compressed SNAPSHOT record */
struct wsmon_rec_packed {
	struct wsmon_record rec;
	__u32 pid;
	__u32 bytes;		/* bytes of @data, without zeroes that pad it to a multiple of 8 */
	/*
	 * a zstd frame that contains the SNAPSHOT record, at most WSMON_RECORD_MAX bytes, with
	 * the bytes of its regions transposed; see Documentation/reference/abi.rst
	 */
	__u8 data[];
};

/*
 * A run: a part of a file that has only SNAPSHOT, PACKED, WSS, GROUP, TOTAL, PROC and STATS
 * records. A reader that needs none of these times may skip the run, because
 * these records change no state.
 */
struct wsmon_index_run {
	__u64 offset;		/* offset of the run's first byte in the recording */
	__u64 bytes;		/* size of the run */
	__u64 from_ns;		/* earliest time of its records */
	__u64 to_ns;		/* latest time of its records */
};

/* Maximum number of runs in an INDEX record */
#define WSMON_INDEX_RUNS	128

/*
 * WSMON_REC_INDEX: the runs of a file. Read the index from the end of the file: the last record
 * is an INDEX record without runs, whose @before leads to the others. A file that was cut off
 * has no such record, and so no index. A reader must read the parts between runs in any case.
 */
struct wsmon_rec_index {
	struct wsmon_record rec;
	__u64 before;		/* offset of the INDEX record before this one; 0: none */
	__u32 nr;		/* runs in this record, at most WSMON_INDEX_RUNS */
	__u32 reserved;
	/* @nr struct wsmon_index_run follow, in ascending order, after the runs of @before */
};

#endif /* WSMON_RECORDS_H */
