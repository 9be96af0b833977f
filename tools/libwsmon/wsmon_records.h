/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * wsmon_records.h - the records that "wsmo record" and "wsmo act" add to those of the module
 *
 * Their types are in enum wsmon_record_type of wsmon.h, which describes all others.
 */
#ifndef WSMON_RECORDS_H
#define WSMON_RECORDS_H

#include "wsmon.h"

/* struct wsmon_rec_stack.reason */
#define WSMON_STACK_PEAK	0	/* peak @number began */
#define WSMON_STACK_MARK	1	/* mark @number was set */
#define WSMON_STACK_ALLOC	2	/* ALLOC records with @stack @number allocated there */

/* Max. frames of a stack */
#define WSMON_STACK_FRAMES	256

/* struct wsmon_rec_stack.flags */
#define WSMON_STACK_CUT		0x1	/* more frames, or the rest could not be unwound */

/* WSMON_REC_STACK: a thread's call stack */
struct wsmon_rec_stack {
	struct wsmon_record rec;
	__u32 pid;		/* the target; its MAPPING records say what is at the addresses */
	__u32 tid;		/* the thread, in the same pid namespace */
	__u32 reason;		/* WSMON_STACK_* */
	__u32 number;		/* number of the peak or mark, or of the stack itself */
	__u64 stopped_ns;	/* how long the thread was stopped */
	__u32 flags;		/* WSMON_STACK_CUT */
	__u32 error;		/* errno if it could not be taken; there are no frames then */
	__u32 nr;		/* frames */
	/* threads of the target at that moment; there may be records for fewer of them */
	__u32 threads;
	char comm[WSMON_COMM_LEN]; /* name of the thread */
	/*
	 * innermost first: of the first frame (and of signal frames) the next instruction, of
	 * the others, and with WSMON_STACK_ALLOC of all, the return address less one
	 */
	__u64 pc[];
};

/* Max. bytes of a build ID */
#define WSMON_BUILD_ID		32

/*
 * WSMON_REC_MAPPING: a line of /proc/PID/maps. A new one replaces older ones in its range. A
 * TARGET record other than WSMON_TARGET_AGAIN voids all of the target.
 */
struct wsmon_rec_mapping {
	struct wsmon_record rec;
	__u32 pid;
	__u32 prot;		/* PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4; 8 if it is shared */
	__u64 start;
	__u64 end;
	__u64 offset;		/* in the file */
	__u64 inode;		/* of the file, 0 if it has none */
	__u8 build_id[WSMON_BUILD_ID]; /* of the ELF file */
	__u32 build_id_len;	/* bytes of it that are valid; 0 if it has none, or is none */
	__u32 tid;		/* the thread whose stack it is, 0 if it is none */
	char path[];		/* as in /proc/PID/maps, without octal escapes */
};

/* WSMON_REC_PROC: from /proc/PID, about once a second */
struct wsmon_rec_proc {
	struct wsmon_record rec;
	__u32 pid;
	__u32 reserved;
	/* resident bytes (VmRSS), with hugetlbfs, and of pages that KSM merged each one */
	__u64 rss;
	__u64 swap;		/* bytes swapped out (VmSwap) */
	__u64 vsize;		/* mapped bytes (VmSize) */
	/*
	 * proportional share (Pss of smaps_rollup): each page is divided by the number of
	 * processes that map it. Read less often, as it costs more; 0 if not read
	 */
	__u64 pss;
};

/* struct wsmon_rec_act.action: enum wsmon_action */
#define WSMON_ACTIONS(X)								\
	X(STAT, "stat")			/* count only */				\
	X(PAGEOUT, "pageout")		/* reclaim now: write to swap, or drop */	\
	X(COLD, "cold")			/* reclaim first when memory gets short */	\
	X(WILLNEED, "willneed")		/* read from swap before it is used */		\
	X(HUGEPAGE, "hugepage")		/* put into huge pages */			\
	X(NOHUGEPAGE, "nohugepage")	/* split huge pages */

#define WSMON_ACT_ENUM(id, name)	WSMON_ACT_##id,
enum wsmon_action { WSMON_ACTIONS(WSMON_ACT_ENUM) WSMON_NR_ACTIONS };

/* struct wsmon_rec_act.flags */
#define WSMON_ACT_DRY_RUN	0x1	/* nothing was done */
#define WSMON_ACT_PAUSED	0x2	/* reclaim was pausing at that moment */

/* Number of different errors that are counted */
#define WSMON_ACT_ERRORS	6

