/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * wsmon.h - the binary interface of wsmon
 *
 * The stream read from debugfs wsmon/buffer, and the file written by "wsmo record", are a
 * struct wsmon_file_header followed by records. All fields are little-endian and aligned;
 * the size of a structure is a multiple of 8 bytes. A reader skips header_size bytes, then
 * goes from record to record by their size. It skips types it does not know, and ignores
 * bytes of a record or the header after the fields it knows. A header or record of an older
 * writer may end before fields added since: these are 0.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, or what the end of a name says: _us, _ms.
 * Addresses and sizes are bytes, end addresses exclusive. Texts are NUL-terminated, and those
 * at the end of a record NUL-padded. Reserved fields are 0. "pid" is a target's process id
 * (thread group id) in the pid namespace that started the session, 0 if it is not visible
 * there.
 *
 * Names stand in lists: LIST(X) expands to X(ID, "name") for each.
 */
#ifndef _UAPI_WSMON_H
#define _UAPI_WSMON_H

#include <linux/types.h>

#define WSMON_MAGIC		"WSMON\r\n\x1a"	/* 8 bytes, no terminating NUL */
#define WSMON_VERSION		2
#define WSMON_CLOCK_MONOTONIC	1
#define WSMON_COMM_LEN		16

/* No record is larger than this; a larger size field means a broken file. */
#define WSMON_RECORD_MAX	65536

/* Shares are fixed point: this is 1.0, so that a half is exact. */
#define WSMON_SHARE_ONE		32768

/* What kind of mapping a region belongs to: enum wsmon_class */
#define WSMON_CLASSES(X)								\
	X(ALL, "all")		/* in WSS records only: the whole target */		\
	X(TEXT, "text")		/* executable mappings (VM_EXEC) */			\
	X(DATA, "data")		/* private writable mappings of a file (.data, .bss) */	\
	X(HEAP, "heap")		/* the brk heap */					\
	X(STACK, "stack")	/* the main thread's stack */				\
	X(ANON, "anon")		/* other private anonymous memory */			\
	X(FILE, "file")		/* other mappings of files */				\
	X(SHMEM, "shmem")	/* tmpfs, memfd, SysV and shared anonymous memory */	\
	X(HUGETLB, "hugetlb")	/* hugetlbfs mappings */				\
	X(MIXED, "mixed")	/* several of different classes, coalesced because the	\
				 * target has too many for max_regions			\
				 */

#define WSMON_CLASS_ENUM(id, name)	WSMON_CLASS_##id,
enum wsmon_class { WSMON_CLASSES(WSMON_CLASS_ENUM) WSMON_NR_CLASSES };

/*
 * Types of records, numbered from 1: enum wsmon_record_type. "wsmo": added by wsmo, in
 * tools/libwsmon/wsmon_records.h
 */
#define WSMON_RECORDS(X)								\
	X(ATTRS, "attrs")	/* attributes in force from now on */			\
	X(TARGET, "target")	/* a target: at the start, after it executed a program,	\
				 * and again when a reader attaches or			\
				 * WSMON_TARGET_SECONDARY_MMU is set			\
				 */							\
	X(AREA, "area")		/* a mapping, or several coalesced. When mappings change	\
				 * the whole new set is sent, numbered 0 to total - 1	\
				 */							\
	X(SNAPSHOT, "snapshot")	/* the regions, each aggregation interval; several	\
				 * records if they do not fit into one			\
				 */							\
	X(WSS, "wss")		/* a working set size, each aggregation interval */	\
	X(PEAK, "peak")		/* an edge of a peak of the working set */		\
	X(STACK, "stack")	/* wsmo: a thread's call stack */			\
	X(MARK, "mark")		/* a moment the user marked */			\
	X(EXIT, "exit")		/* a target is gone */					\
	X(LOST, "lost")		/* records that did not fit */				\
	X(STATS, "stats")	/* counters, the monitor's own cost */			\
	X(END, "end")		/* monitoring ended, nothing follows */			\
	X(PROC, "proc")		/* wsmo: RSS, swap and others */			\
	X(PACKED, "packed")	/* wsmo: a SNAPSHOT, compressed */			\
	X(ACT, "act")		/* wsmo: what a rule of "wsmo act" did */		\
	X(MAPPING, "mapping")	/* wsmo: a line of /proc/PID/maps; new ones when they	\
				 * changed						\
				 */							\
	X(GROUP, "group")	/* the members of the session, each aggregation		\
				 * interval while there are several			\
				 */							\
	X(TOTAL, "total")	/* a working set size of all members together, after	\
				 * each GROUP						\
				 */							\
	X(INDEX, "index")	/* wsmo: which parts of the file are of which time; the	\
				 * last one ends the file				\
				 */							\
	X(WHO, "who")		/* with who_rate: a thread touched a page */						\
	X(ALLOC, "alloc")	/* wsmo: a sampled allocation, or its end */		\
	X(REFAULT, "refault")	/* wsmo: how long a refault took on this machine */