/* WSMON_REC_ACT: what a rule of "wsmo act" did since it began */
struct wsmon_rec_act {
	struct wsmon_record rec;
	/* number of the rule, 0 to @nr_rules - 1; about once a second, one for each */
	__u32 rule;
	__u32 nr_rules;		/* rules of the scheme */
	__u32 action;		/* enum wsmon_action */
	__u32 flags;		/* WSMON_ACT_* */
	__u64 tried;		/* ranges of memory it was applied to */
	__u64 applied;		/* those of @tried where it had an effect */
	__u64 tried_bytes;	/* memory it could have an effect on */
	__u64 applied_bytes;	/* memory it had an effect on */
	__u64 refaulted_bytes;	/* memory of @applied_bytes that was paged out and came back */
	/* memory left alone: of other classes, locked, without swap, or it came back before */
	__u64 skipped_bytes;
	__u64 gone_bytes;	/* memory unmapped before the action */
	__u64 shadowed_bytes;	/* memory that fits the rule, but which an earlier rule takes */
	__u64 cpu_ns;		/* CPU time it took */
	/*
	 * errno values of failed actions; 0 after the last one. If all are used, the last one
	 * stands for all further ones
	 */
	__u32 error[WSMON_ACT_ERRORS];
	__u32 failed[WSMON_ACT_ERRORS]; /* number of failures with each */
	char text[];		/* the rule */
};

/* struct wsmon_rec_alloc.kind */
#define WSMON_ALLOC_START	0	/* of a program: none before is its */
#define WSMON_ALLOC_MALLOC	1	/* malloc() and its family allocated */
#define WSMON_ALLOC_FREE	2	/* a sampled one was freed, or reallocated */
#define WSMON_ALLOC_MMAP	3	/* anonymous memory was mapped */
#define WSMON_ALLOC_MUNMAP	4	/* a range was unmapped, or mapped anew */
#define WSMON_ALLOC_LOST	5	/* events were lost */

/*
 * WSMON_REC_ALLOC: a sample of the allocations of a target, and what became of them. An
 * allocation is sampled with probability 1 - exp(-size / rate), independently of all others.
 */
struct wsmon_rec_alloc {
	struct wsmon_record rec;
	__u32 pid;
	__u32 kind;		/* WSMON_ALLOC_* */
	__u32 stack;		/* MALLOC, MMAP: number of the STACK record, which is before */
	__u32 reserved;
	__u64 addr;		/* what was allocated, or freed */
	/* in bytes, 0 with FREE; with START the rate; with LOST the number of events */
	__u64 bytes;
};

/* struct wsmon_rec_refault.kind */
#define WSMON_REFAULT_SWAP	0	/* anonymous memory, from swap */
#define WSMON_REFAULT_FILE	1	/* a page of a file */

/*
 * WSMON_REC_REFAULT: what the recorder measured before monitoring began, of more memory of its
 * own than a cgroup had room for
 */
struct wsmon_rec_refault {
	struct wsmon_record rec;
	__u32 kind;		/* WSMON_REFAULT_* */
	__u32 refaults;		/* how many were measured; 0: @text says why not */
	/* of all accesses since the refault before, to the end of its fault */
	__u64 median_ns;
	__u64 mean_ns;		/* so what makes room for what is read is in it */
	__u64 half_ns;		/* half of the 95 % interval of the mean */
	/*
	 * FILE: the share of the cgroup's file pages that were not mapped: faults read them around
	 * the pages that were accessed. 1 is WSMON_SHARE_ONE
	 */
	__u64 unmapped;
	char text[];		/* the device */
};

/* WSMON_REC_PACKED: one SNAPSHOT record, packed */
struct wsmon_rec_packed {
	struct wsmon_record rec;
	__u32 pid;
	__u32 bytes;		/* bytes of @data; zeroes follow to a multiple of 8 */
	/*
	 * a zstd frame. It contains the SNAPSHOT record, at most WSMON_RECORD_MAX bytes, with
	 * the bytes of its regions transposed; see Documentation/reference/abi.rst
	 */
	__u8 data[];
};

/*
 * A part of a file that has only records of what was observed: SNAPSHOT, PACKED, WSS, GROUP,
 * TOTAL, PROC and STATS. Who does not want the time can leave it out.
 */
struct wsmon_index_run {
	__u64 offset;		/* of its first byte in the file */
	__u64 bytes;
	__u64 from_ns;		/* the earliest time of its records */
	__u64 to_ns;		/* the latest */
};

/* Max. runs of an INDEX record */
#define WSMON_INDEX_RUNS	128

/*
 * WSMON_REC_INDEX: to be read from the end of the file: its last record is one without runs. A
 * file that was cut off has none there. Parts between runs are to be read in any case.
 */
struct wsmon_rec_index {
	struct wsmon_record rec;
	__u64 before;		/* offset of the INDEX record before this one, 0 if there is none */
	__u32 nr;		/* runs in this record, at most WSMON_INDEX_RUNS */
	__u32 reserved;
	/* these runs follow, as struct wsmon_index_run, ascending, after those of @before */
};

#endif /* WSMON_RECORDS_H */