#define WSMON_REC_ENUM(id, name)	WSMON_REC_##id,
enum wsmon_record_type {
	WSMON_REC_NONE,
	WSMON_RECORDS(WSMON_REC_ENUM)
	WSMON_NR_RECORDS
};

/* The beginning of every record */
struct wsmon_record {
	__u32 type;		/* enum wsmon_record_type */
	/*
	 * bytes of the whole record, this header included: a multiple of 8 from 16 to
	 * WSMON_RECORD_MAX
	 */
	__u32 size;
	__u64 time_ns;		/* when it was made */
};

/* struct wsmon_attrs.flags */
#define WSMON_ATTR_FLUSH_TLB	0x1

/* struct wsmon_attrs.peak_detector: see Documentation/internals/design.rst */
#define WSMON_PEAK_DETECTORS(X)								\
	X(OFF, "off")		/* no PEAK records */					\
	X(SIGMA, "sigma")	/* standard deviations from the mean */			\
	X(FANO, "fano")		/* as valgrind-ws does it */

#define WSMON_PEAK_ENUM(id, name)	WSMON_PEAK_##id,
enum { WSMON_PEAK_DETECTORS(WSMON_PEAK_ENUM) WSMON_NR_PEAK_DETECTORS };

/* Max. number of windows */
#define WSMON_WINDOWS_MAX	8

/* The monitoring attributes, as in debugfs wsmon/attrs */
struct wsmon_attrs {
	__u64 sample_us;	/* sampling interval */
	__u64 aggr_us;		/* aggregation interval: one snapshot and WSS each */
	__u64 update_us;	/* update interval: mappings are read again */
	__u64 seed;		/* seed of the sample positions */
	__u32 min_regions;	/* min. regions of a target, if it has the pages */
	__u32 max_regions;	/* max. regions of all targets together */
	__u32 flags;		/* WSMON_ATTR_* */
	__u32 nr_windows;	/* number of windows of the working set size */
	__u64 windows_us[WSMON_WINDOWS_MAX]; /* the windows, ascending; the rest is 0 */
	/* CPU time the kernel thread may use, in 1/1000 of one CPU; 1000 is no limit */
	__u32 cpu_permille;
	__u32 peak_detector;	/* WSMON_PEAK_OFF, _SIGMA or _FANO */
	__u32 peak_window;	/* number of intervals of the moving mean */
	__u32 peak_gain;	/* gain of the threshold, in 1/1000 */
	__u32 peak_adapt;	/* weight in the mean of estimates within a peak, in 1/1000 */
	__u32 follow;		/* 1: children of members become members, see @members; or 0 */
	/*
	 * max. pages a second that are made to fault at their next access, to see who touches
	 * them: WHO records; 0: none
	 */
	__u32 who_rate;
	/* half-width wanted, in 1/1000 of the working set; 0: as narrow as can be */
	__u32 precision;
};

/* The beginning of a stream or file */
struct wsmon_file_header {
	__u8 magic[8];		/* WSMON_MAGIC */
	__u32 version;		/* WSMON_VERSION; a reader rejects any other */
	__u32 header_size;	/* bytes from the start of this structure to the first record */
	__u32 page_size;	/* bytes of a base page */
	__u32 clock_id;		/* WSMON_CLOCK_MONOTONIC */
	__u64 mono_ns;		/* when the stream was opened, on that clock */
	__u64 real_ns;		/* the same moment in nanoseconds since 1970 (CLOCK_REALTIME) */
	struct wsmon_attrs attrs; /* of the session so far; ATTRS records have later ones */
};

/* WSMON_REC_ATTRS */
struct wsmon_rec_attrs {
	struct wsmon_record rec;
	struct wsmon_attrs attrs;
};

/* struct wsmon_rec_target.flags & WSMON_TARGET_REASON: the reason for the record */
#define WSMON_TARGET_REASON	0xff
#define WSMON_TARGET_START	0	/* monitoring of it starts */
#define WSMON_TARGET_EXEC	1	/* it executed a program: a new address space */
#define WSMON_TARGET_AGAIN	2	/* a reader attached, or the next flag was set */
/*
 * Beside the reason: a virtual machine (KVM) or a device accesses the target's memory through
 * page tables of its own, and leaves no trace in the process's. Memory that only it accesses
 * is reported as idle. Once set the flag stays until the next EXEC.
 */
#define WSMON_TARGET_SECONDARY_MMU	0x100

/* WSMON_REC_TARGET */
struct wsmon_rec_target {
	struct wsmon_record rec;
	__u32 pid;
	__u32 flags;		/* WSMON_TARGET_* */
	char comm[WSMON_COMM_LEN]; /* name of its main thread */
};

/* WSMON_REC_AREA */
struct wsmon_rec_area {
	struct wsmon_record rec;
	__u32 pid;
	__u32 class;		/* enum wsmon_class */
	__u32 index;		/* number of this area, 0 to @total - 1, in address order */
	__u32 total;		/* areas in this set */
	__u64 start;
	__u64 end;
	__u64 mapped;		/* bytes mapped in it: less than @end - @start if it has gaps */
	/* empty in the kernel's stream: wsmo appends the name from /proc/PID/maps */
	char path[];
};

/*
 * struct wsmon_region_entry.samples. A region of several pages has two halves with a sample
 * page each. The upper half begins at the page, after the first one, whose number is a
 * multiple of the highest power of two. The position of a sample is in 64ths of its half,
 * rounded down. If neither VALID nor MISSED is set, all samples have been alike for long,
 * including those of this interval, or the region is one page.
 */
#define WSMON_SAMPLES_VALID		0x8000	/* positions and hits are valid */
#define WSMON_SAMPLES_MISSED		0x4000	/* not sampled: no other bit means anything */
#define WSMON_SAMPLES_UPPER_HIT		0x2000	/* found accessed */
#define WSMON_SAMPLES_LOWER_HIT		0x1000
#define WSMON_SAMPLES_UPPER_SHIFT	6	/* position in the upper half */
#define WSMON_SAMPLES_PLACES		64

/* A region of a snapshot */
struct wsmon_region_entry {
	__u64 start;
	__u64 end;
	/*
	 * share of its pages accessed within an aggregation interval, averaged over the last
	 * ones; WSMON_SHARE_ONE is all
	 */
	__u16 share;
	/* share of the interval's sampling rounds that found its samples accessed */
	__u16 freq;
	__u16 class;		/* enum wsmon_class */
	/* position of the samples, and whether they were accessed in this interval */
	__u16 samples;
	__u32 age_ms;		/* milliseconds since @share last changed much */
	__u32 area;		/* index of the area it belongs to */
};

/* WSMON_REC_SNAPSHOT */
struct wsmon_rec_snapshot {
	struct wsmon_record rec;
	__u32 pid;
	__u32 nr;		/* entries in this record */
	__u32 first;		/* number of the first of them in the whole snapshot */
	__u32 total;		/* regions of the whole snapshot */
	__u64 interval_ns;	/* length of the aggregation interval that ended at time_ns */
	/*
	 * sampling rounds in it: fewer than interval_ns / sample_us to keep within cpu_permille,
	 * or because the target slept
	 */
	__u32 rounds;
	__u32 budget;		/* max. regions of the target for now */
	struct wsmon_region_entry regions[]; /* in address order */
};

/* WSMON_REC_WSS */
struct wsmon_rec_wss {
	struct wsmon_record rec;
	__u32 pid;
	__u32 class;		/* enum wsmon_class */
	__u64 window_us;	/* the window */
	__u64 bytes;		/* estimate of the memory accessed within the window */
	__u64 low;		/* lower end of its 95 % confidence interval */
	__u64 high;
	__u64 mapped;		/* bytes mapped of this class */
};

/*
 * WSMON_REC_GROUP: members are the targets, and with attribute follow all their descendants; or
 * all processes of a cgroup.
 * Counts of processes in the aggregation interval that ended at time_ns. In files the path of
 * the cgroup follows the fields; wsmo appends it.
 */
struct wsmon_rec_group {
	struct wsmon_record rec;
	__u64 interval_ns;	/* length of the interval */
	__u32 members;		/* at its end */
	__u32 came;		/* became members in it */
	__u32 went;		/* ended in it, including those that also came in it */
	__u32 missed;		/* ended, and what they touched since the last interval is unknown */
	__u32 regions;		/* regions of the group */
	__u32 visits;		/* pages looked at: each sample in one or more members */
};

/*
 * WSMON_REC_TOTAL: a page that several members accessed counts once. Pages of files and of
 * shared memory are the same if file and offset are, anonymous pages if the page frame is.
 */
struct wsmon_rec_total {
	struct wsmon_record rec;
	__u32 class;		/* enum wsmon_class */
	__u32 reserved;
	__u64 window_us;	/* the window */
	__u64 bytes;		/* estimate of the memory accessed within the window */
	__u64 low;		/* lower end of its 95 % confidence interval */
	__u64 high;
	__u64 mapped;		/* bytes mapped of this class, shared ones once */
};

/* struct wsmon_rec_peak.group: which working set */
#define WSMON_PEAK_GROUP_LIST(X)							\
	X(ALL, "all")		/* of the whole target */				\
	X(TEXT, "text")		/* of its text */					\
	X(REST, "rest")		/* of everything but text */

enum { WSMON_PEAK_GROUP_LIST(WSMON_PEAK_ENUM) WSMON_PEAK_GROUPS };

/* struct wsmon_rec_peak.edge */
#define WSMON_PEAK_START	0
#define WSMON_PEAK_END		1

/*
 * WSMON_REC_PEAK: an edge of a peak. A peak is a period in which the working set size is
 * further from its moving mean than usual; see Documentation/internals/design.rst.
 */
struct wsmon_rec_peak {
	struct wsmon_record rec;
	__u32 pid;
	__u32 group;		/* WSMON_PEAK_ALL, _TEXT or _REST */
	__u32 edge;		/* WSMON_PEAK_START or _END */
	__s32 sign;		/* 1: the working set is larger than usual, -1: it is smaller */
	/*
	 * number of this peak among the target's peaks of all groups, from 1; the same at both
	 * edges
	 */
	__u32 number;
	__u32 reserved;
	__u64 start_ns;		/* end of the first aggregation interval of the peak */
	__u64 end_ns;		/* end of the first interval after the peak; 0 at the start */
	__u64 window_us;	/* the window: the shortest */
	__u64 bytes;		/* the estimate at this edge */
	__u64 low;		/* lower end of its 95 % interval */
	__u64 high;
	/* the estimate in the peak so far that is furthest from @baseline */
	__u64 height;
	__u64 baseline;		/* the moving mean before the peak */
	__u64 threshold;	/* distance from the mean beyond which it was a peak */
};

/* Max. bytes of a mark's text, including the NUL */
#define WSMON_MARK_TEXT		256

/* WSMON_REC_MARK: a moment the user marked */
struct wsmon_rec_mark {
	struct wsmon_record rec;
	__u32 number;		/* number of this mark in its session, from 1 */
	__u32 reserved;
	char text[];		/* the user's name for it: UTF-8, NUL-terminated, NUL-padded */
};

/* WSMON_REC_EXIT */
struct wsmon_rec_exit {
	struct wsmon_record rec;
	__u32 pid;		/* the target that is gone */
	__u32 reserved;
};

/* WSMON_REC_LOST: records lost just before this one */
struct wsmon_rec_lost {
	struct wsmon_record rec;
	__u64 records;		/* their number */
	__u64 bytes;		/* their size together */
};

/* WSMON_REC_STATS: since monitoring started */
struct wsmon_rec_stats {
	struct wsmon_record rec;
	__u64 rounds;		/* sampling rounds */
	__u64 late_rounds;	/* rounds left out because an earlier one ended late */
	/* passes over a target that ended early because its mmap lock was busy */
	__u64 missed;
	__u64 checks;		/* sample pages checked */
	__u64 arms;		/* sample pages armed, at new positions */
	__u64 flushes;		/* TLB flushes */
	__u64 walk_ns;		/* time in page-table walks, waiting for the lock included */
	__u64 flush_ns;		/* time in flushing */
	__u64 adapt_ns;		/* time in estimating, merging, splitting and reading mappings */
	__u64 emit_ns;		/* time in writing records */
	__u64 cpu_ns;		/* CPU time of the kernel thread, all of it */
	__u64 max_hold_ns;	/* longest time the mmap lock was held */
	__u64 lost_records;	/* records that did not fit into the buffer */
	__u64 lost_bytes;	/* their size together */
	__u32 regions;		/* regions now */
	__u32 samples;		/* sample pages now */
	__u32 targets;		/* targets alive */
	/* max. regions for now: max_regions, or less to keep within cpu_permille */
	__u32 budget;
	__u64 sample_ns;	/* sampling interval for now, as @budget */
	/* time other CPUs spent in flushing; part of the CPU budget, as @cpu_ns is */
	__u64 remote_ns;
	/* rounds of a target left out because it had not run since the last */
	__u64 idle_rounds;
	__u64 late_p50_ns;	/* upper bound of the delay of half of the rounds */
	__u64 late_p99_ns;	/* upper bound of the delay of 99 % of the rounds */
	__u64 late_max_ns;	/* longest delay of a round */
	/* upper bound of the time the mmap lock was held, in 99 % of cases */
	__u64 hold_p99_ns;
	/* processes monitored: targets alive and, with follow, what they and others forked */
	__u64 members;
	__u64 unfollowed;	/* children of members that are not, as there was no room */
	/* With who_rate: pages that were made to fault at their next access */
	__u64 who_armed;
	__u64 who_absent;	/* pages that would fault anyway: not mapped, or swapped out */
	__u64 who_seen;		/* those of both that were touched: WHO records */
	__u64 who_restored;	/* those of @who_armed that were not */
	/* pages left alone: of locked memory, of devices, or because a lock was busy */
	__u64 who_skipped;
	__u64 who_huge;		/* pages left alone because they are part of a huge page */
};

/* struct wsmon_rec_end.reason */
#define WSMON_END_REASONS(X)								\
	X(STOPPED, "stopped")			/* on request, or the module was unloaded */ \
	X(TARGETS_GONE, "targets gone")		/* every target is gone */		\
	X(ROTATED, "rotated")			/* wsmo: the next file continues it */

#define WSMON_END_ENUM(id, name)	WSMON_END_##id,
enum { WSMON_END_REASONS(WSMON_END_ENUM) WSMON_NR_END_REASONS };

/* WSMON_REC_END */
struct wsmon_rec_end {
	struct wsmon_record rec;
	__u32 reason;		/* WSMON_END_* */
	__u32 reserved;
};

/* Max. of attribute who_rate */
#define WSMON_WHO_RATE_MAX	10000

/* struct wsmon_rec_who.flags */
#define WSMON_WHO_WRITE		0x1	/* it was written, else read */
#define WSMON_WHO_EXEC		0x2	/* an instruction was fetched */
#define WSMON_WHO_KERNEL	0x4	/* by the kernel, in a system call made at @ip */
/*
 * There was no entry in the page table: anonymous memory that nobody touched before, or that
 * was given back; or a page of a file or shared memory, not mapped yet or not any more
 */
#define WSMON_WHO_NEW		0x8

/*
 * WSMON_REC_WHO: a thread was the first to touch a page after a random moment. Reported up to
 * an aggregation interval later.
 */
struct wsmon_rec_who {
	struct wsmon_record rec;	/* @time_ns: when it was touched */
	__u32 pid;
	__u32 tid;		/* the thread, in the same pid namespace */
	__u64 address;		/* what it accessed */
	__u64 ip;		/* the instruction */
	__u64 bytes;		/* memory of the target that this page stands for */
	__u64 waited_ns;	/* time since the random moment */
	__u32 flags;		/* WSMON_WHO_* */
	__u32 cpu;		/* the processor */
	/* NUMA node of the page before the access; -1 if not known, as with WSMON_WHO_NEW */
	__s32 node;
	__s32 cpu_node;		/* NUMA node of @cpu */
	char comm[WSMON_COMM_LEN]; /* name of the thread */
};

#endif /* _UAPI_WSMON_H */
